"""The failure in a text: a traceback, what is left of one, or the exception as somebody quotes it.

The wording is that of ``torch/_dynamo/exc.py``, ``torch/_inductor/exc.py`` and ``torch/fx/experimental/symbolic_shapes.py``, 2.0 to 2.15.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION, compiler_message
from shapelog.reading.payloads.cuda_graphs import cuda_graph_message
from shapelog.reading.payloads.python_tracebacks import exception_chain, observed_exception, user_stack
from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN
from shapelog.reading.payloads.source_names import is_library, is_torch
from shapelog.reading.text_logs.exception_names import (
    ABOUT_COMPILER,
    ANY_OF_MODULES,
    NAMES,
    OF_DYNAMO_ALONE,
    QUALIFIED,
    REFUSED_INPUT,
    is_cut_name,
)
from shapelog.reading.text_logs.joined import end_of_parentheses, joined_parts, with_whole_operation
from shapelog.reading.text_logs.lines.mentions import CLOSING, is_in_sentence
from shapelog.reading.text_logs.lines.signs import USER_STACK
from shapelog.reading.text_logs.message_kinds import BEHIND_ANOTHER, BELOW_STACK, CHAINS, UNDECIDED
from shapelog.reading.text_logs.messages import UNKNOWN_CODE, LoggedCode, recompiled_code
from shapelog.reading.text_logs.stacks import frames_in, innermost_code, raised_in_compiler
from shapelog.text import cut

# Exceptions of the compiler; one that the program itself raised is no failure of it, nor is one that ``torch.onnx`` warns of.
_RAISED = re.compile(
    rf"(?:^|\n)[ \t]{{0,80}}(?:(?!except )\w{{1,20}} +)?(?P<alone>{ANY_OF_MODULES}|{NAMES})"
    r"(?:: (?P<message>[^\n]*)"
    r"|:?[ \t]*\n[ \t]*(?P<below>\d[^\n]* not in range [^\n]*)"
    rf"|:\n[ \t]*(?P<wrapped>(?!{USER_STACK}|Set TORCH|You can suppress|File \")\S[^\n]*)|:?(?=\n|$))"
    rf"|(?<!except )(?P<quoted>{QUALIFIED}|(?<![\w.]){OF_DYNAMO_ALONE})(?:'>)?"
    r"(?:: |(?<='>) (?=[A-Z]\w+ )| (?:> )?(?=\w{0,40}Error: ))(?!Constraints violated\.')(?P<words>\S[^\n]*)"
    r"|(?<![\w.])(?P<unsupported>Unsupported): (?P<what>[^\n]{0,200}(?:Variable\b|\bcall_\w)[^\n]*)"
    # a field of a report, such as ``Exception Type:``, and the one below it that has the message
    rf"|(?<=[:* ])(?P<field>{QUALIFIED})\W{{0,8}}(?:\n[^\n:]{{0,60}}\b[Mm]essage\W{{1,8}}(?P<in_field>[^\n]*)|(?=\n|$))"
    rf"|(?:^|\n)(?P<heading>{NAMES}) {{2,200}}Traceback \(most recent call last\)"  # of IPython
    r"|(?P<of_backend>backend='[^'\n]{1,80}' raised:[^\n]*)"
    r"|(?:^|\n)[ \t]{0,80}\w{0,80}Error: (?P<of_operation>Failed running call_\w{1,20} [^\n]*)"
)
_TYPES = {"of_backend": "BackendCompilerFailed", "of_operation": "TorchRuntimeError"}
_MESSAGES = {"alone": "message", "quoted": "words", "unsupported": "what", "field": "in_field"}
_VIOLATION, _ANY_TYPE, _INTERNAL = "ConstraintViolationError", "Error", "InternalTorchDynamoError"
_AT_LIMIT = frozenset(("FailOnRecompileLimitHit", "FailOnCacheLimitHit", "RecompileLimitExceeded", "CacheLimitExceeded"))
# The second one is of torch 2.1 to 2.5, where the whole function has to be compiled.
_REACHED = re.compile(r"Dynamo recompile limit exceeded|(?:accumulated_)?cache_size_limit reached\b")
_LIMIT_IN_MESSAGE = re.compile(r"currently\s+set\s+to\s+(\d{1,9})\)|(?:recompile|cache_size)_limit \((\d{1,9})\)")
_GUARD_ERROR = re.compile(
    r"Error while creating guard:\s*(?:$|\n\s*Name: (?P<name>[^\n]*))"
    r"(?:\n(?:[^\n]*\n){0,3}?\s*(?:Create Function: (?P<kind>\w+)|Source: (?P<sizes>shape_env)\b))?"
)
# The end of an exception's message, which any program's may have by chance, and of Dynamo's own.
_OF_ANY_PROGRAM = ("Unsupported", "UserError")
_OF_DYNAMO = re.compile(
    r"\w+Variable\b|\bcall_(?:function|method|module)\b|^from user code:|TORCH_LOGS|TORCHDYNAMO|torch[/\\](?:_dynamo|_?export)\b", re.M
)
_EXPLANATION = re.compile(r"^(?P<message>(?: ?\S[^\n]*\n)?[ \t]*Explanation: .*?)^\s*from user code:", re.M | re.S)
_MARGIN = re.compile(r"^[ \t]*(?=  Explanation: )", re.M)
# What PyTorch logs with a stack where it goes on (``symbolic_shapes.py``).
_ASSUMED = re.compile(r"\bdue to data dependency, it was assumed to be ")
NOT_CONVERTED = re.compile(  # before 2.0, there is no "line"
    r"WON'?T CONVERT (?P<name><[^<>\n]{1,200}>|\S{1,400}) (?P<file>.{0,1000}?(?= line \d)|\S{1,1000}(?= {1,80}\d{1,9}[ \t]{0,200}$))"
    r" {1,80}(?:line )?(?P<line>\d{1,9})",
    re.M,
)
_STACK_LINE = re.compile(r"\s*(?:File \"|\^|~)")
# In front of each line of a rank, where somebody joined these.
_RANK_OF_LINE = re.compile(r" \[rank\d{1,6}\]: ")
# A traceback, which may end before its exception, and a frame of the compiler in it.
_CUT_STACK = re.compile(r"\s*Traceback \(most recent call last\):\n[ \t]")
_OF_COMPILER = re.compile(r"File \"[^\"\n]*[\\/]torch[\\/]_(?:dynamo|inductor|functorch)[\\/]")
_ENDS_WITH_NOTE = re.compile(rf"^{BELOW_STACK}", re.M)
_SHAPE_ENV = "PyTorch could not make the guards on sizes; most often a size is marked as dynamic that the code fixes"
_LOST_VIOLATION = f"{_SHAPE_ENV} (SHAPE_ENV)"
_LOWERING = "Error from lowering"
# Below it, Inductor logs the kernel and what it was to be compiled for, and then the stack.
_OF_KERNEL = "Triton compilation failed: "
_KERNEL = re.compile(rf"\s*{_OF_KERNEL}(?P<name>\w{{1,400}})")
_OF_TRITON = re.compile(r"^(?:triton\.[\w.]{1,80}\.)?(\w{1,80}(?:Error|Exception|Resources): .*)", re.M | re.S)
# The heading, and below it one condition on each line; a person may have written on below these, or quote one alone.
_CONDITION = r"(?:Not all values|You marked|The values|The constraints)[^\n]*"
_WRAPPED_CONDITION = (
    r"[ \t]+(?:For more information, run|(?:are )?valid because|because|was inferred|in the specified|satisfy the|as dynamic but)\b"
)
_GUARD_BELOW = r"(?:(?<=satisfy the generated guard)[ \t]*\n(?:[ \t]*\n)?[ \t]+\S[^\n]*)?"
_CONDITIONED = re.compile(_CONDITION)
_NAMED = re.compile(r"L\[[^\s()]{1,200}(?:\(\)\[\d{1,3}\])?")
_VIOLATED = re.compile(
    rf"^(?:[ \t]*|{BEHIND_ANOTHER})"
    r"(?P<all>Constraints violated\s\([^\n]*"
    rf"(?:\n(?:[ \t]*\n){{0,2}}(?:[ \t]*(?:- )?{_CONDITION}{_GUARD_BELOW}|{_WRAPPED_CONDITION}[^\n]*))*)",
    re.M,
)
_VIOLATED_ALONE = re.compile(
    r"Not all values of (?:RelaxedUnspecConstraint\(|\S{1,200} = )[^\n]{0,500}? are valid because [^\n]*"
    r"|Not all values of \S{1,200} = [^\n]{1,200} in the specified range [^\n]{0,200}satisfy the generated guard [^\n]*"
    r"|You marked \S[^\n]{0,200} as dynamic\s{1,9}but\s{1,9}your\s{1,9}code\s{1,9}specialized\s[^()]{0,99}\([^()\n]{1,60}\)"
    r"(?:\.\s+If\s+you're\s+using\s+mark_dynamic,[^.]{1,200}\.|[^\n]*)"
)
_SUGGESTED = re.compile(r"^Suggested fixes:[ \t]*\n(?:[ \t]+\S[^\n]*(?:\n|$))+", re.M)
# What is known by PyTorch's own words for it.
_IN_OWN_WORDS = {
    "GuardOnDataDependentSymNode": re.compile(
        r"(?:Tried to use data-dependent value [^\n]{0,2000})?"
        r"Could not (?:guard on|extract specialized integer from) data-dependent expression .*",
        re.S,
    ),
    "AssertionError": re.compile(
        r"Guard failed on the same frame it was created[^\n]*(?:\n\s*Guard fail reason: [^\n]*)?"
        r"|(?:(?<=AssertionError: )Guard check failed:|Guard check failed:(?=\s+\d{1,9}/\d))(?:\s+\d{1,9}/\d{1,9}:)?\s+\S[^\n]*"
    ),
    "TritonMissing": re.compile(r"Cannot find a working triton installation[^\n]*"),
    "GPUTooOldForTriton": re.compile(r"Found [^\n]{1,200} which is too old to be supported by the triton GPU compiler[^\n]*"),
    # Triton's or Metal's, about a kernel that Inductor made
    "InductorError": re.compile(
        r"SyntaxError: failed to compile[ \t]*\n\s*#? ?include <c10/metal/.*|\bwith program_source:\d{1,9}:\d{1,9}: (?:fatal )?error: .*"
        r"|CompilationError: at \d{1,6}:\d{1,6}:[ \t]*\n(?:[^\n]*\n){0,3}?[ \t]*def triton_.*",
        re.S,
    ),
    "RuntimeError": re.compile(REFUSED_INPUT),
    "TorchRuntimeError": re.compile(r"Dynamo failed to run FX node with fake tensors:\s+(?:call_\w|\.{3} got \w).*", re.S),
}
# A condition that has no hint depends on the data.
_UNDECIDED = re.compile(rf"\s*{re.escape(UNDECIDED)}(?P<expression>[^\n]{{1,2000}}?), None[,)]")
# The class of any exception, perhaps behind words of the program's own.
_CLASS = re.compile(r"\b[A-Z]\w{0,80}(?:Error|Exception): ")
# An error of which only the class is there, or not even that, and the statement of a stack that asserted something.
_LEFT_OUT = re.compile(r"(?:^|(?<=raised:)\s*)(?:(?P<name>[A-Z]\w{0,80}(?:Error|Exception)):?[ \t]*)?(?:\.{3}|…)?[ \t]*$")
# Below it, the call, and what to do; or the operator that was lowered.
_END_OF_ERROR = re.compile(r"(\n\n|\n(?=[ \t]{1,9}target: ))")
_ASSERTED = re.compile(r"^ {4,}(assert [^\n]{1,200}?)\s*$", re.M)
# The statement that raised, at the end of a stack: an internal error of older versions does not name the class.
_RAISES = re.compile(rf"\n {{4,}}raise (?!{_INTERNAL})(\w{{1,80}}(?:Error|Exception))\([^\n]*\n[ \t~^\n]*\Z")
_IN_STACK = re.compile(r'File "|^(?:File |Cell In|Input In|<ipython-)|^-{2,}> ?\d', re.M)
_CHAIN = re.compile(rf"^{CHAINS.pattern}", re.M)
# A warning of Python's, which may come in the middle of a traceback.
_WARNING = re.compile(r"\S.{0,400}\.py:\d{1,9}: [A-Z]\w{0,60}Warning: ")
_ABOUT_COMPILER = re.compile(ABOUT_COMPILER, re.M)
# An exception of the traced code, for which Dynamo raises another one unless the code handles it.
_OBSERVED = "Observed"
# How torch.onnx ends its message about an export (torch 2.5 and later): with the exception that it met.
_MET_BY_EXPORT = re.compile(r"^#{1,3} Exception summary\n+<class '(?:\w{1,80}\.){0,8}(?P<kind>\w{1,80})'>: (?P<message>[^\n]*)", re.M)
# How IPython heads a stack, below which the exception follows.
_IPYTHON = re.compile(r" {2,200}Traceback \(most recent call last\)")
_AFTER_MARK = re.compile(r"['\"\u2019\u201d](?=[\s,.;:?!}\]\uff0c\u3002\uff08\uff09]|$)")
_LONGEST_KEY, _LONGEST_PRINTED = 200, 10_000
_FEW_WORDS, _LONGEST_LINE, _LONGEST_KERNEL = 20, 600, 80


class FailureText(NamedTuple):
    """A compile that failed: the type of the exception without its module, its message from the first line on, the function where known.

    ``caller`` is the innermost line of the traceback that is not of a library, where the user's own stack is not in the text.
    ``is_mentioned``: it is only named in a sentence. ``is_announced``: PyTorch logged it, and then raised it. ``is_of_backward``: it is of
    the backward graph alone, which PyTorch compiled ahead of its use.
    """

    type: str
    message: str
    code: LoggedCode
    text: str
    caller: LoggedCode = UNKNOWN_CODE
    is_mentioned: bool = False
    is_announced: bool = False
    is_of_backward: bool = False

    @property
    def limit(self) -> str:
        """The recompile limit where the message has it, else ""."""
        found = _LIMIT_IN_MESSAGE.search(self.text)
        return (found[1] or found[2]) if found else ""

    @property
    def is_at_limit(self) -> bool:
        return self.type in _AT_LIMIT or _REACHED.match(self.message) is not None

    @property
    def is_violation(self) -> bool:
        """Whether the code does not allow what is marked or declared as dynamic."""
        return _VIOLATED.match(self.message) is not None

    @property
    def is_quoted(self) -> bool:
        """Whether there is no stack, as where a person or a program repeats the exception alone."""
        is_named_in_stack = self.code.name and self.type != RECOMPILE_FORBIDDEN  # whose message names the function
        return not is_named_in_stack and _IN_STACK.search(self.text) is None

    @property
    def as_traceback(self) -> str:
        """The text; the exception as Python ends a traceback where the heading of that is not there, and words for one that is lost."""
        if self.is_lost:
            return self.reason
        return self.text if exception_chain(self.text) else f"Traceback (most recent call last):\n{self.type}: {self.message}\n"

    @property
    def reason(self) -> str:
        """The message; with the kernel that Triton failed on where that is all that the text has."""
        kernel = _KERNEL.match(self.text) if self.is_lost else None
        return f"Triton failed on the kernel {_named_kernel(kernel)}: {self.message}" if kernel else self.message

    @property
    def is_lost(self) -> bool:
        """Whether the text does not have the message; it is of any type where that is missing, too."""
        return self.message == LOST_EXCEPTION

    @property
    def is_unnamed(self) -> bool:
        """Whether the text does not have the class of the exception, or its message."""
        return self.is_lost or self.type == _ANY_TYPE

    def completed(self, other: "FailureText") -> "FailureText":
        """The same with what only the other text about this failure has: the message, or the place."""
        named = other if self.is_lost or (self.type == _ANY_TYPE and not other.is_lost) else self
        placed = self if self.code.name or self.caller.name else other
        return placed._replace(type=named.type, message=named.message, is_mentioned=named.is_mentioned)

    def completes(self, other: "FailureText") -> bool:
        """Whether both have no more than the message, and that of the other one is cut."""
        return other.is_quoted and len(self.message) > len(other.message) > 0 and self.message.startswith(other.message)

    @property
    def is_lost_violation(self) -> bool:
        """Whether the guards on sizes failed, and the text does not have the exception."""
        return self.message == _LOST_VIOLATION

    def violating(self, source: str, value: str, stack: str) -> "FailureText":
        """The same where it is known which size the code fixes to which value, and at which line."""
        condition = (
            f"Not all values of RelaxedUnspecConstraint({source}) are valid because {source} was inferred to be a constant ({value})."
        )
        return self._replace(type=_VIOLATION, message=f"Constraints violated!\n- {condition}{stack}")

    def is_same(self, other: "FailureText") -> bool:
        """Whether both are of one failure, by the type and the beginning of the message; that of one may be cut."""
        if {self.type, other.type} == {_VIOLATION, _ANY_TYPE} and (self.is_lost_violation or other.is_lost_violation):
            return True
        if self.is_of_backward != other.is_of_backward and (self.is_lost or other.is_lost):
            return False
        if self.is_lost and other.is_lost:
            return (self.type, self.code, self.caller) == (other.type, other.code, other.caller)
        if self.is_lost or other.is_lost:
            lost, known = (self, other) if self.is_lost else (other, self)
            return (known.is_quoted or known.type != _ANY_TYPE) if lost.type == known.type else lost.type == _ANY_TYPE and known.is_quoted
        mine, others = self._key, other._key
        if self.type != other.type:
            return self._includes(other) or other._includes(self)
        if self.type == _VIOLATION and (self._names or other._names):
            return self._names <= set(_NAMED.findall(other.message)) if self._names else other._names <= set(_NAMED.findall(self.message))
        return mine.startswith(others) or others.startswith(mine)

    def _includes(self, other: "FailureText") -> bool:
        """Whether the message has another exception in it, or is printed behind words of the program's own and without its class."""
        mine, others = self._key, other._key
        is_end = self.type == _ANY_TYPE and len(others) > _FEW_WORDS and mine.endswith(others)
        return is_end or f"{other.type}: {others}" in mine

    @property
    def _names(self) -> set[str]:
        """What constraints are violated for, where the message has nothing but that."""
        return set() if _CONDITIONED.search(self.message) else set(_NAMED.findall(self.message))

    @property
    def _key(self) -> str:
        if alone := _VIOLATED_ALONE.search(self.message):
            return alone[0].strip()[:_LONGEST_KEY]
        first, _, rest = self.message.partition("\n")
        text = f"{first} {rest.lstrip().partition(chr(10))[0]}" if first.endswith("raised:") else first
        return text.strip().rstrip(".…'\"`")[:_LONGEST_KEY]


