"""The directory that is extracted to: a new or an empty one, or one that an earlier extraction filled."""

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from shapelog.errors import ShapelogError

INDEX = "index.json"
_FORMAT = "shapelog extraction"


def prepare(directory: Path, overwrite: bool, inputs: Iterable[Path]) -> None:
    """Make the directory, or empty it with ``overwrite``. ``inputs`` are the files of the trace.

    Raises ShapelogError for one that holds anything but the result of an earlier extraction, and where it cannot be made or emptied.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not any(directory.iterdir()):
            return
        if not overwrite:
            raise ShapelogError(
                f"{directory}: not empty; choose another directory, or replace the files of an earlier extraction: --overwrite"
            )
        if not _is_extraction(directory):
            raise ShapelogError(f"{directory}: --overwrite replaces only what shapelog extract wrote, and no {INDEX} of it is there")
        own = directory.resolve()
        for file in inputs:
            if own in file.resolve().parents:
                raise ShapelogError(f"{directory}: the trace {file.name} is in this directory, so it is not emptied; choose another one")
        for entry in list(directory.iterdir()):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    except FileExistsError as error:
        raise ShapelogError(f"{directory}: not a directory") from error
    except OSError as error:
        raise ShapelogError(f"{directory}: cannot write: {error.strerror}") from error


def mark(directory: Path) -> None:
    """Leave a sign there that what is written from now on may be replaced, also where the extraction does not come to its end."""
    try:
        (directory / INDEX).write_text(json.dumps({"format": _FORMAT, "is_complete": False}), encoding="ascii")
    except OSError as error:
        raise ShapelogError(f"{directory / INDEX}: cannot write: {error.strerror}") from error


def discard_mark(directory: Path) -> None:
    """Take the sign away where nothing was written behind it."""
    if os.listdir(directory) == [INDEX]:
        (directory / INDEX).unlink()


def _is_extraction(directory: Path) -> bool:
    try:
        with (directory / INDEX).open("rb") as file:
            return f'"{_FORMAT}"'.encode() in file.read(200)
    except OSError:
        return False
