"""The advice in the forms that people paste: the value of the list, a shell line, Python."""

import re

from shapelog.advice.advise import Advice
from shapelog.advice.replay import Cost
from shapelog.text import plural, seconds, visible

VARIABLE = "TORCH_COMPILE_DYNAMIC_SOURCES"
# What goes into quotes of one kind, and what is escaped in double ones.
_PARTS = re.compile("[!`]+|[^!`]+")
_ESCAPED, _ESCAPE = re.compile(r'[\\"$]'), r"\\\g<0>"


def as_shell(advice: Advice) -> str:
    """An ``export`` line that any POSIX shell, and fish, takes back to exactly the value, pasted or evaluated; "" when nothing helps."""
    return f"export {VARIABLE}={_quoted(advice.env)}" if advice.env else ""


def _quoted(value: str) -> str:
    """In double quotes, which sources read well in. Exclamation marks recall commands there, and fish knows no escape for a backtick."""
    return "".join(f"'{part}'" if part[0] in "!`" else f'"{_ESCAPED.sub(_ESCAPE, part)}"' for part in _PARTS.findall(value))


def as_python(advice: Advice) -> str:
    """Lines for the program, before its first compiled call: the config patch, or ``mark_dynamic`` calls where there is no list."""
    lines: list[str] = []
    has_list = bool(advice.env)
    if has_list:
        lines += [
            "import torch.compiler",
            "",
            "# before the first compiled call",
            f"torch.compiler.config.dynamic_sources = {_listed(advice)}",
        ]
    marked = [item for item in advice.suggestions if item.python]
    if marked:
        lines += (
            ["", "# or, instead of the list, on the tensors themselves, before each call:"] if has_list else ["import torch._dynamo", ""]
        )
        for item in marked:
            place = f", called at {item.place.file}:{item.place.line}" if item.place else ""
            titles = ", ".join(dict.fromkeys(frame.title for frame in item.frames))
            lines.append(visible(f"# {titles}{place}"))
            lines += [visible(f"# {line}" if has_list and not line.startswith("#") else line) for line in item.python]
    return "\n".join(lines)


def _listed(advice: Advice) -> str:
    if len(advice.entries) == 1:
        return repr(advice.env)
    return "\n".join(['",".join(', "    (", *(f"        {entry!r}," for entry in advice.entries), "    )", ")"])


def why_nothing(advice: Advice) -> str:
    """One sentence where the list is empty, also where marks would help but this torch reads no list; "" where it is not."""
    if advice.env:
        return ""
    if advice.suggestions:
        return f"torch {advice.version} reads no list of dynamic sources (2.8 and later do); --format python gives the mark_dynamic lines"
    return advice.why_empty


def where_to_get(advice: Advice) -> str:
    """What is shown in place of a list that is not."""
    return f"{plural(len(advice.entries), 'entry')}: shapelog suggest-dynamic prints them with --format shell, env or python"


def cost_of(cost: Cost) -> str:
    """``2 compiles and 1 limit hit in 1.4 s``."""
    hits = f" and {plural(cost.limit_hits, 'limit hit')}" if cost.limit_hits else ""
    return f"{plural(cost.compiles, 'compile')}{hits} in {seconds(cost.seconds)}"


def effect_of(advice: Advice) -> str:
    """``96 compiles in 100 s become 8 compiles in 20.1 s (predicted)``; of a large job also on which ranks."""
    return f"{cost_of(advice.before)} become {cost_of(advice.after)} (predicted{f', {advice.scope}' if advice.scope else ''})"
