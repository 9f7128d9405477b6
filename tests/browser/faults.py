"""What a page must not have: parts that are cut off, targets that are too small, and what axe-core complains of."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

# What reaches beyond the right edge and is not in a box of its own that scrolls.
BEYOND = """
() => {
  const cut = (item) => item && (getComputedStyle(item).overflowX !== "visible" || cut(item.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((item) => item.checkVisibility() && item.getBoundingClientRect().right > innerWidth + 1 && !cut(item))
    .slice(0, 3).map((item) => item.outerHTML.slice(0, 160));
}
"""

# Boxes that scroll sideways, apart from the sizes of all compilations and the charts.
SCROLLING = """
() => [...document.querySelectorAll("main .scroll")]
  .filter((item) => item.checkVisibility() && !item.querySelector(".shapes") && !item.closest(".chart"))
  .filter((item) => item.scrollWidth > item.clientWidth + 1)
  .slice(0, 3).map((item) => `${item.getAttribute("aria-label")}: ${item.scrollWidth} in ${item.clientWidth}`)
"""

# Links, buttons and labels of boxes of the report that are lower than a finger needs.
LOW = """
() => [...document.querySelectorAll("main a, main button, main summary, main label")]
  .filter((item) => item.checkVisibility() && !item.closest("svg") && item.getBoundingClientRect().height < 24)
  .map((item) => item.outerHTML.slice(0, 160))
"""


def low_contrast_in_the_dark(page: "Page") -> list[str]:
    """What axe-core finds in the same page in dark colors, once they do not change any more."""
    page.emulate_media(color_scheme="dark")
    page.evaluate("document.getAnimations().forEach((animation) => animation.finish())")
    return violations(page, "color-contrast")


def violations(page: "Page", *rules: str) -> list[str]:
    """The violations that axe-core finds in the page as it is now."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # It walks hidden parts too, which takes most of its time.
    page.evaluate("document.querySelectorAll('main > [hidden]').forEach((part) => part.remove())")
    options: dict[str, object] = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
    if rules:
        options = {"resultTypes": ["violations"], "runOnly": list(rules)}
    return [
        f"{item['impact']} {item['id']}: {node['html'][:160]}: {node['failureSummary'][:300]}"
        for item in axe.run(page, options=options).response["violations"]
        for node in item["nodes"][:2]
    ]
