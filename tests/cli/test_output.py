"""Which format goes where, and what becomes of outputs that cannot be written."""

import io
import json
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result

from shapelog.cli.main import cli
from shapelog.cli.output import Made, Target, refuse_twice, status_of, targets_of, write
from shapelog.reporters import CHECK_FORMATS

KNOWN = (*CHECK_FORMATS, "html")
SHARED = {"debug": False, "strict": False}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "made.log").write_bytes(make.small_run())
    return tmp_path


def call(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=environment, catch_exceptions=False)


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
def test_formats_and_files_belong_together_in_order_or_by_suffix(formats: str, files: str, targets: list[tuple[str, str | None]]) -> None:
    assert paired(formats, files) == targets


def test_a_suffix_that_the_command_does_not_know_tells_nothing() -> None:
    assert targets_of([], ["a.html"], ["terminal", "json"]) == (Target("terminal", "a.html"),)


def test_a_suffix_that_means_another_format_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    assert paired("json", "a.html") == [("json", "a.html")]
    assert capsys.readouterr().err == (
        "shapelog: a.html will hold json, as --format says, and not html; for both: --format json -o - -o a.html\n"
    )
    assert paired("json terminal", "a.txt -") == [("terminal", None), ("json", "a.txt")]
    assert paired("sarif", "a.json") == [("sarif", "a.json")]
    assert capsys.readouterr().err == ""


def test_a_file_takes_one_output_only(here: Path) -> None:
    (here / "link.txt").symlink_to(here / "a.txt")
    for arguments, how in (
        (("-o", "a.txt", "-o", "./a.txt"), "-o twice"),
        (("-o", "a.txt", "-o", "link.txt"), "-o twice"),
        (("-o", "a.html", "--html", "a.html"), "both --html and -o"),
    ):
        done = call("report", "made.log", *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"named by {how}, and it can hold one output only" in done.stderr
    done = call("check", "made.log", "-o", "known.json", "--write-baseline", "known.json")
    assert done.exit_code == 2
    assert "named by both --write-baseline and -o" in done.stderr
    assert sorted(path.name for path in here.iterdir()) == ["link.txt", "made.log"]


def test_a_device_takes_several() -> None:
    refuse_twice([Target("json", "/dev/null"), Target("terminal", "/dev/null")])


def test_several_outputs_of_one_run_are_written(here: Path) -> None:
    done = call("check", "made.log", "-o", "a.html", "-o", "b.json", "-o", "-", "--html", "c.html")
    assert done.exit_code == 1
    assert "Check failed: 1 avoidable recompile" in done.stdout
    assert "wrote c.html" in done.stderr
    assert (here / "a.html").read_bytes() == (here / "c.html").read_bytes()
    assert json.loads((here / "b.json").read_text(encoding="utf-8"))["passed"] is False


def test_several_formats_follow_each_other_on_standard_output() -> None:
    done = call("check", "made.log", "-f", "json", "-f", "terminal")
    data, end = json.JSONDecoder().raw_decode(done.stdout)
    assert data["format"] == "shapelog check"
    assert "What fails" in done.stdout[end:]


def test_a_check_that_writes_files_only_says_its_answer(here: Path) -> None:
    done = call("check", "made.log", "-o", "a.txt")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", "shapelog: Check failed: 1 avoidable recompile\n")


def test_what_cannot_be_written_is_told_and_the_rest_is_written(here: Path) -> None:
    done = call("check", "made.log", "--exit-zero", "-o", "none/a.json", "-o", "b.json")
    assert done.exit_code == 2
    assert "none/a.json: cannot write: " in done.stderr
    assert (here / "b.json").exists()
    made = Made(lambda target: target.format.encode(), lambda: False)
    shared = {**SHARED, "targets": (Target("a", "none/a"), Target("b", str(here)), Target("c", "c"))}
    assert status_of(lambda: made, shared, io.TextIOWrapper(io.BytesIO())) == 2
    assert (here / "c").read_bytes() == b"c"


def test_a_stream_that_is_full_is_told(here: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is always full")
    made = Made(lambda target: b"x", lambda: False)
    with full.open("w", encoding="utf-8") as stream:
        assert status_of(lambda: made, {**SHARED, "targets": (Target("a"), Target("b", "b"))}, stream) == 2
    assert (here / "b").read_bytes() == b"x"


# The summary of a GitHub step. What Markdown looks like is told elsewhere.


def summarized(file: Path | str, monkeypatch: pytest.MonkeyPatch, *targets: Target) -> list[Target]:
    """What is rendered where a step has this summary."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    rendered: list[Target] = []

    def render(target: Target) -> bytes:
        rendered.append(target)
        return target.format.encode()

    stream = io.TextIOWrapper(io.BytesIO())
    assert status_of(lambda: Made(render, lambda: False), {**SHARED, "targets": targets}, stream) == 0
    return rendered


def test_markdown_is_added_to_the_summary_of_a_step(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = here / "summary.md"
    summary.write_bytes(b"before\n")
    assert summarized(summary, monkeypatch, Target("markdown", "a.md"))[1:] == [Target("markdown", str(summary), room=1024 * 1024 - 7)]
    assert summary.read_bytes() == b"before\nmarkdown"
    assert summarized(summary, monkeypatch, Target("json", "a.json"), Target("terminal")) == [Target("json", "a.json"), Target("terminal")]


def test_a_summary_that_is_not_there_is_begun(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(summarized(here / "new.md", monkeypatch, Target("markdown"), Target("markdown", "a.md"))) == 3
    assert (here / "new.md").read_bytes() == b"markdown"


def test_a_full_summary_is_left_alone(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    summary = here / "summary.md"
    summary.write_bytes(b"x" * 1024 * 1024)
    assert summarized(summary, monkeypatch, Target("markdown")) == [Target("markdown")]
    assert "the summary of this step is full" in capsys.readouterr().err
    assert summary.stat().st_size == 1024 * 1024


@pytest.mark.parametrize("name", [".", "none/summary.md"])
def test_a_summary_that_cannot_be_written_changes_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    summarized(name, monkeypatch, Target("markdown", "a.md"))
    assert f"{name}: cannot write: " in capsys.readouterr().err


def test_what_goes_to_the_summary_anyway_is_not_there_twice(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = here / "summary.md"
    for target in (Target("markdown", str(summary)), Target("markdown", "./summary.md")):
        assert summarized(summary, monkeypatch, target) == [target]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    with summary.open("a", encoding="utf-8") as stream:
        assert status_of(lambda: Made(lambda target: b"+", lambda: False), {**SHARED, "targets": (Target("markdown"),)}, stream) == 0
    assert summary.read_bytes() == b"markdown+"


def test_a_file_is_written_whole_or_not_at_all(here: Path) -> None:
    (here / "a").write_bytes(b"old")
    write(b"new", Target("json", "a"), io.TextIOWrapper(io.BytesIO()))
    assert (here / "a").read_bytes() == b"new"
    assert sorted(path.name for path in here.iterdir()) == ["a", "made.log"]
