"""What a notebook shows of a report, of advice and of a trace: a fragment of HTML without script, and without anything fetched."""

import math

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python, effect_of, why_nothing
from shapelog.model.trace import Trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.overview import export_verdict
from shapelog.rules import UNEXPLAINED, Verdict
from shapelog.text import as_sentence, is_visible, one_line, plural, seconds_or_unknown, shorten, taking

# Of a middle brightness, to be readable on white and on black.
_COLORS = {
    Verdict.MARKING: "#2f9e44",
    Verdict.CODE: "#d08700",
    Verdict.JUSTIFIED: "#3b82c4",
    Verdict.UNEXPLAINED: "#b04fb8",
    Verdict.FAILED: "#d64545",
    Verdict.LIMIT: "#d64545",
    Verdict.SKIPPED: "#888888",
    Verdict.UNFINISHED: "#888888",
}
_MAX_TEXT = 160
_MAX_CODE = 4000
# Steps that are shown, unless all rows of all tables are.
_MAX_STEPS = 3


def render(report: Report, options: Options) -> bytes:
    """``options.limit`` is how many rows a table has, 0 for all."""
    return rendered(
        options,
        "notebook.html.j2",
        report=report,
        headline=_headline(report),
        limits=", ".join(f"{_text(item.frame.title)} (at {item.limit_hit.reference})" for item in report.frames if item.limit_hit),
        frames=[item for item in report.frames if item.has_recompiled],
        steps=next_steps(collect_alerts(report, Repository())),
        most=_MAX_STEPS if options.limit else None,
        with_source=options.with_source,
        unexplained=UNEXPLAINED,
        **(_about_advice(report.advice) if report.advice else {"advice": None}),
    )


def render_advice(advice: Advice, options: Options) -> bytes:
    """What to mark, as code to paste; ``options.limit`` as for a report."""
    return rendered(options, "notebook_only_advice.html.j2", **_about_advice(advice))


def render_trace(trace: Trace, options: Options) -> bytes:
    """What was compiled, those functions first that took longest; ``options.limit`` as for a report."""
    return rendered(
        options,
        "notebook_trace.html.j2",
        trace=trace,
        version=f"torch {trace.torch_version or f'{trace.version_guess} (guessed)'}",
        compiled=_compiled(trace),
        frames=sorted(trace.frames, key=lambda frame: -frame.seconds),
    )


def _compiled(trace: Trace) -> str:
    number = sum(len(frame.entries) for frame in trace.frames)
    if not trace.frames:
        return trace.outside_frames or "nothing was compiled"
    return f"{plural(number, 'compilation')} in {seconds_or_unknown(math.fsum(map(trace.seconds, trace.compiles)))}"


def rendered(options: Options, template: str, **values: object) -> bytes:
    """A template with these values, ``options.limit`` and the filters of notebooks."""
    templates = environment()
    templates.filters.update(color=_COLORS.__getitem__, text=_text, title=_title)
    return templates.get_template(template).render(limit=options.limit or None, **values).encode("utf-8", "replace")


def _about_advice(advice: Advice) -> dict[str, object]:
    return {
        "advice": advice,
        "effect": effect_of(advice),
        "code": _code_to_paste(advice),
        "why_no_code": _where_to_get(advice) if advice.env else why_nothing(advice),
    }


def _text(value: object) -> str:
    return shorten(one_line(value), _MAX_TEXT)


def _title(value: object) -> str:
    """That of a step, which names functions and what to do: whole unless it is absurdly long."""
    return shorten(one_line(value), 4 * _MAX_TEXT)


def _headline(report: Report) -> str:
    summary = report.summary
    if not summary.compiles and not summary.failures:
        exports = report.trace.exports
        return export_verdict(exports) if exports else as_sentence(report.trace.outside_frames or "nothing was compiled in this run")
    of_them = (
        f"including {plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}"
        if summary.recompiles
        else "no recompilations"
    )
    return f"{summary.compiled}, {of_them}"


def _where_to_get(advice: Advice) -> str:
    """What is shown in place of a list that is too long."""
    return f"{plural(len(advice.entries), 'entry')}: print(advice.env) shows them, and print(trace.advice.env) those of a recording"


def _code_to_paste(advice: Advice) -> str:
    """Lines of Python, "" where they cannot be shown as they are."""
    code = as_python(advice)
    return code if all(map(is_visible, code.split("\n"))) and len(code) <= _MAX_CODE else ""
