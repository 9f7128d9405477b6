"""What to mark dynamic, what it will save, and what it will not fix: ``advise(explained)`` → Advice."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from shapelog.advice.alternatives.alternative import Alternative
from shapelog.advice.alternatives.find import alternatives
from shapelog.advice.caveats import MAY_NOT_SAVE, ONE_INPUT, SEEMS_STATIC, STAYS_STATIC, caveats_of_list, scope
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.folded_entries import folded
from shapelog.advice.marks import SourceNames, printable, split_list
from shapelog.advice.minimal_marks import HarmfulMark, select_marks
from shapelog.advice.pgo_comparison import PgoSuggestion, pgo_suggestion
from shapelog.advice.remaining_recompiles import Remaining, WithOneRemedy, by_remedy, remaining
from shapelog.advice.remedies import Remedies
from shapelog.advice.replay import Cost, Replay, predicted, replay
from shapelog.advice.suggestions import Suggestion, all_sources, suggestions_for
from shapelog.display import in_notebook
from shapelog.model.compile import Outcome
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.recompiles.explain import Explanations
from shapelog.rules import UNEXPLAINED, Verdict
from shapelog.text import plural

# Rules about values that the code itself pins or branches on: another line of code removes them.
_REWRITABLE = frozenset(("SL201", "SL202", "SL204", "SL311", "SL322"))
# What either of two dimensions may be marked for.
_EQUAL_SIZES = "SL103"

# Savings are explained where they are less than this share of the seconds of the compiles that go away.
_NOTABLE_SHARE = 0.75
# Characters of a list that is long to read.
LONG_LIST = 400


class Forecast(NamedTuple):
    """What one frame cost, and what it would cost with the suggestions."""

    frame: Frame
    before: Cost
    after: Cost

    @property
    def lifts_limit(self) -> bool:
        """Whether its calls were refused, and none of those that are recorded is with the suggestions."""
        return bool(self.before.refused) and not self.after.refused


class Advice(NamedTuple):
    """The whole advice for one torch version. ``env`` is the value of TORCH_COMPILE_DYNAMIC_SOURCES, "" when nothing helps.

    ``before`` and ``after`` are compiles, limit hits and seconds of this run, and of another run of the same calls with the
    suggestions; ``removed_seconds`` are those of the compiles that go away, ``saved_seconds`` what that saves of the seconds of this
    run, since others become dynamic and take longer, ``added_seconds`` what all may take longer than in this run. ``folded`` has the
    expression for entries of ``suggestions`` that differ in an index alone. ``scope`` names the ranks where those are not all.
    ``remedies`` are what to do about each recompile of this run, ``replayed`` is the run to ask what other marks would do.
    ``is_from_text``: a text log may lack recompilations. ``why_no_frames`` is why there is nothing to advise on, "" where a frame was
    compiled.
    """

    version: TorchVersion
    is_version_given: bool
    suggestions: tuple[Suggestion, ...]
    left_out: tuple[HarmfulMark, ...]
    remaining: tuple[Remaining, ...]
    alternatives: tuple[Alternative, ...]
    caveats: tuple[str, ...]
    pgo: PgoSuggestion | None
    before: Cost
    after: Cost
    saved_seconds: Seconds
    removed_seconds: float
    added_seconds: float
    forecasts: tuple[Forecast, ...]
    remedies: Remedies
    replayed: Replay
    folded: Mapping[str, str] = MappingProxyType({})
    set_already: tuple[str, ...] = ()
    failures: int = 0
    scope: str = ""
    is_from_text: bool = False
    what_is_missing: tuple[str, ...] = ()
    why_no_frames: str = ""

    def __repr__(self) -> str:
        return f"<Advice for torch {self.version}: {f'mark {self.what_to_mark}' if self.suggestions else 'nothing to mark'}>"

    def _repr_html_(self) -> str:
        return in_notebook("marks", self)

    @property
    def remaining_by_remedy(self) -> tuple[WithOneRemedy, ...]:
        """``remaining``, with each remedy once, most expensive first."""
        return by_remedy(self.remaining)

    @property
    def entries(self) -> tuple[str, ...]:
        """The whole list, in visible characters: what the run had set already, then what is suggested; () when there is nothing to add."""
        new = [entry for item in self.suggestions for entry in item.entries]
        return tuple(dict.fromkeys(map(printable, (*self.set_already, *new)))) if new else ()

    def tool_for(self, item: Remaining) -> str:
        """What helps against recompiles that stay: a tool of PyTorch's, a change of the code, or nothing."""
        fitting = next((other.tool for other in self.alternatives if item.rule.code in other.codes), "")
        if fitting and item.rule.code != "SL101":
            return fitting
        return "a code change" if item.rule.verdict in (Verdict.CODE, Verdict.FAILED) or item.rule.code in _REWRITABLE else "nothing"

    @property
    def how_savings_add_up(self) -> str:
        """Why the suggestions together save another number of compilations than one by one, "" where it is the same."""
        if self._saved_one_by_one < self.before.compiles - self.after.compiles:
            return "savings are for each suggestion alone; together they save more"
        return "a compilation that needs several of these marks is counted with each" if self.is_saved_by_several else ""

    @property
    def is_saved_by_several(self) -> bool:
        """Whether some compilations go away only with several suggestions, each of which is needed for them."""
        return self._saved_one_by_one > self.before.compiles - self.after.compiles

    def needs_others(self, suggestion: Suggestion) -> bool:
        """Whether some of the compilations that go away with it do so only with another suggestion, too."""
        return any(other is not suggestion and not {*suggestion.gone}.isdisjoint(other.gone) for other in self.suggestions)

    @property
    def _saved_one_by_one(self) -> int:
        return sum({(item.gone, item.frames): item.compiles for item in self.suggestions}.values())

    @property
    def what_to_mark(self) -> str:
        """``3 inputs``, with the number of entries of the list where an input has several: ``1 input (2 entries)``."""
        sources, number = plural(len(self.suggestions), "input"), sum(len(item.entries) for item in self.suggestions)
        return f"{sources} ({number} entries)" if number > len(self.suggestions) else sources

    @property
    def warnings(self) -> tuple[str, ...]:
        """What may make following the suggestions a mistake, in short."""
        found = []
        known = {caveat for item in self.suggestions for caveat in item.caveats}
        if STAYS_STATIC in known:
            found.append("automatic dynamic shapes are off, as under dynamic=False, which marks override; turning them on may be enough")
        elif SEEMS_STATIC in known:
            found.append("marks override dynamic=False, so a backend that needs static shapes fails")
        if ONE_INPUT in self.caveats:
            found.append("mark what else varies as well, such as later dims or other inputs: only the first size that differs is logged")
        if self.after.more:
            found.append("then record again: calls beyond the limit left no record")
        elif self.after.unexpected and self.is_from_text:  # which may have a few of the compilations alone
            found.append("calls beyond the limit left no record: these may need further compilations")
        elif self.after.unexpected:
            found.append(f"calls beyond the limit left no record: these may need up to {plural(self.after.unrecorded, 'compilation')}")
        elif self.after.doubtful:
            refused = "the refused call" if self.after.doubtful == 1 else "refused calls"
            found.append(f"{refused} may differ in more: only the first guard that failed is recorded")
        if any(caveat.endswith(MAY_NOT_SAVE) for caveat in self.caveats):
            found.append("dynamic graphs take longer to compile, so this may save no time")
        return tuple(found)

    @property
    def how_entries_are_written(self) -> str:
        """What explains an entry that looks corrupted: the list is split at commas and blanks, and an entry may match other names."""
        is_any = any(entry.rstrip("0123456789:").endswith("$") for entry in self.entries)
        return "entries with backslashes are regular expressions: keep them as they are" if is_any else ""

    @property
    def becomes_slower(self) -> bool:
        """Whether what is left takes so much longer that it takes away a good part of what is saved."""
        most = self.saved_seconds.most or 0.0
        return _NOTABLE_SHARE * self.removed_seconds > most > 0

    @property
    def is_in_thread(self) -> bool:
        """Whether a thread that the program started runs code to mark something for."""
        return any(frame.is_in_thread for item in self.suggestions for frame in item.frames[:1])

    @property
    def env(self) -> str:
        return ",".join(self.entries)

    @property
    def short_entries(self) -> tuple[str, ...]:
        """The same list for people, with one expression for entries that differ in an index alone; () where it is not much shorter."""
        short = tuple(dict.fromkeys(self.folded.get(entry, entry) for entry in self.entries))
        is_worth_it = len(self.env) > LONG_LIST and len(",".join(short)) * 2 < len(self.env)
        return short if is_worth_it else ()

    @property
    def why_empty(self) -> str:
        """Why there is nothing to mark, "" when there is."""
        if self.suggestions:
            return ""
        if self.left_out:
            return "the only marks that would save a compilation would do harm (see what was left out)"
        if not self.remaining and self.before.limit_hits:
            return "the recompile limit was hit, but no reason is recorded"
        if not self.remaining:
            if self.is_from_text:
                return "the log has no recompilations with reasons"
            if self.why_no_frames:
                return self.why_no_frames
            return "nothing recompiled" + (
                " (failed compilations are listed by shapelog report)" if self.failures else " (every frame was compiled once)"
            )
        if any(item.rule.code == _EQUAL_SIZES and item.verdict is Verdict.MARKING for item in self.remaining):
            return "no list of marks removes these recompilations; where two sizes were equal, the remedy names what to mark"
        refused = [compile.outcome is Outcome.LIMIT for item in self.remaining for compile in item.compiles]
        if refused and all(refused):
            return "no mark is known to keep the code below the recompile limit; the last reason and what to do about it are listed"
        if any(item.size_related for item in self.remaining):
            return "no mark would remove any of the recompilations; the reason is listed for each"
        unexplained = [item for item in self.remaining if item.rule is UNEXPLAINED]
        if len(unexplained) == len(self.remaining):
            return "no reason is recorded for these recompilations"
        which = "the recompilations with a known reason" if unexplained else "these recompilations"
        return f"none of {which} is caused by a changing size"


