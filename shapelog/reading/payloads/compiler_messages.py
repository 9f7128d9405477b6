"""What PyTorch writes about a graph break, a restart or a failure: what it met, why, its hints, the page about it, and the user's lines.

From torch 2.8 on such a text is (``torch._dynamo.exc.format_graph_break_message``; lines that continue a part are indented by four)::

    <what it met>
      Explanation: <why>
      Hint: <what helps>                    none, one or several
      Developer debug context: <for PyTorch's developers>

     For more details about this graph break, please visit: https://.../gb/gb0059.html

A break that was met while another one was handled follows below a line of asterisks. Older texts are one line, some with advice in it.
Stacks of the user's code are written as Python writes them, below ``User code traceback:`` or ``from user code:``.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from shapelog.reading.payloads.constraint_violations import violated
from shapelog.reading.payloads.number_branches import branches_on_number
from shapelog.reading.payloads.python_code import without_warnings
from shapelog.reading.payloads.source_names import is_torch
from shapelog.reading.records import StackFrame

# Where a break happened and, from torch 2.10 on, what was being traced or done, or that an operator needs code without breaks; the break
# itself follows below.
_PREFACE = re.compile(
    r"^.* doesn't work unless it is captured completely with torch\.compile\. Got graph break/error:\n+(?=.)"
    r"|^(?=Graph Break Reason: |Graph break in user code at )(?:Graph break in user code at .*\n+)?"
    r"(?:(?:Graph Break )?Reason: (?:(?:Encountered graph break|Failed to handle graph break).*\n+)?(?:Unsupported: )?)?"
)
_FIELD = re.compile(r"^ {0,3}(Explanation|Hint|Developer debug context): ?(.*)$")
# A trace may come from anyone, so only pages of PyTorch's own sites are taken for an address.
_PAGE = r"(https://(?:meta-pytorch\.github\.io|(?:docs\.)?pytorch\.org)/[\w./#-]*[\w/])\.?"
_URL = re.compile(rf"^ ?For more (?:details about this graph break, please visit|information about this error, see): *{_PAGE}$", re.M)
_INLINE_URL = re.compile(rf" {{0,9}}For more information about this error, see: *{_PAGE}")
# A line that a page or a person wrapped has the blank between two words at its end, unless it is the first.
_ENDS_IN_SENTENCE, _MORE_WORDS = re.compile(r"[^\s:] $"), re.compile(r"[a-z_]+(?: [a-z]|[.,;] \w)")
_SHORT_LINE = 45  # no page is as narrow
_NUMBER = re.compile(r"/(gb\d+)\.html$")
_IN_LOOP = "graph break in loop"
_NEXT_BREAK = "*** While handling this graph break, another graph break occurred: ***"
# What ends the text about the break or failure itself.
_END = re.compile(
    r"^(?:User code traceback:|FX node stack trace:|from user code:|Stack variable source attribution:|User [Ss]tack"
    r"|Traceback \(most recent call last\):"
    r"|For more (?:information, run with|debugging help)|For extended logs|If you suspect the guard|For C\+\+ stack trace|Set TORCH"
    r"|You can suppress this exception|Caused by: |Potential framework code culprit|NoneType: None)"
    r"|(?<=[\w.])Caused by: \(",
    re.M,
)
# Advice inside the one-line texts of older versions, and of errors that have no hints of their own.
_INLINE_HINT = re.compile(
    r"(?:^|; |\. +|, (?-i:(?=Please )))"
    r"((?:to enable, set|please use|consider (?:using|annotating)|if you're using mark_dynamic)\b.*?)(?=\.(?:\s|$)|$)",
    re.I | re.M,
)
# torch.export writes the last one, with only the innermost line below it.
_STACK_HEADS = (
    "FX node stack trace:",
    "User code traceback:",
    "from user code:",
    "User stack:",
    "User Stack (most recent call last):",
    "The following call raised this error:",
)
# ``torch.fx.Interpreter`` writes it about the operation that raised.
_OF_OPERATION = "Original traceback:"
# At the end of a text, such a number may be the beginning of another one.
_CUT_FRAME = re.compile(r'", line \d{1,9}$')
_STACK_LINE = re.compile(r'^ +File "(.*)"(?:, line (\d{1,9})(?:, in (<[^<>]*>|\S+).*|, ?)?|, in ([\w.<>]+))$')
# The same where somebody left out the file, or what prints it has cut its path.
_OF_CUT_FILE = re.compile(r'^ +File "?([^"]{3,400}?),? line (\d{1,9}), in ([\w.]+|<[^<>]*>)()$')
_CHAINED = re.compile(
    r"\n\n?(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\n\n?"
)


# Hints that hold for a whole class of breaks (``torch._dynamo.graph_break_hints``) and name nothing to do about this one.
_GENERAL_HINT = re.compile(
    r"(?:If it is a Python builtin, p|P)lease (?:report|file) an issue|This is likely to be a Dynamo bug"
    r"|This graph break (?:may|is)|It may be possible to write Dynamo"
    r"|Report an issue to the backend compiler repo|Your code may result in an error|Dynamo has detected"
)


FLOAT_RESTART = "a float could not stay dynamic, so its value became a constant"
# A call of a builtin with a symbolic int or float: Dynamo moves none of these to the end of the graph (can_reorder_logs).
_SYMBOLIC_ARGUMENT = re.compile(r"builtin \S+ \[.*\bSymNodeVariable\b")
_LONGEST_CONTEXT, _LONGEST_CODE = 2000, 500
# Restarts that PyTorch records as a class, without words.
_RESTART_CLASS = re.compile(r"<class 'torch\._dynamo\.exc\.(\w+)'>")
_RESTARTS = {
    "AutogradGradRestartAnalysis": "torch.autograd.grad consumed part of the graph that is returned",
    "CompileCollectiveRestartAnalysis": "the ranks agreed on what is dynamic (compiler collectives)",
    "RequiresGradRestartAnalysis": "requires_grad_() was called on an intermediate tensor that is returned",
    "SpeculationRestartAnalysis": "a graph break was found later in the code",
    "TensorifyScalarRestartAnalysis": FLOAT_RESTART,
    "UnspecializeRestartAnalysis": "an nn.Module changed while its code was traced",
}
# What avoids a restart, by its reason; the others belong to how Dynamo works, or to a graph break.
RESTART_REMEDIES = {
    _RESTARTS["AutogradGradRestartAnalysis"]: "do not return what torch.autograd.grad consumes",
    _RESTARTS["RequiresGradRestartAnalysis"]: "call requires_grad_() on tensors before they are passed to compiled code",
    _RESTARTS["UnspecializeRestartAnalysis"]: "change modules outside compiled code",
}
# ``builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False``, as versions before 2.8 write it.
_BUILTIN = re.compile(r"builtin: (\w+) \[.*\] (?:True|False)")


# A branch, and a call of a builtin, as torch 2.7 and older name them.
_BRANCH = re.compile(r"generic_jump(?: TensorVariable\(\))?")
_CALL = re.compile(r"call_function BuiltinVariable\((\w{1,80})\) \[(?:(?:Constant|Tensor)Variable\(\w*\)(?:, |(?=\])))*\] \{\}")


# A function that is no Python code, as torch 2.2 to 2.7 name it, with advice for each kind that it may be.
UNSUPPORTED_BUILTIN = re.compile(
    r"(?:Graph break due to unsupported (?:Python )?builtin|Dynamo does not know how to trace the builtin) "
    r"`?(?P<name>(?:<[^<>\n`]{1,40}>)?[^\s`]*[^\s`.])[.`]*(?:\s|$)"
)
# The same of the function that breaks the graph, until torch 2.5, in 2.0 in another file; from 2.8 on with this hint.
_ON_PURPOSE = re.compile(r"(?:call_function|skip function) graph_break in (?:file|skip_files) \S*_dynamo[/\\](?:decorators|__init__)\.py")
# ``_disable_dynamo_if_unsupported`` and ``step`` of an optimizer (torch/optim/optimizer.py) break it, so that it has a graph of its own.
_OWN_BREAK = re.compile(r"\bgraph_break\b")
_NUMBER_SETTING = "capture_scalar_outputs"
MOVE_BRANCH = "Move this branch out of the compiled code: with capture_scalar_outputs, the graph would break at the branch itself."
# A class statement that Dynamo cannot trace, as that of an nn.Module.
_CLASS_STATEMENT, _DEFINE_OUTSIDE = "Invalid call to __build_class__", "Define the class at module level."
KEPT_APART = "Accept it: PyTorch breaks the graph here itself, so that this part has a graph of its own."
WRAPPED = "Accept it: PyTorch put this wrapper, which Dynamo does not trace, around the function; what it calls has graphs of its own."
ACCEPTED = frozenset((KEPT_APART, WRAPPED))
# A function that Dynamo does not trace, with the module that defines it and the file of its code.
_SKIPPED = re.compile(r"(?:module: (?P<module>[\w.]+), )?qualname: (?P<name>[\w.]+), .*?\bskip reason: file is [^()]*\((?P<file>[^()]+)\)")
_OF_OPTIMIZERS = re.compile(r"[/\\]torch[/\\]optim[/\\]")
_CONDITIONAL = re.compile(r"If it is an? [^\n]*?(?=\s+If it is an? |\n|$)")
_OF_PYTHON, _OF_EXTENSION = "If it is a Python builtin", "If it is a third-party"
_CALL_OUTSIDE = "Call this function of Python outside the compiled code, and pass what it returns."
_NAMED_BUILTIN = re.compile(r"(?:Unsupported builtin |trace the builtin `?)(?P<name>(?:<[^<>\n`]{1,40}>)?[^\s`]*[^\s`.])")
# What no function of Python's own belongs to.
_EXTENSION_TYPES = ("PyCapsule", "pybind11_")
_NEXT_CASE = " and see the next case for a workaround"


# Where Python writes an object without a name of its own: ``<function log at 0x7fb3d590c720>``.
_AT_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")

# The stack in C++ that an error of PyTorch's own may end with.
_CPP_STACK = re.compile(r"\s+Exception raised from \S+ at \S+ \(most recent call first\):.*", re.S)
# An operation that failed on fake tensors, and below it why, as ``torch._dynamo.utils.get_fake_value`` wrote it until torch 2.6:
# ``Failed running call_function <built-in function matmul>(*(FakeTensor(...), ...), **{}):``.
_FAILED_OPERATION = re.compile(r"Failed running call_\w+ (?:<(?:built-in )?[a-z]+ ([\w.]+)[^>]*>|([\w.]+))\(.*\):")
# The same where somebody joined these lines.
_FAILED_ON_ONE_LINE = re.compile(_FAILED_OPERATION.pattern.replace(r"\(.*\):", r"\(\*\(.*\), \*\*\{[^{}]*\}\):") + r"\s+(\S.*)")
_CALLED = re.compile(r"call_\w+ (?:<(?:(?:built-in )?[a-z]+|Wrapped \w+ <original) ([\w.]+)[^>]*>>?|([\w.]+))\(")
# The same since torch 2.7, from 2.9 on as an explanation.
_FAILED_ON_FAKE_TENSORS = re.compile(r"Dynamo failed to run FX node with fake tensors: (?:(call_\w+ .*): |\.\.\. )got (\w+)\((.*)\)", re.S)
_BELOW_FAKE_TENSORS = re.compile(r"Dynamo failed to run FX node with fake tensors:")
_CALLED_ALONE = re.compile(r"call_\w+ (.*\))(: .*)?\s*$")
_ON_FAKE_TENSORS, _FROM_OPERATION = " (on fake tensors, from ", "from call_"
# What follows, without a space between, where an entry does not accept the call that it was compiled for.
_OWN_GUARD = "Guard fail reason: "
# The same on one line, as torch 2.5 to 2.9 wrote it.
_OLD_OWN_GUARD = re.compile(r"(Guard check failed):\s+(?=\S)")
# The operator that Inductor could not lower, and its arguments (``OperatorIssue.operator_str`` in ``torch/_inductor/exc.py``).
_LOWERED = re.compile(r"^ +target: (\S+)(?=\s*$|\n +(?:args\[0\]|kwargs): )", re.M)
# An exception of the user's code as Dynamo met it, and its text: ``ObservedKeyError: ConstantVariable(str: 'k')``.
_OBSERVED = re.compile(r"Observed(?!Exception$)(\w+?)(?:Error)+$")
_CONSTANT = re.compile(r"ConstantVariable\(\w+: (.*)\)")
_ONE_CONSTANT = re.compile(r"\[ConstantVariable\(\w+: ((?:(?!ConstantVariable\().)*)\)\]")
# The same in the context of a break (torch 2.8 and later): ``ValueError('k')``, at first ``ValueError([ConstantVariable(str: 'k')])``.
_UNCAUGHT = "Observed exception"
_RAISED_THERE = re.compile(r"raised exception (\w+(?:Error|Exception|Interrupt|Iteration))\((.*)\)")
# A context that is the object itself that a message is about, or ends with the one that was called; what names one in the message; and
# what differs in each run.
_OBJECT = re.compile(
    r"(?:[^<>\n]{0,200}\btarget: (?=<))?(?P<object>(?:[\w.]{1,60}\()?<(?:function|bound method|built-in|class|module)\b)"
    r"(?!.*\btorch\._dynamo\.)"
)
_NAMED, _ADDRESS = re.compile(r"[`\"]|(?<!\w)'"), re.compile(r" at 0x[0-9a-f]+")


# What a text log that ends before the exception, or before the reason of a graph break, has in its place.
LOST_EXCEPTION = "the exception is missing from the log"
NO_MESSAGE = "no message was recorded"
LOST_REASON = "the log does not have the reason"
# The class of an exception at the end of a stack, where other programs may have written lines of their own.
_NAMES_CLASS = re.compile(r"(?:(?:[^\W\d][\w<>]*\.)+|(?=[A-Z]))[^\W\d]\w*(?::|\s*$)")
# The cause of another exception, whose stack PyTorch leaves out.
_WITHOUT_STACK = re.compile(r"\s*(?:torch\._\w+\.[\w.]{1,200}|Observed\w{1,80}): \S")


class RaisedException(NamedTuple):
    """One exception of a chain: its type without the module, the first line of its message, and where it was raised, outermost first.

    ``is_observed`` where the user's code raised it while Dynamo traced that code.
    """

    type: str
    message: str
    stack: tuple[StackFrame, ...]
    is_observed: bool = False


class CompilerMessage(NamedTuple):
    """What PyTorch met, why that is not possible, its hints, and the address of its page; "" or () where a version writes none.

    ``stack`` holds the user's lines, outermost first. ``is_in_loop``: it is in a loop, in which no graph can break, so that the whole
    function runs in eager mode; another break there, such as a call under ``torch.compiler.disable``, does the same.
    """

    title: str
    explanation: str = ""
    hints: tuple[str, ...] = ()
    url: str = ""
    stack: tuple[StackFrame, ...] = ()
    is_in_loop: bool = False

    @property
    def specific_hints(self) -> tuple[str, ...]:
        """Those that name something to do about this very break or failure."""
        return tuple(hint for hint in self.hints if not _GENERAL_HINT.match(hint))

    @property
    def is_bug(self) -> bool:
        """Whether PyTorch calls it a bug of its own: an entry that does not accept the call that it was compiled for."""
        return self.explanation.startswith(_OWN_GUARD)

    @property
    def is_raised_by_code(self) -> bool:
        """Whether the traced code itself raises an error where Dynamo stopped, as it would without Dynamo."""
        return bool(self.stack) and self.stack[-1].code.startswith(_RAISING)

    @property
    def operation_error(self) -> str:
        """What an operation raised on fake tensors, ``RuntimeError: sizes differ``; "" for any other failure."""
        if self.explanation.startswith(_FROM_OPERATION):
            return self.title
        return self.explanation.rpartition(_ON_FAKE_TENSORS)[0]

    def with_error_first(self) -> "CompilerMessage":
        """The same with what an operation raised on fake tensors in place of the title, which is the same for all of these failures."""
        error, _, call = self.explanation.rpartition(_ON_FAKE_TENSORS)
        return self._replace(title=error, explanation=f"from {call.removesuffix(')')}") if error else self

    @property
    def depends_on_data(self) -> bool:
        """Whether the code asked for a value that is known only when it runs."""
        return _DATA_DEPENDENT in self.title

    @property
    def number(self) -> str:
        """``GB0059``, as PyTorch's site of graph breaks numbers what it met; "" where it has none."""
        found = _NUMBER.search(self.url)
        return found[1].upper() if found else ""


