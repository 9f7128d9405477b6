"""What one message of PyTorch's logging holds: a recompile with its reasons, a limit that was hit, a symbol, a failure.

The wording is that of ``torch/_dynamo/guards.py``, ``convert_frame.py`` and ``torch/fx/experimental/symbolic_shapes.py``, 2.0 to 2.15.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import exception_chain, stack_lines, user_stack
from shapelog.reading.payloads.recompile_reasons import parse, split_entry
from shapelog.reading.payloads.source_names import is_library

_RECOMPILING = re.compile(
    r"\(?['\"]?Recompiling function (?P<name>[^\s'\"]+)(?: in (?P<file>\S.*?)(?::(?P<line>\d{1,9}))?(?=[\s'\",]|$))?"
    r"|Detected recompile when torch\.compile stance is '[^']*'"
    r"(?:\. filename: '(?P<stance_file>[^']*)', function name: '(?P<stance_name>[^']*)'(?:, line number: (?P<stance_line>\d{1,9}))?)?"
)
_TRIGGERED = re.compile(r"triggered by the following guard failure(?:\(s\))?:?\s*(?P<rest>.*)")
_ITEM = re.compile(r"^\s*- ?(.*)$")
_GUARD_NUMBER = re.compile(r"^\s*guard \d{1,9} failures?:?\s*$")
_SUGGESTED = re.compile(
    r"environment variable would enable dynamic compilation.*?(?:TORCH_COMPILE_DYNAMIC_SOURCES=\"(?P<sources>.*)\")?\s*$"
)
_STACK_LINE = re.compile(r"\s*(?:User stack trace:|File \"|\^|~)")
# Where a line that a page or a terminal wrapped may go on.
_MOST_REASONS = 10_000


class Code(NamedTuple):
    """A function as a log names it: its name, file and first line; "" and 0 where the log leaves them out."""

    name: str = ""
    file: str = ""
    line: int = 0


UNKNOWN_CODE = Code()


class RecompileText(NamedTuple):
    """``Recompiling function f in train.py:4``, with the reasons as they would stand in a trace and the sources that PyTorch suggests.

    ``is_whole`` is False where the first line, which names the function, is not in the log.
    """

    code: Code
    reasons: tuple[str, ...]
    suggested: str = ""
    is_whole: bool = True


def recompiles(lines: Iterable[str]) -> Iterator[RecompileText]:
    """The recompiles in the lines of one message, or of several of the same compile."""
    code: Code | None = None
    body: list[str] = []
    for line in lines:
        found = _RECOMPILING.search(line)
        if found is None:
            body.append(line)
            continue
        if code is not None or any(map(_ITEM.match, body)):
            yield _recompile(code, body)
        code = _code(found)
        body = [line[found.end() :]]
    if code is not None or any(map(_ITEM.match, body)):
        yield _recompile(code, body)


def _code(found: re.Match[str]) -> Code:
    name, file, line = (found[key] or found[f"stance_{key}"] or "" for key in ("name", "file", "line"))
    return Code(name, file.rstrip("'\","), int(line or 0))


def _recompile(code: Code | None, lines: list[str]) -> RecompileText:
    items: list[str] = []
    suggested = ""
    has_ids = any((item := _ITEM.match(line)) and split_entry(item[1])[0] for line in lines)
    for line in map(_without_fence, lines):
        triggered = _TRIGGERED.search(line)
        if triggered or _GUARD_NUMBER.match(line):
            rest = triggered["rest"] if triggered else ""
            if triggered and rest.strip("'\") "):  # torch 2.0 and 2.1 write one guard on the same line, some as a tuple of texts
                items.append(_without_tuple(rest.rstrip()))
            continue
        hint = _SUGGESTED.search(line)
        if hint:
            suggested = hint["sources"] or ""
            continue
        item = _ITEM.match(line)
        text = item[1] if item else line
        if not item and not has_ids and is_reason(line):
            items.append(text.strip())
        elif item and (not has_ids or split_entry(text)[0] or not items) and not _STACK_LINE.match(text):
            items.append(text)
        elif items and text.strip():
            items[-1] = _continued(items[-1], text, item is not None)
    return RecompileText(code or Code(), tuple(items[:_MOST_REASONS]), suggested, code is not None)


def _without_tuple(text: str) -> str:
    """A guard without the end of the tuple of texts that torch 2.0 prints."""
    if text.endswith(("')", '")')):
        text = text[:-1]
        return text[:-1] if text.count(text[-1]) % 2 else text
    return text


def _without_fence(line: str) -> str:
    """A line without the end of a block of code, where Markdown has it on the same line."""
    return line.rstrip().rstrip("`~").rstrip() + " " if line.rstrip().endswith(("```", "~~~")) else line


def _continued(reason: str, text: str, is_item: bool) -> str:
    """A reason with one more line: that of its stack, or the rest of a line that was wrapped where it was shown."""
    if is_item or "\n" in reason or _STACK_LINE.match(text):
        return f"{reason}\n{text}"
    joined = f"{reason.rstrip()} {text.strip()}"
    return joined if parse(reason).family in ("other", "backend") and len(joined) < 10_000 else reason


def is_reason(text: str) -> bool:
    """Whether a line is one of the reasons that PyTorch gives, by itself."""
    text = text.strip()
    return bool(text) and (bool(split_entry(text)[0]) or _ALONE.match(text) is not None) and parse(text).family not in ("other", "backend")


_ALONE = re.compile(
    r"tensor '.+?' (?:size|strides?|rank|dtype|requires_grad|dispatch key set|Tensor device index) mismatch"
    r"|___check_\w+\(|GLOBAL_STATE changed"
    r"|[A-Za-z_][\w.\[\]'\"]* (?:==|is) \S+\s*$|len\(.+\) == \d+|Cache line invalidated|expected type of '"
)
_LIMIT = re.compile(
    r"dynamo hit (?:config\.(?P<name>\w+)(?: \((?P<limit>\d{1,9})\))?|recompilation cache limit \((?P<old_limit>\d{1,9})\))"
    r"|(?P<raised>(?:Recompile|Cache)LimitExceeded: )"
)
_WRAPPED_LIMIT = re.compile(r"dynamo hit\s*$")
_FUNCTION = re.compile(r"function:? ['\"]?(?P<name>[^'\"(]*?)['\"]?(?: \((?P<file>.*?):(?P<line>\d{1,9})\)|\s*$)")
_LAST_REASON = re.compile(r"(?:last reason: *|reasons?: *|due to the following guard failures: *)(?P<reason>.*)$")
_QUOTED = re.compile(r"\[\s*(?P<quote>['\"])(?P<text>.*?)(?P=quote)\s*\]|(?<=, )(?P<other>['\"])(?P<more>.*?)(?P=other)\s*\]")


class LimitText(NamedTuple):
    """``torch._dynamo hit config.recompile_limit (8)``: the setting, its value ("" where it is cut off), the function, the last reasons.

    There is one reason, the last, from torch 2.1 on; a list of them in older versions.
    """

    setting: str
    limit: str
    code: Code
    reasons: tuple[str, ...]


def limits(lines: Sequence[str]) -> Iterator[LimitText]:
    """The warnings in the lines of a message. One whose first line was cut off counts, too."""
    found: LimitText | None = None
    for line in _unwrapped(lines):
        limit, function, reason = _LIMIT.search(line), _FUNCTION.search(line), _LAST_REASON.search(line)
        if limit or (function and (found is None or found.code.name)):
            if found:
                yield found
            setting = limit["name"] or "recompile_limit" if limit else "recompile_limit"
            value = limit["limit"] or limit["old_limit"] or "" if limit else ""
            found = LimitText(setting, value, Code(), ())
        if found is None:
            if not reason:
                continue
            found = LimitText("recompile_limit", "", Code(), ())
        if function and function["name"].strip():
            found = found._replace(code=Code(function["name"].strip(), function["file"] or "", int(function["line"] or 0)))
        if reason:
            found = found._replace(reasons=_listed(reason["reason"]))
        elif found.reasons and line.strip() and (line.startswith("    ") or _STACK_LINE.match(line)):
            found = found._replace(reasons=(*found.reasons[:-1], _continued(found.reasons[-1], line, False)))
        elif not limit and not function and is_reason(line):
            found = found._replace(reasons=(*found.reasons, line.strip()))
    if found:
        yield found


def _unwrapped(lines: Sequence[str]) -> Iterator[str]:
    """The lines, with the parts of a sentence together that a page or a person wrapped."""
    held = ""
    for line in lines:
        if held and (_GOES_ON.match(line) or not _HALF_REASON.search(held)):
            line = f"{held.rstrip()} {line.strip()}"
        elif held:
            yield held
        held = ""
        if _WRAPPED_LIMIT.search(line) or _HALF_REASON.search(line):
            held = line
        else:
            yield line
    if held:
        yield held


_GOES_ON = re.compile(r"\s*(?:mismatch|at index|index \d|expected|actual|\d)")
_HALF_REASON = re.compile(r"tensor '[^']*'? ?\S* (?:mismatch(?: at(?: index(?: \d+\.?)?)?)?)?\s*$")


def _listed(text: str) -> tuple[str, ...]:
    """The reasons in ``['...']`` or ``[["..."], ["..."]]``, as old versions write them; else the text as the only one."""
    text = text.strip()
    if not text.startswith("["):
        return (text,) if text else ()
    found = [match["text"] if match["text"] is not None else match["more"] for match in _QUOTED.finditer(text)]
    return tuple(dict.fromkeys(found)) or (text.strip("[]'\""),)


def inductor_messages(lines: Iterable[str]) -> Iterator[str]:
    """Each message in the lines about CUDA graphs or speed: one a line, with the indented lines that follow, a stack."""
    held: list[str] = []
    for line in lines:
        if held and line.strip() and not line[:1].isspace():
            yield "\n".join(held)
            held.clear()
        held.append(line if held else line.lstrip())
    if "".join(held).strip():
        yield "\n".join(held)


_NUMBER = r"-?\d{1,30}"
_CREATED = re.compile(
    r"create_symbol (?P<symbol>\w{1,40}) = (?P<value>\S{1,60}) for (?P<source>.+?) \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)$"
)
_UNBACKED = re.compile(r"create_unbacked_sym(?:int|float|bool) (?P<symbol>\w{1,40}) \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)$")
_ADDED = re.compile(
    r"(?:eval|runtime_assert) (?!\[guard suppressed\])(?P<expression>.{1,2000}?)(?: == True)? \[guard added\](?P<where>.*)$"
)
_REPLACED = re.compile(rf"set_replacement (?P<symbol>\w{{1,40}}) = (?P<value>{_NUMBER}) \((?P<reason>\w+)\)")
_EQUAL = re.compile(rf"^Eq\((?P<symbol>[a-z]\w{{0,20}}), (?P<value>{_NUMBER})\)$")
_SINGLE = re.compile(rf"_update_var_to_range (?P<symbol>\w{{1,40}}) = VR\[(?P<value>{_NUMBER}), (?P=value)\]")
_TRACKED = re.compile(
    r"track_symint (?P<source>.+?)(?:\.(?P<part>size|stride)\(\)\[(?P<dim>\d{1,3})\]|\.storage_offset\(\)) (?P<value>\S+)"
)
_WHERE = re.compile(r"^\s*(?:at )?(?:(?P<code>.*?)  # )?(?P<file>[^\s#(][^#(]*?):(?P<line>\d{1,9}) in (?P<name>\S+?)(?:,|\s|\(|$)")


class Place(NamedTuple):
    """A line of the user's code: file (often shortened), line, function, and the line itself where it is written."""

    file: str
    line: int
    name: str
    code: str = ""


