"""How a report is shown. ``FORMATS`` lists the reporters by name; each is ``render(report, options) -> bytes`` and a
``SUFFIX``; those in ``STORY_FORMATS`` show the story of one compile, those in ``COMPARE_FORMATS`` what changed between two runs,
those in ``ADVICE_FORMATS`` what to mark dynamic, those in ``VERIFY_FORMATS`` whether it helped."""

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapelog.advice.advise import Advice
    from shapelog.check.check import Checked
    from shapelog.report.compare import Comparison
    from shapelog.report.explain_compile import Story
    from shapelog.report.report import Report
    from shapelog.report.verification import Verification
    from shapelog.rule_docs import Entry

FORMATS = {"terminal": "shapelog.reporters.terminal.report", "json": "shapelog.reporters.json", "html": "shapelog.reporters.html.render"}
# The format that a file name's ending means, where the command has it.
SUFFIXES = {
    "gl-code-quality-report.json": "gitlab",  # the name that GitLab's manual gives it
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
}
STORY_FORMATS = {"terminal": "shapelog.reporters.terminal.explain", "json": "shapelog.reporters.json"}
COMPARE_FORMATS = {"terminal": "shapelog.reporters.terminal.compare", "json": "shapelog.reporters.json"}
# Those that only advice has hold nothing but what is pasted or evaluated.
ADVICE_FORMATS = {
    "terminal": "shapelog.reporters.terminal.advice",
    "json": "shapelog.reporters.json",
    "env": "shapelog.reporters.advice_env",
    "shell": "shapelog.reporters.advice_shell",
    "python": "shapelog.reporters.advice_python",
}
# What CI systems read: the outcome of a check, or of a report that nobody asked anything of.
CI_FORMATS = {
    "markdown": "shapelog.reporters.ci.markdown",
    "sarif": "shapelog.reporters.ci.sarif",
    "junit": "shapelog.reporters.ci.junit",
    "github": "shapelog.reporters.ci.github",
    "gitlab": "shapelog.reporters.ci.gitlab",
    "jsonl": "shapelog.reporters.json.lines",
}
CHECK_FORMATS = {**FORMATS, "terminal": "shapelog.reporters.terminal.check", **CI_FORMATS}
VERIFY_FORMATS = {"terminal": "shapelog.reporters.terminal.verification", "json": "shapelog.reporters.json"}
RULES_FORMATS = {
    "terminal": "shapelog.reporters.terminal.rules",
    "json": "shapelog.reporters.json",
    "markdown": "shapelog.reporters.rules_markdown",
}
# What a recording shows of itself; a part of somebody's page, and so no format of its own.
NOTEBOOK = "shapelog.reporters.html.notebook"
# What a failing test shows of its recording; the pytest plugin imports it.
PYTEST = "shapelog.reporters.terminal.pytest"
# What is shown of a job that still runs.
WATCH = "shapelog.reporters.terminal.watch"


class Options(NamedTuple):
    """What the person asked for. ``limit`` is how many entries a list shows (0: all); ``width`` is in columns, None for the terminal's.

    ``embed`` says which payloads an HTML page carries (``none``, ``fit``, ``recompiled`` or ``all``); without ``with_source`` it holds
    neither code nor payloads nor absolute paths. ``may_fork`` lets a child process make a part of it; only for programs without threads.
    ``room`` is how many bytes Markdown may take, None for any number. ``again`` is what to type behind ``shapelog report`` to see the same
    trace, "" where nobody can, as of standard input.
    """

    frame: str | None = None
    verbose: bool = False
    limit: int = 6
    color: bool | None = None
    width: int | None = None
    is_terminal: bool = False
    embed: str = "fit"
    with_source: bool = True
    may_fork: bool = False
    room: int | None = None
    again: str = ""


class Reporter(Protocol):
    """What a module in ``FORMATS`` provides."""

    SUFFIX: str

    def render(self, report: "Report", options: Options) -> bytes: ...


class CheckReporter(Protocol):
    """What a module in ``CHECK_FORMATS`` provides."""

    SUFFIX: str

    def render_check(self, checked: "Checked", options: Options) -> bytes: ...


class StoryReporter(Protocol):
    """What a module in ``STORY_FORMATS`` provides."""

    SUFFIX: str

    def render_story(self, story: "Story", options: Options) -> bytes: ...


class ComparisonReporter(Protocol):
    """What a module in ``COMPARE_FORMATS`` provides."""

    SUFFIX: str

    def render_comparison(self, comparison: "Comparison", options: Options) -> bytes: ...


class VerificationReporter(Protocol):
    """What a module in ``VERIFY_FORMATS`` provides."""

    SUFFIX: str

    def render_verification(self, verification: "Verification", options: Options) -> bytes: ...


class RulesReporter(Protocol):
    """What a module in ``RULES_FORMATS`` provides."""

    SUFFIX: str

    def render_rules(self, entries: "Iterable[Entry]", options: Options) -> bytes: ...

    def render_rule(self, entry: "Entry", options: Options) -> bytes: ...


class AdviceReporter(Protocol):
    """What a module in ``ADVICE_FORMATS`` provides."""

    SUFFIX: str

    def render_advice(self, advice: "Advice", options: Options) -> bytes: ...


def reporter(name: str) -> Reporter:
    return cast(Reporter, import_module(FORMATS[name]))


def check_reporter(name: str) -> CheckReporter:
    return cast(CheckReporter, import_module(CHECK_FORMATS[name]))


def notebook_reporter() -> Reporter:
    return cast(Reporter, import_module(NOTEBOOK))


def story_reporter(name: str) -> StoryReporter:
    return cast(StoryReporter, import_module(STORY_FORMATS[name]))


def verification_reporter(name: str) -> VerificationReporter:
    return cast(VerificationReporter, import_module(VERIFY_FORMATS[name]))


def advice_reporter(name: str) -> AdviceReporter:
    return cast(AdviceReporter, import_module(ADVICE_FORMATS[name]))


def comparison_reporter(name: str) -> ComparisonReporter:
    return cast(ComparisonReporter, import_module(COMPARE_FORMATS[name]))


def rules_reporter(name: str) -> RulesReporter:
    return cast(RulesReporter, import_module(RULES_FORMATS[name]))
