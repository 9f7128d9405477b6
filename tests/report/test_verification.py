"""Did it help? A second run compared with the first and with the prediction."""

import json

import make
import pytest
from make import FAILED, artifact, dynamic_size, refused, run_at_limit, static_sizes, tensor, trace, verification
from make import compile as compiled
from recorded import report_of

from shapelog.report.verification import CommandResult, Verification, verify

THREE = trace(static_sizes(10, 12, 14))


def with_list(value: str) -> dict[str, str]:
    """The metrics of a compile under this list."""
    return {"dynamo_config": "{}", "compiler_config": json.dumps({"dynamic_sources": value})}


def frame_counts(found: Verification) -> list[tuple[str, int, int | None, int]]:
    return [(item.change.title, item.before, item.predicted, item.measured) for item in found.frames]


# It helped.


def test_fewer_compiles_help_and_the_prediction_came_true() -> None:
    found = verification(THREE, trace(dynamic_size("0/0")))
    assert (found.helped, found.is_exact, found.measured, found.faults, found.notes) == (True, True, 1, (), ())
    assert frame_counts(found) == [("f", 3, 1, 1)]


def test_it_helped_though_less_than_was_predicted() -> None:
    found = verification(THREE, trace(static_sizes(10, 12)))
    assert (found.helped, found.is_exact, found.measured, found.faults) == (True, False, 2, ())
    assert found.notes == ("f: 1 predicted, 2 measured; still recompiling because of x.size[0] (size-varies)",)


def test_a_limit_that_is_no_longer_hit_counts() -> None:
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {number + 3}, actual 20" for number in reversed(range(8))]
    found = verification(trace(static_sizes(*range(3, 11)), refused("0/8", *reasons)), trace(dynamic_size("0/0", 3)))
    assert (found.helped, found.is_exact) == (True, True)
    assert frame_counts(found) == [("f", 9, 1, 1)]


def test_code_that_was_compiled_because_of_the_limit_goes_with_it_and_is_not_lost() -> None:
    found = verification(trace(run_at_limit(20, 21)), trace(dynamic_size("0/0", 3)))
    assert (found.helped, found.is_exact, found.faults, found.notes) == (True, True, (), ())
    assert frame_counts(found) == [("f", 9, 1, 1), ("inside", 2, 0, 0)]
    assert str(found.comparison.headline).startswith("Better: 1 compilation instead of 10")


def test_code_that_something_else_may_call_is_lost_as_any_other() -> None:
    other = static_sizes(3, frame=1, name="g", line=60, pytorch_version="2.13.0")
    found = verification(trace(run_at_limit(20, 21, more=other)), trace(dynamic_size("0/0", 3), other))
    assert [fault.partition(":")[0] for fault in found.faults] == ["inside lost compiled code"]


def test_the_second_run_may_take_no_less_time() -> None:
    before, after = make.report(THREE), make.report(trace(dynamic_size("0/0")))
    assert before.advice
    for spent, slower in ((1.9, ""), (2.5, "the command took 2.00 s, then 2.50 s")):
        found = verify(before, after, before.advice, CommandResult(0, 2.0), CommandResult(0, spent))
        assert (found.helped, found.slower) == (True, slower)


def test_what_a_killed_command_did_not_come_to_is_not_lost() -> None:
    before = trace(static_sizes(10, 12, 14), static_sizes(3, frame=1, name="g", line=60))
    found = verification(before, trace(dynamic_size("0/0")), codes=(0, 137))
    assert found.faults == ("the command exited with 137 (SIGKILL) instead of 0",)
    assert found.notes == ("not compiled before the command ended: g",)
    whole = verification(before, trace(dynamic_size("0/0")))
    assert [fault.partition(":")[0] for fault in whole.faults] == ["g lost compiled code"]


def test_what_was_being_compiled_when_the_command_was_killed_is_not_lost() -> None:
    started = compiled("1/0", tensor("L['x']", 3), name="g", line=60).partition(b"\n")[0] + b"\n"  # no more than its start
    before = trace(static_sizes(10, 12, 14), static_sizes(3, frame=1, name="g", line=60))
    found = verification(before, trace(dynamic_size("0/0"), started), codes=(0, 137))
    assert (len(found.faults), found.notes) == (1, ("not compiled before the command ended: g",))


def test_frames_that_were_not_there_before_are_shown() -> None:
    found = verification(THREE, trace(dynamic_size("0/0"), static_sizes(3, frame=1, name="g")))
    assert (found.helped, found.is_exact, found.notes) == (True, False, ("g: not in the first run",))
    assert frame_counts(found) == [("f", 3, 1, 1), ("g", 0, None, 1)]


@pytest.mark.parametrize("program", ["demo", "batch_varies"])
def test_a_real_program_with_the_list_set(program: str) -> None:
    names = {
        "demo": ("real/demo.log.gz", "real/demo_marked.log.gz"),
        "batch_varies": ("lab/batch_varies.log.gz", "real/2.13/batch_varies.pgo_warm.log.gz"),
    }
    found = verification(*(report_of(name) for name in names[program]))
    assert (found.helped, found.is_exact, found.faults, found.notes) == (True, True, (), ())
    assert found.measured == found.advice.after.total


