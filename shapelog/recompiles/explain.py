"""What the whole trace tells: each recompile against its nearest entry, similar graphs, and what can be avoided."""

from collections.abc import Iterable
from typing import NamedTuple

from shapelog.errors import DATA_LOSS, Problem
from shapelog.model.ids import parse_compile_id
from shapelog.model.trace import Compile, Frame, Outcome, Trace
from shapelog.recompiles.causes import Cause, Explanation, explain
from shapelog.recompiles.graph_reuse import can_serve, held_static, pinned, similar
from shapelog.recompiles.violations import Comparer
from shapelog.rules import RULES, Verdict, any_blocks_marking, remedy_for
from shapelog.text import one_line

# From here on it pays to look for the facts that differ at all before comparing each compile with each earlier one.
_MANY = 12


class Recompile(NamedTuple):
    """A compile that was not its frame's first, held against the nearest earlier entry (None if the trace has none).

    ``served_by`` is the earlier compile whose graph would serve this call if the axes were marked, None unless the verdict is MARKING.
    ``missing`` says what the trace lacks when the cause is not known, ``note`` why marking what varies would not remove this one, and
    ``obstacle`` is the code of the rule whose remedy holds there.
    """

    compile: Compile
    frame: Frame
    nearest: Compile | None
    causes: tuple[Cause, ...]
    consequences: tuple[str, ...]
    entries_checked: int
    verdict: Verdict
    served_by: Compile | None = None
    missing: str = ""
    note: str = ""
    obstacle: str = ""

    @property
    def size_related(self) -> bool:
        return any(cause.size_related for cause in self.causes)

    def __repr__(self) -> str:
        return f"<Recompile {self.compile.label} of {one_line(self.frame.title)}: {' '.join(self.codes)}, {self.verdict.value}>"

    @property
    def is_against_unknown(self) -> bool:
        """Whether it is known from PyTorch's own words alone, because the entries they name are not in the trace."""
        return self.nearest is None and bool(self.note)

    @property
    def is_after_failure(self) -> bool:
        """Whether no earlier compile of the code left an entry, so that it was tried again rather than compiled again."""
        return not self.entries_checked and not self.is_against_unknown

    @property
    def codes(self) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(code for cause in self.causes for code in cause.codes))
        return found or ("SL399",)


class Group(NamedTuple):
    """Compiles with similar graphs, in order of compilation. ``converged`` is the first dynamic one that no later member followed."""

    members: tuple[Compile, ...]
    converged: Compile | None

    @property
    def dynamic(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if member.is_dynamic)

    @property
    def static(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if not member.is_dynamic)


class Study(NamedTuple):
    """A trace and everything that more than one analysis asks about it. ``failed`` holds the ids of frames that could not be explained.

    ``told`` is what separates a compile from each entry that it was held against, by the id of the compile; ``models`` holds the frame
    before that recompiled in the same way, by the id of a frame.
    """

    trace: Trace
    comparer: Comparer
    recompiles: tuple[Recompile, ...]
    groups: tuple[Group, ...]
    problems: tuple[Problem, ...]
    failed: frozenset[int]
    by_frame: dict[int, tuple[Recompile, ...]]
    told: dict[int, list[Explanation]]
    models: dict[int, Frame]

    def of_frame(self, frame: Frame) -> tuple[Recompile, ...]:
        return self.by_frame.get(id(frame), ())


def study(trace: Trace, debug: bool = False) -> Study:
    """Explain each frame; one that cannot be explained becomes a problem, or raises with ``debug``."""
    comparer = Comparer()
    has_reasons = any(compile.has_reasons_record for compile in trace.compiles)
    recompiles: list[Recompile] = []
    told: dict[int, list[Explanation]] = {}
    problems: list[Problem] = []
    failed: set[int] = set()
    known: dict[tuple[object, ...] | Frame, tuple[Frame, list[Recompile]]] = {}
    models: dict[int, Frame] = {}
    for frame in trace.frames:
        try:
            likeness = _likeness(frame, comparer) or frame
            if likeness in known:
                found = _as_in(*known[likeness], frame, told)
                models[id(frame)] = known[likeness][0]
            else:
                found = known.setdefault(likeness, (frame, _explained(frame, comparer, has_reasons, told)))[1]
            recompiles.extend(found)
        except Exception as error:
            if debug:
                raise
            failed.add(id(frame))
            text = f"frame {frame.label} ({frame.name}) could not be explained ({type(error).__name__}: {error})"
            problems.append(Problem("analysis-failed", text, trace.name, severity=DATA_LOSS))
    groups = tuple(group for rank in trace.ranks for group in _groups(frame.compiles for frame in rank.frames))
    by_frame: dict[int, tuple[Recompile, ...]] = {}
    for item in recompiles:
        by_frame[id(item.frame)] = (*by_frame.get(id(item.frame), ()), item)
    return Study(trace, comparer, tuple(recompiles), groups, tuple(problems), frozenset(failed), by_frame, told, models)


