"""The command line. Each command imports what it needs."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from shapelog import __version__
from shapelog.cli.load import load, read, read_several, source_options
from shapelog.cli.output import (
    Made,
    Target,
    chosen,
    finish,
    output_options,
    page_options,
    place_options,
    refuse_twice,
    refuse_unwritable,
    say,
    status_of,
)
from shapelog.reporters import (
    ADVICE_FORMATS,
    CHECK_FORMATS,
    CI_FORMATS,
    COMPARE_FORMATS,
    FORMATS,
    RULES_FORMATS,
    STORY_FORMATS,
    VERIFY_FORMATS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import TextIO

    from shapelog.advice.advise import Advice
    from shapelog.check.check import Checked
    from shapelog.check.repository_paths import Checkout
    from shapelog.reading.inputs import Selection
    from shapelog.report.report import Report
    from shapelog.report.verification import Verification


class _Commands(click.Group):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shapelog")
def cli() -> None:
    """Why torch.compile recompiled, what it cost, and what helps.

    Record a trace with TORCH_TRACE=DIR python your_script.py, then: shapelog report DIR, and shapelog suggest-dynamic DIR. Or let
    shapelog do all of it: shapelog verify -- python your_script.py. In CI: shapelog check DIR
    """


@cli.command()
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option("--frame", help="Show one frame with its shape table: its number, or a part of its name.")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@place_options
@page_options
@source_options(which_run=True)
@output_options((*FORMATS, *CI_FORMATS), several=True)
def report(traces: tuple[str, ...], frame: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Explain every recompile of TRACE.

    TRACE is a file that TORCH_TRACE wrote, a directory (its newest run), an archive or the output of tlparse, a URL, or - for standard
    input; several count as one job. With --html FILE (or -o FILE.html alone) the report is one self-contained HTML page: for CI
    artifacts, issues, and to look deeper. The formats that CI systems read show the same findings as shapelog check does, without a
    verdict.
    """
    from shapelog.errors import ShapelogError

    refused = 0

    def make() -> Made:
        nonlocal refused
        _refuse_page_on_terminal(shared)
        refuse_unwritable(shared["targets"])
        loaded, refused = read_several(traces, shared)
        from shapelog.model.trace import merged
        from shapelog.report.report import analyze

        analyzed = analyze(merged(loaded), shared["debug"])
        if frame is not None and not any(_matches(item.frame.label, item.frame.title, item.frame.name, frame) for item in analyzed.frames):
            names = ", ".join(f"{item.frame.label} ({item.frame.title})" for item in analyzed.frames[:8])
            raise ShapelogError(f"{' '.join(traces)}: no frame {frame!r}; there are: {names or 'none'}")
        return _shown(analyzed, shared, frame=frame, limit=0 if verbose else limit, verbose=verbose)

    finish(make, shared)
    if refused:  # the others were reported on
        sys.exit(2)


def _refuse_page_on_terminal(shared: dict[str, Any]) -> None:
    from shapelog.errors import ShapelogError

    if sys.stdout.isatty() and any(target.format == "html" and target.file is None for target in shared["targets"]):
        raise ShapelogError("the HTML page is for a file: -o report.html")


def _shown(analyzed: "Report", shared: dict[str, Any], to: "TextIO | None" = None, **own: Any) -> Made:
    """A report in each of its formats; those for CI systems show what it holds for a check, without one."""
    from functools import cache

    @cache
    def overviewed() -> "Checked":
        from shapelog.check.alerts import survey
        from shapelog.check.check import overview

        return overview(survey(analyzed, _checkout(shared)))

    def render(target: Target) -> bytes:
        from shapelog.reporters import check_reporter, reporter

        options = chosen(shared, target, to, **own)
        if target.format in FORMATS:
            return reporter(target.format).render(analyzed, options)
        return check_reporter(target.format).render_check(overviewed(), options)

    return Made(render, lambda: analyzed.has_problems)


def _checkout(shared: dict[str, Any]) -> "Checkout":
    from shapelog.check.repository_paths import Checkout

    return Checkout(shared["source_root"], tuple(shared["strip_prefix"]))


@cli.command()
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
        _refuse_page_on_terminal(shared)
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

        found = survey(analyze(merged(loaded), shared["debug"]), _checkout(shared))
        if written and refused:
            say(f"{written} is not written, because not every trace could be read")
        elif written:
            baseline = record_baseline(found, written)
        outcome.append(check(found, policy, baseline))
        return _checked(outcome[0], shared, limit=0 if verbose else limit, verbose=verbose, again=_again(paths, shared))

    status = status_of(make, shared, sys.stdout)
    if outcome and all(target.file for target in shared["targets"]):
        say(str(outcome[0].headline))
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


@cli.command()
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


@cli.command("suggest-dynamic")
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