def test_measured_seconds_are_judged_by_the_predicted_range() -> None:
    before = trace(static_sizes(10, seconds=20.0), dynamic_size("0/1", 12, seconds=3.0))
    for measured, where in ((19.0, "inside"), (13.0, "outside"), (31.0, "outside")):
        found = verification(before, trace(dynamic_size("0/0", seconds=measured)))
        assert found.seconds_hold is (where == "inside")
        assert found.timing == f"23.0 s became {measured:.1f} s, {where} the estimate of 13.3–30.0 s"


# It did not help.


@pytest.mark.parametrize("sizes", [(10, 12, 14), (10, 12, 14, 16)])
def test_no_fewer_compiles_do_not_help(sizes: tuple[int, ...]) -> None:
    found = verification(THREE, trace(static_sizes(*sizes)))
    assert not found.helped
    assert found.faults == (f"{len(sizes)} compilations, no fewer than the 3 before",)


def test_limit_hits_count_as_compiles_do() -> None:
    found = verification(
        trace(static_sizes(10, 12)),
        trace(static_sizes(10), refused("0/1", "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 12")),
    )
    assert not found.helped
    assert "2 compilations and limit hits, no fewer than the 2 before" in found.faults


def test_at_the_recompile_limit_in_both_runs_the_numbers_show_nothing() -> None:
    """Calls that were refused in the first run took the place of those that the list saves."""
    found = verification(*[trace(static_sizes(10, 12), refused("0/2", "0/1: tensor 'x' dtype mismatch. expected Float, actual Int"))] * 2)
    assert found.faults == (
        "3 compilations and limit hits, no fewer than the 3 before, as f reached the recompile limit in both runs: "
        "raise torch._dynamo.config.recompile_limit in both to see what is saved",
    )


def test_a_lost_graph_is_no_help_though_fewer_compiles_are_left() -> None:
    found = verification(THREE, trace(compiled("0/0", tensor(10, 8), **FAILED)))
    assert (found.measured, found.helped) == (0, False)
    (fault,) = found.faults
    assert fault.startswith(
        "f lost compiled code: lost its compiled code (3 compilations before) and runs in eager mode or raises: 0/0 failed: no"
    )
    real = verification(report_of("lab/int_drives_python.log.gz"), report_of("real/2.13/int_drives_python.marked.log.gz"))
    assert not real.helped
    assert any("lost compiled code" in fault for fault in real.faults)


def test_code_that_is_gone_is_no_help() -> None:
    found = verification(trace(static_sizes(10, 12, 14), static_sizes(3, frame=1, name="g")), trace(dynamic_size("0/0")))
    assert not found.helped
    assert [fault.partition(":")[0] for fault in found.faults] == ["g lost compiled code"]


@pytest.mark.parametrize("stays_broken", [False, True])
def test_code_that_a_graph_break_split_off_is_part_of_what_calls_it_without_the_break(stays_broken: bool) -> None:
    """In the second run, f is compiled whole and takes g in."""
    broken = artifact("dynamo_graph_break_reason", "Graph break in user code at /srv/app/model.py:6\nReason: print", id="0/0")
    split = broken + static_sizes(3, frame=1, name="g")
    found = verification(trace(static_sizes(10, 12, 14), split), trace(dynamic_size("0/0"), broken if stays_broken else b""))
    assert found.helped is not stays_broken
    assert [fault.partition(":")[0] for fault in found.faults] == (["g lost compiled code"] if stays_broken else [])


@pytest.mark.parametrize(("codes", "helped"), [((0, 1), False), ((0, 2), False), ((3, 3), True)])
def test_another_exit_code_is_no_help(codes: tuple[int, int], helped: bool) -> None:
    found = verification(THREE, trace(dynamic_size("0/0")), codes)
    assert found.helped is helped
    assert found.faults == (() if helped else (f"the command exited with {codes[1]} instead of {codes[0]}",))


def test_all_that_went_wrong_is_shown() -> None:
    second = trace(compiled("0/0", tensor("L['x']", 3), **FAILED), static_sizes(3, 4, 5, frame=1, name="g"))
    assert len(verification(THREE, second, (0, 1)).faults) == 3


# What the program made of the list.


def test_a_program_that_sets_a_list_of_its_own_is_shown() -> None:
    note = "the second run read a different list: the program itself sets TORCH_COMPILE_DYNAMIC_SOURCES or "
    found = verification(THREE, trace(static_sizes(10, 12, 14, **with_list("L['y']:0"))))
    assert [item.startswith(note) for item in found.notes] == [False, True]


@pytest.mark.parametrize("value", ["L['x']:0", "L['y']:0,L['x']:0", ""])
def test_a_list_that_arrived_or_is_not_recorded_is_no_news(value: str) -> None:
    assert verification(THREE, trace(dynamic_size("0/0", **with_list(value)))).notes == ()