def compiler_message(text: str) -> CompilerMessage:
    """A text of PyTorch's in its parts; the title is the line that names what was met, "" only for an empty text."""
    stack = user_stack(text) or _caused_by(text)
    body = _END.split(_PREFACE.sub("", text.strip("\n")), maxsplit=1)[0]
    own, *later = body.split(_NEXT_BREAK)
    first, others = _one_break(own), list(map(_one_break, later))
    if then := " ".join(_met_then(item, part) for item, part in zip(others, later, strict=True) if item.explanation):
        first = first._replace(explanation=f"{first.explanation.rstrip('.')}. {then}" if first.explanation else then)
    is_in_loop = any(part.title == _IN_LOOP for part in (first, *others))
    if first.title.endswith(_OF_WORKER):
        raised = next(reversed(exception_chain(text)), None)
        first = first._replace(title=f"{first.title} {f'{raised.type}: {raised.message}' if raised else LOST_EXCEPTION}")
    hints = dict.fromkeys((*first.hints, *(hint for other in others for hint in other.hints)))
    if text.lstrip().startswith(_VIOLATED):
        first = first._replace(title=violated(text) or first.title)
        if fixes := _SUGGESTED_FIXES.search(text):
            return first._replace(hints=(f"Suggested fixes: {'; '.join(map(str.strip, fixes[1].strip().split(chr(10))))}",), stack=stack)
    if checks := _CHECKS.search(text):
        return first._replace(
            hints=(f"Before this line, call {' or '.join(_NUMBERED.findall(checks[1]))}, whichever always holds",), stack=stack
        )
    if not hints:
        hints = dict.fromkeys(_inline_hints(" ".join(body.split()) if body.startswith(_VIOLATED) else body))
    urls = _URL.findall(text) or _INLINE_URL.findall(text)
    if stack and _OWN_BREAK.search(first.title) and is_torch(stack[-1].file):
        hints = {KEPT_APART: None}
    elif stack and any(_NUMBER_SETTING in hint for hint in hints) and branches_on_number(stack[-1].code):
        hints = {MOVE_BRANCH: None}
    elif first.title == _CLASS_STATEMENT:
        hints = {_DEFINE_OUTSIDE: None}
    elif name := _builtin_of_python(first, stack):
        hints = {_CALL_OUTSIDE: None, **{hint: None for hint in hints if name.startswith("<") and hint.startswith(_OF_EXTENSION)}}
    if (lowered := _LOWERED.search(body)) and lowered[1] not in first.title:
        first = first._replace(title=f"{first.title} (while lowering {lowered[1]})")
    title, why, *helps = (_AT_ADDRESS.sub("", part) for part in (_CPP_STACK.sub("", first.title), first.explanation, *hints))
    helps = [_WITHOUT_CONFIG.sub(r"\1.config.\2 = ", hint) for hint in helps]
    return CompilerMessage(
        title=title, explanation=why, hints=tuple(dict.fromkeys(helps)), url=urls[0] if urls else "", stack=stack, is_in_loop=is_in_loop
    )


