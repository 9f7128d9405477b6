"""The answers: what they hold, as dataclasses. Times are in seconds, None where the trace has none, as in text logs; ids of compilations
are labels such as ``2/3``, and ``no. 2 (...)`` in a text log without ids, the second of its function.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class RankedStep:
    """One thing to do: what it saves, how sure that is, what to type, and the lines of code that it is about."""

    title: str
    kind: str
    saves: str
    confidence: str
    rules: list[str]
    type_this: list[str]
    from_pytorch: list[str]
    places: list[str]
    compilations: list[str]


@dataclass(frozen=True)
class Diagnostic:
    """What went wrong in one function, where, and what helps."""

    level: str
    rule: str
    sentence: str
    place: str
    code: str
    helps: list[str]
    compilations: list[str]


@dataclass(frozen=True)
class ReportAnswer:
    """A whole run. ``steps`` and ``diagnostics`` are ranked; ``not_shown`` counts what was left out of them."""

    trace: str
    torch: str
    summary: str
    verdicts: list[str]
    steps: list[RankedStep]
    diagnostics: list[Diagnostic]
    not_recorded: list[str]
    problems: list[str]
    not_shown: str


@dataclass(frozen=True)
class RecompilationCause:
    """Why an existing cache entry did not serve a call."""

    rule: str
    sentence: str
    place: str
    code: str
    remedy: str


@dataclass(frozen=True)
class ExplainAnswer:
    """One compilation against the nearest earlier cache entry. ``guards`` are those that differ; ``reasons`` are PyTorch's own."""

    compilation: str
    function: str
    called_at: str
    outcome: str
    seconds: float | None
    compared_with: str
    verdict: str
    causes: list[RecompilationCause]
    remedy: str
    guards: list[str]
    same_graph: bool
    reasons: list[str]
    other_compilations: list[str]


@dataclass(frozen=True)
class InputToMark:
    """One input to mark as dynamic; the compilations that it is ``needed_for`` may need others of the suggestions, too."""

    id: str
    mark: str
    values_seen: list[str]
    needed_for: list[str]
    seconds: float | None
    confidence: str
    because: str
    caveats: list[str]
    place: str
    python: list[str]


@dataclass(frozen=True)
class RemainingRecompilations:
    """Recompilations that marking does not remove."""

    function: str
    rule: str
    sentence: str
    remedy: str
    compilations: list[str]
    seconds: float | None


@dataclass(frozen=True)
class SuggestAnswer:
    """The list to set, with its estimated effect in a sentence and in figures; ``nothing_because`` has the reason where it is empty."""

    trace: str
    torch: str
    shell: list[str]
    python: list[str]
    effect: str
    compilations_before: int
    compilations_after: str
    seconds_before: float | None
    seconds_after: str
    suggestions: list[InputToMark]
    not_fixed: list[RemainingRecompilations]
    caveats: list[str]
    nothing_because: str
    not_shown: str


@dataclass(frozen=True)
class FrameResult:
    """One function before, as predicted and as measured; None where it was not in the first run."""

    function: str
    before: int
    predicted: int | None
    measured: int


@dataclass(frozen=True)
class VerifyAnswer:
    """Two runs of a command, the second with the suggested list; ``messages`` are the last lines that shapelog and the command printed."""

    outcome: str
    helped: bool | None
    compilations: str
    seconds: str
    faults: list[str]
    notes: list[str]
    frames: list[FrameResult]
    set_variable: list[str]
    traces: str
    messages: list[str]


@dataclass(frozen=True)
class ChangedFunction:
    """A function that is different in the second trace."""

    function: str
    effect: str
    sentence: str


@dataclass(frozen=True)
class CompareAnswer:
    """What changed from one trace to another, what got worse first; ``causes`` have their recompilations before and after."""

    outcome: str
    headline: str
    totals: list[str]
    changes: list[ChangedFunction]
    causes: list[str]
    notes: list[str]
    not_shown: str


@dataclass(frozen=True)
class RulesAnswer:
    """All rules in a line each (code, name, verdict, remedy), or one with its explanation in Markdown."""

    rules: list[str]
    explanation: str
