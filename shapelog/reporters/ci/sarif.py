"""SARIF 2.1.0, as GitHub code scanning, Azure DevOps and editors read it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from shapelog import __version__
from shapelog.check.check import CheckedAlert, CheckResult
from shapelog.errors import DATA_LOSS, DEGRADED, INFO
from shapelog.report.alerts.alert import Alert
from shapelog.report.repository_paths import SourceLine
from shapelog.reporters import Options
from shapelog.reporters.ci.alert_text import NO_FILE, details, fingerprints, help_text, left_out, message, sentence, shown
from shapelog.reporters.ci.markdown_escape import listed, paragraph
from shapelog.reporters.json_bytes import pretty
from shapelog.rule_docs import HOME, entry, link
from shapelog.rules import RULES, Rule, Verdict, problem_rule
from shapelog.text import as_sentence, cut, escape_controls, one_line

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
# GitHub refuses a run with more.
_MOST_RESULTS = 25_000
_MOST_PROBLEMS = 1_000
_SEVERITIES = {INFO: "note", DEGRADED: "warning", DATA_LOSS: "error"}
_ERRORS = (Verdict.LIMIT, Verdict.FAILED, Verdict.BUDGET)
_WARNINGS = (Verdict.MARKING, Verdict.CODE, Verdict.TRACE)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")


def render_check(checked: CheckResult, options: Options) -> bytes:
    return pretty({"$schema": _SCHEMA, "version": "2.1.0", "runs": [_run(checked)]})


def _run(checked: CheckResult) -> dict[str, Any]:
    alerts, problems = checked.alerts[:_MOST_RESULTS], checked.found.report.problems[:_MOST_PROBLEMS]
    rules = sorted({item.alert.rule.code for item in alerts})
    about = sorted({problem_rule(item.code).code for item in problems})
    summary = checked.found.report.summary
    return {
        "tool": {
            "driver": {
                "name": "shapelog",
                "semanticVersion": __version__,
                "informationUri": HOME,
                "rules": [_descriptor(RULES[code]) for code in rules],
                "notifications": [_descriptor(RULES[code]) for code in about],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": int(checked.has_failed),
                "toolExecutionNotifications": list(_notifications(checked, about)),
            }
        ],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository that was checked."}}},
        "results": list(_results(alerts, rules, checked.baseline is not None)),
        "properties": {
            "headline": one_line(str(checked.headline)),
            "compiles": summary.compiles,
            "recompiles": summary.recompiles,
            "seconds": summary.seconds if summary.is_timed else None,
            "recompileSeconds": summary.recompile_seconds if summary.is_timed else None,
        },
    }


def _descriptor(rule: Rule) -> dict[str, Any]:
    text = entry(rule.code)
    level = "error" if rule.verdict in _ERRORS else "warning" if rule.verdict in _WARNINGS else "note"
    sections = [f"## {title}\n\n{part}" for title, part in text.sections]
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.name.replace("-", " ").capitalize()},
        "fullDescription": {"text": cut(_LINK.sub(r"\1", one_line(text.meaning).strip()), 1000)},
        "help": {"text": f"{as_sentence(rule.remedy)} See {link(rule)}", "markdown": "\n\n".join(sections)},
        "helpUri": link(rule),
        "defaultConfiguration": {"level": level},
        "properties": {"tags": ["torch.compile", "recompilation", *(["dynamic-shapes"] if rule.size_related else [])]},
    }


def _notifications(checked: CheckResult, about: list[str]) -> Iterator[dict[str, Any]]:
    problems = checked.found.report.problems
    for problem in problems[:_MOST_PROBLEMS]:
        code = problem_rule(problem.code).code
        text = f"{problem.place}: {problem.message}"
        yield {
            "descriptor": {"id": code, "index": about.index(code)},
            "level": _SEVERITIES[problem.severity],
            "message": {"text": cut(_plain(text), 1000)},
        }
    if len(problems) > _MOST_PROBLEMS:
        yield {"level": "warning", "message": {"text": f"{len(problems) - _MOST_PROBLEMS} more problems in the trace are left out"}}
    rest = checked.alerts[_MOST_RESULTS:]
    if rest:
        text = f"GitHub accepts {_MOST_RESULTS} results per run; the {left_out(rest)} of the lowest severity are left out"
        yield {"level": "warning", "message": {"text": text}}
    for note in checked.notes:
        yield {"level": "note", "message": {"text": _plain(note)}}


def _results(alerts: tuple[CheckedAlert, ...], rules: list[str], has_baseline: bool) -> Iterator[dict[str, Any]]:
    names = fingerprints(alerts)
    hashes = _line_hashes(alerts, names)
    for item, name in zip(alerts, names, strict=True):
        alert = item.alert
        source_line = shown(alert) or alert.source_line
        result: dict[str, Any] = {
            "ruleId": alert.rule.code,
            "ruleIndex": rules.index(alert.rule.code),
            "level": item.level.value,
            "message": {"text": _plain(message(item)), "markdown": _markdown(item)},
            "locations": [_location(alert, source_line)],
            "partialFingerprints": {"shapelogFingerprint/v1": name, **hashes.get(name, {})},
            "properties": _properties(item),
        }
        related = [(alert.source_line, one_line(alert.title)), *(line[:2] for line in alert.related)]
        others = [(place, text) for place, text in related if place and place != source_line]
        if others:
            result["relatedLocations"] = [
                {"id": number, "physicalLocation": _physical(place), "message": {"text": _plain(text)}}
                for number, (place, text) in enumerate(others, 1)
            ]
        if has_baseline:
            result["baselineState"] = "new" if item.new else "unchanged"
        yield result


def _markdown(item: CheckedAlert) -> str:
    lines = (paragraph(sentence(item.alert)), "", paragraph(help_text(item.alert)), "")
    return "\n".join((*lines, *(listed(line.removeprefix("- ")) for line in details(item))))


def _plain(text: str) -> str:
    """A message without anything that readers take for a link."""
    return "\n".join(one_line(line) for line in text.split("\n")).replace("](", "] (")


def _line_hashes(alerts: Iterable[CheckedAlert], names: Iterable[str]) -> dict[str, dict[str, str]]:
    """GitHub distinguishes two alerts of a rule by ``primaryLocationLineHash`` alone, which its upload action makes of the line's text.

    Where the result carries another hash than it makes, the action keeps it and warns. So a result has one of its own where the action
    makes none (outside of the repository) and where another of the same rule lies in the same line, but for the first of those, by
    fingerprint: its identity is that of the line.
    """
    first: dict[tuple[str, SourceLine], str] = {}
    known = [(item, shown(item.alert), name) for item, name in zip(alerts, names, strict=True)]
    for item, source_line, name in known:
        if source_line:
            key = (item.alert.rule.code, source_line)
            first[key] = min(first.get(key, name), name)
    return {
        name: {"primaryLocationLineHash": f"{name[:16]}:1"}
        for item, source_line, name in known
        if not source_line or first[item.alert.rule.code, source_line] != name
    }


def _location(alert: Alert, source_line: SourceLine | None) -> dict[str, Any]:
    return {
        "physicalLocation": _physical(source_line, alert.snippet if source_line == alert.source_line else ""),
        "logicalLocations": [{"fullyQualifiedName": cut(one_line(alert.title), 500), "kind": "function"}],
    }


def _physical(source_line: SourceLine | None, snippet: str = "") -> dict[str, Any]:
    """GitHub refuses the whole file for one result without a physical location, so code that lies in no file gets a name for one."""
    if source_line is None:
        return {"artifactLocation": {"uri": NO_FILE, "uriBaseId": _ROOT, "description": {"text": "Code that is not in a file."}}}
    region: dict[str, Any] = {"startLine": source_line.line or 1}
    if snippet:
        region["snippet"] = {"text": cut(escape_controls(snippet), 1000)}
    return {"artifactLocation": _artifact(source_line), "region": region}


def _artifact(source_line: SourceLine) -> dict[str, str]:
    path = quote(source_line.file, safe="/~!$&'()*+,;=@", errors="surrogatepass")
    if source_line.is_inside:
        return {"uri": path, "uriBaseId": _ROOT}
    # file:///srv/app.py, file:///C:/app.py, file://host/share/app.py
    path = path.replace("%3A", ":", 1) if re.match(r"[A-Za-z]%3A/", path) else path
    return {"uri": f"file:{path}" if path.startswith("//") else f"file:///{path.lstrip('/')}"}


def _properties(item: CheckedAlert) -> dict[str, Any]:
    alert = item.alert
    return {
        "frame": one_line(alert.title),
        "axes": [one_line(axis) for axis in alert.axes],
        "codes": list(alert.codes),
        "compileIds": list(alert.shown_labels),
        "ranks": list(alert.ranks),
        "count": alert.count,
        "new": len(item.new),
        "seconds": alert.seconds or None,
        "fails": item.fails,
    }
