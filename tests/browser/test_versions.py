"""An opened payload: saved as a file, its versions in other compilations of the frame, and what two of them differ in."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from recorded import graph_of, guards_of

from browser.conftest import PHONE, Visit
from browser.faults import BEYOND, LOW, violations
from browser.opened_records import GRAPH, GUARDS, compiles, opener, records
from shapelog.text import UNSAFE

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def opened(page: "Page", label: str, title: str) -> "Locator":
    """The payload, opened in the records of a compile."""
    table = records(page, label)
    opener(table, title).click()
    panel = table.get_by_role("group", name=f"Payload: {title} of {label}")
    expect(panel.locator("pre")).to_be_visible()
    return panel


def in_panel(page: "Page", label: str) -> "Locator":
    """What is opened in the records of a compile, whatever it shows now."""
    return page.locator(f"#compile-{label.replace('/', '-')} .payload")


def saved(page: "Page", panel: "Locator", button: str) -> tuple[str, bytes]:
    """The name and the bytes of the file that a button saves."""
    with page.expect_download() as download:
        panel.get_by_role("button", name=button, exact=True).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def sides(panel: "Locator") -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """The lines of both sides of a comparison: the kind of the row, the number of the line, its text."""
    rows: list[tuple[str, list[str]]] = panel.locator(".diff tbody tr").evaluate_all(
        "rows => rows.map((row) => [row.className, [...row.cells].map((cell) => cell.textContent)])"
    )
    left = [(kind, int(cells[0]), cells[1]) for kind, cells in rows if cells[0] and kind != "skipped"]
    right = [(kind, int(cells[2]), cells[3]) for kind, cells in rows if kind != "skipped" and cells[2]]
    return left, right


def unfold(panel: "Locator") -> None:
    while (folds := panel.locator(".skipped button")).count():
        folds.first.click()


def longest_in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines two texts have in common, in order."""
    row = [0] * (len(other) + 1)
    for line in one:
        before = row
        row = [0]
        for index, candidate in enumerate(other):
            row.append(before[index] + 1 if line == candidate else max(before[index + 1], row[index]))
    return row[-1]


def patched(lines: list[str], diff: str) -> list[str]:
    """The lines after a unified diff is applied to them, each line of which is checked."""
    found, at = [], 0
    for line in diff.split("\n")[2:-1]:
        if head := re.fullmatch(r"@@ -(\d+),(\d+) \+\d+,\d+ @@", line):
            start = int(head[1]) - (int(head[2]) > 0)
            found += lines[at:start]
            at = start
            continue
        assert line[0] == "+" or lines[at] == line[1:]
        if line[0] in " +":
            found.append(line[1:])
        at += line[0] in " -"
    return found + lines[at:]


@pytest.mark.parametrize(("title", "name"), [(GRAPH, "0_1-graph.py"), (GUARDS, "0_1-guards.txt")])
def test_a_payload_is_saved_under_the_name_that_extract_gives_it(title: str, name: str, visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    text = (graph_of if title == GRAPH else guards_of)(compiles()["0/1"])
    assert saved(page, opened(page, "0/1", title), "Download") == (name, text.encode())


def test_a_payload_of_a_rank_is_saved_under_the_name_of_the_rank(visit: Visit) -> None:
    page = visit("ranks that parted", "rank-0-compile-0-1")
    page.locator("#rank-0-compile-0-1 details > summary").filter(has_text="Records").click()
    opener(page.get_by_role("region", name="Records of 0/1"), GRAPH).click()
    assert saved(page, page.locator(".payload"), "Download")[0] == "rank_0-0_1-graph.py"


def test_a_record_outside_of_compilations_is_saved_and_has_no_versions(visit: Visit) -> None:
    page = visit("demo", "trace")
    table = page.get_by_role("region", name="Records outside any compilation")
    opener(table, "torch_version").click()
    name, data = saved(page, table.locator(".payload"), "Download")
    assert name == "outside-torch_version.json"
    assert b"2.13.0" in data
    assert table.get_by_label("Compare with").count() == 0


def test_previous_and_next_lead_to_the_neighboring_compilations(visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    opened(page, "0/1", GRAPH)
    panel = in_panel(page, "0/1")
    for button, label in (("next: 0/2", "0/2"), ("previous: 0/1", "0/1"), ("previous: 0/0", "0/0")):
        panel.get_by_role("button", name=button).click()
        expect(panel.locator(".which")).to_have_text(f"{GRAPH} of {label}")
        assert panel.locator("pre").text_content() == graph_of(compiles()[label])
    expect(panel.get_by_role("button", name="previous: none")).to_be_disabled()
    expect(panel.locator("pre")).to_be_focused()
    assert saved(page, panel, "Download")[0] == "0_0-graph.py"
    panel.locator("pre").focus()
    for key, label in (("]", "0/1"), ("]", "0/2"), ("[", "0/1")):
        page.keyboard.press(key)
        expect(panel.locator(".which")).to_have_text(f"{GRAPH} of {label}")
        expect(panel.locator("pre")).to_be_focused()


def test_what_was_asked_for_last_is_shown_and_copied(visit: Visit) -> None:
    page = visit("demo", "compile-0-1", permissions=["clipboard-read", "clipboard-write"])
    opened(page, "0/1", GUARDS)
    panel = in_panel(page, "0/1")
    panel.get_by_role("button", name="next: 0/2").evaluate("button => { button.click(); button.click(); }")
    expect(panel.locator(".which")).to_have_text(f"{GUARDS} of 0/3")
    panel.get_by_role("button", name="Copy").click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == guards_of(compiles()["0/3"])


def test_a_forward_is_followed_by_the_forward_of_the_next_compilation(visit: Visit) -> None:
    page = visit("demo", "compile-0-0")
    table = records(page, "0/0")
    codes = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile("^generated code")))
    expect(codes).to_have_count(2)
    codes.last.get_by_role("button").click()
    panel = in_panel(page, "0/0")
    expect(panel.locator(".which")).to_have_text("generated code of 0/0 (2 of 2)")
    panel.get_by_role("button", name="next: 0/1 (2 of 2)").click()
    expect(panel.locator(".which")).to_have_text("generated code of 0/1 (2 of 2)")
    assert "backward" in (panel.locator("pre").text_content() or "")
    assert panel.get_by_label("Compare with").locator("option", has_text="0/1 (1 of 2)").count() == 1


