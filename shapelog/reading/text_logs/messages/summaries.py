"""What ``torch._dynamo.explain`` and a ``CompileProfiler`` print: the graph breaks and recompiles of a program in one text."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.payloads.python_tracebacks import stack_lines
from shapelog.reading.text_logs.contents import CountedBreaks
from shapelog.reading.text_logs.messages.logged_code import LoggedCode, LoggedLine
from shapelog.reading.text_logs.messages.recompile_text import RecompileText

_BREAK_REASON = re.compile(r"^\s*Break Reason \d{1,9}:\s*(?P<reason>.*)$")  # a person may have joined two lines
_OLD_BREAK_REASON = re.compile(r"^\s{0,8}\d{1,9}\. (.*\S)")
_FRAME_SUMMARY = re.compile(r"<FrameSummary file (?P<file>[^>]*), line (?P<line>\d{1,9}),? in (?P<name>[^>]*)>")
_HEADS_STACK = re.compile(r"\s*(?:User Stack:\s*$|<FrameSummary)")
_BELOW_BREAKS = re.compile(r"^(?:Ops per Graph|Out Guards)\b")
# A person may have copied a part of ``GraphCompileReason(...)``.
_BREAK_AS_OBJECT = re.compile(
    r"\breason=(?P<quote>['\"])(?P<reason>.*?)(?P=quote), user_stack=\[(?P<stack>[^\]\n]*)(?:\]|$)(?!, graph_break=False)"
)

_LONGER_THAN_WORDS = 20


class BreakText(NamedTuple):
    """A break that ``torch._dynamo.explain`` lists: PyTorch's text about it, and the innermost line of its stack; None without one."""

    reason: str
    place: LoggedLine | None


_COUNTED = re.compile(
    r"Dynamo produced (?P<graphs>\d{1,9}) graphs?,? ?with (?P<breaks>\d{1,9}) graph break|Graph Break Count: (?P<count>\d{1,9})"
)


def counted_breaks(lines: Iterable[str]) -> CountedBreaks:
    """The counts of the call with the most breaks."""
    found = (match for line in lines if (match := _COUNTED.search(line)))
    return max((CountedBreaks(int(item["breaks"] or item["count"]), int(item["graphs"] or 0)) for item in found), default=CountedBreaks())


def explained_breaks(lines: Iterable[str]) -> Iterator[BreakText]:
    """Those below ``Break Reasons:`` in what ``torch._dynamo.explain`` prints; of torch 2.0, the last may be cut, without a stack."""
    reason: list[str] | None = None
    place: LoggedLine | None = None
    is_framed = is_old = False
    known: list[str] = []
    for line in (*lines, "  Break Reason 0:"):
        was_framed, is_framed = is_framed, False
        for item in _BREAK_AS_OBJECT.finditer(line):
            if summaries := list(_FRAME_SUMMARY.finditer(item["stack"])):
                innermost = LoggedLine(summaries[-1]["file"], int(summaries[-1]["line"]), summaries[-1]["name"])
                yield BreakText(item["reason"].replace("\\n", "\n"), innermost)
        old, new = _OLD_BREAK_REASON.match(line), _BREAK_REASON.match(line)
        if old or new or _BELOW_BREAKS.match(line):
            what = "\n".join(reason or ()).strip().removeprefix("Reason: ")
            if place is None and len(what) > _LONGER_THAN_WORDS:  # the text may end in it
                what = next((other for other in known if other.startswith(what)), what)
            if what and (place or not is_old):
                known.append(what)
                yield BreakText(what, place)
            reason, place, is_old = [old[1]] if old else [new["reason"]] if new else None, None, old is not None
        elif reason is not None and (frames := list(stack_lines([line]))):  # torch 2.0
            place, is_framed = LoggedLine(frames[0].file, frames[0].line, frames[0].name), True
        elif place and was_framed and line.startswith("    "):
            place = place._replace(code=line.strip())
        elif reason is not None and (found := _FRAME_SUMMARY.search(line)):
            place = LoggedLine(found["file"], int(found["line"]), found["name"])
        elif reason is not None and place is None and not _HEADS_STACK.match(line):
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
    code: LoggedCode | None = None
    left = 0
    for line in (*lines, ""):
        found = _PROFILED.match(line)
        text = found["reason"] if found else line
        is_more = code is not None and _IN_LAST_COLUMN.match(text) is not None
        if code is not None and not is_more and (found or not line.startswith(" ")):
            yield from [RecompileText(code, ())] * left
            code = None
        if found:
            code = LoggedCode(found["name"], found["file"], int(found["line"]))
            left = min(int(found["count"]), _MOST_PROFILED)
        if code is not None and (found or is_more):
            left = max(0, left - 1)
            yield RecompileText(code, (text.strip(),))
