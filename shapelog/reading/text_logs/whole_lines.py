"""The bytes of a log, in whatever pieces they come → pieces that end with a line, in UTF-8, without what each line begins with."""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, compress
from typing import NamedTuple

from shapelog.reading.text_logs.leads import lead_of

# What is read of one line; a longer one is cut there.
LONGEST_LINE = 1 << 16
_KEPT = 4 * LONGEST_LINE  # a character has four bytes at most
# How Notepad and PowerShell begin a file in their UTF-16.
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


# What people paste is no longer than this; only that is unwrapped.
LONGEST_PASTE = 1 << 19
_NARROWEST, _WIDEST = 50, 300
_BEGINS_ANEW = re.compile(rb"(?:\[rank\d+\]:? ?)?[VDIWEC]\d{4} \d\d:\d\d:|\[\d{4}-\d\d-\d\d |\s*$|\[\d+/\d")


class Piece(NamedTuple):
    """Whole lines, and what each may begin with that is not its own; None where that is nothing, or is removed already."""

    lines: bytes
    lead: re.Pattern[bytes] | None = None


def whole_lines(chunks: Iterable[bytes]) -> Iterator[Piece]:
    """Pieces that end with a line. Of a long line, only the beginning is kept until its end comes."""
    pieces = _in_utf_8(iter(chunks))
    first = b""
    for piece in pieces:
        first += piece
        if len(first) > LONGEST_PASTE:
            lead = lead_of(first[:LONGEST_PASTE])
            for lines in _whole_lines(chain((first,), pieces)):
                yield Piece(lines, lead)
            return
    if first:
        lead = lead_of(first)
        yield Piece(_unwrapped((lead.sub(b"", first) if lead else first).removesuffix(b"\n") + b"\n"))


def _unwrapped(text: bytes) -> bytes:
    """A text without the line breaks of a terminal, where it was copied from one."""
    lines = text.split(b"\n")
    columns = max(map(len, lines))
    if not _NARROWEST <= columns <= _WIDEST or text.count(b"\r") > 0:
        return text
    is_full = [len(line) == columns and not line.endswith(b"  ") for line in lines]  # some terminals fill up the last part with blanks
    wrapped = Counter(_BEGINS_ANEW.match(after) is None for full, after in zip(is_full, lines[1:], strict=False) if full)
    if wrapped[True] < 2 or wrapped[True] < 4 * wrapped[False] or not any(map(_BEGINS_ANEW.match, compress(lines, is_full))):
        return text
    joined = [lines[0]]
    for full, after in zip(is_full, lines[1:], strict=False):
        if full and not _BEGINS_ANEW.match(after):
            joined[-1] += after
        else:
            joined.append(after)
    return b"\n".join(joined)


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield rest + chunk[:end]
            rest = chunk[end : end + _KEPT]
        else:
            rest += chunk[: max(0, _KEPT - len(rest))]
    if rest:
        yield rest + b"\n"


def _in_utf_8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) > 1:
            break
    if not head.startswith(UTF_16):
        yield head
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    yield decoder.decode(head).encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
