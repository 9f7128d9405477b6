"""Values that every layer names: compile ids, torch versions, record kinds."""

import re
from typing import NamedTuple

_LABEL = re.compile(r"^(?:!(\d{1,9}|-)/?)?(?:(\d{1,9})/(\d{1,9}))?(?:#(\d{1,9}))?$")


class CompileId(NamedTuple):
    """One cache entry that Dynamo tried to fill: frame id, compile number in that frame, compiled-autograd id.

    ``generation`` tells apart ids that came again in one process, as they do after ``torch._dynamo.reset()``; it starts at 1.
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


def parse_compile_id(text: str) -> CompileId | None:
    """The id that a label such as ``2/3``, ``!0/1/0`` or ``0/1#2`` names, None if it is no label."""
    match = _LABEL.match(text.strip())
    if not match or not (match[1] or match[2]):
        return None
    autograd = int(match[1]) if match[1] and match[1] != "-" else None
    frame, number = (int(match[2]), int(match[3])) if match[2] else (-1, 0)
    return CompileId(frame, number, autograd, int(match[4] or 1))


_VERSION = re.compile(r"\s*(\d{1,4})\.(\d{1,4})")


class TorchVersion(NamedTuple):
    """Major and minor version of PyTorch, and what it knows. Between measured versions the older one's rules hold."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"

    def has(self, minor: int) -> bool:
        """Whether it is torch 2.``minor`` or later."""
        return (self.major, self.minor) >= (2, minor)

    @property
    def reads_sources(self) -> bool:
        """Whether it reads TORCH_COMPILE_DYNAMIC_SOURCES."""
        return self.has(8)

    @property
    def reads_dims(self) -> bool:
        """Whether an entry of that list may end in ``:dim``."""
        return self.has(13)


def parse_version(text: str) -> TorchVersion | None:
    """``2.13.0+cpu`` → 2.13, None for what begins with no version."""
    match = _VERSION.match(text)
    return TorchVersion(int(match[1]), int(match[2])) if match else None


ENVELOPE_KEYS = frozenset(
    ("frame_id", "frame_compile_id", "attempt", "compiled_autograd_id", "rank", "has_payload", "stack", "subgraph_name")
)

# Kinds that the model is built from; their JSON is decoded.
USED_KINDS = frozenset(
    (
        "str",
        "dynamo_start",
        "describe_tensor",
        "describe_source",
        "create_symbol",
        "create_unbacked_symbol",
        "guard_added",
        "guard_added_fast",
        "symbolic_shape_specialization",
        "dynamo_output_graph",
        "dynamo_guards",
        "dynamo_cpp_guards_str",
        "compilation_metrics",
        "bwd_compilation_metrics",
        "compiled_autograd_graph",
    )
)
# Artifacts that the model is built from; the others are counted by name.
USED_ARTIFACTS = frozenset(
    (
        "torch_version",
        "recompile_reasons",
        "dynamo_graph_break_reason",
        "dynamo_error",
        "compiler_collective",
        "get_local_code_state",
        "put_local_code_state",
        "get_remote_code_state",
        "put_remote_code_state",
        "get_extra_remote_code_state",
        "put_extra_remote_code_state",
        "fx_graph_cache_hit",
        "fx_graph_cache_miss",
        "fx_graph_cache_bypass",
        "aotautograd_cache_hit",
        "aotautograd_cache_miss",
        "aotautograd_cache_bypass",
        "dynamo_cache_bypass",
        "precompile_cache_bypass",
        "eager_compile_backwards_failure",
        "inductor_collective_schedule",
        "inductor_runtime_and_tensor_meta",
        "graph_execution",
    )
)
# Kinds that PyTorch writes and shapelog has no use for yet.
OTHER_KINDS = frozenset(
    (
        "aot_backward_graph",
        "aot_forward_graph",
        "aot_inference_graph",
        "aot_joint_graph",
        "artifact",
        "backward_graph",
        "chromium_event",
        "describe_storage",
        "dump_file",
        "dynamo_cpp_guards",
        "exported_program",
        "expression_created",
        "fake_kernel",
        "graph_dump",
        "inductor_output_code",
        "inductor_post_grad_graph",
        "inductor_pre_grad_graph",
        "inductor_tlparse_runtime",
        "inductor_triton_kernel",
        "link",
        "mismatched_fake_kernel",
        "missing_fake_kernel",
        "optimize_ddp_split_child",
        "optimize_ddp_split_graph",
        "propagate_real_tensors",
        "propagate_real_tensors_provenance",
        "stack",
        "sym_guard",
        "unbacked_symbol_replacement",
    )
)
KNOWN_KINDS = USED_KINDS | OTHER_KINDS
# Kinds that no listing of a compile's records holds: many, and little in each.
UNLISTED_KINDS = frozenset(("str", "chromium_event", "describe_storage"))
