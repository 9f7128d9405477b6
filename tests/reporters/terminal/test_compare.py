"""Two runs side by side in a terminal: the answer first, then what changed, folded where it repeats."""

import json
import re
from dataclasses import replace
from pathlib import Path

import make
import pytest
from payload_text import guard_tree, tensor_match
from recorded import RECORDED, report_of

import shapelog
from shapelog.report.compare import Comparison, compare
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.terminal.compare import render_comparison

DEMO = compare(report_of("real/demo.log.gz"), report_of("real/demo_marked.log.gz"))


def shown(comparison: Comparison, width: int = 100, **options: object) -> str:
    return render_comparison(comparison, Options(width=width, **options)).decode()  # type: ignore[arg-type]


def section(text: str, title: str) -> str:
    """The lines below a heading."""
    return re.split(r"\n\n", text[text.index(f"\n{title}") + 1 :])[0]


def sizes(*lengths: int) -> bytes:
    return make.trace(make.static_sizes(*lengths))


def test_the_answer_comes_first_and_then_the_totals() -> None:
    lines = shown(DEMO).splitlines()
    assert lines[0] == "demo.log.gz → demo_marked.log.gz  torch 2.13.0+cpu"
    assert lines[2] == "Better: 8 compilations instead of 19; the recompile limit is no longer hit"
    totals = [line.split() for line in lines if re.match(r"  (re)?compilations ", line)]
    assert totals == [["compilations", "19", "8", "-11"], ["recompilations", "15", "4", "-11"]]


def test_a_frame_shows_what_changed_and_the_causes_that_are_gone() -> None:
    average = section(shown(DEMO), "Frames that changed").split("\n  better   ")[1]
    assert average.splitlines() == [
        "MovingAverage.forward  demo.py:28  11.1 → 0.82 s",
        "    no longer hits the recompile limit",
        "    1 compilation instead of 8, no recompilations remain",
        "    dynamic from the first compilation on (was static): self.step",
        "    SL315 module-int-varies  8 → 0 times  self.step",
    ]


def test_what_still_recompiles_is_shown_with_a_remedy_once() -> None:
    left = section(shown(DEMO), "Still recompiling")
    assert "SL311 constant-varies  pooling" in left
    assert left.count("SL301 dtype-varies") == 2
    assert left.count("→ warm up with the dtype used in production") == 1
    assert "SL101" not in left


def test_each_remedy_has_a_row_with_what_it_is_for() -> None:
    report = report_of("causes/inference_mode.log.gz")
    lines = section(shown(compare(report, report), 200), "Still recompiling").splitlines()
    rows = [(line.strip(), lines[number + 1].strip()) for number, line in enumerate(lines) if line.startswith("    SL303")]
    assert rows[:2] == [
        (
            "SL303 dispatch-keys-vary  inference mode",
            "→ use the same mode in all calls without gradients, including warm-up calls: inference mode needs its own graphs",
        ),
        (
            "SL303 dispatch-keys-vary  x dispatch keys",
            "→ warm up in the same mode and with the same kind of tensor (inference mode, tensor subclass, view) as in production",
        ),
    ]
    assert {row for row, _ in rows[2:]} == {"SL303 dispatch-keys-vary  inference mode"}
    assert all(arrow.startswith("→ as for SL303 of ") for _, arrow in rows[2:])


def test_dims_and_causes_of_one_kind_are_shown_together() -> None:
    found = compare(report_of("lab/optimizer_loop.log.gz"), report_of("real/2.13/optimizer_loop.pgo_warm.log.gz"))
    text = shown(found, 140)
    assert (
        "dynamic from the first compilation on (was from a later one): m.size[0] m.size[1] g.size[0] g.size[1] p.size[0] p.size[1]" in text
    )
    assert "SL101 size-varies  1 → 0 times each  g.size[0] g.size[1] m.size[0] m.size[1] p.size[0] p.size[1]" in text


def test_unchanged_frames_are_folded_into_one_line_and_verbose_unfolds_them() -> None:
    report = report_of("real/2.13/graph_break_resume.pgo_warm.log.gz")
    found = compare(report, report)
    folded = shown(found, 140).splitlines()[-1]
    assert folded == "Unchanged: 3 frames  pipeline, pipeline (resumed at line 15), pipeline (resumed at line 16)"
    assert "\nFrames that changed" not in shown(found)
    assert "  pipeline  graph_break_resume.py:12  1 compilation as before  0.44 → 0.44 s" in section(
        shown(found, verbose=True), "Unchanged"
    )


