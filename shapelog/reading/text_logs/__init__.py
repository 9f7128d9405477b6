"""Text that people have in place of a trace: TORCH_LOGS output, warnings, tracebacks."""
