"""One question each: ``analyze(explained)`` yields findings and tables, most important first. The order here is that of every report."""

from shapelog.report.analyses import (
    caches,
    compile_time,
    cuda_graphs,
    exports,
    failures,
    graph_breaks,
    pgo,
    rank_notes,
    ranks,
    recompile_limit,
    settings,
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
    triton_kernels,
    pgo,
    settings,
    rank_notes,
    ranks,
)