class SymbolText(NamedTuple):
    """A size, int or float that became symbolic."""

    symbol: str
    value: str
    source: str
    range: str
    place: Place | None


class AddedText(NamedTuple):
    """A guard over symbols that a line of code asked for."""

    expression: str
    place: Place | None

    @property
    def pinned(self) -> "PinnedText | None":
        """The symbol that the guard makes equal to a number: ``Eq(s0, 33)``."""
        found = _EQUAL.match(self.expression)
        return PinnedText(found["symbol"], found["value"], "range_refined_to_singleton") if found else None


class PinnedText(NamedTuple):
    """A symbol that was replaced by a number."""

    symbol: str
    value: str
    reason: str


class TrackedText(NamedTuple):
    """A size, stride or (``part`` "") storage offset of an input: a number or an expression over symbols."""

    source: str
    part: str
    dim: int
    value: str


def symbolic(line: str) -> SymbolText | AddedText | PinnedText | TrackedText | None:
    """What a line of ``symbolic_shapes.py`` holds, None for one that nothing is taken from."""
    line = line.strip()
    if line.startswith("track_symint "):
        found = _TRACKED.match(line)
        return TrackedText(found["source"], found["part"] or "", int(found["dim"] or 0), found["value"]) if found else None
    if line.startswith("create_symbol ") and (found := _CREATED.match(line)):
        span = f"VR[{found['low']}, {found['high']}]"
        return SymbolText(found["symbol"], found["value"], found["source"], span, _place(found["where"]))
    if line.startswith("create_unbacked_") and (found := _UNBACKED.match(line)):
        return SymbolText(found["symbol"], "", "", f"VR[{found['low']}, {found['high']}]", _place(found["where"]))
    if line.startswith(("eval ", "runtime_assert ")) and (found := _ADDED.match(line)):
        return AddedText(found["expression"], _place(found["where"]))
    if line.startswith("set_replacement ") and (found := _REPLACED.match(line)):
        return PinnedText(found["symbol"], found["value"], found["reason"])
    if line.startswith("_update_var_to_range ") and (found := _SINGLE.match(line)):
        return PinnedText(found["symbol"], found["value"], "range_refined_to_singleton")
    return None


