"""The documents show what the program prints, and their code is code. ``pytest --update-golden`` writes the outputs in them anew."""

import ast
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import click
import pytest
import yaml
from command_line import call
from fenced import FENCE, blocks

from shapelog.cli.main import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SKILL = ROOT / "skills" / "debug-recompiles" / "SKILL.md"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), SKILL]
# Columns of the outputs, so that lines fit into a page.
WIDTH = "92"


def sessions() -> Iterator[tuple[Path, list[tuple[str, str]]]]:
    """(page, [(command, the lines below it)]) of each block of commands that a page shows with their outputs."""
    for page in PAGES:
        for block in blocks(page, "console"):
            parts = [part.partition("\n") for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
            yield page, [(command, output) for command, _, output in parts]


SESSIONS = list(sessions())


def printed(command: str) -> str:
    """What a command prints: shapelog in this process, and what its output is piped through (head, tail, sed)."""
    own, *filters = command.split(" | ")
    output = call(*shlex.split(own)[1:], COLUMNS=WIDTH).stdout
    for filter_command in filters:
        arguments = shlex.split(filter_command)
        assert arguments[0] in ("head", "tail", "sed"), command
        output = subprocess.run(arguments, input=output, capture_output=True, encoding="utf-8", check=True).stdout
    return output


def excerpt(output: str, shown: str) -> str:
    """The parts of an output that are shown, found by the first line of each: a line of three dots replaces what is left out."""
    *parts, last = shown.split("...\n")
    if not parts:
        return output
    lines, at, found = output.splitlines(keepends=True), 0, []
    for part in parts:
        size = part.count("\n")
        at = lines.index(part.splitlines(keepends=True)[0], at) if part else at
        found.append("".join(lines[at : at + size]))
        at += size
    found.append("".join(lines[len(lines) - last.count("\n") :]))
    return "...\n".join(found)


@pytest.mark.parametrize(("page", "session"), SESSIONS, ids=[f"{page.stem}: {session[0][0]}" for page, session in SESSIONS])
def test_commands_print_what_the_page_shows(
    page: Path, session: list[tuple[str, str]], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In an empty directory, in which a command may write what the next one reads."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    for command, output in session:
        now = excerpt(printed(command), output)
        if request.config.getoption("--update-golden"):
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace(f"$ {command}\n{output}", f"$ {command}\n{now}", 1), encoding="utf-8")
        else:
            assert output == now, f"{page.name}: changed; if that is meant: pytest --update-golden tests/test_docs.py"


def typed() -> Iterator[tuple[str, str]]:
    """(page, command) of each line with a command of shapelog, in any block of a shell, without comments."""
    for page in PAGES:
        for language in ("bash", "console"):
            for block in blocks(page, language):
                for line in re.findall(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(shapelog [a-z][^\n]*)", block, re.M):
                    yield page.name, line.split("#")[0].split(" | ")[0].split(" && ")[0].strip()


@pytest.mark.parametrize(("page", "command"), list(dict.fromkeys(typed())))
def test_a_command_has_the_options_that_are_typed(page: str, command: str) -> None:
    _, name, *arguments = shlex.split(command)
    found = cli.commands[name]
    named = {
        option
        for parameter in found.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    assert [text for text in own if text.startswith("-") and text != "-" and text.split("=")[0] not in named] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_a_page_is_python(page: Path) -> None:
    for block in blocks(page, "python"):
        ast.parse(block)


def test_the_program_of_the_tutorial_is_the_one_that_was_recorded() -> None:
    program = (ROOT / "fixtures" / "tutorial" / "classify.py").read_text(encoding="utf-8")
    _, _, code = program.partition('"""\n\n')
    assert blocks(DOCS / "tutorial.md", "python")[0] == code


@pytest.mark.torch
def test_the_change_of_the_tutorial_pads_a_batch_of_one_and_no_other() -> None:
    torch = pytest.importorskip("torch")
    change = blocks(DOCS / "tutorial.md", "python")[1]
    passed: list[tuple[int, ...]] = []

    def model(input_ids: Any, attention_mask: Any) -> SimpleNamespace:
        assert input_ids.shape == attention_mask.shape
        passed.append(tuple(input_ids.shape))
        return SimpleNamespace(logits=torch.rand(len(input_ids), 2))

    names: dict[str, Any] = {"torch": torch, "model": model}
    exec(compile(f"def scores(batch, length):\n{indent(change, '    ')}", "docs/tutorial.md", "exec"), names)
    assert [len(names["scores"](batch, 5)) for batch in (1, 2, 8)] == [1, 2, 8]
    assert passed == [(2, 5), (2, 5), (8, 5)]


def test_the_examples_of_the_python_api_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    examples = [block for block in blocks(DOCS / "python-api.md", "python") if "shapelog.load" in block]
    assert examples
    for block in examples:
        exec(compile(block, "docs/python-api.md", "exec"), {})
    assert "0/2 ('SL101',) avoidable by marking" in capsys.readouterr().out


def test_the_skill_has_a_name_and_a_description_that_an_agent_can_choose_it_by() -> None:
    _, front_matter, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    found = yaml.safe_load(front_matter)
    assert set(found) == {"name", "description"}
    assert found["name"] == SKILL.parent.name
    assert len(found["description"]) < 1024
    assert body.count("\n") < 200


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    listed = re.findall(r"^ +- .*?([\w-]+\.md)$|^  - .*?: ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    names = [one or other for one, other in listed]
    assert sorted(names) == sorted(page.name for page in DOCS.glob("*.md"))


def test_every_file_of_the_repository_that_the_documents_name_is_there() -> None:
    named = re.compile(r"`((?:tests|benchmarks|shapelog|docs|templates)/[\w./-]+)")
    missing = {
        (page.name, name)
        for page in (*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md"))
        for name in named.findall(page.read_text(encoding="utf-8"))
        if "SLnnn" not in name and not (ROOT / name).exists()
    }
    assert missing == set()


def test_every_document_that_the_documents_link_to_is_there() -> None:
    for document in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([\w./-]+\.\w+)", FENCE.sub("", document.read_text(encoding="utf-8"))):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_the_queries_of_the_tables_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    assert call("tables", str(ROOT / "fixtures/real/demo.log.gz"), "-o", "DIR").exit_code == 0
    (query,), (code,) = blocks(DOCS / "tables.md", "sql"), blocks(DOCS / "tables.md", "python")
    exec(compile(code, "docs/tables.md", "exec"), {})
    assert "SL315" in capsys.readouterr().out
    assert "Classifier.forward" in [function for function, *_ in duckdb.sql(query).fetchall()]


def test_the_glossary_is_sorted_and_has_the_words_of_every_report() -> None:
    words = re.findall(r"^\*\*(.+?)\*\* — ", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.M)
    assert words == sorted(words, key=str.casefold)
    used = ("alternative", "avoidable", "cache entry", "caveat", "compilation", "diverge", "finding", "mark as dynamic", "next step")
    assert {*used, "recompilation", "refused", "remedy", "reuse", "verdict"} <= set(words)
