"""What lies in a folder, be it a directory, an archive or a remote one, and which of it are traces."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shapelog.reading.compression import Room

# One file a process; the eight characters are random, the rank is there if torch.distributed was initialised at the first record.
TRACE_NAME = re.compile(r"^dedicated_log_torch_trace_(?:rank_(\d+)_?)?([a-z0-9_]{8})?\.log(\.gz|\.zst)?$")
# tlparse copies the log that it reads into its output, for many ranks into one folder each.
TLPARSE_LOG = "raw.log"
_TLPARSE_RANK = re.compile(r"(?:^|/)rank_(\d{1,9})/raw\.log$")
_LOGS = (".log", ".log.gz", ".log.zst")
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
# Who is told what is read, how many bytes of it are there already, and of how many: 0 where that is not known, -1 once it is over.
Tell = Callable[[str, int, int], None]
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".7z", ".rar")


class Item(NamedTuple):
    """A file in a folder.

    ``name`` is its path there, ``size`` in bytes as it lies there, -1 if nobody tells, ``written`` in seconds since the epoch.
    ``chunks`` gives its bytes from the start, ``part`` those between two offsets where that costs no more than they do. What ``is_far``
    takes long to reach, and has a ``url``.
    """

    name: str
    size: int
    written: float | None
    chunks: Callable[[], Iterator[bytes]]
    part: Callable[[int, int], bytes] | None = None
    path: Path | None = None
    is_far: bool = False
    url: str = ""

    @property
    def base(self) -> str:
        return self.name.rsplit("/", 1)[-1]


class TraceFile(NamedTuple):
    """One trace before it is read: a file, or ``item`` of an archive, a remote directory or standard input, which has no path.

    ``rank`` is the one in its name, None without. ``room`` is what it may take of the disk when it is packed.
    """

    path: Path | None
    name: str
    rank: int | None = None
    item: Item | None = None
    room: Room | None = None


def rank_of(name: str) -> int | None:
    """The rank that the path of a trace tells."""
    match = TRACE_NAME.match(name.rsplit("/", 1)[-1]) or _TLPARSE_RANK.search(name)
    return int(match[1]) if match and match[1] is not None else None


def collection_of(name: str) -> str | None:
    """The folder of a trace that was named by its rank alone, when the traces of one run were gathered there; None for any other."""
    folder, _, base = name.rpartition("/")
    if _TLPARSE_RANK.search(name):
        return folder.rpartition("/")[0]
    match = TRACE_NAME.match(base)
    return folder if match and match[1] is not None and match[2] is None else None


def traces_of(items: Sequence[Item]) -> list[Item]:
    """Those named as PyTorch does; else what tlparse keeps; else the logs; else the only file there is, whatever its name."""
    own = [item for item in items if not item.base.startswith("._")]  # macOS puts such beside each file of an archive
    for found in (
        [item for item in own if TRACE_NAME.match(item.base)],
        [item for item in own if item.base == TLPARSE_LOG],
        [item for item in own if item.base.endswith(_LOGS)],
    ):
        if found:
            return found
    return []


def is_archive_name(name: str) -> bool:
    return name.lower().endswith(_ARCHIVES)


def is_url(path: str) -> bool:
    return bool(_URL.match(path))


def shown(url: str) -> str:
    """A path; a URL without what may be secret: a password, and the signature behind the question mark."""
    if not is_url(url):
        return url
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
