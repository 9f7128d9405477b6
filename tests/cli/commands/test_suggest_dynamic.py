"""``shapelog suggest-dynamic``."""

import json
import re
from pathlib import Path

import make
import pytest
from command_line import DEMO, FIXTURES, call, refusal

OLD = str(FIXTURES / "real" / "2.4" / "a_auto.log.gz")
ONCE = str(FIXTURES / "lab" / "no_recompiles.log.gz")
LISTED = "L['tokens']:0,L['tokens']:1,L['self'].step,L['features']:0"


def test_the_advice_is_given_in_each_format() -> None:
    assert call("suggest-dynamic", DEMO).stdout.startswith(
        "Mark 3 inputs (4 entries) as dynamic: 11 of 19 compilations go away, and the recorded calls no"
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
def test_without_anything_to_set_stdout_is_empty_and_stderr_gives_the_reason(tmp_path: Path, form: str) -> None:
    done = call("suggest-dynamic", ONCE, "--format", form)
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "shapelog: nothing to set: nothing recompiled (every frame was compiled once)\n"
    out = tmp_path / "out"
    assert call("suggest-dynamic", ONCE, "--format", form, "-o", str(out)).exit_code == 0
    assert out.read_bytes() == b""


@pytest.mark.parametrize("form", ["terminal", "json"])
def test_terminal_and_json_report_that_there_is_nothing_to_set(form: str) -> None:
    done = call("suggest-dynamic", ONCE, "--format", form)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "nothing recompiled (every frame was compiled once)" in done.stdout


def test_a_torch_without_dynamic_sources_gets_only_lines_of_python() -> None:
    env, python = (call("suggest-dynamic", OLD, "--format", form) for form in ("env", "python"))
    assert (env.exit_code, env.stdout) == (0, "")
    assert env.stderr.startswith("shapelog: nothing to set: torch before 2.7 does not read a list of dynamic sources")
    assert (python.exit_code, python.stderr) == (0, "")
    assert "\ntorch._dynamo.mark_dynamic(x, 0)" in python.stdout


@pytest.mark.parametrize(
    ("version", "listed"), [("2.13", "L['x']:0\n"), ("2.10.0+cu126", "L['x']\n"), ("3.0", "L['x']:0\n"), ("2.7", "L['x']\n"), ("2.6", "")]
)
def test_the_advice_can_be_for_another_torch(version: str, listed: str) -> None:
    assert call("suggest-dynamic", OLD, "--torch-version", version, "--format", "env").stdout == listed


@pytest.mark.parametrize("version", ["new", "2", "v2.13", "2.x", "\x1b]0;x\x07"])
def test_an_invalid_torch_version_is_refused(version: str) -> None:
    message = refusal("suggest-dynamic", DEMO, "--torch-version", version)
    assert "not a version such as 2.13" in message
    assert message[:-1].isprintable()


def test_several_traces_get_one_list() -> None:
    other = FIXTURES / "lab" / "batch_varies.log.gz"
    assert call("suggest-dynamic", DEMO, str(other), "--format", "env").stdout == f"{LISTED},L['x']:0\n"
    assert call("suggest-dynamic", DEMO, "-", "--format", "env", stdin=other.read_bytes()).stdout == f"{LISTED},L['x']:0\n"


def test_a_missing_trace_is_refused_whatever_the_others(tmp_path: Path) -> None:
    for arguments in ((str(tmp_path / "none"),), (DEMO, str(tmp_path / "none"))):
        assert "none: no such file or directory" in refusal("suggest-dynamic", *arguments, "--format", "env")
    assert call("suggest-dynamic").exit_code == 2


@pytest.mark.parametrize("form", ["env", "terminal"])
def test_advice_on_a_damaged_trace_uses_the_readable_records(damaged: Path, form: str) -> None:
    done = call("suggest-dynamic", str(damaged), "--format", form)
    assert (done.exit_code, done.stderr) == (0, "shapelog: damaged.log: not a trace record: 'this is no record'\n")
    assert "L['x']:0\n" in done.stdout or "L['x']:0\"\n" in done.stdout
    assert json.loads(call("suggest-dynamic", str(damaged), "--format", "json").stdout)["compiles"] == 3


def test_damage_is_reported_in_one_line_for_each_file(damaged: Path) -> None:
    damaged.write_bytes(make.small_trace() + 40 * make.line('{"x": '))
    other = damaged.with_name("other.log")
    other.write_bytes(make.small_trace()[:-100])
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


def test_readable_traces_give_advice_when_another_is_not_readable(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    done = call("suggest-dynamic", DEMO, str(empty), "--format", "env")
    assert done.stdout == call("suggest-dynamic", DEMO, "--format", "env").stdout != ""
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("shapelog: empty.log: the file is empty")
    none = call("suggest-dynamic", str(empty), str(empty))
    assert (none.exit_code, none.stdout, none.stderr.count("\n")) == (2, "", 2)


def test_the_limit_cuts_the_advice_and_verbose_shows_all() -> None:
    assert "… 2 more suggestions, shown with --limit 0" in call("suggest-dynamic", DEMO, "-n", "1").stdout
    verbose = call("suggest-dynamic", DEMO, "-v", "-n", "1").stdout
    assert "shown with --limit 0" not in verbose
    assert "removes 1/1 1/2" in verbose


def test_formats_of_the_advice_are_not_formats_of_a_report() -> None:
    assert call("report", DEMO, "--format", "env").exit_code == 2
    assert call("suggest-dynamic", DEMO, "--format", "html").exit_code == 2


def test_a_step_that_comes_before_the_marks_is_named_on_top() -> None:
    fixtures = Path(__file__).parents[3] / "fixtures" / "lab"
    first = call("suggest-dynamic", str(fixtures / "resume_object_attr.log.gz")).stdout
    assert first.startswith("Start here: Remove 2 graph breaks")
    assert "\n\nMark 3 inputs as dynamic" in first
    assert "\nBeyond marking\n  1. Remove 2 graph breaks" in first
    assert "Start here" not in call("suggest-dynamic", str(fixtures / "batch_varies.log.gz")).stdout