def _met_then(other: CompilerMessage, text: str) -> str:
    """A graph break that was met while the first was handled: ``Then graph break in loop (GB7000): ...``."""
    found = next(map(_NUMBER.search, _URL.findall(text)), None)
    return f"Then {other.title}{f' ({found[1].upper()})' if found else ''}: {other.explanation}"


# How the hint about ``Tensor.backward()`` (torch 2.13) writes a setting of ``torch._dynamo.config``.
_WITHOUT_CONFIG = re.compile(r"(\btorch\._dynamo)\.(\w+) ?= ?(?=True\b|False\b)")
# Where a worker of Inductor's raised; its traceback follows.
_OF_WORKER = "An exception occurred in a subprocess:"
_NAME_OF_KERNEL = re.compile(r"Name=\S+$")


def in_words(line: str) -> str:
    """A line of PyTorch's in which it wrote a class of its own, or the types of its own variables, in words; any other line as it is."""
    if known := _RESTART_CLASS.fullmatch(line):
        return _RESTARTS.get(known[1], known[1])
    if _BRANCH.fullmatch(line.strip()):
        return "a branch on the value of a tensor (generic_jump)"
    if called := _CALL.fullmatch(line.strip()):
        return f"a call of {called[1]}()"
    builtin = _BUILTIN.fullmatch(line)
    return f"Dynamo cannot trace the builtin {builtin[1]}" if builtin else line


