"""What everything in HTML is made with: templates that escape every value, and fail on a name that is not there."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket

from shapelog import __version__
from shapelog.bundled import template_dir


class Compiled(FileSystemBytecodeCache):
    """Templates that were compiled before, in the user's own directory of temporary files, where jinja2 keeps them.

    It checks that nobody else can write there. Compiled code depends on the settings below, so the names tell which ones it was made with.
    """

    def __init__(self, is_finalized: bool) -> None:
        super().__init__(pattern=f"__shapelog_{__version__}_escaped{'_finalized' if is_finalized else ''}_%s.cache")

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):  # a full disk keeps no page from being made
            super().dump_bytecode(bucket)


def _compiled(is_finalized: bool) -> Compiled | None:
    try:
        return Compiled(is_finalized)
    except (OSError, RuntimeError):  # no such directory can be had, or another user made it
        return None


def environment(finalize: Callable[[Any], Any] | None = None) -> Environment:
    """``finalize`` is given every value before it is escaped."""
    return Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        auto_reload=False,
        bytecode_cache=_compiled(finalize is not None),
        trim_blocks=True,
        lstrip_blocks=True,
    )
