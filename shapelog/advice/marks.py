"""Marks, and the list of dynamic sources as each torch version reads it (``torch.compiler.config.dynamic_sources``, torch 2.7 and later).

PyTorch removes every space from the list, splits it at commas, and compares each entry with every source of every frame: it matches
when it equals the source, or when ``re.match`` finds it at the start of the source. From 2.13 on an entry may end in ``:dim``.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.text import is_visible

_WITH_DIM = re.compile(r"^(.+):(\d{1,18})$")
# Escapes, and what repeats: the list may come from a trace, and re knows no limit of time.
_REPEAT = re.compile(r"\\.|\)?[*+?{]", re.S)
_MOST_REPEATS, _LONGEST_MATCHED = 2, 2000
_CHARACTER = re.compile(r"\\?.", re.S)
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()\-&~#]")
# A letter and a set of characters, of which there must be one.
_LETTER_AND_SET = re.compile(r"(\w)\[([^\]\[\\^-]+)\](?![*+?{])")


class Mark(NamedTuple):
    """Something to mark dynamic: one dim of the tensor at ``source``, or, where ``dim`` is -1, the int there."""

    source: Source
    dim: int = -1

    @property
    def is_int(self) -> bool:
        return self.dim < 0

    @property
    def place(self) -> Source:
        """The size or int, as symbols and guards name it: the inverse of ``mark_at``."""
        return self.source if self.is_int else Source(f"{self.source}.size()[{self.dim}]")

    @property
    def name(self) -> str:
        """``x.size[0]``, or for an int ``k``."""
        return self.source.display_name if self.is_int else f"{self.source.display_name}.size[{self.dim}]"


def mark_at(place: Source) -> Mark:
    """The mark for a size such as ``L['x'].size()[0]``, or for the int at a source."""
    part = place.tensor_part
    return Mark(part.tensor, part.dim) if part else Mark(place)


class SourceNames:
    """Sources that PyTorch compares with each entry of the list, by how they begin: an entry can find few of them.

    ``ranks`` has the largest number of dims of a tensor at each source that is one somewhere.
    """

    def __init__(self, names: Iterable[str] = (), ranks: Mapping[str, int] | None = None) -> None:
        self.ranks = ranks or {}
        self._names = tuple(names)
        self._by_start: dict[str, list[str]] = {}
        for name in self._names:
            self._by_start.setdefault(name[:2], []).append(name)

    def found_by(self, entry: str) -> Iterator[str]:
        """Those at whose start an entry matches as an expression.

        ``L['x']`` is an L and one of the characters in brackets, so only sources that begin with those two can match.
        """
        start = _LETTER_AND_SET.match(entry) if "|" not in entry else None
        names = (name for character in set(start[2]) for name in self._by_start.get(start[1] + character, ())) if start else self._names
        return filter(re.compile(entry).match, names)


_NONE = SourceNames()


def pattern(source: str, others: SourceNames = _NONE) -> str:
    """How a source is spelled in the list so that PyTorch matches it, and none of the ``others``.

    Unchanged where that works. Every entry is tried as a regular expression on all other sources too, so a name with a comma, a
    blank or a control character, one that is no valid expression (PyTorch would fail every compile), and one that finds others, is
    escaped: a dot matches a comma or a blank, unless it would find others.
    """
    dotted, exact = ("".join(escaped(character, dot) for character in source) + "$" for dot in (True, False))
    spellings = ([source] if _is_literal(source) else []) + [dotted]
    return next((spelled for spelled in spellings if not _finds_others(spelled, source, others)), exact)


def _finds_others(entry: str, source: str, others: SourceNames) -> bool:
    return any(other != source for other in others.found_by(entry))


def _is_literal(source: str) -> bool:
    """Whether a source may be in the list as it is: it survives the splitting, and is a valid regular expression."""
    if not source or "," in source or " " in source or not is_visible(source) or _WITH_DIM.match(source) or not _is_quick(source):
        return False
    return is_expression(source, may_warn=False)


def is_expression(entry: str, may_warn: bool = True) -> bool:
    """Whether an entry is a valid regular expression; without ``may_warn`` only one that Python accepts without a warning."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "[!--a]"; what was compiled before would not warn again, so this one never is
            re.compile(entry)
    except Warning:
        return may_warn
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _is_quick(entry: str) -> bool:
    """Whether matching takes no longer than the square of a name's length: few repeats, and none of a group."""
    repeats = [found for found in _REPEAT.findall(entry) if found[0] != "\\"]
    return len(repeats) <= _MOST_REPEATS and not any(found[0] == ")" for found in repeats)


