"""What one message of PyTorch's logging holds: a recompile with its reasons, a limit that was hit, a symbol.

The wording is that of ``torch/_dynamo/guards.py``, ``convert_frame.py`` and ``torch/fx/experimental/symbolic_shapes.py``, 2.0 to 2.15.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.cuda_graphs import goes_on_about_sizes
from shapelog.reading.payloads.recompile_reasons import NO_REASON, parse, split_entry
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.logged_warnings import without_place

_RECOMPILING = re.compile(
    r"(?:\[__\w{1,40}\] )?\(?['\"]?Recompiling function (?P<name>[^\s'\"{%][^\s'\"]*)"
    r"(?: in (?P<file>\S.*?)(?::(?P<line>\d{1,9}))?(?=[\s'\",]|$))?"
    r"|Detected recompile when torch\.compile stance is '[^']*'"
    r"(?:\. filename: '(?P<stance_file>[^']*)', function name: '(?P<stance_name>[^']*)'(?:, line number: (?P<stance_line>\d{1,9}))?)?"
)
_TRIGGERED = re.compile(r"triggered by the following guard failure(?:s|\(s\))?:?\s*(?P<rest>.*)")
# The head of the next line, of which a page has cut the end.
_CUT_HEAD = re.compile(r"\S*torch[/\\]_dynamo\S*\s*")
_ITEM = re.compile(r"^\s*- ?(.*)$")
# What a log has of a message whose first line it has lost.
_IS_REST = re.compile(rf"{_ITEM.pattern}|^\s*triggered by the following guard failure")
_GUARD_NUMBER = re.compile(r"^\s*guard \d{1,9} failures?:?\s*$")
_SUGGESTED = re.compile(
    r"environment variable would enable dynamic compilation.*?(?:TORCH_COMPILE_DYNAMIC_SOURCES=\"(?P<sources>.*)\")?\s*$"
)
_HEADS_STACK = re.compile(r"\s*- ?User stack trace:")
_STACK_LINE = re.compile(r"\s*(?:User stack trace:|File \"|\^|~)")
# Where a line that a page or a terminal wrapped may go on.
_MOST_REASONS = 10_000


class LoggedCode(NamedTuple):
    """A function as a log names it: its name, file and first line; "" and 0 where the log leaves them out."""

    name: str = ""
    file: str = ""
    line: int = 0


UNKNOWN_CODE = LoggedCode()


class RecompileText(NamedTuple):
    """``Recompiling function f in train.py:4``, with the reasons as they would stand in a trace and the sources that PyTorch suggests.

    ``is_whole`` is False where the first line, which names the function, is not in the log; ``is_mentioned``: it is part of a sentence.
    """

    code: LoggedCode
    reasons: tuple[str, ...]
    suggested: str = ""
    is_whole: bool = True
    is_mentioned: bool = False


def recompiles(lines: Iterable[str]) -> Iterator[RecompileText]:
    """The recompiles in the lines of one message, or of several of the same compile."""
    code: LoggedCode | None = None
    body: list[str] = []
    is_mentioned = False
    for line in _with_whole_paths(lines):
        found = _RECOMPILING.search(line)
        if found is None:
            body.append(line)
            continue
        if code is not None or any(map(_IS_REST.search, body)):
            yield _recompile(code, body)._replace(is_mentioned=is_mentioned)
        code, is_mentioned = _code(found), is_in_sentence(line, found.start())
        body = [line[found.end() :]]
    if code is not None or any(map(_IS_REST.search, body)):
        yield _recompile(code, body)._replace(is_mentioned=is_mentioned)


def _with_whole_paths(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with the path of a function on one where somebody's mail wrapped it."""
    held = ""
    for line in lines:
        if held and _REST_OF_PATH.match(line):
            line, held = f"{held.rstrip()}{line.strip()}", ""
        elif held:
            yield held
        held = line if line.rstrip()[-1:] in _WRAPPED_AT and _PATH_IN_PART.search(line) else ""
        if not held:
            yield line
    if held:
        yield held


