"""Compiles that failed, from the tracebacks and exceptions in a text."""