class _Raised(NamedTuple):
    """An exception in a text: its type, with its module where that is there, where its name begins, and its message begins and ends."""

    type: str
    start: int
    begin: int
    end: int


def raised_in(text: str) -> Iterator[_Raised]:
    """The exceptions of the compiler that a text names."""
    for found in _RAISED.finditer(text):
        part = next(name for name in ("alone", "quoted", "unsupported", "field", "heading", *_TYPES) if found[name])
        message = next((name for name in ("below", "wrapped") if found[name]), _MESSAGES.get(part, part))
        begin = found.start(message) if part != "heading" and found[message] is not None else len(text)
        end = _end_of_quote(text, found.start(part), begin) if part in ("quoted", "unsupported") else len(text)
        yield _Raised(_TYPES.get(part) or found[part], found.start(part), begin, end)


def _end_of_quote(text: str, start: int, begin: int) -> int:
    """Where the words end that begin at ``start`` after a backtick or a quotation mark, or in a span of code; else that of the text."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", begin)
    stop = stop if stop >= 0 else len(text)
    if text.count("`", line, start) % 2:
        closing = text.find("`", begin, stop)
    elif start > line and text[start - 1] == "(":
        closing = end_of_parentheses(text, begin, stop)
    else:
        marks = CLOSING.get(text[line:start].removesuffix(" ")[-1:], "")
        ends = [found.start() for found in _AFTER_MARK.finditer(text, begin, stop) if text[found.start()] in marks]
        closing = ends[0] if ends else -1
    return closing if closing >= 0 else len(text)


def names_exception(line: str) -> bool:
    """Whether a line has an exception of the compiler behind words of somebody else."""
    return any(found["quoted"] or found["unsupported"] or found["of_backend"] for found in _RAISED.finditer(line))


def is_exception_alone(line: str) -> bool:
    """Whether a line is an exception of the compiler with its message, as Python writes it below a stack."""
    return any(found["alone"] and found["message"] for found in _RAISED.finditer(line))


def cells_with_exceptions(line: str) -> list[str]:
    """The cells of a row of a table in Markdown that have an exception of the compiler with its message; none for another line."""
    row = line.strip()
    cells = re.split(r"(?<!\\)\|", row[1:-1]) if row[:1] == row[-1:] == "|" else []
    return [cell.strip() for cell in cells if any(found.begin < found.end for found in raised_in(cell.strip()))]


def failure(lines: Iterable[str], is_logged: bool = False) -> FailureText | None:
    """The failure in a traceback, or in what is left of one; None where no compiler raised it.

    What PyTorch itself logs (``is_logged``) is a failure, even if the log ends before the exception.
    """
    lines = [part for line in lines if not _WARNING.match(line) for part in joined_parts(line)]
    text = "\n".join(lines)
    raised = [found for found in raised_in(text) if found.type not in _OF_ANY_PROGRAM or _OF_DYNAMO.search(text)]
    if not raised and (explained := _EXPLANATION.search(text)):  # from Explanation on, the message of an exception
        return FailureText("Unsupported", with_whole_operation(_without_margin(explained["message"]).rstrip()), _compiled_code(text), text)
    if not raised:
        return _nameless_failure(text, is_logged)
    last = raised[-1]
    message = _without_closing(_RANK_OF_LINE.sub(" ", _without_indent(text, last)))
    message = _completed(with_whole_operation(message), text, last.start) if message else _cause(text) or _violation(text)
    if message.endswith("raised:") or (not message and _IPYTHON.match(text, last.start + len(last.type))):
        message = f"{message} {LOST_EXCEPTION}".strip()
    kind = last.type.rpartition(".")[2]
    message = observed_exception(kind, message)
    if kind == _INTERNAL and (raising := _RAISES.search(text[: last.start])) and message and not _CLASS.match(message):
        message = f"{raising[1]}: {message}"
    if kind.startswith(_OBSERVED) and _ends_in_chain(text, last.start):
        message = f"{message} in the code that is traced; {LOST_EXCEPTION}"
    if last.begin == len(text) and not message and is_cut_name(kind):
        kind, message, text = _ANY_TYPE, LOST_EXCEPTION, text[: last.start]
    if named := NOT_CONVERTED.search(text):
        code = _unconverted(named)
    else:
        recompiled = recompiled_code(message)
        code = recompiled if recompiled.name else _compiled_code(text)
    begin = text.find("Traceback (most recent call last):")
    if 0 <= raised[0].start < begin and any(map(CHAINS.match, text[raised[0].start : begin].split("\n"))):
        begin = raised[0].start  # its cause, without a stack
    is_known = code.name or compiler_message(message).stack or _is_cut_below(text, last.start)
    caller = UNKNOWN_CODE if is_known else innermost_code(lines)
    if kind == _VIOLATION and (alone := _VIOLATED_ALONE.match(message)):
        message = _as_violation(alone)
    whole = text[max(begin, 0) :] if exception_chain(text) else text
    is_mentioned, is_announced = is_in_sentence(text, last.start), _GUARD_ERROR.search(text) is not None
    return FailureText(
        type=kind, message=message, code=code, text=whole, caller=caller, is_mentioned=is_mentioned, is_announced=is_announced
    )


def failure_of_backward(lines: Iterable[str]) -> FailureText:
    """That of a backward graph, whatever raised it and as far as it is there: nothing else is logged with it."""
    text = "\n".join(line for line in lines if not _WARNING.match(line))
    return FailureText(_ANY_TYPE, _cause(text) or LOST_EXCEPTION, UNKNOWN_CODE, text)


def _cause(text: str) -> str:
    """The last exception of a chain that has a message."""
    return next((f"{item.type}: {item.message}" for item in reversed(exception_chain(text)) if item.message), "")


def _completed(message: str, text: str, begin: int) -> str:
    """A message that a person left out, or that Python has none of, with what else of the text has it: the line right above, the same
    class with its message, or the statement that asserted.
    """
    own, end, rest = (*_END_OF_ERROR.split(message, maxsplit=1), "", "")[:3]
    left_out = _LEFT_OUT.search(own) if own else None
    if not left_out:
        return message
    above = text[:begin].rstrip().rpartition("\n")[2].strip()
    name = left_out["name"] or ""
    named = re.search(rf"\b{name}: (?P<all>[^\s`.…][^\n`]*)", text) if name else None
    if named:
        error = f"{name}: {named['all'].strip()}"
    elif name == "AssertionError":
        asserted = _ASSERTED.findall(text[:begin])
        error = f"{name}: {asserted[-1]}" if asserted else name
    else:
        error = name or (above if _CLASS.match(above) else "")
    return f"{own[: left_out.start()].rstrip()} {error}".strip() + end + rest


def _without_indent(text: str, raised: _Raised) -> str:
    """The message of an exception, without what indents all of it, as in a report of pytest."""
    before = text[text.rfind("\n", 0, raised.start) + 1 : raised.start]
    message = text[raised.begin : raised.end].strip()
    return message if not before or before.strip() else re.sub(rf"\n[ \t]{{1,{len(before)}}}", "\n", message)


def _without_margin(message: str) -> str:
    """The parts of a message without what a program indents all of them by, below a line of its own."""
    margin = _MARGIN.search(message)
    return re.sub(rf"^[ \t]{{1,{len(margin[0])}}}", "", message, flags=re.M) if margin and margin[0] else message


def _without_closing(message: str) -> str:
    """A message of one line without the mark that ends a quotation of more than that line."""
    return message[:-1] if message.endswith('"') and message.count('"') % 2 and "\n" not in message else message


def _compiled_code(text: str) -> LoggedCode:
    """The function that Dynamo compiled: the outermost of the user's stack."""
    stack = user_stack(text)
    return LoggedCode(stack[0].name, stack[0].file, stack[0].line) if stack else UNKNOWN_CODE


