"""A verification in a terminal: the verdict first, then predicted against measured, in all and by frame."""

import re

import make
import pytest
from make import compile as compiled
from make import dynamic_size, refused, static_sizes, tensor, trace, verification
from recorded import RECORDED, report_of

from shapelog.report.verification import CommandResult, Verification, verify
from shapelog.reporters import Options
from shapelog.reporters.terminal.verification import render_verification
from shapelog.text import plural

HOSTILE = "f\x1b]0;owned\x07\u202e"


def shown(found: Verification, width: int = 100, **more: object) -> str:
    return render_verification(found, Options(width=width, **more)).decode()


def test_it_helped_as_predicted() -> None:
    before = trace(static_sizes(10, seconds=1.0), dynamic_size("0/1", 12, "L['x'].size()[0] <= 12"), dynamic_size("0/2", 14))
    assert shown(verification(before, trace(dynamic_size("0/0")))).splitlines() == [
        "It helped: 3 compilations became 1, exactly as predicted",
        "Compile time: 3.00 s became 1.00 s, inside the estimate of 0.67–1.50 s",
        "",
        "  export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\"",
        "",
        "                before    predicted  measured",
        "  compilations       3            1         1",
        "  limit hits         0            0         0",
        "  compile time  3.00 s  0.67–1.50 s    1.00 s",
        "  command time  2.00 s                 1.50 s",
        "",
        "By frame  compilations and limit hits",
        "                 before  predicted  measured",
        "  f  model.py:5       3          1         1",
    ]


def test_it_helped_otherwise_than_predicted() -> None:
    page = shown(verification(trace(static_sizes(10, 12, 14)), trace(static_sizes(10, 12))))
    assert page.startswith("It helped: 3 compilations became 2, 1 compilation predicted\n")
    assert page.endswith("Not as predicted\n  f: 1 predicted, 2 measured; still recompiling because of x.size[0] (size-varies)\n")


@pytest.mark.parametrize(
    ("compiling", "outcome", "qualified"),
    [
        (1.0, "It helped", ""),
        (4.0, "It helped", ", but no time was saved"),
        (5.0, "Fewer compilations", ", but they took more time"),  # longer than one run differs from another
    ],
    ids=["compile time", "none", "more"],
)
def test_it_helped_and_the_command_took_longer(compiling: float, outcome: str, qualified: str) -> None:
    before, after = make.report(trace(static_sizes(10, 12, 14))), make.report(trace(dynamic_size("0/0", seconds=compiling)))
    assert before.advice
    page = shown(verify(before, after, before.advice, CommandResult(0, 82.0), CommandResult(0, 88.0)))
    assert page.splitlines()[:2] == [
        f"{outcome}: 3 compilations became 1, exactly as predicted{qualified}",
        "The command took 1 min 22 s, then 1 min 28 s",
    ]


def test_what_the_second_run_shows_to_mark_comes_last() -> None:
    """A call that was in eager mode in the first run, beyond the recompile limit, has a second size that varies."""
    found = verification(trace(static_sizes(10, 12, 14)), trace(dynamic_size("0/0"), compiled("0/1", tensor(10, 9), dynamic=[0])))
    assert found.next_advice is not None
    assert shown(found).splitlines()[-2:] == [
        "More to mark  by the second run: 1 of 2 compilations goes away (saves 1.00 s of 2.00 s)",
        "  export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:1\"",
    ]
    assert verification(trace(static_sizes(10, 12, 14)), trace(dynamic_size("0/0"))).next_advice is None


def test_it_did_not_help_and_why() -> None:
    assert shown(verification(trace(static_sizes(10, 12)), trace(static_sizes(10, 12)), (0, 1)), 200).startswith(
        "It did not help: the command exited with 1 instead of 0; 2 compilations, no fewer than the 2 before\n"
    )
    assert "It did not help: f lost compiled code" in shown(
        verification(trace(static_sizes(10, 12)), trace(compiled("0/0", tensor(10, 8), **make.FAILED)))
    )