def _builtin_of_python(message: CompilerMessage, stack: Sequence[StackFrame]) -> str:
    """The function of Python's standard library that Dynamo cannot trace, "" for others.

    PyTorch finds no module of a method of a class in C, ``<unknown module>.Random.random``: then the code has that, ``random.random()``.
    """
    found = _NAMED_BUILTIN.search(f"{message.title}\n{message.explanation}")
    name = found["name"] if found else ""
    if name.startswith("<") and stack:
        call = rf"(?<![\w.])(\w{{1,80}})(?:\.\w{{1,80}}){{0,5}}\.{re.escape(name.rpartition('.')[2])}\("
        return name if sys.stdlib_module_names.intersection(re.findall(call, stack[-1].code[:_LONGEST_CODE])) else ""
    return name if name.partition(".")[0] in sys.stdlib_module_names else ""


def _one_break(text: str) -> CompilerMessage:
    """Title, explanation and hints of a text about one break."""
    if builtin := UNSUPPORTED_BUILTIN.match(text):
        name = builtin["name"]
        unfit = _OF_PYTHON if any(maker in name for maker in _EXTENSION_TYPES) else None
        advice = (hint.strip() for hint in _CONDITIONAL.findall(text, builtin.end()) if unfit is None or not hint.startswith(unfit))
        return CompilerMessage(f"Unsupported builtin {name}", hints=tuple(hint.replace(_NEXT_CASE, "") for hint in advice))
    title: list[str] = []
    is_in_sentence = False
    parts: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        found = _FIELD.match(line)
        if found:
            parts.append((found[1], [found[2]]))
        elif _URL.match(line) or _NAME_OF_KERNEL.match(line):
            continue
        elif parts and (not line.strip() or line.startswith("    ") or _is_wrapped(parts[-1][1][-1], line)):
            parts[-1][1].append(line.strip())
        elif not parts and line.strip():
            part = _INLINE_URL.sub("", line.strip())
            is_wrapped = len(title) == 1 or (len(title) == 2 and title[0].endswith(":") and len(title[1]) > _SHORT_LINE)
            if (is_in_sentence and part[:1].islower()) or (is_wrapped and title[-1][-1].isalnum() and _MORE_WORDS.match(line)):
                title[-1] += f" {part}"
            else:
                title.append(part)
            is_in_sentence = _ENDS_IN_SENTENCE.search(line) is not None
    by_name: dict[str, list[str]] = {}
    for name, lines in parts:
        by_name.setdefault(name, []).append(" ".join(filter(None, lines)))
    explanation, hints = by_name.get("Explanation", [""])[0], tuple(filter(None, by_name.get("Hint", ())))
    if not title and explanation:  # what was met is cut off
        return CompilerMessage(" ".join(takewhile(bool, parts[0][1])), "", hints)
    what, own_guard = _own_guard(title)
    context = by_name.get("Developer debug context", [""])[0][:_LONGEST_CONTEXT]
    if what == _UNCAUGHT and (raised := _RAISED_THERE.fullmatch(context)):
        what = ": ".join(filter(None, (what, raised[1], _observed_message(raised[1], context))))
    if _ON_PURPOSE.match(what):
        hints = ("Remove the `torch._dynamo.graph_break()` call.",)
    elif skipped := _SKIPPED.match(context):
        hints = _hints_of_skipped(skipped) or hints
    elif _SYMBOLIC_ARGUMENT.match(context):
        hints = tuple(hint for hint in hints if "reorderable_logging_functions" not in hint)
    elif explanation and (called := _OBJECT.match(context)) and not _NAMED.search(f"{what} {explanation}"):
        explanation = f"{explanation.rstrip('.')}: {_ADDRESS.sub('', context[called.start('object') :])}"
    return CompilerMessage(what, own_guard or _error_first(explanation), hints)