def test_functions_of_one_name_that_did_not_change_are_counted() -> None:
    report = make.report(sizes(10) + make.static_sizes(10, frame=1, name="f", line=30))
    assert shown(compare(report, report)).splitlines()[-1] == "Unchanged: 2 frames  f ×2"


def test_directories_are_named_as_they_were_given() -> None:
    report = make.report(sizes(10))
    assert shown(compare(report, report, ("runs/before", ""))).startswith("runs/before → made.log  torch")


def test_a_lost_graph_is_red_and_what_went_with_it_is_not_green() -> None:
    found = compare(report_of("lab/int_drives_python.log.gz"), report_of("real/2.13/int_drives_python.marked.log.gz"))
    text = render_comparison(found, Options(width=100, color=True)).decode()
    assert "\x1b[1;31mWorse:" in text
    assert "\x1b[31mworse" in text
    assert "\x1b[32m" not in text
    assert "\x1b[1;32mBetter:" in render_comparison(DEMO, Options(width=100, color=True)).decode()


def test_a_graph_break_is_shown_with_its_place_and_the_piece_with_its_owner() -> None:
    after = sizes(10)
    text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: builtin: print\nUser code traceback:\n"
    after += make.artifact("dynamo_graph_break_reason", text, id="0/0")
    after += make.compile("1/0", make.tensor(10, 8), name="torch_dynamo_resume_in_f_at_7")
    page = shown(compare(make.report(sizes(10)), make.report(after)))
    assert "    new graph break (model.py:7): builtin: print\n" in section(page, "Frames that changed") + "\n"
    assert section(page, "Only in the second run").splitlines()[1:] == [
        "  f (resumed at line 7)  model.py:5  1.00 s",
        "    1 compilation: split off from f",
    ]


def test_code_that_is_gone_is_listed() -> None:
    page = shown(compare(make.report(sizes(10) + make.static_sizes(10, frame=1, name="g")), make.report(sizes(10))))
    assert "1 compilation: not called, renamed, or no longer compiled" in section(page, "Only in the first run")


def test_a_shifted_line_is_shown() -> None:
    before = make.trace(
        make.compile("0/0", make.tensor(10, 8), name="f", co_firstlineno=5), make.compile("0/1", make.tensor(12, 8), co_firstlineno=5)
    )
    after = make.trace(make.compile("0/0", make.tensor(10, 8), name="f", co_firstlineno=8))
    assert "f  model.py:8 (was at line 5)" in shown(compare(make.report(before), make.report(after)))


def distributed(where: Path, *ranks: bytes) -> Report:
    where.mkdir()
    for number, made in enumerate(ranks):
        path = where / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log"
        path.write_bytes(made)
    return shapelog.analyze(shapelog.load(where))


def test_the_same_change_in_several_ranks_is_shown_once(tmp_path: Path) -> None:
    before = distributed(tmp_path / "before", *(sizes(10, 12) for _ in range(3)))
    after = distributed(tmp_path / "after", sizes(10), sizes(10, 12), sizes(10))
    compared = compare(before, after)
    changed = section(shown(compared), "Frames that changed")
    assert changed.count("model.py:5") == 1
    assert "f  model.py:5  ranks 0 2" in changed
    assert changed == section(shown(replace(compared, frames=compared.frames[::-1])), "Frames that changed")
    assert "4.00 → 2.00 s" in changed


@pytest.mark.parametrize("limit", [1, 2])
def test_the_limit_cuts_each_list_and_shows_how_much_is_left(limit: int) -> None:
    text = shown(DEMO, limit=limit)
    assert section(text, "Frames that changed").count("\n  better   ") == limit
    assert f"… {4 - limit} more frame{'s' if limit < 3 else ''}, shown with --limit 0" in text
    assert "more frame" not in shown(DEMO, limit=0)


