"""The shapes of results keep their parts, and are text only when they are shown."""

import pytest

from shapelog.report.results import Column, Headline, Location


@pytest.mark.parametrize(
    ("file", "short"), [("/srv/app/model.py", "model.py:7"), ("model.py", "model.py:7"), ("C:\\app\\model.py", "model.py:7")]
)
def test_a_location_is_shown_in_full_or_without_directories(file: str, short: str) -> None:
    assert str(Location(file, 7)) == f"{file}:7"
    assert Location(file, 7).short == short


def test_a_headline_has_a_colon_only_before_a_rest() -> None:
    assert str(Headline("Check passed", "2 compiles: 1 in f")) == "Check passed: 2 compiles: 1 in f"
    assert str(Headline("Nothing was compiled")) == "Nothing was compiled"


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("compiles", "compilations"),
        ("recompiles", "recompilations"),
        ("last compile", "last compilation"),
        ("pinned to", "fixed to"),
        ("seconds", "seconds"),
    ],
)
def test_a_heading_has_the_words_of_sentences(name: str, heading: str) -> None:
    assert Column(name).heading == heading
