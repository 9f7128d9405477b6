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

import builtins
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from shapelog.reading.payloads.constraint_violations import violated
from shapelog.reading.payloads.error_titles import (
    DATA_DEPENDENT,
    FAILED_ON_FAKE_TENSORS,
    TRITON_STOPPED,
    UNDECIDED_GUARD,
    VIOLATED,
    inline_hints,
    title_of,
)
from shapelog.reading.payloads.number_branches import branches_on_number, index_by_tensor
from shapelog.reading.payloads.python_tracebacks import CPP_STACK, argument_text, caused_by, exception_chain, observed_message, user_stack
from shapelog.reading.payloads.source_names import is_torch
from shapelog.reading.records import StackFrame

# Where a break happened and, from torch 2.10 on, what was being traced or done, or that an operator needs code without breaks; the break
# itself follows below.
_PREFACE = re.compile(
    r"^.* doesn't work unless it is captured completely with torch\.compile\. Got graph break/error:\n+(?=.)"
    r"|^(?=(?:Graph Break )?Reason: |Graph break in user code at )(?:Graph break in user code at .*\n+)?"
    r"(?:(?:Graph Break )?Reason: (?:(?:Encountered graph break|Failed to handle graph break).*\n"
    r"(?!\s*(?:Hint|Explanation|Developer debug context):)\n*)?"
    r"(?:Unsupported: )?)?"
)
_FIELD = re.compile(r"^ {0,3}(Explanation|Hint|Developer debug context): ?(.*)$")
_WHILE_TRACING = re.compile(r"Encountered graph break when attempting to trace [A-Z_]{1,40}\.?$")
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
    r"|You can suppress this exception|The error above occurred|Caused by: |Potential framework code culprit|NoneType: None)"
    r"|(?<=[\w.])Caused by: \(",
    re.M,
)
# Hints that hold for a whole class of breaks (``torch._dynamo.graph_break_hints``) and name nothing to do about this one.
_GENERAL_HINT = re.compile(
    r"(?:If it is a Python builtin, p|P)lease (?:report|file) an issue|This is likely to be a Dynamo bug"
    r"|This graph break (?:may|is)|It may be possible to write Dynamo"
    r"|Report an issue to the backend compiler repo|Your code may result in an error|Dynamo has detected"
    r"|Consider using data-dependent friendly APIs|If the HOP is activation checkpointing|see https://docs\.google\.com/\S+ for how to fix"
)
# A call of a builtin with a symbolic int or float: Dynamo moves none of these to the end of the graph (can_reorder_logs).
_SYMBOLIC_ARGUMENT = re.compile(r"builtin \S+ \[.*\bSymNodeVariable\b")
_LONGEST_CONTEXT, _LONGEST_CODE = 2000, 500
# A function that is no Python code, as torch 2.2 to 2.7 name it, with advice for each kind that it may be.
UNSUPPORTED_BUILTIN = re.compile(
    r"(?:Graph break due to unsupported (?:Python )?builtin|Dynamo does not know how to trace the builtin) "
    r"`?(?P<name>(?:<[^<>\n`]{1,40}>)?[^\s`]*[^\s`.])[.`]*(?:\s|$|(?=This function is))"
)
# The same of the function that breaks the graph, until torch 2.5, in 2.0 in another file; from 2.8 on with this hint.
# What pybind11 has in the place of a class that its functions do not have.
_RECORD_OF_PYBIND = re.compile(r"\bpybind11_detail_function_record_\w*\.")
# Where a text has none of the advice for a function of an extension.
_AS_OPERATOR = "Make a custom operator of this function of a C++ extension (torch.library.custom_op), with a fake implementation."
_ON_PURPOSE = re.compile(r"(?:call_function|skip function) graph_break in (?:file|skip_files) \S*_dynamo[/\\](?:decorators|__init__)\.py")
# ``_disable_dynamo_if_unsupported`` and ``step`` of an optimizer (torch/optim/optimizer.py) break it, so that it has a graph of its own.
_OWN_BREAK = re.compile(r"\bgraph_break\b")
_NUMBER_SETTING = "capture_scalar_outputs"
MOVE_BRANCH = "Move this branch out of the compiled code: with capture_scalar_outputs, the graph would break at the branch itself."
# What reads the number of a tensor; an index without dims is read even where a number that depends on data may be symbolic (torch 2.13).
_READS_NUMBER = "_local_scalar_dense"
_INDEX_WITH_DIM = (
    "Index with a tensor that has a dimension, [{index}.reshape(1)][0] in place of [{index}]: PyTorch reads the number of one without "
    "dimensions, and capture_scalar_outputs does not help there."
)
# Operators with an output whose size depends on data that PyTorch cannot trace with its setting for these, either (torch 2.13).
_SHAPE_SETTING, _WITHOUT_KERNEL = "capture_dynamic_output_shape_ops", re.compile(r"\baten\.(?:_ctc_loss|linalg_lstsq)\b")
MOVE_OPERATOR = f"Move this line out of the compiled code: with {_SHAPE_SETTING}, the operator would break the graph as well."
# The operator that a break is about, the class of the object whose method is, and what an operator raised, where the context alone has it.
_OPERATOR = re.compile(r"unsupported operator: (\S+)$")
_METHOD_OF = re.compile(r"call_method \w{1,80}\((?P<type><class '[\w.]{1,200}'>)\) ")
_RAISED_BY_OPERATOR = re.compile(r"TypeError <.{1,200}?>: (.+)")
# Where an operator takes no condition of symbolic sizes.
_SYMBOLIC_BOOL = re.compile(r"argument '(\w{1,80})'.{0,40} must be bool, not SymBool")
_BRANCH_ON_IT = (
    "Write `{name}=True if ... else False` with this condition: the operator takes no symbolic bool, and each value needs a graph."
)
# ``F.interpolate`` passes its operators the scale as a list of floats, in which no symbol may be.
_SYMBOLIC_SCALE = re.compile(
    r"upsample_\w{1,40}\(\) received an invalid combination of arguments - got \(\w{1,40}, NoneType, (?:bool, )?list\)"
)
_PASS_SIZE = "Pass interpolate `size=(h * scale, w * scale)` in place of `scale_factor=scale`: a scale that is symbolic breaks the graph."
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
_OUTSIDE = "Call {} outside the compiled code, and pass what it returns."
# An operator that returns no tensor, such as a function of torch.cuda: ``op: call_function; target: <function get_device_name at ...>``.
_RETURNS_NO_TENSOR, _TARGET = "torch.* op returned non-Tensor", re.compile(r"<(?:function|built-in \S+) ([\w.]{1,80})>?$")
_TAKES_LOCK = re.compile(r"\b(?:SemLock|RLock|lock)\.(?:acquire|release|__enter__|__exit__)$")
_LOCK_OUTSIDE = "Take this lock outside the compiled code, or in a function with torch.compiler.disable."
# What ``contextlib.contextmanager`` makes of a function, which Dynamo skips until torch 2.6.
_MADE_BY_CONTEXTLIB = re.compile(
    r"(?:inline in skipfiles: (?P<inlined>[\w.]{1,200}) \| helper|skip function (?P<skipped>[\w.]{1,200}) in file) \S*contextlib\.py"
)
_ENTER_OUTSIDE = "Enter {} outside the compiled code, or update PyTorch, which traces contextlib.contextmanager from 2.7 on."
# Torch 2.6 and older, whose advice is an older name of torch.cond alone.
_BRANCH_ON_TENSOR = "Dynamic control flow is not supported"
_WITHOUT_BRANCH = "Replace the branch on the value of a tensor by torch.where or torch.cond; a check can be made outside the compiled code."
_NAMED_BUILTIN = re.compile(r"(?:Unsupported builtin |trace the builtin `?)(?P<name>(?:<[^<>\n`]{1,40}>)?[^\s`]*[^\s`.])")
# What no function of Python's own belongs to.
_EXTENSION_TYPES = ("PyCapsule", "pybind11_")
_UNKNOWN_MODULE = "<unknown module>."
_NEXT_CASE = " and see the next case for a workaround"
# Where Python writes an object without a name of its own: ``<function log at 0x7fb3d590c720>``.
_AT_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
_ON_FAKE_TENSORS, _FROM_OPERATION = " (on fake tensors, from ", "from call_"
# What follows, without a space between, where an entry does not accept the call that it was compiled for.
_OWN_GUARD = "Guard fail reason: "
# The same on one line, as torch 2.5 to 2.9 wrote it.
_OLD_OWN_GUARD = re.compile(r"(Guard check failed):\s+(?=\S)")
# The operator that Inductor could not lower, and its arguments (``OperatorIssue.operator_str`` in ``torch/_inductor/exc.py``).
_LOWERED = re.compile(r"^ +target: (\S+)(?=\s*$|\n +(?:args\[0\]|kwargs): )", re.M)
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
# How the hint about ``Tensor.backward()`` (torch 2.13) writes a setting of ``torch._dynamo.config``.
_WITHOUT_CONFIG = re.compile(r"(\btorch\._dynamo)\.(\w+) ?= ?(?=True\b|False\b)")
# What torch 2.8 and 2.9 write above the user's lines and the exception where Dynamo skips the whole function.
CANNOT_RESUME = re.compile(
    r"\s*Graph break: torch\.compile cannot properly resume from this graph break, which results in a skip\.\n"
    r"(?:torch\.compile will skip (?:tracing the frame (?P<name>\S+) \((?P<file>[^\n]+) line (?P<line>\d{1,9})\))?[^\n]*\n)?"
    r"The graph break occurred in the following user code:\n"
)
_RAISED_BELOW = re.compile(r"^torch\._dynamo\.exc\.\w{1,80}: ", re.M)
# Where a worker of Inductor's raised; its traceback follows.
_BACKWARD = "Unsupported Tensor.backward() call"
_BACKWARD_OUTSIDE = "Compile the forward pass and the loss, and call backward() outside of compiled code."
# A break that somebody wants there, in a text without PyTorch's hint about it.
DISABLED = re.compile(r"Skip (?:calling|inlining) `?torch\.compiler\.disable\(\)[`']?d function")
_ENABLE = "Remove the call of torch.compiler.disable if its reason no longer holds; otherwise this graph break is wanted."
_OF_COMPILATION = re.compile(r"^[\w.]*CompilationError: at \d", re.M)
_OF_WORKER = "An exception occurred in a subprocess:"
_NAME_OF_KERNEL = re.compile(r"Name=\S+$")
# What torch.export asks for below the line that needs a value of the data.
_CHECKS = re.compile(
    r"^To fix the error, insert one of the following checks before this call:[ \t]*\n((?:[ \t]+\d+\. [^\n]+(?:\n|$))+)", re.M
)
_NUMBERED = re.compile(r"^\s+\d+\. (.*\S)", re.M)
# A fix that a text cuts within its parentheses.
_IS_CUT = re.compile(r"\([^()]*$")
_SUGGESTED_FIXES = re.compile(r"^Suggested fixes:[ \t]*\n((?:[ \t]+\S[^\n]*(?:\n|$))+)", re.M)
# How a line begins that raises an error.
_RAISING = ("raise ", "raise(", "assert ", "assert(")


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
    def takes_no_symbol(self) -> bool:
        """Whether an operator was passed a condition of symbolic sizes where it takes a bool, or a scale where it takes floats."""
        return bool(_SYMBOLIC_BOOL.search(self.explanation) or _SYMBOLIC_SCALE.match(self.explanation))

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
        return DATA_DEPENDENT in self.title or UNDECIDED_GUARD.search(self.title) is not None

    @property
    def number(self) -> str:
        """``GB0059``, as PyTorch's site of graph breaks numbers what it met; "" where it has none."""
        found = _NUMBER.search(self.url)
        return found[1].upper() if found else ""


