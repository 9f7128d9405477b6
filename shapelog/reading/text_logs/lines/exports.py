"""What loggers export: objects of JSON, each with a printed line in one of its fields, and tables in CSV; notebooks."""

import csv
import re
from collections.abc import Iterator
from typing import Any

import orjson

# The fields that hold the line as it was printed: Docker, Python's loggers, journald, cloud providers, Loki, GELF (the whole message is
# longer), Splunk, OpenTelemetry. That of loguru is in a field "record", those of other loggers in one of any name.
_MESSAGES = (
    *("log", "message", "event", "msg", "textpayload", "text", "line", "full_message", "short_message", "raw", "body", "content"),
    *("stringvalue", "logmessage", "log_message"),
)
_TIMES = ("timestamp", "time", "@timestamp", "ts")
_DEEPEST = 2
_FEWEST = 3
# A field on a line of its own, and the other lines of JSON that is printed in that way.
_FIELD = re.compile(r"^\s*\"[@_]?(?P<name>\w{1,40})\": (?P<text>\"(?:[^\"\\]|\\.)*\"),?\s*$")
_OF_JSON = re.compile(r"^\s*(?:[\[\]{}]{1,9},?|\"[^\"]{1,80}\": .*|\"[^\"]*\",?)?\s*$")
_TORCH = "torch"
_HEADING = "Traceback (most recent call last):"
_CELLS = '"cells"'
_QUOTED_CELL = re.compile(r"(?:^|,)\"(?:[^\"]|\"\")*\"(?:,|\r?$)", re.M)


def message_in(line: str) -> str:
    """The message in the object of JSON that a line is; any other line as it is."""
    try:
        entry = orjson.loads(line)
    except ValueError:
        return line
    message = _message_and_stack(entry) if isinstance(entry, dict) else None
    if message is None:
        return line
    message = message.removesuffix("\n")
    return message_in(message) if message.startswith("{") else message  # printed as an object, too


def exported_lines(text: str) -> str:
    """The lines in the entries of a text that is JSON or CSV as a whole; any other text as it is."""
    if printed := _of_notebook(text):
        return "\n".join(printed)
    is_json = text.lstrip()[:1] in ("[", "{", '"')
    lines = (_of_objects(text) or _of_list(text) or list(_of_fields(text))) if is_json else _of_table(text)
    found = "\n".join(lines)
    return found if found.count("\n") >= _FEWEST - 1 else text


def _message_and_stack(fields: dict[str, Any]) -> str | None:
    """The message, and below it the traceback that is in a field of its own."""
    message = _message(fields)
    stack = _stack(fields) if message is None or _HEADING not in message else None
    return "\n".join(filter(None, (message, stack))) if stack else message


def _stack(fields: dict[str, Any], depth: int = _DEEPEST + 1) -> str | None:
    own = (value for value in fields.values() if isinstance(value, str) and _HEADING in value)
    inner = (_stack(value, depth - 1) for value in fields.values() if depth and isinstance(value, dict))
    return next((found for found in (*own, *inner) if found), None)


def _message(fields: dict[str, Any], depth: int = _DEEPEST) -> str | None:
    record = fields.get("record")
    if isinstance(record, dict) and isinstance(record.get("message"), str):
        return str(record["message"])
    named = {name.lstrip("@_").lower(): value for name, value in fields.items() if isinstance(value, str)}
    found = next((named[name] for name in _MESSAGES if name in named), None)
    if found is None and depth:
        inner = (_message(value, depth - 1) for value in fields.values() if isinstance(value, dict))
        found = next((message for message in inner if message is not None), None)
    return found


def _of_notebook(text: str) -> list[str]:
    """What the cells of a notebook printed, and the errors that they stopped at; [] for other text."""
    if _CELLS not in text:
        return []
    try:
        notebook = _value(text)
    except ValueError:
        return []
    outputs = [output for cell in _objects_in(notebook, "cells") for output in _objects_in(cell, "outputs")]
    return [line for output in outputs for line in (*_printed(output.get("text"), ""), *_printed(output.get("traceback"), "\n"))]


def _objects_in(holder: Any, name: str) -> list[dict[str, Any]]:
    """The JSON objects in a list that is a field of another object; [] if there is no such list."""
    found = holder.get(name) if isinstance(holder, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _printed(value: Any, end: str) -> list[str]:
    """The lines of an output, which a notebook stores as a text or as a list; ``end`` is what the items of the list lack."""
    text = end.join(map(str, value)) if isinstance(value, list) else str(value or "")
    return text.removesuffix("\n").split("\n") if text else []


def _of_objects(text: str) -> list[str]:
    """The messages in the objects that all lines are; [] for other text."""
    lines = [line for line in text.split("\n") if line.strip()]
    return list(map(message_in, lines)) if all(line.startswith("{") and line.rstrip().endswith("}") for line in lines) else []


def _of_list(text: str) -> list[str]:
    """The messages in a list of objects, which may be in a field of one, oldest first, or the lines of a string; [] for other text."""
    try:
        value = _value(text)
    except ValueError:
        return []
    if isinstance(value, str):
        return value.removesuffix("\n").split("\n")
    lists = [item for item in (value.values() if isinstance(value, dict) else [value]) if isinstance(item, list)]
    entries = [entry for entry in next(iter(lists), []) if isinstance(entry, dict)]
    times = [next((str(entry[name]) for name in _TIMES if name in entry), "") for entry in entries]
    messages = [message.removesuffix("\n") for entry in entries if (message := _message_and_stack(entry)) is not None]
    return messages[::-1] if times and times[0] > times[-1] and len(times[0]) == len(times[-1]) else messages


def _of_fields(text: str) -> Iterator[str]:
    """The same where JSON has each field on a line of its own, and its beginning or end may be cut off."""
    lines = text.split("\n")
    if all(map(_OF_JSON.match, lines[1:-1])):
        found = (_FIELD.match(line) for line in lines)
        yield from (_string(field["text"]).removesuffix("\n") for field in found if field and field["name"].lower() in _MESSAGES)


def _value(text: str) -> Any:
    """Decoded JSON; a damaged byte becomes a question mark. Raises ValueError for text that is not JSON."""
    return orjson.loads(text.encode("utf-8", "replace"))


def _string(text: str) -> str:
    """A decoded JSON string; one with an invalid escape is left as written, without its quotes."""
    try:
        return str(_value(text))
    except ValueError:
        return text[1:-1]


def _of_table(text: str) -> list[str]:
    """The cells of the column of a table in CSV that has PyTorch's messages; [] for other text."""
    try:
        rows = [row for row in csv.reader(text.splitlines(keepends=True)) if row]
    except csv.Error:
        return []
    columns = len(rows[0]) if rows else 0
    if columns < 2 or any(len(row) != columns for row in rows) or 5 * len(_QUOTED_CELL.findall(text)) < len(rows):
        return []
    named = [sum(_TORCH in row[at] for row in rows) for at in range(columns)]
    return [row[named.index(max(named))] for row in rows] if any(named) else []
