"""A report on some frames, whose health remains that of the whole trace."""

from pathlib import Path

import make
import pytest
from payload_text import guard_manager, guard_tree, tensor_match
from recorded import RECORDED, report_of

import shapelog
from shapelog.report.frame_selection import select_frames
from shapelog.report.report import Report


def labels(report: Report) -> list[str]:
    return [item.compile.label for item in report.recompiles]


def test_frames_keep_their_recompiles_and_the_others_are_left_out() -> None:
    chosen = select_frames(report_of("real/demo.log.gz"), "MovingAverage")
    assert [item.frame.title for item in chosen.frames] == ["MovingAverage.forward"]
    assert labels(chosen) == [f"1/{number}" for number in range(1, 9)]
    assert (chosen.summary.compiles, chosen.summary.recompiles, chosen.summary.limit_hits) == (8, 7, 1)
    assert [finding.rule.code for finding in chosen.findings] == ["SL401"]
    assert {member.label.partition("/")[0] for group in chosen.groups for member in group.members} == {"1"}
    assert chosen.advice
    assert chosen.advice.env == "L['self'].step"
    assert [row[2] for table in chosen.tables if table.name == "top_causes" for row in table.rows] == ["self.step"]


def test_a_frame_is_found_by_each_class_that_shares_its_code() -> None:
    trees = [guard_tree(guard_manager("L['self']", type=owner), tensor_match()) for owner in ("app.Vision", "app.Text")]
    made = [make.compile(f"0/{number}", make.tensor(10, 8), guards=tree, name="wrapper") for number, tree in enumerate(trees)]
    whole = make.report(make.trace(*made, make.compile("1/0", make.tensor(3, 8))))
    for wanted in ("Vision", "Text.wrapper"):
        assert [item.frame.label for item in select_frames(whole, wanted).frames] == ["0"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_frame_is_reported_as_in_the_whole_report_and_the_health_is_unchanged(name: str) -> None:
    whole = report_of(name)
    for item in whole.frames[:2]:
        chosen = select_frames(whole, item.frame.label, debug=True)
        assert chosen.frames == tuple(other for other in whole.frames if other.frame.label == item.frame.label)
        assert chosen.recompiles == tuple(other for other in whole.recompiles if other.frame.label == item.frame.label)
        assert chosen.problems == whole.problems
        assert [(book.name, book.size, book.records) for book in chosen.accounts] == [
            (book.name, book.size, book.records) for book in whole.accounts
        ]


def test_a_number_matches_a_label_and_not_a_part_of_a_name() -> None:
    whole = report_of("real/demo.log.gz")
    assert [item.frame.name for item in select_frames(whole, "3").frames] == ["torch_dynamo_resume_in_normalize_at_38"]
    assert select_frames(whole, "38").frames == ()
    assert select_frames(whole, "nothing").frames == ()


def test_the_frames_of_all_ranks_are_counted_in_a_large_job(tmp_path: Path) -> None:
    """Only a few ranks are read in full; the others are known by their summaries."""
    for number in range(20):
        data = make.small_trace() + make.compile("1/0", make.tensor(8, 16), name="other", co_filename="/srv/app/other.py")
        (tmp_path / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log").write_bytes(data)
    whole = shapelog.analyze(shapelog.load(tmp_path))
    assert (whole.summary.compiles, whole.summary.frames) == (60, 40)
    chosen = select_frames(whole, "f")
    assert (chosen.summary.compiles, chosen.summary.recompiles, chosen.summary.frames) == (40, 20, 20)
    assert chosen.trace.rank_count == 20
    assert chosen.ranks
    assert chosen.ranks.agrees
