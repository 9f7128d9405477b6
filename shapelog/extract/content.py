"""A payload → the suffix of its file, and the lines that are put before it."""

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from shapelog.extract.graph_code import graph_head, is_graph, with_class_names
from shapelog.reading.payloads.python_code import module_tree

# Code that Inductor and AOTAutograd write begins so.
_CODE = re.compile(rb"\s*(?:#[^\n]*\n\s*)*(?:import |from \w|def |class )")
_CPP = re.compile(rb"\s*(?://[^\n]*\n\s*)*#(?:include|pragma|define)\b")
# Of these kinds, and artifacts of these names, the payload is a program.
_PROGRAMS = frozenset(("inductor_output_code", "fx_graph_runnable", "dump_file"))


class Content(NamedTuple):
    """What a file holds, and the suffix of its name."""

    suffix: str
    text: bytes
    is_verbatim: bool = True


@dataclass(slots=True)
class Contents:
    """What payloads become as files. Each distinct graph is looked at once: by the MD5 of its text, what it needs before it."""

    _heads: dict[str, bytes | None] = field(default_factory=dict)

    def of(self, kind: str, name: str, payload: bytes, md5: str) -> Content:
        """The file of a payload that has been read in full; ``md5`` is that of ``payload``."""
        if is_graph(payload):
            if md5 not in self._heads:
                self._heads[md5] = graph_head(payload)
            head = self._heads[md5]
            return Content(".txt", payload) if head is None else Content(".py", head + with_class_names(payload), is_verbatim=False)
        if payload[:1] in (b"{", b"[") and is_json(payload):
            return Content(".json", payload)
        return Content(suffix_of(kind, name, payload), payload)


def suffix_of(kind: str, name: str, text: bytes) -> str:
    """The suffix for a payload that is neither a graph nor JSON, by its kind and what it begins with."""
    if _CPP.match(text):
        return ".cpp"
    is_program = kind in _PROGRAMS or (kind == "artifact" and name in _PROGRAMS)
    return ".py" if is_program or (_CODE.match(text) and _is_python(text)) else ".txt"


def is_json(text: bytes) -> bool:
    """Whether it is JSON, with NaN and infinity as Python writes them."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True


def _is_python(text: bytes) -> bool:
    try:
        module_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