def _likeness(frame: Frame, comparer: Comparer) -> tuple[object, ...] | None:
    """The same for frames, of other ranks or after a reset, that recompiled for the same reasons; None where an entry is not known."""
    numbers = {compile.label.partition("#")[0]: index for index, compile in enumerate(frame.compiles)}
    found: list[object] = [(frame.name, frame.file, frame.line)]
    for compile in frame.compiles:
        reasons = [(numbers.get(reason.entry), reason.text) for reason in compile.reasons]
        if any(number is None for number, _ in reasons):
            return None
        found.append((comparer.likeness(compile), compile.outcome, compile.has_reasons_record, *reasons))
    return tuple(found)


def _as_in(model: Frame, known: list[Recompile], frame: Frame, told: dict[int, list[Explanation]]) -> list[Recompile]:
    """The recompiles of a frame that is like another one, of which they are known; ``told`` takes their explanations."""
    own = {id(other): compile for other, compile in zip(model.compiles, frame.compiles, strict=True)}
    for other in model.compiles:
        if id(other) in told:
            explanations = [Explanation(own[id(entry)], causes, consequences) for entry, causes, consequences in told[id(other)]]
            told[id(own[id(other)])] = explanations
    return [
        item._replace(
            compile=own[id(item.compile)],
            frame=frame,
            nearest=item.nearest and own[id(item.nearest)],
            served_by=item.served_by and own[id(item.served_by)],
        )
        for item in known
    ]


def _explained(frame: Frame, comparer: Comparer, has_reasons: bool, told: dict[int, list[Explanation]]) -> list[Recompile]:
    """The recompiles of a frame; ``told`` takes their explanations."""
    found: list[Recompile] = []
    if len(frame.compiles) > _MANY:
        comparer.focus(frame.compiles)
    for index, compile in enumerate(frame.compiles):
        earlier = [entry for entry in frame.compiles[:index] if entry.outcome is Outcome.COMPILED]
        strangers = [] if earlier else _strangers(frame.compiles[:index], compile, comparer)
        if strangers:
            found.append(_against_strangers(frame, compile, strangers, comparer))
            continue
        if index == 0:
            continue
        explanations = told[id(compile)] = [explain(comparer, entry, compile) for entry in candidates(earlier, compile)]
        missing = _missing(compile, has_reasons)
        found.append(_recompile(frame, compile, missing, explanations, comparer))
    return found


def candidates(earlier: list[Compile], compile: Compile) -> list[Compile]:
    """The cache entries that were looked at, most recently used first: those PyTorch lists, else all earlier ones."""
    if not compile.reasons:
        return earlier[::-1]
    by_label = {entry.label.partition("#")[0]: entry for entry in earlier}
    listed = [by_label[reason.entry] for reason in compile.reasons if reason.entry in by_label]
    return list(dict.fromkeys(listed)) if listed else earlier[::-1]


def _strangers(known: tuple[Compile, ...], compile: Compile, comparer: Comparer) -> list[Compile]:
    """The entries that the reasons of a compile name and the trace does not hold: made before a recording began, or lost.

    All that is known of them is what those reasons say. The comparer keeps them, since it knows compiles by identity.
    """
    labels = {entry.label.partition("#")[0] for entry in known}
    found = []
    for name in dict.fromkeys(reason.entry for reason in compile.reasons):
        identity = parse_compile_id(name)
        if identity is not None and name not in labels:
            made = Compile(identity, name, compile.rank, compile.process, -1, has_reasons_record=True, outcome=Outcome.COMPILED)
            found.append(comparer.strangers.setdefault((compile.rank, compile.process, compile.id.generation, name), made))
    return found


def _against_strangers(frame: Frame, compile: Compile, strangers: list[Compile], comparer: Comparer) -> Recompile:
    """A recompile of which PyTorch's own words are all that is known; they name one failed guard of each entry."""
    best = nearest([explain(comparer, entry, compile) for entry in strangers], compile)
    names = ", ".join(entry.label for entry in strangers)
    words = f"{names} not in this trace (compiled before the recording began, or lost): known is only the one guard that PyTorch names"
    causes, consequences = (best.causes, best.consequences) if best else ((), ())
    # Whether marking is enough depends on a graph that nobody recorded.
    told = {cause.rule.verdict for cause in causes}
    verdict = next((known for known in (Verdict.CODE, Verdict.JUSTIFIED) if known in told), Verdict.UNEXPLAINED)
    verdict = _outcome_verdict(compile) or verdict
    return Recompile(compile, frame, None, causes, consequences, 0, verdict, missing=words, note=words)


def nearest(explanations: list[Explanation], compile: Compile) -> Explanation | None:
    """Fewest causes that are no sizes, then a similar graph, then fewest causes that are not even ints, then fewest size causes, then
    the most recently used.
    """
    told = [(item.others, item) for item in explanations if item.causes]
    if not told:
        return None
    fewest = min([others for others, _ in told])
    near = [item for others, item in told if others == fewest]
    if len(near) == 1:
        return near[0]

    def distance(item: Explanation) -> tuple[bool, int, int]:
        hard = sum([not cause.size_related for cause in item.causes])
        return not similar(item.entry, compile), hard, len({cause.axis for cause in item.causes})

    return min(near, key=distance)


