"""The entries that the reasons of a recompilation are about, which old versions do not write."""

import re
from collections.abc import Iterable

import orjson

from shapelog.reading.payloads.recompile_reasons import split_entry
from shapelog.reading.text_logs.logged.logged_compile import LoggedCompile

_STRIDE = re.compile(r"(?P<of>tensor 'L\[.*?' stride mismatch at index \d+)\. expected -?\d+")


def entries_named(reasons: list[str], compile: LoggedCompile) -> list[str]:
    """Reasons with the entries that they are about, where the version writes none: the newest entry was checked first.

    Calls that were refused at the limit have numbers, too, and leave no entry.
    """
    ids = compile.ids or {}
    frame, newest = ids.get("frame_id", 0), ids.get("frame_compile_id", 0) - 1
    if compile.is_of_oldest:
        newest = 0
    elif compile.limit_value:
        newest = min(newest, int(compile.limit_value) - 1)
    strides = [found for reason in reasons if (found := _STRIDE.match(reason))]
    # A size that varies is dynamic from the second entry on, and a stride that is made of it too: these are strides of slices.
    are_of_slices = len({found[0] for found in strides}) > 1 and len({found["of"] for found in strides}) == 1
    written = reasons if are_of_slices else map(_in_words_of_2_0, reasons)
    return [f"{frame}/{max(0, newest - at)}: {reason}" for at, reason in enumerate(written)]


def _in_words_of_2_0(reason: str) -> str:
    """A reason that names no entry, about a stride: torch 2.1 to 2.4 compare sizes and strides as 2.0 does, which calls these "strides"."""
    return reason.replace(" stride mismatch", " strides mismatch") if _STRIDE.match(reason) else reason


def with_entries(payload: str, compile: LoggedCompile) -> str:
    """The payload of a record of reasons, with their entries."""
    reasons = orjson.loads(payload)
    return payload if any(split_entry(reason)[0] for reason in reasons) else orjson.dumps(entries_named(reasons, compile)).decode()


def number_of(reason: str) -> int:
    """The number of the compile in ``2/3: ...``."""
    digits = split_entry(reason)[0].rpartition("/")[2]
    return int(digits) if digits else 0


def newest_checked(reasons: Iterable[str]) -> tuple[str, int]:
    """The frame and the newest of the entries that reasons name, "" where they name none."""
    named = [reason for reason in reasons if split_entry(reason)[0]]
    return (split_entry(named[0])[0].rpartition("/")[0], max(map(number_of, named))) if named else ("", 0)