def _is_wrapped(above: str, line: str) -> bool:
    """Whether a line goes on with a sentence of a field that somebody wrapped below its name."""
    return above[-1:].isalnum() and line.startswith("  ") and line.strip()[:1].islower()


def _own_guard(title: list[str]) -> tuple[str, str]:
    """The title without the guard that rejects the call that it was made for, and that guard behind its label, "" for any other title."""
    text = _title(title)
    if old := _OLD_OWN_GUARD.match(text):
        return old[1], _OWN_GUARD + text[old.end() :]
    what, label, guard = text.partition(_OWN_GUARD)
    return what, label + guard if label or len(title) < 2 or not title[1].startswith(_OWN_GUARD) else title[1]


def _hints_of_skipped(found: re.Match[str]) -> tuple[str, ...]:
    """What to do about a function of PyTorch's own that Dynamo does not trace; () where its own hints have that.

    A function whose code is in another file than the module that defines it is a wrapper, such as a scheduler's of an optimizer's step.
    """
    file, module = found["file"], found["module"]
    if not is_torch(file):
        return ()
    if module and not file.replace("\\", "/").removesuffix(".py").endswith(module.replace(".", "/")):
        return (WRAPPED,)
    return (f"Call `{found['name']}` outside of the compiled function.",) if _OF_OPTIMIZERS.search(file) else ()