def _nameless_failure(text: str, is_logged: bool) -> FailureText | None:
    """A failure whose exception the text has lost, or never had."""
    if _ASSUMED.search(text):
        return None
    if violation := _violation(text):
        return FailureText(_VIOLATION, violation, UNKNOWN_CODE, text)
    for kind, words in _IN_OWN_WORDS.items():
        if found := words.search(text):
            end = _end_of_quote(text, found.start(), found.start())
            code = _compiled_code(text)
            caller = UNKNOWN_CODE if code.name else innermost_code(text.split("\n"))
            message = with_whole_operation(text[found.start() : min(found.end(), end)].strip())
            return FailureText(kind, message, code, text, caller)
    other = _cause(text)
    if not other and (undecided := _UNDECIDED.match(text)):
        message = f"Could not guard on data-dependent expression {undecided['expression']}"
        return FailureText("GuardOnDataDependentSymNode", message, UNKNOWN_CODE, text)
    if guard := _GUARD_ERROR.search(text):
        return FailureText(_ANY_TYPE, _guard_error(guard, other), UNKNOWN_CODE, text)
    if named := NOT_CONVERTED.search(text):
        return FailureText(_ANY_TYPE, other or LOST_EXCEPTION, _unconverted(named), text)
    if is_logged and text.lstrip().startswith(_LOWERING):
        return FailureText("LoweringException", other or LOST_EXCEPTION, UNKNOWN_CODE, text)
    if is_logged and text.lstrip().startswith(_OF_KERNEL):
        raised = _OF_TRITON.search(text)
        return FailureText(_ANY_TYPE, raised[1].strip() if raised else LOST_EXCEPTION, UNKNOWN_CODE, text)
    if user_stack(text):
        return FailureText(_ANY_TYPE, _printed_above(text) or LOST_EXCEPTION, _compiled_code(text), text)
    if _ENDS_WITH_NOTE.search(text) and (caller := innermost_code(text.split("\n"), is_torch)).name:
        return FailureText(_ANY_TYPE, LOST_EXCEPTION, UNKNOWN_CODE, f"{USER_STACK}\n{text}", caller)
    if not is_logged and cuda_graph_message(text) is None and (own := _of_any_class(text)):
        return own
    is_cut = not other and _CUT_STACK.match(text) is not None and _OF_COMPILER.search(text) is not None
    is_rest = is_cut or _STACK_LINE.match(text) or CHAINS.match(text)
    return FailureText(_ANY_TYPE, other or LOST_EXCEPTION, UNKNOWN_CODE, text) if is_logged and is_rest else None


