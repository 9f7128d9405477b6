"""Records as PyTorch writes them into a trace, for what a text log holds. The format is that of ``reading.scanner``."""

import hashlib
from collections.abc import Mapping
from typing import BinaryIO

import orjson

# The time of a record that the log has none for.
NO_TIME = "0101 00:00:00.000000"


class Transcript:
    """A trace in the making. ``size`` is that of what was written, in bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0

    def add(self, header: Mapping[str, object], payload: str | None, *, process: int, time: str, line: int) -> None:
        """One record. ``line`` is the line of the log that it comes from, ``time`` as the log has it."""
        begin = f"V{time or NO_TIME} {process} log:{line}] ".encode()
        text = b""
        if payload is not None:
            body = payload.encode("utf-8", "replace")
            header = {**header, "has_payload": hashlib.md5(body, usedforsecurity=False).hexdigest()}
            text = b"\t" + body.replace(b"\n", b"\n\t") + b"\n"
        # The scanner finds a payload announced by these very characters.
        written = begin + orjson.dumps(header).replace(b'"has_payload":"', b'"has_payload": "') + b"\n" + text
        self.size += self._file.write(written)
