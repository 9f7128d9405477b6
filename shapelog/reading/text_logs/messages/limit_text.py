"""A recompile limit that was hit, as ``torch/_dynamo/convert_frame.py`` words it, 2.0 to 2.15."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.recompile_reasons import NO_REASON
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.messages.logged_code import LoggedCode
from shapelog.reading.text_logs.messages.reason_lines import STACK_LINE, continued, is_reason, unwrapped, whole_guard

_LIMIT = re.compile(
    r"(?:\btorch(?:\._)?)?dynamo hit "
    r"(?:config\.(?P<name>\w+)(?: \((?P<limit>\d{1,9})\))?|recompilation cache limit \((?P<old_limit>\d{1,9})\))"
)
# In the title of an issue.
_NAMED_REASON = re.compile(r"tensor '[^\n]{1,200}?' (?:(?:size|strides?) mismatch at index \d|rank mismatch)[^\n]*")
_ADVISED = re.compile(r"^\s*(?:To log all|[Tt]o diagnose)")
# A warning of Python's, as deep as these lines or joined to one of them.
_OTHER_WARNING = re.compile(r"(?:^|\s)\s{0,40}[^\s:]{1,400}\.py:\d{1,9}: \w{0,40}Warning:")
_WRAPPED_LIMIT = re.compile(r"dynamo hit\s*$")
# The line is left out, or has another sign in its place, where somebody shortened it.
_FUNCTION = re.compile(
    r"(?:function: ?|for function )['\"]?(?P<name>[^'\"(]*?)['\"]?"
    r"(?: \((?P<file>.*?):(?P<line>\d{1,9})\)| \((?P<path>[^()]+?)(?::\w{1,5})?\)|\s*$)"
    r"|function: ?'(?P<quoted>[^'\n(]{1,200})'"  # of a line to which somebody joined the next one
)
# Its place, where somebody wrote that on a line of its own.
_PLACE_BELOW = re.compile(r"\s*\((?P<file>[^()\s]{1,400}):(?P<line>\d{1,9})\)\s*")
_CUT_NAME = re.compile(r"function: '[^'\n]*$")
_LAST_REASON = re.compile(
    r"(?:(?P<span>`{1,2})?last reason: *|reasons?: *|due to the following guard failures: *)(?:reasons?: *)*(?P<reason>.*)$"
)
_OF_OLDEST = re.compile(r"\blast reason: ")
_QUOTED = re.compile(r"\[\s*(?P<quote>['\"])(?P<text>.*?)(?P=quote)\s*\]|(?<=, )(?P<other>['\"])(?P<more>.*?)(?P=other)\s*\]")
# What follows the limit where a page has more of the warning on the same line: its function, its reason, the head of its next line.
_NEXT_WORDS = re.compile(
    r"[\"'`*_)\u2019\u201d.,;:!?\s\uff0c\u3002]*"
    r"(?!for function|function:|(?:with )?last reason|due to|reasons?:|tensor '|[VDIWEC]\d{4} )[^\W\d_]{2}"
)


class LimitText(NamedTuple):
    """``torch._dynamo hit config.recompile_limit (8)``: the setting, its value ("" where it is cut off), the function, the last reasons.

    There is one reason, the last, from torch 2.1 on; a list of them in older versions. ``is_mentioned``: its first line is part of a
    sentence, and none of the others is there. ``is_cut``: the line with the reason is not there, nor what follows that.
    ``has_none``: PyTorch found no reason, as there was no cache entry. ``is_of_oldest``: the reason is that of the first entry, as torch
    2.2 to 2.6 write it: they go through the entries from the newest on, and name the last reason that they find.
    """

    setting: str
    limit: str
    code: LoggedCode
    reasons: tuple[str, ...]
    is_mentioned: bool = False
    is_cut: bool = False
    has_none: bool = False
    is_of_oldest: bool = False


def limits(lines: Sequence[str]) -> Iterator[LimitText]:
    """The warnings in the lines of a message. One whose first line was cut off counts, too."""
    found: LimitText | None = None
    is_over = has_reason = False  # the warning ends with what PyTorch advises
    for whole in unwrapped(lines, _WRAPPED_LIMIT):
        other = _OTHER_WARNING.search(whole)
        line = whole[: other.start()] if other else whole
        limit, function, reason = _LIMIT.search(line), _FUNCTION.search(line), _LAST_REASON.search(line)
        if limit or (function and (found is None or found.code.name)):
            if found:
                yield found._replace(is_cut=not (is_over or has_reason or found.reasons))
            setting = limit["name"] or "recompile_limit" if limit else "recompile_limit"
            value = limit["limit"] or limit["old_limit"] or "" if limit else ""
            is_mentioned = limit is not None and _is_mention(line, limit)
            found, is_over, has_reason = LimitText(setting, value, LoggedCode(), (), is_mentioned), False, False
        is_over = is_over or _ADVISED.search(whole) is not None
        has_reason = has_reason or reason is not None
        if found is None:
            if not reason:
                continue
            found = LimitText("recompile_limit", "", LoggedCode(), ())
        name = (function["name"] or function["quoted"] or "").strip() if function else ""
        if function and name and not _CUT_NAME.search(line):
            code = LoggedCode(name, function["file"] or function["path"] or "", int(function["line"] or 0))
            found = found._replace(code=code, is_mentioned=False)
        found = _with_place_below(found, line)
        if reason:
            text = reason["reason"].partition(reason["span"])[0] if reason["span"] else reason["reason"]
            has_none = text.strip() == NO_REASON
            listed = () if has_none else map(whole_guard, _listed(text))
            is_of_oldest = _OF_OLDEST.search(line) is not None and "cache_size" in found.setting
            found = found._replace(
                reasons=tuple(listed),
                is_mentioned=found.is_mentioned and limit is not None,
                has_none=has_none,
                is_of_oldest=is_of_oldest,
            )
        elif limit and (named := _NAMED_REASON.search(line, limit.end())):
            found = found._replace(reasons=(named[0].rstrip(" .…`\"')"),))
        elif is_over:
            continue
        elif found.reasons and line.strip() and (line.startswith("    ") or STACK_LINE.match(line)):
            found = found._replace(reasons=(*found.reasons[:-1], continued(found.reasons[-1], line, False)))
        elif not limit and not function and is_reason(line):
            found = found._replace(reasons=(*found.reasons, line.strip()))
        is_over = is_over or other is not None
    if found:
        yield found._replace(is_cut=not (is_over or has_reason or found.reasons))


def _with_place_below(found: LimitText, line: str) -> LimitText:
    """The warning with the place of its function, where the line has that alone."""
    place = _PLACE_BELOW.fullmatch(line) if found.code.name and not found.code.file else None
    return found._replace(code=found.code._replace(file=place["file"], line=int(place["line"]))) if place else found


def _is_mention(line: str, limit: re.Match[str]) -> bool:
    """Whether a line has other words than those of the warning and its reason, or no more of it than a quoted name of the setting."""
    is_named = limit["name"] and not limit["limit"] and line[limit.end() : limit.end() + 1] in ('"', "'")
    return bool(is_named) or is_in_sentence(line, limit.start()) or _NEXT_WORDS.match(line, limit.end()) is not None


def _listed(text: str) -> tuple[str, ...]:
    """The reasons in ``['...']`` or ``[["..."], ["..."]]``, as old versions write them; else the text as the only one."""
    text = text.strip()
    if not text.startswith("["):
        return (text,) if text else ()
    found = [match["text"] if match["text"] is not None else match["more"] for match in _QUOTED.finditer(text)]
    return tuple(dict.fromkeys(found)) or (text.strip("[]'\""),)
