"""``shapelog explain``."""

from dataclasses import replace

import click

from shapelog.cli.load import load_all
from shapelog.cli.options import CommonOptions, input_options, output_options, rendering
from shapelog.cli.output import Output, write_outputs
from shapelog.reporters import formats


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.argument("compile_id", metavar="COMPILE_ID")
@click.option("--rank", type=int, help="Which rank, where several have that compile.")
@click.option("--process", type=int, help="Which process, where forked ones wrote one file.")
@click.option("-v", "--verbose", is_flag=True, help="Show guard and graph differences in full.")
@input_options
@output_options(formats("explanation"))
def explain(traces: tuple[str, ...], compile_id: str, rank: int | None, process: int | None, options: CommonOptions) -> int:
    """Tell the whole story of one compile.

    COMPILE_ID is an id such as 2/3, as the report shows it: what it was held against, what differed, what PyTorch said.
    """
    from shapelog.report.explain_compile import explain_compile

    trace, is_partial = load_all(traces, options, rank)
    explanation = explain_compile(trace, compile_id, rank, process)
    render = rendering("explanation", explanation, replace(options, limit=20))
    output = Output(render, lambda: any(problem.severity != "info" for problem in trace.problems), is_partial)
    return write_outputs(output, options)
