"""The blocks of code in a page of Markdown."""

import re
from pathlib import Path

FENCE = re.compile(r"^```(?P<language>[a-z]*)\n(?P<text>.*?)^```$", re.M | re.S)


def blocks(page: Path, language: str) -> list[str]:
    """Those of one language, in the order of the page; "" is that of blocks without one."""
    return [found["text"] for found in FENCE.finditer(page.read_text(encoding="utf-8")) if found["language"] == language]
