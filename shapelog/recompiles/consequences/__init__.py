"""Violations that only follow from others: violations → what changed by itself, and what follows."""
