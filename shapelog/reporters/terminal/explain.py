"""The explanation of one compile in a terminal."""

from collections.abc import Sequence

from rich.text import Text

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.properties import Kind, is_address
from shapelog.recompiles.causes import Cause, EntryDifference
from shapelog.recompiles.recompile import Recompile
from shapelog.report.explain_compile import CompileExplanation
from shapelog.report.phases import phase_words
from shapelog.reporters import Options
from shapelog.reporters.terminal.diagnostic import id_words, pytorch_message
from shapelog.reporters.terminal.requirements import requirements
from shapelog.reporters.terminal.text_page import COLORS, TextPage, first
from shapelog.rules import Verdict
from shapelog.text import measured, one_line, plural, plural_noun, shorten, some

# How many entries of several lines a list shows, and how many values a line.
_MOST, _VALUES = 6, 8
_EPHEMERAL = "<ephemeral: "
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def render_explanation(explanation: CompileExplanation, options: Options) -> bytes:
    page = TextPage(options, "--verbose")
    _head(page, explanation)
    _why(page, explanation)
    if explanation.nearest and not explanation.compile.is_refused:  # a refused call has neither guards nor a graph
        _guards(page, explanation, explanation.nearest)
        _graph(page, explanation, options)
    _symbols(page, explanation)
    if explanation.recompile is None or page.verbose:
        requirements(page, explanation.compile, "Guards")
    if explanation.compile.reasons:
        page.heading("In PyTorch's words", "the first failed guard of each cache entry")
    advised: set[str] = {""}  # a hint that is the same for each entry is shown once
    for reason in page.listed(explanation.compile.reasons, "reason"):
        text, hint, advice = " ".join(reason.text.split()).partition(" (HINT: ")
        entry = explanation.compile.reference_of(reason.entry)
        page.line((f"{entry}: ", "bold"), (text if advice in advised else text + hint + advice) or "(blank)", indent=2)
        advised.add(advice)
    return page.bytes()


def _head(page: TextPage, explanation: CompileExplanation) -> None:
    compile, frame = explanation.compile, explanation.frame
    where = f"{frame.file}:{frame.line}" if frame.file else ""
    rank = (f"  rank {frame.rank}", "dim") if frame.rank is not None else ("", "")
    page.line((id_words(compile), "bold"), "  ", (frame.title_of([compile]), "bold"), f"  {where}".rstrip(), rank)
    called = frame.caller(compile)
    if called:
        page.line((f"called at {called.file}:{called.line}  {called.code}".rstrip(), "dim"), indent=2)
    before = frame.caller(explanation.nearest) if explanation.nearest else None
    if before and (called is None or (before.file, before.line) != (called.file, called.line)):
        page.line((f"the nearest cache entry was compiled at {before.file}:{before.line}  {before.code}", "dim"), indent=2)
    metrics = compile.metrics
    parts = [
        "captured" if compile.is_capture else "refused" if compile.outcome is Outcome.LIMIT else compile.outcome.value,
        *filter(None, (measured(compile.seconds),)),
        *_dynamism(compile),
    ]
    if compile.attempts > 1:
        parts.append(f"{compile.attempts} attempts")
    if metrics.op_count is not None:
        parts.append(plural(metrics.op_count, "operation"))
    if metrics.guard_count is not None:
        parts.append(plural(metrics.guard_count, "guard"))
    page.line(" · ".join(parts), indent=2)
    if also := explanation.others_with_id:
        page.line(
            (f"{some(also)} {'have' if also[1:] else 'has'} this id as well: ids started again, as after torch._dynamo.reset()", "dim"),
            indent=2,
        )
    if explanation.recompile is None and compile.measured_seconds:
        page.line(("time: ", "dim"), phase_words(compile.phases), indent=2)
    is_failed = compile.outcome in (Outcome.FAILED, Outcome.LIMIT)
    failure = compile.failure
    same = [item for item in compile.breaks if is_failed and _is_same(item.message, failure)]  # the failure itself
    for item in page.listed([item for item in compile.breaks if item not in same], "graph break"):
        page.blank()
        page.line(("graph break", "bold yellow"), (f": {item.reason}", "bold"))
        pytorch_message(page, item.message, item.place)
    if is_failed:
        page.blank()
        page.line(("failed" if compile.outcome is Outcome.FAILED else "refused", "bold red"), (f": {failure.title}", "bold"))
        place = failure.stack[-1] if failure.stack else same[0].place if same else None
        pytorch_message(page, failure, place, compile.exceptions)


def _is_same(one: CompilerMessage, other: CompilerMessage) -> bool:
    """Whether the text is the same, whatever part of the stack each has."""
    return one._replace(stack=()) == other._replace(stack=())