def _of_any_class(text: str) -> FailureText | None:
    """An exception that the compiler or compiled code raised, by its stack, or that is about the compiler by its words."""
    chain = list(_CHAIN.finditer(text))
    begins, ends = [0, *(found.end() for found in chain)], [*(found.start() for found in chain), len(text)]
    for begin, end in reversed(list(zip(begins, ends, strict=True))):
        part = text[begin:end].rstrip()
        if inside := raised_in_compiler(part):
            message = _without_long_line(_whole_message(part, inside.type) or inside.message)
            caller = innermost_code(part[_last_heading(part) :].split("\n"))
            return FailureText(inside.type, message, UNKNOWN_CODE, text[:end].rstrip(), caller)
    about = next(reversed(list(_ABOUT_COMPILER.finditer(text))), None)
    if about is None:
        return None
    if met := _MET_BY_EXPORT.search(text, about.end()):
        return FailureText(about["kind"], f"{met['kind']}: {met['message'].strip()}", UNKNOWN_CODE, text, innermost_code(text.split("\n")))
    end = min(_end_of_words(text, about.end()), _end_of_quote(text, about.start("kind"), about.end()))
    message = text[about.start("about") : end].strip()
    return FailureText(about["kind"], message, UNKNOWN_CODE, text, innermost_code(text.split("\n")))


