"""What a text log holds, and what it leaves out that a trace would hold."""

from collections import Counter
from dataclasses import dataclass, field

# What each part of TORCH_LOGS is called there, and what is known only with it.
_ARTIFACTS = {
    "recompiles": "why code was recompiled",
    "guards": "the guards of each cache entry",
    "graph_code": "the graphs",
    "dynamic": "sizes and symbols",
    "graph_breaks": "graph breaks",
}


@dataclass(slots=True)
class LogContents:
    """Lines of a text log, how many messages there were of each artifact, and signs of the version of PyTorch that wrote it.

    ``limits`` and ``failures`` count warnings at the recompile limit and exceptions; ``suggested`` are the sources that PyTorch itself
    suggested to make dynamic, in its order.
    """

    lines: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    limits: int = 0
    failures: int = 0
    suggested: dict[str, None] = field(default_factory=dict)
    signs: set[str] = field(default_factory=set)

    @property
    def is_empty(self) -> bool:
        return not self.messages and not self.limits and not self.failures

    @property
    def missing(self) -> tuple[str, ...]:
        """The artifacts of TORCH_LOGS that explain recompiles and are not there."""
        return tuple(name for name in _ARTIFACTS if not self.messages[name])

    @property
    def version_guess(self) -> str:
        """Which torch wrote it, from the forms of its lines; "" where nothing shows that."""
        for sign in ("2.13 or newer", "2.8 or newer", "2.5 or older", "2.6 or 2.7"):
            if sign in self.signs:
                return sign
        return ""

    @property
    def note(self) -> str:
        """One sentence for the head of a report: what was read, what is unknown, how to record the rest."""
        held = [name for name in _ARTIFACTS if self.messages[name]]
        held += ["the recompile limit"] if self.limits else []
        held += ["exceptions"] if self.failures else []
        unknown = ["times", *(_ARTIFACTS[name] for name in ("recompiles", "guards", "graph_code") if not self.messages[name])]
        return (
            f"a text log, which holds {_listed(held or ['messages of the compiler'])}; unknown: {_listed(unknown)}. "
            "For the whole answer: TORCH_TRACE=/tmp/trace python your_script.py"
        )


def _listed(words: list[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else words[0]