def _dynamism(compile: Compile) -> tuple[str, ...]:
    """Whether anything in it is symbolic; () where nothing recorded shows that."""
    is_known = compile.is_dynamic or compile.graph_span or compile.guards_span or compile.inputs
    return (("dynamic" if compile.is_dynamic else "static"),) if is_known else ()


def _why(page: TextPage, explanation: CompileExplanation) -> None:
    item = explanation.recompile
    if explanation.compile.is_capture:
        page.heading("Why", "in PyTorch's words; compiled autograd captures a graph for each new backward pass")
        for reason in explanation.compile.capture_reasons or ("not recorded: set TORCH_LOGS=compiled_autograd_verbose",):
            page.line(reason, indent=2)
        return
    if item is None and explanation.compile.is_refused:
        page.heading("Why", "the cache was full; nothing of its entries is recorded")
        return
    if item is None:
        page.heading("First compilation of this code", "no earlier cache entry to compare with")
        return
    if item.nearest is None:
        _why_without_entry(page, explanation, item)
    else:
        _why_against_nearest(page, explanation, item, item.nearest)


def _why_without_entry(page: TextPage, explanation: CompileExplanation, item: Recompile) -> None:
    """What is known of a recompile whose earlier entries are not recorded."""
    page.heading("Why", item.verdict.words)
    for cause in page.listed(item.causes, "cause", most=_MOST):
        _cause(page, cause)
    if item.unexplained_because:
        page.line(item.why_not_markable if item.blocking_rule else item.unexplained_because, indent=2)
    page.remedy(explanation.remedies.of_recompile(item), 2, item.codes)


def _why_against_nearest(page: TextPage, explanation: CompileExplanation, item: Recompile, nearest: Compile) -> None:
    """What separates a recompile from the nearest entry, what to do about it, and what separates it from the others."""
    checked = (
        f"the nearest of {plural(item.entries_checked, 'earlier cache entry')}"
        if item.entries_checked > 1
        else "the only earlier cache entry"
    )
    page.heading(f"Why: compared with {item.compile.reference_of(nearest.label)}", checked)
    is_probable = item.verdict is Verdict.MARKING and not (item.compile.graph_span or item.compile.guards_span)  # nothing shows its code
    served = f": this call could reuse the graph of {item.served_by.reference}" if item.served_by and not is_probable else ""
    page.line((f"{'probably ' if is_probable else ''}{item.verdict.words}", COLORS[item.verdict]), served, indent=2)
    shown = first(item.causes, min(page.limit, _MOST))
    is_enough = item.verdict is Verdict.MARKING  # then the marks against all causes are one remedy
    remedies = [explanation.remedies.of((item,), (cause,)) for cause in shown]
    for index, cause in enumerate(shown):
        _cause(page, cause)
        if not is_enough and remedies[index] not in remedies[index + 1 :]:
            page.remedy(remedies[index], 4, cause.codes)
    page.more(len(item.causes) - len(shown), "cause", 2)
    whole = explanation.remedies.of_recompile(item)
    is_shown = any(whole.rule == each.rule and whole.text.startswith(each.text) for each in remedies)  # the second is at its cause
    if is_enough or not is_shown:  # that of an error is about none of the causes
        page.remedy(whole, 2, item.codes)
    if item.why_not_markable:
        page.line(item.why_not_markable, indent=2)
    if item.consequences:
        page.line(("as a result: ", "dim"), shorten(", ".join(dict.fromkeys(item.consequences)), page.width * 2), indent=2)
    for others in page.listed(list(grouped(explanation.others, _properties).values()), "entry", most=_MOST):
        labels = some([other.entry.reference for other in others], len(others) if page.verbose else _VALUES, " ")
        named = "" if explanation.compile.metrics.assumes_entries else f" {labels}"
        page.line((f"other {plural_noun(len(others), 'entry')}{named}: ", "dim"), _differences(others), indent=2)


def _properties(other: EntryDifference) -> object:
    """The same for entries from which a call differs in the same properties; their causes where these are not known by name."""
    return tuple((cause.codes, cause.prop.kind, cause.axis or cause.sentence) for cause in other.causes) or other


def _differences(others: list[EntryDifference]) -> str:
    """What separates a call from these entries."""
    first = others[0]
    if len(others) == 1 or not all(cause.before for other in others for cause in other.causes[:2]):
        shown = [cause.sentence for cause in first.causes[:2]]
    else:
        values = [[other.causes[place].before for other in others] for place in range(len(first.causes[:2]))]
        shown = [
            _of_each(cause, of_entries) if len(set(of_entries)) > 1 else cause.sentence
            for cause, of_entries in zip(first.causes, values, strict=False)
        ]
    if len(first.causes) > 2:
        shown.append(f"and {len(first.causes) - 2} more ({', '.join(dict.fromkeys(cause.codes[0] for cause in first.causes[2:]))})")
    return "; ".join(shown) or "the trace does not record why"


