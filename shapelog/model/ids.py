"""Values that every stage names: compile ids and torch versions."""

import re
from typing import NamedTuple

_LABEL = re.compile(r"^(?:!(\d{1,9}|-)/?)?(?:(\d{1,9})/(\d{1,9}))?(?:#(\d{1,9}))?$")


class CompileId(NamedTuple):
    """One cache entry that Dynamo tried to fill: frame id, compile number in that frame, compiled-autograd id.

    ``generation`` distinguishes ids that came again in one process, as they do after ``torch._dynamo.reset()``; it starts at 1.
    """

    frame: int
    compile: int
    autograd: int | None = None
    generation: int = 1

    def __str__(self) -> str:
        head = "" if self.autograd is None else f"!{self.autograd}"
        body = f"{self.frame}/{self.compile}" if self.frame >= 0 else ""
        label = "/".join(part for part in (head, body) if part) or "-"
        return label if self.generation == 1 else f"{label}#{self.generation}"

    @property
    def ordinal(self) -> str:
        """Its place among the compiles of its function, for a text log without ids: ``no. 2``."""
        return f"no. {self.compile + 1}"


def parse_compile_id(text: str) -> CompileId | None:
    """The id that a label such as ``2/3``, ``!0/1/0`` or ``0/1#2`` names, None if it is no label."""
    match = _LABEL.match(text.strip())
    if not match or not (match[1] or match[2]):
        return None
    autograd = int(match[1]) if match[1] and match[1] != "-" else None
    frame, number = (int(match[2]), int(match[3])) if match[2] else (-1, 0)
    return CompileId(frame, number, autograd, int(match[4] or 1))


_TYPED = re.compile(r"^\s*\[?(.*?)(?:_\d{1,9})?\]?\s*$")


def parse_typed_id(text: str) -> CompileId | None:
    """The same as people type it: also ``[2/1]`` and ``[2/1_1]``, as TORCH_LOGS prints it. An attempt is part of its compile."""
    typed = _TYPED.match(text)
    return parse_compile_id(typed[1]) if typed else None


_VERSION = re.compile(r"\s*(\d{1,4})\.(\d{1,4})")


class TorchVersion(NamedTuple):
    """Major and minor version of PyTorch, and what it knows. Between measured versions the older one's rules hold."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def at_least(self, minor: int) -> bool:
        """Whether it is torch 2.``minor`` or later."""
        return (self.major, self.minor) >= (2, minor)

    @property
    def is_untested(self) -> bool:
        """Whether it is newer than every version whose traces shapelog was tested with."""
        return self > NEWEST_TESTED

    @property
    def reads_sources(self) -> bool:
        """Whether it reads TORCH_COMPILE_DYNAMIC_SOURCES."""
        return self.at_least(7)

    def limit_setting(self, is_accumulated: bool = False) -> str:
        """The setting of the recompile limit; torch 2.6 and earlier know it by another name.

        The accumulated limit counts the entries of all objects that share a function.
        """
        name = "recompile_limit" if self.at_least(7) else "cache_size_limit"
        return f"torch._dynamo.config.{'accumulated_' if is_accumulated else ''}{name}"

    @property
    def reads_dims(self) -> bool:
        """Whether an entry of that list may end in ``:dim``."""
        return self.at_least(13)


NEWEST_TESTED = TorchVersion(2, 15)


def parse_version(text: str) -> TorchVersion | None:
    """``2.13.0+cpu`` → 2.13, None for what begins with no version."""
    match = _VERSION.match(text)
    return TorchVersion(int(match[1]), int(match[2])) if match else None
