"""Compiled templates in the user's cache directory: compiling them takes longer than writing a small page."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from jinja2 import BytecodeCache, FileSystemBytecodeCache
from jinja2.bccache import Bucket


class _TemplateCache(FileSystemBytecodeCache):
    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):  # such as a full disk: the template is compiled again next time
            super().dump_bytecode(bucket)


def template_cache(form: str) -> BytecodeCache | None:
    """The cache, ``$XDG_CACHE_HOME/shapelog/templates`` or ``~/.cache/shapelog/templates``; None where no one but this user can be kept
    from writing there.

    Its files are code that is run, as those in ``__pycache__`` are. jinja2 compiles a template anew when its text has changed. Templates
    that are compiled differently have another ``form``.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    try:
        directory = Path(chosen if os.path.isabs(chosen) else "~/.cache", "shapelog", "templates").expanduser()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except (OSError, RuntimeError):  # no home directory, or one that cannot be written
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return None
    return _TemplateCache(str(directory), f"{form}-%s.cache")
