"""How the ranks of a job differ, and reading jobs of many ranks with workers."""
