"""Seconds of compiling as a range: what a compile that becomes dynamic takes, and what a process pays once."""

from typing import NamedTuple

import pytest
from make import advice, artifact, dynamic_size, explain, metrics, refused, static_sizes, tensor, trace
from make import compile as compiled
from payload_text import graph_text, guard_tree, tensor_match

from shapelog.advice.compile_seconds import DYNAMIC_OVER_STATIC, Seconds, slower_words, when_dynamic
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Cost, replay
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source


class Call(NamedTuple):
    compile: Compile
    seconds: float
    is_first: bool


X0 = Mark(Source("L['x']"), 0)
INDUCTOR = {"inductor_compile_time_s": 0.5}


def cost(made: bytes) -> Cost:
    """What a run costs with the first dim of x marked, timed as the recorded one was."""
    return replay(explain(made)).cost([X0])


# One compile that becomes dynamic.


def test_without_a_dynamic_compile_it_takes_up_to_a_multiple_of_a_static_one() -> None:
    later = static_sizes(7, frame=1, name="warm", source="L['w']", seconds=30.0) + static_sizes(10, 12, seconds=2.0)
    assert cost(trace(later)).seconds == Seconds(32.0, 30.0 + 2.0 * DYNAMIC_OVER_STATIC)


def test_what_is_paid_once_is_no_part_of_that_multiple() -> None:
    made = trace(static_sizes(10, seconds=20.0), compiled("0/1", tensor(12, 8), seconds=1.0), compiled("0/2", tensor(14, 8), seconds=2.0))
    assert cost(made).seconds == Seconds(20.0, 20.0 + 2.0 * (DYNAMIC_OVER_STATIC - 1))


def test_a_static_compile_that_came_from_a_cache_gives_no_upper_end() -> None:
    made = trace(static_sizes(10, seconds=0.1), artifact("fx_graph_cache_hit", "{}", id="0/0"), compiled("0/1", tensor(12, 8)))
    assert cost(made).seconds == Seconds(0.1, None)


def test_a_dynamic_compile_that_came_from_a_cache_is_no_measure() -> None:
    made = trace(static_sizes(10, seconds=2.0), dynamic_size("0/1", 12, seconds=0.1), artifact("fx_graph_cache_hit", "{}", id="0/1"))
    assert cost(made).seconds == Seconds(2.0, 2.0 * DYNAMIC_OVER_STATIC)
    made = trace(static_sizes(10, seconds=2.0), dynamic_size("0/1", 12, seconds=0.1), artifact("fx_graph_cache_miss", "{}", id="0/1"))
    assert cost(made).seconds == Seconds(2.0, 2.0)  # 1.9 of them are spent once


def test_what_the_first_compile_of_a_process_took_longer_it_takes_again() -> None:
    made = trace(static_sizes(10, seconds=20.0), dynamic_size("0/1", 12, "L['x'].size()[0] <= 12", seconds=3.0))
    assert cost(made).seconds == Seconds(20.0, 20.0)
    more = made + compiled("0/2", tensor(10, 8), reasons=("0/1: tensor 'x' dtype mismatch. expected Float, actual Double",), seconds=5.0)
    assert cost(more).seconds == Seconds(3.0 + 15.0 + 5.0, 3.0 + 17.0 + 5.0)


def test_a_first_compile_without_others_of_its_code_may_pay_all_of_it_once() -> None:
    (frame,) = explain(trace(static_sizes(10, seconds=20.0), dynamic_size("0/1", 12, seconds=3.0))).trace.frames
    first, dynamic = (Call(compile, compile.seconds, number == 0) for number, compile in enumerate(frame.compiles))
    assert when_dynamic(first, [first, dynamic], []) == Seconds(3.0, 23.0)


def test_a_backward_graph_of_the_first_compile_may_be_made_with_the_forward_graph() -> None:
    backward = metrics("0/0", "bwd_compilation_metrics", duration_us=5_000_000, entire_frame_compile_time_s=None)
    made = trace(static_sizes(10, seconds=20.0), backward, dynamic_size("0/1", 12, seconds=3.0))
    assert cost(made).seconds == Seconds(20.0, 25.0)


