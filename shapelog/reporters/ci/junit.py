"""JUnit XML, as Jenkins and GitLab read it: one test for each budget and for each piece of code."""

import math
import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from shapelog.check.check import CheckedAlert, CheckResult
from shapelog.model.code_matching import Code
from shapelog.model.frame import UNNAMED_CODE
from shapelog.reporters import Options
from shapelog.reporters.ci.alert_text import message, place, problems, sentence, title
from shapelog.rules import AlertKind
from shapelog.text import cut, file_name, one_line

_SUITE = "shapelog"
_NO_FILE = "code"
_INSTALLED = re.compile(r"^.*/(?:site|dist)-packages/")
# What XML 1.0 cannot hold, and escape_control_chars() leaves as it is.
_FORBIDDEN = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class ReportedTest:
    """A test; ``seconds`` are 0 where no time is recorded. ``failing`` are the alerts that it fails with, ``others`` what it only reports;
    ``words`` are the failure in short.
    """

    group: str
    name: str
    seconds: float
    words: str
    failing: tuple[CheckedAlert, ...]
    others: tuple[CheckedAlert, ...] = ()


def render_check(checked: CheckResult, options: Options) -> bytes:
    cases = [*_budgets(checked), *_codes(checked)]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(bool(case.failing) for case in cases)),
        "errors": "0",
    }
    if any(case.seconds for case in cases):
        counts["time"] = f"{math.fsum(case.seconds for case in cases):.3f}"
    root = ElementTree.Element("testsuites", {"name": _SUITE, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _SUITE, **counts, "skipped": "0"})
    for group, name, case in _apart(cases):
        _add(suite, group, name, case)
    gone = (f"In the baseline, but not in this run: {text}" for text in checked.fixed)
    lines = (str(checked.headline), checked.remedy, *checked.notes, *gone)
    _text(suite, "system-out", "\n".join(one_line(line) for line in lines if line))
    # A damaged trace fails no check, so here it is no error either: tests fail when shapelog ends with 1, and only then.
    _text(suite, "system-err", "\n".join(problems(checked)))
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _budgets(checked: CheckResult) -> Iterator[ReportedTest]:
    """The alerts of exceeded budgets are in the order of the budgets."""
    alerts = iter([item for item in checked.alerts if AlertKind.BUDGET in item.alert.kinds])
    for item in checked.budgets:
        alert = next(alerts, None) if item.is_exceeded else None
        yield ReportedTest(f"{_SUITE}.budgets", item.name, 0.0, item.sentence, (alert,) if alert else ())


def _codes(checked: CheckResult) -> Iterator[ReportedTest]:
    by_code: dict[Code, list[CheckedAlert]] = {}
    for item in checked.alerts:
        if AlertKind.BUDGET not in item.alert.kinds:
            by_code.setdefault(item.alert.code, []).append(item)
    for code in dict.fromkeys((*checked.found.codes, *by_code)):  # exports are in the alerts alone
        items = by_code.get(code, [])
        failing = tuple(item for item in items if item.fails and checked.is_check)
        others = tuple(item for item in items if item not in failing)
        more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        words = f"{sentence(failing[0].alert)}{more}" if failing else ""
        name = code.title or UNNAMED_CODE
        yield ReportedTest(
            group=_group(checked, code),
            name=name,
            seconds=math.fsum(frame.seconds for frame in code.frames),
            words=words,
            failing=failing,
            others=others,
        )


def _group(checked: CheckResult, code: Code) -> str:
    """The file with dots, because readers take what precedes the last one for a package: ``app.model`` of ``app/model.py``."""
    source_line = checked.found.repository.source_line(code.first.file, code.first.line)
    if source_line is None:
        return f"{_SUITE}.{_NO_FILE}"
    inner = _INSTALLED.sub("", source_line.file)
    file = inner if source_line.is_inside or inner != source_line.file else file_name(source_line.file)
    return ".".join(part for part in posixpath.splitext(file)[0].split("/") if part not in ("", ".", "..")) or _NO_FILE


def _apart(cases: Iterable[ReportedTest]) -> Iterator[tuple[str, str, ReportedTest]]:
    """(class, name, case), numbered where two are called the same, which readers would take for one."""
    seen: dict[tuple[str, str], int] = {}
    for case in cases:
        group, name = (cut(_allowed(one_line(text)), 500) for text in (case.group, case.name))
        seen[group, name] = number = seen.get((group, name), 0) + 1
        yield group, name if number == 1 else f"{name} #{number}", case


def _add(suite: ElementTree.Element, group: str, name: str, case: ReportedTest) -> None:
    element = ElementTree.SubElement(suite, "testcase", {"classname": group, "name": name})
    if case.seconds:
        element.set("time", f"{case.seconds:.3f}")
    if case.failing:
        rules = ", ".join(dict.fromkeys(item.alert.rule.code for item in case.failing))
        failure = ElementTree.SubElement(element, "failure", {"type": rules, "message": cut(_allowed(one_line(case.words)), 1000)})
        failure.text = _allowed(_text_of(case.failing))
    _text(element, "system-out", _text_of(case.others))


def _text_of(items: Iterable[CheckedAlert]) -> str:
    return "\n\n".join(
        f"{title(item.alert)}\n{f'at {place(item.alert)}' if item.alert.source_line else 'in no file'}\n{message(item)}" for item in items
    )


def _text(parent: ElementTree.Element, tag: str, text: str) -> None:
    if text:
        ElementTree.SubElement(parent, tag).text = _allowed(text)


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("�", text)
