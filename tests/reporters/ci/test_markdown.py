"""Markdown: the answer first, nothing of a trace is markup, and it fits where it has to."""

import re
from collections.abc import Callable, Iterator

import ci
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.reporters import Options
from shapelog.reporters.ci import markdown
from shapelog.reporters.ci.markdown import Section, fitted
from shapelog.reporters.ci.markdown_escape import cell, code, escaped, fenced, listed

Golden = Callable[[str, bytes], None]
# Tables, lines through and links without markup, as GitHub has them; HTML as well.
GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": True})
# What GitHub looks for in each text once Markdown is done.
_FOUND = re.compile(r"@\w|#\d|\bGH-\d|:[a-z]+:|\$")
_OURS = re.compile(r"<!---->|</?code>|</?span>|</?details>|</?summary>|<a id")


def text_of(checked: CheckResult, room: int | None = None) -> str:
    return markdown.render_check(checked, Options(room=room)).decode()


def inner(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from inner(token.children or [])


def assert_harmless(text: str) -> list[Token]:
    """Links lead to our own pages, HTML is ours, there is no image, and GitHub finds nothing in any text."""
    tokens = list(inner(GITHUB.parse(text)))
    in_code = False
    for token in tokens:
        assert token.type != "image"
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith("https://github.com/shapelog/shapelog/blob/main/docs/rules.md#sl")
        elif token.type in ("html_inline", "html_block"):
            rest = _OURS.sub("", token.content)
            assert "<" not in rest
            in_code = in_code or token.content == "<code>"
            in_code = in_code and token.content != "</code>"
        elif token.type == "text" and not in_code:
            assert not _FOUND.search(token.content.replace("$", "", token.content == "$"))
    return tokens


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.check.md", markdown.render_check(ci.demo(), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_markdown_with_no_markup_of_its_own(name: str) -> None:
    for checked in (check(ci.fixture(name), ci.BUDGETS), without_policy(ci.fixture(name))):
        assert_harmless(text_of(checked))


def test_the_answer_comes_first_and_then_what_to_set() -> None:
    lines = text_of(ci.demo()).split("\n")
    assert lines[0] == (
        "## Check failed: 35.7 s of avoidable recompiles, 1.50 s allowed; 15 recompiles, 3 allowed; "
        "recompile limit hit in MovingAverage.forward"
    )
    tokens = GITHUB.parse("\n".join(lines))
    assert [token.content.split("=")[0] for token in tokens if token.type == "fence"] == ["export TORCH_COMPILE_DYNAMIC_SOURCES"]
    rows = [line for line in lines if "exceeded" in line and line.startswith("|")]
    assert rows == [
        "| avoidable seconds in the whole run | 35.7 s | 1.50 s | **exceeded** |",
        "| recompiles in the whole run | 15 | 3 | **exceeded** |",
    ]


def test_a_check_that_passes_is_reported_as_passed() -> None:
    text = text_of(check(ci.fixture("lab/no_recompiles"), Policy()))
    assert text.startswith("## Check passed: ")
    assert "What the check fails on" not in text


def test_a_report_neither_passed_nor_failed() -> None:
    text = text_of(ci.shown())
    assert text.startswith("## torch.compile: 19 compiles, 15 recompiles in 39.1 s: ")
    assert "heck" not in text.split("<details>")[0].split("\n")[0]


def test_a_baseline_is_named_with_what_is_gone() -> None:
    text = text_of(ci.checked(ci.varying(1), baseline=ci.varying(2)))
    assert "against the baseline `baseline.json`" in text
    assert "Gone since <code>baseline.json</code>: 1" in text
    assert "- The baseline knows this" in text


def test_names_that_try_to_be_something_else_stay_text() -> None:
    tokens = assert_harmless(text_of(ci.hostile()))
    assert sum(token.type == "heading_open" for token in tokens) == 3
    assert sum(token.type == "fence" for token in tokens) == 1
    shown = "".join(token.content for token in tokens if token.type in ("text", "code_inline"))
    assert "f ::error file=x::y\\x0d ##[error]z ]]> </script><script>alert(1)</script> <!-- a|b|c `code` ``` **bold**" in shown


def test_a_budget_of_a_name_with_bars_keeps_its_row() -> None:
    budgets = Policy(budgets=(ci.Budget(ci.Metric.COMPILES, 9, "*"),))
    tokens = assert_harmless(text_of(ci.checked(ci.varying(1).replace(b'"f0"', b'"a|b`c @octocat"'), budgets)))
    rows = [token for token in tokens if token.type == "inline" and token.content.startswith("compiles in ")]
    assert ["".join(child.content for child in row.children or [] if child.type == "text") for row in rows] == [
        "compiles in a|b`c @octocat"
    ]


NASTY = st.text(st.sampled_from("ab1 .:/#@-_*`~|\\<>[]()!&;$=+\n\t\x00"), max_size=24)


@given(NASTY)
def test_any_text_stays_text(text: str) -> None:
    for line in (listed(text), f"- word {escaped(text)}"):
        tokens = list(inner(GITHUB.parse(line)))
        plain = "".join(token.content for token in tokens if token.type in ("text", "text_special"))
        expected = " ".join(re.sub(r"[\t\n]+\s*", " ", text).replace("\x00", "\\x00").split())
        assert " ".join(plain.split()).removeprefix("word").strip() == expected
        assert not {token.type for token in tokens} & {"link_open", "em_open", "strong_open", "s_open", "code_inline", "heading_open", "hr"}


@given(NASTY)
def test_any_code_stays_code(text: str) -> None:
    tokens = list(inner(GITHUB.parse(f"word {code(text)} word")))
    spans = [token.content for token in tokens if token.type == "code_inline"]
    line = re.sub(r"[\t\n]+\s*", " ", text).replace("\x00", "\\x00")
    assert [span.strip() for span in spans] == ([line.strip()] if line.strip() else [])


@given(NASTY)
def test_any_text_is_one_cell_of_a_table(text: str) -> None:
    tokens = list(inner(GITHUB.parse(f"| a | b |\n|---|---|\n| {cell(text)} | c |")))
    assert sum(token.type == "td_open" for token in tokens) == 2
    assert not {token.type for token in tokens} & {"link_open", "em_open", "strong_open", "s_open", "code_inline"}


@given(NASTY)
def test_any_text_stays_in_its_fence(text: str) -> None:
    (token,) = GITHUB.parse(fenced(text, "shell"))
    assert token.type == "fence"


@pytest.mark.parametrize("room", [100, 700, 1500, 3000, 6000])
def test_it_fits_with_a_note_on_what_was_left_out(room: int) -> None:
    text = text_of(ci.demo(), room)
    assert len(text.encode()) <= room
    if text:
        assert text.startswith("## Check failed: ")
        assert "There was no room for " in text
        assert text.count("<details>") == text.count("</details>")


def test_what_is_least_important_goes_first() -> None:
    whole = text_of(ci.demo())
    text = text_of(ci.demo(), len(whole.encode()) - 1)
    assert "What varied in" in text
    assert "More findings" not in text
    assert text.endswith("There was no room for 1 other finding.\n")


def test_without_a_limit_nothing_is_left_out() -> None:
    whole = text_of(ci.demo())
    assert text_of(ci.demo(), len(whole.encode())) == whole
    assert "no room" not in whole


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.text("aé", max_size=9), max_size=4)), min_size=1, max_size=5), st.integers(0, 200))
def test_any_sections_fit_into_any_room(parts: list[tuple[int, list[str]]], room: int) -> None:
    sections = [Section(rank, "head", tuple(items), "item", "tail") for rank, items in parts]
    assert len(fitted(sections, room)) <= room


def test_a_summary_of_a_megabyte_is_as_full_as_can_be() -> None:
    checked = ci.checked(ci.varying(40))
    section = Section(2, "head", ("x" * 10_000,) * 500, "finding")
    assert 1024 * 1024 - 20_000 < len(fitted([Section(0, text_of(checked)), section], 1024 * 1024)) <= 1024 * 1024
