"""A row of a table with recompile reasons, as people copy it from a page of tlparse or write it themselves."""

import re

from shapelog.reading.payloads.recompile_reasons import split_entry
from shapelog.reading.text_logs.messages import is_reason

_BETWEEN = re.compile(r"\s*(?:\||\t|<br ?/?>)\s*")
_ID = re.compile(r"\W{0,3}(\d{1,9}/\d{1,9})(?:_\d{1,9})?\W{0,3}")


def reasons_in_row(line: str) -> tuple[str, tuple[str, ...]]:
    """The id of the compile that a row of a table names, "" without one, and its reasons; ("", ()) for a line that is no row."""
    cells = [cell.strip("`") for cell in _BETWEEN.split(line.strip())]
    if len(cells) == 1:
        return "", ()
    named = next((found[1] for cell in cells if (found := _ID.fullmatch(cell))), "")
    return named, tuple(cell for cell in cells if split_entry(cell)[0] and is_reason(cell))