def compiler_message(text: str) -> CompilerMessage:
    """A text of PyTorch's in its parts; the title is the line that names what was met, "" only for an empty text."""
    if skipped := CANNOT_RESUME.match(text):
        text = _raised_below(text[skipped.end() :])
    stack = user_stack(text) or caused_by(text)
    body = _END.split(_PREFACE.sub("", text.strip("\n")), maxsplit=1)[0]
    own, *later = body.split(_NEXT_BREAK)
    first, others = _one_break(own), list(map(_one_break, later))
    if then := " ".join(_met_then(item, part) for item, part in zip(others, later, strict=True) if item.explanation):
        first = first._replace(explanation=f"{first.explanation.rstrip('.')}. {then}" if first.explanation else then)
    is_in_loop = any(part.title == _IN_LOOP for part in (first, *others))
    if first.title.endswith(_OF_WORKER):
        raised = next(reversed(exception_chain(text)), None)
        error = _stopped_in_worker(text) or (f"{raised.type}: {raised.message}" if raised else LOST_EXCEPTION)
        first = first._replace(title=f"{first.title} {error}")
    hints = dict.fromkeys((*first.hints, *(hint for other in others for hint in other.hints)))
    if text.lstrip().startswith(VIOLATED):
        first = first._replace(title=violated(text) or first.title)
        fixes = _SUGGESTED_FIXES.search(text)
        whole = [line for part in (fixes[1].split("\n") if fixes else ()) if (line := part.strip()) and not _IS_CUT.search(line)]
        if whole:
            return first._replace(hints=(f"Suggested fixes: {'; '.join(whole)}",), stack=stack)
    if checks := _CHECKS.search(text):
        return first._replace(
            hints=(f"Before this line, call {' or '.join(_NUMBERED.findall(checks[1]))}, whichever always holds",), stack=stack
        )
    if not hints:
        hints = dict.fromkeys(inline_hints(" ".join(body.split()) if body.startswith(VIOLATED) else body))
    urls = _URL.findall(text) or _INLINE_URL.findall(text)
    fitting = _fitting(tuple(hints), first, stack)
    if (lowered := _LOWERED.search(body)) and lowered[1] not in first.title:
        first = first._replace(title=f"{first.title} (while lowering {lowered[1]})")
    title, why, *helps = (_AT_ADDRESS.sub("", part) for part in (CPP_STACK.sub("", first.title), first.explanation, *fitting))
    helps = [_WITHOUT_CONFIG.sub(r"\1.config.\2 = ", hint) for hint in helps]
    return CompilerMessage(
        title=title, explanation=why, hints=tuple(dict.fromkeys(helps)), url=urls[0] if urls else "", stack=stack, is_in_loop=is_in_loop
    )


