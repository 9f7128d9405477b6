"""What vLLM writes into a trace: artifacts in JSON, and graphs dumped under names of its own.

From vLLM 0.16 on (read in the sources of 0.16, 0.18, 0.24, 0.29 and 0.33: vllm/compilation/backends.py, piecewise_backend.py, codegen.py),
``vllm_compilation_config`` opens the compilation of one model part; ``vllm_piecewise_split_graph`` is that part cut at its splitting
operations. ``vllm_piecewise_compile_start`` opens the compilation of one piece for a range of sizes, or for one; for the first of them the
graph of the piece follows (``vllm_submod_*``). ``vllm_execution_code`` (0.24 and later) ends a part; it is all that is written of one that
is loaded ready-made, apart from the caches of its graphs. With ahead-of-time compilation, all of these are outside of compile ids (recorded
with 0.33). No release up to 0.33 writes ``vllm_compile_event`` ``{"type": "fresh_compile"}``, the patterns that passes look for
(``vllm_patterns.<Pass>``) or the graph after each pass (``vllm_post_grad.<number>.<Pass>``): builds of its developers do, and tlparse
reads them.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

EVENT, CONFIG, PIECE = "vllm_compile_event", "vllm_compilation_config", "vllm_piecewise_compile_start"
EXECUTION_CODE = "vllm_execution_code"
BEFORE_PASSES = "before_post_grad_graph"
PREFIX = "vllm_"
# Inductor's code of a graph, out of an artifact that holds it: what loading a part ready-made leaves of each of its graphs.
BUNDLED_HIT = "fx_graph_bundled_cache_hit"
# What AOTAutograd writes of a graph that it takes out of such an artifact: the first record of a part that is loaded.
LOADED_GRAPH = "aot_forward_graph_fw_metadata"
# Kinds of records that follow the backend of a compile, or open the next one: before vLLM 0.24 a part ends without a record of its own.
AFTER_PARTS = frozenset(("compilation_metrics", "dynamo_cpp_guards_str", "dynamo_guards", "dynamo_start"))
_PASS = re.compile(r"^vllm_post_grad\.(\d{1,18})\.(.+)$", re.S)


class Piece(NamedTuple):
    """One piece of a model that is compiled for sizes from ``start`` to ``end``, both included; ``end`` None has no bound."""

    number: int
    submodule: str
    total: int
    start: int
    end: int | None
    is_single: bool

    @property
    def sizes(self) -> str:
        """``size 8``, ``1 to 2048`` or ``1 or more``."""
        if self.is_single:
            return f"size {self.start}"
        return f"{self.start} or more" if self.end is None else f"{self.start} to {self.end}"


# What vLLM writes for a range without an end, as in encoders.
_ENDLESS = (1 << 31) - 1
# vLLM writes the number of its CompilationMode, or the name with that of its class, as Python prints it.
_MODES = {"0": "NONE", "1": "STOCK_TORCH_COMPILE", "2": "DYNAMO_TRACE_ONCE", "3": "VLLM_COMPILE"}
_CLASSES = re.compile(r"^(?:CompilationMode|CUDAGraphMode|DynamicShapesType)\.(?=\w+$)")


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
    )


def parse_config(payload: str) -> dict[str, str]:
    """The settings of a compilation, in their order. Raises ValueError for text that is no JSON object."""
    found = {str(name): "" if value is None else _CLASSES.sub("", str(value)) for name, value in _object(payload).items()}
    return found | {"mode": _MODES.get(found["mode"], found["mode"])} if "mode" in found else found


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
