"""Traces behind a URL, read through fsspec: the bytes of a file, or the files of a directory."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from shapelog.errors import ShapelogError
from shapelog.reading.compression import CHUNK, DamagedError
from shapelog.reading.trace_files import TLPARSE_LOG, FileEntry, ProgressCallback, redacted_url
from shapelog.text import file_name

_WEB = ("http", "https")
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
# When the connection to a web server breaks, the chunk being received is lost.
_WEB_CHUNK = 1 << 16
# The first page of tlparse's output, whose URL people give for its directory.
_PAGE = "index.html"
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created", "modified")


def find(url: str, progress: ProgressCallback | None = None) -> tuple[FileEntry | None, list[FileEntry]]:
    """The file behind a URL, or else the files in that directory.

    Raises ShapelogError when there is neither, when it cannot be reached, or when the package that reads such URLs is not installed.
    """
    name = redacted_url(url)
    system, path = _file_system(url)
    try:
        if _is_web(url):
            path = path.removesuffix(_PAGE) if urlsplit(url).path.endswith(f"/{_PAGE}") else path
            is_directory = path.endswith("/")
            info: dict[str, Any] = {"name": path, "size": None} if not is_directory else {}
        else:
            info = system.info(path)
            is_directory = info.get("type") == "directory"
        if not is_directory:
            return _entry(system, url, info, name, progress), []
        found = [file for file in system.ls(path, detail=True) if file.get("type") != "directory"]
        if _is_web(url) and system.exists(path + TLPARSE_LOG):  # the page of tlparse has no link to it
            found = [{"name": path + TLPARSE_LOG, "size": None}]
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(name, error) from error
    return None, [_entry(system, url, file, file_name(file["name"].rstrip("/")).partition("?")[0], progress) for file in found]


def _is_web(url: str) -> bool:
    return urlsplit(url).scheme.lower() in _WEB


def _file_system(url: str) -> tuple[Any, str]:
    scheme = urlsplit(url).scheme.lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ShapelogError(f'{redacted_url(url)}: reading URLs takes one more package: pip install "shapelog[remote]"') from error
    try:
        system, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        driver = _DRIVERS.get(scheme)
        what = f"pip install {driver}" if driver else str(error).split("\n", 1)[0]
        raise ShapelogError(f"{redacted_url(url)}: reading {scheme}:// takes one more package: {what}") from error
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(redacted_url(url), error) from error
    return system, path


def _entry(system: Any, url: str, info: dict[str, Any], name: str, progress: ProgressCallback | None) -> FileEntry:
    path, size = info["name"], info.get("size")
    size = -1 if size is None else int(size)
    is_web = _is_web(url)

    def chunks() -> Iterator[bytes]:
        done = 0
        try:
            # block_size=0 reads a web server's response as a stream, whether or not the server supports ranges
            with system.open(path, "rb", **({"block_size": 0} if is_web else {})) as file:
                expected = max(size, 0) or getattr(file, "size", 0) or _content_length(file)
                while chunk := file.read(_WEB_CHUNK if is_web else CHUNK):
                    done += len(chunk)
                    yield chunk
                    if progress:
                        progress(name, done, expected)
        except Exception as error:  # each driver raises errors of its own
            if done:
                raise DamagedError(f"the connection ended early ({_words(error)})") from error
            raise _refusal(name, error) from error
        finally:
            if progress:
                progress(name, done, -1)
        if expected and done < expected:
            raise DamagedError(f"only {done:,} of {expected:,} bytes were sent")

    def read(start: int, end: int) -> bytes:
        try:
            return bytes(system.cat_file(path, start=start, end=min(end, size)))
        except Exception as error:  # each driver raises errors of its own
            raise _refusal(name, error) from error

    return FileEntry(
        name=name,
        size=size,
        modified=_modified(info),
        chunks=chunks,
        read_range=None if is_web or size <= 0 else read,
        is_remote=True,
        url=path if is_web else str(system.unstrip_protocol(path)),
    )


def _content_length(file: Any) -> int:
    """The length that a web server announced, 0 if it did not or if it compresses the response."""
    headers = getattr(getattr(file, "r", None), "headers", {})
    length = str(headers.get("Content-Length", ""))
    return int(length) if length.isdecimal() and "Content-Encoding" not in headers else 0


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
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # fsspec reports errors of a web server as FileNotFoundError
    status = getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return ShapelogError(f"{name}: there is no such file or directory")
    if isinstance(error, PermissionError) or status in (401, 403):
        return ShapelogError(f"{name}: no permission to read it ({_words(error)})")
    return ShapelogError(f"{name}: cannot read: {_words(error)}")


def _words(error: Exception) -> str:
    """A driver's message in one line and without URLs, which may hold secrets."""
    text = " ".join(re.sub(r"[a-z0-9+]+://\S+", "", str(error)).split())
    return text[:200].strip(" ,:") or type(error).__name__
