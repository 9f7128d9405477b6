"""The command line. Only here is anything printed; each command imports what it needs."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shapelog import __version__
from shapelog.reporters import FORMATS, Options

if TYPE_CHECKING:
    from shapelog.model import Trace

_F = TypeVar("_F", bound=Callable[..., Any])


class _Commands(click.Group):
    """Commands in the order in which people need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shapelog")
def cli() -> None:
    """Why torch.compile recompiled, what it cost, and what helps.

    Record a trace with TORCH_TRACE=DIR python your_script.py, then: shapelog report DIR
    """


def _output_options(command: _F) -> _F:
    """The options that every command which shows something shares."""
    for option in (
        click.option("--debug", is_flag=True, help="Raise errors with their traceback, also those that the report only mentions."),
        click.option("--strict", is_flag=True, help="Check every record and checksum; exit 2 when something is wrong."),
        click.option("--width", type=click.IntRange(40), help="Columns to draw in.  [default: the terminal's]"),
        click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output.  [default: auto]"),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."),
        click.option(
            "-f",
            "--format",
            "format_name",
            type=click.Choice(list(FORMATS)),
            default="terminal",
            help="Form of the output.  [default: terminal]",
        ),
    ):
        command = option(command)
    return command


@cli.command()
@click.argument("trace", metavar="TRACE")
@click.option("--frame", help="Show one frame with its shape table: its number, or a part of its name.")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@_output_options
def report(trace: str, frame: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Explain every recompile of TRACE.

    TRACE is a file that TORCH_TRACE wrote (plain or gzip), a directory (its newest run), or - for standard input.
    """
    from shapelog.errors import ShapelogError

    def make() -> tuple[bytes, bool]:
        read = _read(trace, shared)
        from shapelog.report import analyze
        from shapelog.reporters import reporter

        analyzed = analyze(read, shared["debug"])
        if frame is not None and not any(_matches(item.frame.label, item.frame.title, item.frame.name, frame) for item in analyzed.frames):
            names = ", ".join(f"{item.frame.label} ({item.frame.title})" for item in analyzed.frames[:8])
            raise ShapelogError(f"{trace}: no frame {frame!r}; there are: {names or 'none'}")
        options = _options(shared, frame=frame, limit=0 if verbose else limit, verbose=verbose)
        return reporter(shared["format_name"]).render(analyzed, options), analyzed.has_problems

    _run(make, shared)


@cli.command()
@click.argument("trace", metavar="TRACE")
@click.argument("compile_id", metavar="COMPILE_ID")
@click.option("--rank", type=int, help="Which rank, where several have that compile.")
@click.option("--process", type=int, help="Which process, where forked ones wrote one file.")
@click.option("-v", "--verbose", is_flag=True, help="Show guard and graph differences in full.")
@_output_options
def explain(trace: str, compile_id: str, rank: int | None, process: int | None, verbose: bool, **shared: Any) -> None:
    """Tell the whole story of one compile.

    COMPILE_ID is an id such as 2/3, as the report shows it: what it was held against, what differed, what PyTorch said.
    """

    def make() -> tuple[bytes, bool]:
        read = _read(trace, shared)
        from shapelog.reporters import story_reporter
        from shapelog.story import tell

        story = tell(read, compile_id, rank, process)
        options = _options(shared, verbose=verbose, limit=0 if verbose else 20)
        return story_reporter(shared["format_name"]).render_story(story, options), any(item.severity != "info" for item in read.problems)

    _run(make, shared)


def _matches(label: str, title: str, name: str, wanted: str) -> bool:
    return wanted == label or (not wanted.isdigit() and (wanted in title or wanted in name))


def _options(shared: dict[str, Any], **own: Any) -> Options:
    color = {"always": True, "never": False}.get(shared["color"])
    is_terminal = shared["output"] is None and sys.stdout.isatty()
    return Options(color=color, width=shared["width"], is_terminal=is_terminal, **own)


def _read(path: str, shared: dict[str, Any]) -> "Trace":
    """Load a trace. A large file is searched by a child process from here on, before the rest of shapelog is even imported."""
    from shapelog.scan import Reader
    from shapelog.source import open_trace, select

    selection = select(path)
    readers = [Reader(open_trace(file), shared["strict"], ahead=True) for file in selection.files]
    from shapelog.build import build

    trace = build(selection, readers, shared["debug"])
    for note in trace.notes:
        click.echo(f"shapelog: {_one_line(note)}", err=True)
    return trace


def _run(make: Callable[[], tuple[bytes, bool]], shared: dict[str, Any]) -> None:
    """Make the output, write it, and end with 2 on bad input or, under --strict, on problems."""
    from shapelog.errors import ShapelogError

    try:
        rendered, has_problems = make()
        _write(rendered, shared["output"])
    except ShapelogError as error:
        if shared["debug"]:
            raise
        click.echo(f"shapelog: {_one_line(str(error))}", err=True)
        sys.exit(2)
    if shared["strict"] and has_problems:
        click.echo("shapelog: the trace has problems, listed under its health (--strict)", err=True)
        sys.exit(2)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def _write(content: bytes, output: str | None) -> None:
    import os
    import tempfile

    from shapelog.errors import ShapelogError

    if output is None:
        stream = sys.stdout.buffer
        try:
            stream.write(content)
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    target = os.path.realpath(output)
    temporary = ""
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is written to, not replaced
            with open(target, "wb") as stream:
                stream.write(content)
            return
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".shapelog-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise ShapelogError(f"{output}: cannot write: {error.strerror}") from error


def _umask() -> int:
    import os

    current = os.umask(0)
    os.umask(current)
    return current


def main() -> None:
    """The console script.

    A trace makes many small objects that live to the end: collecting garbage, and taking them apart one by one at exit, would only
    cost time.
    """
    import gc
    import os

    gc.disable()
    status = 0
    try:
        cli(prog_name="shapelog")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
