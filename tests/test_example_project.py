"""The example project does what its README shows, command by command."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import shapelog

pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "compile-health"
FENCE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
LIST = "L['tokens']:0,L['tokens']:1"
# The exit code of each check in the README.
CHECKS = [1, 0, 0, 1]


@dataclass(frozen=True, slots=True)
class Shown:
    """A command of the README, and the lines that are shown below it."""

    command: str
    output: tuple[str, ...]


def shown() -> Iterator[Shown]:
    for block in FENCE.findall((EXAMPLE / "README.md").read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, *output = part.splitlines()
            yield Shown(command, tuple(output))


def lines(text: str) -> list[str]:
    """Without what is another each time: times, the names of traces, and so the order of what took long, and where lines are broken."""
    text = re.sub(
        r"(?:up to |at least |about )?(?:\d+\.\d+–)?\d+(?:\.\d+)? s\b|(?m:^  \d+\. )",
        "N s",
        re.sub(r"dedicated_log_torch_trace_\w+\.log", "TRACE", text),
    )
    return sorted(line for line in re.sub(r"\n {2,}(?=\S)", "\n", text.replace("\n      TORCH", " TORCH")).split("\n") if line)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project. Its commands are those of this Python."""
    copy = tmp_path / "project"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", "trace"))
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, start in (("python", ""), ("shapelog", "-m shapelog "), ("pytest", "-m pytest -p shapelog.pytest_plugin ")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start}"$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    return copy


def environment(project: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TORCH", "PGO", "SHAPELOG", "PYTEST"))}
    path = f"{project.parent / 'bin'}{os.pathsep}{kept['PATH']}"
    package = str(Path(shapelog.__file__).parents[1])
    return {**kept, "PATH": path, "PYTHONPATH": package, "TORCHINDUCTOR_CACHE_DIR": str(project.parent / "cache"), **more}


def written_anew(steps: list[Shown], outputs: list[str]) -> None:
    """Let the README show these outputs."""
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    for step, output in zip(steps, outputs, strict=True):
        if step.output:
            text = text.replace("\n".join((f"$ {step.command}", *step.output, "")), f"$ {step.command}\n{output}", 1)
    (EXAMPLE / "README.md").write_text(text, encoding="utf-8")


def test_the_readme_shows_what_its_commands_do(project: Path, request: pytest.FixtureRequest) -> None:
    steps = list(shown())
    script = "\n".join(f"{step.command}\nprintf '\\036%s\\036' $?" for step in steps)
    done = subprocess.run(["bash", "-c", script], cwd=project, env=environment(project), capture_output=True, encoding="utf-8", timeout=600)
    *parts, rest = done.stdout.split("\036")
    outputs, codes = parts[::2], [int(code) for code in parts[1::2]]
    assert (len(outputs), rest) == (len(steps), ""), done.stderr
    assert [code for step, code in zip(steps, codes, strict=True) if step.command.startswith("shapelog check")] == CHECKS, done.stdout
    assert not any(code for step, code in zip(steps, codes, strict=True) if not step.command.startswith("shapelog check")), done.stderr
    if request.config.getoption("--update-golden"):
        written_anew(steps, outputs)
        steps = list(shown())
    for step, output in zip(steps, outputs, strict=True):
        if step.output:
            assert lines(output) == lines("\n".join(step.output)), f"{step.command}: changed; if that is meant: pytest --update-golden"


def test_the_list_that_the_check_prints_is_the_one_that_the_readme_sets_next() -> None:
    steps = list(shown())
    checked, after = next((step, steps[number + 1]) for number, step in enumerate(steps) if step.command == "shapelog check trace")
    assert f'export TORCH_COMPILE_DYNAMIC_SOURCES="{LIST}"' == after.command
    assert after.command in [line.strip() for line in checked.output]


@pytest.mark.parametrize(("sources", "failed", "passed"), [("", 1, 1), (LIST, 0, 2)])
def test_the_tests_of_the_project_fail_until_the_list_is_set(project: Path, sources: str, failed: int, passed: int) -> None:
    settings = environment(project, TORCH_COMPILE_DYNAMIC_SOURCES=sources, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    done = subprocess.run(
        ["pytest", "-p", "no:cacheprovider"], cwd=project, env=settings, capture_output=True, encoding="utf-8", timeout=600
    )
    assert done.returncode == (1 if failed else 0), done.stdout + done.stderr
    assert f"{passed} passed" in done.stdout
    assert ("2 recompilations, 0 allowed (no_recompiles)" in done.stdout) == bool(failed)
    assert (f'export TORCH_COMPILE_DYNAMIC_SOURCES="{LIST}"' in done.stdout) == bool(failed)
