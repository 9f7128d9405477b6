"""Whether a process of this machine is writing a trace."""

import os
from pathlib import Path

_PROCESSES = Path("/proc")


def is_running(process: int) -> bool:
    """Whether a process of that id runs here. A zombie, which has ended and still has an id, does not."""
    if os.name != "posix" or process <= 0:  # on Windows, signal 0 is Ctrl-C
        return False
    try:
        os.kill(process, 0)
    except PermissionError:
        pass  # of another user
    except (OSError, OverflowError):
        return False
    try:
        state = (_PROCESSES / str(process) / "stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return True
    return state not in (b"Z", b"X")


def writes(process: int, path: Path) -> bool:
    """Whether that process runs here and has the file open; where open files are not listed in /proc, whether it runs.

    A trace may come from another machine or from a container; then its process id belongs to another process here.
    """
    if not is_running(process):
        return False
    if not (_PROCESSES / "self" / "fd").is_dir():
        return True
    try:
        wanted = path.stat()
        with os.scandir(_PROCESSES / str(process) / "fd") as entries:
            return any(_is_same(entry.path, wanted) for entry in entries)
    except OSError:  # of another user, or gone
        return False


def _is_same(link: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(link), wanted)
    except OSError:
        return False
