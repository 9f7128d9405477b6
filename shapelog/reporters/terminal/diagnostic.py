"""One alert as compilers show a diagnostic: level, rule and sentence, the line with what it is about underlined, and what to do."""

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.reading.payloads.source_names import is_library, is_notebook_cell
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.alert import Alert, exception_lines
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.rules import Level, Section
from shapelog.text import file_name, one_line, plural, plural_noun, rank_list, sentence_end, shorten, some, start_of

# The most lines that a text of PyTorch's takes, and the most hints, compiles and others, unless all is asked for.
_TEXT, _HINTS, _LABELS, _OTHERS = 2, 2, 8, 3
# The most causes that are listed although they are so elsewhere, too.
_FACTS = 4


def diagnostic(
    page: TextPage, alert: Alert, level: Level, others: Sequence[Alert] = (), notes: Iterable[str] = (), elsewhere: str = ""
) -> None:
    """``level`` is how bad it is here; ``others`` are about the same, or some of it; ``notes`` are further facts; ``elsewhere`` is where
    all that changed is listed, if anywhere.
    """
    page.diagnostic(level, alert.rule, alert.sentence)
    call = alert.call
    compiles = _compiles(page, alert)
    if alert.snippet or call is None:
        code_place(page, str(alert.source_line) if alert.source_line else _in_cell(alert), alert.snippet, alert.marked)
        more = f" and {plural(alert.other_calls, 'other line')}" if call and alert.other_calls else ""
        start = ", ".join(filter(None, (compiles, f"called at {file_name(str(call.place))}{more}" if call else "")))
        if start:
            note(page, page.code(start, call.code, page.width - len(start) - 8) if call else start)
    else:
        code_place(page, str(call.place), call.code)
        of_code = f"of the code at {file_name(str(alert.source_line))}" if alert.source_line else ""
        if compiles or of_code:
            note(page, " ".join(filter(None, (compiles, of_code))))
    for fact in _more_facts(alert, elsewhere) if page.verbose else ():
        note(page, fact)
    at_limit = alert.limit_message if page.verbose else None
    messages = alert.pytorch_messages if page.verbose else alert.messages
    for message in {item.explanation: item for item in messages}.values():
        explanation(page, message)
    for text in exception_lines(alert.exceptions, " ".join(message.title for message in alert.messages)):
        note(page, text, "raised")
    for text in (*alert.notes, *also(page, alert, others, elsewhere), *notes):
        note(page, text)
    _helps(page, alert, others)
    for hint in at_limit.hints if at_limit else ():
        note(page, hint, "help")
    for url in dict.fromkeys(message.url for message in messages if message.url):
        _see(page, url)


def _helps(page: TextPage, alert: Alert, others: Sequence[Alert]) -> None:
    """What to do about it, and what the same recompilations need as well."""
    of_pytorch = {hint for message in alert.messages for hint in message.hints}
    helps = alert.helps if page.verbose else alert.helps[:_HINTS]
    for number, text in enumerate(helps):
        note(page, _sentences_that_fit(page, text) if number and text in of_pytorch else text, "help")
    if len(helps) < len(alert.helps):
        page.line((f"   = … {len(alert.helps) - len(helps)} more, shown with --verbose", "dim"))
    for item in others if page.verbose else others[:_OTHERS]:
        if _needs_more(alert, item):
            note(page, f"{item.remedy.text} ({item.rule.code})", "help")


def _more_facts(alert: Alert, elsewhere: str) -> Iterator[str]:
    """Each cause with its values; a long list of those only where it is not elsewhere."""
    facts = alert.facts[1:]
    if alert.why and elsewhere and len(facts) > _FACTS:
        yield f"also: {len(facts)} more, listed under {elsewhere}"
    else:
        yield from (f"also: {fact}" for fact in facts)


def also(page: TextPage, alert: Alert, others: Sequence[Alert], elsewhere: str = "") -> Iterator[str]:
    """What else changed in the same recompilations, with the code of its rule, or where else the same happened."""
    shown = others if page.verbose else others[:_OTHERS]
    for item in shown:
        of_these = f"in {some(item.shown_labels, _LABELS)}: " if item.shown_labels != alert.shown_labels else ""
        yield f"also {of_these}{item.why} ({item.rule.code})" if item.why else _elsewhere(page, alert, item)
        if item.why and page.verbose:
            yield from _more_facts(item, elsewhere)
        if item.why and page.verbose and item.remedy.text != alert.remedy.text and not _needs_more(alert, item):
            yield f"help for {item.rule.code}: {item.remedy.text}"
    if len(shown) < len(others):
        yield f"also {len(others) - len(shown)} more, shown with --verbose"


class CountedAbove:
    """Which recompilations the diagnostics above have already, each with the code of its rule."""

    def __init__(self) -> None:
        self._codes: dict[Compile, str] = {}

    def notes(self, alert: Alert) -> list[str]:
        """That some of an alert's recompilations are counted above, by the code there; call this once for each, in their order."""
        own = [item.compile for item in alert.occurrences] if alert.why else []
        known = grouped(
            (compile for compile in own if compile in self._codes and compile.shown_label), lambda compile: self._codes[compile]
        )
        for compile in own:
            self._codes.setdefault(compile, alert.rule.code)
        return [
            f"{some(labels, _LABELS)} {'is' if len(labels) == 1 else 'are'} counted above, too ({code})"
            for code, found in known.items()
            if (labels := list(dict.fromkeys(compile.shown_label for compile in found)))
        ]


