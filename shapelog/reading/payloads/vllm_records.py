"""What vLLM writes into a trace (vLLM 0.11 and later): artifacts in JSON, and graphs dumped under names of its own.

``vllm_compile_event`` ``{"type": "fresh_compile"}`` and ``vllm_compilation_config`` open the compilation of one model part;
``vllm_piecewise_split_graph`` is that part cut at its splitting operations. ``vllm_piecewise_compile_start`` opens the compilation of one
piece for a range of sizes, or for one. Then come the graphs of the piece (``vllm_submod_*``, ``vllm_subgraph_*``), the patterns that passes
look for (``vllm_patterns.<Pass>``) and the graph after each pass (``vllm_post_grad.<number>.<Pass>``).
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

EVENT, CONFIG, PIECE = "vllm_compile_event", "vllm_compilation_config", "vllm_piecewise_compile_start"
BEFORE_PASSES = "before_post_grad_graph"
PREFIX = "vllm_"
_PASS = re.compile(r"^vllm_post_grad\.(\d+)\.(.+)$", re.S)


class Piece(NamedTuple):
    """One piece of a model that is compiled for sizes from ``start`` to ``end``, both included; ``end`` None has no bound."""

    number: int
    submodule: str
    total: int
    start: int
    end: int | None
    is_single: bool
    is_cuda_graph_size: bool

    @property
    def sizes(self) -> str:
        """``size 8``, ``1 to 2048`` or ``1 or more``."""
        if self.is_single:
            return f"size {self.start}"
        return f"{self.start} or more" if self.end is None else f"{self.start} to {self.end}"


# What vLLM writes for a range without an end.
_ENDLESS = 1 << 40


def parse_piece(payload: str) -> Piece:
    """Raises ValueError for text that is no JSON object, KeyError and TypeError for one without the sizes."""
    body = _object(payload)
    start, end = int(body["compile_range_start"]), int(body["compile_range_end"])
    return Piece(
        number=int(body.get("piecewise_index") or 0),
        submodule=str(body.get("submod_name") or ""),
        total=int(body.get("total_piecewise_compiles") or 0),
        start=start,
        end=None if end >= _ENDLESS else end,
        is_single=body.get("is_single_size") is True,
        is_cuda_graph_size=body.get("is_cudagraph_capture_size") is True,
    )


def parse_config(payload: str) -> dict[str, str]:
    """The settings of a compilation, in their order. Raises ValueError for text that is no JSON object."""
    return {str(name): "" if value is None else str(value) for name, value in _object(payload).items()}


def parse_event(payload: str) -> str:
    """``fresh_compile`` or ``aot_cache_hit``. Raises ValueError for text that is no JSON object."""
    return str(_object(payload).get("type") or "")


def pass_of(name: str) -> tuple[int, str] | None:
    """(number, pass) of the graph that a pass leaves, None for another graph."""
    found = _PASS.match(name)
    return (int(found[1]), found[2]) if found else None


def _object(payload: str) -> Mapping[str, Any]:
    body = orjson.loads(payload)
    if not isinstance(body, dict):
        raise ValueError("expected a JSON object")
    return body
