"""The bytes of a log, in whatever pieces they come → pieces that end with a line, in UTF-8, without what each line begins with."""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from shapelog.reading.text_logs.lines.copied import as_written, once, together
from shapelog.reading.text_logs.lines.escaped import with_line_breaks
from shapelog.reading.text_logs.lines.exports import exported_lines
from shapelog.reading.text_logs.lines.leads import lead_of, ranks_in, without_ending, without_loggers
from shapelog.reading.text_logs.lines.surroundings import LONGEST_LINE
from shapelog.reading.text_logs.lines.tracebacks import as_python_prints

_KEPT = 4 * LONGEST_LINE  # a character has four bytes at most
# How Notepad and PowerShell begin a file in their UTF-16.
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


_BLANKS_OF_PAGES = re.compile("&nbsp;|\xa0")
# What people paste is no longer than this; only that is changed to what it was before.
LONGEST_PASTE = 1 << 19
# A long log is read in pieces of this size: most of them are a program's own lines alone, and are passed over at once.
_PIECE = 1 << 15


class WholeLines(NamedTuple):
    """Whole lines, and what each may begin with that is not its own; None where that is nothing, or is removed already.

    ``ranks`` are those that the lines of a paste had in what was removed, one for each line; () where they had none.
    """

    lines: bytes
    lead: re.Pattern[bytes] | None = None
    ranks: Sequence[int | None] = ()


def whole_lines(chunks: Iterable[bytes]) -> Iterator[WholeLines]:
    """Pieces that end with a line. Of a long line, only the beginning is kept until its end comes."""
    pieces = _in_utf_8(iter(chunks))
    first = b""
    for piece in pieces:
        first += piece
        if len(first) > LONGEST_PASTE:
            lead = lead_of(first[:LONGEST_PASTE])
            for lines in _whole_lines(_small(chain((first,), pieces))):
                yield WholeLines(lines, lead)
            return
    if first:
        text = _BLANKS_OF_PAGES.sub(" ", first.decode("utf-8", "surrogateescape"))
        text = once(with_line_breaks(exported_lines(text)).replace("\r\n", "\n"))
        first = without_loggers(text.encode("utf-8", "surrogateescape"))
        lead = lead_of(first)
        text = (lead.sub(b"", first) if lead else first).decode("utf-8", "surrogateescape").removesuffix("\n")
        copied = as_written(as_python_prints(without_ending(text)))
        written = together(copied)
        is_joined = written != copied or written.count("\n") != text.count("\n")
        ranks = () if lead is None or is_joined else ranks_in(first, lead)
        yield WholeLines(f"{written}\n".encode("utf-8", "surrogateescape"), ranks=ranks)


def _small(chunks: Iterable[bytes]) -> Iterator[bytes]:
    return (chunk[at : at + _PIECE] for chunk in chunks for at in range(0, len(chunk), _PIECE))


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
