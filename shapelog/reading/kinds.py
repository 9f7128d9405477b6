"""Every record kind that PyTorch writes, and what shapelog does with it."""

# What becomes of the records of a kind: the model is built from those that are DECODED, the others are only COUNTED.
DECODED, COUNTED = "decoded", "counted"
# An artifact is decoded if its name is in DECODED_ARTIFACTS, a graph_dump if it is in DECODED_DUMPS, a chromium_event if it reports that a
# source became dynamic.
KINDS = {
    "aot_autograd_backward_compilation_metrics": COUNTED,
    "aot_backward_graph": COUNTED,
    "aot_forward_graph": COUNTED,
    "aot_inference_graph": COUNTED,
    "aot_joint_graph": COUNTED,
    "artifact": COUNTED,
    "backward_graph": COUNTED,
    "bwd_compilation_metrics": DECODED,
    "bwd_compilation_metrics_runtime": COUNTED,
    "chromium_event": COUNTED,
    "compilation_metrics": DECODED,
    "compilation_metrics_runtime": DECODED,
    "compiled_autograd_graph": DECODED,
    "create_symbol": DECODED,
    "create_unbacked_symbol": DECODED,
    "describe_source": DECODED,
    "describe_storage": COUNTED,
    "describe_tensor": DECODED,
    "dump_file": COUNTED,
    "dynamo_cpp_guards": COUNTED,
    "dynamo_cpp_guards_str": DECODED,
    "dynamo_guards": DECODED,
    "dynamo_output_graph": DECODED,
    "dynamo_start": DECODED,
    "export": DECODED,
    "exported_program": DECODED,
    "expression_created": DECODED,
    "fake_kernel": COUNTED,
    "graph_dump": COUNTED,
    "guard_added": DECODED,
    "guard_added_fast": DECODED,
    "guard_on_data_dependent_error": DECODED,
    "inductor_input_graph": COUNTED,
    "inductor_output_code": COUNTED,
    "inductor_post_grad_graph": COUNTED,
    "inductor_pre_grad_graph": COUNTED,
    "inductor_tlparse_runtime": COUNTED,
    "inductor_triton_kernel": COUNTED,
    "link": DECODED,
    "memoizer_artifacts": COUNTED,
    "mismatched_fake_kernel": DECODED,
    "missing_fake_kernel": DECODED,
    "optimize_ddp_split_child": COUNTED,
    "optimize_ddp_split_graph": COUNTED,
    "propagate_real_tensors": DECODED,
    "propagate_real_tensors_provenance": DECODED,
    "stack": COUNTED,
    "str": DECODED,
    "sym_guard": COUNTED,
    "symbolic_shape_specialization": DECODED,
    "unbacked_symbol_replacement": COUNTED,
}

# The backward graph could not be compiled ahead of its use.
BACKWARD_FAILURE = "eager_compile_backwards_failure"
DECODED_ARTIFACTS = frozenset(
    (
        "aot_forward_graph_fw_metadata",
        "aot_joint_graph_sync_decision_cross_ranks",
        "before_post_grad_graph",
        "aotautograd_cache_pickle_failure",
        "compiled_autograd_compile_reasons",
        "compiler_collective",
        "dynamo_cache_bypass",
        "dynamo_error",
        "dynamo_graph_break_reason",
        "dynamo_side_effects",
        BACKWARD_FAILURE,
        "graph_execution",
        "inductor_collective_schedule",
        "inductor_runtime_and_tensor_meta",
        "inductor_spmd_graph_mismatch",
        "make_fx_fail_partial",
        "precompile_cache_bypass",
        "recompile_reasons",
        "shapelog_inductor_message",
        "torch_version",
        "vllm_compilation_config",
        "vllm_compile_event",
        "vllm_execution_code",
        "vllm_piecewise_compile_start",
        "fx_graph_bundled_cache_hit",
        *(f"{cache}_cache_{result}" for cache in ("aotautograd", "fx_graph") for result in ("hit", "miss", "bypass")),
        *(f"{action}_{storage}_code_state" for action in ("get", "put") for storage in ("local", "remote", "extra_remote")),
    )
)

# A graph_dump is decoded if its name begins with one of these: what vLLM writes, and the code of a graph that Inductor compiled ahead of
# time (AOTInductor), which is all that such a compilation leaves behind: it has no compile id.
AHEAD_OF_TIME_CODE = "inductor_aot_wrapper_code"
DECODED_DUMPS = ("vllm_", AHEAD_OF_TIME_CODE)

# Kinds that are left out of the list of a compile's records: they are many, and each holds little.
UNLISTED = frozenset(("chromium_event", "describe_storage", "str"))

# Keys of a header that are not its kind.
ENVELOPE_KEYS = frozenset(
    ("attempt", "compiled_autograd_id", "frame_compile_id", "frame_id", "has_payload", "rank", "stack", "subgraph_name")
)