def _place(text: str) -> Place | None:
    found = _WHERE.match(text) if len(text) < 4000 else None
    return Place(found["file"], int(found["line"]), found["name"], (found["code"] or "").strip()) if found else None


# Exceptions of the compiler; those of a program alone are none of its failures.
_COMPILER_ERROR = re.compile(
    r"(?:^|\n)[ \t]{0,80}(?:\w{1,20} +)?(?P<type>torch\.(?:_dynamo|_inductor|fx|_subclasses|_functorch|_export)\.[\w.]{1,200}"
    r"|(?:BackendCompilerFailed|InternalTorchDynamoError|TorchRuntimeError|Unsupported|UserError|ConstraintViolationError|RecompileError"
    r"|FailOnRecompileLimitHit|FailOnCacheLimitHit|RecompileLimitExceeded|CacheLimitExceeded|InductorError|LoweringException))"
    r"(?:: (?P<message>[^\n]*)|(?=\n|$))"
)
_AT_LIMIT = frozenset(("FailOnRecompileLimitHit", "FailOnCacheLimitHit", "RecompileLimitExceeded", "CacheLimitExceeded"))
_LIMIT_IN_MESSAGE = re.compile(r"currently set to (\d{1,9})\)|(?:recompile|cache_size)_limit \((\d{1,9})\)")
_GUARD_ERROR = re.compile(
    r"Error while creating guard:\s*\n\s*Name: (?P<name>[^\n]*)(?:\n(?:[^\n]*\n){0,3}?\s*Create Function: (?P<kind>\w+))?"
)
# The end of an exception's message, which any program's may have by chance, and of Dynamo's own.
_OF_ANY_PROGRAM = ("Unsupported", "UserError")
_OF_DYNAMO = re.compile(r"^from user code:|TORCH_LOGS|TORCHDYNAMO|torch[/\\]_dynamo", re.M)
_EXPLANATION = re.compile(r"^[^\n]*?\s*Explanation: (?P<message>.*?)^\s*from user code:", re.M | re.S)
_NOT_CONVERTED = re.compile(r"WON'T CONVERT (?P<name>\S+) (?P<file>.*?) line (?P<line>\d{1,9})")


