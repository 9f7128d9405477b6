"""One question each: ``analyze(explained)`` yields findings and tables, most important first. The order here is that of every report."""

from shapelog.report.analyses import (
    caches,
    compile_time,
    cuda_graphs,
    default_settings,
    exports,
    failures,
    graph_breaks,
    pgo,
    rank_notes,
    ranks,
    recompile_limit,
    setting_changes,
    specializations,
    top_causes,
    triton_kernels,
    vllm,
)

ANALYSES = (
    exports,
    vllm,
    top_causes,
    specializations,
    recompile_limit,
    graph_breaks,
    failures,
    cuda_graphs,
    compile_time,
    caches,
    setting_changes,
    triton_kernels,
    pgo,
    default_settings,
    rank_notes,
    ranks,
)