def test_what_a_version_does_not_record_is_no_zero() -> None:
    text = shown(compare(report_of("real/2.4/a_auto.log.gz"), report_of("real/2.15/a_auto.log.gz")))
    assert re.search(r"graph breaks +not recorded +0\n", text)
    assert "  torch version differs: 2.4 or older before, 2.15.0+cu132 after\n" in text


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(("before", "after"), list(zip(RECORDED, RECORDED[3:], strict=False))[::4])
def test_lines_keep_to_the_width(before: str, after: str, width: int) -> None:
    text = shown(compare(report_of(before), report_of(after)), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert text.endswith("\n")


def test_names_and_reasons_of_a_trace_cannot_harm_the_terminal() -> None:
    hostile = "f\x1b]0;owned\x07\u202e"
    failed = {"guards": "", "graph": "", "fail_type": "E", "fail_reason": f"\x1b[2J{hostile}"}
    before = make.trace(make.compile("0/0", make.tensor(10, 8), name=hostile))
    after = make.trace(make.compile("0/0", make.tensor(10, 8), name=hostile, **failed))
    twice = make.trace(
        make.compile("0/0", make.tensor(10, 8), name=hostile),
        make.compile("0/1", make.tensor(12, 8), guards=guard_tree(tensor_match()), name=hostile),
    )
    for other in (after, twice):
        page = shown(compare(make.report(before), make.report(other)), verbose=True)
        assert "\\x1b]0;owned" in page
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", page)


def test_totals_of_minutes_are_in_minutes() -> None:
    before = make.trace(*(make.compile(f"0/{number}", make.tensor(size, 8), seconds=100.0) for number, size in enumerate((10, 12))))
    after = make.trace(make.compile("0/0", make.tensor(10, 8), seconds=2.0))
    line = next(line for line in shown(compare(make.report(before), make.report(after))).splitlines() if line.startswith("  seconds"))
    assert line.split("  ")[-1].strip() == "-3 min 18 s"
    assert "3 min 20 s" in line


def test_the_printed_difference_is_that_of_the_printed_times() -> None:
    one, other = (report_of_seconds(seconds) for seconds in (37.474, 19.065))
    row = next(line.split() for line in shown(compare(one, other)).splitlines() if line.startswith("  seconds"))
    assert row[0] == "seconds"
    before, after, difference = map(float, row[1:])
    assert (before, difference) == (37.47, round(after - before, 2))


def report_of_seconds(seconds: float) -> Report:
    return make.report(make.trace(make.compile("0/0", make.tensor(10, 8), seconds=seconds)))


def test_a_remedy_that_is_shown_already_is_referred_to() -> None:
    made = make.trace(make.static_sizes(10, 12), make.static_sizes(10, 12, frame=1, name="g"))
    left = section(shown(compare(make.report(made), make.report(made))), "Still recompiling")
    dtypes = section(shown(DEMO), "Still recompiling")
    assert dtypes.count("→ as for SL301 of ") == 1
    assert left.count("SL101") >= 2


def with_list(*entries: str) -> Report:
    settings = json.dumps({"dynamic_sources": ",".join(entries)})
    return make.report(make.trace(make.compile("0/0", make.tensor(10, 8), dynamo_config="{}", compiler_config=settings)))


def test_a_long_list_of_entries_is_counted_and_verbose_shows_it() -> None:
    entries = [f"L['input_{number}']:0" for number in range(40)]
    found = compare(with_list(), with_list(*entries))
    assert section(shown(found, 80), "Settings").splitlines()[1:] == [
        "  torch.compiler.config.dynamic_sources: not set → 40 entries (shown with",
        "    --verbose)",
    ]
    lines = section(shown(found, 80, verbose=True), "Settings").splitlines()
    assert all(set(line.strip().split(" and ")[0].rstrip(",").split(",")) <= set(entries) for line in lines[2:])
    few = section(shown(compare(with_list(), with_list(*entries[:4])), 80), "Settings").splitlines()
    assert few[1:] == [
        "  torch.compiler.config.dynamic_sources: not set →",
        "    L['input_0']:0,L['input_1']:0,L['input_2']:0,L['input_3']:0",
    ]


def test_exports_have_totals_and_the_problems_that_went_and_came() -> None:
    failed, good = (report_of(f"real/2.13/export_{name}.log.gz") for name in ("data_dependent", "good"))
    text = shown(compare(good, failed))
    totals = [line.split() for line in text.splitlines() if re.match(r"  \D+ \d+ +\d+", line)]
    assert totals == [
        ["exports", "1", "1"],
        ["failed", "exports", "0", "1", "+1"],
        ["problems", "in", "exports", "0", "1", "+1"],
    ]
    assert (
        section(text, "Exports")
        == "\n".join(
            (
                "Exports  resolved problems first, then new ones",
                "  new   SL602 export-depends-on-data  export 1 stopped at a data-dependent expression: n > 4",
                "    exports.py:28",
                "      | if n > 4:",
                "      → assert n > 4 or n <= 4 with torch._check, use torch.cond if both happen, or keep the branch",
                "        out of the model",
            )
        )
        + "\n"
    )
    assert "  gone  SL602 export-depends-on-data" in shown(compare(failed, good))
