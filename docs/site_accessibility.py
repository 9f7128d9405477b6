"""What axe-core complains of in the built site: python docs/site_accessibility.py SITE

Looks at pages of each kind, in light and dark, on a screen and on a phone. Needs Playwright, axe-playwright-python and a chromium on PATH
(pip install -e . --group browser).
"""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

_PAGES = (
    "index.html",
    "first-steps/index.html",
    "tutorial/index.html",
    "rules/SL101/index.html",
    "python-api/index.html",
    "faq/index.html",
)
_EVERYTHING = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
_COLORS = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
_VIEWS = ((1440, "light", _EVERYTHING), (1440, "dark", _COLORS), (390, "light", _EVERYTHING))


def faults(site: Path) -> Iterator[str]:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    axe = Axe()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width, scheme, options in _VIEWS:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            for name in _PAGES:
                page.goto((site / name).resolve().as_uri())
                for item in axe.run(page, options=options).response["violations"]:
                    node = item["nodes"][0]
                    yield f"{name} ({width}, {scheme}): {item['id']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
            page.close()
        browser.close()


def main() -> None:
    found = list(faults(Path(sys.argv[1])))
    if found:
        sys.exit("\n".join((*found, f"{len(found)} faults")))


if __name__ == "__main__":
    main()
