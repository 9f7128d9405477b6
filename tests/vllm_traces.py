"""Traces as vLLM 0.11 and later write them."""

import json
from collections.abc import Sequence
from typing import Any

import make

CONFIG = {
    "model": "acme/llama-8b",
    "prefix": "backbone",
    "mode": "CompilationMode.VLLM_COMPILE",
    "backend": "inductor",
    "splitting_ops": "vllm::unified_attention",
    "cudagraph_mode": "FULL_AND_PIECEWISE",
    "compile_sizes": "1, 8",
    "compile_ranges_split_points": "2048",
    "enabled_passes": "fuse_norm_quant, fuse_act_quant",
    "dynamic_shapes_type": "DynamicShapesType.BACKED",
}
GRAPH = "def forward(self, x):\n    rms = torch.ops.vllm.rms_norm(x)\n    out = torch.ops.vllm.quant(rms)\n    return out\n"
FUSED = "def forward(self, x):\n    out = torch.ops.vllm.rms_norm_quant(x)\n    return out\n"


def artifact(name: str, body: object, id: str = "") -> bytes:
    payload = body if isinstance(body, str) else json.dumps(body)
    return make.record("artifact", {"name": name, "encoding": "json"}, payload, id=id)


def graph(name: str, text: str = GRAPH, id: str = "") -> bytes:
    return make.record("graph_dump", {"name": name}, text, id=id)


def piece(number: int, start: int, end: int, result: str = "miss", id: str = "", **changes: Any) -> bytes:
    """A piece that is compiled for a range of sizes, with its passes: the first changes the graph."""
    body = {
        "piecewise_index": number,
        "submod_name": f"submod_{2 * number}",
        "total_piecewise_compiles": 2,
        "compile_range_start": start,
        "compile_range_end": end,
        "is_single_size": start == end,
        "is_cudagraph_capture_size": start == end,
        **changes,
    }
    return b"".join(
        (
            artifact("vllm_piecewise_compile_start", body, id),
            graph(f"vllm_submod_{2 * number}", id=id),
            artifact("before_post_grad_graph", GRAPH, id),
            graph("vllm_post_grad.0.RMSNormQuantFusionPass", FUSED, id),
            graph("vllm_post_grad.1.PostCleanupPass", FUSED, id),
            artifact(f"fx_graph_cache_{result}", {"key": "k"}, id),
        )
    )


def part(*pieces: bytes, event: str = "fresh_compile", id: str = "", **changes: Any) -> Sequence[bytes]:
    """One part of a model, with its pieces."""
    head = (
        artifact("vllm_compile_event", {"type": event}, id) if event else b"",
        artifact("vllm_compilation_config", {**CONFIG, **changes}, id),
    )
    return (*head, graph("vllm_piecewise_split_graph", id=id), *pieces)


def llama(id: str = "") -> bytes:
    """Two pieces for two ranges and two sizes; the second piece comes from the cache of Inductor."""
    sizes = [(1, 2048), (2049, 8192), (1, 1), (8, 8)]
    return b"".join(part(*(piece(number, *size, "hit" if number else "miss", id=id) for size in sizes for number in (0, 1)), id=id))
