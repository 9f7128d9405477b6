"""``shapelog explain``."""

import json
from pathlib import Path

import make
import pytest
from command_line import DEMO, SMALL, call, refusal
from recorded import FIXTURES


def test_explain_shows_which_entry_a_compile_was_compared_with() -> None:
    done = call("explain", DEMO, "0/2")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Why: compared with 0/1" in done.stdout
    assert "16 → 7" in done.stdout


def test_explain_of_a_first_compile_has_nothing_to_compare_with() -> None:
    assert "First compilation of this code" in call("explain", DEMO, "0/0").stdout


def test_explain_of_an_unknown_compile_lists_the_known_ones() -> None:
    assert "a_auto.log.gz: no compilation 7/7; ids: 0/0 0/1\n" in refusal("explain", SMALL, "7/7")
    assert "a_auto.log.gz: no compilation 0/7; frame 0 has 0/0 0/1\n" in refusal("explain", SMALL, "0/7")


@pytest.mark.parametrize("label", ["", "x", "1", "1/", "0/1/2/3", "0-1", "0/1#", "#2", "!"])
def test_explain_of_something_that_is_not_an_id_shows_what_ids_look_like(label: str) -> None:
    assert f"{label!r} is not a compile id; expected for example 2/3" in refusal("explain", SMALL, label)


def test_a_failure_whose_reason_is_white_space_is_explained(tmp_path: Path) -> None:
    (tmp_path / "made.log").write_bytes(make.trace(make.compile("0/0", fail_type="E", fail_reason=" \n ", is_started=False)))
    assert "failed: no message was recorded" in call("explain", str(tmp_path / "made.log"), "0/0").stdout


@pytest.mark.parametrize("label", ["[0/2]", "0/2_1", "[0/2_1]", " 0/2 "])
def test_an_id_may_be_written_as_torch_logs_prints_it(label: str) -> None:
    assert call("explain", DEMO, label).stdout == call("explain", DEMO, "0/2").stdout


def test_without_an_id_the_most_expensive_recompile_is_explained() -> None:
    done = call("explain", DEMO)
    assert done.exit_code == 0
    assert done.stdout == call("explain", DEMO, "0/2").stdout
    assert done.stderr == (
        "shapelog: 0/2 is the most expensive recompilation; for another: shapelog explain TRACE ID "
        "(ids: 0/1 0/4 3/2 3/1 0/3 2/1 2/2 1/1 1/4 1/3 1/6 1/5 and 3 more)\n"
    )


def test_without_an_id_and_a_recompile_the_most_expensive_compile_is_explained(here: Path) -> None:
    done = call("explain", "fine.log")
    assert (done.exit_code, done.stdout) == (0, call("explain", "fine.log", "0/0").stdout)
    assert done.stderr == "shapelog: nothing recompiled; 0/0 is the only compilation\n"
    several = make.trace(*(make.compile(f"{number}/0", make.tensor(8), name="fgh"[number], seconds=1 + number % 2) for number in range(3)))
    (here / "several.log").write_bytes(several)
    done = call("explain", "several.log")
    assert done.stdout == call("explain", "several.log", "1/0").stdout
    assert done.stderr == (
        "shapelog: nothing recompiled; 1/0 is the most expensive compilation; for another: shapelog explain TRACE ID (ids: 0/0 2/0)\n"
    )


def test_the_phases_of_a_first_compile_are_shown(here: Path) -> None:
    times = {"backend_compile_time_s": 6.0, "inductor_compile_time_s": 4.0, "aot_autograd_cumulative_compile_time_us": 6_000_000}
    (here / "slow.log").write_bytes(make.trace(make.compile("0/0", make.tensor(8), seconds=6.05, **times)))
    assert "\n  time: Inductor 4.00 s, AOTAutograd 2.00 s\n" in call("explain", "slow.log").stdout


def test_without_any_frame_there_is_nothing_to_explain(here: Path) -> None:
    (here / "none.log").write_bytes(make.trace())
    assert "none.log: nothing was compiled\n" in refusal("explain", "none.log")
    export = str(FIXTURES / "real/2.13/export_good.log.gz")
    assert "the trace has 1 export, but no frame that could recompile (see shapelog report)\n" in refusal("explain", export)


@pytest.mark.slow
def test_long_lists_show_a_few_entries_with_the_remedy_and_how_many_more_there_are(here: Path) -> None:
    inputs = [[make.tensor(size + index, 8, source=f"L['x{index}']") for index in range(10)] for size in range(10, 50)]
    (here / "made.log").write_bytes(make.trace(*(make.compile(f"0/{number}", *item) for number, item in enumerate(inputs))))
    shown = call("explain", "made.log", "0/30", "--width", "80").stdout
    assert shown.count("SL101 size-varies: ") == 6
    assert "  → mark dim 0 of x0 and 9 more inputs as dynamic: add" in shown
    assert shown.count("→ mark") == 1
    assert "  … 4 more causes, shown with --verbose\n" in shown
    assert "  other entries 0/28 0/27 0/26 0/25 0/24 0/23 0/22 0/21 and 21 more: x0.size[0]\n" in shown
    assert "0/19 and 20 more\n" in shown
    assert len(shown.splitlines()) < 90
    assert call("explain", "made.log", "0/30", "-v").stdout.count("SL101 size-varies: ") == 10
    everything = json.loads(call("explain", "made.log", "0/30", "-f", "json").stdout)
    assert len(everything["recompile"]["cause_details"]) == 10


def test_a_file_whose_name_is_an_id_can_be_explained(here: Path) -> None:
    (here / "0").mkdir()
    (here / "made.log").rename(here / "0" / "1")
    assert call("explain", "0/1", "0/1").stdout == call("explain", "0/1").stdout != ""


def test_an_id_may_come_before_the_trace() -> None:
    assert call("explain", "0/1", SMALL).stdout == call("explain", SMALL, "0/1").stdout != ""
    assert "gone.log: no such file" in refusal("explain", "0/1", "gone.log")


def test_an_id_without_a_trace_is_refused(here: Path) -> None:
    assert refusal("explain", "2/3").startswith("shapelog: explain: TRACE is missing: shapelog explain TRACE 2/3 (")
    assert "gone.log: no such file" in refusal("explain", "gone.log")


def test_an_id_of_thousands_of_digits_is_refused() -> None:
    refusal("explain", SMALL, "1" * 5000 + "/1")


def test_explain_requires_a_rank_when_several_have_that_compile(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log").write_bytes(make.small_trace())
    several = call("explain", str(tmp_path), "0/1")
    assert several.exit_code == 2
    assert "ranks 0 and 1 have a compilation 0/1; choose one: --rank 0" in several.stderr
    assert call("explain", str(tmp_path), "0/1", "--rank", "1").exit_code == 0
    assert "no rank 2; the trace has ranks 0 and 1" in call("explain", str(tmp_path), "0/1", "--rank", "2").stderr


def test_explain_of_a_damaged_trace_ends_with_2_under_strict(damaged: Path) -> None:
    assert [call("explain", str(damaged), "0/1", *more).exit_code for more in ((), ("--strict",))] == [0, 2]
