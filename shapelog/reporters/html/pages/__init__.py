"""Pages other than that of a report."""
