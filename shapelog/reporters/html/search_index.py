"""What the search field of the page finds."""

from collections.abc import Iterator
from itertools import islice

from shapelog.reporters.html.frame_page import FrameView
from shapelog.reporters.html.overview import Overview
from shapelog.text import file_name, one_line

# Longer texts make the index heavy and no result clearer.
_MAX_TEXT = 160
_MAX_RECOMPILES, _MAX_VALUES = 1500, 40


def search_entries(views: tuple[FrameView, ...], summary: Overview) -> Iterator[tuple[str, str, str]]:
    """(where it leads, title, details): frames, the sources that varied in them, rules, recompiles. A rule leads to ``rule SL101``."""
    for rule in summary.codes:
        yield f"rule {rule.code}", f"{rule.code} {rule.name}", _clipped(rule.remedy)
    for view in views:
        frame = view.frame
        place = f"{file_name(frame.file)}:{frame.line}" if frame.file else ""
        yield view.anchor, _clipped(frame.title), _clipped(" · ".join(part for part in (f"frame {frame.label}", view.owner, place) if part))
        for axis in view.report.axes:
            codes, values = " ".join(rule.code for rule in axis.rules), " ".join(axis.values[:_MAX_VALUES])
            yield view.anchor, _clipped(axis.name), _clipped(f"{codes} in {frame.title}: {values}")
    found = ((view, item, item.recompile) for view in views for item in view.compiles if item.recompile)
    for view, item, recompile in islice(found, _MAX_RECOMPILES):
        yield item.anchor, item.compile.label, _clipped(f"{' '.join(recompile.codes)} {view.frame.title}: {item.headline}")


def _clipped(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
