"""What a text log holds, and what it leaves out that a trace would hold."""

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.reading.text_logs.versions import OLDEST_WITH_TRACE, Versions, common
from shapelog.text import enumerated

# What is found in a log, by the names of TORCH_LOGS, as people call it.
_ARTIFACTS = {
    "recompiles": "recompile reasons",
    "guards": "guards",
    "graph_code": "graphs",
    "aot_graphs": "AOTAutograd's graphs",
    "dynamic": "shape symbols",
    "graph_breaks": "graph breaks",
    "metrics": "compilation metrics",
    "code state": "PGO state",
    "compiled_autograd": "compiled autograd messages",
    "cudagraphs": "messages about CUDA graphs",
    "perf_hints": "performance hints",
    "warnings": "warnings",
}
_OF_NO_COMPILE = frozenset({"warnings", "perf_hints"})
_OF_SYMBOLS = frozenset({*_OF_NO_COMPILE, "dynamic"})


class CountedBreaks(NamedTuple):
    """How many graph breaks ``torch._dynamo.explain`` counted, in how many graphs, 0 where the text does not have that."""

    breaks: int = 0
    graphs: int = 0


@dataclass(slots=True)
class LogContents:
    """Lines of a text log, how many messages there were of each artifact, and signs of the version of PyTorch that wrote it.

    ``limits`` and ``failures`` count warnings at the recompile limit and exceptions; ``suggested`` are the sources that PyTorch itself
    suggested to make dynamic, in its order. ``stated`` is the version that a line names; ``counted_breaks`` are those that
    ``torch._dynamo.explain`` counts, of which it may list some. ``has_profile``: a CompileProfiler counted the recompilations.
    """

    lines: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    limits: int = 0
    failures: int = 0
    suggested: dict[str, None] = field(default_factory=dict)
    signs: set[Versions] = field(default_factory=set)
    stated: Versions | None = None
    counted_breaks: CountedBreaks = field(default_factory=CountedBreaks)
    has_profile: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.messages and not self.limits and not self.failures

    @property
    def has_only_warnings(self) -> bool:
        """Whether nothing in it is about a compilation, so that what a person writes of one counts."""
        return not self.limits and not self.failures and {name for name, count in self.messages.items() if count} <= _OF_NO_COMPILE

    @property
    def has_only_symbols(self) -> bool:
        """Whether nothing else is in it than warnings and symbolic sizes."""
        return not self.limits and not self.failures and {name for name, count in self.messages.items() if count} <= _OF_SYMBOLS

    @property
    def has_only_breaks(self) -> bool:
        """Whether nothing but graph breaks is in it, so that it names no compilation and has nothing about recompilations."""
        return not self.limits and not self.failures and {name for name, count in self.messages.items() if count} == {"graph_breaks"}

    @property
    def break_count(self) -> int:
        """How many graph breaks the text lists or counts."""
        return max(self.messages["graph_breaks"], self.counted_breaks.breaks)

    @property
    def version_guess(self) -> str:
        """Which torch wrote it, as a line has it or from the forms of its lines; "" where nothing shows that."""
        return str(self.stated or common(self.signs))

    def _counted(self, artifact: str) -> str:
        """How many graph breaks there were, where that is not how many the text has."""
        breaks, graphs = self.counted_breaks
        if artifact != "graph_breaks" or breaks <= self.messages["graph_breaks"]:
            return ""
        return f" (of {breaks} that torch._dynamo.explain counted{f', in {graphs} graphs' if graphs else ''})"

    @property
    def artifacts(self) -> frozenset[str]:
        """What it has of what TORCH_LOGS can switch on, in words: ``guards``, ``graph breaks``."""
        return frozenset(words for name, words in _ARTIFACTS.items() if self.messages[name])

    @property
    def note(self) -> str:
        """What was read, what is unknown, how to record the rest."""
        return f"{self.what_it_holds} {self.how_to_record}"

    @property
    def what_it_holds(self) -> str:
        """One sentence for the head of a report: what was read, what is unknown."""
        held = [words + self._counted(name) for name, words in _ARTIFACTS.items() if self.messages[name]]
        held += ["recompile limit hits"] if self.limits else []
        held += ["exceptions"] if self.failures else []
        missing = {name: _ARTIFACTS[name] for name in ("recompiles", "guards", "graph_code") if not self.messages[name]}
        if "graph_code" in missing and self.messages["aot_graphs"]:
            missing["graph_code"] = "Dynamo's graphs"
        if "recompiles" in missing and self.limits:
            missing["recompiles"] = "reasons of earlier recompilations"
        unknown = [*(() if self.messages["metrics"] else ("times",)), *missing.values()]
        lacks = f", but no {enumerated(unknown, 'or')}" if unknown else ""
        return f"This log has {enumerated(held or ['compiler messages'])}{lacks}."

    @property
    def how_to_record(self) -> str:
        """The command that records more, as far as the version has it."""
        newest = (self.stated or common(self.signs)).newest
        if newest is None or newest >= OLDEST_WITH_TRACE:
            return "To record everything: TORCH_TRACE=/tmp/trace python your_script.py"
        needs = f"TORCH_TRACE, which records everything, needs torch 2.{OLDEST_WITH_TRACE}"
        return f"{needs}; before that: TORCH_LOGS=recompiles,guards,graph_breaks python your_script.py"
