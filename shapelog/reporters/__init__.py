"""How a report is shown. ``FORMATS`` lists the reporters by name; each is ``render(report, options) -> bytes`` and a
``SUFFIX``; those in ``STORY_FORMATS`` show the story of one compile."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from shapelog.report import Report
    from shapelog.story import Story

FORMATS = {"terminal": "shapelog.reporters.terminal", "json": "shapelog.reporters.json_report"}
STORY_FORMATS = {"terminal": "shapelog.reporters.terminal_story", "json": "shapelog.reporters.json_report"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for. ``limit`` is how many entries a list shows (0: all); ``width`` is in columns, None for the terminal's."""

    frame: str | None = None
    verbose: bool = False
    limit: int = 6
    color: bool | None = None
    width: int | None = None
    is_terminal: bool = False


class Reporter(Protocol):
    """What a module in ``FORMATS`` provides."""

    SUFFIX: str

    def render(self, report: "Report", options: Options) -> bytes: ...


class StoryReporter(Protocol):
    """What a module in ``STORY_FORMATS`` provides."""

    SUFFIX: str

    def render_story(self, story: "Story", options: Options) -> bytes: ...


def reporter(name: str) -> Reporter:
    return cast(Reporter, import_module(FORMATS[name]))


def story_reporter(name: str) -> StoryReporter:
    return cast(StoryReporter, import_module(STORY_FORMATS[name]))
