"""What Inductor logs about CUDA graphs and about speed."""

import re
from collections.abc import Iterable, Iterator

from shapelog.reading.payloads.cuda_graphs import goes_on_about_sizes
from shapelog.reading.text_logs.messages.logged_warnings import without_place

# A line that ends with a span of code, as a list has a message.
_IN_SPAN = re.compile(r"^[^`\"]*(?P<mark>[`\"])(?P<text>[^`\"]+)(?P=mark)\W*$")


def inductor_messages(lines: Iterable[str]) -> Iterator[str]:
    """Each message in the lines about CUDA graphs or speed: one a line, with the indented lines that follow, a stack."""
    held: list[str] = []
    for line in lines:
        if held and goes_on_about_sizes(line):
            held[-1] = f"{held[-1].rstrip()} {line.strip()}"
            continue
        if held and line.strip() and not line[:1].isspace() and not line.startswith(("input name: ", "Found from")):
            yield "\n".join(held)
            held.clear()
        held.append(line if held else _IN_SPAN.sub(r"\g<text>", without_place(line).lstrip()))
    if "".join(held).strip():
        yield "\n".join(held)
