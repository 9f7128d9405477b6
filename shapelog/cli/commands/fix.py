"""``shapelog fix``."""

from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import directories, files
from shapelog.cli.load import load_all, named_traces
from shapelog.cli.options import CommonOptions, input_options, output_options, rendering
from shapelog.cli.output import Output, message, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

if TYPE_CHECKING:
    from shapelog.fix.patches import Fix

_NOTHING_PLACED = 1


@click.command(short_help="Put the suggested marks and settings into the code.")
@click.argument("traces", metavar="[TRACE]...", nargs=-1, shell_complete=files)
@click.option("--diff/--write", "is_diff", default=True, help="Print a unified diff, or apply it to the files.  [default: diff]")
@click.option(
    "--source-root",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="Directory of the program; only files below it are changed.  [default: the current directory]",
)
@click.option(
    "--strip-prefix",
    multiple=True,
    metavar="PREFIX",
    shell_complete=directories,
    help="Directory of the program in the trace, if it was recorded elsewhere. May be repeated.",
)
@input_options
@output_options(formats("fix"))
def fix(traces: tuple[str, ...], is_diff: bool, options: CommonOptions) -> int:
    """Change the source code as suggest-dynamic and PyTorch's hints recommend.

    Puts torch._dynamo.mark_dynamic (or maybe_mark_dynamic) before the calls of compiled code that the trace names, sets
    torch.compiler.config.dynamic_sources for what cannot be marked before a call, such as ints, and sets options such as
    torch._dynamo.config.capture_scalar_outputs where PyTorch names them as the remedy for a graph break. The diff can be applied with
    patch -p0 or git apply in the source root. Each hunk names what it removes.

    Only files below the source root whose lines match those quoted in the trace are changed, never an installed package. What cannot be
    placed is listed with the reason. To confirm the result, run shapelog verify or record again and use shapelog compare.

    \b
    Examples:
      shapelog fix traces/ --source-root .
      shapelog fix traces/ --write

    Exit codes: 0 if a patch was printed or applied or there is nothing to change, 1 if nothing could be placed, 2 for bad input.
    """
    from shapelog.fix.patches import patches_for
    from shapelog.fix.write import apply_patches
    from shapelog.report.report import analyze
    from shapelog.report.repository_paths import Repository

    trace, is_partial = load_all(named_traces(traces, "fix"), options)
    report = analyze(trace, options.debug)
    if report.advice is None:
        raise ShapelogError(f"{trace.name}: shapelog could not compute suggestions; shapelog suggest-dynamic --debug shows why")
    found = patches_for(report, report.advice, Repository(options.source_root, options.strip_prefix))
    if not is_diff:
        apply_patches(found.patches)
    status = write_outputs(Output(rendering("fix", found, options), lambda: report.has_problems, is_partial), options)
    root = () if options.source_root == "." else ("--source-root", options.source_root)
    prefixes = (part for prefix in options.strip_prefix for part in ("--strip-prefix", prefix))
    run = ("--run", options.run) if options.run else ("--all-runs",) if options.all_runs else ()
    _conclude(found, (*traces, *run, *root, *prefixes, "--write") if is_diff else ())
    return status or (_NOTHING_PLACED if found.is_any_left and not found.is_any_placed else 0)


def _conclude(found: "Fix", arguments: tuple[str, ...]) -> None:
    """What was done, or, after a diff, the ``arguments`` that apply it, in one line."""
    from shlex import join

    from shapelog.advice.paste_formats import why_nothing

    if not found.is_any_placed:
        message("no suggestion could be placed" if found.is_any_left else f"nothing to change: {why_nothing(found.advice)}")
    elif arguments:
        message(f"no file was changed; to apply this patch: shapelog fix {join(arguments)}")
    else:
        message(f"changed {', '.join(patch.file.name for patch in found.patches)}; to confirm, record again and run shapelog compare")
