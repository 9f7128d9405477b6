"""The command line. Only here is anything printed; each command imports what it needs."""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from shapelog import __version__
from shapelog.reporters import ADVICE_FORMATS, COMPARE_FORMATS, FORMATS, STORY_FORMATS, Options

if TYPE_CHECKING:
    from pathlib import Path

    from shapelog.model import Trace
    from shapelog.source import Selection

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


def _output_options(formats: Iterable[str]) -> Callable[[_F], _F]:
    """The options that every command which shows something shares."""

    def decorate(command: _F) -> _F:
        for option in (
            click.option("--debug", is_flag=True, help="Raise errors with their traceback, also those that the report only mentions."),
            click.option("--strict", is_flag=True, help="Check every record and checksum; exit 2 when something is wrong."),
            click.option("--width", type=click.IntRange(40), help="Columns to draw in.  [default: the terminal's]"),
            click.option(
                "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output.  [default: auto]"
            ),
            click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."),
            click.option(
                "-f",
                "--format",
                "format_name",
                type=click.Choice(list(formats)),
                default="terminal",
                help="Form of the output.  [default: terminal]",
            ),
        ):
            command = option(command)
        return command

    return decorate


@cli.command()
@click.argument("trace", metavar="TRACE")
@click.option("--frame", help="Show one frame with its shape table: its number, or a part of its name.")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@_output_options(FORMATS)
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
@_output_options(STORY_FORMATS)
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


