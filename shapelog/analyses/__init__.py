"""One question each: ``analyze(study)`` yields findings and tables, most important first. The order here is that of every report."""

from shapelog.analyses import breaks, failures, kernels, limits, pgo, ranks, specializations, time, top_causes

ANALYSES = (top_causes, specializations, limits, breaks, failures, time, kernels, pgo, ranks)