@cli.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="[AFTER]", required=False)
@click.option(
    "--before-run", metavar="RUN", help="Which run of BEFORE, as --run of shapelog report.  [default: the newest; of BEFORE alone 2]"
)
@click.option("--after-run", metavar="RUN", help="Which run of AFTER, or of BEFORE alone, likewise.  [default: the newest]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, also the frames and causes that did not change.")
@source_options(which_run=False)
@output_options(COMPARE_FORMATS)
def compare(
    before: str, after: str | None, before_run: str | None, after_run: str | None, limit: int, verbose: bool, **shared: Any
) -> None:
    """Tell what changed from trace BEFORE to trace AFTER, or from one run to the next in the directory BEFORE.

    For two runs of one program: with and without a change, cold and warm, under two versions of torch. Frames are matched by their
    code, so lines may have shifted and directories may be others. Each is a file, a directory (its newest
    run), an archive, a URL, or - for standard input. A directory or an archive alone holds both: shapelog compare DIR compares its
    newest run with the one before, --before-run 3 with the one before that.
    """
    from shapelog.errors import ShapelogError

    def make() -> Made:
        if before == after == "-":
            raise ShapelogError("compare - -: one of the two traces can come from standard input, the other must be a file or a directory")
        from shapelog.cli.pairing import two_runs

        loaded = [load(selection, shared) for selection in two_runs(before, after, before_run, after_run, shared)]
        from shapelog.report.compare import compare
        from shapelog.report.report import analyze
        from shapelog.reporters import comparison_reporter

        one, other = (analyze(trace, shared["debug"]) for trace in loaded)
        found = compare(one, other)

        def render(target: Target) -> bytes:
            options = chosen(shared, target, limit=0 if verbose else limit, verbose=verbose)
            return comparison_reporter(target.format).render_comparison(found, options)

        return Made(render, lambda: one.has_problems or other.has_problems)

    finish(make, shared)