def _needs_more(alert: Alert, other: Alert) -> bool:
    """Whether the recompilations of an alert need something else as well, for what changed in all of them, too."""
    is_same = {item.compile for item in other.occurrences} == {item.compile for item in alert.occurrences}
    return bool(other.why) and is_same and other.level is not Level.NOTE and other.remedy.text != alert.remedy.text


def _elsewhere(page: TextPage, alert: Alert, other: Alert) -> str:
    """The code, its compiles, and the line where it is another one."""
    notes = [text for text in other.notes if text not in alert.notes]
    line = f" at {file_name(str(other.source_line))}" if other.source_line and other.source_line != alert.source_line else _in_file(other)
    return "; ".join([f"also {other.title}{line}, {_compiles(page, other)}".rstrip(", "), *notes])


def _in_file(alert: Alert) -> str:
    """Where the code of a library begins, whose name alone may be that of many: `` (modeling_whisper.py:560)``."""
    frame = next((item.frame for item in alert.occurrences if is_library(item.frame.file)), None)
    return f" ({file_name(frame.file)}:{frame.line})" if frame and "." not in alert.title else ""


def _in_cell(alert: Alert) -> str:
    """Where it is in a cell of a notebook, whose file is in no repository; "" elsewhere."""
    first = next(iter(alert.occurrences), None)
    if alert.cell or first is None:
        return alert.cell
    broken = next((item.place for item in first.compile.breaks if item.place and item.message in alert.messages), None)
    file, line = (broken.file, broken.line) if broken else (first.frame.file, first.frame.line)
    if alert.rule.section is Section.FAILURES:
        inside = [(stopped.file, stopped.line) for message in alert.messages for stopped in reversed(message.stack)]
        failed = (first.compile.metrics.fail_file, first.compile.metrics.fail_line), (file, line)
        file, line = next((place for place in (*inside, *failed) if is_notebook_cell(place[0])), ("", 0))
    return f"{file}:{line}" if is_notebook_cell(file) else ""


def id_words(compile: Compile) -> str:
    """How a compile is referred to, with what commands take where the log has no id."""
    return compile.shown_label or f"{compile.reference} (the log has no id; {compile.label} in commands)"


def _compiles(page: TextPage, alert: Alert) -> str:
    """``compilations 0/1, 0/2 on ranks 0 and 1``, or ``in 2 processes``, as far as the log has it."""
    labels = alert.shown_labels
    shown = f"{plural_noun(len(labels), 'compilation')} {some(labels, len(labels) if page.verbose else _LABELS)}" if labels else ""
    processes = len({item.process for item in alert.occurrences})
    where = f"on {rank_list(alert.ranks)}" if len(alert.ranks) > 1 else f"in {processes} processes" if shown and processes > 1 else ""
    return " ".join(filter(None, (shown, where)))


def pytorch_message(
    page: TextPage, message: CompilerMessage, place: StackFrame | None, exceptions: tuple[RaisedException, ...] = ()
) -> None:
    """Everything that PyTorch wrote about one break or failure, with its line."""
    if place:
        code_place(page, f"{place.file}:{place.line}", place.code, place.marked)
    explanation(page, message)
    for text in exception_lines(exceptions, message.title):
        note(page, text, "raised")
    for hint in message.hints:
        note(page, hint, "help")
    if message.url:
        _see(page, message.url)


def code_place(page: TextPage, place: str, code: str = "", marked: str = "") -> None:
    """``  --> file.py:7``, with the line below it where the trace has it, and what it is about underlined."""
    if place:
        room = page.width - 6
        page.line(("  --> ", "blue"), f"…{place[-room + 1 :]}" if len(place) > room else place)
    if not code:
        return
    shown = shorten(one_line(code.strip()), page.width - 6)
    page.line(("   | ", "blue"), shown)
    marked = one_line(marked)
    start = start_of(marked, shown)
    if start >= 0:
        page.line(("   | ", "blue"), " " * cell_len(shown[:start]), ("^" * cell_len(marked), "yellow"))


def note(page: TextPage, text: str, label: str = "") -> None:
    """``   = help: mark it``, folded behind its label."""
    line = Text.assemble(("   = ", "blue"))
    if label:
        line.append(f"{label}: ", style="bold green" if label == "help" else "dim")
    page.text(line.append(one_line(text), style="" if label == "help" else "dim"), hanging=5)


def _see(page: TextPage, url: str) -> None:
    """``   = see: https://...``, never folded, so that a terminal makes it a link and a reader can copy it."""
    page.raw(Text.assemble(("   = ", "blue"), (f"see: {one_line(url)}", "dim")))


def explanation(page: TextPage, message: CompilerMessage) -> None:
    """Why PyTorch cannot do it, in its own words."""
    if message.explanation:
        note(page, _sentences_that_fit(page, message.explanation))


def _sentences_that_fit(page: TextPage, text: str) -> str:
    """A text of PyTorch's, unless all is asked for only as many of its sentences as fit, but the first whole; of a very long one its
    beginning.
    """
    room = page.width * _TEXT - 30
    if page.verbose or len(text) <= room:
        return text
    end = max(sentence_end(text, most=room), sentence_end(text))
    if 0 < end <= 2 * room:
        return text if end == len(text) else f"{text[:end]} …"
    return f"{text[:room].rstrip()}…"
