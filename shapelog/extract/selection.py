"""Which payloads are meant by ``--compile``, ``--kind`` and ``--rank``."""

from collections.abc import Iterable
from typing import NamedTuple

from shapelog.errors import ShapelogError
from shapelog.extract.file_names import file_stem
from shapelog.model.ids import CompileId, parse_typed_id


class Wanted(NamedTuple):
    """The compilations and the kinds to extract, all where a set is empty, and the rank, None for all."""

    compiles: frozenset[CompileId] = frozenset()
    kinds: frozenset[str] = frozenset()
    rank: int | None = None

    def has_compile(self, id: CompileId) -> bool:
        return not self.compiles or id in self.compiles

    def has_kind(self, kind: str, name: str) -> bool:
        """Whether a record is meant: by its kind, its name, or that of its file."""
        return not self.kinds or not self.kinds.isdisjoint((kind, name, file_stem(kind, name)))


def wanted(compiles: Iterable[str] = (), kinds: Iterable[str] = (), rank: int | None = None) -> Wanted:
    """What is meant by the values of options; each may hold several, with commas. Raises ShapelogError for what is no id."""
    ids = set()
    for text in _split(compiles):
        id = parse_typed_id(text)
        if id is None:
            raise ShapelogError(f"--compile {text!r} is not a compile id; expected for example 2/3 (frame 2, compile 3), !0/2/3, or 2/3#2")
        ids.add(id)
    return Wanted(frozenset(ids), frozenset(_split(kinds)), rank)


def _split(texts: Iterable[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]