def _stopped_in_worker(text: str) -> str:
    """The line of a kernel that Triton could not compile in a process of its own; "" for any other error there."""
    found = list(_OF_COMPILATION.finditer(text))
    lines = [line.strip() for line in text[found[-1].start() :].partition("\n\n")[0].splitlines()] if found else []
    title = title_of(lines)
    return title if TRITON_STOPPED in title else ""


def _fitting(hints: tuple[str, ...], message: CompilerMessage, stack: Sequence[StackFrame]) -> tuple[str, ...]:
    """What to do about a break: PyTorch's hints, or another one where these do not fit what the user's line does."""
    if fitting := _by_line(hints, message, stack) or _by_title(hints, message):
        return (fitting,)
    if name := _builtin_of_python(message, stack):
        return (_CALL_OUTSIDE, *[hint for hint in hints if name.startswith("<") and hint.startswith(_OF_EXTENSION)])
    return hints


def _by_line(hints: tuple[str, ...], message: CompilerMessage, stack: Sequence[StackFrame]) -> str:
    """What the user's line, or the operator that it calls, needs; "" where the hints fit."""
    if stack and _OWN_BREAK.search(message.title) and is_torch(stack[-1].file):
        return KEPT_APART
    if stack and any(_NUMBER_SETTING in hint for hint in hints) and branches_on_number(stack[-1].code):
        return MOVE_BRANCH
    if stack and _READS_NUMBER in message.explanation and (index := index_by_tensor(stack[-1].code)):
        return _INDEX_WITH_DIM.format(index=index)
    if _WITHOUT_KERNEL.search(message.explanation) and any(_SHAPE_SETTING in hint for hint in hints):
        return MOVE_OPERATOR
    if symbolic := _SYMBOLIC_BOOL.search(message.explanation):
        return _BRANCH_ON_IT.format(name=symbolic[1])
    return _PASS_SIZE if _SYMBOLIC_SCALE.match(message.explanation) else ""