def test_of_later_frames_the_dynamic_compile_alone_counts() -> None:
    first = static_sizes(7, frame=0, name="warm", source="L['w']", seconds=30.0)
    made = trace(first, compiled("1/0", tensor(10, 8), seconds=4.0), dynamic_size("1/1", 12, seconds=3.0))
    assert cost(made).seconds == Seconds(33.0, 33.0)


def test_the_first_compile_is_the_first_that_inductor_had() -> None:
    """A frame without a graph of its own pays for nothing that Inductor sets up."""
    first = static_sizes(7, frame=0, name="warm", source="L['w']", seconds=0.1)
    frame = compiled("1/0", tensor(10, 8), seconds=14.0, **INDUCTOR) + dynamic_size("1/1", 12, seconds=3.0, **INDUCTOR)
    assert cost(trace(first, frame)).seconds == Seconds(14.1, 14.1)


def test_the_first_compile_that_builds_kernels_pays_once_as_well() -> None:
    """A graph of matrix products alone needs no compiler."""

    def made(codegen: float) -> bytes:
        first = static_sizes(7, frame=0, name="project", source="L['w']", seconds=3.0, **INDUCTOR, code_gen_time_s=codegen)
        kernels = {"inductor_compile_time_s": 2.5, "code_gen_time_s": 2.4}
        return trace(first, compiled("1/0", tensor(10, 8), seconds=14.0, **kernels), dynamic_size("1/1", 12, seconds=3.0, **kernels))

    assert cost(made(0.1)).seconds == Seconds(17.0, 17.0)
    assert cost(made(0.4)).seconds == Seconds(6.0, 6.0)


def test_of_several_dynamic_compiles_the_ones_with_the_most_symbols_count() -> None:
    more = {"dynamic": [0, 1], "guards": guard_tree(tensor_match(size=(None, None)))}
    made = trace(
        static_sizes(10, seconds=1.0),
        dynamic_size("0/1", 12, seconds=3.0),
        compiled("0/2", tensor(14, 9), seconds=6.0, **more),
    )
    marks = [X0, Mark(Source("L['x']"), 1)]
    assert replay(explain(made)).cost(marks).seconds == Seconds(6.0, 6.0)


# Ranges.


def test_ranges_add_up() -> None:
    assert Seconds.total([Seconds(1.0, 2.0), Seconds(3.0, 5.0)]) == Seconds(4.0, 7.0)
    assert Seconds.total([Seconds(1.0, 2.0), Seconds(3.0, None)]) == Seconds(4.0, None)
    assert Seconds.total([]) == Seconds(0.0, 0.0)


def test_another_run_may_be_faster_or_slower() -> None:
    assert Seconds(15.0, 20.0).in_another_run == Seconds(10.0, 30.0)
    assert Seconds(15.0, None).in_another_run == Seconds(10.0, None)


def test_what_is_saved_is_the_rest_and_never_less_than_nothing() -> None:
    assert Seconds(4.0, 7.0).left_of(10.0) == Seconds(3.0, 6.0)
    assert Seconds(4.0, 12.0).left_of(10.0) == Seconds(0.0, 6.0)
    assert Seconds(4.0, None).left_of(10.0) == Seconds(0.0, 6.0)


@pytest.mark.parametrize(
    ("measured", "inside"),
    [(3.9, False), (3.994, False), (3.996, True), (4.0, True), (7.0, True), (7.004, True), (7.006, False), (7.1, False)],
)
def test_a_measured_time_is_inside_or_outside(measured: float, inside: bool) -> None:
    assert Seconds(4.0, 7.0).holds(measured) is inside
    assert Seconds(4.0, None).holds(measured) is (measured > 3.995)