def _error_first(explanation: str) -> str:
    """Of an operation that failed on fake tensors: the error, then the operation with its arguments, which may be long."""
    found = _FAILED_ON_FAKE_TENSORS.fullmatch(explanation)
    return f"{found[2]}: {_argument(found[3])}{_ON_FAKE_TENSORS}{found[1]})" if found and found[1] else explanation


def _argument(text: str) -> str:
    """What an exception was raised with: the text itself where it is one."""
    try:
        with without_warnings():
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return " ".join(_CPP_STACK.sub("", value).split()) if isinstance(value, str) else text


def raised_by(title: str) -> tuple[str, str]:
    """The backend that raised an error, and the error without its name; "" and the title itself where it names none."""
    found = _RAISED_BY.match(title)
    return (found[1], title[found.end() :]) if found else ("", title)


_RAISED_BY = re.compile(r"backend='([^'\n]{1,80})' raised:\s+(?=\S)")


_VIOLATED = "Constraints violated"
# What torch.export asks for below the line that needs a value of the data.
_CHECKS = re.compile(
    r"^To fix the error, insert one of the following checks before this call:[ \t]*\n((?:[ \t]+\d+\. [^\n]+(?:\n|$))+)", re.M
)
_NUMBERED = re.compile(r"^\s+\d+\. (.*\S)", re.M)
_SUGGESTED_FIXES = re.compile(r"^Suggested fixes:[ \t]*\n((?:[ \t]+\S[^\n]*(?:\n|$))+)", re.M)


def _title(lines: list[str]) -> str:
    """The first line, with the second where that is the error itself."""
    if not lines:
        return ""
    if uncaptured := _UNCAPTURED.match(lines[0]):
        return f"{uncaptured[1]} cannot be captured: {_title([lines[0][uncaptured.end() :], *lines[1:]])}"
    if lines[0].startswith(_VIOLATED) and len(lines) > 1:
        return f"{lines[0].split('!')[0]}: {lines[1].removeprefix('- ')}"
    if kernel := _uncompiled_kernel(lines) or _uncompiled_source(lines):
        return kernel
    if lines[0].endswith("raised:") and len(lines) > 1:
        return _COMMAND.sub(r"\1 …\2", _with_next(f"{lines[0]} {lines[1]}", lines[2:]))
    if outside := _OUTSIDE.fullmatch(lines[0].rstrip(".")):
        return f"a size of {outside[1]} is{OUTSIDE_OF_RANGE} that is marked or declared, {outside[2]} to {outside[3]}"
    operation = _FAILED_OPERATION.fullmatch(lines[0]) or _FAILED_ON_ONE_LINE.fullmatch(lines[0])
    error = (*operation.groups()[2:], *lines[1:])[:1] if operation else ()
    if operation and error:
        return f"{operation[1] or operation[2]} failed: {_asked(error[0])}"
    on_fake_tensors = _FAILED_ON_FAKE_TENSORS.fullmatch(lines[0])
    called = _CALLED.match(on_fake_tensors[1] or "") if on_fake_tensors else None
    if on_fake_tensors:
        what = f"{called[1] or called[2]} failed: " if called else ""
        return f"{what}{on_fake_tensors[2]}: {_argument(on_fake_tensors[3])}"
    if _BELOW_FAKE_TENSORS.fullmatch(lines[0]) and len(lines) > 1:  # what Dynamo was doing is the stage
        called = _CALLED_ALONE.match(lines[1])
        return f"{called[1]} failed{called[2] or ''}" if called else lines[1]
    line = _COMMAND.sub(r"\1 …\2", _asked(_unquoted(lines[0])))
    advice = _INLINE_HINT.match(line)
    # What was met comes first, also where the text begins with advice.
    return line[advice.end() :].lstrip(". ") or line if advice else in_words(_with_next(_without_advice(line), lines[1:]))


# An operator that takes functions, ``cond`` or ``while_loop``, and behind it why the graph of one of these would break.
_UNCAPTURED = re.compile(r"(\w{1,80}) doesn't work unless it is captured completely with torch\.compile\. Got (?=\S)")


def _without_advice(line: str) -> str:
    """A line without the sentences in it that are advice, which is given as such."""
    rest = _INLINE_HINT.sub("", line)
    return rest.rstrip(". ") if rest != line else line


