"""Opening the selected files: into memory maps, with a problem for each one of several that cannot be read."""

import errno
import io
import os
import sys
from pathlib import Path

import pytest
from packing import RANK, TRACE, put

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_all


def test_a_full_disk_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE)))
    with pytest.raises(ShapelogError, match=r"^standard input: cannot read: No space left on device$"):
        load("-")


def test_a_deleted_or_unreadable_file_is_a_problem_and_the_others_are_opened(tmp_path: Path) -> None:
    names = [put(tmp_path, name=RANK.format(rank, "aaaaaaaa")).name for rank in range(3)]
    selection = select(str(tmp_path))
    (tmp_path / names[0]).unlink()
    (tmp_path / names[2]).unlink()
    (tmp_path / names[2]).mkdir()  # no user can read it as a file
    gone, read, refused = open_all(selection.files)
    assert [trace.is_lost for trace in (gone, read, refused)] == [True, False, True]
    assert [(problem.code, problem.message, problem.severity) for problem in gone.problems] == [
        ("unreadable-file", "it no longer exists", DATA_LOSS)
    ]
    assert refused.problems[0].message == "cannot read: Is a directory"
    (tmp_path / names[1]).unlink()
    with pytest.raises(ShapelogError, match="it no longer exists"):
        open_all(selection.files)
