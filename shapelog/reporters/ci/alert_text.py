"""What several CI formats show of an alert: its title, its message and where it is. One line each, and harmless characters."""

from collections.abc import Iterable

from shapelog.check.check import CheckedAlert, CheckResult
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.report.alerts.alert import Alert, digest, exception_lines
from shapelog.report.repository_paths import SourceLine
from shapelog.rules import AlertKind, problem_rule
from shapelog.text import as_sentence, cut, one_line, plural, rank_list, some

# Shown for code that lies in no file, where a format asks for one: the name of the variable that the trace comes from.
NO_FILE = "TORCH_TRACE"
_LABELS = 12
_FACTS = 4


def title(alert: Alert) -> str:
    """``SL101 size-varies: Net.forward``."""
    return one_line(f"{alert.rule.code} {alert.rule.name}: {cut(alert.title, 80)}")


def sentence(alert: Alert) -> str:
    return cut(one_line(alert.sentence), 2000)


def help_text(alert: Alert) -> str:
    """What to do, with the hints of PyTorch where it gave any, and the addresses of its pages."""
    return " ".join((help_words(alert), *(f"See {item.url}" for item in pytorch_pages(alert))))


def help_words(alert: Alert) -> str:
    """The same without the addresses."""
    at_limit = alert.limit_message
    helps = (*alert.helps, *(at_limit.hints if at_limit else ()))
    return cut(one_line(f"Help: {' '.join(map(as_sentence, helps))}"), 2000)


def pytorch_pages(alert: Alert) -> tuple[CompilerMessage, ...]:
    """The messages that have a page of PyTorch's, each page once."""
    return tuple({item.url: item for item in alert.pytorch_messages if item.url}.values())


def pytorch_words(alert: Alert) -> tuple[str, ...]:
    """What PyTorch wrote about it, a line each: its explanations, and the exceptions that led to the one that the sentence names."""
    explained = (f"PyTorch: {text}" for text in dict.fromkeys(message.explanation for message in alert.pytorch_messages) if text)
    titles = " ".join(message.title for message in alert.messages)
    raised = (f"Raised: {text}" for text in exception_lines(alert.exceptions, titles))
    return tuple(cut(one_line(line), 1000) for line in (*explained, *raised))


def details(item: CheckedAlert) -> tuple[str, ...]:
    """What else is known, a line each: the facts that the sentence leaves out, PyTorch's words, the compiles and the baseline."""
    alert = item.alert
    # A recompile's sentence has its values, and each fact would repeat one of them.
    is_told = AlertKind.RECOMPILE in alert.kinds
    facts = [] if is_told else [one_line(fact) for fact in alert.facts if fact.partition("; ")[0] not in alert.sentence]
    words = pytorch_words(alert)
    facts = [fact for fact in facts if not (words and AlertKind.BREAK in alert.kinds)]  # the words of a break are its explanation
    lines = [f"- {cut(fact, 500)}" for fact in facts[:_FACTS]]
    if len(facts) > _FACTS:
        lines.append(f"- and {len(facts) - _FACTS} more")
    lines += [f"- {line}" for line in words]
    where = f"; {rank_list(alert.ranks)}" if alert.ranks else ""
    if alert.shown_labels:
        lines.append(f"Compile ids: {some(alert.shown_labels, _LABELS)}{where}")
    if item.known:
        lines.append(f"The baseline already contains {f'{item.known} of these {alert.count}' if item.new else 'this'}")
    return tuple(lines)


def message(item: CheckedAlert) -> str:
    """Sentence, advice and details; a line each."""
    return "\n".join((sentence(item.alert), help_text(item.alert), *details(item)))


def shown(alert: Alert) -> SourceLine | None:
    """The line to show it at: its own, else a related one that lies in the repository; None where neither does."""
    source_lines = (alert.source_line, *(source_line for source_line, _, _ in alert.related))
    return next((source_line for source_line in source_lines if source_line and source_line.is_inside), None)


def place(alert: Alert) -> str:
    """``app/model.py:12``; "" for code that lies in no file."""
    return cut(one_line(alert.source_line), 500) if alert.source_line else ""


def fingerprints(alerts: Iterable[CheckedAlert]) -> tuple[str, ...]:
    """Those of the alerts; one that came before is made another, because readers drop what seems to be there already."""
    seen: dict[str, int] = {}
    made = []
    for item in alerts:
        own = item.alert.fingerprint
        seen[own] = number = seen.get(own, 0) + 1
        made.append(own if number == 1 else digest(own, str(number)))
    return tuple(made)


def problems(checked: CheckResult) -> tuple[str, ...]:
    """What is wrong with the trace, a line each."""
    return tuple(
        cut(one_line(f"{problem_rule(item.code).code} {item.place}: {item.message}"), 1000) for item in checked.found.report.problems
    )


def left_out(items: Iterable[CheckedAlert]) -> str:
    """``2 errors, 1 note``; "" for none."""
    levels = [item.level for item in items]
    return ", ".join(plural(levels.count(level), level.value) for level in dict.fromkeys(levels))