@pytest.mark.parametrize("after", [1, 2, 8])
def test_a_limit_that_is_no_longer_hit_is_shown(after: int) -> None:
    """What was called after the hit is not known: it may compile until the limit is reached again."""
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {number + 3}, actual 20" for number in reversed(range(8))]
    before = trace(static_sizes(*range(3, 11)), refused("0/8", *reasons))
    page = shown(verification(before, trace(static_sizes(*range(3, 3 + after)))))
    surety, predicted = ("exactly as predicted", "1") if after == 1 else ("as predicted (1 to 9)", "1 to 9")
    assert page.startswith(f"It helped: 8 compilations and 1 limit hit became {plural(after, 'compilation')}, {surety}\n")
    assert re.search(rf"\n  compilations +8 +{predicted} +{after}\n", page)
    assert re.search(rf"\n  f  model\.py:5 +9 +{predicted} +{after}\n", page)
    assert "Not as predicted" not in page


def test_a_prediction_that_is_a_range_is_one_in_the_first_line_too() -> None:
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {number + 3}, actual 20" for number in reversed(range(8))]
    before = trace(static_sizes(*range(3, 11)), refused("0/8", *reasons))
    page = shown(verification(before, trace(static_sizes(3, 4), static_sizes(3, frame=1, name="g"))))
    assert page.startswith("It helped: 8 compilations and 1 limit hit became 3 compilations, 1 to 9 compilations predicted\n")
    assert page.endswith("Not as predicted\n  g: not in the first run\n")


def test_frames_that_did_as_before_are_one_line_and_verbose_shows_them() -> None:
    made = trace(static_sizes(10, 12), static_sizes(3, frame=1, name="g"))
    found = verification(made, trace(dynamic_size("0/0"), static_sizes(3, frame=1, name="g")))
    folded, verbose = shown(found), shown(found, verbose=True)
    assert folded.endswith("  1 frame unchanged, as predicted\n")
    assert "  g  model.py:5" not in folded
    assert re.search(r"\n  g  model\.py:5 +1 +1 +1\n", verbose)
    assert "as before" not in verbose


def test_the_limit_cuts_the_frames() -> None:
    before, after = trace(), trace()
    for frame in range(3):
        before += static_sizes(10, 12, frame=frame, name=f"f{frame}")
        after += dynamic_size(f"{frame}/0", name=f"f{frame}")
    assert "… 2 more frames, shown with --limit 0" in shown(verification(before, after), limit=1)
    assert "more frame" not in shown(verification(before, after), limit=0)


def test_a_number_that_came_true_is_green_and_another_yellow() -> None:
    pages = [
        shown(verification(trace(static_sizes(10, 12, 14)), after), color=True)
        for after in (trace(dynamic_size("0/0")), trace(static_sizes(10, 12)))
    ]
    assert ["\x1b[33m" in page for page in pages] == [False, True]
    assert all("\x1b[1;32mIt helped" in page for page in pages)
    assert "\x1b[1;31mIt did not help" in shown(verification(trace(static_sizes(10, 12)), trace(static_sizes(10, 12))), color=True)


def test_what_a_version_does_not_record_is_no_zero() -> None:
    assert re.search(
        r"limit hits +\d+ +\d+ +\?\n", shown(verification(report_of("lab/batch_varies.log.gz"), report_of("real/2.4/a_auto.log.gz")))
    )


@pytest.mark.parametrize("width", [60, 140])
@pytest.mark.parametrize(("before", "after"), list(zip(RECORDED, RECORDED[7:], strict=False))[::6])
def test_lines_keep_to_the_width(before: str, after: str, width: int) -> None:
    lines = shown(verification(report_of(before), report_of(after)), width).splitlines()
    assert [line for line in lines if len(line) > width and not line.strip().startswith("export ")] == []


def test_names_of_a_trace_cannot_harm_the_terminal() -> None:
    for after in (
        trace(dynamic_size("0/0", name=HOSTILE)),
        trace(static_sizes(10, 12, name=HOSTILE)),
        trace(compiled("0/0", tensor(10, 8), name=HOSTILE, **make.FAILED)),
    ):
        page = shown(verification(trace(static_sizes(10, 12, name=HOSTILE)), after), verbose=True)
        assert "\\x1b]0;owned" in page
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", page)
