"""Checks the built site: python docs/check_site.py SITE. MkDocs has checked the links between pages; here it is what leaves a page.

A page loads nothing from another host, each page has a twin in Markdown, and all links inside the site (also those of llms.txt) lead to
files.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

# What a browser fetches by itself.
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "link": "href"}
_LINK_TO_READ = frozenset(("canonical", "edit", "prev", "next", "alternate"))


class _Page(HTMLParser):
    """The addresses that a page loads, those that it links to, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.add(values.get("id", ""))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in _LOADED and _LOADED[tag] in values and values.get("rel") not in _LINK_TO_READ:
            self.loaded.append(values[_LOADED[tag]])


def faults(site: Path, home: str) -> Iterator[str]:
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        if path.name == "index.html" and not path.with_suffix(".md").exists():
            yield f"{name}: no twin in Markdown"
        yield from (f"{name}: loads {address}" for address in page.loaded if urlsplit(address).netloc)
        for link in page.links:
            target, anchor = urldefrag(urljoin(home + name, link))
            if target.startswith(home) and not _leads_somewhere(site, target.removeprefix(home), anchor, pages):
                yield f"{name}: a link leads nowhere: {link}"
    for link in re.findall(r"\]\((\S+)\)", (site / "llms.txt").read_text(encoding="utf-8")):
        if not (site / link.removeprefix(home)).is_file():
            yield f"llms.txt: a link leads nowhere: {link}"


def _leads_somewhere(site: Path, inner: str, anchor: str, pages: dict[Path, _Page]) -> bool:
    target = site / unquote(inner)
    file = target / "index.html" if target.is_dir() else target
    return file.is_file() and (not anchor or file not in pages or anchor in pages[file].anchors)


def main() -> None:
    site = Path(sys.argv[1])
    (address,) = re.findall(r'rel="canonical" href="([^"]+)"', (site / "index.html").read_text(encoding="utf-8"))
    found = list(faults(site, address))
    print(*found or ["the site is whole"], sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
