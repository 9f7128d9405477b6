"""Recompile reasons without the message that they were in: alone, in a list or the rows of a table, behind the words of a person."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import split_comment
from shapelog.reading.payloads.recompile_reasons import CHECK_FAILED, parse, split_entry
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.logged.checked_entries import number_of
from shapelog.reading.text_logs.message_kinds import QUOTED_GUARD
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode
from shapelog.reading.text_logs.messages.reason_lines import is_reason, unwrapped, whole_guard

_BETWEEN = re.compile(r"\s*(?:\||\t|<br ?/?>)\s*")
_ID = re.compile(r"\W{0,6}(\d{1,9}/\d{1,9})(?:_\d{1,9})?\W{0,6}")
# Cells of a program's own table of recompilations: the function, where it is, and a guard as no other program writes one.
_NAME, _PLACE = re.compile(r"<?\w+>?"), re.compile(r"(\S+\.py):(\d{1,9})")
_GUARD = re.compile(r"(?:tensor '|GLOBAL_STATE |(?:len\()?[LG]\[|KeyError on [LG]\[|expected type of '[LG]\[|___\w)")
_CHECKED = re.compile(CHECK_FAILED + r",? reason: *(?P<quote>['\"]?)(?P<reason>[^\n]{1,2000}?)[\s.]{0,9}(?P=quote)[\s'\"`.]{0,9}$")
_QUOTED_REASON = re.compile(
    r"GuardFail\(reason=(?P<quote>['\"])(?P<reason>.*?)(?P=quote), "
    r"orig_code=<code object (?P<name>\S+)(?: at \w+)?(?:, file \"(?P<file>[^\"]*)\", line (?P<line>\d{1,9}))?"
)
# The id of a compile, and behind it a reason about an entry: ``[0/2] 0/1: ...``, ``Reason for 0/2: 0/1: ...``.
_OF_COMPILE = re.compile(
    r"(?<![\w/.])(?P<frame>\d{1,9})/(?P<compile>\d{1,9})(?:_\d{1,9})?\W{1,5}(?P<reason>(?P=frame)/(?P<entry>\d{1,9}): \S.*)"
)
# An id behind words, which a program may count its steps with, unless the words or what follows are about guards.
_BEHIND_WORDS = re.compile(r": [\"'`]?(?P<reason>\d{1,9}/\d{1,9}: (?P<guard>tensor '|___\w|GLOBAL_STATE|len\(|[LG]\[)?\S.*)")
_OF_GUARDS = re.compile(r"ompil|uard|eason")
# What no other program has, with the values on both sides.
_IN_WHOLE = re.compile(r"\btensor '\S{1,400}?' (?:size|strides?|rank) mismatch[^'\"]{0,30} expected \S+, actual .*")
# By itself, any other guard is only one that may have failed.
_HAS_FAILED = re.compile(r"\d{1,9}/\d{1,9}: |tensor '")
_CANNOT_HOLD = re.compile(r"GLOBAL_STATE changed|KeyError on |expected type of ")
# A guard that may hold, unless nothing else is in the text.
_IN_QUOTES = re.compile(r"`([^`\n]{1,400})`")
_GUARD_ALONE = re.compile(QUOTED_GUARD)
_ENDS_SENTENCE = " *_!)\u3002\uff01\uff09"


class BareReasons(NamedTuple):
    """Reasons that are of one recompilation. ``compile`` is its id where the text names it, ``code`` the function.

    ``is_said``: it is behind a person's words, and may be that of a message; ``may_hold``: it is only a guard, in a list or in quotes;
    ``is_checked``: code compiled ahead of time raised it.
    """

    reasons: tuple[str, ...]
    compile: str = ""
    code: LoggedCode = UNKNOWN_CODE
    is_said: bool = False
    may_hold: bool = False
    is_checked: bool = False


def bare_reasons(lines: Iterable[str]) -> Iterator[BareReasons]:
    """The recompilations in lines with reasons: those of one are about older and older entries."""
    held: BareReasons | None = None
    has_failed = False
    for line in unwrapped(lines):
        item = reasons_in(line)
        if item is None:
            continue
        has_failed = has_failed or not item.is_said
        if item.is_said and has_failed:  # in a list with others that failed
            item = item._replace(is_said=False, may_hold=False)
        if (
            held is not None
            and split_entry(item.reasons[0])[0]
            and item.compile in ("", held.compile)
            and {*item.reasons} <= {*held.reasons}
        ):
            continue  # once more
        if held is not None and _goes_on(held, item):
            held = held._replace(reasons=held.reasons + item.reasons)
            continue
        if held is not None:
            yield held
        held = item
    if held is not None:
        yield held


def _goes_on(held: BareReasons, item: BareReasons) -> bool:
    """Whether a line has further reasons of the same recompilation."""
    reason, other = item.reasons[0], held.reasons[-1]
    frame, number = split_entry(reason)[0].rpartition("/")[0], number_of(reason)
    is_older = bool(frame) and frame == split_entry(other)[0].rpartition("/")[0] and number < number_of(other)
    return is_older and item.compile in ("", held.compile)


def reasons_in(line: str) -> BareReasons | None:
    """The reasons in one line, None for a line without one."""
    if quoted := _QUOTED_REASON.search(line):
        return BareReasons((quoted["reason"],), code=LoggedCode(quoted["name"], quoted["file"] or "", int(quoted["line"] or 0)))
    if checked := _CHECKED.match(line, max(line.find(CHECK_FAILED), 0)):
        return BareReasons((checked["reason"],), is_checked=True)
    row = _in_row(line)
    if row is not None:
        return row
    if (
        (found := _OF_COMPILE.search(line))
        and int(found["entry"]) < int(found["compile"])
        and is_reason(reason := _without_marks(found["reason"]))
    ):
        return BareReasons((reason,), f"{found['frame']}/{found['compile']}")
    reason = _without_marks(line)
    if not split_entry(reason)[0] and (found := _BEHIND_WORDS.search(line)):
        is_about_guards = found["guard"] or _OF_GUARDS.search(line, 0, found.start())
        return BareReasons((reason,)) if is_about_guards and is_reason(reason := _without_marks(found["reason"])) else None
    quoted_guard = None if split_entry(reason)[0] else _GUARD_ALONE.search(line)
    reason = _quoted(line, quoted_guard.end()) if quoted_guard else reason
    if parse(reason).family != "other":
        is_said = not _HAS_FAILED.match(reason)
        return BareReasons((reason,), is_said=is_said, may_hold=is_said and not _CANNOT_HOLD.match(reason))
    found = _IN_WHOLE.search(line)
    if found and not is_in_sentence(line, found.start()) and is_reason(reason := _without_marks(found[0].rstrip(_ENDS_SENTENCE))):
        return BareReasons((reason,), is_said=True)
    return None


def _quoted(line: str, begin: int) -> str:
    """A guard from a place on, up to the mark that ends the quotation which it begins."""
    end = line.find("`", begin) if line.count("`", 0, begin) % 2 else -1
    return _without_marks(line[begin : end if end >= 0 else len(line)])


def _in_row(line: str) -> BareReasons | None:
    """The reasons in the cells of a row of a table, and the id of the compile that one of them names."""
    cells = [cell.strip("`") for cell in _BETWEEN.split(line.strip())]
    reasons = tuple(cell for cell in cells if split_entry(cell)[0] and is_reason(cell)) if len(cells) > 1 else ()
    number = next((found[1] for cell in cells if (found := _ID.fullmatch(cell))), "")
    if not reasons and number:
        quoted = (span for span in _IN_QUOTES.findall(line) if "..." not in span and parse(span).family != "other")
        reasons = (*(cell for cell in cells if _GUARD.match(cell) and is_reason(cell)), *quoted)[:1]
    return BareReasons(reasons, number) if reasons else _of_function(cells)


def _of_function(cells: list[str]) -> BareReasons | None:
    """The reason in a row that has no id, but a function and its place in the cells in front of it."""
    cells = [split_comment(cell)[0] if _GUARD.match(cell) else cell for cell in cells]
    at = next((at for at, cell in enumerate(cells) if _GUARD.match(cell) and is_reason(cell)), 0)
    places = [found for cell in cells[:at] if (found := _PLACE.fullmatch(cell))]
    names = [cell for cell in cells[:at] if _NAME.fullmatch(cell)]
    return BareReasons((cells[at],), code=LoggedCode(names[-1], places[-1][1], int(places[-1][2]))) if names and places else None


def _without_marks(text: str) -> str:
    """A reason without the marks of a list or a quotation around it, and the words that follow it."""
    text = text.strip()
    is_string = text.lstrip(" -*>").startswith('"')
    reason = text.lstrip('-*> "`').rstrip(" .`")
    return whole_guard(reason.rstrip(",").removesuffix('"') if is_string else reason)
