"""Texts that the page carries compressed, as raw deflate streams in base64, which browsers unpack."""

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from markupsafe import Markup

# Bytes of one payload.
MAX_PAYLOAD = 2_000_000
# Of pages of frames, guards and graphs 3 makes 14 % more bytes than 6 in half of its time, 9 only 2 % less in twice its time.
_LEVEL = 6
# A zlib header and a checksum surround the raw stream.
_HEADER, _CHECKSUM = 2, 4


class Chunk(NamedTuple):
    """A compressed text, in base64, and the id of the element that holds it."""

    id: str
    text: Markup


def page_chunk(id: str, page: str) -> Chunk:
    return Chunk(id, _base64(_deflated(page.encode("utf-8", "replace"))))


def payload_chunks(payloads: Iterable[Callable[[], bytes]], limit: int = 0, longest: int = MAX_PAYLOAD) -> Iterator[Chunk]:
    """The payloads in their order, with the ids ``z0``, ``z1``, ...; each is made when its turn comes.

    The first that does not fit into what is left of ``limit`` compressed bytes is left out, and so are all after it. Without a limit (0)
    all are there, and none is cut. Bytes that are not UTF-8 are replaced.
    """
    size = 0
    for number, make in enumerate(payloads):
        compressed = _deflated(_utf8(_cut(make(), longest) if limit else make()))
        size += len(compressed)
        if limit and size > limit:
            return
        yield Chunk(f"z{number}", _base64(compressed))


def _deflated(raw: bytes) -> bytes:
    return zlib.compress(raw, _LEVEL)[_HEADER:-_CHECKSUM]


def _base64(compressed: bytes) -> Markup:
    return Markup(b64encode(compressed).decode())


def _cut(raw: bytes, longest: int) -> bytes:
    """What is longer ends between two lines, where it has lines, and with a note on how much is missing."""
    if len(raw) <= longest:
        return raw
    end = raw.rfind(b"\n", longest // 2, longest)
    if end < 0:
        end = longest
        while end > longest - 3 and raw[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
    return raw[:end] + f"\n[{len(raw) - end:,} of {len(raw):,} bytes are left out here; they are in the trace]".encode()


def _utf8(raw: bytes) -> bytes:
    return raw if raw.isascii() else raw.decode("utf-8", "replace").encode()
