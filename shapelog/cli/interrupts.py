"""Signals that come while a module is imported: an exception may become another one there, and crash an extension module."""

from types import FrameType


def is_importing(frame: FrameType | None) -> bool:
    """Whether a signal that came in this frame interrupted an import."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None
