"""The targets of formats, and outputs that cannot be written."""

import io
import json
import os
import stat
import sys
import threading
from pathlib import Path

import make
import packing
import pytest
from command_line import MAIN, SMALL, Process, call, refusal

from shapelog.cli.output import (
    Output,
    OutputOptions,
    Target,
    reject_duplicate_files,
    reject_overwriting,
    targets_of,
    write,
    write_outputs,
)
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

NAME = "dedicated_log_torch_trace_abcdefgh.log"
KNOWN = (*formats("check"), "html")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "made.log").write_bytes(make.small_trace())
    return tmp_path


def paired(formats: str, files: str) -> list[tuple[str, str | None]]:
    return [(target.format, target.file) for target in targets_of(formats.split(), files.split(), KNOWN)]


@pytest.mark.parametrize(
    ("formats", "files", "targets"),
    [
        ("", "", [("terminal", None)]),
        ("json", "", [("json", None)]),
        ("", "-", [("terminal", None)]),
        ("", "a.html b.json c.md d.txt", [("html", "a.html"), ("json", "b.json"), ("markdown", "c.md"), ("terminal", "d.txt")]),
        ("", "a.html -", [("terminal", None), ("html", "a.html")]),
        ("json", "a", [("json", "a")]),
        ("json terminal", "a -", [("terminal", None), ("json", "a")]),
        ("json", "a.html b.txt", [("html", "a.html"), ("json", "b.txt")]),
        ("json markdown", "a.HTML", [("json", None), ("markdown", None), ("html", "a.HTML")]),
        ("json markdown", "b", [("markdown", None), ("json", "b")]),
        ("json json", "", [("json", None)]),
        ("json json", "a b", [("json", "a"), ("json", "b")]),
        ("", "- -", [("terminal", None)]),
    ],
)
def test_formats_and_files_are_paired_in_order_or_by_suffix(formats: str, files: str, targets: list[tuple[str, str | None]]) -> None:
    assert paired(formats, files) == targets


@pytest.mark.parametrize("command", [("report", "made.log"), ("explain", "made.log", "0/1"), ("rules",)])
@pytest.mark.parametrize("file", ["x.pdf", "x.PDF", "a.html.bak"])
def test_a_suffix_that_no_format_has_is_refused_with_those_that_formats_have(here: Path, command: tuple[str, ...], file: str) -> None:
    message = refusal(*command, "-o", file)
    assert message.startswith(f"shapelog: {file}: no format has the suffix {os.path.splitext(file)[1].lower()}; use .")
    assert message.endswith(", .txt, or choose with --format\n")
    assert ".json" in message
    assert sorted(path.name for path in here.iterdir()) == ["made.log"]


def test_a_suffix_of_a_format_that_the_command_lacks_is_refused() -> None:
    assert refusal("explain", "made.log", "0/1", "-o", "a.html").endswith("the suffix .html; use .json, .txt, or choose with --format\n")


@pytest.mark.parametrize("file", ["x.txt", "x.log", "x.out", "x", "d.pdf/x"])
def test_text_goes_to_files_with_a_suffix_of_text_or_none(file: str) -> None:
    assert targets_of([], [file], KNOWN) == (Target("terminal", file),)


def test_a_format_that_is_given_goes_to_any_suffix() -> None:
    assert targets_of(["json"], ["x.pdf"], KNOWN) == (Target("json", "x.pdf"),)


@pytest.mark.parametrize(("file", "form"), [("a.env", "env"), ("a.sh", "shell"), ("a.py", "python")])
def test_advice_to_paste_has_suffixes(file: str, form: str) -> None:
    assert targets_of([], [file], formats("advice")) == (Target(form, file),)


def test_a_suffix_of_another_format_is_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert paired("json", "a.html") == [("json", "a.html")]
    assert capsys.readouterr().err == (
        "shapelog: a.html will contain json (from --format), not html; for both: --format json -o - -o a.html\n"
    )
    assert paired("json terminal", "a.txt -") == [("terminal", None), ("json", "a.txt")]
    assert paired("sarif", "a.json") == [("sarif", "a.json")]
    assert capsys.readouterr().err == ""


