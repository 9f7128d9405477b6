"""``shapelog check``."""

from collections.abc import Sequence

import click

from shapelog.cli.completion import files
from shapelog.cli.load import load_all, named_traces
from shapelog.cli.options import (
    CommonOptions,
    format_options,
    input_options,
    list_options,
    output_options,
    policy_options,
    reporter_options,
)
from shapelog.cli.output import (
    Output,
    Target,
    message,
    reject_duplicate_files,
    reject_overwriting,
    reject_page_on_terminal,
    write_outputs,
)
from shapelog.reporters import formats, renderer


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, shell_complete=files)
@policy_options
@click.option("--baseline", metavar="FILE", shell_complete=files, help="Fail only on what is not in this baseline.")
@click.option(
    "--write-baseline",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    shell_complete=files,
    help="Write this run as the new baseline.  [default: to --baseline, else shapelog-baseline.json]",
)
@click.option("--exit-zero/--no-exit-zero", help="Exit with 0 even if the check fails.")
@list_options("Show everything, including findings that do not fail the check.", "Show at most this many findings (0 for all).", default=10)
@format_options
@input_options
@output_options(formats("check"), several=True)
def check(traces: tuple[str, ...], baseline: str | None, write_baseline: str | None, exit_zero: bool, options: CommonOptions) -> int:
    """Fail when a run compiles more than it should.

    TRACE is a trace or text log, a directory (its newest run), an archive, a URL, or - for standard input; several are read as one run.
    Without TRACE, the directory in TORCH_TRACE is read. Without options, the check fails on recompilations that marking or a code
    change avoids, on a recompile limit that was hit, and on failed compilations. With a budget, recompilations only fail the check if
    they exceed it. With a baseline, only what is new counts, including toward budgets; frames are matched by their code, so line
    numbers may change.

    \b
    Examples:
      shapelog check traces/ --max-recompiles 10
      shapelog check traces/ --baseline shapelog-baseline.json

    Exit codes: 0 if the check passed, 1 if it failed, 2 for bad usage, unreadable input, or a damaged trace with --strict.
    """
    from shapelog.check.check import check
    from shapelog.cli.check_options import baseline_to_write, policy_of, read_baseline, record_baseline
    from shapelog.report.alerts.collect import collect_alerts
    from shapelog.report.report import analyze
    from shapelog.report.repository_paths import Repository

    reject_page_on_terminal(options.targets)
    policy = policy_of(options)
    paths, new_baseline = baseline_to_write(traces, write_baseline, baseline)
    reject_duplicate_files(options.targets, new_baseline)
    reject_overwriting(options.targets, (baseline,) if baseline else ())
    paths = named_traces(paths, "check")
    known = read_baseline(baseline) if baseline and not new_baseline else None
    trace, is_partial = load_all(paths, options)
    found = collect_alerts(analyze(trace, options.debug), Repository(options.source_root, options.strip_prefix))
    if new_baseline and is_partial:
        message(f"{new_baseline} was not written, because not every trace could be read")
    elif new_baseline:
        known = record_baseline(found, new_baseline)
    checked = check(found, policy, known)

    def render(target: Target) -> bytes:
        wanted = reporter_options(options, target)._replace(again=_report_arguments(paths, options))
        return renderer("check", target.format)(checked, wanted)

    status = write_outputs(Output(render, lambda: checked.found.report.has_problems, is_partial), options)
    if all(target.file for target in options.targets):
        message(str(checked.headline))
    return status or (1 if checked.has_failed and not exit_zero else 0)


def _report_arguments(traces: Sequence[str], options: CommonOptions) -> str:
    """The arguments with which ``shapelog report`` reads the same traces, quoted for a shell; "" where one is standard input."""
    from shlex import join

    run = ["--run", options.run] if options.run else ["--all-runs"] if options.all_runs else []
    return "" if "-" in traces else join([*traces, *run])
