"""The answers of the tools that read traces: report, explain, suggest, compare and rules. Nothing here writes or runs anything."""

from collections.abc import Iterable, Mapping, Sequence

from shapelog.advice.advise import Advice, advise
from shapelog.advice.paste_formats import as_python, effect_of, shown_shell, why_nothing
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.suggestions import Suggestion
from shapelog.agents import answers
from shapelog.agents.bounds import SENTENCE, first, fitting, pasted, short
from shapelog.api import load
from shapelog.errors import ShapelogError
from shapelog.model.compile import Compile
from shapelog.model.ids import TorchVersion, parse_version
from shapelog.model.trace import Trace
from shapelog.reading.records import StackFrame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import explain_trace
from shapelog.report.alerts.alert import Alert
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.compare import Comparison, compare
from shapelog.report.explain_compile import CompileExplanation, GuardChange, costliest_first, explain_compile, explanation_of, some_ids
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import NextStep, saving_words
from shapelog.rule_docs import Entry, entries, entry
from shapelog.rules import Rule
from shapelog.text import measured, plural, plural_noun, some, taking

# The most ids, lines of code, hints and values that one entry names.
_NAMED = 4


def report(trace: str, run: str = "") -> answers.ReportAnswer:
    """What a run recompiled, why, and what to do. Raises ShapelogError where there is no trace."""
    found = analyze(_load(trace, run))
    alerts = collect_alerts(found, Repository())
    steps = next_steps(alerts)
    return fitting(lambda most: _report(found, steps, alerts.alerts, most))


def _load(trace: str, run: str = "") -> Trace:
    if trace == "-":
        raise ShapelogError("-: standard input belongs to the agent; give a file, a directory or a URL")
    return load(trace, run=run)


def _report(found: Report, steps: Sequence[NextStep], alerts: Sequence[Alert], most: int) -> answers.ReportAnswer:
    totals, names = found.summary, _unnumbered(found.trace)
    recompiled = f"{plural(totals.recompiles, 'recompilation')}{taking(totals.recompile_seconds)}"
    return answers.ReportAnswer(
        trace=short(found.trace.name),
        torch=short(found.trace.torch_version),
        summary=found.trace.why_no_frames or f"{totals.compiled}, including {recompiled}",
        verdicts=[f"{part.count} {found.words_of(part.verdict)}{taking(part.seconds)}" for part in totals.parts],
        steps=[_step(item, names, most) for item in steps[:most]],
        diagnostics=[_diagnostic(item, names, most) for item in alerts[:most]],
        not_recorded=[short(text) for text in first(found.trace.what_is_missing, most)],
        problems=[short(item.message) for item in [item for item in found.problems if item.severity != "info"][:most]],
        not_shown=_not_shown(most, steps=len(steps), diagnostics=len(alerts)),
    )


def _step(item: NextStep, names: Mapping[str, str], most: int) -> answers.RankedStep:
    return answers.RankedStep(
        title=short(item.title),
        kind=item.kind.value,
        saves=saving_words(item.saving).removeprefix("saves "),
        confidence=f"{item.confidence.level}: {short(item.confidence.reason)}",
        rules=[rule.code for rule in item.rules],
        type_this=pasted(item.text, "shapelog suggest-dynamic TRACE --format shell"),
        from_pytorch=[short(text) for text in first((item.explanation, *item.hints), _NAMED) if text],
        places=[f"{short(str(place.line))}  {short(place.code, 120)}".rstrip() for place in item.places[: min(_NAMED, most)]],
        compilations=_ids(item.labels, names),
    )


def _diagnostic(item: Alert, names: Mapping[str, str], most: int) -> answers.Diagnostic:
    return answers.Diagnostic(
        level=item.level.value,
        rule=f"{item.rule.code} {item.rule.name}",
        sentence=short(item.sentence),
        place=short(str(item.source_line)) if item.source_line else "",
        code=short(item.snippet, 160),
        helps=[short(text) for text in item.helps[: min(_NAMED, most)]],
        compilations=_ids(item.labels, names),
    )


def explain(trace: str, compilation: str = "", rank: int | None = None, run: str = "") -> answers.ExplainAnswer:
    """Why one compilation was needed; without an id, the most expensive recompilation, or compilation if nothing recompiled.

    Raises ShapelogError if there is none.
    """
    loaded = _load(trace, run)
    if compilation:
        found, others = explain_compile(loaded, compilation, rank), []
    elif loaded.why_no_frames:
        raise ShapelogError(f"{loaded.name}: {loaded.why_no_frames}")
    else:
        explained = explain_trace(loaded)
        costliest = costliest_first(explained, rank)
        if not costliest:
            raise ShapelogError(f"{loaded.name}: nothing recompiled; ids of compilations: {some_ids(loaded.compiles)}")
        found = explanation_of(explained, advise(explained).remedies, *costliest[0])
        others = [compile.label for _, compile in costliest[1:]]
    return fitting(lambda most: _explanation(found, others, most))


