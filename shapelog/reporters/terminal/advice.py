"""The advice in a terminal: what to set, what it saves, what it will not fix, and the alternatives."""

from shapelog.advice.advise import Advice
from shapelog.advice.alike_suggestions import FEWEST_ALIKE, alike
from shapelog.advice.minimal_marks import harms
from shapelog.advice.paste_formats import cost_of, effect_of, shown_shell, where_to_get, why_nothing, why_short
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.suggestions import Suggestion
from shapelog.report.next_steps import AdvisedRun
from shapelog.report.steps.step import StepKind
from shapelog.reporters import Options
from shapelog.reporters.terminal.next_steps import next_steps_list, start_here
from shapelog.reporters.terminal.text_page import COLORS, CONFIDENCE_COLORS, LONGEST_COPIED, TextPage
from shapelog.text import compilations, measured, plural, plural_noun, some, taking

# Of longer code the first lines are shown.
_LINES = 5


# The heading of the steps below the advice on marks.
_BEYOND_MARKING = "Beyond marking"


def render_advised_run(run: AdvisedRun, options: Options) -> bytes:
    """The advice, and what would help in addition to marking: below the first line where nothing is to mark, else after the advice.

    Where another step than the marks is the first of the report, it is named on top.
    """
    page = TextPage(options)
    others = tuple(step for step in run.steps if step.kind is not StepKind.MARK)
    if not run.advice.suggestions:
        headline(page, run.advice)
        next_steps_list(page, others)
        _details(page, run.advice)
        return page.bytes()
    if others and run.steps[0] is others[0]:
        start_here(page, others[0], f"see {_BEYOND_MARKING} below")
        page.blank()
    _advice(page, run.advice)
    next_steps_list(page, others, title=_BEYOND_MARKING)
    return page.bytes()


def _advice(page: TextPage, advice: Advice) -> None:
    headline(page, advice)
    if advice.suggestions:
        page.blank()
        what_to_set(page, advice)
        _suggestions(page, advice)
    _details(page, advice)


def _details(page: TextPage, advice: Advice) -> None:
    """What the marks do not reach, and what else there is."""
    if advice.caveats:
        page.heading("Caveats")
        for caveat in page.listed(advice.caveats, "caveat"):
            page.line(caveat, indent=2)
    _left_out(page, advice)
    _remaining(page, advice)
    _pgo(page, advice)
    _alternatives(page, advice)
    page.explain_restarted_ids()
    for text in advice.what_is_missing:
        page.blank()
        page.line((text, "dim"))


def headline(page: TextPage, advice: Advice, indent: int = 0) -> None:
    """How many compilations go away, in one line, or why there is nothing to mark."""
    if not advice.suggestions:
        page.line(("Nothing to mark as dynamic", "bold"), f": {advice.why_empty}.", indent=indent)
        return
    page.line((f"Mark {advice.what_to_mark} as dynamic", "bold"), ": ", (effect_of(advice), "green"), indent=indent)


def what_to_set(page: TextPage, advice: Advice, indent: int = 2) -> None:
    """The line to paste, never folded by shapelog: a terminal that folds it still copies it as one."""
    shell = shown_shell(advice)
    if shell and len(shell) <= LONGEST_COPIED:
        page.raw(shell, indent=indent, style="cyan")
        if explained := why_short(advice) or advice.how_entries_are_written:
            page.line((explained, "dim"), indent=indent)
    else:
        page.line(where_to_get(advice) if shell else why_nothing(advice), indent=indent)


def _suggestions(page: TextPage, advice: Advice) -> None:
    groups = _together(advice.suggestions)
    page.heading("Suggestions", advice.how_savings_add_up if len(groups) > 1 else "")
    shown: set[str] = set()  # what holds for several suggestions is there once
    for group in page.listed(groups, "suggestion"):
        _suggestion(page, group, advice.is_saved_by_several, shown)


def _together(suggestions: tuple[Suggestion, ...]) -> list[list[Suggestion]]:
    """Those that save the same compiles, and only together: each would bring all of them back."""
    groups: dict[tuple[object, ...], list[Suggestion]] = {}
    for item in suggestions:
        groups.setdefault((item.gone, item.frames, item.confidence), []).append(item)
    return list(groups.values())


