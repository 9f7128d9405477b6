"""Exports on the screen: what stopped them or was assumed, the verdict, and what to type."""

import pytest
from recorded import report_of

from shapelog.reporters import Options, renderer


def shown(name: str, verbose: bool = False) -> str:
    options = Options(color=False, width=100, verbose=verbose)
    return renderer("report", "terminal")(report_of(f"real/2.13/{name}.log.gz"), options).decode()


def test_a_failed_export_ends_with_its_verdict_and_the_line_to_add() -> None:
    text = shown("export_data_dependent")
    assert "error[SL602]: export 1 stopped at a data-dependent expression: n > 4" in text
    assert "   | if n > 4:" in text
    assert "Summary: 1 export, 1 failed" in text
    assert "torch._check(n > 4)" in text.split("Next steps")[1]
    assert "nothing was compiled" not in text


def test_the_assumptions_of_a_draft_export_are_counted_as_they_are_listed() -> None:
    text = shown("export_draft")
    assert "  2 assumptions from the example inputs: torch.export.export fails until they are resolved" in text
    assert text.count("warning[SL603]") == 2


@pytest.mark.parametrize("verbose", [False, True])
def test_an_export_without_findings_shows_its_symbols(verbose: bool) -> None:
    text = shown("export_good", verbose)
    assert "Symbols of the exports" in text
    assert "tokens.shape[0] == mask.shape[0]" in text


def test_with_verbose_each_condition_is_followed_to_its_symbols() -> None:
    found = report_of("real/2.13/export_draft.log.gz")
    heading = "Where the conditions of draft export 1 come from"
    assert heading not in renderer("report", "terminal")(found, Options()).decode()
    lines = renderer("report", "terminal")(found, Options(verbose=True, width=140)).decode().split(heading)[1].splitlines()
    assert lines[1:4] == [
        "  u3 >= 3  assumed to be True",
        "    ge(u3, 3)  exports.py:43  if n >= 3:",
        "     u3  from data  exports.py:42  n = limit.item()",
    ]
