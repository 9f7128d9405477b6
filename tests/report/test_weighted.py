"""Compiles with how many ranks each represents, and their seconds on all of them."""

from dataclasses import replace

import make

from shapelog.recompiles.explain import explain_trace
from shapelog.report.weighted import weighted_compiles


def test_a_compile_outside_of_a_job_counts_once_with_its_own_seconds() -> None:
    explained = make.explain(make.trace(make.static_sizes(10, 12, 14)))
    found = weighted_compiles(explained)
    assert [(item.compile, item.frame) for item in found] == [(compile, explained.trace.frames[0]) for compile in explained.trace.compiles]
    assert [item.recompile for item in found] == [None, *explained.recompiles]
    assert [(item.ranks, item.weight, item.seconds) for item in found] == [((), 1, item.compile.seconds) for item in found]


def test_a_compile_counts_for_every_rank_that_its_own_represents() -> None:
    trace = make.load_ranks(make.small_trace(), numbers=(3,))
    first, second = trace.compiles
    trace = replace(trace, representatives={3: (3, 4, 9)}, total_seconds={(3, first.label): 3 * first.seconds + 6.0})
    one, other = weighted_compiles(explain_trace(trace))
    assert (one.ranks, one.weight, one.seconds) == ((3, 4, 9), 3, 3 * first.seconds + 6.0)
    assert (other.weight, other.seconds) == (3, second.seconds)


def test_parts_of_a_compile_add_up_to_its_seconds_on_all_ranks() -> None:
    trace = make.load_ranks(make.small_trace())
    first = trace.compiles[0]
    trace = replace(trace, representatives={0: (0, 1)}, total_seconds={(0, first.label): 5.0})
    one = weighted_compiles(explain_trace(trace))[0]
    assert first.seconds
    assert one.on_all_ranks(first.seconds) == 5.0
    assert one.on_all_ranks(first.seconds / 4) == 1.25


def test_compiles_of_some_frames_alone() -> None:
    explained = make.explain(make.trace(make.static_sizes(10, 12)))
    assert weighted_compiles(explained, ()) == ()
    assert weighted_compiles(explained, explained.trace.frames) == weighted_compiles(explained)