def _saved(before: Cost, after: Cost, left: Seconds) -> Seconds:
    """The seconds that marks save. Compiles that may stay all the same take their share of the least."""
    saved, gone = left.left_of(before.seconds.least), before.compiles - after.compiles
    sure = max(0.0, 1 - after.unsure / gone) if gone > 0 else 1.0
    return Seconds(saved.least * sure, saved.most)


def advise(explained: Explanations, version: TorchVersion | None = None) -> Advice:
    """The minimal list of marks for this trace, its predicted effect, and what it leaves.

    ``version`` overrides the torch version of the trace: the list is written, and the other tools are chosen, for that one.
    """
    used = version or explained.trace.version
    replayed = replay(explained)
    choice = select_marks(explained, replayed, used)
    sources = all_sources(explained) if choice.marks else SourceNames()
    suggestions = tuple(suggestions_for(explained, replayed, choice, used, sources))
    before, after = replayed.cost(()), predicted(replayed, choice.marks)
    with_marks = replayed.cost_in_this_run(choice.marks)
    remedies = Remedies(used, suggestions, choice.left_out, dict(replayed.served(choice.marks)))
    left = remaining(explained=explained, replayed=replayed, marks=choice.marks, left_out=choice.left_out, version=used, remedies=remedies)
    expected = Seconds.total((with_marks.seconds, replayed.more_seconds(choice.marks)))
    return Advice(
        version=used,
        is_version_given=version is not None,
        suggestions=suggestions,
        left_out=choice.left_out,
        remaining=left,
        alternatives=alternatives(explained, choice.marks, left, used),
        caveats=tuple(caveats_of_list(explained, replayed, choice.marks, used, choice.is_minimal)),
        pgo=pgo_suggestion(explained, replayed, choice, used),
        before=before,
        after=after,
        saved_seconds=_saved(before, after, expected),
        removed_seconds=max(0.0, before.kept - with_marks.kept),
        added_seconds=0.0 if expected.most is None else max(0.0, expected.most - before.seconds.least),
        remedies=remedies,
        replayed=replayed,
        folded=folded([item for suggestion in suggestions for item in suggestion.named_entries(used)], sources),
        set_already=tuple(map(printable, split_list(explained.trace.config.dynamic_sources))) if used.reads_sources else (),
        scope=scope(explained.trace),
        is_from_text=explained.trace.is_text,
        what_is_missing=explained.trace.what_is_missing,
        why_no_frames=explained.trace.why_no_frames,
        failures=sum(compile.outcome is Outcome.FAILED for compile in explained.trace.compiles),
        forecasts=tuple(Forecast(plan.frame, plan.cost(frozenset()), predicted(plan, choice.marks)) for plan in replayed.plans),
    )
