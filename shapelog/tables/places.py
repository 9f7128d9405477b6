"""Where tables are kept: a directory on this machine, or one of object storage, which fsspec reads and writes.

Names of files are relative to that, with slashes. What fails raises OSError with its reason in one line as ``strerror``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO, ENOENT
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from shapelog.errors import ShapelogError
from shapelog.reading.trace_files import is_url, redacted_url


class Place(Protocol):
    """``address`` finds it again, ``title`` is its name in messages. ``system`` is what DuckDB needs to read it, None for a directory."""

    address: str
    title: str
    system: Any | None

    def make(self) -> None:
        """Make it, where it does not exist."""

    def is_empty(self) -> bool: ...
    def files(self, folder: str) -> list[str]:
        """The names of all files below a folder, in order; [] where it does not exist."""

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError where there is no such file."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole, or not at all."""

    def remove(self, name: str) -> None: ...
    def address_of(self, name: str) -> str: ...


def place_of(address: str | Path) -> Place:
    """The place at a path or a URL. Raises ShapelogError for that of a web server, and without the package for such URLs."""
    text = str(address)
    if not is_url(text):
        return _Directory(Path(address))
    scheme, _, path, _, _ = urlsplit(text)
    if scheme.lower() in ("http", "https"):
        raise ShapelogError(f"{redacted_url(text)}: tables are kept in a directory or in object storage, not on a web server")
    return _Directory(Path(url2pathname(path))) if scheme.lower() == "file" else _ObjectStorage(text)


class _Directory:
    def __init__(self, path: Path) -> None:
        self.path, self.title, self.address, self.system = path, str(path), str(path.absolute()), None

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def is_empty(self) -> bool:
        return not any(self.path.iterdir())

    def files(self, folder: str) -> list[str]:
        return sorted(path.relative_to(self.path).as_posix() for path in (self.path / folder).rglob("*") if path.is_file())

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}-{token_hex(4)}")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        (self.path / name).unlink()

    def address_of(self, name: str) -> str:
        return str(self.path / name)


class _ObjectStorage:
    """Objects are written as a whole; the folders in their names need not be made."""

    def __init__(self, url: str) -> None:
        from shapelog.reading import remote

        self.address, self.title = url, redacted_url(url)
        self.system, path = remote.file_system(url)
        self.root = path.rstrip("/")

    def make(self) -> None:
        pass

    def is_empty(self) -> bool:
        with _one_line_errors():
            try:
                return not self.system.ls(self.root, detail=False)
            except FileNotFoundError:
                return True

    def files(self, folder: str) -> list[str]:
        with _one_line_errors():
            return sorted(str(path)[len(self.root) + 1 :] for path in self.system.find(f"{self.root}/{folder}"))

    def read(self, name: str) -> bytes:
        with _one_line_errors():
            return bytes(self.system.cat_file(f"{self.root}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        with _one_line_errors():
            self.system.pipe_file(f"{self.root}/{name}", content)

    def remove(self, name: str) -> None:
        with _one_line_errors():
            self.system.rm_file(f"{self.root}/{name}")

    def address_of(self, name: str) -> str:
        return str(self.system.unstrip_protocol(f"{self.root}/{name}"))


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Each driver raises errors of its own."""
    from shapelog.reading import remote

    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(ENOENT, "no such file or directory") from error
    except Exception as error:
        raise OSError(EIO, remote.words_of(error)) from error
