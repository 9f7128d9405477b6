"""Traces as vLLM writes them, 0.18 and later where nothing else is asked for."""

import json
from collections.abc import Sequence
from typing import Any

import make

# The fields of vllm/compilation/backends.py, _log_compilation_config.
CONFIG = {
    "model": "acme/llama-8b",
    "prefix": "backbone",
    "mode": "3",
    "backend": "inductor",
    "custom_ops": "none",
    "splitting_ops": "vllm::unified_attention_with_output",
    "cudagraph_mode": "FULL_AND_PIECEWISE",
    "compile_sizes": "1, 8",
    "compile_ranges_endpoints": "2048, 8192",
    "use_inductor_graph_partition": False,
    "inductor_passes": "",
    "enabled_passes": "fuse_norm_quant, fuse_act_quant",
    "dynamic_shapes_type": "DynamicShapesType.BACKED",
    "dynamic_shapes_evaluate_guards": False,
}
SIZES = (1, 8)
GRAPH = "def forward(self, x):\n    rms = torch.ops.vllm.rms_norm(x)\n    out = torch.ops.vllm.quant(rms)\n    return out\n"
FUSED = "def forward(self, x):\n    out = torch.ops.vllm.rms_norm_quant(x)\n    return out\n"
CODE = "import torch\ndef execution_fn(s72, L_x_, *, __vllm_submods__):\n    return (__vllm_submods__[0](L_x_, s72),)\n"


def artifact(name: str, body: object, id: str = "") -> bytes:
    payload = body if isinstance(body, str) else json.dumps(body)
    return make.record("artifact", {"name": name, "encoding": "string" if payload is body else "json"}, payload, id=id)


def graph(name: str, text: str = GRAPH, id: str = "") -> bytes:
    return make.record("graph_dump", {"name": name}, text, id=id)


def start(number: int, first: int, last: int, id: str = "", **changes: Any) -> bytes:
    """The record that a piece for a range of sizes begins with; all that there is of one that vLLM does not have compiled."""
    body = {
        "piecewise_index": number,
        "submod_name": f"submod_{2 * number}",
        "total_piecewise_compiles": 2,
        "compile_range_start": first,
        "compile_range_end": last,
        "is_single_size": first == last,
        "is_cudagraph_capture_size": first in SIZES,
        **changes,
    }
    return artifact("vllm_piecewise_compile_start", body, id)


def piece(number: int, first: int, last: int, result: str = "miss", id: str = "", has_graph: bool = True, **changes: Any) -> bytes:
    """A piece that PyTorch compiles for a range of sizes. Its graph is written for the first range only."""
    return b"".join(
        (
            start(number, first, last, id, **changes),
            graph(f"vllm_submod_{2 * number}", id=id) if has_graph else b"",
            artifact("before_post_grad_graph", GRAPH, id),
            artifact(f"fx_graph_cache_{result}", {"key": "k"}, id),
        )
    )


def piece_with_passes(number: int, first: int, last: int, result: str = "miss", id: str = "") -> bytes:
    """A piece as builds of vLLM's developers write it, with the graph after each pass: the first pass changes it."""
    return b"".join(
        (
            start(number, first, last, id),
            graph(f"vllm_submod_{2 * number}", id=id),
            artifact("before_post_grad_graph", GRAPH, id),
            graph("vllm_post_grad.0.RMSNormQuantFusionPass", FUSED, id),
            graph("vllm_post_grad.1.PostCleanupPass", FUSED, id),
            artifact(f"fx_graph_cache_{result}", {"key": "k"}, id),
        )
    )


def part(*pieces: bytes, event: str = "", id: str = "", **changes: Any) -> Sequence[bytes]:
    """One part of a model, with its pieces. ``event`` is written by builds of vLLM's developers."""
    head = (
        artifact("vllm_compile_event", {"type": event}, id) if event else b"",
        artifact("vllm_compilation_config", {**CONFIG, **changes}, id),
    )
    return (*head, graph("vllm_piecewise_split_graph", id=id), *pieces)


def execution_code(id: str = "") -> bytes:
    """What vLLM 0.24 and later write at the end of a part, and alone of one that is loaded ready-made."""
    return artifact("vllm_execution_code", CODE, id)


def llama(id: str = "", event: str = "") -> bytes:
    """Two pieces for two ranges and two sizes; PyTorch's cache has the second piece."""
    ranges = [(1, 2048), (2049, 8192), (1, 1), (8, 8)]
    pieces = (
        piece(number, *sizes, "hit" if number else "miss", id=id, has_graph=sizes == ranges[0]) for sizes in ranges for number in (0, 1)
    )
    return b"".join(part(*pieces, event=event, id=id)) + execution_code(id)


def llama_with_passes(id: str = "") -> bytes:
    """The same, by a build that writes the graphs of passes and what became of the part."""
    ranges = [(1, 2048), (2049, 8192), (1, 1), (8, 8)]
    pieces = (piece_with_passes(number, *sizes, "hit" if number else "miss", id=id) for sizes in ranges for number in (0, 1))
    return b"".join(part(*pieces, event="fresh_compile", id=id))
