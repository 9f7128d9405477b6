"""What to do first, in a terminal: a numbered list, each with what it saves, where, and what to type."""

from rich.text import Text

from shapelog.report.next_steps import NextStep, Saving
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import file_name, one_line, plural

# A longer text to type is not put on the screen: suggest-dynamic --format shell prints it.
_LONGEST = 2000
_CONFIDENCE = {"high": "green", "medium": "yellow", "low": "red"}


def next_steps_list(page: TextPage, steps: tuple[NextStep, ...], note: str = "") -> None:
    """The list with its heading; nothing where there is nothing to do."""
    if not steps:
        return
    page.heading("Next steps", note)
    for number, step in enumerate(page.listed(steps, "step"), 1):
        _step(page, number, step)


def _step(page: TextPage, number: int, step: NextStep) -> None:
    saved = saving_words(step.saving)
    text = Text(f"{number}. ", style="dim").append(one_line(step.title), style="bold")
    if saved:
        text.append(f": {saved}", style="green")
    page.text(text, 2, hanging=3)
    for line in step.text:
        if len(line) <= _LONGEST:
            page.raw(line, indent=5, style="cyan")
        else:
            page.line("shapelog suggest-dynamic prints the line to set with --format shell, env or python", indent=5)
    if step.hints and not step.text:
        page.line(("help: ", "bold green"), step.hints[0], indent=5)
    where = f"{file_name(str(step.place))}  {step.snippet}" if step.place else ""
    if where and step.rules:
        page.line((where, "dim"), indent=5)
    if page.verbose:
        page.line((f"{step.confidence} confidence: {step.confidence_reason}", _CONFIDENCE[step.confidence]), indent=5)


def saving_words(saving: Saving) -> str:
    """``saves 10 compilations (0.51 s), and 1 refused compilation``; "" where nothing is known of what it saves."""
    number = f"{saving.least} to " if 0 < saving.least < saving.most else "up to " if saving.least < saving.most else ""
    parts = [f"{number}{plural(saving.most, 'compilation')}"] if saving.most else []
    if saving.refused:
        parts.append(f"{saving.refused} refused at the recompile limit")
    if saving.failed:
        parts.append(f"{saving.failed} that failed")
    spent = saving.seconds
    time = f"{spent}" if spent.most is None or spent.most >= 0.005 else ""
    if parts:
        return f"saves {' and '.join(parts)}{f' ({time})' if time else ''}"
    return f"saves {time}" if time else ""