@cli.command()
@click.argument("where", metavar="DIR")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End when nothing new came for so long.  [default: 600 where the processes of the job cannot be seen, else never]",
)
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything in the report: all entries, each recompile, records by kind.")
@place_options
@page_options
@source_options(which_run=False)
@output_options((*FORMATS, *CI_FORMATS), several=True)
def watch(where: str, idle: float | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Follow a job that runs, and report on it when it ends.

    DIR is what TORCH_TRACE was set to, or one trace in it; it need not exist yet. Its newest run is shown on one screen, which changes as
    the job compiles; where the output is no terminal, each compile is told in a line. When the processes that write have ended, or on
    Ctrl-C, the report follows, as shapelog report shows it. A second Ctrl-C ends at once.
    """
    from shapelog.errors import ShapelogError

    def make() -> Made:
        loaded = read(where, shared)
        from shapelog.report.report import analyze

        return _shown(analyze(loaded, shared["debug"]), shared, limit=0 if verbose else limit, verbose=verbose)

    try:
        _refuse_page_on_terminal(shared)
        refuse_unwritable(shared["targets"])
        from shapelog.cli.watch_view import follow

        follow(where, idle, shared)
        finish(make, shared)
    except KeyboardInterrupt:
        sys.exit(130)
    except ShapelogError as error:
        if shared["debug"]:
            raise
        say(str(error))
        sys.exit(error.exit_code)


@cli.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--trace-dir", metavar="DIR", help="Record into this directory.  [default: TORCH_TRACE if set, else a new temporary one]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@place_options
@page_options
@output_options((*FORMATS, *CI_FORMATS), several=True)
def run(command: tuple[str, ...], trace_dir: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Run COMMAND, record what it compiles, and explain every recompile.

    For example: shapelog run -- python train.py --epochs 1, or shapelog run -- torchrun --nproc-per-node 2 train.py. What follows the
    first word of COMMAND is its own, so the -- may be left out.

    Standard input, output and error belong to COMMAND, so a pipe gets what it prints and nothing else. The report goes to standard
    error when COMMAND has ended, or to the file that -o names. The trace is kept, and all of COMMAND's processes are reported on as
    one run; what was in DIR before is left out.

    Ends with the exit code of COMMAND: 127 where it was not found, 126 where it could not be run, 128+N where signal N ended it. Where
    COMMAND ended with 0, 2 says that the report could not be made, or that the trace has problems under --strict.
    """
    from shlex import quote

    from shapelog.capture import run_command
    from shapelog.errors import ShapelogError

    try:
        refuse_unwritable(shared["targets"])
        where, is_temporary = run_command.trace_dir_for(trace_dir)
    except ShapelogError as error:
        say(str(error))
        sys.exit(2)
    try:
        done = run_command.run(command, where)
    except ShapelogError as error:
        if is_temporary:
            _drop(where)
        say(str(error))
        sys.exit(error.exit_code)
    if done.killed_by is not None:
        say(f"{command[0]} was ended by signal {done.killed_by}")
    status = 0
    if done.has_trace:
        say(f"the trace is kept in {where}; to see the report again: shapelog report {quote(str(where))}")
        own = {"limit": 0 if verbose else limit, "verbose": verbose}
        status = status_of(lambda: _shown(_analyzed(done.selection(), shared), shared, sys.stderr, **own), shared, sys.stderr)
    else:
        if is_temporary:
            _drop(where)
        say(run_command.why_no_trace())
    run_command.end_like(done, status)


@cli.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--trace-dir", metavar="DIR", help="Record into DIR/before and DIR/after.  [default: a new temporary directory]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show all frames, also those that did as before.")
@output_options(VERIFY_FORMATS)
def verify(command: tuple[str, ...], trace_dir: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Run COMMAND twice, the second time with what suggest-dynamic says, and show whether it helped.

    For example: shapelog verify -- python train.py --steps 20. Both runs get an empty compile cache of their own, so that their times can
    be compared; a list of dynamic sources that is set already stays, and the suggestion is added to it. Standard input, output and error
    belong to COMMAND; the result goes to standard error, or to the file that -o names. Both traces are kept.

    Ends with 0 when it helped or when there is nothing to mark, 1 when it did not help (no fewer compiles, a lost graph, another exit
    code), 2 when it could not be tried. When the first run fails, its exit code is passed on.
    """
    from shapelog.capture.verify_command import prove
    from shapelog.errors import ShapelogError

    runs: list[Report] = []

    def analyzed(selection: "Selection") -> "Report":
        runs.append(_analyzed(selection, shared))
        return runs[-1]

    try:
        refuse_unwritable(shared["targets"])
        status = prove(command, trace_dir, analyzed, _showing(limit, verbose, shared, runs), say)
    except ShapelogError as error:
        say(str(error))
        status = error.exit_code
    sys.exit(status)


@cli.command()
@output_options(RULES_FORMATS)
def rules(**shared: Any) -> None:
    """List the rules: what shapelog can tell, and what helps.

    Each has a code that never changes its meaning. shapelog rule SL307 tells more about one.
    """

    def make() -> Made:
        from shapelog.reporters import rules_reporter
        from shapelog.rule_docs import entries

        found = entries()
        return Made(lambda target: rules_reporter(target.format).render_rules(found, chosen(shared, target)), lambda: False)

    finish(make, shared)


@cli.command()
@click.argument("code", metavar="CODE")
@output_options(RULES_FORMATS)
def rule(code: str, **shared: Any) -> None:
    """Tell what a rule means, with an example and its cure.

    CODE is a code such as SL307, or a name such as global-state-varies.
    """

    def make() -> Made:
        from shapelog.reporters import rules_reporter
        from shapelog.rule_docs import entry

        found = entry(code)
        return Made(lambda target: rules_reporter(target.format).render_rule(found, chosen(shared, target)), lambda: False)

    finish(make, shared)


def _showing(limit: int, verbose: bool, shared: dict[str, Any], runs: "list[Report]") -> "Callable[[Verification | Advice], int]":
    """What shows the result of these runs: a verification, or the advice that had nothing to verify."""

    def show(found: "Verification | Advice") -> int:
        from shapelog.advice.advise import Advice
        from shapelog.reporters import advice_reporter, verification_reporter

        def render(target: Target) -> bytes:
            options = chosen(shared, target, sys.stderr, limit=0 if verbose else limit, verbose=verbose)
            if isinstance(found, Advice):
                return advice_reporter(target.format).render_advice(found, options)
            return verification_reporter(target.format).render_verification(found, options)

        return status_of(lambda: Made(render, lambda: any(run.has_problems for run in runs)), shared, sys.stderr)

    return show


def _analyzed(selection: "Selection", shared: dict[str, Any]) -> "Report":
    loaded = load(selection, shared)
    from shapelog.report.report import analyze

    return analyze(loaded, shared["debug"])


def _drop(where: "Path") -> None:
    """Remove a temporary directory that nothing was written to."""
    with suppress(OSError):
        where.rmdir()


def _matches(label: str, title: str, name: str, wanted: str) -> bool:
    return wanted == label or (not wanted.isdigit() and (wanted in title or wanted in name))


def main() -> None:
    """Run the command and end the process.

    A trace makes many small objects that live to the end: collecting garbage, and taking them apart one by one at exit, would only
    cost time.
    """
    import errno
    import gc
    import os
    import warnings

    gc.disable()
    warnings.simplefilter("ignore", SyntaxWarning)  # of code that a trace quotes, which nobody here can mend
    # A standard stream that the caller closed is None.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    _end_on_interrupt()
    status = 0
    try:
        cli(prog_name="shapelog")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EPIPE):
            raise
        status = 2  # a standard stream takes nothing more, so there is nobody to tell
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 2
    os._exit(status)


def _end_on_interrupt() -> None:
    """Let Ctrl-C end the program as it ends others: at once, with 130, without a traceback. Where it is ignored, it stays so."""
    import signal

    def end(*_: object) -> None:
        raise SystemExit(130)

    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL, None):
        signal.signal(signal.SIGINT, end)
