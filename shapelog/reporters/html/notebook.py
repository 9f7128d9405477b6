"""A summary of the report for notebooks: a fragment of HTML without script, and without anything fetched."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_shell, effect_of, where_to_get, why_nothing
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.html.environment import environment
from shapelog.rules import UNEXPLAINED, Verdict
from shapelog.text import is_visible, one_line, plural, seconds, shorten

# Of a middle brightness, to be readable on white and on black.
_COLORS = {
    Verdict.MARKING: "#2f9e44",
    Verdict.CODE: "#d08700",
    Verdict.JUSTIFIED: "#3b82c4",
    Verdict.UNEXPLAINED: "#b04fb8",
    Verdict.FAILED: "#d64545",
    Verdict.LIMIT: "#d64545",
    Verdict.SKIPPED: "#888888",
}
_MAX_TEXT = 160
_MAX_LINE = 2000


def render(report: Report, options: Options) -> bytes:
    """``options.limit`` is how many rows a table has, 0 for all."""
    templates = environment()
    templates.filters.update(color=_COLORS.__getitem__, text=_text)
    advice = report.advice if report.summary.compiles else None
    text = templates.get_template("notebook.html.j2").render(
        report=report,
        headline=_headline(report),
        limits=", ".join(f"{_text(item.frame.title)} (from {item.limit_hit.label} on)" for item in report.frames if item.limit_hit),
        advice=advice,
        effect=effect_of(advice) if advice else "",
        line=_line_to_copy(advice) if advice else "",
        why_no_line=(where_to_get(advice) if advice.env else why_nothing(advice)) if advice else "",
        frames=[item for item in report.frames if item.has_recompiled],
        limit=options.limit or None,
        unexplained=UNEXPLAINED,
    )
    return text.encode("utf-8", "replace")


def _text(value: object) -> str:
    return shorten(one_line(value), _MAX_TEXT)


def _headline(report: Report) -> str:
    summary = report.summary
    if not summary.compiles and not summary.failures:
        return "Nothing was compiled in this run."
    of_them = f"{plural(summary.recompiles, 'recompile')} ({seconds(summary.recompile_seconds)})" if summary.recompiles else "no recompile"
    return f"{plural(summary.compiles, 'compile')} in {seconds(summary.seconds)}, of them {of_them}"


def _line_to_copy(advice: Advice) -> str:
    """The line of the shell, "" where it cannot be shown as it is."""
    shell = as_shell(advice)
    return shell if is_visible(shell) and len(shell) <= _MAX_LINE else ""
