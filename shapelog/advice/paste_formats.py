"""The advice in the forms that people paste: the value of the list, a shell line, Python; and its JSON shape."""

import shlex
from typing import Any

from shapelog.advice.advise import Advice, Suggestion
from shapelog.advice.caveats import Seen
from shapelog.advice.pgo_comparison import Opinion
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.replay import Cost
from shapelog.model.trace import Frame
from shapelog.text import plural, seconds

# 1: first shape.
FORMAT_VERSION = 1
VARIABLE = "TORCH_COMPILE_DYNAMIC_SOURCES"


def as_env(advice: Advice) -> str:
    """The bare value of TORCH_COMPILE_DYNAMIC_SOURCES, "" when nothing helps."""
    return advice.env


def as_shell(advice: Advice) -> str:
    """An ``export`` line that any POSIX shell takes back to exactly the value; "" when nothing helps."""
    return f"export {VARIABLE}={_quoted(advice.env)}" if advice.env else ""


def _quoted(value: str) -> str:
    """In double quotes, which sources read well in; an exclamation mark is only safe in single ones."""
    if "!" in value or not value.isprintable():
        return shlex.quote(value)
    return '"' + "".join(f"\\{character}" if character in '\\"$`' else character for character in value) + '"'


def as_python(advice: Advice) -> str:
    """Lines for the program, before its first compiled call: the config patch, or ``mark_dynamic`` calls where there is no list."""
    lines: list[str] = []
    if advice.env:
        lines += [
            "import torch.compiler",
            "",
            "# before the first compiled call",
            f"torch.compiler.config.dynamic_sources = {_listed(advice)}",
        ]
    marked = [item for item in advice.suggestions if item.python]
    if marked:
        lines += (
            ["", "# or, instead of the list, on the tensors themselves, before each call:"] if advice.env else ["import torch._dynamo", ""]
        )
        for item in marked:
            place = f", called at {item.place.file}:{item.place.line}" if item.place else ""
            titles = ", ".join(dict.fromkeys(frame.title for frame in item.frames))
            lines.append(f"# {_comment(titles)}{_comment(place)}")
            lines += [_comment(f"# {line}" if advice.env and not line.startswith("#") else line) for line in item.python]
    return "\n".join(lines)


def _listed(advice: Advice) -> str:
    if len(advice.entries) == 1:
        return repr(advice.env)
    return "\n".join(['",".join(', "    (", *(f"        {entry!r}," for entry in advice.entries), "    )", ")"])


def _comment(text: str) -> str:
    """Text of a trace on one line of Python: what is no printable character is escaped."""
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def why_nothing(advice: Advice) -> str:
    """One sentence where the list is empty, also where marks would help but this torch reads no list; "" where it is not."""
    if advice.env:
        return ""
    if advice.suggestions:
        return f"torch {advice.version} reads no list of dynamic sources (2.8 and later do); --format python gives the mark_dynamic lines"
    return advice.why_empty


def where_to_get(advice: Advice) -> str:
    """What stands for a list that is not shown."""
    return f"{plural(len(advice.entries), 'entry')}: shapelog suggest-dynamic prints them with --format shell, env or python"


def cost_of(cost: Cost) -> str:
    """``2 compiles and 1 limit hit in 1.4 s``."""
    hits = f" and {plural(cost.limit_hits, 'limit hit')}" if cost.limit_hits else ""
    return f"{plural(cost.compiles, 'compile')}{hits} in {seconds(cost.seconds)}"


def effect_of(advice: Advice) -> str:
    """``96 compiles in 100 s become 8 compiles in 20.1 s (predicted)``; of a large job also on which ranks."""
    return f"{cost_of(advice.before)} become {cost_of(advice.after)} (predicted{f', {advice.scope}' if advice.scope else ''})"


