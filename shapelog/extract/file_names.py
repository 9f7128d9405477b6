"""The names of files and directories, made of ids and kinds: of a name in the trace, letters and digits are kept."""

import re

from shapelog.model.compile import Compile
from shapelog.model.ids import CompileId
from shapelog.model.trace import Trace
from shapelog.reading.payloads.vllm_records import Piece

# The record kinds that are opened most often have short names.
_STEMS = {"dynamo_output_graph": "graph", "dynamo_cpp_guards_str": "guards", "dynamo_guards": "guard_list"}
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST = 80
# Records written once, before the first attempt, and about all of them.
_OF_ALL_ATTEMPTS = frozenset(("dynamo_start", "recompile_reasons"))
# Windows keeps these for devices, whatever comes after a dot.
_DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))))


def compile_directory(id: CompileId) -> str:
    """``2_3`` for 2/3, ``2_3.2`` for 2/3#2, ``autograd0_2_3`` for !0/2/3, and ``autograd0`` for the capture !0."""
    frame = f"{id.frame}_{id.compile}" if id.frame >= 0 else ""
    head = "" if id.autograd is None else f"autograd{id.autograd}"
    name = "_".join(part for part in (head, frame) if part) or "unnamed"
    return name if id.generation == 1 else f"{name}.{id.generation}"


def process_directory(rank: int | None, process: int) -> str:
    """``rank_3``, outside of a distributed run ``process_4242``."""
    return f"process_{process}" if rank is None else f"rank_{rank}"


def attempt_directory(kind: str, name: str, attempt: int, last: int) -> str:
    """``attempt_0`` for a record of an attempt before the ``last``, else ""."""
    return f"attempt_{attempt}" if attempt < last and _OF_ALL_ATTEMPTS.isdisjoint((kind, name)) else ""


def subgraph_directory(name: str) -> str:
    """``subgraph_region_1`` for the records of a subgraph, else ""."""
    return file_stem("", f"subgraph_{name}") if name else ""


def piece_directory(prefix: str, piece: Piece) -> str:
    """``backbone.submod_2.1_to_2048`` for what vLLM compiles of a part of a model for some sizes."""
    return file_stem("", ".".join(filter(None, (prefix, piece.submodule, piece.sizes.replace(" ", "_")))))


def download_stems(trace: Trace) -> dict[Compile, str]:
    """What the names of a compilation's files begin with where they have no directories: ``2_3``, of several processes ``rank_1-2_3``."""
    return {
        compile: (f"{process_directory(rank.number, rank.process)}-" if len(trace.ranks) > 1 else "") + compile_directory(compile.id)
        for rank in trace.ranks
        for frame in rank.frames
        for compile in frame.compiles
    }


def file_stem(kind: str, name: str) -> str:
    """The name of a payload's file without its suffix: ``graph``, ``fx_graph_cache_miss``, ``graph_dump_vllm_split``."""
    text = (name or kind) if kind == "artifact" else f"{_STEMS.get(kind, kind)}_{name}" if name else _STEMS.get(kind, kind)
    stem = _STRANGE.sub("_", text).strip("._-")[:_LONGEST] or "record"
    return f"{stem}_" if stem.partition(".")[0].lower() in _DEVICES else stem


class Paths:
    """Paths that were not given before, also where capital letters do not count: the second ``a/b.py`` is ``a/b.2.py``."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def new(self, stem: str, suffix: str = "") -> str:
        """A path for ``stem`` + ``suffix``."""
        key = f"{stem}{suffix}".lower()
        number = self._last.get(key, 0) + 1
        while (path := f"{stem}.{number}{suffix}" if number > 1 else f"{stem}{suffix}").lower() in self._taken:
            number += 1
        self._last[key] = number
        self._taken.add(path.lower())
        return path
