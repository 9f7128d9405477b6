"""The names of links within the page."""

from pathlib import Path

import shapelog
from shapelog.model.trace import Trace
from shapelog.reporters.html.anchors import aliases_of, anchors_of, share

REAL = Path(__file__).parents[3] / "fixtures" / "real"


def named(trace: Trace) -> list[str]:
    anchors = anchors_of(trace)
    return [name for frame in trace.frames for name in (anchors[frame], *map(anchors.__getitem__, frame.compiles))]


def test_every_frame_and_compile_has_a_name_of_its_own() -> None:
    names = named(shapelog.load(REAL / "demo.log.gz"))
    assert len(names) == len(set(names))
    assert {"frame-0", "compile-0-1"} <= set(names)


def test_names_begin_with_the_rank_and_are_found_without_it() -> None:
    trace = shapelog.load(REAL / "2.13" / "n_dist_collpatched")
    names = named(trace)
    assert len(names) == len(set(names))
    assert {name.split("-frame-")[0] for name in names if "-frame-" in name} == {f"rank-{rank.number}" for rank in trace.ranks}
    aliases = aliases_of(anchors_of(trace))
    assert aliases["frame-0"] == "rank-0-frame-0"
    assert set(aliases.values()) <= set(names)


def test_the_same_frame_of_another_rank_shares_the_names() -> None:
    trace = shapelog.load(REAL / "2.13" / "n_dist_collpatched")
    first, other = (rank.frames[0] for rank in trace.ranks[:2])
    anchors = anchors_of(trace)
    share(anchors, first, other)
    assert anchors[other] == "rank-0-frame-0"
    assert [anchors[compile] for compile in other.compiles] == [anchors[compile] for compile in first.compiles]
