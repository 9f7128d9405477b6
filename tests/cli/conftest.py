"""Traces that several tests of commands use."""

from pathlib import Path

import make
import pytest


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "made.log"
    path.write_bytes(make.small_trace())
    return path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.log"
    path.write_bytes(make.small_trace() + b"this is no record\n" + make.compile("1/0", make.tensor(8, 16)))
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a trace that recompiles, one that does not, and a file that is not a trace."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.log").write_bytes(make.small_trace())
    (tmp_path / "fine.log").write_bytes(make.trace(make.compile("0/0", make.tensor(8, 16))))
    (tmp_path / "none.log").write_text("nothing")
    return tmp_path
