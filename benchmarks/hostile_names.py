#!/usr/bin/env python3
"""Hostile names through every format, and what reads it: python benchmarks/hostile_names.py [--names N] [--seed S]

Markdown goes through the parser of GitHub, JUnit through one of XML, SARIF through its schema, the line to set through each shell that is
installed, and the page through Chromium, where Playwright is. Ends with 1 where anything is more than text.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

import make  # noqa: E402
from hostile_names import SHELLS, flaws, names, outputs, shell_flaws, trace_with  # noqa: E402

# Names in one trace.
_BATCH = 50
_FOREIGN = "img, marquee, iframe, object, embed, form, link, base, video, audio, style:not(head > style), main script, svg script"
_OPEN = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"
_ANCHORS = "parts => parts.map((part) => part.id)"

Look = Callable[[bytes], Iterator[str]]


@contextmanager
def browser() -> Iterator[Look | None]:
    """A function that gives what is live in a page, as a browser sees it; None if there is no browser."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield None
        return
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        file = Path(folder, "page.html")

        def look(output: bytes) -> Iterator[str]:
            file.write_bytes(output)
            page = chromium.new_page()
            noise: list[str] = []
            page.on("request", lambda request: noise.append(request.url) if request.url.partition("#")[0] != file.as_uri() else None)
            page.on("console", lambda message: noise.append(message.text))
            page.on("pageerror", lambda error: noise.append(str(error)))
            page.on("dialog", lambda dialog: (noise.append(dialog.message), dialog.dismiss()))
            page.goto(file.as_uri())
            for anchor in page.locator("main > .page").evaluate_all(_ANCHORS)[:20]:
                page.evaluate("anchor => { location.hash = anchor; }", anchor)
                page.evaluate(_OPEN)
            noise += [f"{page.locator(_FOREIGN).count()} foreign elements"] * bool(page.locator(_FOREIGN).count())
            page.close()
            yield from noise

        yield look
        chromium.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    every = list(names(chosen.names, chosen.seed))
    found = 0
    with browser() as look:
        print(f"shells: {' '.join(filter(shutil.which, SHELLS))}; browser: {'chromium' if look else 'none'}", flush=True)
        for start in range(0, len(every), _BATCH):
            rendered = outputs(make.load(trace_with(*every[start : start + _BATCH])))
            line, value = (rendered[f"advice {form}"].decode().removesuffix("\n") for form in ("shell", "env"))
            bad = [*flaws(rendered), *shell_flaws(line, value)]
            if look:
                bad += [f"browser: {flaw}" for form in ("report html", "check html") for flaw in look(rendered[form])]
            for flaw in bad:
                print(f"names {start} to {start + _BATCH}: {ascii(flaw)[:400]}", flush=True)
            found += len(bad)
    print(f"{len(every)} names, {found} findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
