"""Names that try to be something else come through every format as what they are: text that is seen and does nothing."""

import base64
import re
import zlib
from functools import cache

import make
import pytest
from github_markdown import Page
from hostile_names import names, outputs, trace_with

from shapelog.text import UNSAFE

# What people read, or paste. The others hold values that a parser gives back.
READ = ("terminal", "markdown", "github", "html", "env", "shell", "python")
NAMES = tuple(names(260))


@cache
def rendered() -> dict[str, str]:
    """Every format of a trace with all these names, with what a page holds compressed."""
    found = {where: text.decode() for where, text in outputs(make.load(trace_with(*NAMES))).items()}
    return {where: unpacked(text) if where.endswith("html") else text for where, text in found.items()}


def unpacked(page: str) -> str:
    # Those of payloads are z0, z1, ...: the page's script escapes what it shows of them.
    parts = re.findall(r'<script type="text/plain" id="[^z]\w*">([^<]*)</script>', page)
    return "\n".join([page, *(zlib.decompress(base64.b64decode(text), -15).decode() for text in parts)])


def read() -> dict[str, str]:
    return {where: text for where, text in rendered().items() if where.endswith(READ)}


def test_every_format_that_is_read_is_there() -> None:
    assert {where.rpartition(" ")[2] for where in read()} == set(READ)
    assert all(len(text) > 200 for text in read().values())


@pytest.mark.parametrize("where", ["report terminal", "check markdown", "check github", "check html", "report html", "advice shell"])
def test_no_character_is_hidden(where: str) -> None:
    assert set(UNSAFE.findall(read()[where])) == set()


@pytest.mark.parametrize("where", ["check markdown", "overview markdown"])
def test_nothing_in_markdown_is_live(where: str) -> None:
    page = Page(read()[where])
    assert page.live == []
    assert page.tags["details"] > 100
