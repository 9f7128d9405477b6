"""Pages besides that of a report."""
