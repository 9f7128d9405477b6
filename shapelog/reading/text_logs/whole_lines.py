"""The bytes of a log, in whatever pieces they come → pieces that end with a line, in UTF-8."""

import codecs
from collections.abc import Iterable, Iterator

# What is read of one line; a longer one is cut there.
LONGEST_LINE = 1 << 16
_KEPT = 4 * LONGEST_LINE  # a character has four bytes at most
# How Notepad and PowerShell begin a file in their UTF-16.
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces that end with a line. Of a long line, only the beginning is kept until its end comes."""
    rest = b""
    for chunk in _in_utf_8(iter(chunks)):
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
    if not head.startswith(_UTF_16):
        yield head
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    yield decoder.decode(head).encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
