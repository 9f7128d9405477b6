"""The advice as the bare value of TORCH_COMPILE_DYNAMIC_SOURCES; nothing at all when nothing helps."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_env
from shapelog.reporters import Options

SUFFIX = ".txt"


def render_advice(advice: Advice, options: Options) -> bytes:
    text = as_env(advice)
    return f"{text}\n".encode("utf-8", "backslashreplace") if text else b""
