"""The settings of PyTorch that a trace records, and which of them are not as PyTorch ships them.

From torch 2.6 on the metrics of a compilation hold them as JSON: dynamo_config and inductor_config, later compiler_config (2.10) and
functorch_config (2.13).
"""

import json
from typing import Any, NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.trace import Rank, Trace
from shapelog.reading.records import SETTINGS
from shapelog.report.details.metric_fields import settings_in
from shapelog.text import cut

# Defaults that are the same in all of torch 2.6, 2.10, 2.13 and 2.15 that have the setting, read from traces of programs that set nothing
# and from torch 2.13 itself. Settings that are not here have other defaults by version or machine, or do not change what is compiled.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "torch._dynamo.config": {
        "accumulated_recompile_limit": 256,
        "allow_ignore_mark_dynamic": False,
        "allow_rnn": False,
        "allow_unspec_int_on_nn_module": False,
        "assume_static_by_default": True,
        "automatic_dynamic_exclusion_guard": False,
        "automatic_dynamic_shapes": True,
        "automatic_dynamic_shapes_mark_as": "dynamic",
        "caching_precompile": False,
        "capture_dynamic_output_shape_ops": False,
        "capture_scalar_outputs": False,
        "compiled_autograd": False,
        "disable": False,
        "do_not_emit_runtime_asserts": False,
        "enable_compiler_collectives": False,
        "enable_cpp_symbolic_shape_guards": False,
        "error_on_recompile": False,
        "fail_on_recompile_limit_hit": False,
        "force_nn_module_property_static_shapes": True,
        "force_parameter_static_shapes": True,
        "guard_nn_modules": True,
        "inline_inbuilt_nn_modules": True,
        "install_free_tensors": False,
        "minimum_call_count": 1,
        "nested_graph_breaks": False,
        "only_allow_pt2_compliant_ops": False,
        "optimize_ddp": True,
        "optimize_ddp_lazy_compile": False,
        "prefer_deferred_runtime_asserts_over_guards": False,
        "prepare_freezing": False,
        "recompile_limit": 8,
        "replay_side_effects": True,
        "rewrite_assert_with_torch_assert": True,
        "skip_code_recursive_on_recompile_limit_hit": True,
        "skip_fsdp_guards": True,
        "skip_nnmodule_hook_guards": True,
        "skip_tensor_guards_with_matching_dict_tags": True,
        "skip_torchrec": True,
        "specialize_float": False,
        "specialize_int": False,
        "suppress_errors": False,
        "trace_numpy": True,
        "use_graph_deduplication": False,
        "use_numpy_random_stream": False,
        "verify_correctness": False,
    },
    "torch._inductor.config": {
        "aggressive_fusion": False,
        "allow_buffer_reuse": True,
        "autotune_local_cache": True,
        "benchmark_fusion": False,
        "benchmark_kernel": False,
        "combo_kernels": False,
        "comprehensive_padding": True,
        "coordinate_descent_tuning": False,
        "cpp_wrapper": False,
        "cpu_backend": "cpp",
        "cuda_backend": "triton",
        "debug": False,
        "deterministic": False,
        "dynamic_scale_rblock": True,
        "emulate_precision_casts": False,
        "epilogue_fusion": True,
        "fallback_random": False,
        "freezing": False,
        "fx_graph_cache": True,
        "graph_partition": True,
        "implicit_fallbacks": True,
        "joint_graph_constant_folding": True,
        "keep_output_stride": True,
        "layout_optimization": True,
        "max_autotune": False,
        "max_autotune_gemm": False,
        "max_autotune_gemm_backends": "ATEN,TRITON,CPP",
        "max_autotune_pointwise": False,
        "memory_planning": False,
        "nan_asserts": False,
        "pattern_matcher": True,
        "permute_fusion": False,
        "profile_bandwidth": False,
        "reorder_for_compute_comm_overlap": False,
        "reorder_for_locality": True,
        "search_autotune_cache": False,
        "shape_padding": True,
        "size_asserts": True,
        "split_reductions": True,
        "triton.cudagraph_skip_dynamic_graphs": False,
        "triton.cudagraph_trees": True,
        "triton.cudagraphs": False,
        "triton.multi_kernel": 0,
    },
    "torch._functorch.config": {
        "activation_memory_budget": 1.0,
        "bundled_autograd_cache": False,
        "donated_buffer": True,
        "enable_autograd_cache": True,
        "fake_tensor_propagate_real_tensors": False,
        "functionalize_rng_ops": False,
        "strict_autograd_cache": False,
    },
    "torch.compiler.config": {
        "cache_key_tag": "",
        "dynamic_sources": "",
        "dynamic_values": "",
        "force_disable_caches": False,
        "job_id": None,
        "pgo_extra_read_key": None,
        "pgo_extra_write_key": None,
        "static_sources": "",
        "unbacked_sources": "",
    },
}
DEFAULTS = {f"{module}.{name}": value for module, values in _DEFAULTS.items() for name, value in values.items()}
# Settings with the names that torch 2.6 gives them.
_OLD_NAMES = {
    "torch._dynamo.config.accumulated_cache_size_limit": "torch._dynamo.config.accumulated_recompile_limit",
    "torch._dynamo.config.cache_size_limit": "torch._dynamo.config.recompile_limit",
    "torch._dynamo.config.fail_on_cache_limit_hit": "torch._dynamo.config.fail_on_recompile_limit_hit",
    "torch._dynamo.config.skip_code_recursive_on_cache_limit_hit": "torch._dynamo.config.skip_code_recursive_on_recompile_limit_hit",
}
_LONGEST = 400


class NonDefault(NamedTuple):
    """A setting that is not at its default, on ``ranks`` only; () where it is so on all."""

    name: str
    value: Any
    default: Any
    ranks: tuple[int, ...] = ()


def settings_of(compile: Compile) -> dict[str, Any]:
    """All settings in the metrics of a compilation, as ``torch._dynamo.config.recompile_limit``; {} before torch 2.6."""
    found: dict[str, Any] = {}
    fields = compile.metric_fields
    for group, module in SETTINGS.items():
        for name, value in settings_in(fields.get(group)).items():
            full = f"{module}.{name}"
            found[_OLD_NAMES.get(full, full)] = value
    return found


def first_settings(rank: Rank) -> dict[str, Any]:
    """The settings in the first metrics of a process."""
    recorded = [item for frame in rank.frames for item in frame.compiles if item.metrics_offset >= 0]
    return settings_of(min(recorded, key=lambda item: item.metrics_offset)) if recorded else {}


def non_default_settings(trace: Trace) -> tuple[NonDefault, ...]:
    """The settings that are not at their defaults when a run begins to compile, by name."""
    by_rank = [(rank.number, found) for rank in trace.ranks if (found := first_settings(rank))]
    changed: dict[tuple[str, str], NonDefault] = {}
    for number, found in by_rank:
        for name in DEFAULTS.keys() & found.keys():
            if found[name] != DEFAULTS[name]:
                key = name, repr(found[name])
                before = changed.get(key, NonDefault(name, found[name], DEFAULTS[name]))
                changed[key] = before._replace(ranks=(*before.ranks, *([] if number is None else [number])))
    everywhere = len(by_rank)
    return tuple(item._replace(ranks=()) if len(item.ranks) == everywhere else item for _, item in sorted(changed.items()))


def setting_words(value: Any) -> str:
    """A value as JSON, but texts as they are."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, _LONGEST) or "empty"
