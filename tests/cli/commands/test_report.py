"""``shapelog report``: one frame, the page, and how much is listed."""

import gzip
import json
import re
from pathlib import Path

import make
import pytest
from command_line import DEMO, FIXTURES, call, refusal

from shapelog.errors import ShapelogError
from shapelog.text import file_size


def test_a_file_is_reported_on(made: Path) -> None:
    done = call("report", str(made))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "2 compilations" in done.stdout
    assert "f" in done.stdout
    assert "warning[SL101]" in done.stdout


def test_a_gzip_file_gives_the_same_report(made: Path) -> None:
    plain = call("report", str(made)).stdout
    packed = made.with_name("packed")
    packed.mkdir()
    (packed / made.name).write_bytes(gzip.compress(make.small_trace()))
    assert call("report", str(packed / made.name)).stdout == plain


def test_html_writes_the_page_in_addition_to_the_report(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = call("report", str(made), "--html", str(page))
    assert done.exit_code == 0
    assert "2 compilations" in done.stdout
    assert done.stderr == f"shapelog: wrote {page}, {file_size(page.stat().st_size)}\n"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(made: Path, tmp_path: Path) -> None:
    assert "cannot write" in refusal("report", str(made), "--html", str(tmp_path / "nowhere" / "report.html"))


def test_the_report_is_shown_when_the_page_cannot_be_written(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> bytes:
        raise ShapelogError("report.html: cannot write: No space left on device")

    monkeypatch.setattr("shapelog.reporters.html.render.render", refuse)
    done = call("report", str(made), "--html", str(tmp_path / "report.html"))
    assert (done.exit_code, done.stderr) == (2, "shapelog: report.html: cannot write: No space left on device\n")
    assert "2 compilations" in done.stdout


def test_a_page_without_source_has_no_code(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert call("report", str(made), "-o", str(page), "--no-source").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "model(batch)" not in text
    assert "/srv/app" not in text
    assert "data-chunk=" not in text


def test_the_page_can_be_piped(made: Path) -> None:
    assert call("report", str(made), "--format", "html").stdout.startswith("<!doctype html>")


@pytest.mark.parametrize("wanted", ["1", "MovingAverage", "MovingAverage.forward"])
def test_one_frame_is_shown_by_number_and_by_name(wanted: str) -> None:
    shown = call("report", DEMO, "--frame", wanted).stdout
    assert "MovingAverage.forward" in shown
    assert "1/8" in shown
    assert "Classifier" not in shown
    assert "Shapes" in shown


@pytest.mark.parametrize("form", ["terminal", "json", "html", "markdown", "sarif", "junit", "github", "gitlab", "jsonl"])
def test_every_format_shows_only_the_chosen_frame(form: str) -> None:
    whole, one = (call("report", DEMO, "--format", form, *frame).stdout for frame in ((), ("--frame", "MovingAverage")))
    for text, shown in ((whole, True), (one, False)):
        assert "MovingAverage.forward" in text
        assert ("Classifier" in text) is shown


def test_json_of_one_frame_has_the_health_of_the_whole_trace() -> None:
    whole, one = (json.loads(call("report", DEMO, "--format", "json", *frame).stdout) for frame in ((), ("--frame", "0")))
    assert one["health"] == whole["health"]
    assert one["frames"] == [frame for frame in whole["frames"] if frame["frame"] == "0"]
    assert one["recompiles"] == [item for item in whole["recompiles"] if item["frame"] == "0"]


def test_the_page_of_one_frame_holds_no_records_of_the_others() -> None:
    whole, one = (call("report", DEMO, "--format", "html", *frame).stdout for frame in ((), ("--frame", "MovingAverage")))
    for text, shown in ((whole, True), (one, False)):
        assert ("Records outside any compilation" in text) is shown


def test_a_frame_number_does_not_match_part_of_a_name() -> None:
    assert "normalize (resumed at line 38)" in call("report", DEMO, "--frame", "3").stdout
    assert "no frame '38'" in refusal("report", DEMO, "--frame", "38")


def test_a_frame_after_a_reset_is_shown_by_its_label() -> None:
    shown = call("report", str(FIXTURES / "real" / "2.6" / "g_limit.log.gz"), "--frame", "0#2").stdout
    assert "0/1#2" in shown
    assert "0/1#3" not in shown


def test_an_unknown_frame_is_refused_with_a_list_of_known_ones() -> None:
    message = refusal("report", DEMO, "--frame", "nothing")
    assert message.startswith(f"shapelog: {DEMO}: no frame 'nothing'; frames: ")
    assert "1 (MovingAverage.forward)" in message


def test_the_limit_cuts_lists_and_shows_how_many_entries_are_left_out() -> None:
    cut, whole = (call("report", DEMO, "--limit", limit).stdout for limit in ("1", "0"))
    assert re.search(r"… \d+ more findings", cut)
    assert "more findings" not in whole
    assert len(cut.splitlines()) < len(call("report", DEMO).stdout.splitlines()) < len(whole.splitlines())


def test_verbose_shows_each_recompile_and_the_records_by_kind() -> None:
    short, verbose = call("report", DEMO).stdout, call("report", DEMO, "--verbose").stdout
    for line in ("0/2 against 0/1", "dynamo_cpp_guards_str"):
        assert line not in short
        assert line in verbose


def test_a_trace_for_viewers_is_written_by_its_suffix(tmp_path: Path) -> None:
    out = tmp_path / "run.trace.json"
    assert call("report", DEMO, "-o", str(out)).exit_code == 0
    assert json.loads(out.read_bytes())["traceEvents"]