def _without_long_line(message: str) -> str:
    """A message whose first line is no long list, such as that of all settings."""
    first, end, rest = message.partition("\n")
    return f"{cut(first, _LONGEST_LINE)}{end}{rest}"


def _last_heading(text: str) -> int:
    return max(text.rfind("Traceback (most recent call last)"), 0)


def _end_of_words(text: str, begin: int) -> int:
    """Where a chain goes on, else the end."""
    found = _CHAIN.search(text, begin)
    return found.start() if found else len(text)


def _whole_message(text: str, kind: str) -> str:
    """The message of the last exception of a class, on as many lines as it has."""
    found = list(re.finditer(rf"^(?:\w{{1,80}}\.){{0,8}}{re.escape(kind)}:(?: |$)", text, re.M))
    return text[found[-1].end() :].strip() if found else ""


def _is_cut_below(text: str, begin: int) -> bool:
    """Whether the only stack is below an exception, as reports have it, and ends in the program before it comes to the compiler."""
    frames = frames_in(text[begin:].split("\n")) if _IN_STACK.search(text[:begin]) is None else []
    return bool(frames) and not is_library(frames[-1].file)


def _ends_in_chain(text: str, begin: int) -> bool:
    """Whether another exception followed one, which the text has lost."""
    chained = _CHAIN.search(text, begin)
    return chained is not None and not _CLASS.search(text, chained.end())


