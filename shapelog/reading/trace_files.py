"""The names of trace files and text logs, and a file wherever it is: in a directory, an archive or behind a URL."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from shapelog.errors import ShapelogError
from shapelog.reading.compression import CHUNK, DamagedError, UnpackQuota, decompress, read_range
from shapelog.text import file_name

# PyTorch writes one file per process; the eight characters are random, and the rank is there if torch.distributed was initialized at
# the first record.
TRACE_NAME = re.compile(r"^dedicated_log_torch_trace_(?:rank_(\d{1,18})_?)?([a-z0-9_]{8})?\.log(\.gz|\.zst)?$")
# tlparse copies the log that it reads into its output, with one directory per rank if there are several.
TLPARSE_LOG = "raw.log"
# How messages name what was piped in.
STANDARD_INPUT = "standard input"
_TLPARSE_RANK = re.compile(r"(?:^|/)rank_(\d{1,9})/raw\.log$")
_LOG_SUFFIXES = (".log", ".log.gz", ".log.zst")
_TEXT_SUFFIXES = tuple(f"{end}{packed}" for end in (".txt", ".out", ".err") for packed in ("", ".gz", ".zst"))
# torchrun --log-dir keeps the output of each rank in a directory of its number; others write the rank into the name.
_TORCHRUN_LOG = re.compile(r"(?:^|/)(\d{1,9})/std(?:err|out)\.log$")
_ERRORS, _OUTPUT = "stderr.log", "stdout.log"
_RANKED_LOG = re.compile(r"(?i)^(?:.*[._-])?rank[._-]?(\d{1,9})(?:[._-].*)?\.(?:log|txt|out|err)(?:\.gz|\.zst)?$")
_ONLY_RANK = re.compile(r"(?i)^rank[._-]?\d{1,9}\.\w+(?:\.gz|\.zst)?$")
# In a text log, and in no other text.
_OF_THE_COMPILER = re.compile(
    rb"torch[._/\\]+_(?:dynamo|inductor)\b|\[__[a-z]\w+\]|triggered by the following guard|TREE_GUARD_MANAGER|GuardFail\("
)
_SEARCHED, _SEARCHED_REMOTELY = 64 << 20, 1 << 20
# How many files of a remote directory are opened to see whether they mention the compiler: a page may name any number.
MOST_OPENED_REMOTELY = 100
_ARCHIVE_SUFFIXES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".7z", ".rar")
# The year 3058.
_LAST_TIME = float(1 << 35)
# How many seconds a web server may send nothing.
WEB_TIMEOUT = 30.0
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
# Called with the name of what is being read, the bytes read so far, and its size: 0 if unknown, -1 once it is complete.
ProgressCallback = Callable[[str, int, int], None]


class FileEntry(NamedTuple):
    """A file in a directory, an archive or behind a URL.

    ``name`` is its path there, ``size`` its stored size in bytes, -1 if unknown, ``modified`` in seconds since the epoch.
    ``chunks`` reads it from the start; ``read_range`` reads the bytes between two offsets, None where that would read everything before
    them. Reading an entry that ``is_remote`` takes long; it has a ``url``.
    """

    name: str
    size: int
    modified: float | None
    chunks: Callable[[], Iterator[bytes]]
    read_range: Callable[[int, int], bytes] | None = None
    path: Path | None = None
    is_remote: bool = False
    url: str = ""

    @property
    def base_name(self) -> str:
        return file_name(self.name)


def clock_time(seconds: float | None) -> float | None:
    """A time that a clock may have shown, in seconds since the epoch; None for any other, as headers of archives may have."""
    return seconds if seconds is not None and 0 < seconds < _LAST_TIME else None


def entry_within(handle: BinaryIO, name: str, start: int, size: int, modified: float | None = None, damage: str = "") -> FileEntry:
    """A file that lies in an open one from ``start`` on. Reading it ends with a DamagedError about ``damage``, if there is any."""

    def read(first: int, last: int) -> bytes:
        return read_range(handle, start + first, start + min(last, size))

    def chunks() -> Iterator[bytes]:
        for first in range(0, size, CHUNK):
            yield read(first, first + CHUNK)
        if damage:
            raise DamagedError(damage)

    return FileEntry(name, size, modified, chunks, read)


class TraceFile(NamedTuple):
    """One trace before it is read: a ``path``, or else an ``entry`` of an archive or a remote directory, or standard input.

    ``name`` is how messages call it, ``rank`` the one in its path, ``quota`` what it may unpack to if it is compressed. ``found_in`` is the
    directory or the archive that it was found in, "" where it was given by its own name.
    """

    path: Path | None
    name: str
    rank: int | None = None
    entry: FileEntry | None = None
    quota: UnpackQuota | None = None
    found_in: str = ""

    @property
    def place(self) -> str:
        """Its name, after that of what it was found in."""
        return f"{self.found_in}: {self.name}" if self.found_in else self.name


def rank_of(path: str) -> int | None:
    """The rank in the path of a trace or of a text log."""
    name = file_name(path)
    match = TRACE_NAME.match(name) or _TLPARSE_RANK.search(path) or _TORCHRUN_LOG.search(path) or _RANKED_LOG.match(name)
    return int(match[1]) if match and match[1] is not None else None


def collected_in(path: str) -> str | None:
    """The directory into which somebody collected the traces of one run, named by rank alone; None for a trace named otherwise."""
    directory, name = path.rpartition("/")[0], file_name(path)
    if _TLPARSE_RANK.search(path) or _TORCHRUN_LOG.search(path):
        return directory.rpartition("/")[0]
    match = TRACE_NAME.match(name)
    is_named_by_rank = match[1] is not None and match[2] is None if match else _ONLY_RANK.match(name)
    return directory if is_named_by_rank else None


def trace_names(names: Iterable[str]) -> list[str]:
    """The names of traces among the paths in a directory: those that PyTorch gives, else the logs that tlparse copies, else all logs."""
    own = [name for name in names if not file_name(name).startswith("._")]  # macOS adds such a file for each file of an archive
    for found in (
        [name for name in own if TRACE_NAME.match(file_name(name))],
        [name for name in own if file_name(name) == TLPARSE_LOG],
        [name for name in own if name.endswith(_LOG_SUFFIXES)],
    ):
        if found:
            return found
    return []


def traces_among(entries: Sequence[FileEntry]) -> list[FileEntry]:
    """The entries whose names are those of traces; of a process whose output torchrun kept, what it wrote to standard error."""
    names = set(trace_names(entry.name for entry in entries))
    names -= {entry.name.removesuffix(_ERRORS) + _OUTPUT for entry in entries if entry.size and entry.base_name == _ERRORS}
    return [entry for entry in entries if entry.name in names]


def is_text_name(name: str) -> bool:
    """Whether a file of that name may be a text log: any text may have it."""
    return name.lower().endswith(_TEXT_SUFFIXES)


def logs_among(entries: Sequence[FileEntry]) -> list[FileEntry]:
    """The entries with the names of traces; where there is none, those with the name of any text that mention the compiler."""
    texts = [entry for entry in entries if is_text_name(entry.name) and entry.size]
    searched = texts[:MOST_OPENED_REMOTELY] if any(entry.is_remote for entry in texts) else texts
    return traces_among(entries) or [entry for entry in searched if _mentions_the_compiler(entry)]


def tlparse_logs(directories: Iterable[str]) -> list[str]:
    """The logs that tlparse copied into those of the directories that are named after ranks."""
    return [log for name in directories if rank_of(log := f"{name}/{TLPARSE_LOG}") is not None]


def torchrun_logs(where: Path) -> Iterator[str]:
    """The logs of the ranks in a directory that was given to torchrun --log-dir, or in one of the directories that torchrun made there."""
    for pattern in ("[0-9]*", "attempt_*/[0-9]*", "*/attempt_*/[0-9]*"):
        found = [path.relative_to(where).as_posix() for path in where.glob(f"{pattern}/std???.log")]
        if found:
            yield from sorted(found)
            return


def _mentions_the_compiler(entry: FileEntry) -> bool:
    left, tail = _SEARCHED_REMOTELY if entry.is_remote else _SEARCHED, b""
    with suppress(OSError, DamagedError, ShapelogError):
        for chunk in decompress(entry.chunks(), entry.name):
            if _OF_THE_COMPILER.search(tail + chunk):
                return True
            left, tail = left - len(chunk), chunk[-64:]
            if left <= 0:
                break
    return False


def is_archive_name(name: str) -> bool:
    return name.lower().endswith(_ARCHIVE_SUFFIXES)


def is_url(path: str) -> bool:
    return bool(_URL.match(path))


def redacted_url(url: str) -> str:
    """A URL without what may be secret: a password, and the signature in its query. A path is returned as it is."""
    if not is_url(url):
        return url
    scheme, _, rest = url.partition("://")  # by hand, since an invalid one is shown, too
    host, slash, path = re.split("[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
