"""What a check asks: kinds, rules selected and ignored, and which budget decides."""

import pytest

from shapelog.check.policy import Budget, Metric, Policy, budgets_of, codes_of, kinds_of
from shapelog.errors import ShapelogError
from shapelog.rules import AlertKind


def test_the_default_is_what_can_be_avoided_and_what_broke() -> None:
    assert Policy().kinds == {AlertKind.AVOIDABLE, AlertKind.LIMIT, AlertKind.FAILURE}


def test_a_budget_decides_about_recompiles() -> None:
    assert Policy(budgets=(Budget(Metric.RECOMPILES, 3),)).kinds == {AlertKind.LIMIT, AlertKind.FAILURE}


def test_all_that_is_selected_fails_unless_kinds_are_named() -> None:
    assert Policy(select=("SL1",)).kinds == frozenset(AlertKind)
    assert Policy(select=("SL1",), fail_on=(AlertKind.LIMIT,)).kinds == {AlertKind.LIMIT}
    assert Policy(select=("SL1",), fail_on=()).kinds == frozenset()


def test_every_kind_but_that_of_budgets_can_be_named() -> None:
    named = tuple(kind for kind in AlertKind if kind is not AlertKind.BUDGET)
    assert kinds_of(kind.value for kind in named) == named
    assert kinds_of(["Limit", "limit", "none"]) == (AlertKind.LIMIT,)
    assert kinds_of(["none"]) == ()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("avoidible", "did you mean avoidable?"), ("nonsize", "did you mean non-size?"), ("budget", "use one of avoidable, ")],
)
def test_an_unknown_kind_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ShapelogError, match=f"--fail-on {name}: ") as error:
        kinds_of([name])
    assert hint in str(error.value)


def test_rules_are_named_by_code_beginning_name_or_all() -> None:
    assert codes_of("--select", ["sl3", "SL401", "size-varies", "Size-Varies", "all"]) == ("SL3", "SL401", "SL101", "SL")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("SL3077", "did you mean SL307?"), ("size-vary", "did you mean size-varies?"), ("ruff", "no rule code starts with that")],
)
def test_an_unknown_rule_names_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(ShapelogError, match=f"--ignore {name}: ") as error:
        codes_of("--ignore", [name])
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("select", "ignore", "counting"),
    [
        ((), (), {"SL101", "SL104", "SL301"}),
        (("SL1",), (), {"SL101", "SL104"}),
        (("SL1",), ("SL101",), {"SL104"}),
        (("SL101",), ("SL1",), {"SL101"}),
        (("SL1",), ("SL1",), set()),
        (("SL",), ("SL3",), {"SL101", "SL104"}),
        ((), ("SL",), set()),
        (("SL", "SL301"), ("SL3", "SL104"), {"SL101", "SL301"}),
    ],
)
def test_the_longer_of_two_beginnings_decides(select: tuple[str, ...], ignore: tuple[str, ...], counting: set[str]) -> None:
    policy = Policy(select=select, ignore=ignore)
    assert {code for code in ("SL101", "SL104", "SL301") if policy.counts([code])} == counting


def test_of_several_codes_one_is_selected_and_none_ignored() -> None:
    assert Policy(select=("SL2",)).counts(["SL101", "SL203"])
    assert not Policy(ignore=("SL2",)).counts(["SL101", "SL203"])
    assert not Policy(select=("SL1",), ignore=("SL203",)).counts(["SL101", "SL203"])


def budgets(*texts: str, metric: Metric = Metric.RECOMPILES) -> list[tuple[str, float]]:
    return [(item.pattern, item.most) for item in budgets_of(metric, None, texts)]


def test_a_budget_per_frame_is_a_number_or_a_pattern_with_one() -> None:
    assert budgets("3", "Net.forward=2", "=4", "a=b=1") == [("*", 3), ("Net.forward", 2), ("*", 4), ("a=b", 1)]
    assert budgets("0.5", metric=Metric.AVOIDABLE) == [("*", 0.5)]
    assert list(budgets_of(Metric.COMPILES, 0, ())) == [Budget(Metric.COMPILES, 0)]


@pytest.mark.parametrize("text", ["", "Net.forward=", "Net.forward", "-1", "x=-1", "1.5", "nan", "inf", "1e3"])
def test_a_budget_that_is_no_number_is_refused_with_its_option(text: str) -> None:
    with pytest.raises(ShapelogError) as error:
        budgets(text)
    assert str(error.value).startswith(f"--max-recompiles-per-frame {text}: ")


@pytest.mark.parametrize("text", ["nan", "inf", "-0.5"])
def test_seconds_are_a_number_too(text: str) -> None:
    with pytest.raises(ShapelogError, match=f"--max-avoidable-seconds {text}: "):
        list(budgets_of(Metric.AVOIDABLE, float(text), ()))
    with pytest.raises(ShapelogError, match="--max-avoidable-seconds-per-frame"):
        budgets(text, metric=Metric.AVOIDABLE)


def decided(names: tuple[str, ...], *texts: str) -> list[float]:
    policy = Policy(budgets=tuple(budgets_of(Metric.RECOMPILES, 99, texts)))
    return [item.most for item in policy.budgets_of(names)]


def test_the_longest_pattern_that_fits_decides() -> None:
    names = ("Net.forward", "forward", "app/model.py")
    assert decided(names, "9", "Net.f*=2", "app/*=3", "Other.forward=1") == [2]
    assert decided(names, "9", "app/mod*=3", "Net.*=2") == [3]
    assert decided(names, "*/model.py=4") == [4]
    assert decided(names, "forward=5", "9") == [5]
    assert decided(names, "Other=1") == []


def test_of_equal_patterns_the_last_decides() -> None:
    assert decided(("f", "f", ""), "9", "3") == [3]


def test_each_metric_has_its_own() -> None:
    several = (Budget(Metric.COMPILES, 5, "*"), Budget(Metric.RECOMPILES, 3, "f"), Budget(Metric.RECOMPILES, 4, "*"))
    assert [item.most for item in Policy(budgets=several).budgets_of(("f", "f", ""))] == [5, 3]


def test_a_star_counts_for_nothing() -> None:
    for texts in (("*=4", "f=3"), ("f=3", "*=4")):
        assert decided(("f", "f", ""), *texts) == [3]