@pytest.mark.parametrize(("one", "other"), [("0/0", "0/1"), ("0/1", "0/3")])
def test_the_comparison_shows_the_lines_that_differ_and_no_others(one: str, other: str, visit: Visit) -> None:
    page = visit("demo", f"compile-{other.replace('/', '-')}")
    opened(page, other, GRAPH)
    panel = in_panel(page, other)
    panel.get_by_label("Compare with").select_option(label=one)
    expect(panel.get_by_role("columnheader")).to_have_text([one, other])
    unfold(panel)
    left, right = sides(panel)
    before, after = (graph_of(compiles()[label]).split("\n") for label in (one, other))
    assert [text for _, _, text in left] == before
    assert [text for _, _, text in right] == after
    assert [number for _, number, _ in left] == [*range(1, len(before) + 1)]
    same = longest_in_common(before, after)
    for found, lines in ((left, before), (right, after)):
        assert sum(kind != "same" for kind, _, _ in found) == len(lines) - same > 0
    assert panel.locator("mark").count() > 3


def test_the_earlier_compilation_is_on_the_left_and_lines_that_are_the_same_are_folded(visit: Visit) -> None:
    page = visit("demo", "compile-0-0")
    opened(page, "0/0", GUARDS)
    panel = in_panel(page, "0/0")
    panel.get_by_label("Compare with").select_option(label="0/2")
    expect(panel.get_by_role("columnheader")).to_have_text(["0/0", "0/2"])
    expect(panel.locator(".skipped").first).to_contain_text("lines the same")
    assert panel.locator(".diff tbody tr").count() < len(guards_of(compiles()["0/0"]).split("\n"))
    panel.get_by_label("Compare with").select_option(label="nothing")
    assert panel.locator("pre").text_content() == guards_of(compiles()["0/0"])


def test_a_comparison_is_saved_as_a_diff_that_can_be_applied(visit: Visit) -> None:
    page = visit("demo", "compile-0-2")
    opened(page, "0/2", GUARDS)
    panel = in_panel(page, "0/2")
    panel.get_by_label("Compare with").select_option(label="0/0")
    expect(panel.locator(".diff")).to_be_visible()
    name, data = saved(page, panel, "Download diff")
    assert name == "0_0-guards.txt-0_2-guards.txt.diff"
    before, after = (guards_of(compiles()[label]).split("\n") for label in ("0/0", "0/2"))
    assert patched(before, data.decode()) == after


def test_equal_texts_are_named_as_such(visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    opened(page, "0/1", "torch._functorch.config")
    panel = in_panel(page, "0/1")
    select = panel.get_by_label("Compare with")
    assert select.locator("option", has_text="0/0, the same text").count() == 1
    select.select_option(label="0/0, the same text")
    expect(panel).to_contain_text("The same text.")


def compared(page: "Page", one: list[str], other: list[str]) -> list[dict[str, Any]] | None:
    found: list[dict[str, Any]] | None = page.evaluate("([one, other]) => textDiff.compared(one, other)", [one, other])
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [("", ""), ("a", ""), ("", "a"), ("abcabba", "cbabac"), ("aaaa", "aa"), ("ab", "ba"), ("xaxbxc", "abc"), ("abc" * 30, "acb" * 31)],
)
def test_no_comparison_of_the_same_lines_is_shorter(one: str, other: str, visit: Visit) -> None:
    rows = compared(visit("empty"), [*one], [*other])
    assert rows is not None
    assert [row["left"] for row in rows if row["left"] >= 0] == [*range(len(one))]
    assert [row["right"] for row in rows if row["right"] >= 0] == [*range(len(other))]
    same = [row for row in rows if row["kind"] == "same"]
    assert all(one[row["left"]] == other[row["right"]] for row in same)
    assert len(same) == longest_in_common(one, other)


