"""Parsers of the small languages inside payloads: guards, graphs, recompile reasons, sources, size expressions."""