def test_a_range_in_words() -> None:
    assert [str(item) for item in (Seconds(5.1, 8.4), Seconds(5.1, 5.1), Seconds(5.1, None), Seconds(9.9, 120.4))] == [
        "5.10–8.40 s",
        "5.10 s",
        "at least 5.10 s",
        "9.90 s–2 min",
    ]


# Caveats.


def slow_caveats(seconds: float, *, is_refused: bool, graphs: tuple[str | None, str | None] = (None, None)) -> list[str]:
    """A static compile of 1.7 s and a dynamic one; where a call of another dtype is refused, more of these may follow."""
    divided = "Eq(Mod(L['x'].size()[0], 2), 0)"
    made = trace(static_sizes(10, seconds=1.7, graph=graphs[0]), dynamic_size("0/1", 12, divided, seconds=seconds, graph=graphs[1]))
    reasons = (f"0/{number}: tensor 'x' dtype mismatch. expected Float, actual Double" for number in (1, 0))
    return [caveat for caveat in advice(made + (refused("0/2", *reasons) if is_refused else b"")).caveats if "is slow to compile" in caveat]


def test_a_dynamic_compile_that_takes_much_longer_is_named_where_the_list_may_save_no_time() -> None:
    words = "f is slow to compile with dynamic sizes (its shapes contain symbolic // or %): 0/1 took 40.0 s, 0/0 1.70 s"
    assert slow_caveats(40.0, is_refused=True) == [f"{words}. Fewer compilations may not save time."]
    assert not slow_caveats(40.0, is_refused=False)
    assert not slow_caveats(4.0, is_refused=True)


def test_compiles_of_two_graphs_do_not_show_that_a_dynamic_one_is_slow() -> None:
    tanh, relu = (
        graph_text('L_x_: "f32[10, 8][8, 1]cpu"', f'{name}: "f32[10, 8][8, 1]cpu" = torch.{name}(l_x_);  l_x_ = None', f"return ({name},)")
        for name in ("tanh", "relu")
    )
    assert slow_caveats(40.0, is_refused=True, graphs=(tanh, tanh))
    assert not slow_caveats(40.0, is_refused=True, graphs=(tanh, relu))


def test_seconds_that_no_dynamic_compile_shows_are_named() -> None:
    assert any("assumed to take up to" in caveat for caveat in advice(trace(static_sizes(10, 12))).caveats)
    assert not any("assumed to take up to" in caveat for caveat in advice(trace(static_sizes(10), dynamic_size("0/1", 12))).caveats)


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (Seconds(22.31, 34.76), "22.3–34.8 s"),
        (Seconds(1.60, 1.64), "about 1.6 s"),
        (Seconds(0.281, 0.299), "about 0.29 s"),
        (Seconds(12.8, 13.8), "about 13 s"),
        (Seconds(100.0, 109.0), "about 1 min 44 s"),
        (Seconds(0.0, 0.38), "up to 0.38 s"),
        (Seconds(3.58, 3.58), "3.58 s"),
        (Seconds(1.0, None), "at least 1.00 s"),
        (Seconds(0.0, 0.004), ""),
    ],
)
def test_a_saving_is_a_range_an_upper_end_or_nothing(saved: Seconds, words: str) -> None:
    assert saved.as_saving == words


def test_no_more_is_saved_than_what_goes_away_took() -> None:
    found = advice(trace(static_sizes(10), dynamic_size("0/1", 12, seconds=0.25)))
    assert found.removed_seconds == 0.25
    assert (found.saved_seconds.most or 0.0) <= found.removed_seconds
    assert Seconds(1.0, None).at_least(2.0) == Seconds(2.0, None)
    assert Seconds(3.0, 4.0).at_least(2.0) == Seconds(3.0, 4.0)


@pytest.mark.parametrize(("added", "words"), [(0.0, "take longer"), (2.43, "take longer; at worst, 2.43 s more than now")])
def test_what_is_removed_may_be_less_than_what_takes_longer(added: float, words: str) -> None:
    assert slower_words(1.1, added) == f": removes 1.10 s, but dynamic compilations {words}"
