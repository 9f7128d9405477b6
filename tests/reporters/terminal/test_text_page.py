"""Text for a terminal: harmless, of the right width, and numbers that people read."""

import re

import pytest
from rich.cells import cell_len
from rich.text import Text

from shapelog.report.results import Column
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.rules import RULES, Level

WIDE = Column("what", is_wide=True), Column("where"), Column("n", is_number=True)


def drawn(page: TextPage) -> list[str]:
    return page.bytes().decode().splitlines()


def test_a_line_that_is_too_long_goes_on_behind_its_indent() -> None:
    page = TextPage(Options(width=40))
    page.line("word " * 20, indent=4)
    lines = drawn(page)
    assert " ".join(line.strip() for line in lines) == ("word " * 20).strip()
    assert [len(line) <= 40 for line in lines] == [True] * len(lines)
    assert {len(line) - len(line.lstrip()) for line in lines[:1]} == {4}
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {6}


def test_columns_of_a_table_are_aligned_and_numbers_to_the_right() -> None:
    page = TextPage(Options(width=60))
    page.table((Column("name", is_wide=True), Column("n", is_number=True)), [("short", "7"), ("much longer", 1234), ("模型", 5)])
    assert {cell_len(line) for line in drawn(page)} == {2 + len("much longer") + 2 + 4}
    assert [line.split()[-1] for line in drawn(page)] == ["n", "7", "1234", "5"]


def test_a_wide_column_is_shortened_where_a_table_does_not_fit() -> None:
    page = TextPage(Options(width=70))
    page.table(WIDE, [("x" * 90, "somewhere", 12)])
    row = drawn(page)[1]
    assert cell_len(row) == 70
    assert row.endswith("somewhere  12")
    assert "…" in row


def test_a_wide_column_that_would_be_unreadable_gets_lines_of_its_own() -> None:
    page = TextPage(Options(width=40))
    page.table(WIDE, [("x" * 50, "somewhere", 12)])
    lines = drawn(page)
    assert any(line.split() == ["somewhere", "12"] for line in lines)
    assert sum(line.count("x") for line in lines) == 50
    assert max(map(cell_len, lines)) <= 40


def test_the_other_columns_fit_where_one_has_lines_of_its_own() -> None:
    page = TextPage(Options(width=40))
    columns = Column("ranks"), Column("compiles", is_number=True), Column("last", is_wide=True)
    page.table(columns, [("ranks 0-39, 41-67, 69-157 and 343 more", 12, "6/0 " + "f" * 30)])
    assert all(cell_len(line) <= 40 for line in drawn(page))
    assert "…" in drawn(page)[1]
    assert "".join(drawn(page)[2:]).split() == ["last:", "6/0", "f" * 30]


@pytest.mark.parametrize("width", [40, 80, 100, 140])
def test_a_sentence_in_a_table_is_never_shortened(width: int) -> None:
    page, sentence = TextPage(Options(width=width)), "words of advice that are wider than the message and are to remain whole"
    page.table([Column("message", is_wide=True), Column("what to do", is_wide=True, is_sentence=True)], [("m" * 30, sentence)])
    assert sentence in " ".join(" ".join(drawn(page)).split())


def test_markup_and_emoji_codes_in_text_are_only_text() -> None:
    page = TextPage(Options(width=80, color=True))
    page.line("[red]x[/red] :smile:")
    page.text(Text("[/] :+1:"))
    assert drawn(page) == ["[red]x[/red] :smile:", "[/] :+1:"]


@pytest.mark.parametrize("text", ["a", "a\tb", "blanks   ", "模型", "[bold]x[/bold] :smile: https://a.b 12", "x" * 90])
def test_a_page_without_colors_is_what_the_console_makes_of_it(text: str) -> None:
    page, other = TextPage(Options(width=100)), TextPage(Options(width=100))
    page.text(Text(text, style="bold red"), 3)
    page.blank()
    other.console.print(Text("   ").append(text, "bold red"), soft_wrap=True, overflow="ignore", no_wrap=True)
    other.console.print()
    assert page.bytes() == other.bytes()


def test_code_of_which_too_little_would_be_left_is_not_shown() -> None:
    page = TextPage(Options(width=80))
    code = "total = self.average(features, weights, normalize=True)"
    assert page.code("a.py:3", code, 29) == "a.py:3"
    assert page.code("a.py:3", "return x", 10) == "a.py:3  return x"
    assert page.code("a.py:3", code, 30).startswith("a.py:3  total = self.")
    assert page.code("a.py:3", "", 30) == "a.py:3"


def test_an_id_of_a_compile_after_a_reset_is_explained_once() -> None:
    page = TextPage(Options(width=140))
    page.line("compiles 0/1, 0/1#2, 0/1#3")
    page.explain_restarted_ids()
    ids = "#2: compile ids restarted (as after torch._dynamo.reset()), so PyTorch's own logs show 0/1 for 0/1#2"
    assert page.bytes().decode().split("\n") == ["compiles 0/1, 0/1#2, 0/1#3", "", ids, ""]
    page = TextPage(Options(width=140))
    page.line("compiles 0/1, 0/2  # 3")
    page.explain_restarted_ids()
    assert page.bytes() == b"compiles 0/1, 0/2  # 3\n"


@pytest.mark.parametrize("text", ["", " " * 50])
def test_a_line_without_anything_to_see_is_empty(text: str) -> None:
    page = TextPage(Options(width=100))
    page.line(text, indent=3)
    assert page.bytes() == b"\n"


def test_an_address_is_never_folded() -> None:
    address = "https://docs.pytorch.org/docs/main/programming_model.recompilation.html"
    page = TextPage(Options(width=40))
    page.line(f"help: See {address} for tips on dealing with recompilations, and ask where that does not help.", indent=2)
    lines = drawn(page)
    assert [line.strip() for line in lines if address in line] == [address]
    assert " ".join(line.strip() for line in lines).startswith(f"help: See {address} for tips on dealing")
    assert [line for line in lines if len(line) > 40 and address not in line] == []


def test_a_list_of_entries_is_folded_after_a_comma_and_an_entry_never() -> None:
    entries = ["L['hidden_states']:0", "L['position_embeddings'][0]:1", "L['x']", f"L['{'long' * 20}']:1", "L['y']:0"]
    page = TextPage(Options(width=50))
    page.line(f"mark these: add {','.join(entries)} to TORCH_COMPILE_DYNAMIC_SOURCES", indent=2)
    lines = [line.strip() for line in drawn(page)]
    assert lines == [
        "mark these: add L['hidden_states']:0,",
        "L['position_embeddings'][0]:1,L['x'],",
        f"{entries[3]},",
        "L['y']:0 to TORCH_COMPILE_DYNAMIC_SOURCES",
    ]


def test_another_word_without_room_is_folded_anywhere() -> None:
    page = TextPage(Options(width=40))
    page.line("a " + "x" * 90, indent=2)
    assert [len(line) for line in drawn(page)] == [3, 40, 40, 22]


@pytest.mark.parametrize(("color", "is_terminal", "is_link"), [(True, True, True), (True, False, False), (False, True, False)])
def test_the_code_of_a_rule_is_a_link_in_a_terminal_with_colors(color: bool, is_terminal: bool, is_link: bool) -> None:
    page = TextPage(Options(width=80, color=color, is_terminal=is_terminal))
    page.diagnostic(Level.WARNING, RULES["SL101"], "dim 0 of x changed")
    shown = page.buffer.getvalue()
    assert bool(re.search(r"\x1b]8;[^;]*;https://github.com/\S+#sl101\x1b\\", shown)) == is_link
    assert "warning[SL101]" in shown
