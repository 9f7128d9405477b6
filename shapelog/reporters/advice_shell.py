"""The advice as an ``export`` line for a shell to evaluate; nothing at all when nothing helps."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_shell
from shapelog.reporters import Options

SUFFIX = ".sh"


def render_advice(advice: Advice, options: Options) -> bytes:
    text = as_shell(advice)
    return f"{text}\n".encode("utf-8", "backslashreplace") if text else b""
