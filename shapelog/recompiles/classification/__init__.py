"""Which rules a violation falls under, and the sentence about it: one module for each group of recompile reasons."""