def test_two_outputs_cannot_go_to_the_same_file(here: Path) -> None:
    (here / "link.txt").symlink_to(here / "a.txt")
    for arguments, how in (
        (("-o", "a.txt", "-o", "./a.txt"), "-o twice"),
        (("-o", "a.txt", "-o", "link.txt"), "-o twice"),
        (("-o", "a.html", "--html", "a.html"), "both --html and -o"),
    ):
        done = call("report", "made.log", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"given by {how}, but a file can hold only one output" in done.stderr
    done = call("check", "made.log", "-o", "known.json", "--write-baseline", "known.json")
    assert done.exit_code == 2
    assert "given by both --write-baseline and -o" in done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["link.txt", "made.log"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "made.log", "-o", "made.log"),
        ("report", "made.log", "-f", "json", "-o", "link.json"),
        ("report", "made.log", "--html", "made.log"),
        ("report", ".", "-o", "made.log"),
        ("report", "other.log", ".", "-o", "made.log"),
        ("report", "made.log", "other.log", "-o", "made.log"),
        ("check", "made.log", "-o", "made.log"),
        ("check", "made.log", "--baseline", "known.json", "-o", "known.json"),
        ("check", "made.log", "--config", "own.toml", "-f", "json", "-o", "own.toml"),
        ("explain", "made.log", "0/0", "-o", "made.log"),
        ("suggest-dynamic", "made.log", "-o", "made.log"),
        ("compare", "other.log", "made.log", "-o", "made.log"),
        ("watch", "made.log", "-o", "made.log"),
        ("run", "--trace-dir", "traces", "-o", f"traces/{NAME}", "--", "sh", "-c", f"cat made.log >>traces/{NAME}"),
        ("report", "packed.zip", "-f", "json", "-o", "packed.zip"),
        ("report", "packed.zip", "made.log", "-f", "json", "-o", "packed.zip"),
    ],
)
def test_what_is_read_is_never_replaced_by_the_output(here: Path, arguments: tuple[str, ...]) -> None:
    (here / "other.log").write_bytes(make.small_trace())
    (here / "link.json").symlink_to(here / "made.log")
    (here / "traces").mkdir()
    (here / "traces" / NAME).write_bytes(make.small_trace())
    (here / "packed.zip").write_bytes(packing.zipped({"made.log": make.small_trace()}))
    (here / "own.toml").write_text("limit = 3\n")
    call("check", "made.log", "--write-baseline", "known.json")
    before = {path: path.read_bytes()[:1000] for path in here.rglob("*") if path.is_file()}
    done = call(*arguments)
    assert done.exit_code == 2
    assert "the output would overwrite this input file" in done.stderr
    assert {path: path.read_bytes()[:1000] for path in here.rglob("*") if path.is_file()} == before


def test_standard_input_is_not_replaced_by_the_output(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (here / "made.log").open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(ShapelogError, match=r"made\.log: the output would overwrite this input file"):
            reject_overwriting([Target("json", "made.log")], ["-"])
    reject_overwriting([Target("json", os.devnull)], [os.devnull])


def test_an_output_that_is_a_loop_of_links_is_refused(here: Path) -> None:
    (here / "loop").symlink_to("loop")
    assert refusal("report", "made.log", "-o", "loop") == "shapelog: loop: cannot write: Too many levels of symbolic links\n"
    assert refusal("check", "made.log", "--write-baseline", "loop").endswith("symbolic links\n")
    assert (here / "loop").is_symlink()


def test_two_outputs_can_go_to_the_same_device() -> None:
    reject_duplicate_files([Target("json", "/dev/null"), Target("terminal", "/dev/null")])


def test_several_outputs_of_one_run_are_written(here: Path) -> None:
    done = call("check", "made.log", "-o", "a.html", "-o", "b.json", "-o", "-", "--html", "c.html")
    assert done.exit_code == 1
    assert "Check failed: 1 avoidable recompilation" in done.stdout
    assert "wrote c.html" in done.stderr
    assert (here / "a.html").read_bytes() == (here / "c.html").read_bytes()
    assert json.loads((here / "b.json").read_text(encoding="utf-8"))["passed"] is False


def test_several_formats_follow_each_other_on_standard_output() -> None:
    done = call("check", "made.log", "-f", "json", "-f", "terminal")
    data, end = json.JSONDecoder().raw_decode(done.stdout)
    assert data["format"] == "shapelog check"
    assert "What fails" in done.stdout[end:]


def test_a_check_that_only_writes_files_prints_its_result_on_stderr(here: Path) -> None:
    done = call("check", "made.log", "-o", "a.txt")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "shapelog: Check failed: 1 avoidable recompilation\n")


def test_an_output_that_cannot_be_written_is_reported_and_the_others_are_written(here: Path) -> None:
    done = call("check", "made.log", "--exit-zero", "-o", "none/a.json", "-o", "b.json")
    assert done.exit_code == 2
    assert "none/a.json: cannot write: " in done.stderr
    assert (here / "b.json").exists()
    output = Output(lambda target: target.format.encode())
    options = OutputOptions((Target("a", "none/a"), Target("b", str(here)), Target("c", "c")))
    assert write_outputs(output, options, io.TextIOWrapper(io.BytesIO())) == 2
    assert (here / "c").read_bytes() == b"c"


