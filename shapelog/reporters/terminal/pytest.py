"""What pytest shows: in a failing test each recompile with its causes and what to mark, at the end which tests recompiled; plain text."""

import os
from collections.abc import Mapping, Sequence

from shapelog.advice.remedies import Remedies
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_test_runner
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.terminal.advice import what_to_set
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.rules import UNEXPLAINED
from shapelog.text import one_line, plural, shorten

# How many recompiles (or frames, or marks) a failure explains, and how many tests the summary names.
LIMIT = 5
WORST = 10
_SEPARATORS = ("/", os.sep)


def headline(found: int, noun: str, allowed: int, mark: str) -> str:
    """``3 recompilations, 0 allowed (no_recompiles)``."""
    return f"{plural(found, noun)}, {allowed} allowed ({mark})"


def explanation(report: Report, options: Options, root: str = "", kept: str = "", with_reset: str = "", with_frames: bool = False) -> str:
    """Why each recompile of a test happened and what helps, at most ``options.limit`` of them (0: all).

    Files below ``root`` are named from there on. ``kept`` is the file of the trace, "" where it is removed with the test;
    ``with_reset`` is the mark that resets PyTorch before the test, "" where that is done already. ``with_frames`` lists what was compiled
    as well.
    """
    page = TextPage(options, "-vv")
    if with_frames:
        _frames(page, report, root)
    recompiles = [item for item in report.recompiles if not item.is_after_failure]
    for item in page.listed(recompiles, "recompile", 0):
        _recompile(page, item, report.remedies, root)
    _unknown(page, recompiles, with_reset)
    if not all(item.is_against_unknown for item in recompiles):
        _marking(page, report, len(recompiles))
    if kept:
        page.raw(f"full report: shapelog report {kept}")
    elif 0 < options.limit < len(recompiles):
        page.line("Run with --shapelog-dir DIR to keep the trace of each test for shapelog report.")
    return page.bytes().decode().strip("\n")


def _place(file: str, line: int, root: str) -> str:
    for separator in _SEPARATORS:
        file = file.removeprefix(root.rstrip(separator) + separator) if root else file
    return f"{file}:{line}" if file else "code unknown"


def _frames(page: TextPage, report: Report, root: str) -> None:
    """The code that was compiled, in order, each with its number of compiles."""
    frames = [frame for frame in report.trace.frames if frame.entries]
    page.line("Compiled:")
    for frame in page.listed(frames, "frame"):
        labels = shorten(" ".join(entry.reference for entry in frame.entries), 40)
        page.line(f"{_title(frame, root)}  {plural(len(frame.entries), 'compilation')}: {labels}", indent=2)


def _title(frame: Frame, root: str) -> str:
    return f"{frame.title}  {_place(frame.file, frame.line, root)}"


def _recompile(page: TextPage, item: Recompile, remedies: Remedies, root: str) -> None:
    compile, frame = item.compile, item.frame
    against = f" compared with {item.nearest.reference}" if item.nearest else ""
    page.line(f"{compile.reference}{against}  {_title(frame, root)}  {item.verdict.value}")
    for cause in item.causes[:LIMIT]:
        _cause(page, cause, frame, root)
    if len(item.causes) > LIMIT:
        page.line(f"and {plural(len(item.causes) - LIMIT, 'more cause')}", indent=2)
    if not item.causes:
        page.line(f"{UNEXPLAINED.code} {UNEXPLAINED.name}: {item.unexplained_because}", indent=2)
    called = _called_at(frame, compile, root)
    if called:
        page.line(f"called at {called}", indent=2)
    if item.why_not_markable and not item.is_against_unknown:
        page.line(item.why_not_markable, indent=2)
    page.remedy(remedies.of_recompile(item), 2, item.codes)


def _called_at(frame: Frame, compile: Compile, root: str) -> str:
    """The user's line that called the code, "" where the trace has none but the one that started pytest."""
    called = frame.caller(compile)
    if called is None:
        return ""
    outwards = (compile.recorded_callers or compile.stack.frames)[::-1]
    below = outwards[: outwards.index(called)] if called in outwards else ()
    is_runner = any(is_test_runner(item.file) for item in below)
    return "" if is_runner else f"{_place(called.file, called.line, root)}  {called.code}"


def _cause(page: TextPage, cause: Cause, frame: Frame, root: str) -> None:
    page.line(f"{' '.join(cause.codes)} {cause.rule.name}: {cause.sentence}", indent=2)
    place = cause.place
    if place:
        # PyTorch keeps the last parts of the path alone.
        is_own = frame.file.endswith((place.file, f"/{place.file.lstrip('/')}"))
        page.line(f"at {_place(frame.file if is_own else place.file, place.line, root)}  {place.code}", indent=4)


def _unknown(page: TextPage, recompiles: Sequence[Recompile], with_reset: str) -> None:
    """Recompiles against code that an earlier test left in PyTorch's cache, and how to begin without it."""
    labels = [item.compile.reference for item in recompiles if item.is_against_unknown]
    if labels:
        names = shorten(" ".join(labels), 40)
        where = f"in a fixture, or use the mark {with_reset}" if with_reset else "before the first call"
        page.raw(
            f"{names}: the code was compiled before this test, without being recorded. To start clean, call torch._dynamo.reset() {where}"
        )


def _marking(page: TextPage, report: Report, total: int) -> None:
    advice = report.advice
    if advice is None:
        return
    page.blank()
    if not advice.suggestions:
        page.line(f"Nothing to mark as dynamic: {advice.why_empty}.")
        return
    of_all = f"{advice.before.total - advice.after.total} of {plural(total, 'recompilation')}" if total > 1 else "it"
    page.line(f"Marking {plural(len(advice.suggestions), 'input')} as dynamic removes {of_all} (estimated):")
    if advice.env:
        what_to_set(page, advice)
    lines = [line for item in advice.suggestions for line in item.python]
    if lines:
        which = "" if all(item.python for item in advice.suggestions) else ", for tensors"
        page.line(f"{'or ' if advice.env else ''}in code, before the call{which}:", indent=2)
    for line in page.listed(lines, "line", 4):
        page.raw(line, indent=4)


def summary(tests: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """The lines at the end of a session, from the (compiles, recompiles) of each recorded test by its id; the worst tests first."""
    compiled = [counts for counts in tests.values() if any(counts)]
    if not compiled:
        return ("nothing was compiled in any test",)
    compiles, recompiles = (sum(column) for column in zip(*compiled, strict=True))
    summary = f"{plural(len(compiled), 'test')} compiled: {plural(compiles, 'compilation')}, {plural(recompiles, 'recompilation')}"
    worst = sorted((-again, -made, name) for name, (made, again) in tests.items() if again)
    width = max((len(plural(-again, "recompilation")) for again, _, _ in worst), default=0)
    lines = [
        f"{plural(-again, 'recompilation'):<{width}}  {plural(-made, 'compilation')}  {one_line(name)}"
        for again, made, name in worst[:WORST]
    ]
    more = [f"… {plural(len(worst) - WORST, 'more test')} that recompiled"] if len(worst) > WORST else []
    return (summary, *lines, *more)
