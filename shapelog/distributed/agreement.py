"""In what respects all ranks of a job are alike, and which of them differ."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from shapelog.distributed.collective_order import OrderChange
from shapelog.model.rank_summary import RankSummary, Step
from shapelog.text import plural, rank_list

_T = TypeVar("_T")


class Group(NamedTuple):
    """Ranks that are alike in some respect, and what they have in common in a few words."""

    ranks: tuple[int, ...]
    words: str


class Respect(NamedTuple):
    """One thing that ranks are compared in. ``unknown`` are those that do not tell, ``note`` says what to record or where they differ."""

    name: str
    title: str
    groups: tuple[Group, ...]
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
    shared: dict[Step, Step] = {}
    alike: dict[tuple[int, ...], list[RankSummary]] = {}
    for rank in ranks:
        key = tuple(id(shared.setdefault(step, step)) for step in rank.steps)
        alike.setdefault(key, []).append(rank)
    found = [RankClass(tuple(members), members[0].steps, tuple(rank.number for rank in members)) for members in alike.values()]
    return sorted(found, key=lambda item: (-len(item.ranks), item.ranks[0].number))


def roles_of(classes: Sequence[RankClass]) -> list[list[RankClass]]:
    """Classes of ranks that have code in common, directly or by way of others, the most ranks first: the stages of a pipeline apart.

    Code of libraries is common to all, so it does not count. Stages have equally many ranks, and several: where these have not, some
    took another way, or compiled nothing, and all are compared with each other.
    """
    found: list[tuple[set[Hashable], list[RankClass]]] = []
    for item in classes:
        own: set[Hashable] = {step.code for step in item.steps if not step.code.told}
        if not own:
            return [list(classes)]
        joined = [role for role in found if role[0] & own]
        found = [role for role in found if not role[0] & own]
        found.append((own.union(*(codes for codes, _ in joined)), [*(other for _, role in joined for other in role), item]))
    if len({_count(role) for _, role in found}) > 1 or _count(found[0][1]) < 2:
        return [list(classes)]
    return sorted((role for _, role in found), key=lambda role: (-_count(role), min(role[0].numbers)))


def _count(role: Iterable[RankClass]) -> int:
    return sum(len(item.ranks) for item in role)


def role_words(roles: Sequence[Sequence[RankClass]]) -> str:
    """Which ranks have no code in common; "" where all have."""
    told = [rank_list(number for item in role for number in item.numbers) for role in roles]
    return f"{'; '.join(told)}: no code in common, as in the stages of a pipeline, so each is compared for itself" if told[1:] else ""


def respects_of(ranks: Sequence[RankSummary], classes: list[RankClass], order: OrderChange | None, roles: str) -> Iterator[Respect]:
    """Each respect that ranks are compared in; ``roles`` are the words for those that have no code in common."""
    versions = [((rank.number,), rank.torch_version or None, rank) for rank in ranks]
    yield _respect("versions", "torch version", versions, lambda rank: f"torch {rank.torch_version}", "not recorded")
    for name, title, key, words in _KEYS:
        keys = [(item.numbers, key(item.steps), item.steps) for item in classes]
        note = roles if name == "compiles" else ""
        yield _respect(name, title, keys, words, _WITHOUT_CACHES if all(key is None for _, key, _ in keys) else "", note)
    yield _told_of_graphs(
        "collectives", "collectives in graphs", classes, lambda step: step.collectives, _collective_words, _WITHOUT_COLLECTIVES
    )
    yield _told_of_graphs("tensors", "tensor metadata", classes, lambda step: step.tensors or None, _tensor_words, _WITHOUT_TENSORS)
    ran = [((rank.number,), rank.executed.digest if rank.executed else None, rank.executed) for rank in ranks]
    note = order.sentence if order else ""
    yield _respect(
        "order", "order of execution", ran, lambda executed: plural(executed.count, "run") if executed else "", _WITHOUT_ORDER, note
    )


def _respect(
    name: str,
    title: str,
    told: Iterable[tuple[tuple[int, ...], Hashable | None, _T]],
    words: Callable[[_T], str],
    missing: str,
    note: str = "",
) -> Respect:
    """Ranks with equal keys in a group each, the largest first, and what ``words`` says of the first of them; None is no key."""
    found: dict[Hashable, tuple[list[int], str]] = {}
    unknown: list[int] = []
    for numbers, key, what in told:
        if key is None:
            unknown += numbers
        elif key in found:
            found[key][0].extend(numbers)
        else:
            found[key] = ([*numbers], words(what))
    ordered = sorted(found.items(), key=lambda pair: (-len(pair[1][0]), min(pair[1][0])))
    groups: list[Group] = []
    said: set[str] = set()
    for key, (members, sentence) in ordered:
        more = _from(ordered[0][0], key) if sentence in said else ""
        groups.append(Group(tuple(sorted(members)), sentence + more))
        said.add(sentence)
    return Respect(name, title, tuple(groups), tuple(sorted(unknown)), note or (missing if unknown else ""))


def _from(first: Hashable, other: Hashable) -> str:
    """From which item on two sequences differ, in words; "" for what is none."""
    if not isinstance(first, tuple) or not isinstance(other, tuple):
        return ""
    same = [one == two for one, two in zip(first, other, strict=False)]
    return f", others from number {(same.index(False) if False in same else len(same)) + 1} on"


def _told_of_graphs(
    name: str,
    title: str,
    classes: list[RankClass],
    part: Callable[[Step], Hashable | None],
    words: Callable[["_Steps"], str],
    missing: str,
) -> Respect:
    """Something that a compile tells only where its graph did not come out of a cache: compared where no rank is silent."""
    silent: set[Hashable] = set()
    told: set[Hashable] = set()
    for step in (step for item in classes for step in item.steps):
        (silent if part(step) is None else told).add(step.key)
    if not told - silent:
        return Respect(name, title, (), tuple(sorted(number for item in classes for number in item.numbers)), missing)
    compared = [tuple((step.key, part(step)) for step in item.steps if step.key not in silent) for item in classes]
    known = [(item.numbers, key, item.steps) for item, key in zip(classes, compared, strict=True)]
    return _respect(name, title, known, words, "", missing if told & silent else "")


_Steps = tuple[Step, ...]
_WITHOUT_CACHES = "no hit or miss of a cache was recorded"
_WITHOUT_COLLECTIVES = (
    "not recorded for every graph: torch 2.9 and later tell the collectives of graphs that Inductor compiles, not of those out of its cache"
)
_WITHOUT_TENSORS = "not recorded: needs torch._inductor.config.log_tlparse = True, and tells nothing of graphs out of the cache"
_WITHOUT_ORDER = "not recorded: needs torch._inductor.debug.record_and_log_graph_execution_order() around the training loop"


def _collective_words(steps: _Steps) -> str:
    holders = [step.collectives for step in steps if step.collectives]
    return f"{plural(sum(map(len, holders)), 'collective')} in {plural(len(holders), 'compile')}" if holders else "no collective in a graph"


def _cause_words(steps: _Steps) -> str:
    count = Counter((change.code, change.axis) for step in steps for change in step.changes)
    told = ", ".join(f"{number} × {code} {axis}" for (code, axis), number in count.most_common(3))
    return f"{told}{' and more' if len(count) > 3 else ''}" if count else "no recompile"


def _cache_words(steps: _Steps) -> str:
    count: Counter[str] = Counter()
    for step in steps:
        count.update(dict(step.caches))
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in sorted(count.items()))


def _compile_words(steps: _Steps) -> str:
    return f"{plural(len(steps), 'compile')}, the last {steps[-1].label}" if steps else "nothing compiled"


def _graph_words(steps: _Steps) -> str:
    dynamic = sum(step.is_dynamic for step in steps)
    graphs = plural(len({step.graph for step in steps if step.graph}), "distinct graph")
    return f"{graphs}, {dynamic} of {plural(len(steps), 'compile')} dynamic"


def _tensor_words(steps: _Steps) -> str:
    return plural(sum(bool(step.tensors) for step in steps), "compile")


def _outcome_words(steps: _Steps) -> str:
    return ", ".join(f"{number} {name}" for name, number in Counter(step.outcome for step in steps).most_common()) or "nothing compiled"


_KEYS: tuple[tuple[str, str, Callable[[_Steps], Hashable | None], Callable[[_Steps], str]], ...] = (
    ("compiles", "compile ids", lambda steps: tuple((step.label, step.code) for step in steps), _compile_words),
    ("graphs", "graphs", lambda steps: tuple((step.key, step.graph, step.is_dynamic) for step in steps), _graph_words),
    (
        "causes",
        "causes of recompiles",
        lambda steps: tuple((step.key, tuple((item.code, item.axis) for item in step.changes)) for step in steps if step.is_recompile),
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
