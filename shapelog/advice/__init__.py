"""Explained recompiles → what to mark dynamic, what that saves, and what remains."""