def _explanation(found: CompileExplanation, others: Sequence[str], most: int) -> answers.ExplainAnswer:
    recompile = found.recompile
    causes = recompile.causes if recompile else ()
    return answers.ExplainAnswer(
        compilation=_words(found.compile),
        function=short(found.frame.title_of([found.compile])),
        called_at=_line(found.frame.caller(found.compile)),
        outcome=found.compile.outcome.value,
        seconds=_seconds(found.compile.seconds),
        compared_with=found.compile.reference_of(found.nearest.label) if found.nearest else "",
        verdict=recompile.verdict.words if recompile else "the first compilation of this function",
        causes=[_cause(item, found) for item in causes[:most]],
        remedy=short(found.remedies.of_recompile(recompile).text) if recompile else "",
        guards=[_guard(item) for item in found.guard_changes[:most]],
        same_graph=found.is_similar,
        reasons=[short(f"{found.compile.reference_of(item.entry)}: {item.text}") for item in found.compile.reasons[:most]],
        other_compilations=_ids(others, _unnumbered(found.trace)),
    )


def _cause(item: Cause, found: CompileExplanation) -> answers.RecompilationCause:
    assert found.recompile is not None
    return answers.RecompilationCause(
        rule=" ".join((*item.codes, item.rule.name)),
        sentence=short(item.sentence),
        place=short(str(item.place)) if item.place else "",
        code=short(item.place.code, 160) if item.place else "",
        remedy=short(found.remedies.of((found.recompile,), (item,)).text),
    )


def _guard(item: GuardChange) -> str:
    subject = f"{item.source} {item.prop}".strip()
    return short(f"{subject}: {item.before or 'not checked'} -> {item.after or 'not checked'}")


def suggest(trace: str, torch_version: str = "", run: str = "") -> answers.SuggestAnswer:
    """What to mark as dynamic. Raises ShapelogError for what is no trace or no version of torch."""
    loaded = _load(trace, run)
    advice, names = advise(explain_trace(loaded), _version(torch_version)), _unnumbered(loaded)
    return fitting(lambda most: _suggestions(trace, advice, names, most))


def _version(text: str) -> TorchVersion | None:
    version = parse_version(text) if text else None
    if text and version is None:
        raise ShapelogError(f"torch_version {text!r}: not a version such as 2.13")
    return version


def _suggestions(trace: str, advice: Advice, names: Mapping[str, str], most: int) -> answers.SuggestAnswer:
    after = advice.after
    return answers.SuggestAnswer(
        trace=short(trace),
        torch=str(advice.version),
        shell=pasted([shown_shell(advice)] if advice.env else [], "shapelog suggest-dynamic TRACE --format shell"),
        python=pasted(as_python(advice).splitlines() if advice.suggestions else [], "shapelog suggest-dynamic TRACE --format python"),
        effect=effect_of(advice) if advice.suggestions else "",
        compilations_before=advice.before.compiles,
        compilations_after=f"{after.compiles} to {after.compiles + after.spread}" if after.spread else str(after.compiles),
        seconds_before=_seconds(advice.before.seconds.least),
        seconds_after=str(after.seconds) if advice.before.seconds.least else "",
        suggestions=[_suggestion(item, names, most) for item in advice.suggestions[:most]],
        not_fixed=[_remaining(item, names) for item in advice.remaining[:most]],
        caveats=[short(text) for text in advice.caveats[:most]],
        nothing_because=why_nothing(advice),
        not_shown=_not_shown(most, suggestions=len(advice.suggestions), not_fixed=len(advice.remaining), caveats=len(advice.caveats)),
    )


def _suggestion(item: Suggestion, names: Mapping[str, str], most: int) -> answers.InputToMark:
    dims = f" {plural_noun(len(item.dims), 'dim')} {', '.join(map(str, item.dims))}" if item.dims else ""
    return answers.InputToMark(
        id=item.id,
        mark=short(f"{item.name}{dims}"),
        values_seen=[
            short(f"{seen.name}: {some([str(value) for _, value in seen.values], 6)}", 120) for seen in item.seen[:most] if seen.values
        ],
        needed_for=_ids(item.gone, names),
        seconds=_seconds(item.seconds),
        confidence=item.confidence,
        because=short(item.confidence_reason),
        caveats=[short(text) for text in item.caveats[: min(_NAMED, most)]],
        place=_line(item.place),
        python=pasted(item.python, "shapelog suggest-dynamic TRACE --format python"),
    )


