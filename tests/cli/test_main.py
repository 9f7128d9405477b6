"""The command line: what is read, what is shown, where it goes, and how it ends."""

import gzip
import json
import os
import re
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result

import shapelog
from shapelog.cli.main import cli
from shapelog.errors import ShapelogError

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
FIXTURES = Path(__file__).parents[2] / "fixtures"
DEMO = str(FIXTURES / "real" / "demo.log.gz")
MARKED = str(FIXTURES / "real" / "demo_marked.log.gz")
SMALL = str(FIXTURES / "real" / "2.15" / "a_auto.log.gz")
MAIN = "from shapelog.cli.main import main; main()"
# A code whose name and source would set the title of a terminal, clear it, and turn the writing direction.
TITLE, TURN = "\x1b]0;owned\x07\x1b[2J", "\u202egnp.exe"


def call(*arguments: str, stdin: bytes | None = None, **environment: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin, env=environment, catch_exceptions=False)


def refusal(*arguments: str) -> str:
    """The one line on stderr that a request which cannot be served ends with."""
    done = call(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("shapelog: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.log"
    path.write_bytes(make.small_run())
    return path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.log"
    path.write_bytes(make.small_run() + b"this is no record\n" + make.compile("1/0"))
    return path


# The page.


def test_the_page_is_written_beside_the_report(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = call("report", str(made), "--html", str(page))
    assert done.exit_code == 0
    assert "2 compiles" in done.stdout
    assert done.stderr == f"shapelog: wrote {page}, 0.1 MB\n"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["report.html", "REPORT.HTM"])
def test_the_suffix_of_the_output_asks_for_the_page(made: Path, tmp_path: Path, name: str) -> None:
    done = call("report", str(made), "-o", str(tmp_path / name))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_suffix_of_the_output_asks_for_json_where_the_command_has_it(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for command in ("report", "suggest-dynamic"):
        assert call(command, str(made), "-o", str(out)).exit_code == 0
        assert json.loads(out.read_bytes())["format"].startswith("shapelog ")
    assert call("report", str(made), "-f", "terminal", "-o", str(out)).exit_code == 0
    assert "Health of the trace" in out.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_read(made: Path, tmp_path: Path) -> None:
    assert "cannot write" in refusal("report", str(made), "--html", str(tmp_path / "nowhere" / "report.html"))


def test_the_report_is_shown_though_the_page_cannot_be_written(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> bytes:
        raise ShapelogError("report.html: cannot write: No space left on device")

    monkeypatch.setattr("shapelog.reporters.html.render.render", refuse)
    done = call("report", str(made), "--html", str(tmp_path / "report.html"))
    assert (done.exit_code, done.stderr) == (2, "shapelog: report.html: cannot write: No space left on device\n")
    assert "2 compiles" in done.stdout


def test_page_and_output_are_not_one_file(made: Path, tmp_path: Path) -> None:
    page = str(tmp_path / "report.html")
    assert "named by both --html and -o" in refusal("report", str(made), "--html", page, "-o", page)


def test_a_page_without_source_has_no_code(made: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert call("report", str(made), "-o", str(page), "--no-source").exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "model(batch)" not in text
    assert "/srv/app" not in text
    assert "data-chunk=" not in text


def test_the_page_goes_down_a_pipe(made: Path) -> None:
    assert call("report", str(made), "--format", "html").stdout.startswith("<!doctype html>")


# What is read.


def test_a_file_is_reported_on(made: Path) -> None:
    done = call("report", str(made))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "2 compiles" in done.stdout
    assert "forward" in done.stdout
    assert "SL101 size-varies" in done.stdout


def test_a_gzip_file_gives_the_same_report(made: Path) -> None:
    plain = call("report", str(made)).stdout
    packed = made.with_name("packed")
    packed.mkdir()
    (packed / made.name).write_bytes(gzip.compress(make.small_run()))
    assert call("report", str(packed / made.name)).stdout == plain


def test_a_directory_is_reported_on_and_stderr_says_which_file_was_read(made: Path) -> None:
    done = call("report", str(made.parent))
    assert done.exit_code == 0
    assert done.stderr == f"shapelog: read made.log, the newest run in {made.parent}\n"
    alone = call("report", str(made)).stdout
    assert done.stdout.startswith(alone[: alone.index("Health")])
    assert "read made.log, the newest run in" in " ".join(done.stdout.split())


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A directory with two runs, of which the older one has a compile more."""
    where = tmp_path / "twice"
    where.mkdir()
    older = make.small_run().replace(b"V1120", b"V1119") + make.compile("1/0").replace(b"V1120", b"V1119")
    for name, data in (("dedicated_log_torch_trace_oldoldol.log", older), ("dedicated_log_torch_trace_newnewne.log", make.small_run())):
        (where / name).write_bytes(data)
    return where


def test_another_run_of_a_directory_can_be_asked_for(twice: Path) -> None:
    assert "2 compiles" in call("report", str(twice)).stdout
    for run in ("2", "oldold"):
        done = call("report", str(twice), "--run", run)
        assert "3 compiles" in done.stdout
        assert "read dedicated_log_torch_trace_oldoldol.log, the run that began 11-19 " in done.stderr
    assert "5 compiles" in call("report", str(twice), "--all-runs").stdout
    for command in ("check", "suggest-dynamic"):
        assert "the run that began 11-19 " in call(command, str(twice), "--run", "2").stderr
    assert call("explain", str(twice), "1/0").exit_code == 2
    assert call("explain", str(twice), "1/0", "--run", "2").exit_code == 0
    assert "--run 3: no such run in " in refusal("report", str(twice), "--run", "3")
    assert "--run 2 and --all-runs: only one of them can be meant" in refusal("report", str(twice), "--run", "2", "--all-runs")


def test_several_traces_are_reported_on_as_one_job(made: Path, twice: Path) -> None:
    done = call("report", str(made), str(twice / "dedicated_log_torch_trace_oldoldol.log"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "5 compiles" in done.stdout
    assert "made.log, dedicated_log_torch_trace_oldoldol.log" in " ".join(done.stdout.split())
    told = call("explain", str(made), str(twice), "0/1")
    assert "several processes have a compile 0/1" in told.stderr


def test_of_several_traces_those_that_can_be_read_are_reported_on(made: Path) -> None:
    foreign = made.with_name("foreign.log")
    foreign.write_bytes(b"hello\n")
    for arguments in (("report", str(made), str(foreign)), ("explain", str(foreign), str(made), "0/1")):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "0/1" in done.stdout or "2 compiles" in done.stdout
        assert done.stderr.startswith("shapelog: foreign.log: no trace record in it; it looks like text without trace records.")
    assert "gone.log: no such file or directory" in refusal("report", str(made), str(made.with_name("gone.log")))


def test_files_of_one_name_are_told_apart_by_their_paths(made: Path) -> None:
    other = made.with_name("other")
    other.mkdir()
    (other / made.name).write_bytes(make.small_run())
    done = call("report", str(made), str(other / made.name), "--format", "json")
    assert json.loads(done.stdout)["trace"]["name"] == f"{made}, {other / made.name}"


def test_what_unpacks_to_more_than_allowed_is_refused(made: Path) -> None:
    bomb = made.with_name("bomb.gz")
    bomb.write_bytes(gzip.compress(bytes(10_000_000)))
    words = "bomb.gz: not read, because it unpacks to more than 2 MB, the limit of --max-unpacked"
    for command in (("report",), ("check",), ("suggest-dynamic",), ("compare", str(made))):
        assert words in refusal(*command, str(bomb), "--max-unpacked", "2M")
    assert words in call("report", str(bomb), SHAPELOG_MAX_UNPACKED="2 MB").stderr
    assert call("report", str(made), "--max-unpacked", "1 B").exit_code == 0
    assert "'much' is no size such as 500M or 100G" in call("report", str(made), "--max-unpacked", "much").stderr


def test_standard_input_is_reported_on() -> None:
    done = call("report", "-", stdin=gzip.compress(make.small_run()))
    assert done.exit_code == 0
    assert done.stdout.startswith("standard input")


def test_a_trace_is_piped_through_the_program(python: Process) -> None:
    done = python(MAIN, "report", "-", stdin=make.small_run())
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 compiles" in done.stdout


def test_a_reader_that_goes_away_is_no_error(python: Process, made: Path) -> None:
    close = "import os, sys; read, write = os.pipe(); os.dup2(write, 1); os.close(write); os.close(read)\n"
    done = python(close + MAIN, "report", str(made))
    assert (done.returncode, done.stderr) == (0, b"")


# What is asked for.


@pytest.mark.parametrize("wanted", ["1", "MovingAverage", "MovingAverage.forward"])
def test_one_frame_is_shown_by_number_and_by_name(wanted: str) -> None:
    shown = call("report", DEMO, "--frame", wanted).stdout
    assert "MovingAverage.forward" in shown
    assert "1/8" in shown
    assert "Classifier" not in shown
    assert "Shapes" in shown


def test_a_number_is_a_whole_number_and_not_a_part_of_a_name() -> None:
    assert "normalize (resumed at line 38)" in call("report", DEMO, "--frame", "3").stdout
    assert "no frame '38'" in refusal("report", DEMO, "--frame", "38")


def test_a_frame_after_a_reset_is_shown_by_its_label() -> None:
    shown = call("report", str(FIXTURES / "real" / "2.6" / "g_limit.log.gz"), "--frame", "0#2").stdout
    assert "0/1#2" in shown
    assert "0/1#3" not in shown


def test_an_unknown_frame_is_refused_with_the_frames_that_there_are() -> None:
    message = refusal("report", DEMO, "--frame", "nothing")
    assert message.startswith(f"shapelog: {DEMO}: no frame 'nothing'; there are: ")
    assert "1 (MovingAverage.forward)" in message


def test_the_limit_cuts_lists_and_says_how_much_is_left() -> None:
    cut, whole = (call("report", DEMO, "--limit", limit).stdout for limit in ("1", "0"))
    assert re.search(r"… \d+ more frames", cut)
    assert "more frames" not in whole
    assert len(cut.splitlines()) < len(call("report", DEMO).stdout.splitlines()) < len(whole.splitlines())


def test_verbose_shows_each_recompile_and_the_records_by_kind() -> None:
    short, verbose = call("report", DEMO).stdout, call("report", DEMO, "--verbose").stdout
    for line in ("0/2 against 0/1", "dynamo_cpp_guards_str"):
        assert line not in short
        assert line in verbose


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(
    "arguments", [("report", DEMO, "-v"), ("report", DEMO, "--frame", "0"), ("explain", DEMO, "0/2"), ("suggest-dynamic", DEMO, "-v")]
)
def test_no_line_of_text_is_wider_than_asked_for(arguments: tuple[str, ...], width: int) -> None:
    """But for lines to be copied, which would not be what they are were they folded."""
    copied = ("export ", "torch.", "torch._dynamo.", "from torch.", "TORCH_")
    lines = [line for line in call(*arguments, "--width", str(width)).stdout.splitlines() if not line.strip().startswith(copied)]
    assert [line for line in lines if len(line) > width] == []
    assert max(map(len, lines)) > width * 0.7


def test_the_width_is_that_of_the_environment_or_100() -> None:
    assert call("report", DEMO, COLUMNS="60").stdout == call("report", DEMO, "--width", "60").stdout
    assert call("report", DEMO).stdout == call("report", DEMO, "--width", "100").stdout


def test_color_is_only_used_when_asked_for_where_no_terminal_is() -> None:
    assert "\x1b" not in call("report", SMALL).stdout
    assert "\x1b" not in call("report", SMALL, "--color", "never", FORCE_COLOR="1").stdout
    colored = call("report", SMALL, "--color", "always").stdout
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == call("report", SMALL).stdout


def test_asking_for_color_outdoes_no_color_in_the_environment() -> None:
    assert call("report", SMALL, "--color", "always", NO_COLOR="1").stdout == call("report", SMALL, "--color", "always").stdout


@pytest.mark.parametrize(("environment", "is_colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_is_written_to_in_color_unless_the_environment_says_no(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], is_colored: bool
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False)
    done = call("report", SMALL, **environment)
    assert ("\x1b[" in done.stdout) is is_colored


@pytest.mark.parametrize("arguments", [("report", SMALL), ("explain", SMALL, "0/1")])
def test_json_is_one_document(arguments: tuple[str, ...]) -> None:
    data = json.loads(call(*arguments, "--format", "json").stdout)
    assert data["format"].startswith("shapelog ")
    assert isinstance(data["format_version"], int)


# Where it goes.


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
    assert os.listdir(tmp_path) == ["out.txt"]


def test_a_refused_request_leaves_the_output_file_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("old")
    refusal("report", str(tmp_path / "gone.log"), "-o", str(out))
    refusal("explain", SMALL, "9/9", "-o", str(out))
    assert (out.read_text(), os.listdir(tmp_path)) == ("old", ["out.txt"])


def test_an_output_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    target = str(tmp_path / "no" / "such" / "out.txt")
    assert refusal("report", SMALL, "-o", target).startswith(f"shapelog: {target}: cannot write: ")


# How it ends.


def test_problems_are_shown_and_end_with_0_unless_strict(damaged: Path) -> None:
    lenient, strict = call("report", str(damaged)), call("report", str(damaged), "--strict")
    assert (lenient.exit_code, strict.exit_code) == (0, 2)
    for done in (lenient, strict):
        assert f"damaged.log:{make.small_run().count(10) + 1}: not a trace record" in done.stdout
        assert "3 compiles" in done.stdout
    assert lenient.stderr == ""
    assert strict.stderr == "shapelog: the trace has problems (--strict); shapelog report lists them under its health\n"


def test_explain_ends_with_2_under_strict_as_well(damaged: Path) -> None:
    assert [call("explain", str(damaged), "0/1", *more).exit_code for more in ((), ("--strict",))] == [0, 2]


def test_a_whole_trace_ends_with_0_under_strict() -> None:
    assert call("report", DEMO, "--strict").exit_code == 0


def test_what_is_only_worth_knowing_is_no_problem_under_strict() -> None:
    done = call("report", str(FIXTURES / "real" / "2.6" / "r2_fork_names.log.gz"), "--strict")
    assert "records of 3 processes" in done.stdout
    assert done.exit_code == 0


def test_a_payload_that_nobody_reads_is_verified_under_strict(tmp_path: Path) -> None:
    path = tmp_path / "changed.log"
    path.write_bytes(make.small_run() + make.record("inductor_output_code", {}, "new", id="0/0", has_payload=make.digest("old")))
    assert call("report", str(path)).exit_code == 0
    strict = call("report", str(path), "--strict")
    assert strict.exit_code == 2
    assert "changed.log:" in strict.stdout
    assert "checksum" in strict.stdout


def test_bad_usage_ends_with_2() -> None:
    for arguments in (["report"], ["report", SMALL, "--limit", "-1"], ["report", SMALL, "--width", "3"], ["explain", SMALL], ["nothing"]):
        assert call(*arguments).exit_code == 2


def test_debug_raises_with_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(shapelog.errors.ShapelogError, match=r"gone\.log"):
        call("report", str(tmp_path / "gone.log"), "--debug")


def test_the_program_ends_with_the_status_of_the_command(python: Process, damaged: Path) -> None:
    assert python(MAIN, "report", str(damaged)).returncode == 0
    assert python(MAIN, "report", str(damaged), "--strict").returncode == 2
    missing = python(MAIN, "report", "gone.log")
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert re.fullmatch(rb"shapelog: gone\.log: no such file or directory; .*\n", missing.stderr)


def test_the_version_is_that_of_the_package() -> None:
    assert call("--version").stdout == f"shapelog, version {shapelog.__version__}\n"


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html><html>\n", b"\x7fELF\0\0", b"hello\n"])
@pytest.mark.parametrize("command", [("report",), ("explain", "0/1")])
def test_an_input_that_is_no_trace_is_one_line_that_names_it(tmp_path: Path, content: bytes, command: tuple[str, ...]) -> None:
    path = tmp_path / "what.log"
    path.write_bytes(content)
    assert "what.log: " in refusal(command[0], str(path), *command[1:])


def test_control_characters_in_a_file_name_stay_out_of_the_error(tmp_path: Path) -> None:
    message = refusal("report", str(tmp_path / "a\x1b]0;x\x07\nb"))
    assert "a\\x1b]0;x\\x07\\x0ab: no such file" in message


# The story of one compile.


def test_explain_tells_what_a_compile_was_held_against() -> None:
    done = call("explain", DEMO, "0/2")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Why: against 0/1" in done.stdout
    assert "16 → 7" in done.stdout


def test_explain_of_a_first_compile_says_that_there_is_nothing_to_hold_it_against() -> None:
    assert "First compile of this code" in call("explain", DEMO, "0/0").stdout


def test_explain_of_an_unknown_compile_lists_those_that_there_are() -> None:
    message = refusal("explain", SMALL, "7/7")
    assert "a_auto.log.gz: no compile 7/7; there are: 0/0 0/1\n" in message


@pytest.mark.parametrize("label", ["", "x", "1", "1/", "0/1/2/3", "0-1", "0/1#", "#2", "!"])
def test_explain_of_something_that_is_no_id_says_what_they_look_like(label: str) -> None:
    message = refusal("explain", SMALL, label)
    assert f"{label!r} is no compile id; they look like 2/3" in message


def test_explain_asks_for_the_rank_where_several_have_that_compile(tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log").write_bytes(make.small_run())
    several = call("explain", str(tmp_path), "0/1")
    assert several.exit_code == 2
    assert "several processes have a compile 0/1 (0, 1); choose one with --rank or --process" in several.stderr
    assert call("explain", str(tmp_path), "0/1", "--rank", "1").exit_code == 0
    assert "no compile 0/1" in call("explain", str(tmp_path), "0/1", "--rank", "2").stderr


# What changed between two runs.


def test_two_runs_are_compared_and_what_is_worse_is_no_error() -> None:
    better, worse = call("compare", DEMO, MARKED), call("compare", MARKED, DEMO)
    assert (better.exit_code, better.stderr, worse.exit_code, worse.stderr) == (0, "", 0, "")
    assert "\nBetter: 8 compiles instead of 19" in better.stdout
    assert "\nWorse: " in worse.stdout


def test_a_run_does_not_differ_from_itself(made: Path) -> None:
    assert "No difference: 2 compiles in both runs" in call("compare", str(made), str(made.parent)).stdout


def test_a_comparison_is_written_as_json_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "compared.json"
    assert call("compare", SMALL, DEMO, "--format", "json", "-o", str(out)).stdout == ""
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (data["format"], data["before"]["totals"]["compiles"], data["after"]["totals"]["compiles"]) == ("shapelog comparison", 2, 19)


def test_the_limit_of_a_comparison_cuts_lists_and_verbose_shows_all() -> None:
    assert "… 3 more frames, shown with --limit 0" in call("compare", DEMO, MARKED, "-n", "1").stdout
    verbose = call("compare", DEMO, MARKED, "-v", "-n", "1").stdout
    assert "more frame" not in verbose
    assert re.search(r"SL305 grad-mode-varies  1 → 1 recompile +grad_mode", verbose)


def test_one_of_two_traces_may_come_from_standard_input(made: Path) -> None:
    done = call("compare", "-", str(made), stdin=make.small_run())
    assert done.exit_code == 0
    assert done.stdout.startswith("standard input → made.log")
    assert "one of the two traces can come from standard input" in refusal("compare", "-", "-")


def test_a_trace_to_compare_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for arguments in ((SMALL, str(tmp_path / "none")), (str(tmp_path / "none"), SMALL)):
        assert "none: no such file or directory" in refusal("compare", *arguments)


def test_a_damaged_trace_on_either_side_ends_with_2_under_strict(damaged: Path) -> None:
    for pair in ((SMALL, str(damaged)), (str(damaged), SMALL)):
        assert [call("compare", *pair, *more).exit_code for more in ((), ("--strict",))] == [0, 2]


# What to mark dynamic.

OLD = str(FIXTURES / "real" / "2.4" / "a_auto.log.gz")
ONCE = str(FIXTURES / "lab" / "no_recompiles.log.gz")
LISTED = "L['tokens']:0,L['tokens']:1,L['self'].step,L['features']:0"


def test_the_advice_is_shown_or_given_in_the_form_that_is_asked_for() -> None:
    assert call("suggest-dynamic", DEMO).stdout.startswith(
        "Mark 3 sources dynamic: 19 compiles and 1 limit hit in 67.3 s become 8 compiles"
    )
    env, shell, python = (call("suggest-dynamic", DEMO, "--format", form) for form in ("env", "shell", "python"))
    assert env.stdout == f"{LISTED}\n"
    assert shell.stdout == f'export TORCH_COMPILE_DYNAMIC_SOURCES="{LISTED}"\n'
    assert python.stdout.startswith("import torch.compiler\n")
    assert {(done.exit_code, done.stderr) for done in (env, shell, python)} == {(0, "")}
    data = json.loads(call("suggest-dynamic", DEMO, "--format", "json").stdout)
    assert (data["format"], data["env"]) == ("shapelog advice", LISTED)


@pytest.mark.parametrize("form", ["terminal", "env", "shell", "python", "json"])
def test_the_advice_is_written_to_a_file_as_it_would_be_printed(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    done = call("suggest-dynamic", DEMO, "--format", form, "-o", str(out))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert out.read_text(encoding="utf-8") == call("suggest-dynamic", DEMO, "--format", form).stdout


@pytest.mark.parametrize("form", ["env", "shell", "python"])
def test_nothing_to_set_is_nothing_on_stdout_and_the_reason_on_stderr(tmp_path: Path, form: str) -> None:
    done = call("suggest-dynamic", ONCE, "--format", form)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "shapelog: nothing to set: nothing recompiled: every frame was compiled once\n"
    out = tmp_path / "out"
    assert call("suggest-dynamic", ONCE, "--format", form, "-o", str(out)).exit_code == 0
    assert out.read_bytes() == b""


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_nothing_to_set_is_a_part_of_the_other_forms(form: str) -> None:
    done = call("suggest-dynamic", ONCE, "--format", form)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "nothing recompiled: every frame was compiled once" in done.stdout


def test_a_torch_without_a_list_gets_lines_of_python_alone() -> None:
    env, python = (call("suggest-dynamic", OLD, "--format", form) for form in ("env", "python"))
    assert (env.exit_code, env.stdout) == (0, "")
    assert env.stderr.startswith("shapelog: nothing to set: torch 2.4 reads no list of dynamic sources")
    assert (python.exit_code, python.stderr) == (0, "")
    assert "\ntorch._dynamo.mark_dynamic(x, 0)" in python.stdout


@pytest.mark.parametrize(("version", "listed"), [("2.13", "L['x']:0\n"), ("2.10.0+cu126", "L['x']\n"), ("3.0", "L['x']:0\n"), ("2.7", "")])
def test_the_advice_can_be_for_another_torch(version: str, listed: str) -> None:
    assert call("suggest-dynamic", OLD, "--torch-version", version, "--format", "env").stdout == listed


@pytest.mark.parametrize("version", ["new", "2", "v2.13", "2.x", "\x1b]0;x\x07"])
def test_a_torch_version_that_is_none_is_refused(version: str) -> None:
    message = refusal("suggest-dynamic", DEMO, "--torch-version", version)
    assert "not a version such as 2.13" in message
    assert message[:-1].isprintable()


def test_several_traces_get_one_list() -> None:
    other = FIXTURES / "lab" / "batch_varies.log.gz"
    assert call("suggest-dynamic", DEMO, str(other), "--format", "env").stdout == f"{LISTED},L['x']:0\n"
    assert call("suggest-dynamic", DEMO, "-", "--format", "env", stdin=other.read_bytes()).stdout == f"{LISTED},L['x']:0\n"


def test_a_trace_that_is_not_there_is_refused_whatever_the_others(tmp_path: Path) -> None:
    for arguments in ((str(tmp_path / "none"),), (DEMO, str(tmp_path / "none"))):
        assert "none: no such file or directory" in refusal("suggest-dynamic", *arguments, "--format", "env")
    assert call("suggest-dynamic").exit_code == 2


@pytest.mark.parametrize("form", ["env", "terminal"])
def test_advice_on_a_damaged_trace_rests_on_what_can_be_read(damaged: Path, form: str) -> None:
    done = call("suggest-dynamic", str(damaged), "--format", form)
    assert (done.exit_code, done.stderr) == (0, "shapelog: damaged.log: not a trace record: 'this is no record'\n")
    assert "L['x']:0\n" in done.stdout or "L['x']:0\"\n" in done.stdout
    assert json.loads(call("suggest-dynamic", str(damaged), "--format", "json").stdout)["compiles"] == 3


def test_much_damage_is_one_line_a_file(damaged: Path) -> None:
    damaged.write_bytes(make.small_run() + 40 * make.line('{"x": '))
    other = damaged.with_name("other.log")
    other.write_bytes(make.small_run()[:-100])
    first, second = call("suggest-dynamic", str(damaged), str(other), "--format", "env").stderr.splitlines()
    assert re.fullmatch(
        r"shapelog: damaged\.log: the JSON of this record .* cannot be read; and 39 more \(shapelog report lists them\)", first
    )
    assert second == "shapelog: other.log: the last record (compilation_metrics) is cut off"


def test_advice_on_a_damaged_trace_ends_with_2_under_strict(damaged: Path) -> None:
    done = call("suggest-dynamic", str(damaged), "--format", "env", "--strict")
    assert (done.exit_code, done.stdout) == (2, "L['x']:0\n")
    assert "damaged.log: not a trace record" in done.stderr
    assert call("suggest-dynamic", DEMO, "--format", "env", "--strict").exit_code == 0


def test_the_limit_cuts_the_advice_and_verbose_shows_all() -> None:
    assert "… 2 more suggestions, shown with --limit 0" in call("suggest-dynamic", DEMO, "-n", "1").stdout
    verbose = call("suggest-dynamic", DEMO, "-v", "-n", "1").stdout
    assert "shown with --limit 0" not in verbose
    assert "gone: 1/1 1/2" in verbose


def test_formats_of_the_advice_are_no_formats_of_a_report() -> None:
    assert call("report", DEMO, "--format", "env").exit_code == 2
    assert call("suggest-dynamic", DEMO, "--format", "html").exit_code == 2


# Names and code of a trace never reach the terminal raw.


def hostile_run() -> bytes:
    name, file = f"f{TITLE}{TURN}", f"/srv/app/{TURN}{TITLE}.py"
    source = f"L['{TITLE}{TURN}']"
    size = f"{source}: {TITLE}"
    where = {"id": "0/2"}
    return b"".join(
        (
            make.torch_version(f"2.13{TITLE}"),
            make.strings(file, file),
            make.compile("0/0", name=name, co_filename=file),
            make.compile("0/1", (3, 16), [make.mismatch("0/0", 8, 3) + TITLE + TURN], name=name, co_filename=file),
            make.reasons(f"0/1: {source} == {TURN}{TITLE}  # {TITLE}{TURN}  # {file}:3 in {name}", f"0/0: {size}", **where),
            make.start(name, **where),
            make.tensor(source, (3, 16), **where),
            make.symbol(f"s{TITLE}", 4, f"{source}.size()[0]", **where),
            make.artifact("dynamo_graph_break_reason", f"Graph break in user code at {file}:14\nReason: {TURN}{TITLE}", **where),
            make.guards(
                (3, 16),
                more=f"| +- GuardManager: source={source}, type={TITLE}\n| | +- EQUALS_MATCH: {source} == '{TURN}{TITLE}'\n",
                **where,
            ),
            make.graph((f"s{TITLE}", TURN), **where),
            make.metrics("0/2", co_name=name, co_filename=file, restart_reasons=[TITLE + TURN]),
            make.start(name, id="1/0"),
            make.artifact("dynamo_error", TITLE + TURN, id="1/0"),
            make.metrics("1/0", co_name=name, fail_type=TITLE, fail_reason=TURN + TITLE, fail_user_frame_filename=file),
            make.record(f"kind{TITLE}{TURN}", {}, "x"),
            make.artifact(f"name{TITLE}{TURN}", "x"),
            f"no record {TITLE}{TURN}\n".encode(),
        )
    )


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize(
    "more",
    [
        ("report",),
        ("report", "-v"),
        ("report", "--frame", "0"),
        ("report", "--frame", "1"),
        ("explain", "0/2", "-v"),
        ("suggest-dynamic", "-v"),
    ],
)
def test_control_characters_in_a_trace_never_reach_the_output(tmp_path: Path, more: tuple[str, ...], color: str) -> None:
    path = tmp_path / "hostile.log"
    path.write_bytes(hostile_run())
    command, *options = more
    done = call(command, str(path), *options, "--color", color)
    assert done.exit_code == 0
    assert "\\x1b]0;owned" in done.stdout
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    assert [character for character in plain if not character.isprintable() and character != "\n"] == []


def test_control_characters_in_a_trace_never_reach_the_errors(tmp_path: Path) -> None:
    path = tmp_path / "hostile.log"
    path.write_bytes(hostile_run())
    for arguments in (("report", str(path), "--frame", "none"), ("explain", str(path), "9/9"), ("explain", str(path), TITLE)):
        message = refusal(*arguments)
        assert message[:-1].isprintable()


@pytest.mark.parametrize("columns", ["abc", "-5", "1e3", "", "0", "\uff11\uff10"])
def test_a_width_in_the_environment_that_is_no_number_is_ignored(columns: str) -> None:
    assert call("report", SMALL, COLUMNS=columns).stdout == call("report", SMALL).stdout


def test_an_id_of_thousands_of_digits_is_refused() -> None:
    refusal("explain", SMALL, "1" * 5000 + "/1")


def test_a_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refusal("report", str(tmp_path / ("a" * 300)))


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


def test_an_output_that_is_a_link_stays_one(tmp_path: Path) -> None:
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
    assert os.listdir(tmp_path) == []


def test_of_several_traces_those_that_can_be_read_give_advice(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    done = call("suggest-dynamic", DEMO, str(empty), "--format", "env")
    assert done.stdout == call("suggest-dynamic", DEMO, "--format", "env").stdout != ""
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("shapelog: empty.log: the file is empty")
    none = call("suggest-dynamic", str(empty), str(empty))
    assert (none.exit_code, none.stdout, none.stderr.count("\n")) == (2, "", 2)


# Checks. What counts as a failure is tested with the policy, what goes where with the outputs.


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a trace that recompiles, one that does not, and what is none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.log").write_bytes(make.small_run())
    (tmp_path / "fine.log").write_bytes(make.run(make.compile("0/0")))
    (tmp_path / "none.log").write_text("nothing")
    return tmp_path


def test_a_check_ends_with_0_or_1(here: Path) -> None:
    assert call("check", "fine.log").exit_code == 0
    assert call("check", "made.log").exit_code == 1
    assert call("check", "made.log", "--exit-zero").exit_code == 0
    assert call("check", "made.log", "--max-compiles", "2").exit_code == 0
    assert call("check", "made.log", "--max-compiles", "1").exit_code == 1
    assert call("check", "made.log", "--max-avoidable-seconds", "0").exit_code == 1
    assert call("check", "made.log", "--max-recompiles-per-frame", "forw*=1,*=0").exit_code == 0
    assert call("check", "made.log", "--fail-on", "limit,failure").exit_code == 0
    assert call("check", "made.log", "--fail-on", "none", "--max-recompiles", "0").exit_code == 1
    assert call("check", "made.log", "--ignore", "SL3,size-varies").exit_code == 0
    assert call("check", "-", stdin=make.small_run()).exit_code == 1


def test_a_failed_check_says_what_to_type_for_the_whole_report(tmp_path: Path) -> None:
    where = tmp_path / "my traces"
    where.mkdir()
    for number in range(2):
        (where / f"dedicated_log_torch_trace_run{number}.log").write_bytes(make.small_run())
    for options, typed in (([], f"'{where}'"), (["--run", "run0"], f"'{where}' --run run0"), (["--all-runs"], f"'{where}' --all-runs")):
        done = call("check", str(where), *options, "--width", "300")
        assert f"; shapelog report {typed} shows everything\n" in done.stdout
    piped = call("check", "-", stdin=make.small_run())
    assert "; shapelog report shows everything\n" in piped.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("none.log",),
        ("nowhere.log",),
        ("made.log", "--fail-on", "avoidible"),
        ("made.log", "--select", "SL9999"),
        ("made.log", "--max-recompiles-per-frame", "x"),
        ("made.log", "--max-avoidable-seconds", "nan"),
        ("made.log", "--baseline", "nowhere.json"),
        ("made.log", "--baseline", "made.log"),
        ("made.log", "--baseline", "."),
    ],
)
def test_a_check_that_cannot_be_made_ends_with_2(here: Path, arguments: tuple[str, ...]) -> None:
    assert refusal("check", *arguments) == refusal("check", *arguments, "--exit-zero")


def test_a_check_takes_only_numbers_that_can_be_budgets(here: Path) -> None:
    for option, value in (
        ("--max-compiles", "-1"),
        ("--max-avoidable-seconds", "-0.1"),
        ("--max-recompiles", "x"),
        ("--max-avoidable-seconds", "x"),
    ):
        assert call("check", "made.log", option, value).exit_code == 2


def test_a_damaged_trace_is_checked_and_ends_with_2_under_strict(damaged: Path) -> None:
    assert call("check", str(damaged), "--fail-on", "limit").exit_code == 0
    done = call("check", str(damaged), "--fail-on", "limit", "--strict", "--exit-zero")
    assert done.exit_code == 2
    assert "Check passed" in done.stdout


def test_of_several_traces_those_that_can_be_read_are_checked(here: Path) -> None:
    done = call("check", "made.log", "none.log", "fine.log", "--exit-zero")
    assert "Check failed: 1 avoidable recompile" in done.stdout
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("shapelog: none.log: no trace record in it")
    assert call("check", "made.log", "none.log", "--write-baseline").exit_code == 2
    assert not (here / "shapelog-baseline.json").exists()


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("made.log", "--write-baseline"), "shapelog-baseline.json"),
        (("--write-baseline", "made.log"), "shapelog-baseline.json"),
        (("--write-baseline", "--", "made.log"), "shapelog-baseline.json"),
        (("made.log", "--write-baseline", "--strict"), "shapelog-baseline.json"),
        (("made.log", "--write-baseline", "known.json"), "known.json"),
        (("--write-baseline=known.json", "made.log"), "known.json"),
        (("--write-baseline", "known.json", "made.log"), "known.json"),
        (("made.log", "--baseline", "known.json", "--write-baseline"), "known.json"),
        (("--baseline", "known.json", "--write-baseline", "made.log"), "known.json"),
    ],
)
def test_a_baseline_is_written_and_the_next_check_passes(here: Path, arguments: tuple[str, ...], written: str) -> None:
    done = call("check", *arguments)
    assert done.exit_code == 0
    assert done.stderr == f"shapelog: wrote {written}: 1 code, 1 alert that will not fail a check against it\n"
    content = (here / written).read_bytes()
    assert call("check", *arguments).exit_code == 0
    assert (here / written).read_bytes() == content
    assert call("check", "made.log", "--baseline", written).exit_code == 0
    assert (here / "made.log").read_bytes() == make.small_run()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--write-baseline", "made.log", "fine.log"),
        ("fine.log", "--write-baseline", "made.log"),
        ("made.log", "--write-baseline", "none.log"),
        ("made.log", "--baseline", "fine.log", "--write-baseline"),
        ("made.log", "--write-baseline", "."),
        ("made.log", "--write-baseline", "-"),
        ("made.log", "--write-baseline", "nowhere/known.json"),
        ("--write-baseline", "nowhere.json"),
    ],
)
def test_a_baseline_takes_the_place_of_no_other_file(here: Path, arguments: tuple[str, ...]) -> None:
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    refusal("check", *arguments)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


def test_a_baseline_of_another_version_or_a_damaged_one_may_be_written_anew(here: Path) -> None:
    call("check", "made.log", "--write-baseline")
    path = here / "shapelog-baseline.json"
    whole = path.read_bytes()
    for content in (whole.replace(b'"format_version": 1', b'"format_version": 2'), whole[:100]):
        path.write_bytes(content)
        refusal("check", "made.log", "--baseline", path.name)
        assert call("check", "made.log", "--write-baseline").exit_code == 0
        assert path.read_bytes() == whole


def test_a_pipe_after_write_baseline_is_read_as_a_trace(here: Path) -> None:
    pipe = here / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(make.small_run()))
    writer.start()
    assert call("check", "--write-baseline", "pipe").exit_code == 0
    writer.join()
    assert (here / "shapelog-baseline.json").exists()


def test_a_check_into_a_pipe_that_nobody_reads_ends_with_its_answer(here: Path, python: Process) -> None:
    done = python(f"import os, sys\nread, write = os.pipe(); os.close(read); os.dup2(write, 1)\n{MAIN}", "check", "made.log")
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_check_without_standard_output_ends_with_its_answer(here: Path, python: Process) -> None:
    done = python(f"import sys\nsys.stdout = None\n{MAIN}", "check", "made.log")
    assert (done.returncode, done.stderr) == (1, b"")
