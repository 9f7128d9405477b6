"""What all ranks of a job have in common, and in which properties they differ."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from shapelog.distributed.collective_order import OrderChange, first_difference
from shapelog.model.compile import Outcome
from shapelog.model.rank_summary import RankSummary, Step
from shapelog.reading.payloads.cache_keys import CACHE_ARTIFACTS
from shapelog.text import plural, rank_list

_T = TypeVar("_T")


class RankGroup(NamedTuple):
    """Ranks that have one value of a property in common, and that value in a few words."""

    ranks: tuple[int, ...]
    words: str


class ComparedProperty(NamedTuple):
    """A compared property. ``unknown`` are ranks without a record of it; ``note`` is a remedy for that, or the difference."""

    name: str
    title: str
    groups: tuple[RankGroup, ...]
    unknown: tuple[int, ...]
    note: str = ""

    @property
    def is_known(self) -> bool:
        return bool(self.groups)

    @property
    def differs(self) -> bool:
        return len(self.groups) > 1


class RankClass(NamedTuple):
    """Ranks whose steps are all the same; ``numbers`` are theirs."""

    ranks: tuple[RankSummary, ...]
    steps: tuple[Step, ...]
    numbers: tuple[int, ...]


def classes_of(ranks: Iterable[RankSummary]) -> list[RankClass]:
    """Ranks with the same steps together, the largest class first."""
    by_steps: dict[tuple[Step, ...], list[RankSummary]] = {}
    for rank in ranks:
        by_steps.setdefault(rank.steps, []).append(rank)
    found = [RankClass(tuple(members), steps, tuple(rank.number for rank in members)) for steps, members in by_steps.items()]
    return sorted(found, key=lambda item: (-len(item.ranks), item.ranks[0].number))


def pipeline_stages(classes: Sequence[RankClass]) -> list[list[RankClass]]:
    """Groups of classes that have code in common, directly or through other classes, the group of most ranks first.

    Code of libraries is common to all, so it does not count. Every stage of a pipeline has the same number of ranks, and more than one;
    otherwise some ranks took another path or compiled nothing, and all classes are one group.
    """
    found: list[tuple[set[Hashable], list[RankClass]]] = []
    for item in classes:
        own: set[Hashable] = {step.code for step in item.steps if not step.code.qualifier}
        if not own:
            return [list(classes)]
        joined = [stage for stage in found if stage[0] & own]
        found = [stage for stage in found if not stage[0] & own]
        found.append((own.union(*(codes for codes, _ in joined)), [*(other for _, stage in joined for other in stage), item]))
    if len({_count(stage) for _, stage in found}) > 1 or _count(found[0][1]) < 2:
        return [list(classes)]
    return sorted((stage for _, stage in found), key=lambda stage: (-_count(stage), min(stage[0].numbers)))


def _count(stage: Iterable[RankClass]) -> int:
    return sum(len(item.ranks) for item in stage)


def stage_words(stages: Sequence[Sequence[RankClass]]) -> str:
    """Which ranks have no code in common; "" where all have."""
    ranks = [rank_list(number for item in stage for number in item.numbers) for stage in stages]
    return f"{'; '.join(ranks)}: no code in common, as in pipeline stages, so each group is compared on its own" if ranks[1:] else ""


def lacks_cause(step: Step) -> bool:
    """Whether nothing shows why a compile was tried that the recompile limit refused, or that was made again: a text log may be cut off."""
    return not step.changes and (step.outcome == Outcome.LIMIT.value or step.verdict != "")


def compare_properties(
    ranks: Sequence[RankSummary], classes: list[RankClass], order: OrderChange | None, stages: str
) -> Iterator[ComparedProperty]:
    """Ranks compared in each property; ``stages`` are the words of ``stage_words``."""
    versions = [((rank.number,), rank.torch_version or None, rank) for rank in ranks]
    yield _compared("versions", "torch version", versions, lambda rank: f"torch {rank.torch_version}", "not recorded")
    for name, title, key, words in _KEYS:
        keys = [(item.numbers, key(item.steps), item.steps) for item in classes]
        note = stages if name == "compiles" else ""
        yield _compared(
            name=name,
            title=title,
            values=keys,
            words=words,
            missing=_WITHOUT_CACHES if all(key is None for _, key, _ in keys) else "",
            note=note,
        )
    yield _compared_graphs(
        name="collectives",
        title="collectives in graphs",
        classes=classes,
        part=lambda step: step.collectives,
        words=_collective_words,
        missing=_WITHOUT_COLLECTIVES,
    )
    yield _compared_graphs(
        name="tensors",
        title="tensor metadata",
        classes=classes,
        part=lambda step: step.tensors or None,
        words=_tensor_words,
        missing=_WITHOUT_TENSORS,
    )
    ran = [((rank.number,), rank.executed.digest if rank.executed else None, rank.executed) for rank in ranks]
    note = order.sentence if order else ""
    yield _compared(
        name="order",
        title="order of execution",
        values=ran,
        words=lambda executed: plural(executed.count, "run") if executed else "",
        missing=_WITHOUT_ORDER,
        note=note,
    )


def _compared(
    name: str,
    title: str,
    values: Iterable[tuple[tuple[int, ...], Hashable | None, _T]],
    words: Callable[[_T], str],
    missing: str,
    note: str = "",
) -> ComparedProperty:
    """Ranks grouped by key, the largest group first, each described by ``words`` of its first value; the key None is unknown."""
    found: dict[Hashable, tuple[list[int], str]] = {}
    unknown: list[int] = []
    for numbers, key, value in values:
        if key is None:
            unknown += numbers
        elif key in found:
            found[key][0].extend(numbers)
        else:
            found[key] = ([*numbers], words(value))
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1][0]), min(pair[1][0])))
    groups: list[RankGroup] = []
    used: set[str] = set()
    for key, (members, sentence) in ordered:
        more = _from(ordered[0][0], key) if sentence in used else ""
        groups.append(RankGroup(tuple(sorted(members)), sentence + more))
        used.add(sentence)
    return ComparedProperty(name, title, tuple(groups), tuple(sorted(unknown)), note or (missing if unknown else ""))


def _from(first: Hashable, other: Hashable) -> str:
    """From which item on two sequences differ, in words; "" for keys that are not sequences."""
    if not isinstance(first, tuple) or not isinstance(other, tuple):
        return ""
    return f", different from number {first_difference([first, other]) + 1} on"


def _compared_graphs(
    name: str,
    title: str,
    classes: list[RankClass],
    part: Callable[[Step], Hashable | None],
    words: Callable[["_Steps"], str],
    missing: str,
) -> ComparedProperty:
    """A property recorded only for graphs that no cache had: compared in those compiles for which every rank recorded it."""
    unrecorded: set[Hashable] = set()
    recorded: set[Hashable] = set()
    for step in (step for item in classes for step in item.steps):
        (unrecorded if part(step) is None else recorded).add(step.key)
    if not recorded - unrecorded:
        return ComparedProperty(name, title, (), tuple(sorted(number for item in classes for number in item.numbers)), missing)
    compared = [tuple((step.key, part(step)) for step in item.steps if step.key not in unrecorded) for item in classes]
    known = [(item.numbers, key, item.steps) for item, key in zip(classes, compared, strict=True)]
    return _compared(name=name, title=title, values=known, words=words, missing="", note=missing if recorded & unrecorded else "")


_Steps = tuple[Step, ...]
_WITHOUT_CACHES = "no cache hit or miss was recorded"
_WITHOUT_COLLECTIVES = (
    "not recorded for every graph: torch 2.9 and later record the collectives of graphs that Inductor compiles, not of cached ones"
)
_WITHOUT_TENSORS = "not recorded: needs torch._inductor.config.log_tlparse = True, which does not cover cached graphs"
_WITHOUT_ORDER = "not recorded: needs torch._inductor.debug.record_and_log_graph_execution_order() around the training loop"


def _collective_words(steps: _Steps) -> str:
    holders = [step.collectives for step in steps if step.collectives]
    number = plural(sum(map(len, holders)), "collective")
    return f"{number} in {plural(len(holders), 'compilation')}" if holders else "no collective in a graph"


def _cause_words(steps: _Steps) -> str:
    count = Counter((change.code, change.axis) for step in steps for change in step.changes)
    listed = ", ".join(f"{number} × {code} {axis}" for (code, axis), number in count.most_common(3))
    return f"{listed}{' and more' if len(count) > 3 else ''}" if count else "no recompilations"


def _cache_words(steps: _Steps) -> str:
    count: Counter[str] = Counter()
    for step in steps:
        count.update(dict(step.caches))
    by_cache: dict[str, list[str]] = {}
    for name, number in sorted(count.items()):
        cache, result = CACHE_ARTIFACTS.get(name) or (name.replace("_", " "), "time")
        by_cache.setdefault(cache, []).append(plural(number, result))
    return "; ".join(f"{cache}: {', '.join(results)}" for cache, results in by_cache.items())


def _compile_words(steps: _Steps) -> str:
    return f"{plural(len(steps), 'compilation')}, ending at {steps[-1].reference}" if steps else "nothing compiled"


def _graph_words(steps: _Steps) -> str:
    dynamic = sum(step.is_dynamic for step in steps)
    graphs = plural(len({step.graph for step in steps if step.graph}), "distinct graph")
    return f"{graphs}, {dynamic} of {plural(len(steps), 'compilation')} dynamic"


def _tensor_words(steps: _Steps) -> str:
    return f"tensors of {plural(sum(bool(step.tensors) for step in steps), 'compilation')}"


def _outcome_words(steps: _Steps) -> str:
    return ", ".join(f"{number} {name}" for name, number in Counter(step.outcome for step in steps).most_common()) or "nothing compiled"


_KEYS: tuple[tuple[str, str, Callable[[_Steps], Hashable | None], Callable[[_Steps], str]], ...] = (
    ("compiles", "compile ids", lambda steps: tuple((step.label, step.code) for step in steps), _compile_words),
    (
        "graphs",
        "graphs",
        lambda steps: tuple((step.key, step.graph, step.is_dynamic) for step in steps) if any(step.graph for step in steps) else None,
        _graph_words,
    ),
    (
        "causes",
        "causes of recompilations",
        lambda steps: (
            None
            if any(map(lacks_cause, steps))
            else tuple((step.key, tuple((item.code, item.axis) for item in step.changes)) for step in steps if step.is_recompile)
        ),
        _cause_words,
    ),
    ("outcomes", "outcomes", lambda steps: tuple((step.key, step.outcome) for step in steps), _outcome_words),
    (
        "caches",
        "cache hits and misses",
        lambda steps: tuple((step.label, step.caches) for step in steps if step.caches) or None,
        _cache_words,
    ),
)
