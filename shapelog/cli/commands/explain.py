"""``shapelog explain``."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import traces_and_compile_ids
from shapelog.cli.load import load_all, named_traces
from shapelog.cli.options import CommonOptions, input_options, output_options, rendering
from shapelog.cli.output import Output, message, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

if TYPE_CHECKING:
    from shapelog.model.trace import Trace
    from shapelog.report.explain_compile import CompileExplanation


@click.command()
@click.argument("arguments", metavar="[TRACE]... [COMPILE_ID]", nargs=-1, shell_complete=traces_and_compile_ids)
@click.option("--rank", type=int, help="Which rank, if several have this compilation.")
@click.option("--process", type=int, help="Which process, if forked processes wrote to one file.")
@click.option("-v", "--verbose", is_flag=True, help="Show all guards, and differences in full.")
@input_options
@output_options(formats("explanation"))
def explain(arguments: tuple[str, ...], rank: int | None, process: int | None, options: CommonOptions) -> int:
    """Explain one compilation in full.

    COMPILE_ID is an id such as 2/3, as the report shows it, or [2/3] as TORCH_LOGS does. The explanation lists the cache entries that it
    was compared with, what differed, and PyTorch's own reasons; for a first compilation, and with --verbose, the guards: what a call has
    to have to reuse it. Without an id, the most expensive recompilation is explained; if nothing recompiled, the most expensive
    compilation. TRACE may be a text log; without TRACE, the directory in TORCH_TRACE is read.

    \b
    Examples:
      shapelog explain traces/
      shapelog explain train.log 2/3
    """
    from shapelog.report.explain_compile import explain_compile

    traces, compile_id = _traces_and_id(arguments)
    trace, is_partial = load_all(named_traces(traces, "explain", compile_id or "[COMPILE_ID]"), options, rank)
    explanation = explain_compile(trace, compile_id, rank, process) if compile_id is not None else _costliest(trace, rank, process)
    render = rendering("explanation", explanation, replace(options, limit=20))
    output = Output(render, lambda: any(problem.severity != "info" for problem in trace.problems), is_partial)
    return write_outputs(output, options)


def _traces_and_id(arguments: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The last argument is an id where it looks like one, or is nothing else; the first is one where it can be nothing else."""
    from shapelog.model.ids import parse_typed_id
    from shapelog.reading.trace_files import is_url

    if not arguments:
        return (), None
    first, *others = arguments
    if others and parse_typed_id(first) is not None and not os.path.exists(first):
        return tuple(others), first
    *traces, last = arguments
    is_trace = last == "-" or is_url(last) or os.path.exists(last)
    if is_trace and (parse_typed_id(last) is None or not traces):
        return arguments, None
    return (tuple(traces), last) if traces or parse_typed_id(last) else (arguments, None)


def _costliest(trace: "Trace", rank: int | None, process: int | None) -> "CompileExplanation":
    """The explanation of the recompile that took longest, of the compile where nothing recompiled; a message names the others."""
    from shapelog.advice.advise import advise
    from shapelog.recompiles.explain import explain_trace
    from shapelog.report.explain_compile import costliest_first, explanation_of, some_ids

    if trace.why_no_frames:
        raise ShapelogError(f"{trace.name}: {trace.why_no_frames}" + (" (see shapelog report)" if trace.outside_frames else ""))
    explained = explain_trace(trace)
    costliest = costliest_first(explained, rank, process)
    if not costliest:
        ids = some_ids(trace.compiles)
        if all(compile.is_refused for compile in trace.compiles):
            raise ShapelogError(
                f"{trace.name}: calls were refused at the recompile limit, for reasons that are not recorded (see shapelog report)"
            )
        raise ShapelogError(f"{trace.name}: nothing recompiled; to explain a compilation: shapelog explain TRACE ID (ids: {ids})")
    (frame, first), *others = costliest
    nothing, noun = ("", "recompilation") if explained.recompiles else ("nothing recompiled; ", "compilation")
    if others:
        ids = some_ids(compile for _, compile in others)
        of_rank = f" of rank {frame.rank}" if frame.rank is not None else ""
        more = ", with --rank that of another rank" if len({frame.rank for frame, _ in costliest}) > 1 else ""
        which = f"the most expensive {noun}" if trace.seconds(first) else f"one of the {noun}s (no times are recorded)"
        message(f"{nothing}{first.label}{of_rank} is {which}; for another: shapelog explain TRACE ID (ids: {ids}){more}")
    elif nothing:
        message(f"{nothing}{first.label} is the only compilation")
    return explanation_of(explained, advise(explained).remedies, frame, first)
