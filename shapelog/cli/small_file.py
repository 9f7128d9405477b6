"""Files that are read whole, and that somebody may have named by mistake: settings and baselines."""

import os

# A baseline has some hundred bytes for each piece of code.
_LARGEST = 64 << 20


def read_small_file(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; that of a pipe that nobody writes to is empty. Raises OSError, also for more than 64 MiB, as of /dev/zero."""
    with open(path, "rb", opener=_open_at_once) as file:
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(file.fileno(), True)
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise OSError(None, f"it is larger than {_LARGEST:,} bytes")
    return content


def _open_at_once(path: str, flags: int) -> int:
    """Without waiting until a pipe has a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
