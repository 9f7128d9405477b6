"""Every format of every result, in one table. A format is a function of a module here and a line of ``RENDERERS``."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, NamedTuple

# An overview is a report for CI systems: a check without a verdict. A recording (its report), marks (an
# advice), a trace and the objects inside them are what notebooks show.
Result = Literal[
    "report",
    "overview",
    "check",
    "comparison",
    "trend",
    "explanation",
    "advised run",
    "advice",
    "verification",
    "fix",
    "fleet",
    "rules",
    "rule",
    "recording",
    "marks",
    "trace",
    "object",
    "extraction",
]

_CI = {
    "markdown": "shapelog.reporters.ci.markdown:render_check",
    "sarif": "shapelog.reporters.ci.sarif:render_check",
    "junit": "shapelog.reporters.ci.junit:render_check",
    "github": "shapelog.reporters.ci.github:render_check",
    "gitlab": "shapelog.reporters.ci.gitlab:render_check",
    "jsonl": "shapelog.reporters.json.lines:render_check",
}
# Result → format → its function, which takes the result and Options, and gives bytes; that of JSON takes the result, and gives what to
# encode. Help lists the formats in this order.
RENDERERS: dict[Result, dict[str, str]] = {
    "report": {
        "terminal": "shapelog.reporters.terminal.report:render",
        "json": "shapelog.reporters.json.report:report_data",
        "html": "shapelog.reporters.html.render:render",
        "chrome-trace": "shapelog.reporters.chrome_trace.render:render",
    },
    "overview": _CI,
    "check": {
        "terminal": "shapelog.reporters.terminal.check:render_check",
        "json": "shapelog.reporters.json.check:check_data",
        "html": "shapelog.reporters.html.render:render_check",
        **_CI,
    },
    "comparison": {
        "terminal": "shapelog.reporters.terminal.compare:render_comparison",
        "json": "shapelog.reporters.json.compare:comparison_data",
        "html": "shapelog.reporters.html.runs.comparison:render_comparison",
    },
    "trend": {
        "terminal": "shapelog.reporters.terminal.trend:render_trend",
        "json": "shapelog.reporters.json.trend:trend_data",
        "html": "shapelog.reporters.html.runs.trend_page:render_trend",
    },
    "explanation": {
        "terminal": "shapelog.reporters.terminal.explain:render_explanation",
        "json": "shapelog.reporters.json.explain:explanation_data",
    },
    "advised run": {
        "terminal": "shapelog.reporters.terminal.advice:render_advised_run",
        "json": "shapelog.reporters.json.advice:advised_run_data",
    },
    "advice": {
        "env": "shapelog.reporters.paste:render_env",
        "shell": "shapelog.reporters.paste:render_shell",
        "python": "shapelog.reporters.paste:render_python",
    },
    "verification": {
        "terminal": "shapelog.reporters.terminal.verification:render_verification",
        "json": "shapelog.reporters.json.verification:verification_data",
        "html": "shapelog.reporters.html.runs.comparison:render_verification",
    },
    "fix": {
        "terminal": "shapelog.reporters.terminal.fix:render_fix",
        "json": "shapelog.reporters.json.fix:fix_data",
        "diff": "shapelog.reporters.terminal.fix:render_fix",
    },
    "fleet": {
        "terminal": "shapelog.reporters.terminal.fleet:render_fleet",
        "json": "shapelog.reporters.json.fleet:fleet_data",
    },
    "extraction": {
        "terminal": "shapelog.reporters.terminal.extraction:render_extraction",
        "json": "shapelog.reporters.json.extraction:extraction_data",
        "html": "shapelog.reporters.html.pages.extraction:render_extraction",
    },
    "rules": {
        "terminal": "shapelog.reporters.terminal.rules:render_rules",
        "json": "shapelog.reporters.json.rules:rules_data",
        "markdown": "shapelog.reporters.rules_markdown:render_rules",
    },
    "rule": {
        "terminal": "shapelog.reporters.terminal.rules:render_rule",
        "json": "shapelog.reporters.json.rules:rule_data",
        "markdown": "shapelog.reporters.rules_markdown:render_rule",
    },
    "recording": {"notebook": "shapelog.reporters.html.notebooks.notebook:render"},
    "marks": {"notebook": "shapelog.reporters.html.notebooks.notebook:render_advice"},
    "trace": {"notebook": "shapelog.reporters.html.notebooks.notebook:render_trace"},
    "object": {"notebook": "shapelog.reporters.html.notebooks.notebook_objects:render"},
}
# The format that the end of a file's name means, where the command has it.
SUFFIXES = {
    "gl-code-quality-report.json": "gitlab",  # the name that GitLab's manual gives it
    ".trace.json": "chrome-trace",
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".sarif": "sarif",
    ".xml": "junit",
    ".env": "env",
    ".sh": "shell",
    ".py": "python",
    ".diff": "diff",
    ".patch": "diff",
}
# Of files that may hold what a terminal shows, as a file without a suffix may.
TEXT_SUFFIXES = (".txt", ".log", ".out")
# Formats with a suffix that no other format has.
UNMISTAKABLE = frozenset(("html", "jsonl", "markdown", "sarif"))


class Options(NamedTuple):
    """The options of a reporter. ``limit`` is how many entries a list shows (0: all); ``width`` is in columns, None for the terminal's.

    ``frame`` is the frame that a report was made of alone. ``embed`` is which payloads an HTML page carries (``none``, ``fit``,
    ``recompiled`` or ``all``); without ``with_source`` it holds neither code nor payloads nor absolute paths. ``room`` is how many
    bytes Markdown may take, None for any number. ``again`` are the arguments with which ``shapelog report`` reads the same trace, ""
    where it cannot, as for standard input.
    """

    frame: str | None = None
    verbose: bool = False
    limit: int = 6
    color: bool | None = None
    width: int | None = None
    is_terminal: bool = False
    embed: str = "fit"
    with_source: bool = True
    room: int | None = None
    again: str = ""


def formats(*results: Result) -> tuple[str, ...]:
    """The names of the formats of these results, in the order of the table."""
    return tuple(name for result in results for name in RENDERERS[result])


def renderer(result: Result, form: str) -> Callable[[Any, Options], bytes]:
    """The function that renders a result in a format. Its module is imported here, and only here."""
    module, _, name = RENDERERS[result][form].partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    if form != "json":
        return function
    from shapelog.reporters.json_bytes import pretty

    def render_json(found: Any, options: Options) -> bytes:
        return pretty(function(found))

    return render_json