_WRAPPED_AT = ("/", "\\", "-")
_PATH_IN_PART = re.compile(r"Recompiling function [^\s'\"]+ in \S*[/\\-]\s*$")
_REST_OF_PATH = re.compile(r"\s*[\w./\\-]{1,400}:\d{1,9}\s*$")


# Torch 2.0 names no line.
_WHOLE_PATH = re.compile(r"(?:\.py\w?|\.ipynb|>|\.{3}|\u2026)$")


def recompiled_code(text: str) -> LoggedCode:
    """The function that a text names as one that is recompiled."""
    found = _RECOMPILING.search(text)
    return _code(found) if found else UNKNOWN_CODE


def _code(found: re.Match[str]) -> LoggedCode:
    name, file, line = (found[key] or found[f"stance_{key}"] or "" for key in ("name", "file", "line"))
    file = file.rstrip("'\",")
    is_cut = file.endswith(("/", "\\")) or (not line and not _WHOLE_PATH.search(file))
    return LoggedCode(name, "" if is_cut else file, int(line or 0))


def _recompile(code: LoggedCode | None, lines: list[str]) -> RecompileText:
    lines = _COMMENT_BELOW.sub(lambda found: found[0] if is_reason(found[1]) else f"  # {found[1]}  # ", "\n".join(lines)).split("\n")
    items: list[str] = []
    suggested = ""
    has_ids = any((item := _ITEM.match(line)) and split_entry(item[1])[0] for line in lines)
    has_stack = any(map(_HEADS_STACK.match, lines))
    for line in map(_without_fence, lines):
        triggered = _TRIGGERED.search(line)
        if triggered or _GUARD_NUMBER.match(line):
            rest = triggered["rest"] if triggered else ""
            if (
                triggered and rest.strip("'\") ") and not _CUT_HEAD.fullmatch(rest)
            ):  # torch 2.0 and 2.1 write one guard on the same line, some as a tuple of texts
                items += _of_tuple(rest.rstrip())
            continue
        if debug := _DEBUG_INFO.match(line):
            items += [found[2] for found in _IN_LIST.finditer(debug[1] or "")]
            continue
        hint = _SUGGESTED.search(line)
        if hint:
            suggested = hint["sources"] or ""
            continue
        item = _ITEM.match(line)
        text = item[1] if item else line
        if not item and not has_ids and is_reason(line):
            items.append(text.strip())
        elif has_stack and item and not items and text.startswith("  "):
            continue  # the code of a stack whose reason is not in the log
        elif item and (not has_ids or split_entry(text)[0] or not items) and not _STACK_LINE.match(text):
            items.append(text)
        elif items and text.strip():
            items[-1] = _continued(items[-1], text, item is not None)
    return RecompileText(code or LoggedCode(), tuple(items[:_MOST_REASONS]), suggested, code is not None)


def _of_tuple(text: str) -> list[str]:
    """The guards in the rest of a text in the tuple that torch 2.0 and 2.1 print: one, or all that failed in a list."""
    if not text.startswith("["):
        return [_without_tuple(text)]
    return [found[2] for found in _IN_LIST.finditer(text[:_LONGEST_LIST].replace("\\'", "'"))] or [_without_tuple(text)]


_LONGEST_LIST = 20_000
# What a tree of guards found out about a call.
_DEBUG_INFO = re.compile(r"\s*(?:GuardDebugInfo\(|result=|num_guards_executed=|(?:verbose_code_parts=(\[.{0,20000}))$)")
_IN_LIST = re.compile(r"(?<=[\[ ])(['\"])(.{0,300}?)\1(?=, ['\"]|\])")


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
    if "  # " in reason and "  # " not in reason.partition("  # ")[2] and (place := _PLACE_OF_GUARD.match(text)):
        return f"{reason.rstrip()}  # {place[1]}"
    blank = "" if _GOES_ON_IN_SOURCE.match(text.strip()) and reason.rstrip()[-1:] in "])" else " "
    if (actual := _ACTUAL.match(text)) and not reason.rstrip().endswith(","):  # somebody has each value on a line of its own
        text, blank = f"actual {actual[1]}", ", "
    joined = f"{reason.rstrip()}{blank}{text.strip()}"
    return joined if parse(reason).family in ("other", "backend") and len(joined) < 10_000 else reason