class FailureText(NamedTuple):
    """A compile that failed: the type of the exception without its module, its message from the first line on, the function where known."""

    type: str
    message: str
    code: Code
    text: str

    @property
    def limit(self) -> str:
        """The recompile limit where the message has it, else ""."""
        found = _LIMIT_IN_MESSAGE.search(self.text)
        return (found[1] or found[2]) if found else ""

    @property
    def is_at_limit(self) -> bool:
        return self.type in _AT_LIMIT or self.message.startswith("Dynamo recompile limit exceeded")


def failure(lines: Iterable[str], is_logged: bool = False) -> FailureText | None:
    """The failure in a traceback, or in what is left of one; None where no compiler raised it.

    What PyTorch itself logs (``is_logged``) is a failure, even if the log ends before the exception.
    """
    text = "\n".join(lines)
    raised = [found for found in _COMPILER_ERROR.finditer(text) if found["type"] not in _OF_ANY_PROGRAM or _OF_DYNAMO.search(text)]
    if not raised and (explained := _EXPLANATION.search(text)):  # from Explanation on, the message of an exception
        stack = user_stack(text)
        code = Code(stack[0].name, stack[0].file, stack[0].line) if stack else UNKNOWN_CODE
        return FailureText("Unsupported", explained["message"].partition("\n")[0].strip(), code, text)
    if not raised:
        return _nameless_failure(text, is_logged)
    last = raised[-1]
    message = text[last.start("message") :] if last["message"] is not None else ""
    kind = last["type"].rpartition(".")[2]
    named = _NOT_CONVERTED.search(text)
    if named:
        code = _unconverted(named)
    elif found := _RECOMPILING.search(message):
        code = _code(found)
    else:
        stack = user_stack(text)
        code = Code(stack[0].name, stack[0].file, stack[0].line) if stack else Code()
    begin = text.find("Traceback (most recent call last):")
    return FailureText(kind, message.strip(), code, text[max(begin, 0) :] if exception_chain(text) else text)