def _recompile(frame: Frame, compile: Compile, missing: str, explanations: list[Explanation], comparer: Comparer) -> Recompile:
    best = nearest(explanations, compile)
    if best is None and not explanations:
        again = (_after_failure(compile),)
        return Recompile(compile, frame, None, again, (), 0, _outcome_verdict(compile) or Verdict.JUSTIFIED)
    if best is None:
        verdict = _outcome_verdict(compile) or Verdict.UNEXPLAINED
        return Recompile(compile, frame, None, (), (), len(explanations), verdict, missing=missing)
    verdict, served_by = _verdict(frame, compile, best, explanations, comparer)
    obstacle, note = _obstacle(best, compile, comparer) if verdict in (Verdict.JUSTIFIED, Verdict.CODE) else ("", "")
    return Recompile(
        compile, frame, best.entry, best.causes, best.consequences, len(explanations), verdict, served_by, note=note, obstacle=obstacle
    )


def _obstacle(best: Explanation, compile: Compile, comparer: Comparer) -> tuple[str, str]:
    """(code, words) of what makes marking not enough although every cause is one that marks act on, ("", "") where one is not."""
    codes = {code for cause in best.causes for code in cause.codes}
    held = held_static(best)
    if held:
        return "SL321", f"the program calls mark_static on {held}, which beats every mark: take that call away"
    if not all(cause.rule.markable for cause in best.causes) or any_blocks_marking(codes):
        return "", ""
    operator = pinned(best, compile, comparer)
    if operator:
        return "SL202", f"marking alone does not remove it: {operator} takes it as a number, and has a graph for each"
    if not similar(best.entry, compile):
        return "SL204", "marking alone does not remove it: the code takes another path for this value, so the graphs differ"
    return "SL204", "marking alone does not remove it: the guards of the dynamic graph do not hold for this call"


def _after_failure(compile: Compile) -> Cause:
    sentence = "no earlier compile of this code left an entry: it failed, or broke before its first operation, and was tried again"
    return Cause(("SL403",), "", "failure", "failed before", "", "", False, sentence, None, False)


def _missing(compile: Compile, has_reasons: bool) -> str:
    """What the trace lacks, in words, where no cause is found."""
    if not compile.has_reasons_record and compile.guards is None:
        return "neither a recompile reason nor guards were recorded for it"
    if not has_reasons:
        return (
            "this torch version records no recompile reasons, and every guard that it does record holds: something changed that it does "
            "not record (grad mode or other global state, the backend, an object's identity), or this is another compiled object"
        )
    if not compile.has_reasons_record:
        return "no reason was recorded, and no guard is known to fail: another compiled object of this code, or a lost record"
    return "the recorded reasons name no earlier entry of this trace"


def _outcome_verdict(compile: Compile) -> Verdict | None:
    if compile.outcome is Outcome.LIMIT:
        return Verdict.LIMIT
    if compile.outcome is Outcome.SKIPPED:
        return Verdict.SKIPPED
    return Verdict.FAILED if compile.outcome in (Outcome.FAILED, Outcome.UNFINISHED) else None


def _verdict(
    frame: Frame, compile: Compile, best: Explanation, explanations: list[Explanation], comparer: Comparer
) -> tuple[Verdict, Compile | None]:
    ended = _outcome_verdict(compile)
    if ended:
        return ended, None
    for item in [best, *explanations]:
        if can_serve(frame, item, compile, comparer):
            return Verdict.MARKING, item.entry
    verdicts = [cause.rule.verdict for cause in best.causes]
    if held_static(best):
        return Verdict.CODE, None
    for verdict in (Verdict.UNEXPLAINED, Verdict.CODE):
        if verdict in verdicts:
            return verdict, None
    return Verdict.JUSTIFIED, None


def _groups(frames: Iterable[tuple[Compile, ...]]) -> list[Group]:
    by_key: dict[str, list[Compile]] = {}
    for compiles in frames:
        for compile in compiles:
            graph = compile.graph
            if graph and graph.key and compile.outcome in (Outcome.COMPILED, Outcome.UNFINISHED):
                by_key.setdefault(graph.key, []).append(compile)
    return [_group(sorted(members, key=lambda member: member.order)) for members in by_key.values()]


def _group(members: list[Compile]) -> Group:
    last = members[-1]
    return Group(tuple(members), last if last.is_dynamic and len(members) > 1 else None)


def remedy(recompile: Recompile, lists_sources: bool) -> str:
    """What helps against the first cause that is not about sizes, else against the first, in the torch version at hand."""
    ordered = sorted(recompile.causes, key=lambda cause: cause.size_related)
    if recompile.obstacle == "SL321":
        return "take mark_static away from what varies, or accept one graph for each size"
    if recompile.obstacle:
        return RULES[recompile.obstacle].remedy
    return remedy_for(ordered[0].helping if ordered else RULES["SL399"], lists_sources)
