"""The targets of the formats, and writing them. Nothing is printed anywhere else, except by ``watch_view``."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TextIO

import click

from shapelog.errors import ShapelogError
from shapelog.reporters import SUFFIXES, TEXT_SUFFIXES, UNMISTAKABLE
from shapelog.text import visible

# GitHub shows at most that many bytes of the summary of a step.
_SUMMARY = 1024 * 1024


class Target(NamedTuple):
    """One output: its format, and its file, None for the standard stream.

    ``room`` is given for a file that other programs write to as well: at most that many bytes are appended. A file that
    ``is_announced`` is named on standard error when it is written.
    """

    format: str
    file: str | None = None
    room: int | None = None
    is_announced: bool = False


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """The targets, and how much they show.

    ``color`` is ``auto``, ``always`` or ``never``; ``width`` is in columns, None for the terminal's; ``limit`` is how many entries a list
    shows, 0 for all; ``verbose`` shows all whatever the limit.
    """

    targets: tuple[Target, ...]
    color: str = "auto"
    width: int | None = None
    strict: bool = False
    debug: bool = False
    limit: int = 6
    verbose: bool = False


class Output(NamedTuple):
    """The result of a command: ``render`` encodes it for a target, ``has_problems`` is whether the trace has any.

    ``is_partial`` is set where one of several traces could not be read.
    """

    render: Callable[[Target], bytes]
    has_problems: Callable[[], bool] = lambda: False
    is_partial: bool = False


def targets_of(names: Sequence[str], files: Sequence[str], known: Sequence[str]) -> tuple[Target, ...]:
    """A target for each format and file, standard output first. Equal numbers of formats and files are paired in order.

    Otherwise each file is written by its suffix, a file without a known suffix takes the next format, and the formats left over go to
    standard output. Raises ShapelogError for a suffix that no format has where no format is left.
    """
    left = list(names)
    if len(names) == len(files):
        pairs = list(zip(names, files, strict=True))
        for name, file in pairs:
            meant = format_of(file, known)
            if meant != name and meant in UNMISTAKABLE:
                message(f"{file} will contain {name} (from --format), not {meant}; for both: --format {name} -o - -o {file}")
    else:
        pairs = [(format_of(file, known) or (left.pop(0) if left else _text_format(file, known)), file) for file in files]
        pairs += [(name, "-") for name in left]
    shown = dict.fromkeys(Target(name) for name, file in pairs if file == "-")  # each format once
    return (*shown, *(Target(name, file) for name, file in pairs if file != "-")) or (Target("terminal"),)


def format_of(file: str, known: Sequence[str]) -> str:
    """The format that the suffix of a file means, "" where it means none of those known."""
    return next((name for end, name in SUFFIXES.items() if file.lower().endswith(end) and name in known), "")


def _text_format(file: str, known: Sequence[str]) -> str:
    """The format of a file whose suffix means none. Raises ShapelogError unless it has the suffix of a text, or none."""
    suffix = os.path.splitext(file)[1].lower()
    if suffix in ("", *TEXT_SUFFIXES):
        return "terminal"
    others = [end for end, name in SUFFIXES.items() if name in known and end.startswith(".")]
    raise ShapelogError(f"{file}: no format has the suffix {suffix}; use {', '.join((*others, TEXT_SUFFIXES[0]))}, or choose with --format")


def reject_duplicate_files(targets: Sequence[Target], baseline: str = "") -> None:
    """Raises ShapelogError for a file that is the target of two outputs, or of one and the baseline; a device can take both."""
    named = [(target.file, "--html" if target.is_announced else "-o") for target in targets if target.file]
    seen: dict[str, str] = {}
    for file, option in (*named, *([(baseline, "--write-baseline")] if baseline else [])):
        path = _real_path(file)
        other = seen.get(path, "")
        seen[path] = option
        if other and (os.path.isfile(path) or not os.path.exists(path)):
            how = f"{option} twice" if other == option else f"both {option} and {other}"
            raise ShapelogError(f"{file}: given by {how}, but a file can hold only one output")


def reject_page_on_terminal(targets: Iterable[Target]) -> None:
    """Raises ShapelogError where the HTML page would be shown on a terminal."""
    if sys.stdout.isatty() and any(target.format == "html" and target.file is None for target in targets):
        raise ShapelogError("the HTML page cannot go to standard output; use -o report.html")


def reject_overwriting(targets: Iterable[Target], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raises ShapelogError for a target that is one of the files that are read (``-``: standard input), since that would be lost."""
    read = set(map(_identity, inputs)) - {None}
    for target in targets:
        if target.file and _identity(target.file) in read:
            raise ShapelogError(f"{target.file}: the output would overwrite this input file; choose another file")


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """What two names of one file have in common; None where there is no regular file of that name."""
    try:
        found = os.stat(sys.stdin.fileno() if path == "-" else path)
    except (OSError, ValueError, AttributeError):  # the last where standard input is closed
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def reject_unwritable(targets: Iterable[Target]) -> None:
    """Raises ShapelogError for the first file that cannot be written; before a command that can take hours."""
    for target in targets:
        path = _resolved(target.file) if target.file else ""
        folder = os.path.dirname(path)
        if not path or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
            raise ShapelogError(f"{target.file}: cannot write: {folder} is not a writable directory")


