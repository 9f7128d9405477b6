"""Markdown: the answer first, nothing of a trace is markup, and it fits where it has to."""

from collections.abc import Callable
from pathlib import Path

import ci
import pytest
from github_markdown import Page
from hostile_names import PIECES
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from shapelog import load
from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.ci import markdown
from shapelog.reporters.ci.markdown import MarkdownPart, fitted
from shapelog.reporters.ci.markdown_escape import cell, code, escaped, fenced, folded, listed
from shapelog.text import one_line

Golden = Callable[[str, bytes], None]


def text_of(checked: CheckResult, room: int | None = None) -> str:
    return markdown.render_check(checked, Options(room=room)).decode()


def harmless(text: str) -> Page:
    """Links lead to our own pages, elements are ours, and GitHub finds nothing in any text."""
    page = Page(text)
    assert page.live == []
    return page


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.check.md", markdown.render_check(ci.demo(), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_markdown_with_no_markup_of_its_own(name: str) -> None:
    for checked in (check(ci.fixture(name), ci.BUDGETS), without_policy(ci.fixture(name))):
        harmless(text_of(checked))


def test_the_answer_comes_first_and_then_what_to_set() -> None:
    lines = text_of(ci.demo()).split("\n")
    assert lines[0] == (
        "## Check failed: 33.9 s of avoidable recompilations, 1.50 s allowed; 15 recompilations, 3 allowed; "
        "recompile limit hit in MovingAverage.forward"
    )
    tokens = MarkdownIt().parse("\n".join(lines))
    assert [token.content.split("=")[0] for token in tokens if token.type == "fence"] == ["export TORCH_COMPILE_DYNAMIC_SOURCES"]
    rows = [line for line in lines if "exceeded" in line and line.startswith("|")]
    assert rows == [
        "| avoidable seconds in the whole run | 33.9 s | 1.50 s | **exceeded** |",
        "| recompilations in the whole run | 15 | 3 | **exceeded** |",
    ]


def test_a_check_that_passes_is_reported_as_passed() -> None:
    text = text_of(check(ci.fixture("lab/no_recompiles"), Policy()))
    assert text.startswith("## Check passed: ")
    assert "What fails the check" not in text


def test_a_report_neither_passed_nor_failed() -> None:
    text = text_of(ci.shown())
    assert text.startswith("## torch.compile: 19 compilations, 15 recompilations (39.1 s): ")
    assert "heck" not in text.split("<details>")[0].split("\n")[0]


def test_what_vllm_did_is_one_line() -> None:
    text = text_of(without_policy(ci.fixture("real/2.13/vllm_loaded")))
    assert "\nvLLM: 1 part of the model (1 loaded from the cache in 35.8 s, 3 graphs)\n" in text


def test_a_baseline_is_named_with_what_is_gone() -> None:
    text = text_of(ci.checked(ci.varying(1), baseline=ci.varying(2)))
    assert "compared with the baseline `baseline.json`" in text
    assert "In <code>baseline.json</code>, but not in this run: 1" in text
    assert "- The baseline already contains this" in text


def test_names_that_try_to_be_something_else_stay_text() -> None:
    page = harmless(text_of(ci.hostile()))
    assert page.tags["h2"] + page.tags["h3"] == 4
    assert page.tags["pre"] == 1
    assert "f ::error file=x::y\\x0d ##[error]z ]]> </script><script>alert(1)</script> <!-- a|b|c `code` ``` **bold**" in page.text


def test_a_budget_of_a_name_with_bars_keeps_its_row() -> None:
    budgets = Policy(budgets=(ci.Budget(ci.Metric.COMPILES, 9, "*"),))
    page = harmless(text_of(ci.checked(ci.varying(1).replace(b'"f0"', b'"a|b`c @octocat"'), budgets)))
    assert "compilations in a|b`c @octocat\n" in page.text


# What markup, links and references are made of, in any order; and the pieces of hostile names.
NASTY = st.one_of(
    st.text(st.sampled_from("ab1w .:/#@-_*`~|\\<>[]()!&;$=+%^{}\n\t\x00é☃"), max_size=24),
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join),
)


def words(text: str) -> str:
    """The text as it is shown, without the space that Markdown does not keep."""
    return " ".join(one_line(text.encode("utf-8", "backslashreplace").decode()).split())


@given(NASTY)
@example("f_https://evil.example/x")
@example("f_www.evil.example/x")
@example("0123456789abcdef0123456789abcdef01234567")
@example("`" * 90 + "<img src=x>")
@example("x ##")
@example("`a b` [c d]. (`e`),")
@example("\n`\r")
def test_any_text_stays_text(text: str) -> None:
    for line in (listed(text), f"- word {escaped(text)}", f"## word {escaped(text)}"):
        page = Page(line)
        assert page.live == []
        shown, meant = (" ".join(words(found).replace("`", "").split()) for found in (page.text, text))  # backticks become code
        assert shown.removeprefix("word").strip() == meant
        assert page.tags.keys() <= {"ul", "li", "h2", "code"}


