"""Payloads that are read from the file when they are needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from shapelog.reading.payloads import graphs, pgo_state
from shapelog.reading.payloads.graphs import Graph
from shapelog.reading.payloads.guards.tree import GuardTree, NodeCache, parse_list, parse_tree
from shapelog.reading.payloads.pgo_state import CodeState
from shapelog.reading.payloads.side_effects import changed_objects
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Span

_Parsed = TypeVar("_Parsed")


@dataclass(slots=True, eq=False, repr=False)
class Payloads:
    """The payloads of one file, parsed on demand; equal MD5 means equal payload, so nothing is parsed twice."""

    reader: Reader
    trees: dict[str, GuardTree] = field(default_factory=dict)
    parsed_graphs: dict[str, Graph] = field(default_factory=dict)
    code_states: dict[str, CodeState] = field(default_factory=dict)
    effects: dict[str, Mapping[Source, tuple[str, ...]]] = field(default_factory=dict)
    known_guards: NodeCache = field(default_factory=dict)

    def text(self, span: Span) -> str:
        return self.reader.payload_text(span)

    def tree(self, span: Span, is_list: bool) -> GuardTree:
        return self._parsed(self.trees, span, lambda text: self._tree(text, span, is_list))

    def _tree(self, text: str, span: Span, is_list: bool) -> GuardTree:
        if not is_list:
            return parse_tree(text, self.known_guards)
        try:
            return parse_list(text)
        except ValueError:
            self.reader.ledger.add(span.start, "bad-json", "the list of guards in this payload is no JSON list")
            return parse_list("[]")

    def graph(self, span: Span) -> Graph:
        return self._parsed(self.parsed_graphs, span, graphs.parse)

    def code_state(self, span: Span) -> CodeState:
        return self._parsed(self.code_states, span, pgo_state.parse)

    def changed_objects(self, span: Span) -> Mapping[Source, tuple[str, ...]]:
        return self._parsed(self.effects, span, changed_objects)

    def _parsed(self, known: dict[str, _Parsed], span: Span, parse: Callable[[str], _Parsed]) -> _Parsed:
        key = span.digest or f"@{span.start}"
        if key not in known:
            known[key] = parse(self.text(span))
        return known[key]


@dataclass(frozen=True, slots=True, eq=False)
class CodeStateRecord:
    """PGO's state when it was read or written, always the whole of it.

    ``name`` is ``get_local``, ``put_local``, ``get_remote``, ``put_remote`` or ``get_extra_remote``; ``compile`` the label of the
    compile that it happened in.
    """

    name: str
    compile: str
    span: Span
    payloads: Payloads = field(repr=False)

    @property
    def is_read(self) -> bool:
        return self.name.startswith("get_")

    @property
    def storage(self) -> str:
        """``local``, ``remote``, or ``extra remote``: that of another job, whose key the program gave."""
        return self.name.partition("_")[2].replace("_", " ")

    @property
    def state(self) -> CodeState:
        return self.payloads.code_state(self.span)
