"""Results as data for JSON."""
