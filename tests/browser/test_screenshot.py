"""The pictures in the README and on the site are of the page as it is."""

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCREENSHOT = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "screenshot.py"))


def test_the_pictures_show_the_text_that_the_page_shows_now(chromium: "Browser") -> None:
    for scheme, (_, text) in zip(SCREENSHOT["SCHEMES"], SCREENSHOT["taken"](chromium), strict=True):
        picture = SCREENSHOT["image"](scheme).read_bytes()
        assert SCREENSHOT["description"](picture) == text, "take them anew: python docs/screenshot.py"
