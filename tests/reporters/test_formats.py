"""The table of formats: it is complete, and a new format needs only a line in it and a module."""

import ast
import inspect
import subprocess
from collections.abc import Callable
from pathlib import Path

import make
import pytest

import shapelog.reporters
from shapelog.reporters import RENDERERS, SUFFIXES, Options, formats, renderer

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
ENTRIES = [(result, form) for result in RENDERERS for form in RENDERERS[result]]
# A module with a format, and a program in which the table has it.
MODULE = """
def render(result, options):
    return f"made up, {options.width} columns".encode()
"""
PROGRAM = """
import sys
from shapelog.reporters import RENDERERS, SUFFIXES
RENDERERS[sys.argv.pop(1)]["made-up"] = "made_up:render"
SUFFIXES[".made-up"] = "made-up"
from shapelog.cli.main import main
main()
"""


@pytest.mark.parametrize(("result", "form"), ENTRIES)
def test_every_entry_of_the_table_is_a_function_of_a_result_and_options(result: str, form: str) -> None:
    parameters = list(inspect.signature(renderer(result, form)).parameters.values())  # type: ignore[arg-type]
    assert len(parameters) == 2
    assert parameters[1].annotation in (Options, "Options")


def is_reporter(node: ast.FunctionDef) -> bool:
    annotations = [ast.unparse(item.annotation) for item in node.args.args if item.annotation]
    return annotations[1:] == ["Options"] and node.returns is not None and ast.unparse(node.returns) == "bytes"


def test_every_reporter_is_in_the_table() -> None:
    """A reporter is a public function of a result and ``Options`` that returns bytes; JSON is made from data."""
    folder = Path(shapelog.reporters.__file__).parent
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and is_reporter(node):
                module = ".".join(path.relative_to(folder.parents[1]).with_suffix("").parts).removesuffix(".__init__")
                found.add(f"{module}:{node.name}")
    assert found == {entry for table in RENDERERS.values() for form, entry in table.items() if form != "json"}


def test_every_suffix_means_a_known_format() -> None:
    assert set(SUFFIXES.values()) <= {form for _, form in ENTRIES}


def test_an_overview_is_rendered_as_a_check_is() -> None:
    assert {form: RENDERERS["check"][form] for form in formats("overview")} == RENDERERS["overview"]
    assert not set(formats("report")) & set(formats("overview"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("result", "command"),
    [
        ("report", ["report", "made.log"]),
        ("overview", ["report", "made.log"]),
        ("check", ["check", "made.log", "--exit-zero"]),
        ("comparison", ["compare", "made.log", "made.log"]),
        ("explanation", ["explain", "made.log", "0/1"]),
        ("advice", ["suggest-dynamic", "made.log"]),
        ("rules", ["rules"]),
        ("rule", ["rule", "SL307"]),
    ],
)
def test_a_format_is_a_module_and_a_line_of_the_table(result: str, command: list[str], python: Process, tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "made.log").write_bytes(make.small_trace())
    done = python(PROGRAM, result, *command, "--format", "made-up", "--width", "50")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"made up, 50 columns", b"")
    done = python(PROGRAM, result, *command, "-o", "a.made-up", "--width", "60")
    assert done.returncode == 0
    assert (tmp_path / "a.made-up").read_bytes() == b"made up, 60 columns"
    assert b"made-up" in python(PROGRAM, result, command[0], "--help").stdout
