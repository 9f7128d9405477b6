"""What a shell offers on TAB."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import make
import pytest
from click.shell_completion import ShellComplete
from command_line import DEMO

import shapelog
from shapelog.cli.main import cli

ROOT = Path(shapelog.__file__).parents[1]
GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def offered(*words: str) -> list[str]:
    """The words offered for the last of these, without files."""
    return [
        item.value for item in ShellComplete(cli, {}, "shapelog", "").get_completions(list(words[:-1]), words[-1]) if item.type == "plain"
    ]


def completes_files(*words: str) -> bool:
    return any(item.type == "file" for item in ShellComplete(cli, {}, "shapelog", "").get_completions(list(words[:-1]), words[-1]))


def test_codes_and_names_of_rules_are_completed() -> None:
    assert offered("rule", "SL70") == offered("rule", "sl70") == ["SL701", "SL702", "SL703"]
    assert offered("rule", "size-v") == ["size-varies"]
    assert offered("rule", "x") == []


def test_the_entries_of_a_list_with_commas_are_completed() -> None:
    assert offered("check", "made.log", "--select", "SL3,SL70") == ["SL3,SL701", "SL3,SL702", "SL3,SL703"]
    assert offered("check", "made.log", "--ignore", "grad") == ["grad-mode-varies"]
    assert offered("check", "made.log", "--fail-on", "avoidable,lim") == ["avoidable,limit", "avoidable,limit-near"]
    assert "budget" not in offered("check", "--fail-on", "")


def test_the_compiles_of_the_trace_are_completed() -> None:
    assert offered("explain", DEMO, "2/") == ["2/0", "2/1", "2/2"]
    assert {"0/0", "3/2"} < set(offered("explain", DEMO, ""))
    item = next(item for item in ShellComplete(cli, {}, "shapelog", "").get_completions(["explain", DEMO], "0/0"))
    assert (item.type, completes_files("explain", DEMO, "")) == ("file", True)


def test_of_traces_that_cannot_be_read_or_take_long_no_compile_is_completed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert offered("explain", "made.log", "") == ["0/0", "0/1"]
    assert offered("explain", "none.log", "") == offered("explain", "gone.log", "") == offered("explain", "") == []
    monkeypatch.setattr("shapelog.cli.completion._LARGEST", 100)
    assert offered("explain", "made.log", "") == []


def test_the_name_of_a_function_cannot_harm_the_shell(tmp_path: Path) -> None:
    path = tmp_path / "made.log"
    path.write_bytes(make.trace(make.compile("0/0", make.tensor(8, 16), name="f\n\x1b]0;owned\x07")))
    items = ShellComplete(cli, {}, "shapelog", "").get_completions(["explain", str(path)], "0/")
    assert [item.help for item in items if item.type == "plain"] == ["f \\x1b]0;owned\\x07"]


@pytest.mark.parametrize("command", ["report", "check", "suggest-dynamic", "explain", "compare", "watch", "run", "verify"])
def test_files_are_completed_where_traces_and_programs_are_named(command: str) -> None:
    assert completes_files(command, "x")


def test_commands_and_options_are_completed() -> None:
    assert offered("rep") == ["report"]
    assert offered("report", "--fra") == ["--frame"]
    assert offered("report", "--format", "j") == ["json", "junit", "jsonl"]


def test_the_lines_of_the_readme_complete_in_bash(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if not bash:
        pytest.skip("no bash")
    (tmp_path / "made.log").write_bytes(make.small_trace())
    program = tmp_path / "bin" / "shapelog"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shapelog "$@"\n')
    program.chmod(0o755)
    (line,) = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if "bash_source" in line]
    script = f'{line}\nCOMP_WORDS=(shapelog explain made.log 0/)\nCOMP_CWORD=3\n_shapelog_completion shapelog\necho "${{COMPREPLY[@]}}"\n'
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([bash, "--norc", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout.split() == ["0/0", "0/1"], done.stderr
