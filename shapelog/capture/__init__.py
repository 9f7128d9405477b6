"""A command → a recorded trace: run, verify, watch."""
