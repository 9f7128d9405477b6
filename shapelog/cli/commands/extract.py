"""``shapelog extract``."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import files
from shapelog.cli.load import named_traces, select
from shapelog.cli.options import CommonOptions, folder_options, rendering, run_options, transfer_options
from shapelog.cli.output import Output, Target, message, write, write_outputs
from shapelog.cli.progress import progress_bar
from shapelog.errors import ShapelogError

if TYPE_CHECKING:
    from shapelog.extract.extraction import Extraction
    from shapelog.extract.selection import Wanted
    from shapelog.reading.inputs import Selection


@click.command()
@click.argument("traces", metavar="[TRACE]...", nargs=-1, shell_complete=files)
@click.option("--compile", "compiles", multiple=True, metavar="ID", help="Only this compilation, such as 2/3. May be repeated.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    metavar="KIND",
    help="Only payloads of this kind: graph, guards, inductor_output_code, the name of an artifact, ... May be repeated.",
)
@click.option("--rank", type=int, help="Only this rank.")
@click.option("--overwrite", is_flag=True, help="Replace the files of an earlier extraction in DIR.")
@click.option("-v", "--verbose", is_flag=True, help="Count the files by kind.")
@run_options
@transfer_options
@folder_options(("terminal", "json"), "Write to this directory, which is created if needed.", "What to print.")
def extract(
    traces: tuple[str, ...],
    compiles: tuple[str, ...],
    kinds: tuple[str, ...],
    rank: int | None,
    overwrite: bool,
    options: CommonOptions,
) -> int:
    """Write every payload of TRACE to a file in DIR.

    Graphs, guards, generated code, and artifacts of compilation 2/3 are in DIR/2_3; DIR/index.html and DIR/index.json list all files.
    With several ranks, each has its own directory. Graphs are Python modules with the imports that they need; all other payloads are as
    PyTorch wrote them. Records without a payload are in records.jsonl.
    """
    from shapelog.extract.output_directory import discard_mark, mark, prepare
    from shapelog.extract.selection import wanted

    meant = wanted(compiles, kinds, rank)
    selection = _selected(named_traces(traces, "extract"), options, rank)
    where = Path(options.targets[0].file or "")
    prepare(where, overwrite, [file.path for file in selection.files if file.path])
    mark(where)
    try:
        extraction = _extracted(selection, where, meant, options)
    except ShapelogError:
        discard_mark(where)
        raise
    for text in (*extraction.notes, *extraction.unreadable):
        message(text)
    render = rendering("extraction", extraction, options)
    for form in ("html", "json"):
        index = Target(form, str(where / f"index.{form}"))
        write(render(index), index, sys.stdout)
    output = Output(render, lambda: extraction.has_problems, bool(extraction.unreadable))
    return write_outputs(output, replace(options, targets=(Target(options.targets[0].format),)))


def _selected(traces: tuple[str, ...], options: CommonOptions, rank: int | None) -> "Selection":
    from shapelog.reading.inputs import join

    selections = [select(path, options, rank, in_full=len(traces) > 1) for path in traces]
    return selections[0] if len(selections) == 1 else join(selections)


def _extracted(selection: "Selection", where: Path, meant: "Wanted", options: CommonOptions) -> "Extraction":
    from shapelog.extract.extract import extract as extract_payloads

    with progress_bar() as progress:
        return extract_payloads(selection, where, meant, options.strict, progress)
