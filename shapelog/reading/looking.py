"""What the one pass over a file passes by and few questions need: the time of the last record, the code made of a graph."""

import re

from shapelog.reading.scanner import Reader, Span

_TIME = re.compile(rb"\n?[A-Z](\d{4} \d\d:\d\d:\d\d(?:\.\d{1,6})?) ")
_CODE = b'] {"inductor_output_code": '
# So far from the end the last record is looked for; one that is longer tells no time.
_TAIL = 1 << 20
# So far before a collective schedule the code that belongs to it is looked for.
_FAR = 64 << 20


def last_time(reader: Reader) -> str:
    """When the last record was written, as it stands there: ``1120 08:27:33.313000``; "" where that cannot be read."""
    data, size = reader.data, reader.trace.size
    end, least = size, max(0, size - _TAIL)
    while end > least:
        at = max(data.rfind(b"\n", least, end - 1), -1 if least else 0)
        if at < 0:
            return ""
        found = _TIME.match(data, at)
        if found:
            return found[1].decode("ascii")
        end = at
    return ""


def code_before(reader: Reader, offset: int, first: int) -> str:
    """The generated code that stands last before ``offset`` and behind ``first``, of the same compile; "" if there is none."""
    data, own = reader.data, reader.header(offset)
    at = data.rfind(_CODE, max(first, offset - _FAR), offset)
    start = data.rfind(b"\n", 0, at) + 1 if at >= 0 else 0
    if at < 0 or data[start : start + 1] == b"\t":
        return ""
    header = reader.header(start)
    if any(header.get(key) != own.get(key) for key in ("frame_id", "frame_compile_id", "compiled_autograd_id")):
        return ""
    line_end = data.find(b"\n", at, offset)
    digest = header.get("has_payload")
    if line_end < 0 or not isinstance(digest, str):
        return ""
    stop = line_end
    while data[stop + 1 : stop + 2] == b"\t":
        stop = data.find(b"\n", stop + 1, offset)
        if stop < 0:
            return ""
    return reader.text(Span(line_end + 1, stop + 1, digest))


def time_at(reader: Reader, offset: int) -> str:
    """When the record that starts at ``offset`` was written, as it stands there: ``1120 08:27:33.313000``; "" where that cannot be read."""
    found = _TIME.match(reader.data[offset : offset + 64])
    return found[1].decode("ascii") if found else ""
