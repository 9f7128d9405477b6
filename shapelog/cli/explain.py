"""``shapelog explain``."""

import sys
from typing import Any

import click

from shapelog.cli.load import read_several
from shapelog.cli.options import chosen, output_options, source_options
from shapelog.cli.output import Made, Target, finish
from shapelog.reporters import STORY_FORMATS


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.argument("compile_id", metavar="COMPILE_ID")
@click.option("--rank", type=int, help="Which rank, where several have that compile.")
@click.option("--process", type=int, help="Which process, where forked ones wrote one file.")
@click.option("-v", "--verbose", is_flag=True, help="Show guard and graph differences in full.")
@source_options(which_run=True)
@output_options(STORY_FORMATS)
def explain(traces: tuple[str, ...], compile_id: str, rank: int | None, process: int | None, verbose: bool, **shared: Any) -> None:
    """Tell the whole story of one compile.

    COMPILE_ID is an id such as 2/3, as the report shows it: what it was held against, what differed, what PyTorch said.
    """

    refused = 0

    def make() -> Made:
        nonlocal refused
        several, refused = read_several(traces, shared, rank)
        from shapelog.model.trace import merged
        from shapelog.report.explain_compile import tell
        from shapelog.reporters import story_reporter

        loaded = merged(several)
        story = tell(loaded, compile_id, rank, process)

        def render(target: Target) -> bytes:
            options = chosen(shared, target, verbose=verbose, limit=0 if verbose else 20)
            return story_reporter(target.format).render_story(story, options)

        return Made(render, lambda: any(item.severity != "info" for item in loaded.problems))

    finish(make, shared)
    if refused:  # the others were read
        sys.exit(2)
