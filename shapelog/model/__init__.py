"""Records → trace: ranks, frames, and the compiles of each."""
