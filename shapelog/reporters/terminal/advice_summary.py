"""The first lines of the advice, as the report and the advice itself show them in a terminal."""

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_shell, cost_of, where_to_get, why_nothing
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import plural

# A longer line is not put on the screen: --format shell prints it.
_LONGEST = 2000


def headline(page: TextPage, advice: Advice, indent: int = 0) -> None:
    """How many compiles go, in one line, or why there is nothing to mark."""
    if not advice.suggestions:
        page.line(("Nothing to mark dynamic", "bold"), f": {advice.why_empty}.", indent=indent)
        return
    sources = plural(len(advice.suggestions), "source")
    page.line(
        (f"Mark {sources} dynamic", "bold"),
        f": {cost_of(advice.before)} become ",
        (f"{cost_of(advice.after)}", "bold green"),
        f" (predicted{f', {advice.scope}' if advice.scope else ''})",
        indent=indent,
    )


def what_to_set(page: TextPage, advice: Advice, indent: int = 2) -> None:
    """The line to paste, never folded by shapelog: a terminal that folds it still copies it as one."""
    shell = as_shell(advice)
    if shell and len(shell) <= _LONGEST:
        page.raw(shell, indent=indent, style="cyan")
    else:
        page.line(where_to_get(advice) if shell else why_nothing(advice), indent=indent)
