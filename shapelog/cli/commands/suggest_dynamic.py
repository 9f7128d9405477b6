"""``shapelog suggest-dynamic``."""

from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import files
from shapelog.cli.load import load_all, named_traces
from shapelog.cli.options import CommonOptions, input_options, list_options, output_options, rendering
from shapelog.cli.output import Output, Target, message, write_outputs
from shapelog.errors import ShapelogError
from shapelog.grouping import grouped
from shapelog.reporters import formats

if TYPE_CHECKING:
    from shapelog.advice.advise import Advice
    from shapelog.model.ids import TorchVersion
    from shapelog.recompiles.explain import Explanations


@click.command("suggest-dynamic", short_help="Show what to mark as dynamic, and what that saves.")
@click.argument("traces", metavar="[TRACE]...", nargs=-1, shell_complete=files)
@click.option("--torch-version", metavar="X.Y", help="Make suggestions for this version of torch.  [default: the version in the trace]")
@list_options("Show everything: all entries, the removed compilations, and mark_dynamic lines.")
@input_options
@output_options(formats("advised run", "advice"))
def suggest_dynamic(traces: tuple[str, ...], torch_version: str | None, options: CommonOptions) -> int:
    """Show exactly what to mark as dynamic, what it saves, and what it does not fix.

    Several traces or text logs of one program (different inputs, different ranks) produce one list; without TRACE, the directory in
    TORCH_TRACE is read. Formats: env is the bare value of TORCH_COMPILE_DYNAMIC_SOURCES, shell an export line for eval "$(...)", python
    lines to paste, json everything. If no mark helps, they are empty, the reason goes to standard error, and the exit code is 0.
    """
    from shapelog.recompiles.explain import explain_trace

    version = _version(torch_version)
    trace, is_partial = load_all(named_traces(traces, "suggest-dynamic"), options)
    explained = explain_trace(trace, options.debug)
    advice = _advise(explained, version, options.debug)
    has_problems = _report_problems(explained, options.strict)

    def render(target: Target) -> bytes:
        from shapelog.advice.paste_formats import why_nothing
        from shapelog.report.next_steps import advised_run
        from shapelog.report.report import report_on

        if target.format in formats("advised run"):
            return rendering("advised run", advised_run(report_on(explained, options.debug), advice), options)(target)
        rendered = rendering("advice", advice, options)(target)
        if not rendered:
            message(f"nothing to set: {why_nothing(advice)}")
        return rendered

    return write_outputs(Output(render, lambda: has_problems, is_partial), options)


def _version(text: str | None) -> "TorchVersion | None":
    from shapelog.model.ids import parse_version

    version = parse_version(text) if text else None
    if text and version is None:
        raise ShapelogError(f"--torch-version {text}: not a version such as 2.13")
    return version


def _advise(explained: "Explanations", version: "TorchVersion | None", debug: bool) -> "Advice":
    from shapelog.advice.advise import advise

    try:
        return advise(explained, version)
    except Exception as error:
        if debug:
            raise
        text = (
            f"{explained.trace.name}: shapelog could not compute suggestions ({type(error).__name__}: {error}); --debug shows the traceback"
        )
        raise ShapelogError(text) from error


def _report_problems(explained: "Explanations", strict: bool) -> bool:
    """Whether the trace has problems. Those that lost data are printed, under ``strict`` all of them, in one line for each file."""
    problems = [problem for problem in (*explained.trace.problems, *explained.problems) if problem.severity != "info"]
    printed = [problem for problem in problems if strict or problem.severity == "data loss"]
    for file, found in grouped(printed, lambda problem: problem.file).items():
        message(f"{file}: {found[0].message}" + (f"; and {len(found) - 1} more (shapelog report lists them)" if found[1:] else ""))
    return bool(problems)