def _printed_above(text: str) -> str:
    """What a program printed of an exception above the user's stack, without its class or behind words of its own."""
    message = text[:_LONGEST_PRINTED].partition(f"\n{USER_STACK}")[0]
    named = _CLASS.search(message)
    return message[named.start() if named else 0 :].strip() if USER_STACK not in message else ""


def _violation(text: str) -> str:
    """What is violated, and what PyTorch suggests, of an exception whose class is not there; "" for any other text."""
    if violated := _VIOLATED.search(text):
        conditions = violated["all"].strip()
    elif alone := _listed_conditions(text):
        conditions = "\n".join(("Constraints violated!", *alone))
    else:
        return ""
    fixes = _SUGGESTED.search(text)
    return f"{conditions}\n{fixes[0].strip()}\n" if fixes else conditions


def _listed_conditions(text: str) -> list[str]:
    """The first condition that is violated, and those right below it, where their heading is not there."""
    listed: list[str] = []
    end = 0
    for found in _VIOLATED_ALONE.finditer(text):
        if listed and text[end : found.start()].strip(" \t\n-"):
            break
        listed.append(f"- {' '.join(found[0].split())}")
        end = found.end()
    return listed


def _as_violation(condition: re.Match[str]) -> str:
    return f"Constraints violated!\n- {' '.join(condition[0].split())}"


def _guard_error(found: re.Match[str], exception: str) -> str:
    """What could not be guarded, and the exception where the text has it."""
    name, kind = (found["name"] or "").strip("'\""), found["sizes"].upper() if found["sizes"] else found["kind"]
    of = f" of {name}" if name else ""
    what = f"{_SHAPE_ENV if kind == 'SHAPE_ENV' else f'error while creating a guard{of}'}{f' ({kind})' if kind else ''}"
    return f"{what}: {exception or (LOST_EXCEPTION if found['name'] is None else '')}".removesuffix(": ")


def _named_kernel(found: re.Match[str]) -> str:
    """The name of a kernel, with a sign that more of it followed where the text ends in it."""
    return f"{cut(found['name'], _LONGEST_KERNEL)}{'' if found.string[found.end() :].strip() else '…'}"


def _unconverted(found: re.Match[str]) -> LoggedCode:
    return LoggedCode(found["name"], found["file"], int(found["line"]))