@cli.command("suggest-dynamic")
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option("--torch-version", metavar="X.Y", help="Advise for this version of torch.  [default: the trace's]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, which compiles go, mark_dynamic lines.")
@_output_options(ADVICE_FORMATS)
def suggest_dynamic(traces: tuple[str, ...], torch_version: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Say exactly what to mark dynamic, what it saves, and what it will not fix.

    Several traces of one program (other inputs, other ranks) give one list. The formats: env is the bare value of
    TORCH_COMPILE_DYNAMIC_SOURCES, shell an export line for eval "$(...)", python lines to paste, json everything. When nothing helps, they
    are empty, standard error says why, and the exit code is 0.
    """
    from shapelog.errors import ShapelogError

    def make() -> tuple[bytes, bool]:
        from shapelog.ids import parse_version

        version = parse_version(torch_version) if torch_version else None
        if torch_version and version is None:
            raise ShapelogError(f"--torch-version {torch_version}: not a version such as 2.13")
        read = [_read(path, shared) for path in traces]
        from shapelog.advice import advise
        from shapelog.advising import why_nothing
        from shapelog.model import merged
        from shapelog.reporters import advice_reporter
        from shapelog.study import study

        studied = study(merged(read), shared["debug"])
        advice = advise(studied, version)
        if not advice.env and shared["format_name"] in ("env", "shell", "python"):
            _say(f"nothing to set: {why_nothing(advice)}")
        options = _options(shared, limit=0 if verbose else limit, verbose=verbose)
        problems = (*studied.trace.problems, *studied.problems)
        for problem in problems:
            if problem.severity == "data loss":
                _say(f"{problem.file}: {problem.message}")
        rendered = advice_reporter(shared["format_name"]).render_advice(advice, options)
        return rendered, any(problem.severity != "info" for problem in problems)

    _run(make, shared)


@cli.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, also the frames and causes that did not change.")
@_output_options(COMPARE_FORMATS)
def compare(before: str, after: str, limit: int, verbose: bool, **shared: Any) -> None:
    """Tell what changed from trace BEFORE to trace AFTER.

    For two runs of one program: with and without a change, cold and warm, under two versions of torch. Frames are matched by their
    code, so lines may have shifted and directories may be others. Each is a file, a directory (its newest run), or - for standard input.
    """
    from shapelog.errors import ShapelogError

    def make() -> tuple[bytes, bool]:
        if before == after == "-":
            raise ShapelogError("compare - -: one of the two traces can come from standard input, the other must be a file or a directory")
        read = [_read(path, shared) for path in (before, after)]
        from shapelog.compare import compare
        from shapelog.report import analyze
        from shapelog.reporters import comparison_reporter

        one, other = (analyze(trace, shared["debug"]) for trace in read)
        options = _options(shared, limit=0 if verbose else limit, verbose=verbose)
        rendered = comparison_reporter(shared["format_name"]).render_comparison(compare(one, other), options)
        return rendered, one.has_problems or other.has_problems

    _run(make, shared)


@cli.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--trace-dir", metavar="DIR", help="Record into this directory.  [default: TORCH_TRACE if set, else a new temporary one]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@_output_options(FORMATS)
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
    from shapelog import runner
    from shapelog.errors import ShapelogError

    try:
        _refuse_unwritable(shared["output"])
        where, is_temporary = runner.trace_dir_for(trace_dir)
    except ShapelogError as error:
        _say(str(error))
        sys.exit(2)
    try:
        done = runner.run(command, where)
    except ShapelogError as error:
        if is_temporary:
            _drop(where)
        _say(str(error))
        sys.exit(error.exit_code if isinstance(error, runner.CannotStartError) else 2)
    if done.killed_by is not None:
        _say(f"{command[0]} was ended by signal {done.killed_by}")
    status = 0
    if done.has_trace:
        _say(f"the trace is kept in {where}; to see the report again: shapelog report {where}")
        options = _options(shared, sys.stderr, limit=0 if verbose else limit, verbose=verbose)
        status = _status(lambda: _reported(done.selection(), options, shared), shared, sys.stderr)
    else:
        if is_temporary:
            _drop(where)
        _say(runner.why_no_trace())
    runner.end_like(done, status)


def _reported(selection: "Selection", options: Options, shared: dict[str, Any]) -> tuple[bytes, bool]:
    """The report on some files, and whether the trace has problems."""
    read = _load(selection, shared)
    from shapelog.report import analyze
    from shapelog.reporters import reporter

    analyzed = analyze(read, shared["debug"])
    return reporter(shared["format_name"]).render(analyzed, options), analyzed.has_problems


def _drop(where: "Path") -> None:
    """Remove a temporary directory that nothing was written to."""
    with suppress(OSError):
        where.rmdir()


def _refuse_unwritable(output: str | None) -> None:
    """Say so before the command runs, which can take hours."""
    import os

    from shapelog.errors import ShapelogError

    target = os.path.realpath(output) if output else ""
    folder = os.path.dirname(target)
    if not target or (os.path.exists(target) and not os.path.isfile(target)):
        return
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise ShapelogError(f"{output}: cannot write: {folder} is no directory that can be written to")


def _matches(label: str, title: str, name: str, wanted: str) -> bool:
    return wanted == label or (not wanted.isdigit() and (wanted in title or wanted in name))


def _options(shared: dict[str, Any], to: TextIO | None = None, **own: Any) -> Options:
    """What was asked for; ``to`` is where the output goes without -o, standard output by default."""
    import os

    color = {"always": True, "never": False}.get(shared["color"])
    is_terminal = shared["output"] is None and (to or sys.stdout).isatty()
    width = shared["width"]
    if to is not None and is_terminal and "COLUMNS" not in os.environ:
        width = width or os.get_terminal_size(to.fileno()).columns
    return Options(color=color, width=width, is_terminal=is_terminal, **own)


def _read(path: str, shared: dict[str, Any]) -> "Trace":
    from shapelog.source import select

    return _load(select(path), shared)


def _load(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a trace. A large file is searched by a child process from here on, before the rest of shapelog is even imported."""
    from shapelog.scan import Reader
    from shapelog.source import open_trace

    readers = [Reader(open_trace(file), shared["strict"], ahead=True) for file in selection.files]
    from shapelog.build import build

    trace = build(selection, readers, shared["debug"])
    for note in trace.notes:
        _say(note)
    return trace


def _run(make: Callable[[], tuple[bytes, bool]], shared: dict[str, Any]) -> None:
    """Make the output, write it, and end with 2 on bad input or, under --strict, on problems."""
    status = _status(make, shared, sys.stdout)
    if status:
        sys.exit(status)


def _status(make: Callable[[], tuple[bytes, bool]], shared: dict[str, Any], to: TextIO) -> int:
    """Make the output and write it to -o, or ``to`` without; 2 on bad input or, under --strict, on problems, else 0."""
    from shapelog.errors import ShapelogError

    try:
        rendered, has_problems = make()
        _write(rendered, shared["output"], to)
    except ShapelogError as error:
        if shared["debug"]:
            raise
        _say(str(error))
        return 2
    if shared["strict"] and has_problems:
        _say("the trace has problems, listed under its health (--strict)")
        return 2
    return 0


def _say(message: str) -> None:
    click.echo(f"shapelog: {_one_line(message)}", err=True)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def _write(content: bytes, output: str | None, to: TextIO) -> None:
    import os
    import tempfile

    from shapelog.errors import ShapelogError

    if output is None:
        stream = to.buffer
        try:
            stream.write(content)
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), to.fileno())
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