def advice_data(advice: Advice) -> dict[str, Any]:
    """The advice as JSON; ``shapelog/schema/advice.schema.json`` describes it.

    ``compiles`` and ``predicted_compiles`` both count recompile-limit hits; ``limit_hits`` and ``predicted_limit_hits`` are those alone.
    """
    return {
        "format": "shapelog advice",
        "format_version": FORMAT_VERSION,
        "torch_version": str(advice.version),
        "torch_version_given": advice.is_version_given,
        "env": advice.env,
        "shell": as_shell(advice),
        "python": as_python(advice),
        "sources": list(advice.entries),
        "compiles": advice.before.total,
        "predicted_compiles": advice.after.total,
        "limit_hits": advice.before.limit_hits,
        "predicted_limit_hits": advice.after.limit_hits,
        "seconds": advice.before.seconds,
        "predicted_seconds": advice.after.seconds,
        "why_empty": why_nothing(advice) or None,
        "frames": [
            {
                **_frame_data(item.frame),
                "compiles": item.before.total,
                "predicted_compiles": item.after.total,
                "seconds": item.before.seconds,
                "predicted_seconds": item.after.seconds,
            }
            for item in advice.forecasts
        ],
        "suggestions": [_suggestion_data(item) for item in advice.suggestions],
        "left_out": [
            {
                "source": item.mark.source,
                "dim": None if item.mark.is_int else item.mark.dim,
                "frame": item.frame.label,
                "reason": item.reason,
                "remedy": item.remedy,
            }
            for item in advice.left_out
        ],
        "not_fixed": [_remaining_data(item, advice.tool_for(item)) for item in advice.remaining],
        "alternatives": [
            {
                "tool": item.tool,
                "codes": list(item.codes),
                "subject": item.subject,
                "sentence": item.sentence,
                "lines": list(item.lines),
                "warning": item.warning or None,
            }
            for item in advice.alternatives
        ],
        "caveats": list(advice.caveats),
        "pgo": _opinion_data(advice.pgo) if advice.pgo else None,
    }


def _opinion_data(item: Opinion) -> dict[str, Any]:
    return {
        "env": item.value,
        "warm": item.is_warm,
        "knew": [{"source": source, "state": state} for source, state in item.knew],
        "predicted_compiles": item.cost.total,
        "predicted_limit_hits": item.cost.limit_hits,
        "flaw": item.flaw or None,
        "differences": [
            {"source": part.source, "pgo": part.theirs or None, "shapelog": part.ours or None, "why": part.why} for part in item.differences
        ],
    }


def _suggestion_data(item: Suggestion) -> dict[str, Any]:
    return {
        "id": item.id,
        "source": item.source,
        "name": item.name,
        "dims": list(item.dims),
        "codes": list(item.codes),
        "tool": item.tool,
        "entries": list(item.entries),
        "recommendation": item.recommendation,
        "rationale": item.rationale,
        "seen": [_seen_data(seen) for seen in item.seen],
        "frames": [_frame_data(frame) for frame in item.frames],
        "compiles_gone": list(item.gone),
        "seconds": item.seconds,
        "confidence": item.confidence,
        "confidence_reason": item.confidence_reason,
        "caveats": list(item.caveats),
        "place": f"{item.place.file}:{item.place.line}" if item.place else None,
        "python": list(item.python),
    }


def _seen_data(item: Seen) -> dict[str, Any]:
    return {
        "axis": item.name,
        "dim": None if item.mark.is_int else item.mark.dim,
        "values": [{"compile_id": label, "value": value} for label, value in item.values],
        "bounds": list(item.bounds),
    }


def _frame_data(frame: Frame) -> dict[str, Any]:
    return {"frame": frame.label, "title": frame.title, "rank": frame.rank, "file": frame.file or None, "line": frame.line or None}


def _remaining_data(item: Remaining, tool: str) -> dict[str, Any]:
    return {
        "frame": item.frame.label,
        "title": item.frame.title,
        "rank": item.frame.rank,
        "axis": item.axis or None,
        "code": item.rule.code,
        "size_related": item.size_related,
        "verdict": item.verdict.value,
        "compiles": [compile.label for compile in item.compiles],
        "seconds": item.seconds,
        "reason": item.sentence,
        "tool": tool,
        "remedy": item.remedy,
        "place": item.place or None,
    }
