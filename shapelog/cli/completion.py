"""What a shell offers on TAB: files, codes and names of rules, kinds of findings, and the compiles of a trace."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import click
from click.shell_completion import CompletionItem

from shapelog.text import one_line

# A larger trace is not read while somebody waits for the shell.
_LARGEST = 50_000_000


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="file")]


def directories(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


def rule_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes, each with its name; names where one was begun. Behind a comma, another entry of the list."""
    from shapelog.rules import RULES

    named = [(rule.code, rule.name) for rule in RULES.values()]
    return _entries(incomplete, named) or _entries(incomplete, [(name, code) for code, name in named])


def alert_kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What ``--fail-on`` takes; behind a comma, another entry of the list."""
    from shapelog.rules import AlertKind

    return _entries(incomplete, [(kind.value, "") for kind in AlertKind if kind is not AlertKind.BUDGET] + [("none", "")])


def traces_and_compile_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the compiles of the traces named so far, with their functions; files where none fits."""
    named = _compiles([path for path in ctx.params.get(param.name or "") or () if os.path.exists(path)])
    items = [CompletionItem(label, help=one_line(title)) for label, title in named if label.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *items]


def _entries(incomplete: str, known: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    """The known words, each with a help, that go on with the last entry of a list with commas, in capitals or not."""
    before, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{before}{comma}{word}", help=note or None) for word, note in known if word.lower().startswith(last.lower())]


def _compiles(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Id and function of each compile of these traces, except for what is too large or cannot be read."""
    from shapelog.errors import ShapelogError
    from shapelog.model.load import load
    from shapelog.reading.inputs import InputOptions, select

    for path in paths:
        with suppress(ShapelogError, OSError):
            selection = select(path, InputOptions())
            if sum(file.path.stat().st_size if file.path else _LARGEST for file in selection.files) < _LARGEST:
                for frame in load(selection).frames:
                    yield from ((compile.label, frame.title) for compile in frame.compiles)
