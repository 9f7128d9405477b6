"""The recompile limit as a person retells it in a sentence, with the setting, its value and the reason in quotes."""

import re
from collections.abc import Iterable, Iterator

from shapelog.reading.payloads.recompile_reasons import parse
from shapelog.reading.text_logs.messages.limit_text import LimitText
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode

_LIMIT = re.compile(r"\bhit\s+`{0,2}(?:config\.)?(?P<setting>(?:\w{1,40}_)?(?:recompile|cache_size)_limit)\s+\((?P<limit>\d{1,9})\)")
_QUOTED = re.compile(r"`{1,2}([^`\n]{1,400})`{1,2}")
_FUNCTION = re.compile(r"\b(?:on|in|of|for|function)\s+`{1,2}(?:\w{1,80}\.){0,8}(?P<name>\w{1,80})`")
_PLACE = re.compile(r"`?(?P<file>[\w./\\-]{1,400}\.py):(?P<line>\d{1,9})\b")
# What somebody shortened has no value to read.
_SHORTENED = "..."
_NO_REASON = ("other", "backend")


def retold_limits(lines: Iterable[str]) -> Iterator[LimitText]:
    """The limits in the paragraphs of a text that quote a reason with them. Without one, a sentence only mentions the limit."""
    for paragraph in _paragraphs(lines):
        limit = _LIMIT.search(paragraph)
        reason = _reason(paragraph) if limit else ""
        if limit and reason:
            yield LimitText(limit["setting"], limit["limit"], _code(paragraph, limit.end()), (reason,))


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            held.append(line.strip())
        elif held:
            yield " ".join(held)
            held = []


def _reason(paragraph: str) -> str:
    """The first quotation that is a reason; "" without one."""
    quoted = (found.strip().removeprefix("last reason:").lstrip() for found in _QUOTED.findall(paragraph))
    return next((text for text in quoted if _SHORTENED not in text and parse(text).family not in _NO_REASON), "")


def _code(paragraph: str, begin: int) -> LoggedCode:
    function = _FUNCTION.search(paragraph, begin)
    if function is None:
        return UNKNOWN_CODE
    place = _PLACE.search(paragraph, function.end(), function.end() + 400)
    return LoggedCode(function["name"], place["file"] if place else "", int(place["line"]) if place else 0)
