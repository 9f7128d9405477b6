"""``shapelog check``."""

import sys
from typing import TYPE_CHECKING, Any

import click

from shapelog.cli.load import read_several
from shapelog.cli.options import chosen, output_options, page_options, place_options, source_options
from shapelog.cli.output import Made, Target, refuse_twice, say, status_of
from shapelog.cli.report import checkout_of, refuse_page_on_terminal
from shapelog.reporters import CHECK_FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapelog.check.check import Checked


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1)
@click.option("--max-compiles", type=click.IntRange(0), metavar="N", help="Fail when the run compiles more often.")
@click.option("--max-recompiles", type=click.IntRange(0), metavar="N", help="Fail when the run recompiles more often.")
@click.option("--max-avoidable-seconds", type=click.FloatRange(0), metavar="S", help="Fail when avoidable recompiles take longer.")
@click.option(
    "--max-compiles-per-frame",
    multiple=True,
    metavar="[FRAME=]N",
    help="The same for each frame, or for those that FRAME fits: a glob for a title, function or file. The longest that fits decides.",
)
@click.option("--max-recompiles-per-frame", multiple=True, metavar="[FRAME=]N", help="Likewise for recompiles.")
@click.option("--max-avoidable-seconds-per-frame", multiple=True, metavar="[FRAME=]S", help="Likewise for seconds of avoidable recompiles.")
@click.option("--select", multiple=True, metavar="CODES", help="Only these rules count: codes or their beginnings, such as SL3,SL401.")
@click.option("--ignore", multiple=True, metavar="CODES", help="These rules do not count. The longer of two beginnings decides.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="KINDS",
    help="What to fail on: avoidable, marking, size, non-size, recompile, unexplained, limit, limit-near, failure, break, restart, "
    "rank, none. [default: avoidable,limit,failure; with a budget limit,failure; with --select all that is selected]",
)
@click.option("--baseline", metavar="FILE", help="Fail only on what this recorded state does not have.")
@click.option(
    "--write-baseline",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Record the state of this run.  [default: to --baseline, else shapelog-baseline.json]",
)
@click.option("--exit-zero/--no-exit-zero", help="End with 0 whatever is found.")
@click.option("-n", "--limit", type=click.IntRange(0), default=10, help="How many alerts are shown, 0 for all.  [default: 10]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: also the alerts that do not fail.")
@place_options
@page_options
@source_options(which_run=True)
@output_options(CHECK_FORMATS, several=True)
def check(traces: tuple[str, ...], write_baseline: str | None, exit_zero: bool, limit: int, verbose: bool, **shared: Any) -> None:
    """Fail when a run compiles more than it should.

    TRACE is a file, a directory (its newest run), an archive, a URL, or - for standard input; several count as one run. Without options,
    the check fails on recompiles that marking or a code change avoids, on a recompile limit that was hit, and on failed compiles. With a
    budget, the budget decides about recompiles. With a baseline, only what is new counts, also towards budgets; frames are matched by
    their code, so lines may have shifted.

    Ends with 0 when the check passed, 1 when it failed, 2 on bad usage, unreadable input, or a damaged trace under --strict.
    """
    from shapelog.errors import ShapelogError

    outcome: list[Checked] = []
    refused = 0

    def make() -> Made:
        nonlocal refused
        refuse_page_on_terminal(shared)
        from shapelog.cli.check_options import baseline_to_write, policy_of, read_baseline, record_baseline

        policy = policy_of(shared)
        paths, written = baseline_to_write(traces, write_baseline, shared["baseline"])
        refuse_twice(shared["targets"], written)
        if not paths:
            raise ShapelogError("check: which trace? shapelog check TRACE")
        known = None if written else shared["baseline"]
        baseline = read_baseline(known) if known else None
        loaded, refused = read_several(paths, shared)
        from shapelog.check.alerts import survey
        from shapelog.check.check import check
        from shapelog.model.trace import merged
        from shapelog.report.report import analyze

        found = survey(analyze(merged(loaded), shared["debug"]), checkout_of(shared))
        if written and refused:
            say(f"{written} is not written, because not every trace could be read")
        elif written:
            baseline = record_baseline(found, written)
        outcome.append(check(found, policy, baseline))
        return _checked(outcome[0], shared, limit=0 if verbose else limit, verbose=verbose, again=_again(paths, shared))

    status = status_of(make, shared, sys.stdout)
    if outcome and all(target.file for target in shared["targets"]):
        say(outcome[0].headline)
    if status or refused:
        sys.exit(2)
    sys.exit(1 if outcome[0].has_failed and not exit_zero else 0)


def _again(traces: "Sequence[str]", shared: dict[str, Any]) -> str:
    """The arguments that mean the same traces once more, written for a shell; "" where one is standard input."""
    from shlex import join

    run = ["--run", shared["run"]] if shared["run"] else ["--all-runs"] if shared["all_runs"] else []
    return "" if "-" in traces else join([*traces, *run])


def _checked(checked: "Checked", shared: dict[str, Any], **own: Any) -> Made:
    """The outcome of a check in each of its formats."""
    report = checked.survey.report

    def render(target: Target) -> bytes:
        from shapelog.reporters import check_reporter

        options = chosen(shared, target, **own)
        return check_reporter(target.format).render_check(checked, options)

    return Made(render, lambda: report.has_problems)