def _suggestion(page: TextPage, group: list[Suggestion], is_saved_by_several: bool, shown: set[str]) -> None:
    item = group[0]
    codes = dict.fromkeys(code for member in group for code in member.codes)
    removes = "together they remove " if len(group) > 1 else "removes "
    page.line(
        (f"{item.id}{f'-{group[-1].id}' if len(group) > 1 else ''}  ", "dim"),
        "needed for " if is_saved_by_several else removes,
        (f"{item.saved}{taking(item.seconds)}", "green"),
        "  ",
        (f"{item.confidence} confidence", CONFIDENCE_COLORS[item.confidence]),
        (f"  {' '.join(codes)}" if codes else "", "dim"),
        indent=2,
    )
    caveats: dict[str, None] = {}
    for kind in page.listed(alike(group, fewest=len(group) + 1 if page.verbose else FEWEST_ALIKE), "source", 6):
        first = kind.members[0]
        number = f"  {kind.how_many}," if kind.how_many else " "
        page.line((kind.name, "bold"), f"{number} {_dims(first)}  {first.rationale}", indent=6)
        caveats |= dict.fromkeys(kind.caveats)
    named = (f"{item.title_in(frame)}{f' (frame {frame.shown_label})' if frame.shown_label else ''}" for frame in item.frames)
    where = page.few(list(dict.fromkeys(named)))
    called = f", called at {item.place.file.rsplit('/', 1)[-1]}:{item.place.line}  {item.place.code}".rstrip() if item.place else ""
    page.line((f"in {where}{called}", "dim"), indent=6)
    if page.verbose:
        page.line((f"removes {' '.join(item.gone)}; {item.confidence_reason}", "dim"), indent=6)
    if page.verbose or not item.entries:  # without a list, these lines are the advice
        for line in page.listed([line for member in group for line in member.python], "line", 6):
            page.raw(line, indent=6, style="cyan")
    new = [caveat for caveat in caveats if caveat not in shown]
    shown.update(new)
    for caveat in page.listed(new, "caveat", 6):
        page.line(("! ", "yellow"), caveat, indent=6)


def _dims(item: Suggestion) -> str:
    if not item.dims:
        return "int"
    return f"{plural_noun(len(item.dims), 'dim')} {', '.join(map(str, item.dims))}"


def _left_out(page: TextPage, advice: Advice) -> None:
    if not advice.left_out:
        return
    page.heading("Left out", "would save compilations but do harm")
    for item in page.listed(harms(advice.left_out), "source"):
        page.line((some(item.names), "bold"), f": {item.reason}", indent=2)
        page.line(f"→ {item.remedy}", indent=4)


def _remaining(page: TextPage, advice: Advice) -> None:
    if not advice.remaining:
        return
    refused = sum(item.limit_hits for item in advice.remaining)
    stay = sum(len(item.compiles) for item in advice.remaining) - refused
    spent = sum(item.seconds for item in advice.remaining)
    counted = compilations(stay, refused, "recompilation")
    page.heading("What marking will not fix", ", ".join(filter(None, (counted, measured(spent)))))
    for group in page.listed(advice.remaining_by_remedy, "reason"):
        rule = (f"{group.rule.code} {group.rule.name}", COLORS[group.members[0].verdict])
        if len(group.members) == 1:
            _remains(page, group.members[0], 2, rule)
            page.line(f"→ {group.remedy}", indent=4)
            continue
        page.line(rule, (f"  {group.counted} {measured(group.seconds)}".rstrip(), "dim"), indent=2)
        page.line(f"→ {group.remedy}", indent=4)
        for item in page.listed(group.members, "place", indent=4):
            _remains(page, item, 4)


def _remains(page: TextPage, item: Remaining, indent: int, *rule: tuple[str, str]) -> None:
    page.line(
        (item.frame.title_of(item.compiles), "bold"),
        f"  {item.axis}  " if item.axis else "  ",
        *rule,
        (f"{'  ' if rule else ''}{item.counted} {measured(item.seconds)}".rstrip(), "dim"),
        indent=indent,
    )
    left_out = "; a mark for it was left out, as listed above" if item.why_left_out else ""
    page.line(f"{item.change}{left_out}", indent=indent + 2)


def _alternatives(page: TextPage, advice: Advice) -> None:
    if not advice.alternatives:
        return
    page.heading("Alternatives", f"in torch {advice.version}")
    for item in advice.alternatives:
        page.line((item.tool, "bold"), f"  {item.subject}", indent=2)
        page.line(item.sentence, indent=4)
        lines = item.lines if page.verbose else item.lines[:_LINES]
        for line in lines:
            _code(page, line)
        left = len(item.lines) - len(lines)
        if left:
            page.line((f"… {plural(left, 'more line')}, shown with --verbose", "dim"), indent=6)
        if item.warning:
            page.line(("! ", "yellow"), item.warning, indent=4)


def _code(page: TextPage, line: str) -> None:
    """A line to paste, unless it is too long for a screen."""
    if len(line) <= LONGEST_COPIED or not page.limit:
        page.raw(line, indent=6, style="cyan")
    else:
        page.line((f"a line of {len(line)} characters, shown with {page.everything}", "dim"), indent=6)


def _pgo(page: TextPage, advice: Advice) -> None:
    """PyTorch's own list compared with shapelog's."""
    found = advice.pgo
    if found is None:
        return
    page.heading("PyTorch's own suggestion", "from the PGO code state in this trace" + (" (warm start)" if found.is_warm else ""))
    if found.env:
        page.raw(found.env, indent=4, style="cyan")
        page.line(
            found.problem or f"estimated with it: {cost_of(found.cost)}; with the suggestions above: {cost_of(advice.after)}", indent=4
        )
    else:
        page.line("none: no size or int had changed", indent=4)
    for item in page.listed(found.differences, "difference"):
        ours = f"lists {item.ours}" if item.ours else "does not"
        page.line((item.source, "bold"), f": PGO {'lists it' if item.theirs else 'does not list it'}, shapelog {ours}", indent=2)
        page.line(item.why, indent=4)
    for source, state in found.states if page.verbose else ():
        page.line(("PGO state: ", "dim"), f"{source}: {state}", indent=2)
