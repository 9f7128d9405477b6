"""Marks, and the list of dynamic sources as each torch version reads it (``torch.compiler.config.dynamic_sources``, torch 2.8 and later).

PyTorch removes every space from the list, splits it at commas, and holds each entry against every source of every frame: it matches
when it equals the source, or when ``re.match`` finds it at the start of the source. From 2.13 on an entry may end in ``:dim``.
"""

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from shapelog.ids import TorchVersion
from shapelog.payloads.sources import tensor_part

_WITH_DIM = re.compile(r"^(.+):(\d+)$")
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()\-&~#]")


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """Something to mark dynamic: one dim of the tensor at ``source``, or, where ``dim`` is -1, the int there."""

    source: str
    dim: int = -1

    @property
    def is_int(self) -> bool:
        return self.dim < 0


def mark_at(place: str) -> Mark:
    """The mark for a size such as ``L['x'].size()[0]``, or for the int at a source."""
    part = tensor_part(place)
    return Mark(part[0], part[2]) if part else Mark(place)


def pattern(source: str, others: Iterable[str] = ()) -> str:
    """How a source is spelled in the list so that PyTorch matches it, and none of the ``others``.

    As it stands where that works. Every entry is tried as a regular expression on all other sources too, so a name with a comma, a
    blank or a control character, one that is no valid expression (PyTorch would fail every compile), and one that finds others, is
    escaped: a dot stands for a comma or a blank, unless it would find others.
    """
    known = [other for other in others if other != source]
    dotted, exact = ("".join(_escaped(character, dot) for character in source) + "$" for dot in (True, False))
    spellings = ([source] if _stands(source) else []) + [dotted]
    return next((spelled for spelled in spellings if not any(re.match(spelled, other) for other in known)), exact)


def _stands(source: str) -> bool:
    """Whether a source may stand in the list as it is: it survives the splitting, and is a valid regular expression."""
    if not source or "," in source or " " in source or not source.isprintable() or _WITH_DIM.match(source):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it would warn in every compile, as "[a--b]" does
            re.compile(source)
    except (re.error, OverflowError, RecursionError, Warning):
        return False
    return True


def _escaped(character: str, dot: bool) -> str:
    if character in ", ":
        return "." if dot else f"\\x{ord(character):02x}"
    if not character.isprintable():
        return f"\\U{ord(character):08x}"
    return f"\\{character}" if _SPECIAL.match(character) else character


def entries(marks: Iterable[Mark], version: TorchVersion, others: Iterable[str] = ()) -> tuple[str, ...]:
    """The entries of the list for these marks, sorted; () in a version that reads no list. Before 2.13 a dim cannot be named."""
    if not version.reads_sources:
        return ()
    known = tuple(others)
    spelled: dict[str, None] = {}
    for mark in sorted(set(marks)):
        name = pattern(mark.source, known)
        spelled[name if mark.is_int or not version.reads_dims else f"{name}:{mark.dim}"] = None
    return tuple(spelled)


def matches(entry: str, mark: Mark, version: TorchVersion) -> bool:
    """Whether PyTorch of this version would match a mark by an entry of the list."""
    if not version.reads_sources:
        return False
    split = _WITH_DIM.match(entry) if version.reads_dims else None
    name, dim = (split[1], int(split[2])) if split else (entry, None)
    try:
        found = name == mark.source or re.match(name, mark.source) is not None
    except re.error:
        return False
    return found and (dim is None or mark.is_int or dim == mark.dim)


def split_list(value: str) -> tuple[str, ...]:
    """The entries of a list as PyTorch reads it."""
    return tuple(entry for entry in value.replace(" ", "").split(",") if entry)