# The comment of a guard on two lines below it, and its end, below the line of code that it begins with.
_COMMENT_BELOW = re.compile(r"\n[ \t]*(?:# )?((?!- )(?:(?!  # )[^\n])+)\n[ \t]*(?:# )?(?=\S{1,400}:\d{1,9} in \w)")
_PLACE_OF_GUARD = re.compile(r"\s*(?:# )?(\S{1,400}:\d{1,9} in \w.*)")
_ACTUAL = re.compile(r"\s*actual\s+(\S.*)")
# What follows an item or a call in a source.
_GOES_ON_IN_SOURCE = re.compile(r"\.[A-Za-z_]|\[")


def is_reason(text: str) -> bool:
    """Whether a line is one of the reasons that PyTorch gives, by itself."""
    text = text.strip()
    return bool(text) and (bool(split_entry(text)[0]) or _ALONE.match(text) is not None) and parse(text).family not in ("other", "backend")


_ALONE = re.compile(
    r"tensor '.+?' (?:size|strides?|rank|dtype|requires_grad|dispatch key set|Tensor device index) mismatch"
    r"|___check_\w+\(|GLOBAL_STATE changed"
    r"|[A-Za-z_][\w.\[\]'\"]* (?:==|is) \S+\s*$|len\(.+\) == \d+|Cache line invalidated|expected type of '|KeyError on [LG]\["
)
_LIMIT = re.compile(
    r"(?:\btorch(?:\._)?)?dynamo hit "
    r"(?:config\.(?P<name>\w+)(?: \((?P<limit>\d{1,9})\))?|recompilation cache limit \((?P<old_limit>\d{1,9})\))"
)
# In the title of an issue.
_NAMED_REASON = re.compile(r"tensor '[^\n]{1,200}?' (?:(?:size|strides?) mismatch at index \d|rank mismatch)[^\n]*")
_ADVISED = re.compile(r"^\s*(?:To log all|[Tt]o diagnose)")
_WRAPPED_LIMIT = re.compile(r"dynamo hit\s*$")
# The line is left out, or has another sign in its place, where somebody shortened it.
_FUNCTION = re.compile(
    r"(?:function: ?|for function )['\"]?(?P<name>[^'\"(]*?)['\"]?"
    r"(?: \((?P<file>.*?):(?P<line>\d{1,9})\)| \((?P<path>[^()]+?)(?::\w{1,5})?\)|\s*$)"
    r"|function: ?'(?P<quoted>[^'\n(]{1,200})'"  # of a line to which somebody joined the next one
)
_CUT_NAME = re.compile(r"function: '[^'\n]*$")
_LAST_REASON = re.compile(r"(?:last reason: *|reasons?: *|due to the following guard failures: *)(?:reasons?: *)*(?P<reason>.*)$")
_QUOTED = re.compile(r"\[\s*(?P<quote>['\"])(?P<text>.*?)(?P=quote)\s*\]|(?<=, )(?P<other>['\"])(?P<more>.*?)(?P=other)\s*\]")


# The reason at the end of a line, and a function whose place the text does not have to its end.
_ENDS_IN_REASON = re.compile(r"^(?P<before>.*(?:- |last reason: *|reasons?: *|guard failure(?:\(s\))?: ))(?P<reason>\S.*)$")
_ENDS_IN_PLACE = re.compile(r"^(?P<before>.*Recompiling function [^\s'\"]+) in [^'\"`]*$|^(?P<function>.*\bfunction: '[^']*') \([^)]*$")
# What may be the beginning of any guard: a word, a tensor, a source without an operator, and what is in open brackets.
_IN_PART = re.compile(r"\w*|tensor '.*|[LG]\[[^\s()]*|[^()]*\([^()]*(?:\([^()]*\)[^()]*)*")


# A guard with both of its values, and behind it words that are not a comment of PyTorch's.
_WHOLE_GUARD = re.compile(
    r"(?P<guard>(?:\d{1,9}/\d{1,9}: )?tensor '.{1,400}?' (?:[\w ]{1,40}mismatch|mismatch)(?: at index \d{1,3})?"
    r"[.,] expected [^\s,]{1,200}, actual \S{0,200}?\w)[.,;:!?`'\")]{0,4}(?=\s+[^\s#]|\s*$)(?!\s+(?:actual|expected)\b)"
)


