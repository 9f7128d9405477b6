"""docs/ci.md describes what shapelog does."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner
from fenced import blocks

import shapelog
from shapelog.cli.main import cli
from shapelog.cli.settings import KEYS
from shapelog.reporters import SUFFIXES, formats
from shapelog.rules import AlertKind

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "ci.md"
TEXT = GUIDE.read_text(encoding="utf-8")
README = (ROOT / "docs" / "examples" / "compile-health" / "README.md").read_text(encoding="utf-8")
JOB = ROOT / "docs" / "gitlab" / "shapelog.gitlab-ci.yml"
SMALL = ROOT / "fixtures" / "lab" / "batch_varies.log.gz"
# Those of the guide anywhere in it, and those that the example types.
COMMANDS = [
    *re.findall(r"(?:(?<=`)|(?<=^)|(?<=&& )|(?<=bin/))shapelog [a-z][^`\n]*", TEXT, re.M),
    *re.findall(r"^\$ (shapelog .+)", README, re.M),
]


def tables() -> list[dict[str, list[str]]]:
    """The tables, first column → the others, without their heads. Of the first column the words in code count, if there are any."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", TEXT, re.M):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block.splitlines()[2:]]
        found.append({name: cells[1:] for cells in rows for name in re.findall(r"`([^`]+)`", cells[0]) or [cells[0]]})
    return found


def table(first: str) -> dict[str, list[str]]:
    return next(table for table in tables() if first in table)


def test_the_keys_are_those_that_are_read() -> None:
    assert list(table("baseline")) == sorted(KEYS)


def test_the_kinds_are_those_that_fail_on_knows() -> None:
    assert set(table("avoidable")) == {kind.value for kind in AlertKind if kind is not AlertKind.BUDGET} | {"none"}


def test_the_formats_and_their_suffixes_are_those_that_check_writes() -> None:
    described = table("sarif")
    assert set(described) == set(formats("check"))
    for name, (suffix, _) in described.items():
        assert SUFFIXES.get(suffix.strip("`")) == (name if suffix else None)
    assert {name for name, (suffix, _) in described.items() if suffix} == set(SUFFIXES.values()) & set(formats("check"))


@pytest.mark.parametrize("line", sorted({line.strip() for line in COMMANDS}))
def test_every_command_line_is_one_that_shapelog_takes(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(line, comments=True)[1:]
    for option, make in (("--config", Path.touch), ("--source-root", Path.mkdir)):
        if option in words:
            path = Path(words[words.index(option) + 1])
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                make(path)
    command = cli.commands[name]
    if words:  # else it is only named
        with click.Context(cli) as parent:
            assert command.make_context(name, words, parent=parent).params


def test_command_lines_are_found() -> None:
    assert len(COMMANDS) > 25
    assert any(line.startswith("shapelog check trace --exit-zero -o - ") for line in COMMANDS), "the one for Jenkins"
    assert any("--write-baseline" in line for line in COMMANDS[-3:]), "the example's"


def test_the_example_of_precedence_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.shapelog]\nmax-recompiles = 100\n", encoding="utf-8")

    def allowed(*options: str, **environment: str) -> float:
        done = CliRunner().invoke(cli, ["check", str(SMALL), "-f", "json", *options], env=environment)
        (budget,) = json.loads(done.stdout)["budgets"]
        return float(budget["allowed"])

    assert allowed() == 100
    assert allowed(SHAPELOG_MAX_RECOMPILES="") == 100
    assert allowed(SHAPELOG_MAX_RECOMPILES="5") == 5
    assert allowed("--max-recompiles", "4", SHAPELOG_MAX_RECOMPILES="5") == 4


def test_the_settings_that_are_shown_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(GUIDE, "toml")
    (tmp_path / "pyproject.toml").write_text(block, encoding="utf-8")
    done = CliRunner().invoke(cli, ["check", str(SMALL)])
    assert (done.exit_code, "baseline not found: shapelog-baseline.json" in done.stderr) == (2, True)
    done = CliRunner().invoke(cli, ["check", str(SMALL), "--write-baseline"])
    assert (done.exit_code, (tmp_path / "shapelog-baseline.json").is_file()) == (0, True), done.stderr
    assert CliRunner().invoke(cli, ["check", str(SMALL)]).exit_code == 0


def test_the_outputs_shown_are_written_where_the_guide_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    lines = next(block for block in blocks(GUIDE, "bash") if "-o -" in block).splitlines()
    outputs = [
        CliRunner().invoke(cli, shlex.split(line.replace("check trace", f"check {SMALL}"), comments=True)[1:]).stdout for line in lines
    ]
    assert [text[:2] for text in outputs] == [f"{SMALL.name}"[:2], "::", ""]
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "shapelog.sarif", "junit.xml", "outcome", "quality"}
    assert json.loads((tmp_path / "outcome").read_bytes())["format"] == "shapelog check"
    assert isinstance(json.loads((tmp_path / "quality").read_bytes()), list)


def test_the_files_that_are_shown_are_the_files() -> None:
    shown = blocks(GUIDE, "yaml")
    assert (ROOT / "docs" / "github" / "compile-health.yml").read_text(encoding="utf-8") in shown
    assert [block for block in shown if block.startswith(".shapelog-check:") and JOB.read_text(encoding="utf-8").endswith(f"\n{block}")]


def test_the_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", TEXT)
    assert len(links) > 5
    assert not [link for link in links if not (GUIDE.parent / link).exists()]


@pytest.fixture
def gitlab(tmp_path: Path) -> Callable[[Path], "subprocess.CompletedProcess[str]"]:
    """Runs the job as GitLab does, each line after the other, with shapelog already installed where the first two lines put it."""
    tool = tmp_path / "installed" / "bin" / "shapelog"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shapelog "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    job = yaml.safe_load(JOB.read_text(encoding="utf-8"))[".shapelog-check"]
    make, install, *rest = (line.replace("/tmp/shapelog-$CI_JOB_ID", str(tmp_path / "installed")) for line in job["script"])
    assert make.startswith("python3 -m venv ")
    assert install.endswith('/bin/pip" install --quiet "$COMPILE_HEALTH_PACKAGE"')

    def run(trace: Path) -> "subprocess.CompletedProcess[str]":
        settings = {**os.environ, **job["variables"], "COMPILE_TRACE": str(trace), "PYTHONPATH": str(Path(shapelog.__file__).parents[1])}
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(rest)], cwd=tmp_path, env=settings, capture_output=True, text=True
        )

    return run


@pytest.mark.slow
def test_the_job_for_gitlab_writes_what_it_keeps_and_then_fails(
    gitlab: Callable[[Path], "subprocess.CompletedProcess[str]"], tmp_path: Path
) -> None:
    done = gitlab(SMALL)
    assert (done.returncode, "What fails" in done.stdout) == (1, True), done.stderr
    artifacts = yaml.safe_load(JOB.read_text(encoding="utf-8"))[".shapelog-check"]["artifacts"]
    assert artifacts["when"] == "always"
    kept = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "compile-report").iterdir()}
    assert set(artifacts["reports"].values()) <= kept
    assert kept == {f"compile-report/{name}" for name in ("gl-code-quality-report.json", "junit.xml", "report.html", "summary.md")}
    assert gitlab(tmp_path / "missing").returncode == 2
