"""A trace → its payloads as files, in directories named by compilation, and what was written."""
