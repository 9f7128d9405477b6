"""Takes the pictures of the HTML report that the README and the site show, from the real page: python docs/screenshot.py

Needs Playwright and a chromium on PATH (pip install -e . --group browser). Each PNG holds, as its description, the text that is visible
in it, so that a test can compare it with what the page shows now.
"""

import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
TRACE = ROOT / "fixtures" / "real" / "demo.log.gz"
SCHEMES = ("light", "dark")
# Pixels of the visible part of the page, and how many of the picture each of them is, since most screens are finer than that.
VIEW = {"width": 1300, "height": 880}
SCALE = 1.4
_KEY = b"Description"
# Text of elements that are inside of the window, in reading order.
_VISIBLE_TEXT = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(walker.currentNode);
        const box = range.getBoundingClientRect();
        const text = walker.currentNode.textContent.trim();
        if (text && box.width && box.height && box.top >= 0 && box.bottom <= innerHeight) found.push(text);
    }
    return found.join("\\n");
}"""


def main() -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme, (picture, text) in zip(SCHEMES, taken(browser), strict=True):
            image(scheme).write_bytes(described(picture, text))
        browser.close()


def image(scheme: str) -> Path:
    return IMAGES / f"report-{scheme}.png"


def taken(browser: "Browser") -> Iterator[tuple[bytes, str]]:
    """The picture and the visible text of the page, in each of the schemes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.html")
        subprocess.run([sys.executable, "-m", "shapelog", "report", str(TRACE), "-o", str(report)], check=True, cwd=ROOT)
        for scheme in SCHEMES:
            page = browser.new_page(viewport=VIEW, device_scale_factor=SCALE, color_scheme=scheme)
            page.goto(report.as_uri())
            yield page.screenshot(), visible_text(page)
            page.close()


def visible_text(page: "Page") -> str:
    return str(page.evaluate(_VISIBLE_TEXT))


def described(picture: bytes, text: str) -> bytes:
    """A PNG with a text in it: an iTXt chunk before the end, packed (https://www.w3.org/TR/png-3/#11iTXt)."""
    content = b"iTXt" + _KEY + b"\0\1\0\0\0" + zlib.compress(text.encode())
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    end = picture.rindex(b"IEND") - 4
    return picture[:end] + chunk + picture[end:]


def description(picture: bytes) -> str:
    """The text of ``described``."""
    packed = picture.partition(b"iTXt" + _KEY + b"\0\1\0\0\0")[2]
    return zlib.decompressobj().decompress(packed).decode()


if __name__ == "__main__":
    main()
