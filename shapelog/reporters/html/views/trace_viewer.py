"""The run as a file for trace viewers, which the page carries and a button saves."""

from shapelog.errors import ShapelogError
from shapelog.report.report import Report
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.chunks import Chunk, page_chunk

# The file that the page saves, and the id of the chunk with its text.
FILE_NAME = "shapelog.trace.json"
CHUNK = "trace-viewer"
# The events of a larger trace (bytes), and a longer file (characters), are left to the command: they would slow and swell the page.
_MOST_READ, _LONGEST = 64 << 20, 8 << 20


def viewer_chunk(report: Report, options: Options) -> Chunk | None:
    """The file, compressed; None where the page carries no payloads, where the trace records no times, or where it is too large."""
    if options.embed == "none" or not options.with_source or sum(account.size for account in report.accounts) > _MOST_READ:
        return None
    try:
        text = renderer("report", "chrome-trace")(report, options).decode()
    except ShapelogError:  # no times
        return None
    return page_chunk(CHUNK, text) if len(text) <= _LONGEST else None
