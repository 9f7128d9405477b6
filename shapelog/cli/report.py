"""``shapelog report``, and what else shows a report: in each of its formats."""

import sys
from typing import TYPE_CHECKING, Any

import click

from shapelog.cli.load import read_several
from shapelog.cli.options import chosen, output_options, page_options, place_options, source_options
from shapelog.cli.output import Made, Target, finish, refuse_unwritable
from shapelog.reporters import CI_FORMATS, FORMATS

if TYPE_CHECKING:
    from typing import TextIO

    from shapelog.check.check import Checked
    from shapelog.check.repository_paths import Checkout
    from shapelog.report.report import Report


@click.command()
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
        refuse_page_on_terminal(shared)
        refuse_unwritable(shared["targets"])
        loaded, refused = read_several(traces, shared)
        from shapelog.model.trace import merged
        from shapelog.report.report import analyze

        analyzed = analyze(merged(loaded), shared["debug"])
        if frame is not None and not any(_matches(item.frame.label, item.frame.title, item.frame.name, frame) for item in analyzed.frames):
            names = ", ".join(f"{item.frame.label} ({item.frame.title})" for item in analyzed.frames[:8])
            raise ShapelogError(f"{' '.join(traces)}: no frame {frame!r}; there are: {names or 'none'}")
        return shown(analyzed, shared, frame=frame, limit=0 if verbose else limit, verbose=verbose)

    finish(make, shared)
    if refused:  # the others were reported on
        sys.exit(2)


def refuse_page_on_terminal(shared: dict[str, Any]) -> None:
    from shapelog.errors import ShapelogError

    if sys.stdout.isatty() and any(target.format == "html" and target.file is None for target in shared["targets"]):
        raise ShapelogError("the HTML page is for a file: -o report.html")


def shown(analyzed: "Report", shared: dict[str, Any], to: "TextIO | None" = None, **own: Any) -> Made:
    """A report in each of its formats; those for CI systems show what it holds for a check, without one."""
    from functools import cache

    @cache
    def overviewed() -> "Checked":
        from shapelog.check.alerts import survey
        from shapelog.check.check import overview

        return overview(survey(analyzed, checkout_of(shared)))

    def render(target: Target) -> bytes:
        from shapelog.reporters import check_reporter, reporter

        options = chosen(shared, target, to, **own)
        if target.format in FORMATS:
            return reporter(target.format).render(analyzed, options)
        return check_reporter(target.format).render_check(overviewed(), options)

    return Made(render, lambda: analyzed.has_problems)


def checkout_of(shared: dict[str, Any]) -> "Checkout":
    from shapelog.check.repository_paths import Checkout

    return Checkout(shared["source_root"], tuple(shared["strip_prefix"]))


def _matches(label: str, title: str, name: str, wanted: str) -> bool:
    return wanted == label or (not wanted.isdigit() and (wanted in title or wanted in name))
