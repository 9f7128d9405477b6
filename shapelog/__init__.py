"""shapelog: why torch.compile recompiled, and what to mark dynamic.

``load(path)`` reads a trace that PyTorch wrote under ``TORCH_TRACE``; ``analyze(trace)`` explains it; ``advise(trace)`` finds what to mark
dynamic; ``with record() as trace:`` records one in this process.
"""

from __future__ import annotations

TYPE_CHECKING = False  # without typing, whose import takes a while in which Ctrl-C would end with a traceback
if TYPE_CHECKING:
    from typing import Any

    from shapelog.api import advise, analyze, load
    from shapelog.recording import record

__version__ = "0.1.0"
__all__ = ["__version__", "advise", "analyze", "load", "record"]


def __getattr__(name: str) -> Any:
    if name in ("advise", "analyze", "load", "record"):
        from shapelog import api

        return getattr(api, name)
    raise AttributeError(f"module 'shapelog' has no attribute {name!r}")