def whole_guard(reason: str) -> str:
    """A reason without the words of a sentence that follow it on its line, and the period."""
    found = _WHOLE_GUARD.match(reason)
    return found["guard"] if found and parse(reason).family == "other" else reason


def is_left_open(line: str) -> bool:
    """Whether a line ends within the brackets of its guard."""
    found = _ENDS_IN_REASON.match(line)
    return found is not None and "#" not in found["reason"] and found["reason"].count("[") > found["reason"].count("]")


def without_cut_end(line: str) -> str:
    """The last line of a text without what it holds in part: a guard, or the path of a file. A name that is complete stays."""
    place = _ENDS_IN_PLACE.match(line)
    if place and not re.search(r":\d{1,9}\s*$", line):
        return place["before"] or place["function"]
    found = _ENDS_IN_REASON.match(line)
    if not found or _WHOLE_GUARD.match(found["reason"]) or parse(found["reason"]).family != "other":
        return line
    if not _IN_PART.fullmatch(split_entry(found["reason"].strip())[1].lstrip("[\"'")):  # old versions write a list
        return line
    return found["before"] if found["before"].strip() != "-" else ""


class LimitText(NamedTuple):
    """``torch._dynamo hit config.recompile_limit (8)``: the setting, its value ("" where it is cut off), the function, the last reasons.

    There is one reason, the last, from torch 2.1 on; a list of them in older versions. ``is_mentioned``: its first line is part of a
    sentence, and none of the others is there. ``is_cut``: the line with the reason is not there, nor what follows that.
    """

    setting: str
    limit: str
    code: LoggedCode
    reasons: tuple[str, ...]
    is_mentioned: bool = False
    is_cut: bool = False


def limits(lines: Sequence[str]) -> Iterator[LimitText]:
    """The warnings in the lines of a message. One whose first line was cut off counts, too."""
    found: LimitText | None = None
    is_over = has_reason = False  # the warning ends with what PyTorch advises
    for line in _unwrapped(lines):
        limit, function, reason = _LIMIT.search(line), _FUNCTION.search(line), _LAST_REASON.search(line)
        if limit or (function and (found is None or found.code.name)):
            if found:
                yield found._replace(is_cut=not (is_over or has_reason or found.reasons))
            setting = limit["name"] or "recompile_limit" if limit else "recompile_limit"
            value = limit["limit"] or limit["old_limit"] or "" if limit else ""
            is_mentioned = limit is not None and _is_mention(line, limit)
            found, is_over, has_reason = LimitText(setting, value, LoggedCode(), (), is_mentioned), False, False
        is_over = is_over or _ADVISED.search(line) is not None
        has_reason = has_reason or reason is not None
        if found is None:
            if not reason:
                continue
            found = LimitText("recompile_limit", "", LoggedCode(), ())
        name = (function["name"] or function["quoted"] or "").strip() if function else ""
        if function and name and not _CUT_NAME.search(line):
            code = LoggedCode(name, function["file"] or function["path"] or "", int(function["line"] or 0))
            found = found._replace(code=code, is_mentioned=False)
        if reason:
            listed = () if reason["reason"].strip() == NO_REASON else map(whole_guard, _listed(reason["reason"]))
            found = found._replace(reasons=tuple(listed), is_mentioned=found.is_mentioned and limit is not None)
        elif limit and (named := _NAMED_REASON.search(line, limit.end())):
            found = found._replace(reasons=(named[0].rstrip(" .…`\"')"),))
        elif is_over:
            continue
        elif found.reasons and line.strip() and (line.startswith("    ") or _STACK_LINE.match(line)):
            found = found._replace(reasons=(*found.reasons[:-1], _continued(found.reasons[-1], line, False)))
        elif not limit and not function and is_reason(line):
            found = found._replace(reasons=(*found.reasons, line.strip()))
    if found:
        yield found._replace(is_cut=not (is_over or has_reason or found.reasons))


