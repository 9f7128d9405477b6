"""Traces behind a URL, through fsspec: the bytes of a file, the files of a directory."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from shapelog.errors import ShapelogError
from shapelog.reading.compression import CHUNK, DamagedError
from shapelog.reading.trace_files import TLPARSE_LOG, Item, Tell, shown

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
# What a web server has sent of such a piece is lost when the connection breaks.
_WEB_CHUNK = 1 << 16
# What stands for its directory on a web server, as the first page of tlparse does.
_PAGE = "index.html"
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "created", "modified")


def look(url: str, tell: Tell | None = None) -> tuple[Item | None, list[Item]]:
    """The file behind a URL, or else what lies in that directory.

    Raises ShapelogError when there is neither, when it cannot be reached, or when what reads such URLs is not installed.
    """
    name = shown(url)
    system, path = _system(url)
    try:
        if _is_web(url):
            path = path.removesuffix(_PAGE) if urlsplit(url).path.endswith(f"/{_PAGE}") else path
            is_folder = path.endswith("/")
            entry: dict[str, Any] = {"name": path, "size": None} if not is_folder else {}
        else:
            entry = system.info(path)
            is_folder = entry.get("type") == "directory"
        if not is_folder:
            return _item(system, url, entry, name, tell), []
        entries = [found for found in system.ls(path, detail=True) if found.get("type") != "directory"]
        if _is_web(url) and system.exists(path + TLPARSE_LOG):  # its own page does not name it
            entries = [{"name": path + TLPARSE_LOG, "size": None}]
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(name, error) from error
    return None, [_item(system, url, found, str(found["name"]).rstrip("/").rsplit("/", 1)[-1].partition("?")[0], tell) for found in entries]


def _is_web(url: str) -> bool:
    return urlsplit(url).scheme.lower() in _WEB


def _system(url: str) -> tuple[Any, str]:
    """fsspec's file system for this URL, and the path in it."""
    scheme = urlsplit(url).scheme.lower()
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ShapelogError(f'{shown(url)}: reading URLs takes one more package: pip install "shapelog[remote]"') from error
    try:
        system, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as error:
        driver = _DRIVERS.get(scheme)
        what = f"pip install {driver}" if driver else str(error).split("\n", 1)[0]
        raise ShapelogError(f"{shown(url)}: reading {scheme}:// takes one more package: {what}") from error
    except Exception as error:  # each driver raises errors of its own
        raise _refusal(shown(url), error) from error
    return system, path


def _item(system: Any, url: str, entry: dict[str, Any], name: str, tell: Tell | None) -> Item:
    path, size = entry["name"], entry.get("size")
    size = -1 if size is None else int(size)
    is_web = _is_web(url)

    def chunks() -> Iterator[bytes]:
        done = 0
        try:
            # without a block size, a web server is read as it sends, whether it can send parts or not
            with system.open(path, "rb", **({"block_size": 0} if is_web else {})) as file:
                known = max(size, 0) or getattr(file, "size", 0) or _stated(file)
                while chunk := file.read(_WEB_CHUNK if is_web else CHUNK):
                    done += len(chunk)
                    yield chunk
                    if tell:
                        tell(name, done, known)
        except Exception as error:  # each driver raises errors of its own
            if done:
                raise DamagedError(f"the connection ended early ({_words(error)})") from error
            raise _refusal(name, error) from error
        finally:
            if tell:
                tell(name, done, -1)
        if known and done < known:
            raise DamagedError(f"only {done:,} of {known:,} bytes were sent")

    def part(start: int, end: int) -> bytes:
        try:
            return bytes(system.cat_file(path, start=start, end=min(end, size)))
        except Exception as error:  # each driver raises errors of its own
            raise _refusal(name, error) from error

    return Item(
        name,
        size,
        _written(entry),
        chunks,
        None if is_web or size <= 0 else part,
        is_far=True,
        url=path if is_web else str(system.unstrip_protocol(path)),
    )


def _stated(file: Any) -> int:
    """The length that a web server announced, 0 where it did not, or where it packs what it sends."""
    headers = getattr(getattr(file, "r", None), "headers", {})
    length = str(headers.get("Content-Length", ""))
    return int(length) if length.isdecimal() and "Content-Encoding" not in headers else 0


def _written(entry: dict[str, Any]) -> float | None:
    for key in _TIMES:
        value = entry.get(key)
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
        error = error.__cause__  # that of a web server hides what it was
    status = getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return ShapelogError(f"{name}: there is no such file or directory")
    if isinstance(error, PermissionError) or status in (401, 403):
        return ShapelogError(f"{name}: no permission to read it ({_words(error)})")
    return ShapelogError(f"{name}: cannot read: {_words(error)}")


def _words(error: Exception) -> str:
    """What a driver says, in one line and without URLs, which may hold secrets."""
    text = " ".join(re.sub(r"[a-z0-9+]+://\S+", "", str(error)).split())
    return text[:200].strip(" ,:") or type(error).__name__
