"""The tiles of the first view count what there is."""

import make
import pytest
import vllm_traces

from shapelog.report.report import Report
from shapelog.reporters.html.overview import Tile, overview


def tiles(report: Report) -> tuple[Tile, ...]:
    return overview(report, (), ()).tiles


def test_where_nothing_was_compiled_there_is_nothing_to_count() -> None:
    assert tiles(make.report(make.trace())) == ()


def test_of_vllm_without_dynamos_records_the_pieces_are_counted() -> None:
    assert tiles(make.report(make.trace(vllm_traces.llama()))) == (
        Tile(1, "part of the model", "", "vllm"),
        Tile(8, "piecewise compilations", "4 found in a cache", "vllm"),
    )


@pytest.mark.parametrize("seconds", [1.0, None])
def test_compilations_are_counted_without_recompilations_too(seconds: float | None) -> None:
    first, again = tiles(make.report(make.trace(make.compile("0/0", make.tensor(8, 16), seconds=seconds))))
    assert (first.number, first.label, first.more) == (1, "compilation", "1.00 s" if seconds else "")
    assert (again.number, again.label) == (0, "recompilations")