def _finds(entry: str, source: str) -> bool:
    """Whether an entry matches a source as an expression. One that could take for ever, or that Python warns of, is taken to match none."""
    return len(source) <= _LONGEST_MATCHED and _may_find(entry) and re.match(entry, source) is not None


def _may_find(entry: str) -> bool:
    return _is_quick(entry) and is_expression(entry, may_warn=False)


def escaped(character: str, dot: bool) -> str:
    if character in ", ":
        return "." if dot else f"\\x{ord(character):02x}"
    if not is_visible(character):
        return f"\\U{ord(character):08x}"
    return f"\\{character}" if _SPECIAL.match(character) else character


def entries(marks: Iterable[Mark], version: TorchVersion, others: SourceNames = _NONE) -> tuple[str, ...]:
    """The entries of the list for these marks, sorted; () in a version that reads no list.

    Before 2.13 a dim cannot be named. An entry with a dim matches an int of that name, too; for an int whose name is that of a tensor in
    other code, it is a dim that no such tensor has, so that they stay as they are.
    """
    if not version.reads_sources:
        return ()
    spelled: dict[str, None] = {}
    names: dict[str, str] = {}
    chosen = sorted(set(marks))
    tensors = {mark.source for mark in chosen if not mark.is_int} if version.reads_dims else set()
    for mark in chosen:
        if mark.is_int and mark.source in tensors:
            continue
        name = names.get(mark.source) or names.setdefault(mark.source, pattern(mark.source, others))
        dim = others.ranks.get(mark.source, -1) if mark.is_int else mark.dim
        spelled[f"{name}:{dim}" if dim >= 0 and version.reads_dims else name] = None
    return tuple(spelled)


def named_by(entry: str, version: TorchVersion) -> tuple[str, int | None]:
    """The source, or expression, and the dim that an entry names."""
    split = _WITH_DIM.match(entry) if version.reads_dims else None
    return (split[1], int(split[2])) if split else (entry, None)


def matches(entry: str, mark: Mark, version: TorchVersion) -> bool:
    """Whether PyTorch of this version would match a mark by an entry of the list."""
    if not version.reads_sources:
        return False
    name, dim = named_by(entry, version)
    return (name == mark.source or _finds(name, mark.source)) and (dim is None or mark.is_int or dim == mark.dim)


def matched(entries: Iterable[str], marks: Iterable[Mark], version: TorchVersion) -> frozenset[Mark]:
    """The marks that PyTorch of this version would match by one of these entries."""
    by_source = grouped(marks, lambda mark: str(mark.source))
    names = SourceNames(by_source)
    found: set[Mark] = set()
    for entry in entries:
        name = named_by(entry, version)[0]
        sources = dict.fromkeys([name, *(names.found_by(name) if _may_find(name) else ())])
        found.update(mark for source in sources for mark in by_source.get(source, ()) if matches(entry, mark, version))
    return frozenset(found)


def split_list(value: str) -> tuple[str, ...]:
    """The entries of a list as PyTorch reads it."""
    return tuple(entry for entry in value.replace(" ", "").split(",") if entry)


def printable(entry: str) -> str:
    """An entry that a trace brought, in characters that may be shown: as an expression it matches what it matched before."""
    return entry if is_visible(entry) else _CHARACTER.sub(_visible, entry)


def _visible(match: re.Match[str]) -> str:
    """A character with the backslash before it, if any: behind that, an escape would be none."""
    character = match[0][-1]
    return match[0] if is_visible(character) else escaped(character, dot=False)
