"""A recompile with its reasons, as ``torch/_dynamo/guards.py`` words it, 2.0 to 2.15."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.payloads.recompile_reasons import split_entry
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode
from shapelog.reading.text_logs.messages.reason_lines import STACK_LINE, continued, is_reason

_RECOMPILING = re.compile(
    r"(?:\[__\w{1,40}\] )?\(?['\"]?Recompiling function (?P<name>[^\s'\"`{%][^\s'\"`]*)"
    r"(?: (?:in (?:user code at )?|(?=\S{1,400}\.py:\d))(?P<file>\S.*?)(?::(?P<line>\d{1,9})|:[A-Z]{1,5})?(?=[\s'\",]|$))?"
    r"|Detected recompile when torch\.compile stance is '[^']*'"
    r"(?:\. filename: '(?P<stance_file>[^']*)', function name: '(?P<stance_name>[^']*)'(?:, line number: (?P<stance_line>\d{1,9}))?)?"
)
_TRIGGERED = re.compile(r"triggered by the following guard failure(?:s|\(s\))?:?\s*(?P<rest>.*)")
# The head of the next line, of which a page has cut the end.
_CUT_HEAD = re.compile(r"\S*torch[/\\]_dynamo\S*\s*")
# A reason that somebody wrote behind the function.
_ON_SAME_LINE = re.compile(r"(?<=\s)tensor '\S{1,400}?' (?:size|strides?|rank) mismatch.*")
_ITEM = re.compile(r"^\s*- ?(.*)$")
# What a log has of a message whose first line it has lost.
_IS_REST = re.compile(rf"{_ITEM.pattern}|^\s*triggered by the following guard failure")
_GUARD_NUMBER = re.compile(r"^\s*guard \d{1,9} failures?:?\s*$")
_SUGGESTED = re.compile(
    r"environment variable would enable dynamic compilation.*?(?:TORCH_COMPILE_DYNAMIC_SOURCES=\"(?P<sources>.*)\")?\s*$"
)
_HEADS_STACK = re.compile(r"\s*- ?User stack trace:")
_MOST_REASONS = 10_000
_WRAPPED_AT = ("/", "\\", "-")
_PATH_IN_PART = re.compile(r"Recompiling function [^\s'\"]+ in \S*[/\\-]\s*$")
_REST_OF_PATH = re.compile(r"\s*[\w./\\-]{1,400}:\d{1,9}\s*$")
# Torch 2.0 names no line.
_WHOLE_PATH = re.compile(r"(?:\.py\w?|\.ipynb|>|\.{3}|\u2026)$")
_LONGEST_LIST = 20_000
# What a tree of guards found out about a call.
_DEBUG_INFO = re.compile(r"\s*(?:GuardDebugInfo\(|result=|num_guards_executed=|(?:verbose_code_parts=(\[.{0,20000}))$)")
_IN_LIST = re.compile(r"(?<=[\[ ])(['\"])(.{0,300}?)\1(?=, ['\"]|\])")
# The comment of a guard on two lines below it, and its end, below the line of code that it begins with.
_COMMENT_BELOW = re.compile(r"\n[ \t]*(?:# )?((?!- )(?:(?!  # )[^\n])+)\n[ \t]*(?:# )?(?=\S{1,400}:\d{1,9} in \w)")


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
    is_mentioned = has_items = False
    for line in _with_whole_paths(lines):
        found = _RECOMPILING.search(line)
        is_next = found is not None or (has_items and _TRIGGERED.search(line) is not None)  # the first line may be lost
        if not is_next:
            has_items = has_items or _ITEM.match(line) is not None
            body.append(line)
            continue
        if code is not None or any(map(_IS_REST.search, body)):
            yield _recompile(code, body)._replace(is_mentioned=is_mentioned)
        code, is_mentioned = (_code(found), is_in_sentence(line, found.start())) if found else (None, False)
        rest = line[found.end() :] if found else line
        body, has_items = [f"- {reason[0]}" if found and (reason := _ON_SAME_LINE.search(rest)) else rest], False
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
        elif item and (not has_ids or split_entry(text)[0] or not items) and not STACK_LINE.match(text):
            items.append(text)
        elif items and text.strip():
            items[-1] = continued(items[-1], text, item is not None)
    return RecompileText(code or LoggedCode(), tuple(items[:_MOST_REASONS]), suggested, code is not None)


def _of_tuple(text: str) -> list[str]:
    """The guards in the rest of a text in the tuple that torch 2.0 and 2.1 print: one, or all that failed in a list."""
    if not text.startswith("["):
        return [_without_tuple(text)]
    return [found[2] for found in _IN_LIST.finditer(text[:_LONGEST_LIST].replace("\\'", "'"))] or [_without_tuple(text)]


def _without_tuple(text: str) -> str:
    """A guard without the end of the tuple of texts that torch 2.0 prints."""
    if text.endswith(("')", '")')):
        text = text[:-1]
        return text[:-1] if text.count(text[-1]) % 2 else text
    return text


def _without_fence(line: str) -> str:
    """A line without the end of a block of code, where Markdown has it on the same line."""
    return line.rstrip().rstrip("`~").rstrip() + " " if line.rstrip().endswith(("```", "~~~")) else line
