"""The advice as text to paste or to evaluate; nothing at all when there is nothing to set."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python, as_shell
from shapelog.reporters import Options


def render_env(advice: Advice, options: Options) -> bytes:
    """The bare value of TORCH_COMPILE_DYNAMIC_SOURCES."""
    return _line(advice.env)


def render_shell(advice: Advice, options: Options) -> bytes:
    """An ``export`` line for a shell."""
    return _line(as_shell(advice))


def render_python(advice: Advice, options: Options) -> bytes:
    """Lines of Python."""
    return _line(as_python(advice))


def _line(text: str) -> bytes:
    return f"{text}\n".encode("utf-8", "backslashreplace") if text else b""
