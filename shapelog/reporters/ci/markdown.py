"""Markdown, for a comment on a pull request or the summary of a CI step. The answer comes first, details are folded."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapelog.advice.paste_formats import as_python, effect_of, shown_shell, why_nothing, why_short
from shapelog.check.check import BudgetUse, CheckedAlert, CheckResult
from shapelog.check.policy import Metric
from shapelog.model.code_matching import Code
from shapelog.model.compile import Outcome
from shapelog.report.details.vllm_passes import vllm_words
from shapelog.report.report import FrameReport
from shapelog.report.steps.step import NextStep, StepKind, saving_words
from shapelog.reporters import Options
from shapelog.reporters.ci.alert_text import help_words, place, problems, pytorch_pages, pytorch_words
from shapelog.reporters.ci.markdown_escape import cell, code, escaped, fenced, folded, listed
from shapelog.rule_docs import link
from shapelog.rules import RULES, AlertKind
from shapelog.text import as_sentence, cut, file_name, measured, plural, seconds, some

_VALUES, _STEPS, _PLACES = 12, 6, 3
# GitHub refuses a comment of more than 65,536 characters.
_COMMENT = 65_000


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    """A part of the text: ``items`` between ``head`` and ``tail``, most important first. The highest ``rank`` goes first.

    ``noun`` names one item where they are plural.
    """

    rank: int
    head: str
    items: tuple[str, ...] = ()
    noun: str = ""
    tail: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(part for part in (self.head, "\n".join(self.items), self.tail) if part)


def render_check(checked: CheckResult, options: Options) -> bytes:
    """In the room that is given, else in that of a comment, unless all is asked for."""
    room = _COMMENT if options.room is None and options.limit else options.room
    return fitted([*_sections(checked)], room)


def fitted(sections: Sequence[MarkdownPart], room: int | None) -> bytes:
    """The text in at most ``room`` bytes: the least important items are left out first, with a note. Nothing where not even
    the first section fits.
    """
    kept, left = list(sections), dict[str, int]()
    note = ""
    for index in sorted(range(len(kept)), key=lambda index: -kept[index].rank):
        while room is not None and (over := len(_joined(kept, note)) - room) > 0 and kept[index].text:
            kept[index], gone = _less(kept[index], over)
            left[sections[index].noun] = left.get(sections[index].noun, 0) + gone
            note = "Left out for lack of space: " + ", ".join(plural(number, noun) for noun, number in left.items()) + "."
    whole = _joined(kept, note)
    return whole if room is None or (len(whole) <= room and kept[0].text) else b""


def _joined(sections: Iterable[MarkdownPart], note: str) -> bytes:
    texts = [text for text in (*(section.text for section in sections), note) if text]
    return ("\n\n".join(texts) + "\n").encode() if texts else b""


def _less(section: MarkdownPart, over: int) -> tuple[MarkdownPart, int]:
    """The section without as many of its last items as make up for ``over`` bytes, and their number; all of it with its last item."""
    items = list(section.items)
    while items and over > 0:
        over -= len(items.pop().encode()) + 1
    if not items:
        return replace(section, head="", items=(), tail=""), max(len(section.items), 1)
    return replace(section, items=tuple(items)), len(section.items) - len(items)


def _sections(checked: CheckResult) -> Iterator[MarkdownPart]:
    failing = [item for item in checked.alerts if item.fails]
    # The table has the budgets, so here is what they were spent on.
    failing = [item for item in failing if AlertKind.BUDGET not in item.alert.kinds] or failing
    others = [item for item in checked.alerts if not item.fails]
    yield MarkdownPart(0, "\n\n".join(_answer(checked)), noun="answer")
    steps = checked.next_steps
    beyond = tuple(map(_step, [step for step in steps if step.kind is not StepKind.MARK][:_STEPS]))
    answers = [*_what_helps(checked), *([MarkdownPart(2, "### Beyond marking", beyond, "step")] if beyond else [])]
    # What saves most comes first.
    yield from answers if steps and steps[0].kind is StepKind.MARK else reversed(answers)
    if failing:
        head = "### What fails the check" if checked.is_check else "### What can be avoided"
        yield MarkdownPart(2, head, tuple(map(_item, failing)), "finding")
    yield MarkdownPart(3, "\n".join(listed(note) for note in checked.notes), noun="note")
    yield MarkdownPart(5, "", tuple(_frames(checked)), "table of what changed")
    if others:
        head = "More findings that do not fail the check" if checked.is_check else "More findings"
        yield _folded(6, f"{head}: {len(others)}", map(_item, others), "other finding")
    if checked.fixed:
        words = f"In {cell(checked.baseline.name if checked.baseline else '')}, but not in this run: {len(checked.fixed)}"
        yield _folded(4, words, (listed(text) for text in checked.fixed), "fixed finding")
    faults = problems(checked)
    if faults:
        yield _folded(7, f"Problems in the trace: {len(faults)}", (listed(text) for text in faults), "problem in the trace")


def _folded(rank: int, summary: str, items: Iterable[str], noun: str) -> MarkdownPart:
    head, _, tail = folded(summary, "\0").partition("\n\n\0\n\n")
    return MarkdownPart(rank, head, tuple(items), noun, tail)


def _answer(checked: CheckResult) -> Iterator[str]:
    report = checked.found.report
    trace, summary = report.trace, report.summary
    subject, rest = checked.headline if checked.is_check else ("torch.compile", str(checked.headline))
    yield f"## {subject}: {escaped(cut(rest, 1000))}"
    version = trace.torch_version or trace.version_guess
    known = [f"Trace {code(cut(file_name(trace.name), 200))}", *([escaped(f"torch {version}")] if version else [])]
    if checked.baseline:
        known.append(f"compared with the baseline {code(checked.baseline.name)}")
    yield ", ".join(known)
    yield from map(escaped, trace.what_is_missing)
    rows = [
        ("Compilations", summary.compiles, measured(summary.succeeded_seconds)),
        ("Recompilations", summary.recompiles, measured(summary.recompile_seconds)),
        *((f"· {part.verdict.value}", part.count, measured(part.seconds)) for part in summary.parts),
        *([("Recompile limit hits", summary.limit_hits, measured(summary.limit_seconds))] if summary.limit_hits else []),
        *([("Failed compilations", summary.failures, measured(summary.failed_seconds))] if summary.failures else []),
    ]
    lines = ["| | Number | Time |", "|---|--:|--:|"]
    yield "\n".join([*lines, *(f"| {name} | {number} | {time} |" for name, number, time in rows)])
    if trace.vllm:
        yield f"vLLM: {escaped(vllm_words(trace.vllm))}"
    if checked.budgets:
        yield "\n".join(["| Budget | Spent | Allowed | |", "|---|--:|--:|---|", *map(_budget, checked.budgets)])


def _budget(item: BudgetUse) -> str:
    name = item.budget.metric.noun
    where = cell(cut(item.code.title, 200)) if item.code else "the whole run"
    written: Callable[[float], object] = seconds if item.budget.metric is Metric.AVOIDABLE else int
    state = "**exceeded**" if item.is_exceeded else "ok"
    return f"| {name} in {where} | {written(item.spent)} | {written(item.budget.most)} | {state} |"


def _what_helps(checked: CheckResult) -> Iterator[MarkdownPart]:
    report = checked.found.report
    advice = report.advice
    if advice is None or not report.recompiles:
        return
    if not advice.env and not advice.suggestions:
        yield MarkdownPart(1, f"Nothing to mark as dynamic: {escaped(why_nothing(advice))}.", noun="line to set")
        return
    words = f"Mark {advice.what_to_mark} as dynamic: {escaped(effect_of(advice))}."
    # A torch without a list of dynamic sources has calls to mark them.
    block = fenced(shown_shell(advice), "shell") if advice.env else fenced(as_python(advice), "python")
    explained = f"\n\n{escaped(as_sentence(why_short(advice)))}" if why_short(advice) else ""
    yield MarkdownPart(1, f"### What to set\n\n{words}\n\n{block}{explained}", noun="line to set")


def _step(step: NextStep) -> str:
    lines = [listed(cut(step.title, 1000))]
    if saved := saving_words(step.saving):
        lines.append(f"  - {escaped(saved[:1].upper() + saved[1:])}, {step.confidence.level} confidence")
    lines += [f"  {listed(cut(hint, 1000))}" for hint in step.hints[:2] or filter(None, [step.remedy])]
    lines += [f"  - {code(text)}" for text in step.text]
    for item in step.places[:_PLACES]:
        lines.append(f"  - {code(item.line)}" + (f": {code(cut(item.code, 500))}" if item.code else ""))
    if step.url:
        lines.append(f"  - [PyTorch]({step.url})")
    return "\n".join(lines)


def _item(item: CheckedAlert) -> str:
    alert = item.alert
    where = f" {code(place(alert))}" if alert.source_line else ""
    rule = f"[{alert.rule.code} {alert.rule.name}]({link(alert.rule)})"
    lines = [f"- {rule}{where}: {escaped(cut(alert.sentence, 2000))}", f"  {listed(help_words(alert))}"]
    lines += [f"  {listed(line)}" for line in pytorch_words(alert)]
    lines += [f"  - [{page.number or 'PyTorch'}]({page.url})" for page in pytorch_pages(alert)]
    if alert.snippet:
        lines.insert(1, f"  - The line: {code(cut(alert.snippet, 500))}")
    if item.known:
        lines.append(f"  - The baseline already contains {f'{item.known} of these {alert.count}' if item.new else 'this'}")
    return "\n".join(lines)


def _frames(checked: CheckResult) -> Iterator[str]:
    """For each code that recompiled the properties that varied, with their values in order; most important codes first."""
    report = checked.found.report
    by_frame = {frame: found for found in checked.found.codes for frame in found.frames}
    grouped: dict[Code, list[FrameReport]] = {}
    for item in report.frames:
        if item.axes:
            grouped.setdefault(by_frame[item.frame], []).append(item)
    for found, items in grouped.items():
        yield _varied(checked, found, items)


def _varied(checked: CheckResult, found: Code, items: list[FrameReport]) -> str:
    recompiles = sum(entry.compile.outcome is Outcome.COMPILED for item in items for entry in item.recompiles)
    source_line = checked.found.repository.source_line(found.first.file, found.first.line)
    where = f" {cell(cut(str(source_line), 300))}" if source_line else ""
    spent = sum(item.frame.seconds for item in items)
    cost = f"{seconds(spent)} of compile time in all" if spent else "time unknown"
    values: dict[str, dict[str, None]] = {}
    rules: dict[str, dict[str, None]] = {}
    for axis in (axis for item in items for axis in item.axes):
        values.setdefault(axis.name, {}).update(dict.fromkeys(axis.values))
        rules.setdefault(axis.name, {}).update(dict.fromkeys(rule.code for rule in axis.rules))
    lines = [f"- {code(cut(name, 300))}: {_values(values[name])}{_codes(rules[name])}" for name in values]
    words = f"What changed in {cell(cut(found.title, 200))}{where}: {plural(recompiles, 'recompilation')}, {cost}"
    return folded(words, "\n".join(lines)) + "\n"


def _values(values: Iterable[str]) -> str:
    return some([code(cut(value, 100)) or "(nothing)" for value in values], _VALUES, " ")


def _codes(codes: Iterable[str]) -> str:
    named = [f"[{name}]({link(RULES[name])})" for name in codes]
    return f" ({', '.join(named)})" if named else ""