def _by_title(hints: tuple[str, ...], message: CompilerMessage) -> str:
    """What is known to help against a break with this title; "" where the hints fit."""
    if message.title == _CLASS_STATEMENT:
        return _DEFINE_OUTSIDE
    if message.title == _BACKWARD:
        return _BACKWARD_OUTSIDE
    if message.title.startswith(_BRANCH_ON_TENSOR):
        return _WITHOUT_BRANCH
    if made := _MADE_BY_CONTEXTLIB.search(message.title):
        return _ENTER_OUTSIDE.format(made["inlined"] or made["skipped"])
    if message.title.startswith(_RETURNS_NO_TENSOR) and (target := _TARGET.search(message.explanation)):
        return _OUTSIDE.format(target[1])
    if _TAKES_LOCK.search(message.title):
        return _LOCK_OUTSIDE
    return _ENABLE if not hints and DISABLED.match(message.title) else ""


def message_of_break(text: str) -> str:
    """A text about a graph break from what was met on, as an exception has it."""
    skipped = CANNOT_RESUME.match(text)
    return _PREFACE.sub("", (_raised_below(text[skipped.end() :]) if skipped else text).strip("\n"))


def _raised_below(text: str) -> str:
    """The message of the exception below the user's lines, in front of them."""
    lines, _, traceback = text.partition("Traceback (most recent call last):\n")
    message = _RAISED_BELOW.split(traceback)[-1] if _RAISED_BELOW.search(traceback) else LOST_REASON
    return f"{message.partition(chr(10) + 'from user code:')[0].rstrip()}\nUser code traceback:\n{lines}"


