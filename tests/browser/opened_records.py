"""The records of a compilation on its page, and the buttons that open their payloads."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import shapelog
from browser.conftest import FIXTURES
from shapelog.model.compile import Compile

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

DEMO = FIXTURES / "real" / "demo.log.gz"
GRAPH, GUARDS = "graph that Dynamo captured", "guards"


def compiles(path: Path = DEMO) -> dict[str, Compile]:
    return {compile.label: compile for compile in shapelog.load(path).compiles}


def records(page: "Page", label: str) -> "Locator":
    """The table of the records of a compile, on the page that shows it."""
    compile = page.locator(f"#compile-{label.replace('/', '-')}")
    compile.locator("details > summary").filter(has_text="Records").click()
    return compile.get_by_role("region", name=f"Records of {label}")


def opener(table: "Locator", title: str) -> "Locator":
    name = re.compile(rf"^{re.escape(title)}(?: (?!\().*)?$")
    return table.get_by_role("row").filter(has=table.page.get_by_role("rowheader", name=name)).get_by_role("button").first
