"""``shapelog report``, and the output of a report, which ``run`` and ``watch`` share."""

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TextIO

import click

from shapelog.cli.browser import opened_page
from shapelog.cli.completion import files
from shapelog.cli.load import load_all, named_traces
from shapelog.cli.options import CommonOptions, format_options, input_options, list_options, output_options, reporter_options
from shapelog.cli.output import Output, Target, reject_page_on_terminal, reject_unwritable, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats, renderer

if TYPE_CHECKING:
    from shapelog.check.check import CheckResult
    from shapelog.report.report import Report


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, shell_complete=files)
@click.option("--frame", help="Show one frame with its shape table, by number or part of its name.")
@click.option(
    "--open", "is_opened", is_flag=True, help="Open the HTML page in the browser (the one from -o or --html, else a temporary one)."
)
@list_options("Show everything: all entries, every recompilation, and records by kind.")
@format_options
@input_options
@output_options(formats("report", "overview"), several=True)
def report(traces: tuple[str, ...], frame: str | None, is_opened: bool, options: CommonOptions) -> int:
    """Explain every recompilation in TRACE.

    TRACE is a file that TORCH_TRACE wrote, a text log that contains TORCH_LOGS output or torch.compile warnings, a directory (its
    newest run), an archive or the output of tlparse, a URL, or - for standard input; several are read as one job. Without TRACE, the
    directory in TORCH_TRACE is read. With --html FILE (or -o FILE.html alone) the report is one self-contained HTML page: for CI
    artifacts, issues, and closer inspection. The formats for CI systems contain the same findings as shapelog check, without a verdict.

    \b
    Examples:
      shapelog report traces/
      shapelog report train.log --html report.html
    """
    if not is_opened:
        return _report(traces, frame, options)
    with opened_page(options.targets) as targets:
        return _report(traces, frame, replace(options, targets=targets))


def _report(traces: tuple[str, ...], frame: str | None, options: CommonOptions) -> int:
    from shapelog.report.report import analyze

    reject_page_on_terminal(options.targets)
    reject_unwritable(options.targets)
    traces = named_traces(traces, "report")
    trace, is_partial = load_all(traces, options)
    shown = whole = analyze(trace, options.debug)
    if frame is not None:
        from shapelog.report.frame_selection import select_frames

        shown = select_frames(whole, frame, options.debug)
        if not shown.frames:
            names = ", ".join(f"{item.frame.label} ({item.frame.title})" for item in whole.frames[:8])
            raise ShapelogError(f"{' '.join(traces)}: no frame {frame!r}; frames: {names or 'none'}")
    output = report_output(shown, options, frame=frame)
    return write_outputs(output._replace(is_partial=is_partial), options)


def report_output(report: "Report", options: CommonOptions, stream: TextIO | None = None, frame: str | None = None) -> Output:
    """A report in each of its formats; those for CI systems show the alerts of a check, without a verdict."""

    @cache
    def overview() -> "CheckResult":
        from shapelog.check import check
        from shapelog.report.alerts.collect import collect_alerts
        from shapelog.report.repository_paths import Repository

        return check.without_policy(collect_alerts(report, Repository(options.source_root, options.strip_prefix)))

    def render(target: Target) -> bytes:
        wanted = reporter_options(options, target, stream)._replace(frame=frame)
        if target.format in formats("report"):
            return renderer("report", target.format)(report, wanted)
        return renderer("overview", target.format)(overview(), wanted)

    return Output(render, lambda: report.has_problems)
