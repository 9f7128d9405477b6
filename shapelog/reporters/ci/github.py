"""Annotations on GitHub, as commands in the log of a workflow; the answer and what got no annotation follow as text."""

from collections.abc import Iterator

from shapelog.check.check import CheckedAlert, CheckResult
from shapelog.reporters import Options
from shapelog.reporters.ci.alert_text import details, help_text, left_out, place, problems, sentence, shown, title
from shapelog.rules import Level
from shapelog.text import cut, one_line

# GitHub shows ten of each level for a step, and 4,096 characters of each.
_EACH = 10
_MESSAGE = 4000
_LISTED = 100
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def render_check(checked: CheckResult, options: Options) -> bytes:
    chosen = [item for level in Level for item in _of(checked, level)[:_EACH]]
    rest = [item for level in Level for item in _of(checked, level)[_EACH:]]
    lines = [*map(_annotation, chosen), *map(_plain, _summary(checked))]
    if rest:
        lines.append(f"::group::Not annotated, because GitHub shows only {_EACH} of each level: {left_out(rest)}")
        lines += [_plain(f"{item.level.value}: {_where(item)}{sentence(item.alert)}. {help_text(item.alert)}") for item in rest[:_LISTED]]
        lines += [f"and {len(rest) - _LISTED} more"] if len(rest) > _LISTED else []
        lines.append("::endgroup::")
    return ("\n".join(lines) + "\n").encode()


def _of(checked: CheckResult, level: Level) -> list[CheckedAlert]:
    return [item for item in checked.alerts if item.level is level]


def _summary(checked: CheckResult) -> Iterator[str]:
    yield cut(str(checked.headline), _MESSAGE)
    if checked.remedy:
        yield f"Help: {checked.remedy}"
    for note in checked.notes:
        yield f"Note: {note}"
    for text in problems(checked)[:_EACH]:
        yield f"Problem in the trace: {text}"


def _where(item: CheckedAlert) -> str:
    return f"{place(item.alert)}: " if item.alert.source_line else ""


def _annotation(item: CheckedAlert) -> str:
    """GitHub can only show files of the repository; else the place is in the message."""
    alert = item.alert
    source_line = shown(alert)
    properties = {"file": one_line(source_line.file), "line": str(source_line.line or 1)} if source_line else {}
    where = "" if source_line and source_line == alert.source_line else _where(item)
    message = "\n".join((where + sentence(alert), help_text(alert), *details(item)))
    named = ",".join(f"{name}={_property(value)}" for name, value in {**properties, "title": title(alert)}.items())
    return f"::{_COMMANDS[item.level]} {named}::{_data(cut(_broken(message), _MESSAGE))}"


def _data(text: str) -> str:
    """As the official toolkit does it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(_broken(text)).replace(":", "%3A").replace(",", "%2C")


def _broken(text: str) -> str:
    """Without the beginning of a command in the old form, which counts anywhere in a line."""
    return text.replace("##[", "# #[")


def _plain(text: str) -> str:
    """A line that is no command: those begin with two colons, after any space."""
    line = _broken(one_line(text).strip())
    return f".{line}" if line.startswith("::") else line