def _of_each(cause: Cause, of_entries: Sequence[str]) -> str:
    """What the entries hold of a property, or require of it."""
    what = "they require" if cause.prop.kind is Kind.SHAPE_GUARD else f"{cause.axis} was"
    return f"{what} {some(of_entries, _VALUES)}"


def _cause(page: TextPage, cause: Cause) -> None:
    page.line((f"{' '.join(cause.codes)} {cause.rule.name}", "yellow"), f": {cause.sentence}", indent=2)
    before, after = ("" if is_address(cause.prop, value) else value for value in (cause.before, cause.after))
    if before != after:
        change = f"{cause.axis}: {before or '?'} → {after or '?'}"
        reported = "reported by PyTorch" if cause.named_by_pytorch else "not reported by PyTorch"
        page.line((change, "cyan"), (f"  ({reported})", "dim"), indent=4)
    if cause.place:
        page.line((f"at {cause.place}  {cause.place.code}", "dim"), indent=4)


def _guards(page: TextPage, explanation: CompileExplanation, nearest: Compile) -> None:
    before, after = nearest.reference, explanation.compile.reference
    if nearest.guards is None or explanation.compile.guards is None:
        page.heading("Guards", "not recorded")
        return
    page.heading("Guards that differ", f"{before} → {after}")
    for change in page.listed(explanation.guard_changes):
        name = f"{change.source.display_name} {change.prop}" if change.source else change.prop
        page.line(f"{name}: ", (change.before or "not checked", "red"), " → ", (change.after or "not checked", "green"), indent=2)
    if not explanation.guard_changes:
        objects = "only object identities differ (same types)" if explanation.has_other_objects else "none of those that both check"
        page.line((objects, "dim"), indent=2)
    sides = (explanation.guards_only_before, before), (explanation.guards_only_after, after)
    only = [f"{plural(count, 'source')} guarded in {label} only" for count, label in sides if count]
    if only:
        page.line((", ".join(only), "dim"), indent=2)


def _graph(page: TextPage, explanation: CompileExplanation, options: Options) -> None:
    lines = explanation.graph_diff[2:]
    difference = "different" if lines else "the same" if explanation.has_graphs else "not recorded"
    page.heading("Graph", "similar: differs only in sizes or constants" if explanation.is_similar else difference)
    shown = lines[: 2 * options.limit] if options.limit else lines
    for line in shown:
        page.console.print(Text(f"  {shorten(one_line(line), page.width - 2)}", style=_DIFF_STYLES.get(line[:1], "dim")), soft_wrap=True)
    if len(shown) < len(lines):
        page.line((f"… {len(lines) - len(shown)} more lines, shown with --verbose", "dim"), indent=2)
    if explanation.group and len(explanation.group.members) > 1:
        page.line("similar graphs: " + page.few([member.reference for member in explanation.group.members], " "), indent=2)


def _symbols(page: TextPage, explanation: CompileExplanation) -> None:
    compile = explanation.compile
    # What PyTorch makes up while it traces has no name in the code.
    symbols = [symbol for symbol in compile.symbols if page.verbose or not (symbol.source and _EPHEMERAL in symbol.source)]
    if not symbols and not explanation.newly_dynamic:
        return
    page.heading("Symbols")
    for symbol in page.listed(symbols, "symbol"):
        source = symbol.source.display_name if symbol.source else "unbacked, source not recorded"
        value = f", was {symbol.hint}" if symbol.hint else ""
        limits = f", range {symbol.range}" if symbol.range else ""
        page.line((symbol.name, "cyan"), f" = {source}{value}{limits}", indent=2)
    for event in page.listed(explanation.newly_dynamic, ""):
        where = event.source.display_name + (f" dim {event.dim}" if event.dim.isdigit() else "")
        page.line(("became dynamic automatically: ", "dim"), f"{where} ({event.reason}: {event.cached} → {event.new})", indent=2)
    for item in page.listed(compile.specializations, "specialization"):
        names = page.few([source.display_name for source in item.sources]) or item.symbol
        frames = item.user_stack.frames
        where = f" at {frames[-1].file}:{frames[-1].line}  {frames[-1].code}" if frames else ""
        page.line(("specialized: ", "magenta"), f"{names} to {item.value}{where}", indent=2)