def _is_mention(line: str, limit: re.Match[str]) -> bool:
    """Whether a line has other words than those of the warning and its reason, or no more of it than a quoted name of the setting."""
    is_named = limit["name"] and not limit["limit"] and line[limit.end() : limit.end() + 1] in ('"', "'")
    return bool(is_named) or is_in_sentence(line, limit.start()) or _NEXT_WORDS.match(line, limit.end()) is not None


# What follows the limit where a page has more of the warning on the same line: its function, its reason, the head of its next line.
_NEXT_WORDS = re.compile(
    r"[\"'`*_)\u2019\u201d.,;:!?\s\uff0c\u3002]*(?!for function|function:|last reason|due to|reasons?:|tensor '|[VDIWEC]\d{4} )[^\W\d_]{2}"
)


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
_HALF_REASON = re.compile(r"tensor '[^']*'? ?\S* (?:mismatch(?: at(?: index(?: \d+\.?)?)?)?)?(?: expected(?: [^\s,]+,?(?: actual)?)?)?\s*$")


def _listed(text: str) -> tuple[str, ...]:
    """The reasons in ``['...']`` or ``[["..."], ["..."]]``, as old versions write them; else the text as the only one."""
    text = text.strip()
    if not text.startswith("["):
        return (text,) if text else ()
    found = [match["text"] if match["text"] is not None else match["more"] for match in _QUOTED.finditer(text)]
    return tuple(dict.fromkeys(found)) or (text.strip("[]'\""),)


# A line that ends with a span of code, as a list has a message.
_IN_SPAN = re.compile(r"^[^`\"]*(?P<mark>[`\"])(?P<text>[^`\"]+)(?P=mark)\W*$")


def inductor_messages(lines: Iterable[str]) -> Iterator[str]:
    """Each message in the lines about CUDA graphs or speed: one a line, with the indented lines that follow, a stack."""
    held: list[str] = []
    for line in lines:
        if held and goes_on_about_sizes(line):
            held[-1] = f"{held[-1].rstrip()} {line.strip()}"
            continue
        if held and line.strip() and not line[:1].isspace() and not line.startswith("input name: "):
            yield "\n".join(held)
            held.clear()
        held.append(line if held else _IN_SPAN.sub(r"\g<text>", without_place(line).lstrip()))
    if "".join(held).strip():
        yield "\n".join(held)


_INTEGER = r"-?\d{1,30}"
_NUMBER = rf"{_INTEGER}(?:\.\d{{1,30}})?(?:e[+-]?\d{{1,3}})?"
_CREATED = re.compile(
    r"create_symbol (?P<symbol>\w{1,40}) = (?P<value>\S{1,60}) for (?P<source>.+?)"
    r"(?: \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)|(?P<alone>))$"
)
_UNBACKED = re.compile(r"create_unbacked_sym(?:int|float|bool) (?P<symbol>\w{1,40}) \[(?P<low>[^,\]]*), (?P<high>[^\]]*)\](?P<where>.*)$")
_ADDED = re.compile(
    r"(?:eval|runtime_assert) (?!\[guard suppressed\])(?P<expression>.{1,2000}?)(?: == True)? \[guard added\](?P<where>.*)$"
)
_REPLACED = re.compile(rf"set_replacement (?P<symbol>\w{{1,40}}) = (?P<value>{_NUMBER})(?: \((?P<reason>\w+)\)|$)")
_EQUAL = re.compile(
    rf"^Eq\((?:(?P<factor>-?\d{{1,18}})\*)?(?P<symbol>[a-z]\w{{0,20}})(?: (?P<sign>[+-]) (?P<added>\d{{1,18}}))?, (?P<value>{_INTEGER})\)$"
)
_EQUAL_SYMBOLS = re.compile(r"Eq\([a-z]\w{0,20}, [a-z]\w{0,20}\)")
_EQUAL_TO_FLOAT = re.compile(rf"^Eq\((?P<symbol>[a-z]\w{{0,20}}), (?P<value>{_NUMBER})\)$")
# PyTorch's word for a range with one number.
_SINGLETON = "range_refined_to_singleton"
_SINGLE = re.compile(rf"_update_var_to_range (?P<symbol>\w{{1,40}}) = VR\[(?P<value>{_NUMBER}), (?P=value)\]")
_TRACKED = re.compile(
    r"track_symint (?P<source>.+?)(?:\.(?P<part>size|stride)\(\)\[(?P<dim>\d{1,3})\]|\.storage_offset\(\))"
    r" (?P<value>.+?)(?: None| \w*Constraint\b.*)?$"
)
_WHERE = re.compile(r"^\s*(?:at )?(?:(?P<code>.*?) # )?(?P<file>[^\s#(][^#(]*?):(?P<line>\d{1,9}) in (?P<name>\S+?)(?:,|\s|\(|$)")