def _resolved(file: str) -> str:
    """The path of a file behind all symbolic links. Raises ShapelogError where these form a loop."""
    path = _real_path(file)
    if os.path.islink(path):
        raise ShapelogError(f"{file}: cannot write: {os.strerror(errno.ELOOP)}")
    return path


def _real_path(file: str) -> str:
    try:
        return os.path.realpath(file)
    except FileNotFoundError as error:
        raise ShapelogError(f"{file}: cannot write: the current directory was removed") from error


def write_outputs(output: Output, options: OutputOptions, stream: TextIO | None = None) -> int:
    """Write each target, and return the exit code: 2 where a target could not be written, a trace could not be read, or --strict objects.

    A target that cannot be written is reported, and the others are written nevertheless. ``stream`` is the standard stream that targets
    without a file go to, standard output by default.
    """
    stream = stream or sys.stdout
    status = 2 if output.is_partial else 0
    for target in (*options.targets, *_summary_targets(options.targets, stream)):
        try:
            content = output.render(target)
            write(content, target, stream)
            if target.is_announced:
                from shapelog.text import file_size

                message(f"wrote {target.file}, {file_size(len(content))}")
        except ShapelogError as error:
            if options.debug:
                raise
            message(str(error))
            status = status if target.room is not None else 2  # the summary of a step was not requested by an option
    if options.strict and output.has_problems():
        message("the trace has problems (--strict); shapelog report lists them under Health")
        return 2
    return status


def _summary_targets(targets: Sequence[Target], stream: TextIO) -> Iterator[Target]:
    """Markdown is also appended to the summary of a GitHub step, which has a maximum size; not where a target is that file already."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file or all(target.format != "markdown" for target in targets) or any(_is_written_to(file, item, stream) for item in targets):
        return
    room = _SUMMARY - (os.path.getsize(file) if os.path.isfile(file) else 0)
    if room > 0:
        yield Target("markdown", file, room=room)
    else:
        message(f"{file}: the summary of this step is full, so nothing was added")


def _is_written_to(file: str, target: Target, stream: TextIO) -> bool:
    try:
        return os.path.samestat(os.stat(file), os.stat(target.file) if target.file else os.fstat(stream.fileno()))
    except OSError:  # one of them does not exist yet, or the stream has no file descriptor
        return bool(target.file) and os.path.realpath(str(target.file)) == os.path.realpath(file)


def message(text: str) -> None:
    """Print one line on standard error; characters that are not printable are escaped."""
    click.echo(f"shapelog: {visible(text)}", err=True)


def write(content: bytes, target: Target, stream: TextIO) -> None:
    """Write to a target; a regular file is replaced as a whole, or not at all. Raises ShapelogError where that fails."""
    try:
        if target.file is None:
            _write_to_stream(content, stream)
        else:
            _write_to_file(content, _resolved(target.file), target.room)
    except OSError as error:
        raise ShapelogError(f"{target.file or stream.name}: cannot write: {error.strerror}") from error


def _write_to_stream(content: bytes, stream: TextIO) -> None:
    try:
        stream.buffer.write(content)
        stream.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # the buffer is not empty, and would fail again at exit
        if not isinstance(error, BrokenPipeError):
            raise


def _write_to_file(content: bytes, path: str, room: int | None) -> None:
    # A pipe or a device is written to, not replaced.
    if room is not None or (os.path.exists(path) and not os.path.isfile(path)):
        with open(path, "wb" if room is None else "ab") as file:
            file.write(content)
        return
    from secrets import token_hex

    temporary = os.path.join(os.path.dirname(path), f".shapelog-{token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    finally:  # also when it is interrupted
        if os.path.exists(temporary):
            os.unlink(temporary)
