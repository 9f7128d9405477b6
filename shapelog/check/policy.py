"""What a check asks of a run: which rules count, what makes it fail, and budgets."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from enum import Enum
from fnmatch import fnmatchcase
from typing import NamedTuple

from shapelog.errors import ShapelogError
from shapelog.rules import RULES, AlertKind
from shapelog.text import LARGEST_NUMBER, as_typed

DEFAULT_KINDS = (AlertKind.AVOIDABLE, AlertKind.LIMIT, AlertKind.FAILURE)
# Where a budget limits recompiles, it decides about them.
_KINDS_WITH_BUDGETS = (AlertKind.LIMIT, AlertKind.FAILURE)


class Metric(Enum):
    """What a budget limits, over the whole run or in each piece of code."""

    COMPILES = "compiles"
    RECOMPILES = "recompiles"
    AVOIDABLE = "avoidable seconds"

    @property
    def noun(self) -> str:
        """What is counted, in the words of sentences."""
        return self.value.replace("compiles", "compilations")


class Budget(NamedTuple):
    """The most of something in the whole run or, with a pattern, in each piece of code that the pattern matches.

    A pattern is a glob for the title, the name or the file of the code; of several that match the longest decides, stars not
    counted.
    """

    metric: Metric
    most: float
    pattern: str = ""


class Policy(NamedTuple):
    """What makes a check fail. ``fail_on`` None means the default: what is avoidable, limit hits and failures; with ``select`` everything
    selected; with budgets limit hits and failures, in addition to the budgets.

    ``select`` and ``ignore`` hold the beginnings of rule codes; the longer one decides, an equal one ignores.
    """

    fail_on: tuple[AlertKind, ...] | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()

    @property
    def kinds(self) -> frozenset[AlertKind]:
        if self.fail_on is not None:
            return frozenset(self.fail_on)
        if self.budgets:
            return frozenset(_KINDS_WITH_BUDGETS)
        return frozenset(AlertKind) if self.select else frozenset(DEFAULT_KINDS)

    def fails_on(self, kinds: frozenset[AlertKind]) -> bool:
        """Whether an alert of these kinds makes the check fail. One of no kind does where its rule is selected and no kind is named."""
        return bool(kinds & self.kinds) if kinds else self.kinds == frozenset(AlertKind) and bool(self.select)

    def counts(self, codes: Sequence[str]) -> bool:
        """Whether an alert with these codes counts: one of them is selected, and none is ignored."""
        selected = [_longest(code, self.select) if self.select else 0 for code in codes]
        ignored = [_longest(code, self.ignore) for code in codes]
        return max(selected) >= 0 and all(wrong < 0 or right > wrong for right, wrong in zip(selected, ignored, strict=True))

    def budgets_of(self, names: Sequence[str]) -> Iterator[Budget]:
        """The budgets of a piece of code with these names (title, function, file), one of each metric at most."""
        for metric in Metric:
            fitting = [item for item in self.budgets if item.metric is metric and item.pattern and matches(item.pattern, names)]
            if fitting:  # of equal ones the last, as on every command line
                yield max(reversed(fitting), key=lambda item: len(item.pattern.replace("*", "")))


def matches(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def _longest(code: str, prefixes: Iterable[str]) -> int:
    return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)


def kinds_of(names: Iterable[str]) -> tuple[AlertKind, ...]:
    """What ``--fail-on`` names; ``none`` is nothing. Raises ShapelogError for a name that it does not know, with the nearest one."""
    known = {kind.value: kind for kind in AlertKind if kind is not AlertKind.BUDGET}
    found = []
    for name in map(str.lower, names):
        if name not in known and name != "none":
            raise ShapelogError(f"--fail-on {name}: {_nearest('kind', name, (*known, 'none'))}")
        found += [known[name]] if name in known else []
    return tuple(dict.fromkeys(found))


def codes_of(option: str, names: Iterable[str]) -> tuple[str, ...]:
    """Rule codes or their beginnings, or names of rules, as codes. Raises ShapelogError for what no rule begins with."""
    by_name = {rule.name: rule.code for rule in RULES.values()}
    found = []
    for name in names:
        code = by_name.get(name.lower(), name.upper())
        if code == "ALL":
            code = "SL"
        if not any(known.startswith(code) for known in RULES):
            raise ShapelogError(f"{option} {name}: {_nearest('rule', name, (*RULES, *by_name))} (run `shapelog rules` for a list)")
        found.append(code)
    return tuple(dict.fromkeys(found))


def _nearest(noun: str, name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, n=1) or get_close_matches(name.upper(), known, n=1)
    return (
        f"no such {noun}; did you mean {close[0]}?"
        if close
        else f"use one of {', '.join(known)}"
        if len(known) < 20
        else "no rule code starts with that"
    )


def budgets_of(metric: Metric, total: float | None, per_frame: Iterable[str]) -> Iterator[Budget]:
    """The budgets that options ask for; those per frame are written ``N`` for each frame, or ``PATTERN=N``."""
    option = f"--max-{metric.value.replace(' ', '-')}"
    if total is not None:
        if not 0 <= total <= LARGEST_NUMBER:
            raise ShapelogError(f"{option} {as_typed(str(total))}: expected a number from 0 to 10^15")
        yield Budget(metric, total)
    for text in per_frame:
        pattern, _, number = text.rpartition("=")
        try:
            most = float(number) if metric is Metric.AVOIDABLE else int(number)
        except ValueError:
            most = -1
        if not 0 <= most <= LARGEST_NUMBER:
            raise ShapelogError(f"{option}-per-frame {as_typed(text)}: expected N (for every frame) or FRAME=N, with N from 0 to 10^15")
        yield Budget(metric, most, pattern or "*")
