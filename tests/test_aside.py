"""Work that a child process does while this one does something else."""

import os
from pathlib import Path

import pytest

from shapelog.aside import Aside


def test_the_child_makes_it() -> None:
    aside = Aside(lambda: str(os.getpid()).encode())
    made = int(aside.result())
    assert (made != os.getpid()) is hasattr(os, "fork")


def test_much_is_brought_over_whole() -> None:
    made = bytes(range(256)) * 20_000
    assert Aside(lambda: made).result() == made


def test_where_the_child_dies_it_is_made_here() -> None:
    here = os.getpid()

    def work() -> bytes:
        if os.getpid() != here:
            os._exit(3)
        return b"made here"

    assert Aside(work).result() == b"made here"


def test_where_no_child_can_be_had_it_is_made_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    assert Aside(lambda: str(os.getpid()).encode()).result() == str(os.getpid()).encode()


def test_what_the_work_raises_is_raised_here(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Aside(lambda: (tmp_path / "nothing").read_bytes()).result()
    capfd.readouterr()