def _remaining(item: Remaining, names: Mapping[str, str]) -> answers.RemainingRecompilations:
    return answers.RemainingRecompilations(
        function=short(item.frame.title_of(item.compiles)),
        rule=f"{item.rule.code} {item.rule.name}",
        sentence=short(item.sentence),
        remedy=short(item.remedy),
        compilations=_ids([compile.label for compile in item.compiles], names),
        seconds=_seconds(item.seconds),
    )


def _seconds(found: float) -> float | None:
    """To hundredths; None for a time that is not known. No measured time is exactly 0."""
    return round(found, 2) if found else None


def compared(before: str, after: str) -> answers.CompareAnswer:
    """What changed from one trace to another. Raises ShapelogError where one of them is no trace."""
    comparison = compare(analyze(_load(before)), analyze(_load(after)))
    return fitting(lambda most: _comparison(comparison, most))


def _comparison(found: Comparison, most: int) -> answers.CompareAnswer:
    was, now = found.was, found.now
    changed = [item for item in found.frames if item.is_changed]
    causes = [item for item in found.causes if item.before != item.after]
    unrecorded_by_old = (("limit hits", was.limit_hits, now.limit_hits), ("graph breaks", was.breaks, now.breaks))
    one, other = found.exports.was, found.exports.now
    of_exports = (
        ("exports", one.number, other.number),
        ("failed exports", one.failed, other.failed),
        ("problems in exports", one.problems, other.problems),
    )
    return answers.CompareAnswer(
        outcome=found.outcome.value,
        headline=short(str(found.headline)),
        totals=[
            f"compilations {was.compiles} -> {now.compiles}",
            f"recompilations {was.recompiles} -> {now.recompiles}",
            *(f"{name} {one} -> {other}" for name, one, other in unrecorded_by_old if None not in (one, other)),
            f"failures {was.failures} -> {now.failures}",
            *(f"{name} {one} -> {other}" for name, one, other in of_exports if one or other),
            f"seconds {measured(was.seconds) or 'unknown'} -> {measured(now.seconds) or 'unknown'}",
        ],
        changes=[answers.ChangedFunction(short(item.title), item.effect.value, short(item.verdict)) for item in changed[:most]],
        causes=[short(f"{item.code} {item.axis}: {item.before} -> {item.after}; {item.remedy.text}") for item in causes[:most]],
        notes=[short(text) for text in found.notes[:most]],
        not_shown=_not_shown(most, changes=len(changed), causes=len(causes), notes=len(found.notes)),
    )


def rules(code: str = "") -> answers.RulesAnswer:
    """The list of rules or, with a code or a name, one rule in full. Raises ShapelogError where there is no such rule."""
    if code:
        found = entry(code)
        return answers.RulesAnswer([_rule(found.rule, SENTENCE)], _page(found))
    return fitting(lambda most: answers.RulesAnswer([_rule(item.rule, 40 * most) for item in entries()], ""))


def _rule(rule: Rule, most: int) -> str:
    return f"{rule.code} {rule.name} ({rule.verdict.value}): {short(rule.remedy, most)}"


def _page(found: Entry) -> str:
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in found.sections)


def _words(compile: Compile) -> str:
    """The id of a compilation; of one in a text log without ids also what ``explain`` takes for it."""
    return compile.shown_label or f"{compile.reference} (the log has no id; {compile.label} in calls of explain)"


def _unnumbered(trace: Trace) -> dict[str, str]:
    """The words for each label that a text log without ids does not have."""
    return {compile.label: _words(compile) for compile in trace.compiles if not compile.shown_label} if trace.is_text else {}


def _ids(labels: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """The first of them, by their words where the log has no ids, and how many more there are."""
    found = [names.get(label, label) for label in labels]
    return found[:8] + ([f"and {len(found) - 8} more"] if len(found) > 8 else [])


def _line(place: StackFrame | None) -> str:
    return short(f"{place.file}:{place.line}  {place.code}".rstrip()) if place else ""


def _not_shown(most: int, **lengths: int) -> str:
    """``3 steps, 12 diagnostics``; "" where everything is shown."""
    return ", ".join(f"{length - most} {name.replace('_', ' ')}" for name, length in lengths.items() if length > most)
