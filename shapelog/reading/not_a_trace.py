"""The error message for a file that is not a trace."""

import re

HOW_TO_RECORD = "record one with: TORCH_TRACE=/tmp/trace python your_script.py"
_KINDS = (
    (
        rb"(?i)\A\s*<(?:!doctype|html)",
        "an HTML page; shapelog reads the log that tlparse was given, or the folder that it wrote, whose raw.log is that log",
    ),
    (rb'\A\{"string_table":', "the raw.jsonl of tlparse, which lacks the payloads; the raw.log beside it is the whole trace"),
    (rb"\APK\x03\x04", "a zip archive in another archive; unpack it first"),
    (rb"\A(?:BZh|\xfd7zXZ|7z\xbc\xaf|Rar!)", "packed in a way that shapelog does not read; unpack it first, or pack it with gzip"),
    (rb"\A(?:\x7fELF|\x89PNG|%PDF)", "a binary file"),
    (rb"\[__(?:recompiles|guards|graph_code|graph_breaks)|torch/_dynamo/\S+ \[\d+/\d+\]", "TORCH_LOGS text, meant for people"),
    (rb'\A\s*[\[{]\s*"?(?:traceEvents|schemaVersion|ph|name)"', "JSON, such as a profiler trace"),
    (rb"(?m)\ATraceback |^(?:INFO|WARNING|ERROR)\b", "an ordinary program log"),
)


def describe_non_trace(head: bytes) -> str:
    """Why a file without a single trace record is refused: what its first bytes look like, and how to record a trace."""
    if not head:
        return f"the file is empty: the process compiled nothing, or TORCH_TRACE was set after torch was imported; {HOW_TO_RECORD}"
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, head)), None)
    if kind is None:
        kind = "a binary file" if b"\0" in head else "text without trace records"
    return f"no trace record in it; it looks like {kind}. {HOW_TO_RECORD[0].upper()}{HOW_TO_RECORD[1:]}"