def _nameless_failure(text: str, is_logged: bool) -> FailureText | None:
    """A failure whose exception the text has lost, or never had."""
    if violated := _VIOLATED.search(text):
        return FailureText("ConstraintViolationError", violated[0].strip(), UNKNOWN_CODE, text)
    if guard := _GUARD_ERROR.search(text):
        name = guard["name"].strip("'\"")
        kind = f" ({guard['kind']})" if guard["kind"] else ""
        return FailureText("Error", f"error while creating a guard{name and f' of {name}'}{kind}", UNKNOWN_CODE, text)
    if named := _NOT_CONVERTED.search(text):
        return FailureText("Error", _LOST_EXCEPTION, _unconverted(named), text)
    if is_logged and text.lstrip().startswith(_LOWERING):
        return FailureText("LoweringException", _LOST_EXCEPTION, UNKNOWN_CODE, text)
    return FailureText("Error", _LOST_EXCEPTION, UNKNOWN_CODE, text) if is_logged and _STACK_LINE.match(text) else None


def _unconverted(found: re.Match[str]) -> Code:
    return Code(found["name"], found["file"], int(found["line"]))


_LOST_EXCEPTION = "the text does not have the exception"
_LOWERING = "Error from lowering"
# The heading, and below it one condition on each line; a person may have written on below these.
_VIOLATED = re.compile(
    r"^[ \t]*Constraints violated \([^\n]*(?:\n[ \t]*(?:- )?(?:Not all values|You marked|The values|The constraints)[^\n]*)*", re.M
)


