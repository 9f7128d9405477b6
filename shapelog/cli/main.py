"""The command line. Each command is a module, and imports what it needs."""

import atexit
import errno
import os
import re
import shlex
import signal
import sys
import warnings
from contextlib import suppress
from types import FrameType

import click

from shapelog import __version__
from shapelog.cli.commands.check import check
from shapelog.cli.commands.compare import compare
from shapelog.cli.commands.explain import explain
from shapelog.cli.commands.extract import extract
from shapelog.cli.commands.fix import fix
from shapelog.cli.commands.mcp import mcp
from shapelog.cli.commands.report import report
from shapelog.cli.commands.rules import rule, rules
from shapelog.cli.commands.run import run, verify
from shapelog.cli.commands.suggest_dynamic import suggest_dynamic
from shapelog.cli.commands.tables import fleet, tables
from shapelog.cli.commands.watch import watch
from shapelog.cli.interrupts import is_importing
from shapelog.cli.output import message

# How many arguments a message repeats.
_MOST_REPEATED = 4
# This process may have no more files, processes or memory, or write no larger files.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EFBIG)


class _Commands(click.Group):
    """Lists the commands in the order in which they were added; an unknown word is refused with what was probably meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in self.commands and not ctx.resilient_parsing:
            message(f"{args[0]!r} is not a command{_what_was_meant(args, list(self.commands))}")
            ctx.exit(2)
        return super().resolve_command(ctx, args)


def _what_was_meant(arguments: list[str], commands: list[str]) -> str:
    """The line to type: of a command with a similar name, of ``report`` for a trace, or of another command for what it takes."""
    from difflib import get_close_matches

    from shapelog.model.ids import parse_typed_id
    from shapelog.reading.trace_files import is_url

    word, *rest = arguments
    similar = get_close_matches(word, commands, n=1)
    typed = shlex.join(arguments[:_MOST_REPEATED]) + (" ..." if len(arguments) > _MOST_REPEATED else "")
    if is_url(word) or os.path.exists(word):
        return f"; did you mean: shapelog report {typed}"
    if similar:
        return f"; did you mean: shapelog {similar[0]} {typed[len(shlex.quote(word)) + 1 :]}".rstrip()
    if parse_typed_id(word):
        return f"; did you mean: shapelog explain {shlex.join(rest[:1]) or 'TRACE'} {shlex.quote(word)}"
    if re.fullmatch(r"(?i)SL\d{3}", word):
        return f"; did you mean: shapelog rule {word}"
    return f" or a file; commands: {', '.join(commands)}"


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shapelog")
def cli() -> None:
    """Show why torch.compile recompiled, what it cost, and how to avoid it.

    Record a trace with TORCH_TRACE=DIR python your_script.py, then run shapelog report DIR and shapelog suggest-dynamic DIR. Or do
    everything at once: shapelog verify -- python your_script.py. In CI, run shapelog check DIR. A log with TORCH_LOGS output works
    in place of a trace.
    """


for _command in (report, check, explain, suggest_dynamic, fix, compare, extract, watch, run, verify, tables, fleet, rules, rule, mcp):
    cli.add_command(_command)


def main() -> None:
    """Run the command and end the process at once: freeing the objects of a trace one by one would only cost time."""
    warnings.simplefilter("ignore", SyntaxWarning)  # of code that a trace quotes
    # A standard stream that the caller closed is None.
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
    _end_on_signals()
    status = 0
    try:
        cli(prog_name="shapelog")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except OSError as error:
        if error.errno in _EXHAUSTED:
            sys.unraisablehook = lambda _: None  # what was made in part may fail to be taken down
            with suppress(OSError):  # standard error may be a file that cannot grow
                message(f"{error.filename or 'cannot continue'}: {error.strerror}")
        elif error.errno not in (errno.ENOSPC, errno.EIO, errno.EPIPE):
            raise
        status = 2  # else, a standard stream is full or closed, so no message can be written
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            status = status or 2
    os._exit(status)


def _end_on_signals() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP end the program with 128 + N, without a traceback or temporary files, unless they are ignored.

    During an import that is at once.
    """

    def end(number: int, frame: FrameType | None) -> None:
        if is_importing(frame):
            atexit._run_exitfuncs()  # which remove temporary directories
            os._exit(128 + number)
        raise SystemExit(128 + number)

    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL, None):
        signal.signal(signal.SIGINT, end)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