# A program that Inductor or Triton ran, with more arguments than a sentence has room for.
_COMMAND = re.compile(r"(\bCommand '\['[^'\n]{1,300}',)(?: '[^'\n]*',?){3,}(\]' (?:returned|died)\b)")


def _unquoted(line: str) -> str:
    """A line without the quotes around all of it, which are not those of its first and its last word."""
    mark, inner = line[:1], line[1:-1]
    if mark not in ("'", '"') or line == mark or line[-1] != mark:
        return line
    other = inner.find(mark)
    return line if other > 0 and inner[other - 1] not in " ([{=,:" else inner


def _with_next(line: str, lines: list[str]) -> str:
    """A line, with the one below it where it ends with a colon, or where that has the functions that Dynamo skipped."""
    return f"{line} {lines[0].removeprefix('- ')}" if lines and (line.endswith(":") or lines[0].startswith("Skipped frames:")) else line


def _uncompiled_kernel(lines: list[str]) -> str:
    """The line of a generated kernel that Triton stopped at, which is the one above the caret; "" for any other error."""
    heading = next(((at, found) for at, line in enumerate(lines[:2]) if (found := _OF_TRITON.search(line))), None)
    if heading is None:
        return ""
    at, found = heading
    caret = next((number for number in range(at + 2, len(lines)) if lines[number] == "^"), 0)
    if not caret:
        return ""
    error = f": {lines[caret + 1]}" if caret + 1 < len(lines) else ""
    before = " ".join((*lines[:at], lines[at][: found.start()].strip())).strip()
    return f"{before} {TRITON_STOPPED} `{lines[caret - 1]}`, line {found['line']} of a kernel{error}".strip()


def _uncompiled_source(lines: list[str]) -> str:
    """That Inductor's C++ could not be compiled, with the first error that the compiler printed; "" for any other message."""
    heading = next((at for at, line in enumerate(lines[:2]) if line.endswith(UNCOMPILED_CPP)), None)
    if heading is None:
        return ""
    output = lines[(lines.index(_OUTPUT) if _OUTPUT in lines else heading) + 1 :]
    error = next((found[0] for line in output if (found := _CPP_ERROR.search(line))), "")
    return f"{' '.join(lines[: heading + 1])}: {error.removeprefix('error: ')}" if error else ""


def _asked(line: str) -> str:
    """What was asked of a value of the data, without the advice above it and the notes below; any other line as it is.

    Where it is given as it came out for an example, which is True or False, the expression is in the notes.
    """
    found = _ASKED.search(line) or _OLD_ASKED.search(line)
    if not found:
        return line
    expression = found["expression"].strip()
    if expression in ("True", "False"):
        expression = found["unhinted"] or expression
    return f"{found.groupdict().get('what', _COULD_NOT_GUARD)}{expression}"


TRITON_STOPPED = "Triton cannot compile"
_OF_TRITON = re.compile(r"(?:triton\.)?(?:compiler\.)?(?:errors\.)?CompilationError: at (?P<line>\d{1,6}):\d{1,6}:\s*$")
# ``torch._inductor.exc.CppCompileError``; gcc, clang, MSVC and linkers write errors in this way.
UNCOMPILED_CPP, _OUTPUT = "C++ compile error", "Output:"
_CPP_ERROR = re.compile(r"\bld: (?:cannot find |library )\S.*|\b(?:fatal )?error(?: [A-Z]{1,4}\d{4})?: \S.*")
OUTSIDE_OF_RANGE = " outside of the range"
_OUTSIDE = re.compile(r"(\d{1,18}) not in range \[(-?\d{1,18}), (\w{1,18})\]")


def _caused_by(text: str) -> tuple[StackFrame, ...]:
    """The line that needed a value of the data, where symbolic shapes name it in a comment; of generated code, the one that this calls.

    Torch 2.4 and later may have it as the only line of a stack instead.
    """
    if not (found := _CAUSE.search(text)):
        return tuple(stack_lines(text.partition(_CULPRIT)[2].lstrip("\n").split("\n")))[:1]
    stack = (StackFrame(found["file"], int(found["line"]), found["name"], (found["code"] or "").strip()),)
    called = _OF_GENERATED.match(text, found.end()) if found["file"].startswith("<eval_with_key>") else None
    return (*stack, StackFrame(called[1], int(called[2]), called[3])) if called else stack