def _met_then(other: CompilerMessage, text: str) -> str:
    """A graph break that was met while the first was handled: ``Then graph break in loop (GB7000): ...``."""
    found = next(map(_NUMBER.search, _URL.findall(text)), None)
    return f"Then {other.title}{f' ({found[1].upper()})' if found else ''}: {other.explanation}"


def _builtin_of_python(message: CompilerMessage, stack: Sequence[StackFrame]) -> str:
    """The function of Python's standard library that Dynamo cannot trace, "" for others.

    PyTorch finds no module of a method of a class in C, ``<unknown module>.Random.random``: then the code has that, ``random.random()``,
    unless the class is one that is always there, as in ``<unknown module>.list.append``.
    """
    found = _NAMED_BUILTIN.search(f"{message.title}\n{message.explanation}")
    name = found["name"] if found else ""
    method = name.removeprefix(_UNKNOWN_MODULE)
    if method != name and isinstance(getattr(builtins, method.partition(".")[0], None), type):
        return method
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
        hints = tuple(hint.replace(_NEXT_CASE, "") for hint in advice)
        return CompilerMessage(f"Unsupported builtin {_RECORD_OF_PYBIND.sub('', name)}", hints=hints or ((_AS_OPERATOR,) if unfit else ()))
    title, parts = _title_and_fields(text)
    by_name: dict[str, list[str]] = {}
    for name, lines in parts:
        by_name.setdefault(name, []).append(" ".join(filter(None, lines)))
    explanation, hints = next(_uncut(by_name.get("Explanation", ())), ""), tuple(_uncut(by_name.get("Hint", ())))
    if not title and explanation:  # what was met is cut off
        return CompilerMessage(" ".join(takewhile(bool, parts[0][1])), "", hints)
    what, own_guard = _own_guard(title)
    context = by_name.get("Developer debug context", [""])[0][:_LONGEST_CONTEXT]
    if operator := _OPERATOR.match(context):
        what = f"{what}: {operator[1]}"
    if context and _WHILE_TRACING.match(what):
        what = f"{what}: {context}"
    if not explanation and (raised := _RAISED_BY_OPERATOR.match(context)):
        explanation = raised[1]
    if what == _UNCAUGHT and (raised := _RAISED_THERE.fullmatch(context)):
        what = ": ".join(filter(None, (what, raised[1], observed_message(raised[1], context))))
    if _ON_PURPOSE.match(what):
        hints = ("Remove the `torch._dynamo.graph_break()` call.",)
    elif skipped := _SKIPPED.match(context):
        hints = _hints_of_skipped(skipped) or hints
    elif _SYMBOLIC_ARGUMENT.match(context):
        hints = tuple(hint for hint in hints if "reorderable_logging_functions" not in hint)
    elif explanation and (method := _METHOD_OF.match(context)) and method["type"] not in explanation:
        explanation = f"{explanation.rstrip('.')}, here of {method['type']}"
    elif explanation and (called := _OBJECT.match(context)) and not _NAMED.search(f"{what} {explanation}"):
        explanation = f"{explanation.rstrip('.')}: {_ADDRESS.sub('', context[called.start('object') :])}"
    return CompilerMessage(what, own_guard or _error_first(explanation), hints)


def _uncut(texts: Iterable[str]) -> Iterator[str]:
    """Those of more than a single word, which is what is left of one that was cut off."""
    return (text for text in texts if " " in text.strip())


def _title_and_fields(text: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The lines of the title, and each field below it (Explanation, Hint, ...) with its lines."""
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
            goes_on = is_in_sentence and part[:1].islower() and not _LOWERED.match(line)
            if goes_on or (is_wrapped and title[-1][-1].isalnum() and _MORE_WORDS.match(line)):
                title[-1] += f" {part}"
            else:
                title.append(part)
            is_in_sentence = _ENDS_IN_SENTENCE.search(line) is not None
    return title, parts


def _is_wrapped(above: str, line: str) -> bool:
    """Whether a line goes on with a sentence of a field that somebody wrapped below its name."""
    return above[-1:].isalnum() and line.startswith("  ") and line.strip()[:1].islower()


def _own_guard(title: list[str]) -> tuple[str, str]:
    """The title without the guard that rejects the call that it was made for, and that guard behind its label, "" for any other title."""
    text = title_of(title)
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
    found = FAILED_ON_FAKE_TENSORS.fullmatch(explanation)
    return f"{found[2]}: {argument_text(found[3])}{_ON_FAKE_TENSORS}{found[1]})" if found and found[1] else explanation
