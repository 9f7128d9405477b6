"""What to do first, in a terminal: a numbered list, each with what it saves, where, and what to type."""

from rich.text import Text

from shapelog.report.steps.step import NextStep, StepKind, saving_words, with_references
from shapelog.reporters.terminal.text_page import CONFIDENCE_COLORS, LONGEST_COPIED, TextPage
from shapelog.text import file_name, one_line, plural

# The most lines of an output whose end is in view with its beginning.
SCREEN = 45
# The most places that a step names, unless all is asked for.
_PLACES = 3


def start_here(page: TextPage, step: NextStep, where: str) -> None:
    """The first step in short, and ``where`` all about it is."""
    saved = saving_words(step.saving)
    page.line(("Start here: ", "bold"), step.title)
    page.line((saved, "green"), ("; " if saved else "", "dim"), (where, "dim"), indent=2)


def where_listed(steps: tuple[NextStep, ...]) -> str:
    """Where an output that ends with these steps has all of them."""
    return "all steps are listed at the end" if len(steps) > 1 else "details at the end"


def next_steps_list(page: TextPage, steps: tuple[NextStep, ...], note: str = "", title: str = "Next steps") -> None:
    """The list with its heading; nothing where there is nothing to do."""
    if not steps:
        return
    page.heading(title, note)
    for number, step in enumerate(page.listed(with_references(steps), "step"), 1):
        _step(page, number, step)


def _step(page: TextPage, number: int, step: NextStep) -> None:
    text = Text(f"{number}. ", style="dim").append(one_line(step.title), style="bold")
    page.text(text, 2, hanging=3)
    saved = saving_words(step.saving)
    sure = step.confidence
    if saved:
        page.line(
            (saved, "green"),
            (f"  {sure.level} confidence", CONFIDENCE_COLORS[sure.level]),
            f": {sure.reason}" if page.verbose else "",
            indent=5,
        )
    if step.explanation and (not step.places or step.kind is StepKind.CACHE):
        page.line((step.explanation, "dim"), indent=5)
    lines = () if step.list_of else (step.short_text,) if step.short_text else step.text
    for line in lines:
        if len(line) <= LONGEST_COPIED:
            page.raw(line, indent=5, style="cyan")
        else:
            page.line("shapelog suggest-dynamic prints the line to set with --format shell, env or python", indent=5)
    if step.list_of:
        page.line((f"the list of step {step.list_of} has these entries", "dim"), indent=5)
    elif step.replaces:
        page.line((f"this list replaces that of step {step.replaces}", "dim"), indent=5)
    for reference in step.references:
        page.line((reference, "dim"), indent=5)
    if step.why_short and not step.list_of:
        page.line((step.why_short, "dim"), indent=5)
    if not step.text and (help := (*step.hints, step.remedy)[0]):
        page.line(("help: ", "bold green"), help, indent=5)
    quoted = [place for place in step.places if place.code]
    for place in step.places if page.verbose else (quoted or step.places)[:_PLACES]:
        where = file_name(str(place.line))
        page.line((page.code(where, place.code, page.width - len(where) - 7), "dim"), indent=5)
    if len(step.places) > _PLACES and not page.verbose:
        page.line((f"and {plural(len(step.places) - _PLACES, 'more place')}", "dim"), indent=5)