def test_a_full_stream_is_reported(here: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    output = Output(lambda target: b"x")
    with full.open("w", encoding="utf-8") as stream:
        assert write_outputs(output, OutputOptions((Target("a"), Target("b", "b"))), stream) == 2
    assert (here / "b").read_bytes() == b"x"


# The summary of a GitHub step.


def summarized(file: Path | str, monkeypatch: pytest.MonkeyPatch, *targets: Target) -> list[Target]:
    """The targets that are rendered where a step has this summary."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    rendered: list[Target] = []

    def render(target: Target) -> bytes:
        rendered.append(target)
        return target.format.encode()

    stream = io.TextIOWrapper(io.BytesIO())
    assert write_outputs(Output(render), OutputOptions(targets), stream) == 0
    return rendered


def test_markdown_is_added_to_the_summary_of_a_step(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = here / "summary.md"
    summary.write_bytes(b"before\n")
    assert summarized(summary, monkeypatch, Target("markdown", "a.md"))[1:] == [Target("markdown", str(summary), room=1024 * 1024 - 7)]
    assert summary.read_bytes() == b"before\nmarkdown"
    assert summarized(summary, monkeypatch, Target("json", "a.json"), Target("terminal")) == [Target("json", "a.json"), Target("terminal")]


def test_a_missing_step_summary_is_created(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(summarized(here / "new.md", monkeypatch, Target("markdown"), Target("markdown", "a.md"))) == 3
    assert (here / "new.md").read_bytes() == b"markdown"


def test_a_full_step_summary_is_left_unchanged(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    summary = here / "summary.md"
    summary.write_bytes(b"x" * 1024 * 1024)
    assert summarized(summary, monkeypatch, Target("markdown")) == [Target("markdown")]
    assert "the summary of this step is full" in capsys.readouterr().err
    assert summary.stat().st_size == 1024 * 1024


@pytest.mark.parametrize("name", [".", "none/summary.md"])
def test_a_step_summary_that_cannot_be_written_does_not_change_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    summarized(name, monkeypatch, Target("markdown", "a.md"))
    assert f"{name}: cannot write: " in capsys.readouterr().err


def test_markdown_written_to_the_step_summary_is_not_appended_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = here / "summary.md"
    for target in (Target("markdown", str(summary)), Target("markdown", "./summary.md")):
        assert summarized(summary, monkeypatch, target) == [target]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    with summary.open("a", encoding="utf-8") as stream:
        assert write_outputs(Output(lambda target: b"+"), OutputOptions((Target("markdown"),)), stream) == 0
    assert summary.read_bytes() == b"markdown+"


def test_a_file_is_written_whole_or_not_at_all(here: Path) -> None:
    (here / "a").write_bytes(b"old")
    write(b"new", Target("json", "a"), io.TextIOWrapper(io.BytesIO()))
    assert (here / "a").read_bytes() == b"new"
    assert sorted(path.name for path in here.iterdir()) == ["a", "made.log"]


@pytest.mark.parametrize("name", ["report.html", "REPORT.HTM"])
def test_an_html_suffix_selects_the_page(made: Path, tmp_path: Path, name: str) -> None:
    done = call("report", str(made), "-o", str(tmp_path / name))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_json_suffix_selects_json_unless_format_is_given(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for command in ("report", "suggest-dynamic"):
        assert call(command, str(made), "-o", str(out)).exit_code == 0
        assert json.loads(out.read_bytes())["format"].startswith("shapelog ")
    assert call("report", str(made), "-f", "terminal", "-o", str(out)).exit_code == 0
    assert "Next steps" in out.read_text(encoding="utf-8")


def test_html_and_output_cannot_name_the_same_file(made: Path, tmp_path: Path) -> None:
    page = str(tmp_path / "report.html")
    assert "given by both --html and -o" in refusal("report", str(made), "--html", page, "-o", page)


def test_the_output_file_holds_what_would_have_been_printed(tmp_path: Path) -> None:
    done = call("report", SMALL, "-o", str(tmp_path / "out.txt"))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out.txt").read_text() == call("report", SMALL).stdout


def test_the_output_file_is_replaced_and_has_the_usual_mode(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    before = out.stat().st_ino
    call("report", SMALL, "-o", str(out))
    assert out.stat().st_ino != before
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~umask
    assert sorted(os.listdir(tmp_path)) == ["made.log", "out.txt"]


def test_a_refused_request_leaves_the_output_file_unchanged(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    refusal("report", str(tmp_path / "gone.log"), "-o", str(out))
    refusal("explain", SMALL, "9/9", "-o", str(out))
    assert (out.read_text(), sorted(os.listdir(tmp_path))) == ("old", ["made.log", "out.txt"])


def test_an_output_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = str(tmp_path / "no" / "such" / "out.txt")
    assert refusal("report", SMALL, "-o", target).startswith(f"shapelog: {target}: cannot write: ")


def test_an_output_that_is_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    call("report", SMALL, "-o", str(path))
    reader.join(20)
    assert path.is_fifo()
    assert got[0].startswith(b"a_auto")


def test_an_output_that_is_a_symbolic_link_remains_one(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    call("report", SMALL, "-o", str(tmp_path / "link.txt"))
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() != "old"


def test_no_temporary_file_is_left_when_the_output_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    refusal("report", SMALL, "-o", str(tmp_path / "out.txt"))
    assert os.listdir(tmp_path) == ["made.log"]


def test_a_closed_pipe_on_standard_output_is_not_an_error(python: Process, made: Path) -> None:
    close = "import os, sys; read, write = os.pipe(); os.dup2(write, 1); os.close(write); os.close(read)\n"
    done = python(close + MAIN, "report", str(made))
    assert (done.returncode, done.stderr) == (0, b"")
