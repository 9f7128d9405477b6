"""Record kinds: which ones shapelog decodes, which it only counts, and which it knows by name."""

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