def innermost_code(lines: list[str]) -> Code:
    """The function of the innermost line of a traceback that is not of a library."""
    frames = [frame for line in lines for frame in stack_lines([line])]
    own = next((frame for frame in reversed(frames) if not is_library(frame.file) and "/torch/_dynamo/" not in frame.file), None)
    return Code(own.name, own.file, own.line) if own else UNKNOWN_CODE


def break_text(text: str) -> str:
    """A text about a graph break in the form of torch 2.8 and later: what was met, a hint, and the user's lines below their heading.

    What was met is the exception where nothing else names it, or a sentence of our own where the text has lost it.
    """
    if warned := _WARNED.search(text):
        hints = "".join(f"\n  Hint: {hint.strip()}" for hint in _CONDITIONAL.findall(text[warned.end() :]))
        return f"Unsupported builtin {warned['builtin']}{hints}\n"
    raised = next((found["message"] for found in _COMPILER_ERROR.finditer(text) if found["message"]), "").strip()
    unset = _UNSET.match(text)
    old = _OLD_BREAK.match(text, unset.end() if unset else 0)
    if unset:
        setting = f"Unsupported {unset['call'] or 'Tensor.item()'} call\n  Hint: Set {unset['setting']}"
        return f"{setting}\n{_stack_of_old(old, text) if old else ''}"
    if old:
        return f"{old['reason'].strip() or raised or _LOST_REASON}\n{_stack_of_old(old, text)}"
    if raised and not _BREAK_HEADING.match(text):  # after the end of PyTorch's own stack
        return text[text.index(raised) :]
    return f"{_LOST_REASON}\n" if _IN_STACK.match(text) else _DUPLICATE.sub(r"\1 ", text)


def _stack_of_old(heading: re.Match[str], text: str) -> str:
    """The user's lines below the heading of an old break under that of a new one, without the stack of PyTorch's that follows."""
    below = text[heading.end() :]
    return f"User code traceback:\n{below.partition(_TRACEBACK)[0]}" if heading["at"] else f"{heading['traceback'] or ''}{below}"


_TRACEBACK = "Traceback (most recent call last):\n"
# Torch 2.2 and later, in a warning of Python's.
_WARNED = re.compile(
    r"UserWarning: (?:Graph break due to unsupported builtin|Dynamo does not know how to trace the builtin) "
    r"`?(?P<builtin>[^\s`]*[^\s`.])[.`]*\s"
)
_CONDITIONAL = re.compile(r"If it is an? [^\n]*?(?=\s+If it is an? |\n|$)")
_IN_STACK = re.compile(r' *File "| {4,}\S[^\n]*\n +File "')
_LOST_REASON = "the text does not have the reason"
_BREAK_HEADING = re.compile(r"\s*Graph [Bb]reak")
_DUPLICATE = re.compile(r"^(Graph break) \([^()]*\) (?=in user code at)")
# How torch 2.0 to 2.7 begins it: ``Graph break: call_function print in skip_files from user code at:``, or with the exception below.
_OLD_BREAK = re.compile(
    rf"\s*Graph break: ?(?P<reason>.*?)(?:(?P<at>\bfrom user code at:)[ \t]*(?:\n|$)|(?P<traceback>{re.escape(_TRACEBACK)})|\n|$)"
)
# Torch 2.1 to 2.6, of which a log may have lost the first line.
_UNSET = re.compile(
    r"(?:\s*Graph break from `(?P<call>[^`\n]{1,200})`, consider setting:\s*\n)?\s*(?P<setting>torch\._dynamo\.config\.\w+ = True)"
    r"(?:(?!\s{0,99}Graph break:)[^\n]*(?:\n|$))*"
)
_BREAK_REASON = re.compile(r"^\s*Break Reason \d{1,9}:\s*$")
_OLD_BREAK_REASON = re.compile(r"^\s{0,8}\d{1,9}\. (.*\S)")
_FRAME_SUMMARY = re.compile(r"<FrameSummary file (?P<file>[^>]*), line (?P<line>\d{1,9}) in (?P<name>[^>]*)>")
_BREAK_AS_OBJECT = re.compile(
    r"GraphCompileReason\(reason=(?P<quote>['\"])(?P<reason>.*?)(?P=quote), user_stack=\[(?P<stack>[^\]]*)\], graph_break=True\)"
)