def test_a_long_line_of_json_is_compared_item_by_item(visit: Visit) -> None:
    page = visit("empty")
    value = {"key": ['a, [b] \\" {c}', {}, [], 12345678901234567890], "more": {"x": None, "y": ["z" * 90]}}
    for text in (json.dumps(value), json.dumps(value, separators=(",", ":"))):
        lines = page.evaluate("text => textDiff.linesOf(text)", f"first\n{text}\n[1, 2]")
        assert (lines[0], lines[-1]) == ("first", "[1, 2]")
        assert json.loads("".join(lines[1:-1])) == value
        assert [line.strip() for line in lines[1:-1]].count("12345678901234567890") == 1
        assert len(lines) == 2 + len(json.dumps(value, indent=2).split("\n"))


def test_texts_that_differ_too_much_are_offered_as_files(visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    assert compared(page, [f"a{number}" for number in range(3500)], [f"b{number}" for number in range(3500)]) is None
    opened(page, "0/1", GRAPH)
    panel = in_panel(page, "0/1")
    page.evaluate("textDiff.compared = () => null")
    panel.get_by_label("Compare with").select_option(label="0/0")
    expect(panel).to_contain_text("differ in more than 6,000 lines")
    for label in ("0/0", "0/1"):
        name = f"{label.replace('/', '_')}-graph.py"
        assert saved(page, panel, f"Download {name}") == (name, graph_of(compiles()[label]).encode())


def test_many_lines_are_drawn_some_at_a_time(visit: Visit) -> None:
    page = visit("empty")
    page.evaluate(
        """() => {
          const texts = ["a", "b"].map((letter) => Array.from({ length: 2500 }, (_, number) => `${letter}${number}`));
          const rows = textDiff.compared(...texts);
          document.querySelector("#overview").append(textDiff.table(rows, texts, ["one", "other"], () => {}));
        }"""
    )
    table = page.locator(".diff")
    for left in ("4,000", "3,000", "2,000", "1,000"):
        table.get_by_role("button", name=f"Show more: {left} rows are left").click()
    expect(table.locator("tbody tr")).to_have_count(5000)
    assert table.get_by_role("button").count() == 0


def test_a_payload_that_was_left_out_shows_why(visit: Visit) -> None:
    page = visit("demo")
    chunk = (
        page.locator("#compile-0-2 tr")
        .filter(has=page.get_by_role("rowheader", name=GUARDS, exact=True, include_hidden=True))
        .locator("button.open")
        .first.get_attribute("data-chunk")
    )
    page.evaluate(
        """name => {
          document.getElementById(name).remove();
          shapelog.withButtons(document.querySelector("#compile-0-2"));
          location.hash = "compile-0-1";
        }""",
        chunk,
    )
    opened(page, "0/1", GUARDS)
    panel = in_panel(page, "0/1")
    panel.get_by_label("Compare with").select_option(label="0/2, left out")
    expect(panel).to_contain_text(f"The {GUARDS} of 0/2: left out to keep the page small (--embed all includes it)")
    assert panel.get_by_role("button", name="Download").count() == 0
    panel.get_by_role("button", name="next: 0/2").click()
    expect(panel).to_contain_text("left out to keep the page small")
    panel.get_by_role("button", name="next: 0/3").click()
    assert panel.locator("pre").text_content() == guards_of(compiles()["0/3"])


@pytest.mark.parametrize("title", [GRAPH, GUARDS])
def test_a_hostile_payload_stays_text_in_a_comparison(title: str, visit: Visit) -> None:
    page = visit("hostile", "compile-0-1")
    opened(page, "0/1", title)
    panel = in_panel(page, "0/1")
    panel.get_by_label("Compare with").select_option(label="0/0")
    expect(panel.locator(".diff")).to_be_visible()
    unfold(panel)
    assert page.evaluate("window.__owned") is None
    text = panel.text_content() or ""
    assert "<img src=x onerror=window.__owned=" in text
    assert r"\u202egnp.exe" in text
    assert UNSAFE.search(text) is None
    assert panel.locator("img, b#owned, script, svg").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_a_comparison(scheme: str, visit: Visit) -> None:
    page = visit("demo", "compile-0-1", color_scheme=scheme)
    opened(page, "0/1", GRAPH)
    panel = in_panel(page, "0/1")
    panel.get_by_label("Compare with").select_option(label="0/0")
    expect(panel.locator(".diff")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")  # what is under the bar counts as too small
    assert violations(page) == []
    assert page.evaluate(LOW) == []


def test_on_a_phone_both_texts_of_a_comparison_fit(visit: Visit) -> None:
    page = visit("demo", "compile-0-1", viewport=PHONE)
    opened(page, "0/1", GRAPH)
    panel = in_panel(page, "0/1")
    panel.get_by_label("Compare with").select_option(label="0/0")
    expect(panel.locator(".diff .changed").first).to_be_visible()
    assert page.evaluate(BEYOND) == []
    box = panel.locator(".scroll")
    assert box.evaluate("item => item.scrollWidth <= item.clientWidth")
    row = panel.locator(".changed").first.locator(".text")
    left, right = (cell.bounding_box() for cell in row.all())
    assert left["y"] + left["height"] <= right["y"] + 1
