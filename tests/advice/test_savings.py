"""What each part of a list saves is what the replay gives for the list without it, whatever was taken away before."""

import pytest
from make import compile, explain, guard_tree, tensor, tensor_match, trace
from payload_text import guard_manager
from recorded import RECORDED, report_of

from shapelog.advice.marks import Mark
from shapelog.advice.replay import Replay, replay
from shapelog.advice.savings import Savings
from shapelog.reading.payloads.source_names import Source

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
            assert found.lost_without([mark]).total == replayed.cost(chosen - {mark}).total - replayed.cost(chosen).total
        found.drop([dropped])