_WITHIN = re.compile(r"^\s*(?:at )?\((?P<file>[^\s:()]{1,200}):(?P<line>\d{1,9}) in (?P<name>[\w<>]{1,200})\)")


class LoggedLine(NamedTuple):
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
    place: LoggedLine | None


_WORD = re.compile(r"\w+")


# How many characters of a line show which one it is.
_ENOUGH_OF_LINE = 8


class AddedText(NamedTuple):
    """A guard over symbols that a line of code asked for; ``cut`` is what is left of that line where the log has no more of its place.

    ``within`` is the line of PyTorch's own code where no line of the user's is known.
    """

    expression: str
    place: LoggedLine | None
    cut: str = ""
    within: LoggedLine | None = None

    def placed_like(self, other: "AddedText | None") -> "AddedText":
        """The same at the line of another guard, where that begins with what is left of its own."""
        place = other.place if other is not None and len(self.cut) >= _ENOUGH_OF_LINE else None
        return self._replace(place=place) if place is not None and place.code.startswith(self.cut) else self

    def names(self, symbol: str) -> bool:
        """Whether it is about a symbol, perhaps among others."""
        return symbol in _WORD.findall(self.expression)

    def may_fix(self, symbol: str) -> bool:
        """Whether a symbol that became a number may be due to it: one that is equal to another is no number yet."""
        return self.names(symbol) and not _EQUAL_SYMBOLS.fullmatch(self.expression)

    @property
    def pinned(self) -> "PinnedText | None":
        """The symbol that the guard makes equal to a number: ``Eq(s0, 33)``, ``Eq(2*s0 - 2, 64)``, ``Eq(zf0, 1.5)``."""
        found = _EQUAL.match(self.expression)
        if found is None:
            of_float = _EQUAL_TO_FLOAT.match(self.expression)
            return PinnedText(of_float["symbol"], of_float["value"], _SINGLETON) if of_float else None
        factor = int(found["factor"] or 1)
        product = int(found["value"]) - int(f"{found['sign'] or ''}{found['added'] or 0}")
        return PinnedText(found["symbol"], str(product // factor), _SINGLETON) if factor and not product % factor else None


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
        span = f"[{found['low'] or ''}, {found['high'] or ''}]"
        return SymbolText(found["symbol"], found["value"], found["source"], span, _place(found["where"] or ""))
    if line.startswith("create_unbacked_") and (found := _UNBACKED.match(line)):
        return SymbolText(found["symbol"], "", "", f"[{found['low']}, {found['high']}]", _place(found["where"]))
    if line.startswith(("eval ", "runtime_assert ")) and (found := _ADDED.match(line)):
        place = _place(found["where"])
        own = _WITHIN.match(found["where"]) if place is None else None
        within = LoggedLine(own["file"], int(own["line"]), own["name"]) if own else None
        return AddedText(found["expression"], place, "" if place else found["where"].strip(), within)
    if line.startswith("set_replacement ") and (found := _REPLACED.match(line)):
        return PinnedText(found["symbol"], found["value"], found["reason"] or "")  # torch 2.2 and older write no reason
    if line.startswith("_update_var_to_range ") and (found := _SINGLE.match(line)):
        return PinnedText(found["symbol"], found["value"], _SINGLETON)
    return None


def _place(text: str) -> LoggedLine | None:
    found = _WHERE.match(text) if len(text) < 4000 else None
    return LoggedLine(found["file"], int(found["line"]), found["name"], (found["code"] or "").strip()) if found else None
