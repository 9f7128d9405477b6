"""Whole outputs, compared with files. After a change that is meant: pytest --update-golden, then read the diff."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from shapelog.cli.main import cli

Golden = Callable[[str, bytes], None]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
FIXTURES = Path(__file__).parents[1] / "fixtures"


def output(*arguments: str) -> bytes:
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout_bytes


@pytest.mark.parametrize("width", ["80", "140"])
@pytest.mark.parametrize(
    ("name", "fixture"), [("demo", "real/demo.log.gz"), ("limit-2.6", "real/2.6/g_limit.log.gz"), ("ints-2.4", "real/2.4/c_int_arg.log.gz")]
)
def test_the_report_in_a_terminal_is_as_recorded(golden: Golden, name: str, fixture: str, width: str) -> None:
    golden(f"{name}.{width}.txt", output("report", str(FIXTURES / fixture), "--width", width))


def test_the_story_of_a_compile_is_as_recorded(golden: Golden) -> None:
    golden("demo.explain.txt", output("explain", str(FIXTURES / "real" / "demo.log.gz"), "0/2", "--width", "100"))


@pytest.mark.parametrize("width", ["80", "140"])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("demo-marked", "real/demo.log.gz", "real/demo_marked.log.gz"),
        ("lost-graph", "lab/int_drives_python.log.gz", "real/2.13/int_drives_python.marked.log.gz"),
    ],
)
def test_what_changed_between_two_runs_is_as_recorded(golden: Golden, name: str, before: str, after: str, width: str) -> None:
    golden(f"{name}.compare.{width}.txt", output("compare", str(FIXTURES / before), str(FIXTURES / after), "--width", width))


@pytest.mark.parametrize("width", ["80", "140"])
def test_the_advice_in_a_terminal_is_as_recorded(golden: Golden, width: str) -> None:
    golden(f"demo.suggest.{width}.txt", output("suggest-dynamic", str(FIXTURES / "real" / "demo.log.gz"), "--width", width))


@pytest.mark.parametrize(("form", "suffix"), [("env", "txt"), ("shell", "sh"), ("python", "py.txt")])
def test_the_advice_to_paste_is_as_recorded(golden: Golden, form: str, suffix: str) -> None:
    golden(f"demo.suggest.{form}.{suffix}", output("suggest-dynamic", str(FIXTURES / "real" / "demo.log.gz"), "--format", form))


def test_the_json_report_is_as_recorded(golden: Golden) -> None:
    golden("batch_varies.json", output("report", str(FIXTURES / "lab" / "batch_varies.log.gz"), "--format", "json"))


@pytest.mark.parametrize("form", ["terminal", "json"])
@pytest.mark.slow
def test_the_output_does_not_depend_on_the_order_of_sets_and_hashes(python: Process, form: str) -> None:
    arguments = ("from shapelog.cli.main import main; main()", "report", str(FIXTURES / "real" / "demo.log.gz"), "--format", form)
    one, other = python(*arguments, PYTHONHASHSEED="1"), python(*arguments, PYTHONHASHSEED="2")
    assert one.stdout
    assert one.stdout == other.stdout
