"""What helps against warnings of the compiler that no rule is about."""

import pytest

from shapelog.report.details.warning_remedies import remedy_of_warning


@pytest.mark.parametrize(
    ("warning", "words"),
    [
        ("dynamo_pgo force disabled by torch.compiler.config.force_disable_caches", "TORCHINDUCTOR_FORCE_DISABLE_CACHES"),
        ("Grad strides do not match bucket view strides.", "parameters contiguous"),
        ("Guards may run slower on Python 3.13.0. Consider upgrading to Python 3.13.1+.", "update Python"),
        ("explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs)", "explain(f)(*args)"),
        ("failed while attempting to run meta for aten.bmm.default: RuntimeError: batch1", "sizes and dtypes"),
        ("Detected a package bypass: BypassDynamoCacheEntry", "strict_precompile"),
        ("Grad tensors ['w'] will be copied during cudagraphs execution.", "mark_static_address"),
        ("Failed to reduce inequalities: [s0 < 3]", "not reduced"),
        ("_maybe_guard_rel() was called on non-relation expression Eq(s0, 1) | Eq(s0, s1)", "compiled all the same"),
        ("could not determine __code__ for <built-in function add>", "compiles again"),
        ("Profiler function <class 'torch.autograd.profiler.record_function'> will be ignored", "around the call"),
        ("FX graph cache copying of a large constant took 1.2s. Please file an issue.", "a parameter or a buffer"),
        ("Failed during launch triton_poi_fused_add_0 with config: XBLOCK: 512", "CUDA_LAUNCH_BLOCKING=1"),
        ("Trying to unsafely apply AC to a non-functional graph with the default partitioner.", "writes into its inputs"),
        ("torch.compile with fullgraph=True found no compiled frames.", "keeps Dynamo from this function"),
        ("cudagraph partition due to non gpu ops", "out of the compiled code: it runs between two CUDA graphs"),
        ("cudagraph partition due to dynamic shape ops", "pad inputs to a few sizes"),
        ("cudagraph partition due to CUDAGraph-unsafe custom ops", "nothing, unless it is slow"),
        ("Error in subprocess", "TORCHINDUCTOR_COMPILE_THREADS=1"),
        ("Profiler function is new", ""),
    ],
)
def test_a_warning_whose_cause_is_known_has_its_help(warning: str, words: str) -> None:
    remedy = remedy_of_warning(warning)
    assert words in remedy
    assert bool(words) == bool(remedy)
