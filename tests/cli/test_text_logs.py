"""Every command with text logs in place of traces."""

import gzip
import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import FIXTURES, call, refusal

import shapelog
from shapelog.cli.main import cli
from shapelog.reporters import formats

LOGS = FIXTURES / "text_logs"
LIMIT = LOGS / "2.13" / "g_limit.txt.gz"
TRACE = FIXTURES / "real" / "2.6" / "g_limit.log.gz"
PASTED = sorted((LOGS / "pasted").glob("*.txt"))
REFUSED = {"40_unslothai-unsloth-zoo_1003.txt"}  # a table that somebody made


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    path.write_bytes(gzip.decompress(LIMIT.read_bytes()))
    return path


def test_a_report_begins_with_what_the_log_holds_and_ends_with_how_to_record_more(run: Path) -> None:
    done = call("report", str(run))
    assert done.exit_code == 0
    first = " ".join(done.stdout.split("\n\n", 1)[0].split())
    assert "text log" in first
    assert "TORCH_TRACE=" in done.stdout.splitlines()[-1]
    assert "SL401" in done.stdout


def test_a_pasted_log_is_read_from_standard_input(run: Path) -> None:
    pasted, named = call("report", "-", stdin=run.read_bytes()), call("report", str(run))
    assert pasted.exit_code == 0
    assert pasted.stdout.partition("\n")[2] == named.stdout.partition("\n")[2]


def test_who_types_a_log_is_asked_to_paste_it(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    for is_terminal in (True, False):
        with CliRunner().isolation(input=run.read_bytes()) as (_, error, _):
            monkeypatch.setattr(sys.stdin, "isatty", lambda is_terminal=is_terminal: is_terminal)
            with pytest.raises(SystemExit):
                cli(["report", "-"])
            assert (b"paste a log, then press Ctrl-D" in error.getvalue()) == is_terminal


@pytest.mark.parametrize("path", PASTED, ids=lambda path: path.name)
@pytest.mark.parametrize("command", ["report", "suggest-dynamic", "check", "explain"])
def test_a_pasted_log_gets_an_answer_from_each_command(command: str, path: Path) -> None:
    done = call(command, str(path))
    if path.name in REFUSED:
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        return
    assert done.exit_code in ((0, 1) if command == "check" else (0, 2) if command == "explain" else (0,))
    assert all(line.startswith("shapelog: ") for line in done.stderr.splitlines())


def test_a_text_log_has_no_times_for_a_trace_viewer(run: Path) -> None:
    text = refusal("report", str(run), "-f", "chrome-trace", "-o", str(run.with_name("out.trace.json")))
    assert text == "shapelog: run.txt: nothing to draw in a trace viewer: this text log has no times\n"
    assert not run.with_name("out.trace.json").exists()


@pytest.mark.parametrize("form", [form for form in (*formats("report"), *formats("overview")) if form != "chrome-trace"])
def test_every_format_is_made_of_a_text_log(run: Path, form: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert call("report", str(run), "-f", form, "-o", str(target)).exit_code == 0
    data = target.read_bytes()
    if form in ("json", "sarif", "gitlab"):
        json.loads(data)
    elif form == "junit":
        ElementTree.fromstring(data)
    assert b"g_limit.py" in data


def test_a_notebook_shows_a_text_log(run: Path) -> None:
    report = shapelog.analyze(shapelog.load(run))
    assert report.advice is not None
    for shown in (report, report.trace):
        assert "g_limit.py" in shown._repr_html_()
    assert "mark_dynamic(x, 0)" in report.advice._repr_html_()


def test_one_compile_of_a_text_log_is_explained(run: Path) -> None:
    done = call("explain", str(run), "0/1")
    assert done.exit_code == 0
    assert "dim 0 of x changed from 2 to 3" in done.stdout


def test_a_check_fails_on_what_a_text_log_shows(run: Path) -> None:
    done = call("check", str(run))
    assert done.exit_code == 1
    assert "recompile limit hit in f, h" in done.stdout


def test_a_baseline_of_a_text_log_holds_for_the_same_log(run: Path, tmp_path: Path) -> None:
    known = str(tmp_path / "known.json")
    call("check", str(run), "--baseline", known, "--write-baseline")
    assert call("check", str(run), "--baseline", known).exit_code == 0


def test_text_logs_and_traces_are_compared(run: Path) -> None:
    same = call("compare", str(run), str(LIMIT))
    assert same.exit_code == 0
    assert "No difference: 20 compilations in both runs" in same.stdout
    mixed = call("compare", str(run), str(TRACE))
    assert mixed.exit_code == 0
    assert "Mixed: " in mixed.stdout


def test_of_a_text_log_and_a_trace_only_the_trace_counts(run: Path) -> None:
    both, alone = call("report", str(run), str(TRACE)), call("report", str(TRACE))
    assert both.stderr == "shapelog: run.txt left out: a text log, and the trace (g_limit.log.gz) holds more\n"
    assert both.stdout == alone.stdout
    found = json.loads(call("report", str(TRACE), str(run), "-f", "json").stdout)["trace"]["notes"]
    assert any(note.startswith("run.txt left out") for note in found)


def test_of_a_text_log_and_a_trace_in_one_directory_only_the_trace_counts(tmp_path: Path) -> None:
    for name, source in (("run.log.gz", LIMIT), ("own.log.gz", TRACE)):
        (tmp_path / name).write_bytes(source.read_bytes())
    both = call("report", str(tmp_path), "--all-runs")
    assert "run.log.gz left out: a text log" in both.stderr
    assert json.loads(call("report", str(tmp_path), "--all-runs", "-f", "json").stdout)["summary"]["compiles"] == 17


def test_several_text_logs_are_one_job(tmp_path: Path) -> None:
    both = gzip.decompress((LOGS / "2.6" / "n_dist.txt.gz").read_bytes()).splitlines(keepends=True)
    paths = [tmp_path / f"node{rank}.txt" for rank in (0, 1)]
    for rank, path in enumerate(paths):
        path.write_bytes(b"".join(line for line in both if line.startswith(b"[rank%d]" % rank)))
    done = call("report", *map(str, paths), "-f", "json")
    assert [rank["rank"] for rank in json.loads(done.stdout)["trace"]["ranks"]] == [0, 1]


def test_a_text_without_the_compiler_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_bytes(b"epoch 1\nepoch 2\n")
    assert "run.txt: not a torch.compile trace (plain text without torch.compile messages)" in refusal("report", str(path))


def test_a_text_log_is_watched_until_nothing_comes(run: Path) -> None:
    done = call("watch", str(run), "--idle", "0.01")
    assert done.exit_code == 0
    assert "0/1 f recompiled" in done.stdout
    assert "SL401" in done.stdout
