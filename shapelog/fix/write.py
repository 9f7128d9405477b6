"""Applies patches to the files: each is replaced as a whole, with its mode, or not at all."""

import os
import shutil
from collections.abc import Sequence
from secrets import token_hex

from shapelog.errors import ShapelogError
from shapelog.fix.edits import FilePatch


def apply_patches(patches: Sequence[FilePatch]) -> None:
    """Raises ShapelogError, before any file is changed, for one that cannot be written or that has changed since it was read."""
    for patch in patches:
        _check(patch)
    for patch in patches:
        path = patch.file.path
        try:
            _replace(path, patch.content)
        except OSError as error:
            raise ShapelogError(f"{path}: cannot write: {error.strerror}") from error


def _check(patch: FilePatch) -> None:
    path = patch.file.path
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ShapelogError(f"{path}: cannot read: {error.strerror}") from error
    if content != patch.file.content:
        raise ShapelogError(f"{path}: the file has changed; run shapelog fix again")
    if not os.access(path, os.W_OK) or not os.access(os.path.dirname(path), os.W_OK):
        raise ShapelogError(f"{path}: cannot write: permission denied")


def _replace(path: str, content: bytes) -> None:
    temporary = os.path.join(os.path.dirname(path), f".shapelog-{token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:  # also when it is interrupted
        if os.path.exists(temporary):
            os.unlink(temporary)
