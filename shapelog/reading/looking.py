"""What the one pass over a file passes by and few questions need: the time of the last record, the code made of a graph."""

from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Span

_CODE = b'] {"inductor_output_code": '
# So far before a collective schedule the code that belongs to it is looked for.
_FAR = 64 << 20


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
    return reader.payload_text(Span(line_end + 1, stop + 1, digest))
