"""What a user named → the path or URL of each job.

A file or an archive is one job. A directory with traces in it is one job, and so is one in which torchrun or tlparse keeps a directory for
each rank. Any other directory is searched: each directory below it that is a job, and each archive, gives one; logs of other names that
lie in it are one more.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from shapelog.errors import ShapelogError
from shapelog.reading import inputs
from shapelog.reading.trace_files import TLPARSE_LOG, TRACE_NAME, is_archive_name, is_url, tlparse_logs, torchrun_logs, trace_names

_WILD = ("*", "[")
# ``attempt_0/0/stderr.log`` is that of a rank of one run.
_DEEPEST = 2


def jobs_of(sources: Iterable[str]) -> list[str]:
    """The path or URL of each job, each once, in the order of the sources. One that cannot be looked at counts as a job: reading it gives
    the reason.
    """
    return list(dict.fromkeys(found for source in sources for path in _matching(source) for found in (list(_below(path)) or [path])))


def runs_of(path: str) -> list[tuple[str, tuple[str, ...]]]:
    """The job of each run in a directory, the oldest first: the path of its first file, and all its files.

    Anything but a directory on this machine is one job, without files.
    """
    if is_url(path) or not os.path.isdir(path):
        return [(path, ())]
    try:
        runs = inputs.runs_in(Path(path))
    except ShapelogError:
        runs = []
    return [(str(files[0]), tuple(map(str, files))) for files in runs] or [(path, ())]


def _matching(source: str) -> list[str]:
    """What a pattern matches; anything else as it is."""
    if not any(sign in source for sign in _WILD) or os.path.lexists(source):
        return [source]
    try:
        return _matching_urls(source) if is_url(source) else sorted(glob.glob(source, recursive=True)) or [source]
    except ShapelogError:
        return [source]


def _matching_urls(pattern: str) -> list[str]:
    from shapelog.reading import remote

    return [pattern] if pattern.lower().startswith(("http://", "https://")) else remote.matching(pattern) or [pattern]


def _below(source: str) -> Iterator[str]:
    """The jobs at or below a path or URL."""
    if is_url(source):
        yield from _below_url(source, frozenset())
    elif os.path.isdir(source):
        yield from _below_directory(source, set())
    else:
        yield source


def _below_directory(where: str, seen: set[str]) -> Iterator[str]:
    real = os.path.realpath(where)
    if real in seen:  # a loop of links
        return
    seen.add(real)
    try:
        with os.scandir(where) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        files = [entry.name for entry in entries if entry.is_file()]
        folders = [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        yield where
        return
    if _has_traces(files) or _has_ranks(where, folders):
        yield where
        return
    inner = [job for name in folders for job in _below_directory(os.path.join(where, name), seen)]
    inner += [os.path.join(where, name) for name in files if is_archive_name(name)]
    yield from inner
    if trace_names(files) if inner else _is_one_run(where):
        yield where


def _has_traces(names: Iterable[str]) -> bool:
    """Whether there are files with the names that PyTorch and tlparse give to traces; a file with another name may be any log."""
    return any(TRACE_NAME.match(name) or name == TLPARSE_LOG for name in names)


def _has_ranks(where: str, folders: Iterable[str]) -> bool:
    """Whether tlparse or torchrun made a directory for each rank in it; one for each run of torchrun holds several jobs."""
    launched = (log.count("/") <= _DEEPEST for log in torchrun_logs(Path(where)))
    return any(os.path.isfile(os.path.join(where, log)) for log in tlparse_logs(folders)) or any(launched)


def _is_one_run(where: str) -> bool:
    """Whether there are logs of any name."""
    try:
        inputs.select(where)
    except ShapelogError:
        return False
    return True


def _below_url(url: str, above: frozenset[str]) -> Iterator[str]:
    from shapelog.reading import remote

    try:
        found = remote.contents(url)
    except ShapelogError:
        found = None
    if found is None or url in above:
        yield url
        return
    files, folders = found
    inner = [] if _has_traces(files) else [job for name in folders for job in _below_url(name, above | {url})]
    if inner or not files:
        yield from inner
    else:
        yield url
