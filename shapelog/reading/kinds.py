"""Every record kind that PyTorch writes, and what shapelog does with it."""

from enum import Enum


class Use(Enum):
    """What becomes of the records of a kind: the model is built from those that are DECODED, the others are only COUNTED."""

    DECODED = "decoded"
    COUNTED = "counted"


# An artifact is decoded if its name is in DECODED_ARTIFACTS, a chromium_event if it reports that a source became dynamic.
KINDS = {
    "aot_backward_graph": Use.COUNTED,
    "aot_forward_graph": Use.COUNTED,
    "aot_inference_graph": Use.COUNTED,
    "aot_joint_graph": Use.COUNTED,
    "artifact": Use.COUNTED,
    "backward_graph": Use.COUNTED,
    "bwd_compilation_metrics": Use.DECODED,
    "chromium_event": Use.COUNTED,
    "compilation_metrics": Use.DECODED,
    "compiled_autograd_graph": Use.DECODED,
    "create_symbol": Use.DECODED,
    "create_unbacked_symbol": Use.DECODED,
    "describe_source": Use.DECODED,
    "describe_storage": Use.COUNTED,
    "describe_tensor": Use.DECODED,
    "dump_file": Use.COUNTED,
    "dynamo_cpp_guards": Use.COUNTED,
    "dynamo_cpp_guards_str": Use.DECODED,
    "dynamo_guards": Use.DECODED,
    "dynamo_output_graph": Use.DECODED,
    "dynamo_start": Use.DECODED,
    "exported_program": Use.COUNTED,
    "expression_created": Use.COUNTED,
    "fake_kernel": Use.COUNTED,
    "graph_dump": Use.COUNTED,
    "guard_added": Use.DECODED,
    "guard_added_fast": Use.DECODED,
    "inductor_output_code": Use.COUNTED,
    "inductor_post_grad_graph": Use.COUNTED,
    "inductor_pre_grad_graph": Use.COUNTED,
    "inductor_tlparse_runtime": Use.COUNTED,
    "inductor_triton_kernel": Use.COUNTED,
    "link": Use.COUNTED,
    "mismatched_fake_kernel": Use.COUNTED,
    "missing_fake_kernel": Use.COUNTED,
    "optimize_ddp_split_child": Use.COUNTED,
    "optimize_ddp_split_graph": Use.COUNTED,
    "propagate_real_tensors": Use.COUNTED,
    "propagate_real_tensors_provenance": Use.COUNTED,
    "stack": Use.COUNTED,
    "str": Use.DECODED,
    "sym_guard": Use.COUNTED,
    "symbolic_shape_specialization": Use.DECODED,
    "unbacked_symbol_replacement": Use.COUNTED,
}

DECODED_ARTIFACTS = frozenset(
    (
        "aotautograd_cache_bypass",
        "aotautograd_cache_hit",
        "aotautograd_cache_miss",
        "compiler_collective",
        "dynamo_cache_bypass",
        "dynamo_error",
        "dynamo_graph_break_reason",
        "eager_compile_backwards_failure",
        "fx_graph_cache_bypass",
        "fx_graph_cache_hit",
        "fx_graph_cache_miss",
        "get_extra_remote_code_state",
        "get_local_code_state",
        "get_remote_code_state",
        "graph_execution",
        "inductor_collective_schedule",
        "inductor_runtime_and_tensor_meta",
        "precompile_cache_bypass",
        "put_extra_remote_code_state",
        "put_local_code_state",
        "put_remote_code_state",
        "recompile_reasons",
        "torch_version",
    )
)

# Kinds that are left out of the list of a compile's records: they are many, and each holds little.
UNLISTED = frozenset(("chromium_event", "describe_storage", "str"))

# Keys of a header that are not its kind.
ENVELOPE_KEYS = frozenset(
    ("attempt", "compiled_autograd_id", "frame_compile_id", "frame_id", "has_payload", "rank", "stack", "subgraph_name")
)
