"""The directory of an extraction: nothing of the user's is deleted."""

from pathlib import Path

import pytest

from shapelog.errors import ShapelogError
from shapelog.extract.output_directory import discard_mark, mark, prepare


def test_a_new_directory_is_made_and_an_empty_one_is_taken(tmp_path: Path) -> None:
    for _ in range(2):
        prepare(tmp_path / "a" / "b", overwrite=False, inputs=())
        assert list((tmp_path / "a" / "b").iterdir()) == []


def test_a_directory_with_anything_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ShapelogError, match="not empty"):
        prepare(tmp_path, overwrite=False, inputs=())
    with pytest.raises(ShapelogError, match="--overwrite replaces only what shapelog extract wrote"):
        prepare(tmp_path, overwrite=True, inputs=())
    assert (tmp_path / "mine.txt").exists()


def test_an_earlier_extraction_is_replaced_even_if_it_did_not_end(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    (other / "kept.txt").write_text("x")
    prepare(out, overwrite=False, inputs=())
    mark(out)
    (out / "0_0").mkdir()
    (out / "0_0" / "graph.py").write_text("x")
    (out / "link").symlink_to(other)
    prepare(out, overwrite=True, inputs=())
    assert list(out.iterdir()) == []
    assert (other / "kept.txt").exists()


def test_a_directory_that_holds_the_trace_is_not_emptied(tmp_path: Path) -> None:
    mark(tmp_path)
    trace = tmp_path / "made.log"
    trace.write_text("x")
    with pytest.raises(ShapelogError, match=r"the trace made\.log is in this directory"):
        prepare(tmp_path, overwrite=True, inputs=[trace])
    assert trace.exists()


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ShapelogError, match="not a directory"):
        prepare(tmp_path / "file", overwrite=True, inputs=())


def test_the_mark_goes_where_nothing_was_written(tmp_path: Path) -> None:
    mark(tmp_path)
    discard_mark(tmp_path)
    assert list(tmp_path.iterdir()) == []
    mark(tmp_path)
    (tmp_path / "graph.py").write_text("x")
    discard_mark(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
