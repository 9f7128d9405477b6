"""The verdict and the tiles of the first view count what there is."""

import re
from pathlib import Path

import make
import pytest
import vllm_traces
from payload_text import equals_match, graph_text, guard_tree, size_mismatch, tensor_match
from recorded import report_of

import shapelog
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.html.chart_text import kind_of
from shapelog.reporters.html.overview import Overview, Tile, overview
from shapelog.reporters.html.render import render


def tiles(report: Report) -> tuple[Tile, ...]:
    return overview(report, (), ()).tiles


def test_where_nothing_was_compiled_there_is_nothing_to_count() -> None:
    assert tiles(make.report(make.trace())) == ()


def test_of_vllm_without_dynamos_records_the_pieces_are_counted() -> None:
    assert tiles(make.report(make.trace(vllm_traces.llama()))) == (
        Tile(1, "part of the model", "", "vllm"),
        Tile(8, "piecewise compilations", "4 found in a cache", "vllm"),
    )


@pytest.mark.parametrize("seconds", [1.0, None])
def test_compilations_are_counted_without_recompilations_too(seconds: float | None) -> None:
    first, again = tiles(make.report(make.trace(make.compile("0/0", make.tensor(8, 16), seconds=seconds))))
    assert (first.number, first.label, first.more) == (1, "compilation", "1.00 s" if seconds else "")
    assert (again.number, again.label) == (0, "recompilations")


def test_a_graph_break_at_which_a_compilation_failed_is_counted_among_the_failures() -> None:
    found = {tile.label: tile.number for tile in tiles(report_of("lab/raises_on_odd_length.log.gz"))}
    assert found["failed"] == 1
    assert "graph break" not in found


def verdict(report: Report) -> Overview:
    return overview(report, (), ())


def test_what_marks_may_cost_is_stated_with_what_they_save() -> None:
    lead = verdict(report_of("real/2.4/c_int_arg.log.gz")).lead.replace("\u00a0", " ")
    assert "dynamic compilations take longer; at worst, 0.57 s more than now." in lead


REFUSED = {"fail_type": "RecompileLimitExceeded", "fail_reason": "recompile_limit reached"}


def test_what_was_refused_or_failed_is_no_recompilation() -> None:
    failed = make.compile("0/1", make.tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)], **make.FAILED)
    found = verdict(make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), failed)))
    assert found.title == "1 of 2 compilations failed."
    assert "recompilation" not in found.lead


def test_where_all_fails_no_recompilation_is_counted() -> None:
    found = verdict(make.report(make.trace(*[make.compile(f"{number}/0", make.tensor(8), **make.FAILED) for number in range(2)])))
    assert (found.title, found.lead) == ("2 of 2 compilations failed.", "No compilation succeeded.")


def test_that_most_compilations_failed_is_the_headline() -> None:
    again = make.compile("0/1", make.tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)])
    failed = [make.compile(f"{number}/0", make.tensor(8), **make.FAILED) for number in (1, 2, 3)]
    found = verdict(make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), again, *failed)))
    assert found.title == "3 of 5 compilations failed."


def test_failed_compilations_are_counted_with_the_others() -> None:
    again = make.compile("0/1", make.tensor(9, 16), reasons=[size_mismatch("0/0", 8, 9)])
    failed = make.compile("1/0", make.tensor(8), **make.FAILED)
    found = verdict(make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), again, failed)))
    assert "3 compilations: 1 failed (1.00 s), 2 succeeded (2.00 s), including 1 recompilation (1.00 s)." in found.lead.replace(
        "\u00a0", " "
    )


def test_compilations_of_several_ranks_are_named_so() -> None:
    found = verdict(report_of("real/2.13/n_dist_collpatched"))
    assert re.fullmatch(r"2 compilations on 2 ranks \([\d.]+\u00a0s\): every function was compiled once on each\.", found.lead)


def test_a_text_log_does_not_show_that_no_compilation_succeeded(tmp_path: Path) -> None:
    warning = "torch._dynamo hit config.recompile_limit (8)\n   function: 'forward' (/srv/model.py:12)\n"
    warning += "   last reason: 0/7: tensor 'x' size mismatch at index 0. expected 9, actual 10\n"
    (tmp_path / "run.log").write_text(warning)
    found = verdict(shapelog.analyze(shapelog.load(tmp_path / "run.log")))
    assert found.title == "forward hit the recompile limit."
    assert "The log holds no compilation that succeeded; 1 compilation was refused." in found.lead


def test_the_verdict_counts_what_the_replay_saves() -> None:
    report = report_of("lab/compiled_autograd_batch.log.gz")
    assert report.advice
    saved = report.advice.before.compiles - report.advice.after.compiles
    assert verdict(report).title == f"{saved} of {report.advice.before.compiles} compilations are avoidable."


def test_the_verdict_has_what_a_code_change_avoids_after_what_marks_do() -> None:
    found = verdict(report_of("causes/slices_of_a_buffer.log.gz"))
    assert found.title == "1 of 7 compilations is avoidable by marking, 3 more by a code change."
    assert "code change" not in found.lead


def test_what_did_not_finish_has_a_tile_of_its_own() -> None:
    report = make.report(make.trace(make.compile("0/0", make.tensor(8, 16)), make.dynamo_start("g", id="1/0")))
    assert [(tile.number, tile.label, tile.where) for tile in tiles(report)][2:] == [(1, "did not finish", "unfinished-cards")]


def test_what_compiled_autograd_captures_neither_failed_nor_stayed_unfinished() -> None:
    compiles = report_of("lab/compiled_autograd_batch.log.gz").trace.compiles
    assert {kind_of(item, None) for item in compiles if item.label in ("!0", "!1")} == {"unknown"}
    assert "did not finish" not in render(report_of("lab/compiled_autograd_batch.log.gz"), Options()).decode()


def test_columns_of_times_are_sorted_by_seconds_whatever_their_unit() -> None:
    html = render(report_of("real/demo.log.gz"), Options()).decode()
    assert 'class="number" data-value="16.92' in html


def test_a_payload_that_does_not_match_its_checksum_is_on_the_first_view() -> None:
    damaged = make.compile("0/0", make.tensor(8, 16)).replace(b"l_x_ + 1", b"l_x_ - l_x_"[:8])
    first = render(make.report(make.trace(damaged)), Options()).decode().partition('id="advice"')[0]
    assert "The trace has 1 problem." in first
    assert "The trace has" not in render(make.report(make.trace(make.compile("0/0", make.tensor(8, 16)))), Options()).decode()


def test_marks_that_only_make_room_below_the_limit_save_no_time() -> None:
    """A call that was refused takes the place of the compilation that they remove, or more of them are served by the first."""
    made = make.trace()
    for number, mode in enumerate(("a", "b")):
        guards = guard_tree(tensor_match(size=(10, 8)), equals_match("L['mode']", mode, "str"))
        made += make.compile(f"0/{number}", make.tensor(10, 8), guards=guards, graph=graph_text().replace("x + 1", f"x + {number}"))
    size = "tensor 'x' size mismatch at index 0. expected 10, actual 12"
    found = verdict(make.report(made + make.refused("0/2", f"0/1: {size}", f"0/0: {size}")))
    assert found.title == "Marking may keep the code below the recompile limit."
    assert found.lead.startswith("Mark 1 input as dynamic.")
