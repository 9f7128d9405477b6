"""The advice in the forms that people paste: the value of the list, a shell line, Python."""

import re
from collections.abc import Sequence

from shapelog.advice.advise import Advice
from shapelog.advice.compile_seconds import slower_words
from shapelog.advice.replay import Cost
from shapelog.advice.suggestions import Suggestion
from shapelog.grouping import grouped
from shapelog.text import plural, some, visible

VARIABLE = "TORCH_COMPILE_DYNAMIC_SOURCES"
OR_IN_CODE = "# or, instead of the list, in code before each call (the names are the function's, the caller may have others):"
_EACH_THREAD = ", in each thread that makes one: threads do not share settings"
# What goes into quotes of one kind, and what is escaped in double ones: a backslash where something follows that is.
_PARTS = re.compile("[!`]+|[^!`]+")
_ESCAPED, _ESCAPE = re.compile(r'\\(?=[\\"$\n]|$)|["$]'), r"\\\g<0>"


def as_shell(advice: Advice) -> str:
    """An ``export`` line that any POSIX shell, and fish, takes back to exactly the value, pasted or evaluated; "" when nothing helps."""
    return exported(advice.env) if advice.env else ""


def as_short_shell(advice: Advice) -> str:
    """The same for people, with expressions in a list that is long; "" where it is not, or has none."""
    return exported(",".join(advice.short_entries)) if advice.short_entries else ""


def shown_shell(advice: Advice) -> str:
    """The line for people to paste: in short where that is much shorter."""
    return as_short_shell(advice) or as_shell(advice)


def why_short(advice: Advice) -> str:
    """What explains a list in short, "" where there is none."""
    if not advice.short_entries:
        return ""
    number = plural(len(advice.short_entries), "entry")
    every = f"{number} in place of {len(advice.entries)}, which suggest-dynamic --format env lists"
    return f"{every}; those with backslashes are regular expressions: keep them as they are"


def exported(value: str) -> str:
    """The ``export`` line for a value of the list."""
    return f"export {VARIABLE}={_quoted(value)}"


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
            f"# before the first compiled call{_EACH_THREAD if advice.is_in_thread else ''}",
            f"torch.compiler.config.dynamic_sources = {listed(advice.entries)}",
        ]
    marked = [item for item in advice.suggestions if item.python]
    if has_list and marked:
        lines += ["", OR_IN_CODE]
    elif any(not line.startswith("#") for item in marked for line in item.python):
        lines += ["import torch._dynamo", ""]
    for heading, same_heading in grouped((marked_lines(item, has_list) for item in marked), lambda item: item[0]).items():
        lines += [heading, *dict.fromkeys(line for item in same_heading for line in item[1:])]
    return "\n".join(lines)


def marked_lines(item: Suggestion, is_comment: bool) -> list[str]:
    """The ``mark_dynamic`` calls of a suggestion, below a comment that names the code; all of it comments where they are an alternative."""
    place = f", called at {item.place.file}:{item.place.line}" if item.place else ""
    titles = some(list(dict.fromkeys(map(item.title_in, item.frames))))
    calls = [f"# {line}" if is_comment and not line.startswith("#") else line for line in item.python]
    return list(map(visible, (f"# {titles}{place}", *calls)))


def listed(entries: Sequence[str]) -> str:
    """The value of the list in Python, an entry a line where there are several."""
    if len(entries) == 1:
        return repr(entries[0])
    return "\n".join(['",".join(', "    (", *(f"        {entry!r}," for entry in entries), "    )", ")"])


def why_nothing(advice: Advice) -> str:
    """One sentence where the list is empty, also where marks would help but this torch reads no list; "" where it is not."""
    if advice.env:
        return ""
    if advice.suggestions:
        return "torch before 2.7 does not read a list of dynamic sources; --format python prints mark_dynamic calls"
    return advice.why_empty


def where_to_get(advice: Advice) -> str:
    """What is shown in place of a list that is not."""
    return f"{plural(len(advice.entries), 'entry')}: run shapelog suggest-dynamic with --format shell, env, or python to print them"


def cost_of(cost: Cost) -> str:
    """``2 compilations and 1 limit hit in 1.40 s``; ``8 to 10 compilations in 5.10-8.40 s`` where it is a prediction with two ends."""
    number = f"{cost.compiles} to " if cost.spread else ""
    hits = f" and {plural(cost.limit_hits, 'limit hit')}" if cost.limit_hits else ""
    time = f" in {cost.seconds}" if cost.seconds.most != 0 else ""
    return f"{number}{plural(cost.compiles + cost.spread, 'compilation')}{hits}{time}"


def effect_of(advice: Advice) -> str:
    """``11 of 19 compilations go away (saves 22.3–34.7 s of 67.3 s)``; of a large job also on which ranks."""
    before, after = advice.before, advice.after
    gone = before.compiles - after.compiles
    least = gone - after.spread
    number = f"{least} to {gone}" if after.spread and least > 0 else f"up to {gone}" if least <= 0 and gone > 1 else str(gone)
    goes = "may go" if least <= 0 and gone == 1 else "goes" if gone == 1 else "go"
    parts = [f"{number} of {plural(before.compiles, 'compilation')} {goes} away"] if gone else []
    if after.limit_hits < before.limit_hits:
        parts.append(
            f"{after.limit_hits} of {plural(before.limit_hits, 'limit hit')} remain"
            if after.limit_hits
            else "the recompile limit may no longer be reached"
            if after.may_reach_limit
            else (
                "the recorded calls no longer reach the recompile limit" if after.unrecorded else "the recompile limit is no longer reached"
            )
        )
    if after.forbidden < before.forbidden:
        parts.append(f"{plural(before.forbidden - after.forbidden, 'forbidden recompilation')} no longer needed")
    scope = f", {advice.scope}" if advice.scope else ""
    words = ", and ".join(parts)
    saved = advice.saved_seconds.as_saving
    longer = slower_words(advice.removed_seconds, advice.added_seconds) if advice.becomes_slower else ""
    return f"{words} (saves {saved} of {before.seconds}{longer}{scope})" if saved else words + scope
