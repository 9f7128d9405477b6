"""GitLab's code quality report: what a merge request shows next to the lines that it changes."""

from typing import Any

from shapelog.check.check import CheckedAlert, CheckResult
from shapelog.report.repository_paths import SourceLine
from shapelog.reporters import Options
from shapelog.reporters.ci.alert_text import NO_FILE, fingerprints, help_text, place, pytorch_words, sentence, shown
from shapelog.reporters.json_bytes import pretty
from shapelog.rule_docs import link
from shapelog.rules import AlertKind, Level
from shapelog.text import as_sentence, cut, one_line

_SEVERITIES = {Level.ERROR: "major", Level.WARNING: "minor", Level.NOTE: "info"}
# What runs eagerly or not at all.
_BROKEN = {AlertKind.LIMIT, AlertKind.FAILURE}


def render_check(checked: CheckResult, options: Options) -> bytes:
    return pretty([_issue(item, name) for item, name in zip(checked.alerts, fingerprints(checked.alerts), strict=True)])


def _issue(item: CheckedAlert, name: str) -> dict[str, Any]:
    alert = item.alert
    inside = shown(alert)
    source_line = inside or alert.source_line
    # Nothing here is a "blocker", which is the word for a security hole.
    severity = "critical" if item.level is Level.ERROR and alert.rule.alert_kind in _BROKEN else _SEVERITIES[item.level]
    where = f" (at {place(alert)})" if alert.source_line and alert.source_line != inside else ""
    return {
        "type": "issue",
        "description": " ".join((f"{sentence(alert)}{where}.", *map(as_sentence, pytorch_words(alert)), help_text(alert))),
        "check_name": f"{alert.rule.code} {alert.rule.name}",
        "content": {"body": link(alert.rule)},
        "categories": ["Performance"],
        "fingerprint": name,
        "severity": severity,
        "location": {"path": _path(source_line), "lines": {"begin": (source_line.line if source_line else 0) or 1}},
    }


def _path(source_line: SourceLine | None) -> str:
    """GitLab reads no further than the first entry without a path, so each has one: outside of the repository the file's own, without
    the beginning that only absolute paths have, and a name for code that lies in no file.
    """
    if source_line is None:
        return NO_FILE
    if source_line.is_inside:
        return cut(one_line(source_line.file), 1000)
    parts = [part for part in one_line(source_line.file).split("/") if part not in ("", ".", "..") and not part.endswith(":")]
    return cut("/".join(parts), 1000) or NO_FILE
