"""What everything in HTML is made with: templates that escape every value, and fail on a name that is not there."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from jinja2.compiler import CodeGenerator, Frame
from jinja2.nodes import Call, Expr, Getattr, Getitem
from markupsafe import Markup, escape

from shapelog import __version__
from shapelog.resources import template_dir

# Longer texts are seldom put out twice.
_LONGEST_KEPT = 500


class Compiled(FileSystemBytecodeCache):
    """Templates that were compiled before, in the user's own directory of temporary files, where jinja2 keeps them.

    It checks that nobody else can write there. Compiled code depends on the settings below, so the names tell which ones it was made with.
    """

    def __init__(self) -> None:
        super().__init__(pattern=f"__shapelog_{__version__}_finalized_%s.cache")

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):  # a full disk keeps no page from being made
            super().dump_bytecode(bucket)


class _Code(CodeGenerator):
    """What templates become: Python that gives each value to ``environment.finalize``, which escapes it.

    Dots, brackets and calls are those of Python. jinja2 itself would look for keys behind dots and attributes in brackets, too, hand
    calls a context and escape values again, which together take half of the time of a page.
    """

    def _output_child_pre(self, node: Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo) -> None:
        self.write("environment.finalize(")

    def _output_child_post(self, node: Expr, frame: Frame, finalize: CodeGenerator._FinalizeInfo) -> None:
        self.write(")")

    def visit_Getattr(self, node: Getattr, frame: Frame) -> None:
        self.visit(node.node, frame)
        self.write(f".{node.attr}")

    def visit_Getitem(self, node: Getitem, frame: Frame) -> None:
        self.visit(node.node, frame)
        self.write("[")
        self.visit(node.arg, frame)
        self.write("]")

    def visit_Call(self, node: Call, frame: Frame, forward_caller: bool = False) -> None:
        self.visit(node.node, frame)
        self.write("(")
        for argument in (*node.args, *node.kwargs):
            self.visit(argument, frame)
            self.write(", ")
        self.write("caller=caller)" if forward_caller else ")")


class _Escaped(dict[str, str]):
    """Text as it stands in HTML. The same names and numbers come again and again in a page, and are made once."""

    def __init__(self, shown: Callable[[Any], Any]) -> None:
        self.shown = shown

    def __missing__(self, text: str) -> str:
        found = str(escape(self.shown(text)))
        if len(text) <= _LONGEST_KEPT:
            self[text] = found
        return found


class _Environment(Environment):
    code_generator_class = _Code


def _compiled() -> Compiled | None:
    try:
        return Compiled()
    except (OSError, RuntimeError):  # no such directory can be had, or another user made it
        return None


def environment(shown: Callable[[Any], Any] = str) -> Environment:
    """``shown`` is given every value before it is escaped, but for numbers and markup."""
    return _Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_escaping(shown),
        auto_reload=False,
        bytecode_cache=_compiled(),
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _escaping(shown: Callable[[Any], Any]) -> Callable[[Any], str]:
    """What makes HTML of each value."""
    texts = _Escaped(shown)

    def escaped(value: Any) -> str:
        kind = type(value)
        if kind is str:
            return texts[value]
        if kind is Markup:
            return value  # type: ignore[no-any-return]
        return str(value) if kind is int or kind is float else str(escape(shown(value)))

    return escaped
