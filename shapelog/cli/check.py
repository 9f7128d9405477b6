"""``shapelog check``."""

import sys
from collections.abc import Sequence

import click

from shapelog.cli.load import load_all
from shapelog.cli.options import (
    CommonOptions,
    InputOptions,
    PolicyOptions,
    input_options,
    list_options,
    output_options,
    page_options,
    policy_options,
    reporter_options,
    repository_options,
)
from shapelog.cli.output import (
    Output,
    Target,
    errors_end_the_program,
    message,
    reject_duplicate_files,
    reject_page_on_terminal,
    write_outputs,
)
from shapelog.reporters import CHECK_FORMATS


@click.command()
@click.argument("traces", metavar="TRACE...", nargs=-1)
@policy_options
@click.option("--baseline", metavar="FILE", help="Fail only on what this recorded state does not have.")
@click.option(
    "--write-baseline",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Record the state of this run.  [default: to --baseline, else shapelog-baseline.json]",
)
@click.option("--exit-zero/--no-exit-zero", help="End with 0 whatever is found.")
@list_options("Show everything: also the alerts that do not fail.", "How many alerts are shown, 0 for all.", default=10)
@repository_options
@page_options
@input_options
@output_options(CHECK_FORMATS, several=True)
def check(
    traces: tuple[str, ...],
    policy: PolicyOptions,
    baseline: str | None,
    write_baseline: str | None,
    exit_zero: bool,
    options: CommonOptions,
) -> None:
    """Fail when a run compiles more than it should.

    TRACE is a file, a directory (its newest run), an archive, a URL, or - for standard input; several count as one run. Without options,
    the check fails on recompiles that marking or a code change avoids, on a recompile limit that was hit, and on failed compiles. With a
    budget, the budget decides about recompiles. With a baseline, only what is new counts, also towards budgets; frames are matched by
    their code, so lines may have shifted.

    Ends with 0 when the check passed, 1 when it failed, 2 on bad usage, unreadable input, or a damaged trace under --strict.
    """
    from shapelog.errors import ShapelogError

    with errors_end_the_program(options.output.debug):
        reject_page_on_terminal(options.output.targets)
        from shapelog.cli.check_options import baseline_to_write, policy_of, read_baseline, record_baseline

        judged_by = policy_of(policy)
        paths, to_write = baseline_to_write(traces, write_baseline, baseline)
        reject_duplicate_files(options.output.targets, to_write)
        if not paths:
            raise ShapelogError("check: which trace? shapelog check TRACE")
        known = read_baseline(baseline) if baseline and not to_write else None
        trace, is_partial = load_all(paths, options)
        from shapelog.check.alerts import survey
        from shapelog.check.check import check
        from shapelog.check.repository_paths import Checkout
        from shapelog.report.report import analyze

        repository = Checkout(options.repository.source_root, options.repository.strip_prefix)
        found = survey(analyze(trace, options.output.debug), repository)
        if to_write and is_partial:
            message(f"{to_write} is not written, because not every trace could be read")
        elif to_write:
            known = record_baseline(found, to_write)
        checked = check(found, judged_by, known)

    def render(target: Target) -> bytes:
        from shapelog.reporters import check_reporter

        wanted = reporter_options(options, target)._replace(again=_report_arguments(paths, options.input))
        return check_reporter(target.format).render_check(checked, wanted)

    status = write_outputs(Output(render, lambda: found.report.has_problems, is_partial), options.output)
    if all(target.file for target in options.output.targets):
        message(str(checked.headline))
    sys.exit(status or (1 if checked.has_failed and not exit_zero else 0))


def _report_arguments(traces: Sequence[str], options: InputOptions) -> str:
    """The arguments with which ``shapelog report`` reads the same traces, quoted for a shell; "" where one is standard input."""
    from shlex import join

    run = ["--run", options.run] if options.run else ["--all-runs"] if options.all_runs else []
    return "" if "-" in traces else join([*traces, *run])
