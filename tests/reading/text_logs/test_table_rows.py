"""Recompile reasons in tables, in lists of strings and on lines of their own."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.table_rows import reasons_in_row
from shapelog.report.report import Report, analyze

OLDER, NEWER = (f"0/{entry}: tensor 'x' size mismatch at index 0. expected {size}, actual 13" for entry, size in ((0, 5), (1, 8)))


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (f"| 0/2 | | `{NEWER}` <br> `{OLDER}` |", ("0/2", (NEWER, OLDER))),
        (f"| [0/2_1] | {NEWER} |", ("0/2", (NEWER,))),
        (f"0/2\t\t{NEWER}", ("0/2", (NEWER,))),
        (f"| forward | {NEWER} |", ("", (NEWER,))),
        ("| 0/2 | 0/1: self.mode == 'a' |", ("0/2", ("0/1: self.mode == 'a'",))),
        ("| 0/2 | 0/1: done |", ("0/2", ())),
        (NEWER, ("", ())),
    ],
)
def test_a_row_has_the_compile_and_its_reasons(line: str, row: tuple[str, tuple[str, ...]]) -> None:
    assert reasons_in_row(line) == row


def test_each_row_is_a_recompilation(tmp_path: Path) -> None:
    first = "0/0: tensor 'x' size mismatch at index 0. expected 5, actual 8"
    text = f"Id | Reason\n---|---\n0/0 |\n0/1 | {first}\n0/2 | {NEWER}<br>{OLDER}\n"
    assert [(item.compile.label, len(item.compile.reasons)) for item in report_of(text, tmp_path).explained.recompiles] == [
        ("0/1", 1),
        ("0/2", 2),
    ]


@pytest.mark.parametrize("text", [f"- {NEWER}\n- {OLDER}\n", f'[\n  "{NEWER}",\n  "{OLDER}"\n]\n', f"{NEWER}\n{OLDER}\n"])
def test_reasons_about_older_and_older_entries_are_of_one_recompilation(text: str, tmp_path: Path) -> None:
    (item,) = report_of(f"It shows:\n{text}Why?\n", tmp_path).explained.recompiles
    assert (item.compile.label, len(item.compile.reasons)) == ("0/2", 2)