# What is asked of a value that only the data has; behind it, the same once more and the symbols.
_RAISING = ("raise ", "raise(", "assert ", "assert(")
_DATA_DEPENDENT = "data-dependent expression"
_ASKED = re.compile(
    r"(?P<what>\bCould not [\w ]{1,60} data-dependent expression )(?P<expression>.*?)"
    r"(?:\.? {0,9}\(unhinted: (?P<unhinted>.*?)\)(?:\.? {0,9}\(Size-like symbols: .*|[. ]*$)"
    r"|\.? {0,9}\((?:unhinted|Size-like symbols): .*|$)"
)
# The same as torch 2.0 and 2.1 wrote it.
_COULD_NOT_GUARD = f"Could not guard on {_DATA_DEPENDENT} "
_OLD_ASKED = re.compile(
    r"It appears that you're trying to get a value out of symbolic int/float whose value is data-dependent .*"
    r"The expression we were trying to evaluate is (?P<expression>.*?)(?: \(unhinted: (?P<unhinted>.*?)\))?\.(?:\s|$)"
)
_CAUSE = re.compile(
    r"(?:^|(?<=[\w.]))Caused by: (?:(?P<code>[^\n#]{1,400})# |\()"
    r"(?P<file>[^\n:#()]{1,400}):(?P<line>\d{1,9}) in (?P<name>[\w<>]{1,200})",
    re.M,
)
_OF_GENERATED = re.compile(r" \(([^\n:#()]{1,400}):(\d{1,9}) in ([\w<>]{1,200})\)")
_CULPRIT = "Potential framework code culprit (scroll up for full backtrace):"


# PyTorch marks a line to its end: with the colon of a compound statement, and a comment.
_BEYOND_CODE = re.compile(r":?(?:\s+#[^'\"]*)?$")


def _inline_hints(text: str) -> Iterator[str]:
    for found in _INLINE_HINT.finditer(text):
        words = found[1].strip()
        words = words.removeprefix("to enable, ")
        yield words[:1].upper() + words[1:]


def user_stack(text: str) -> tuple[StackFrame, ...]:
    """The user's lines below the last heading of a stack, outermost first; () where there is none.

    Where an operation of a graph failed, those below the first heading of its own, which led to that operation.
    """
    begin = max((text.rfind(head) + len(head) for head in _STACK_HEADS if head in text), default=-1)
    if begin < 0 and _OF_OPERATION in text:
        begin = text.find(_OF_OPERATION) + len(_OF_OPERATION)
    return tuple(stack_lines(text[begin:].lstrip("\n").split("\n"))) if begin >= 0 else ()


def stack_lines(lines: list[str]) -> Iterator[StackFrame]:
    """The lines of one stack, up to the first that belongs to none."""
    current: StackFrame | None = None
    code_line = ""
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), 0)
    for at, line in enumerate(lines):
        found = _STACK_LINE.match(line) or _OF_CUT_FILE.match(line)
        if found and at == last > 0 and _CUT_FRAME.search(line):
            break
        if found:
            if current:
                yield current
            current = StackFrame(found[1], int(found[2] or 0), found[3] or found[4] or "")
            code_line = ""
        elif current and line.startswith("    ") and line.strip():
            if not code_line:
                code_line = line
                current = current._replace(code=line.strip())
            elif not line.strip(" ^~"):
                start = len(line) - len(line.lstrip())
                current = current._replace(marked=_BEYOND_CODE.sub("", code_line[start : len(line.rstrip())].strip()))
        elif current or (line.strip() and not line.startswith(" ")):
            break
    if current:
        yield current


def exception_chain(text: str) -> tuple[RaisedException, ...]:
    """The exceptions of a Python traceback, the one that was raised first before those that it caused; () for any other text."""
    parts = _CHAINED.split(text)
    return tuple(filter(None, map(_exception, parts))) if "Traceback (most recent call last):\n" in text else ()


def _exception(text: str) -> RaisedException | None:
    """One of the chain: the first line after the stack that is not indented names it, or the first of all where it has no stack."""
    _, _, rest = text.partition("Traceback (most recent call last):\n")
    if not rest and not _WITHOUT_STACK.match(text):
        return None
    lines = (rest or text).split("\n")
    named = next((line for line in lines if line and not line.startswith(" ")), "")
    if not _NAMES_CLASS.match(named):
        return None
    kind, _, message = named.partition(": ")
    if message.endswith(":"):  # the error itself follows
        message = " ".join((message, next((line.strip() for line in lines[lines.index(named) + 1 :] if line.strip()), "")))
    observed = _OBSERVED.match(kind.rsplit(".", 1)[-1])
    name = f"{observed[1]}Error" if observed else kind.rsplit(".", 1)[-1]
    message = _observed_message(name, message.strip()) if observed else message.strip()
    return RaisedException(name, message, tuple(stack_lines(lines)), bool(observed))


def observed_exception(kind: str, message: str) -> str:
    """``KeyError: 'k'`` for an exception of the user's code by the class that Dynamo gives it; the message alone for any other class."""
    observed = _OBSERVED.match(kind)
    first, end, rest = message.partition("\n")
    if not observed:
        return message
    name = f"{observed[1]}Error"
    return ": ".join(filter(None, (name, _observed_message(name, first.strip())))) + end + rest


def _observed_message(name: str, text: str) -> str:
    """What Python would print behind the name of the exception: the text that it was raised with; of a KeyError the key as code."""
    value = _CONSTANT.fullmatch(text)
    text = value[1] if value else text.removeprefix("raised exception ")
    raised = re.fullmatch(rf"{name}\((.*)\)", text)
    argument = raised[1] if raised else text
    if listed := _ONE_CONSTANT.fullmatch(argument):
        argument = listed[1]
    return argument if name == "KeyError" else _argument(argument)