@given(NASTY)
@example("`" * 90 + "https://evil.example")
def test_any_code_stays_code(text: str) -> None:
    page = Page(f"word {code(text)} word")
    assert (page.live, words(page.code)) == ([], words(text))
    assert words(page.text) == " ".join(f"word {words(text)} word".split())


@given(NASTY)
@example("www.evil.example")
@example("\ufffe")
def test_any_text_is_one_cell_of_a_table(text: str) -> None:
    page = Page(f"| a | b |\n|---|---|\n| {cell(text)} | c |")
    assert (page.live, page.tags["td"], words(page.code)) == ([], 2, words(text))


@given(NASTY)
def test_any_text_is_one_summary(text: str) -> None:
    page = Page(folded(f"word {cell(text)}", "body"))
    assert (page.live, page.tags["summary"], words(page.code)) == ([], 1, words(text))


@given(NASTY)
def test_any_text_stays_in_its_fence(text: str) -> None:
    page = Page(fenced(f"export {text}", "shell"))
    assert (page.live, page.tags) == ([], {"pre": 1, "code": 1})


@pytest.mark.parametrize(
    "text", ["Net.forward (resumed at line 38)", "self.last_step", "app/model.py:12", "torch.float32", "x2 was 0.5", "50%"]
)
def test_plain_names_stay_as_they_are(text: str) -> None:
    assert escaped(text) == text
    assert listed(text) == f"- {text}"
    assert code(text) == f"`{text}`"


def test_a_source_is_code() -> None:
    assert escaped("add L['self'].step to the list") == "add `L['self'].step` to the list"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("Avoid calling `print`.", "Avoid calling `print`."),
        ("a function (e.g. `a b`), or", "a function (e.g. `a b`), or"),
        ("types ['str', 'tuple'].", "types `['str', 'tuple']`."),
        ("at 0/1#4, 0/2#5: add", "at `0/1#4`, `0/2#5`: add"),
        ("[a link](http://evil.example)", "`[a link](http://evil.example)`"),
        ("`a``b`", "``` `a``b` ```"),
        ("one ` alone", "one `` ` `` alone"),
    ],
)
def test_code_that_pytorch_quotes_stays_code(text: str, markdown: str) -> None:
    assert escaped(text) == markdown


@pytest.mark.parametrize("room", [100, 700, 1500, 3000, 6000])
def test_it_fits_with_a_note_on_what_was_left_out(room: int) -> None:
    text = text_of(ci.demo(), room)
    assert len(text.encode()) <= room
    if text:
        assert text.startswith("## Check failed: ")
        assert "Left out for lack of space: " in text
        assert text.count("<details>") == text.count("</details>")


def test_what_is_least_important_goes_first() -> None:
    whole = text_of(ci.demo())
    text = text_of(ci.demo(), len(whole.encode()) - 1)
    assert "What changed in" in text
    assert "More findings" not in text
    assert text.endswith("Left out for lack of space: 1 other finding.\n")


def test_without_a_limit_nothing_is_left_out() -> None:
    whole = text_of(ci.demo())
    assert text_of(ci.demo(), len(whole.encode())) == whole
    assert "no room" not in whole


def test_it_fits_a_comment_unless_all_is_asked_for() -> None:
    checked = ci.checked(ci.varying(300))
    text, whole = (markdown.render_check(checked, Options(limit=limit)) for limit in (6, 0))
    assert len(text) <= 65_000 < len(whole)
    assert "Left out for lack of space: " in text.decode()
    assert "Left out for lack of space: " not in whole.decode()


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.text("aé", max_size=9), max_size=4)), min_size=1, max_size=5), st.integers(0, 200))
def test_any_sections_fit_into_any_room(parts: list[tuple[int, list[str]]], room: int) -> None:
    sections = [MarkdownPart(rank, "head", tuple(items), "item", "tail") for rank, items in parts]
    assert len(fitted(sections, room)) <= room


def test_a_summary_of_a_megabyte_is_as_full_as_can_be() -> None:
    checked = ci.checked(ci.varying(40))
    section = MarkdownPart(2, "head", ("x" * 10_000,) * 500, "finding")
    assert 1024 * 1024 - 20_000 < len(fitted([MarkdownPart(0, text_of(checked)), section], 1024 * 1024)) <= 1024 * 1024


def test_what_a_text_log_leaves_out_is_below_its_name(tmp_path: Path) -> None:
    warning = "torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (/srv/a.py:1)\n   last reason: 3/7: self.mode == 2\n"
    (tmp_path / "run.txt").write_text(warning, encoding="utf-8")
    text = text_of(without_policy(collect_alerts(analyze(load(tmp_path / "run.txt")), Repository())))
    assert "guards or graphs. To record everything: TORCH" in text
