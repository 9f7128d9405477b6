"""The advice as lines of Python to paste; nothing at all when nothing helps."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python
from shapelog.reporters import Options

SUFFIX = ".py"


def render_advice(advice: Advice, options: Options) -> bytes:
    text = as_python(advice)
    return f"{text}\n".encode("utf-8", "backslashreplace") if text else b""
