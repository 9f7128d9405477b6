"""Code states: what profile-guided optimization (PGO) knows about each function, as ``torch/_dynamo/pgo.py`` writes it, 2.6 to 2.15.

One line for the function, one for each of its sources, and from torch 2.8 on a closing sentence if anything is dynamic::

    hash(b795754d)/srv/app/model.py:8:forward:
      L['x']: tensor size=[?, 8] stride=[S(1), 1]
      L['k']: scalar 3
"""

import re
from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import integer

# Keys in a source can contain ": " and look like a state, so the state is the last match in the line.
_SOURCE = re.compile(
    r"^  (.*): (?:tensor size=\[([^\[\]]*)\] stride=\[([^\[\]]*)\]|scalar (\S+)|(fully dynamic scalar or tensor)|auto unset|unusual .*)$"
)
# For a file that it could not read, PyTorch writes the name in place of the checksum, too.
_UNREADABLE_FILE = re.compile(r"^hash\((?P<digest>.+)\)(?P<file>(?P=digest)):(?P<line>\d{1,9}):(?P<name>[^:]*):$")
_CODE = re.compile(r"^(?:hash\((?P<digest>[0-9a-f]{8})\))?(?P<file>.*):(?P<line>\d{1,9}):(?P<name>[^:]*):$")
_SENTENCE = "PGO detected a recompilation"
_SUGGESTION = re.compile(r'TORCH_COMPILE_DYNAMIC_SOURCES="(.*)"$')
_QUOTED_OR_BRACKET_OR_COMMA = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[(\[{]|[)\]}]|,""")

Extent = int | str | None
"""A size or stride: None for ``?``, which is dynamic; text for anything but a number, such as ``S(1)``, size times stride of dim 1."""


class StateKind(Enum):
    """What a source held in every compile so far. ``ANYTHING``: a number that changed, or a tensor whose rank did."""

    TENSOR = "tensor"
    SCALAR = "scalar"
    ANYTHING = "fully dynamic scalar or tensor"
    UNUSUAL = "unusual"


class SourceState(NamedTuple):
    """What is known about one source. ``scalar`` is its number as written, "" otherwise; ``text`` the state as PyTorch writes it."""

    source: str
    kind: StateKind
    text: str
    sizes: tuple[Extent, ...] = ()
    strides: tuple[Extent, ...] = ()
    scalar: str = ""

    @property
    def is_dynamic(self) -> bool:
        """Whether PyTorch would list it in its suggestion; strides do not count."""
        return self.kind is StateKind.ANYTHING or None in self.sizes

    @property
    def is_varied(self) -> bool:
        """Whether a size, a stride or the number took more than one value, or was marked dynamic by the program."""
        return self.is_dynamic or None in self.strides


class CodeEntry(NamedTuple):
    """A function with the state of its sources. ``digest`` is the checksum of its file ("" in torch 2.6).

    Each closure of one function has an entry of its own, with the same line (torch 2.13 and later).
    """

    digest: str
    file: str
    line: int
    name: str
    states: tuple[SourceState, ...]


class CodeState(NamedTuple):
    """Everything that was known at one time. ``suggestion`` are the sources that the closing sentence lists, ``suggestion_text`` the same
    as written, joined by commas; ``unread`` counts the lines that could not be read.
    """

    entries: tuple[CodeEntry, ...]
    suggestion: tuple[str, ...] = ()
    suggestion_text: str = ""
    unread: int = 0

    @property
    def dynamic_sources(self) -> tuple[str, ...]:
        """The sources that PyTorch's suggestion consists of, in its order."""
        return tuple(dict.fromkeys(state.source for entry in self.entries for state in entry.states if state.is_dynamic))


def parse(text: str) -> CodeState:
    """The text of a ``*_code_state`` artifact; never raises."""
    codes: list[tuple[tuple[str, ...], list[SourceState]]] = []
    suggestion, unread = "", 0
    for line in text.split("\n"):
        state = _state(line) if line.startswith("  ") else None
        code = None if state else _UNREADABLE_FILE.match(line) or _CODE.match(line)
        value = _SUGGESTION.search(line) if line.startswith(_SENTENCE) else None
        if state and codes:
            codes[-1][1].append(state)
        elif value:
            suggestion = value[1]
        elif code:
            codes.append((code.groups(""), []))
        elif line.strip():
            unread += 1
    entries = tuple(CodeEntry(digest, file, int(line), name, tuple(states)) for (digest, file, line, name), states in codes)
    known = CodeState(entries).dynamic_sources
    listed = known if ",".join(known) == suggestion else _split_list(suggestion)
    return CodeState(entries, listed, suggestion, unread)


def _state(line: str) -> SourceState | None:
    match = _SOURCE.match(line)
    if match is None:
        return None
    source, sizes, strides, scalar, anything = match.groups()
    text = line[len(source) + 4 :]
    if sizes is not None:
        return SourceState(source, StateKind.TENSOR, text, _extents(sizes), _extents(strides))
    if scalar is not None:
        return SourceState(source, StateKind.SCALAR, text, scalar=scalar)
    return SourceState(source, StateKind.ANYTHING if anything else StateKind.UNUSUAL, text)


def _extents(text: str) -> tuple[Extent, ...]:
    return tuple(map(_extent, text.split(", "))) if text else ()


def _extent(text: str) -> Extent:
    number = integer(text)
    return None if text == "?" else text if number is None else number


def _split_list(value: str) -> tuple[str, ...]:
    """The sources in a list, split at the commas outside quotes and brackets."""
    found, start, depth = [], 0, 0
    for token in _QUOTED_OR_BRACKET_OR_COMMA.finditer(value):
        if token[0] == "," and depth <= 0:
            found.append(value[start : token.start()])
            start = token.end()
        elif len(token[0]) == 1 and token[0] != ",":
            depth += 1 if token[0] in "([{" else -1
    found.append(value[start:])
    return tuple(filter(None, found))
