"""What each part of a list saves is what the replay gives for the list without it, whatever was taken away before."""

import pytest
from make import compile, explain, guard_tree, tensor, tensor_match, trace
from payload_text import guard_manager
from recorded import RECORDED, report_of

from shapelog.advice import savings
from shapelog.advice.advise import advise
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Replay, replay
from shapelog.advice.savings import Savings
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import Explanations

X0, K = Mark(Source("L['x']"), 0), Mark(Source("L['k']"))


def two_things_varied() -> Replay:
    """First ``k``, then ``k`` and dim 0 of ``x``."""
    parts = []
    for number, (length, constant) in enumerate(((10, 3), (10, 4), (12, 4))):
        leaf = guard_manager("L['k']", f"EQUALS_MATCH: L['k'] == {constant}", type="int")
        parts.append(compile(f"0/{number}", tensor(length, 8), guards=guard_tree(tensor_match(size=(length, 8)), leaf)))
    return replay(explain(trace(*parts)))


def test_what_would_come_back_is_known_for_each_unit() -> None:
    found = Savings(two_things_varied(), frozenset((K, X0)))
    assert [found.lost_without(unit).total for unit in ([K], [X0], [K, X0], [])] == [1, 1, 2, 0]
    assert [compile.label for compile in found.lost_without([K, X0]).calls] == ["0/1", "0/2"]


def test_a_call_is_served_by_the_marks_of_its_route() -> None:
    found = Savings(two_things_varied(), frozenset((K, X0)))
    assert [call.compile.label for call in found.served_by([K])] == ["0/1", "0/2"]
    assert [call.compile.label for call in found.served_by([X0])] == ["0/2"]
    found.drop([K])
    assert [call.compile.label for call in found.served_by([K, X0])] == ["0/2"]


@pytest.mark.parametrize("name", RECORDED)
def test_dropping_marks_one_by_one_gives_what_the_replay_gives(name: str) -> None:
    replayed = replay(report_of(name).explained)
    every = frozenset(mark for plan in replayed.plans for mark in plan.marks)
    found = Savings(replayed, every)
    for dropped in sorted(every):
        chosen = frozenset(found.chosen)
        for mark in sorted(chosen):
            without, cost = replayed.cost(chosen - {mark}), replayed.cost(chosen)
            assert found.lost_without([mark]).total == without.compiles + without.refused - cost.compiles - cost.refused
        found.drop([dropped])


def chain(number: int) -> Explanations:
    """Each call has another int than the one before, so that the entry of the one before would serve it."""
    parts = []
    for at in range(number):
        leaves = [guard_manager(f"L['v{at}']", f"EQUALS_MATCH: L['v{at}'] == 3", type="int")]
        reasons = [f"0/{at - 1}: L['v{at - 1}'] == 3"] if at else []
        parts.append(compile(f"0/{at}", tensor(10, 8), more_guards=leaves, reasons=reasons))
    return explain(trace(*parts))


def test_a_call_that_comes_back_leaves_an_entry_for_the_next() -> None:
    replayed = replay(chain(8))
    every = frozenset(mark for plan in replayed.plans for mark in plan.marks)
    found = Savings(replayed, every)
    for mark in sorted(every):
        (plan,) = replayed.plans
        before, after = plan.served(frozenset(found.chosen)), plan.served(frozenset(found.chosen - {mark}))
        assert [call.id.compile for call in found.lost_without([mark]).calls] == sorted(set(before) - set(after))
        found.drop([mark])


def test_where_too_many_calls_depend_on_others_the_list_states_it(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = advise(chain(8))
    monkeypatch.setattr(savings, "MOST_FOLLOWED", 2)
    cut = advise(chain(8))
    assert [any("could be followed" in text for text in item.caveats) for item in (whole, cut)] == [False, True]
    assert cut.after.total <= cut.before.total
