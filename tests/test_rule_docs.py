"""The documentation of rules: complete, found by code or name, and the same in docs/rules.md."""

import ast
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result
from jobs import AGAIN, FIRST, GATHER, SCATTER, sized
from recorded import FIXTURES

import shapelog
from shapelog.cli.main import cli
from shapelog.errors import ShapelogError
from shapelog.report.analyses import compile_time
from shapelog.rule_docs import RULES_URL, Entry, anchor, blocks, entries, entry, families, link, parsed
from shapelog.rules import RULES

Golden = Callable[[str, bytes], None]
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "rules.md"
ENTRIES = entries()
TEXT = "## What it means\n\nA.\n\n## Example\n\n```python\nB\n```\n\n## Why it costs\n\nC.\n\n## How to fix it\n\nD.\n"
# Several ranks, a budget and the faults of a trace are nothing that a program shows.
WITHOUT_PROGRAM = ("SL7", "SL8", "SL9")
# What is left of 80 columns after the indent.
COLUMNS = 76

per_rule = pytest.mark.parametrize("item", ENTRIES, ids=lambda item: item.rule.code)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False)


def output(*arguments: str) -> str:
    done = call(*arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


# The texts.


def test_every_rule_has_an_entry_and_no_text_is_of_an_unknown_rule() -> None:
    assert [item.rule.code for item in ENTRIES] == sorted(RULES)
    assert sorted(path.name for path in (ROOT / "templates" / "rules").iterdir()) == [f"{code}.md" for code in sorted(RULES)]


@per_rule
def test_an_entry_has_an_example_and_a_fix(item: Entry) -> None:
    example, fix = ([language for language, _ in blocks(text) if language] for text in (item.example, item.fix))
    if item.rule.code.startswith(WITHOUT_PROGRAM):
        assert example == ["text"]
        assert "python" not in fix
    else:
        assert example == ["python"]
        assert fix.count("python") == 1
    assert {*example, *fix} <= {"python", "text", "bash"}


@per_rule
def test_the_code_of_an_entry_fits_into_80_columns(item: Entry) -> None:
    code = [line for _, text in item.sections for language, block in blocks(text) if language for line in block.split("\n")]
    assert [line for line in code if len(line) > COLUMNS] == []


@per_rule
def test_an_entry_mentions_only_rules_that_are_there(item: Entry) -> None:
    mentioned = {code for _, text in item.sections for code in re.findall(r"\bSL\d{3}\b", text)}
    assert mentioned <= set(RULES)


@per_rule
def test_an_entry_is_short(item: Entry) -> None:
    prose = [line for _, text in item.sections for language, block in blocks(text) if not language for line in block.split("\n")]
    assert 4 <= len(prose) <= 25


@pytest.mark.parametrize(("heading", "wrong"), [("Why it costs", "What it costs"), ("Example", "Examples")])
def test_a_text_that_lacks_a_section_is_refused_by_name(heading: str, wrong: str) -> None:
    with pytest.raises(ShapelogError, match=rf"^x\.md: no section '{heading}', an unknown section '{wrong}'$"):
        parsed(RULES["SL101"], TEXT.replace(heading, wrong), "x.md")


def test_an_empty_section_counts_as_missing() -> None:
    with pytest.raises(ShapelogError, match="no section 'How to fix it'"):
        parsed(RULES["SL101"], TEXT.replace("D.", ""), "x.md")


def test_a_heading_inside_code_is_code() -> None:
    found = parsed(RULES["SL101"], TEXT.replace("\nB\n", "\n## B\n\nC\n"), "x.md")
    assert list(blocks(found.example)) == [("python", "## B\n\nC")]


def test_a_text_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shapelog.rule_docs.template_dir", lambda: tmp_path)
    with pytest.raises(ShapelogError, match=r"SL101\.md: cannot read what SL101 means: No such file"):
        entry("SL101")


def test_blocks_are_fenced_code_paragraphs_and_lists() -> None:
    text = "one\ntwo\n\n```python\na = 1\n\nb = 2\n```\n- three\n- four"
    assert list(blocks(text)) == [("", "one\ntwo"), ("python", "a = 1\n\nb = 2"), ("", "- three\n- four")]


# The examples of damaged traces: each is in the report on a trace with that damage.


def lines_of(data: bytes, wanted: bytes) -> tuple[list[bytes], int]:
    found = data.split(b"\n")
    return found, max(index for index, line in enumerate(found) if wanted in line)


def cut(data: bytes) -> bytes:
    return data[: len(data) * 2 // 3]


def other_guards(data: bytes) -> bytes:
    lines, index = lines_of(data, b"TENSOR_MATCH")
    lines[index] = lines[index].replace(b"size=[", b"size=[9, ", 1)
    return b"\n".join(lines)


def half_a_record(data: bytes) -> bytes:
    lines = data.split(b"\n")
    index = next(index for index, line in enumerate(lines) if b'"compilation_metrics"' in line)
    lines[index] = lines[index][: len(lines[index]) // 2]
    return b"\n".join(lines)


def new_kind(data: bytes) -> bytes:
    lines, index = lines_of(data, b'"compilation_metrics"')
    body = b'{"quantum_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'
    return b"\n".join([*lines[:index], lines[index].partition(b"{")[0] + body, *lines[index:]])


def two_processes(data: bytes) -> bytes:
    process = data.split(b" ", 3)[2]
    return data + data.replace(b" " + process + b" torch", b" 99999 torch")


def is_reported(code: str, trace: Path) -> bool:
    """Whether the whole report has all that the example of a rule shows, at the width that it was made for."""
    ((_, example),) = blocks(entry(code).example)
    return f"\n{example}\n" in output("report", str(trace), "--verbose", "--width", str(COLUMNS))


def intact() -> bytes:
    return gzip.decompress((FIXTURES / "lab" / "batch_varies.log.gz").read_bytes())


@pytest.mark.parametrize(
    ("code", "name", "damage"),
    [
        ("SL901", "cut", cut),
        ("SL902", "payload", other_guards),
        ("SL903", "record", half_a_record),
        ("SL904", "unknown", new_kind),
        ("SL905", "mixed", two_processes),
    ],
)
def test_the_example_of_a_damaged_trace_is_what_the_report_shows(
    code: str, name: str, damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / f"{name}.log"
    path.write_bytes(damage(intact()))
    assert is_reported(code, path)


def test_the_example_of_records_outside_of_compiles_is_what_the_report_shows() -> None:
    assert is_reported("SL906", FIXTURES / "real" / "2.13" / "compiled_autograd.log.gz")


def test_the_example_of_a_foreign_file_is_what_the_report_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "dedicated_log_torch_trace_rank_0_aaaaaaaa.log").write_bytes(intact())
    (tmp_path / "dir" / "dedicated_log_torch_trace_rank_1_bbbbbbbb.log").write_text("epoch 1 loss 0.3\nepoch 2 loss 0.2\n")
    monkeypatch.chdir(tmp_path)
    assert is_reported("SL907", Path("dir"))


def test_the_example_of_an_analysis_that_failed_is_what_the_report_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(explained: object) -> None:
        raise KeyError("backend_compile")

    monkeypatch.setattr(compile_time, "analyze", broken)
    assert is_reported("SL908", FIXTURES / "lab" / "batch_varies.log.gz")


def test_the_example_of_many_entries_is_what_the_report_shows(tmp_path: Path) -> None:
    path = tmp_path / "many.log"
    path.write_bytes(make.trace(make.int_values(*range(2, 42))))
    assert is_reported("SL909", path)


RANKS = {"SL701": [(FIRST, AGAIN)] * 3 + [(FIRST,)], "SL702": [sized(12, 16), sized(10, 14)], "SL703": [(GATHER,)] * 3 + [(SCATTER,)]}


@pytest.mark.parametrize("code", sorted(RANKS))
def test_the_example_of_a_job_is_what_the_report_shows(code: str, tmp_path: Path) -> None:
    for number, parts in enumerate(RANKS[code]):
        (tmp_path / f"dedicated_log_torch_trace_rank_{number}_aaaaaaaa.log").write_bytes(make.trace(*parts))
    assert is_reported(code, tmp_path)


def test_the_example_of_a_budget_is_what_the_check_shows() -> None:
    ((_, example),) = blocks(entry("SL801").example)
    command, _, shown = example.partition("\n...\n")
    _, *arguments = command.removeprefix("$ ").replace("fixtures", str(FIXTURES)).split()
    done = call(*arguments, "--width", str(COLUMNS))
    assert done.exit_code == 1
    assert " ".join(shown.split()) in " ".join(done.stdout.split())


# Codes and names.


@pytest.mark.parametrize("name", ["SL307", "sl307", "global-state-varies", " Global-State-Varies "])
def test_a_rule_is_found_by_code_and_name(name: str) -> None:
    assert entry(name).rule is RULES["SL307"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("SL1011", "; the nearest is SL101 size-varies"),
        ("size-vary", "; the nearest is SL101 size-varies"),
        ("", ""),
        ("recipes", ""),
        ("SL999", ""),
        ("duck", "; the nearest is SL103 duck-shape"),
    ],
)
def test_an_unknown_rule_is_refused_with_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(ShapelogError) as raised:
        entry(name)
    assert str(raised.value) == f"no rule {name!r}{hint}; shapelog rules lists them all"


def test_the_command_refuses_an_unknown_rule_in_one_line() -> None:
    done = call("rule", "SL1011")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "shapelog: no rule 'SL1011'; the nearest is SL101 size-varies; shapelog rules lists them all\n"


# In the terminal.


def test_a_rule_in_the_terminal_is_as_recorded(golden: Golden) -> None:
    golden("rule.SL101.80.txt", output("rule", "SL101", "--width", "80").encode())


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_list_names_every_rule_with_its_kind_and_remedy(width: int) -> None:
    shown = output("rules", "--width", str(width))
    assert max(map(len, shown.split("\n"))) <= width
    words = " ".join(shown.split())
    for rule in RULES.values():
        assert f"{rule.code} {rule.name} {rule.verdict.short} {rule.remedy}" in words
    assert shown.endswith("\nRun `shapelog rule SL101` for an explanation\n")


@pytest.mark.parametrize("width", [80, 140])
@per_rule
def test_a_rule_in_the_terminal_is_whole_and_not_wider_than_asked(item: Entry, width: int) -> None:
    shown = output("rule", item.rule.code, "--width", str(width))
    assert max(map(len, shown.split("\n"))) <= width
    words = " ".join(shown.split())
    for title, text in item.sections:
        assert f"\n\n{title}\n" in shown
        for language, block in blocks(text):
            assert " ".join(block.split()) in words, language
    assert shown.endswith(f"\n{link(item.rule)}\n")
    assert not [line for line in shown.split("\n") if line != line.rstrip()]


def test_code_keeps_its_lines_and_its_indent() -> None:
    assert "\n    for batch in (8, 12, 31):  # compiles for 8, recompiles at 12\n        normalize(" in output("rule", "SL101")


def test_colors_come_only_when_asked_for() -> None:
    colored = output("rule", "SL101", "--color", "always")
    assert "\x1b[" not in output("rule", "SL101") + output("rules")
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == output("rule", "SL101").replace("`", "")
    assert "\x1b[" in output("rules", "--color", "always")


# Markdown.


def test_the_docs_are_made_from_the_texts() -> None:
    made = output("rules", "--format", "markdown")
    assert DOCS.read_text(encoding="utf-8") == made, "write it anew: shapelog rules --format markdown -o docs/rules.md"


def test_a_file_that_ends_in_md_gets_markdown(tmp_path: Path) -> None:
    assert output("rules", "-o", str(tmp_path / "rules.md")) == ""
    assert (tmp_path / "rules.md").read_text(encoding="utf-8") == output("rules", "--format", "markdown")


def test_every_link_of_the_docs_leads_to_a_rule() -> None:
    text = DOCS.read_text(encoding="utf-8")
    anchors = re.findall(r'<a id="(\w+)"></a>', text)
    assert anchors == [anchor(item.rule) for item in ENTRIES]
    assert set(re.findall(r"\]\(#(\w+)\)", text)) == set(anchors)
    assert link(RULES["SL307"]) == f"{RULES_URL}#sl307"


def test_a_rule_that_another_mentions_is_linked_but_not_in_code() -> None:
    text = output("rules", "--format", "markdown")
    assert "size ([SL203](#sl203))." in text
    assert "\n  SL901 trace-cut-off cut.log" in text
    assert "# unbacked, so that a batch of one shares the graph too (SL104)" in text


def test_markdown_of_one_rule_has_no_links_to_others() -> None:
    text = output("rule", "SL320", "-f", "markdown")
    assert text.startswith("## SL320 object-state-varies\n\n*Avoidable by a code change.* Set all attributes in \\_\\_init\\_\\_, or")
    assert "](#" not in text
    assert text.endswith("zeros is not.\n")


def problem_codes_in(path: Path) -> set[str]:
    """The codes of the problems that a module reports."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [
        call
        for call in calls
        if getattr(call.func, "id", getattr(call.func, "attr", "")) in ("Problem", "add", "add_problem", "lose", "_lose")
    ]
    texts = [item.value for call in named for item in call.args[:3] if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return {text for text in texts if re.fullmatch(r"[a-z]+(-[a-z]+)+", text)}


def test_every_reported_problem_has_a_rule_and_no_other_has() -> None:
    reported = set().union(*map(problem_codes_in, Path(shapelog.__file__).parent.rglob("*.py")))
    with_rules = {problem for rule in RULES.values() for problem in rule.problems}
    assert reported == with_rules - {"unknown-kind"}  # which is counted and not reported


# The parts.


def test_families_hold_every_rule_once() -> None:
    found = families(ENTRIES)
    assert [item for members in found.values() for item in members] == list(ENTRIES)
