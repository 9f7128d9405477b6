"""A report in the Trace Event Format, which Perfetto, speedscope and chrome://tracing open.

The format: "Trace Event Format" (Google, 2016). Times are in microseconds.
"""
