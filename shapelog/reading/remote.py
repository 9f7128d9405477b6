"""Traces behind a URL: the bytes of a file, or the files of a directory. All but those of web servers are read through fsspec."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from http.client import BadStatusLine, HTTPException
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.parse import urlsplit

from shapelog.errors import ShapelogError
from shapelog.reading import web
from shapelog.reading.compression import CHUNK, DamagedError
from shapelog.reading.trace_files import TLPARSE_LOG, WEB_TIMEOUT, FileEntry, ProgressCallback, clock_time, redacted_url
from shapelog.text import file_name

_WEB = ("http://", "https://")
_WEB_ERRORS = (OSError, HTTPException, ValueError, OverflowError)
_DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hf": "huggingface_hub",
}
# The first page of tlparse's output, whose URL people give for its directory.
_PAGE = "index.html"
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created", "modified")


def find(url: str, progress: ProgressCallback | None = None, timeout: float = WEB_TIMEOUT) -> tuple[FileEntry | None, list[FileEntry]]:
    """The file behind a URL, or else the files in that directory. A web server may be silent for ``timeout`` seconds.

    Raises ShapelogError when there is neither, when it cannot be reached, or when the package that reads such URLs is not installed.
    """
    if url.lower().startswith(_WEB):
        return _find_on_web(url, progress, timeout)
    name = redacted_url(url)
    system, path = file_system(url)
    try:
        info = system.info(path)
        if info.get("type") != "directory":
            return _entry(system, info, name, progress), []
        found = [file for file in system.ls(path, detail=True) if file.get("type") != "directory"]
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(name, error) from error
    return None, [_entry(system, file, file_name(file["name"].rstrip("/")), progress) for file in found]


def contents(url: str) -> tuple[list[str], list[str]] | None:
    """The names of the files and the URLs of the directories in one that is not on a web server; None for a file, and on a web server.

    Raises ShapelogError as ``find`` does.
    """
    if url.lower().startswith(_WEB):
        return None
    system, path = file_system(url)
    try:
        if system.info(path).get("type") != "directory":
            return None
        found = system.ls(path, detail=True)
        folders = [str(system.unstrip_protocol(item["name"])) for item in found if item.get("type") == "directory"]
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(redacted_url(url), error) from error
    return [file_name(item["name"]) for item in found if item.get("type") != "directory"], sorted(folders)


def matching(url: str) -> list[str]:
    """The URLs of the files and directories that a pattern with ``*`` matches. Raises ShapelogError as ``find`` does."""
    system, path = file_system(url)
    try:
        return sorted(str(system.unstrip_protocol(found)) for found in system.glob(path))
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(redacted_url(url), error) from error


def _find_on_web(url: str, progress: ProgressCallback | None, timeout: float) -> tuple[FileEntry | None, list[FileEntry]]:
    name = redacted_url(url)
    try:
        folder = url.removesuffix(_PAGE) if urlsplit(url).path.endswith(f"/{_PAGE}") else url
        if not folder.endswith("/"):
            return _web_entry(url, name, progress, timeout), []
        log = folder + TLPARSE_LOG
        found = [log] if web.exists(log, timeout) else web.linked_files(folder, timeout)  # the page of tlparse has no link to it
    except _WEB_ERRORS as error:
        raise _refusal(name, error) from error
    return None, [_web_entry(file, file_name(file.partition("?")[0]), progress, timeout) for file in found]


def _web_entry(url: str, name: str, progress: ProgressCallback | None, timeout: float) -> FileEntry:
    def opened() -> _Opened:
        response = web.open_url(url, timeout)
        return _Opened(response, response.read1, response.length or 0)

    return FileEntry(name, -1, None, lambda: _chunks(opened, _WEB_ERRORS, name, progress), is_remote=True, url=url)


class _Opened(NamedTuple):
    """What can be read from, how, and how many bytes it announced: 0 where it did not."""

    file: Any
    read: Callable[[int], bytes]
    size: int


def _chunks(
    opened: Callable[[], _Opened], errors: tuple[type[Exception], ...], name: str, progress: ProgressCallback | None
) -> Iterator[bytes]:
    """The bytes of a file. Raises ShapelogError where not one came, and DamagedError where the last ones did not."""
    done = expected = 0
    try:
        file, read, expected = opened()
        with closing(file):
            while chunk := read(CHUNK):
                done += len(chunk)
                yield chunk
                if progress:
                    progress(name, done, expected)
    except errors as error:
        if done:
            raise DamagedError(f"the connection ended early ({words_of(error)})") from error
        raise _refusal(name, error) from error
    finally:
        if progress:
            progress(name, done, -1)
    if done < expected:
        raise DamagedError(f"only {done:,} of {expected:,} bytes were received")


def file_system(url: str) -> tuple[Any, str]:
    """The file system of fsspec that has a URL, and the path in it. Raises ShapelogError where its package is not installed."""
    scheme = urlsplit(url).scheme.lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ShapelogError(f'{redacted_url(url)}: such URLs require an extra package: pip install "shapelog[remote]"') from error
    try:
        system, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        driver = _DRIVERS.get(scheme)
        what = f"pip install {driver}" if driver else str(error).split("\n", 1)[0]
        raise ShapelogError(f"{redacted_url(url)}: {scheme}:// requires an extra package: {what}") from error
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(redacted_url(url), error) from error
    return system, path


def _entry(system: Any, info: dict[str, Any], name: str, progress: ProgressCallback | None) -> FileEntry:
    path, size = info["name"], info.get("size")
    size = -1 if size is None else int(size)

    def opened() -> _Opened:
        file = system.open(path, "rb")
        return _Opened(file, file.read, max(size, 0) or getattr(file, "size", 0) or 0)

    def read(start: int, end: int) -> bytes:
        try:
            return bytes(system.cat_file(path, start=start, end=min(end, size)))
        except Exception as error:  # each driver raises errors of its own
            raise _refusal(name, error) from error

    return FileEntry(
        name=name,
        size=size,
        modified=clock_time(_modified(info)),
        chunks=lambda: _chunks(opened, (Exception,), name, progress),  # each driver raises errors of its own
        read_range=None if size <= 0 else read,
        is_remote=True,
        url=str(system.unstrip_protocol(path)),
    )


def _modified(info: dict[str, Any]) -> float | None:
    for key in _TIMES:
        value = info.get(key)
        if isinstance(value, str):
            with suppress(ValueError):
                value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
    return None


def _refusal(name: str, error: Exception) -> ShapelogError:
    if isinstance(error, ShapelogError):
        return error
    status = getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return ShapelogError(f"{name}: no such file or directory")
    if isinstance(error, PermissionError) or status in (401, 403):
        return ShapelogError(f"{name}: no permission to read it ({words_of(error)})")
    return ShapelogError(f"{name}: cannot read: {words_of(error)}")


def words_of(error: Exception) -> str:
    """The message of an error in one line and without URLs, which may hold secrets."""
    if isinstance(error, URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if type(error) is BadStatusLine:
        return "its answer is not HTTP"
    if isinstance(error, TimeoutError):
        return "the server is not responding; wait longer with --timeout SECONDS"
    text = " ".join(re.sub(r"[a-z0-9+]+://\S+", "", str(error)).split())
    return text[:200].strip(" ,:") or type(error).__name__
