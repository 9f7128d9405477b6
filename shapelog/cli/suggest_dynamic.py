"""``shapelog suggest-dynamic``."""

import sys
from typing import Any

import click

from shapelog.cli.load import read_several
from shapelog.cli.options import chosen, output_options, source_options
from shapelog.cli.output import Made, Target, finish, say
from shapelog.reporters import ADVICE_FORMATS


@click.command("suggest-dynamic")
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option("--torch-version", metavar="X.Y", help="Advise for this version of torch.  [default: the trace's]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, which compiles go, mark_dynamic lines.")
@source_options(which_run=True)
@output_options(ADVICE_FORMATS)
def suggest_dynamic(traces: tuple[str, ...], torch_version: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Say exactly what to mark dynamic, what it saves, and what it will not fix.

    Several traces of one program (other inputs, other ranks) give one list. The formats: env is the bare value of
    TORCH_COMPILE_DYNAMIC_SOURCES, shell an export line for eval "$(...)", python lines to paste, json everything. When nothing helps, they
    are empty, standard error says why, and the exit code is 0.
    """
    from shapelog.errors import ShapelogError

    refused = 0

    def make() -> Made:
        nonlocal refused
        from shapelog.model.ids import parse_version

        version = parse_version(torch_version) if torch_version else None
        if torch_version and version is None:
            raise ShapelogError(f"--torch-version {torch_version}: not a version such as 2.13")
        loaded, refused = read_several(traces, shared)
        from shapelog.advice.advise import advise
        from shapelog.advice.paste_formats import why_nothing
        from shapelog.model.trace import merged
        from shapelog.recompiles.explain import study
        from shapelog.reporters import advice_reporter

        studied = study(merged(loaded), shared["debug"])
        try:
            advice = advise(studied, version)
        except Exception as error:
            if shared["debug"]:
                raise
            raise ShapelogError(
                f"{studied.trace.name}: the advice failed ({type(error).__name__}: {error}); --debug shows where"
            ) from error

        def render(target: Target) -> bytes:
            options = chosen(shared, target, limit=0 if verbose else limit, verbose=verbose)
            rendered = advice_reporter(target.format).render_advice(advice, options)
            if not rendered:
                say(f"nothing to set: {why_nothing(advice)}")
            return rendered

        problems = [problem for problem in (*studied.trace.problems, *studied.problems) if problem.severity != "info"]
        told: dict[str, list[str]] = {}
        for problem in problems:
            if shared["strict"] or problem.severity == "data loss":
                told.setdefault(problem.file, []).append(problem.message)
        for file, messages in told.items():
            say(f"{file}: {messages[0]}" + (f"; and {len(messages) - 1} more (shapelog report lists them)" if messages[1:] else ""))
        return Made(render, lambda: bool(problems))

    finish(make, shared)
    if refused:  # the others were reported on
        sys.exit(2)