class BreakText(NamedTuple):
    """A graph break that ``torch._dynamo.explain`` lists: PyTorch's text about it, and the innermost line of its stack."""

    reason: str
    place: Place


def explained_breaks(lines: Iterable[str]) -> Iterator[BreakText]:
    """The breaks below ``Break Reasons:`` in the output of ``torch._dynamo.explain``; those without a stack are left out."""
    reason: list[str] | None = None
    place: Place | None = None
    for line in (*lines, "  Break Reason 0:"):
        for item in _BREAK_AS_OBJECT.finditer(line):
            if summaries := list(_FRAME_SUMMARY.finditer(item["stack"])):
                yield BreakText(item["reason"], Place(summaries[-1]["file"], int(summaries[-1]["line"]), summaries[-1]["name"]))
        old = _OLD_BREAK_REASON.match(line)
        if old or _BREAK_REASON.match(line):
            if reason and place:
                yield BreakText("\n".join(reason).strip().removeprefix("Reason: "), place)
            reason, place = [old[1]] if old else [], None
        elif reason is not None and (frames := list(stack_lines([line]))):  # torch 2.0
            place = Place(frames[0].file, frames[0].line, frames[0].name)
        elif reason is not None and (found := _FRAME_SUMMARY.search(line)):
            place = Place(found["file"], int(found["line"]), found["name"])
        elif reason is not None and place is None and line.strip() != "User Stack:":
            reason.append(line)


_PROFILED = re.compile(
    r"^\s*['\"]?(?P<name>[^'\"(]+?)['\"]? \((?P<file>[^()]+):(?P<line>\d{1,9})\) +(?P<count>\d{1,9}) {1,20}(?P<reason>\S.*)$"
)


_MOST_PROFILED = 1_000
_IN_LAST_COLUMN = re.compile(r" {20,}\S")
_PROFILED_BREAKS = re.compile(r"^\s*Graph Break Reason +Count *\n[- \t]+\n(?P<rows>(?:.*\S {2,}\d{1,9} *(?:\n|$))+)", re.M)
_PROFILED_BREAK = re.compile(r"^\s*(?P<reason>\S.*?) {2,}(?P<count>\d{1,9}) *$", re.M)


def profiled_breaks(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The reasons of graph breaks in a CompileProfiler's report, and how often each was met."""
    table = _PROFILED_BREAKS.search("\n".join(lines))
    yield from ((row["reason"], int(row["count"])) for row in _PROFILED_BREAK.finditer(table["rows"] if table else ""))


def profiled_recompiles(lines: Iterable[str]) -> Iterator[RecompileText]:
    """The recompiles in the table of a CompileProfiler's report, which has a line for each; without a reason where lines were cut."""
    code: Code | None = None
    left = 0
    for line in (*lines, ""):
        found = _PROFILED.match(line)
        text = found["reason"] if found else line
        is_more = code is not None and _IN_LAST_COLUMN.match(text) is not None
        if code is not None and not is_more and (found or not line.startswith(" ")):
            yield from [RecompileText(code, ())] * left
            code = None
        if found:
            code = Code(found["name"], found["file"], int(found["line"]))
            left = min(int(found["count"]), _MOST_PROFILED)
        if code is not None and (found or is_more):
            left = max(0, left - 1)
            yield RecompileText(code, (text.strip(),))
