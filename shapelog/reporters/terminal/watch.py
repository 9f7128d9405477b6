"""A job that still runs, in a terminal: one screen that fits its rows and columns, or a line for each compile."""

import math
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from shapelog.capture.watch import Snapshot, WatchEvent
from shapelog.model.compile import Outcome
from shapelog.model.trace import Rank
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.merge_ranks import MergedFrame, merged_frames, rank_label
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import saving_words
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import COLORS, console
from shapelog.rules import Verdict
from shapelog.text import LEAST_SECONDS, file_name, file_size, measured, one_line, plural, seconds, shorten, taking

# The most causes in a line, and values of an axis.
_CAUSES, _VALUES = 2, 12
# The most lines to type of a step, and how far they are indented.
_TYPED, _STEP_INDENT = 3, 3
_DIED = {Outcome.FAILED: "red", Outcome.LIMIT: "bold red"}
# What a compile that did not make code did.
_VERBS = {
    Outcome.FAILED: "failed",
    Outcome.LIMIT: "hit the recompile limit",
    Outcome.SKIPPED: "produced no code",
    Outcome.UNFINISHED: "did not finish",
}


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of the screen below its heading: entries of one line or more, most important first."""

    title: str
    entries: Sequence[Sequence[Text]]
    note: str = ""


class Screen:
    """Draws snapshots; what all that show one report have in common is worked out once."""

    def __init__(self) -> None:
        self._drawn: tuple[Report, int] | None = None
        self._sections: list[_Section] = []

    def lines(self, snapshot: Snapshot, width: int, height: int) -> list[Text]:
        """At most ``height`` lines of at most ``width`` cells."""
        found = _head(snapshot, width)
        report = snapshot.report
        if report is None:
            found += _waiting(snapshot)
        else:
            if self._drawn is None or self._drawn[0] is not report or self._drawn[1] != width:
                self._drawn, self._sections = (report, width), _sections(snapshot, report, width)
            found += _verdict(snapshot, report)
            found += _fitted(self._sections, height - len(found))
        for line in found:
            line.truncate(width, overflow="ellipsis")
        return found[:height]


def lines(snapshot: Snapshot) -> list[str]:
    """A line for each compile that is new, those that are the same on several ranks as one."""
    is_job = snapshot.report is not None and len(snapshot.report.trace.ranks) > 1
    return [_line(events, is_job).plain for events in _across_ranks(snapshot.fresh)]


def console_on(stream: TextIO, options: Options) -> Console:
    """What draws on a terminal, as wide as that is."""
    return console(stream, True, options.color if options.color is not None else "NO_COLOR" not in os.environ)


def _duration(value: float) -> str:
    hours, rest = divmod(int(value), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def _head(snapshot: Snapshot, width: int) -> list[Text]:
    trace = snapshot.report.trace if snapshot.report else None
    facts = f"  torch {one_line(trace.torch_version or trace.version_guess)}  {file_size(snapshot.size)}" if trace else ""
    name = shorten(one_line(snapshot.where), max(12, width - max(2, len(facts))))
    parts = [f"watching for {_duration(snapshot.watched)}"]
    if snapshot.silent is not None and trace is not None:
        parts += [f"last record {_duration(snapshot.silent)} ago", _processes(snapshot)]
    parts.append("Ctrl-C: report")
    return [Text.assemble((name, "bold"), (facts, "dim")), Text(" · ".join(parts), style="dim"), Text()]


def _processes(snapshot: Snapshot) -> str:
    if snapshot.running is None:
        return "its process is not running here" if snapshot.known == 1 else "none of its processes is running here"
    return f"{plural(snapshot.running, 'process')} running" if snapshot.running else "ended"


def _waiting(snapshot: Snapshot) -> list[Text]:
    return [
        Text(f"Waiting for the first record in {one_line(snapshot.where)}", style="bold"),
        *([Text(one_line(snapshot.waiting), style="yellow")] if snapshot.waiting else []),
        Text("A compiled function has to be called in a program started with", style="dim"),
        Text(f"  TORCH_TRACE={one_line(shlex.quote(snapshot.where))} python your_script.py", style="cyan"),
    ]


def _verdict(snapshot: Snapshot, report: Report) -> list[Text]:
    summary = report.summary
    of_them = f", including {plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}" if summary.recompiles else ""
    total = f"{plural(summary.compiles, 'compilation')}{taking(summary.seconds)}{of_them}"
    found = [Text(total if summary.compiles else "Nothing has been compiled yet", style="bold")]
    parts = [
        Text.assemble(
            (f"{part.count} {part.verdict.value}", COLORS[part.verdict]),
            f" {seconds(part.seconds)}" if part.seconds >= LEAST_SECONDS else "",
        )
        for part in summary.parts
    ]
    if parts:
        found.append(Text(" · ").join(parts))
    bad = [(summary.limit_hits, "recompile limit hit"), (summary.failures, "failed compilation")]
    if any(count for count, _ in bad):
        found.append(Text(", ".join(plural(count, noun) for count, noun in bad if count), style="bold red"))
    if snapshot.unread:
        rest = f"; and {len(snapshot.unread) - 1} more" if snapshot.unread[1:] else ""
        found.append(Text(f"not read: {one_line(snapshot.unread[0])}{rest}", style="yellow"))
    if snapshot.unfinished and not snapshot.ended:
        some = ", ".join(dict.fromkeys(f"{event.compile.reference} {one_line(event.frame.title)}" for event in snapshot.unfinished[-4:]))
        found.append(Text(f"compiling: {some}", style="cyan"))
    return found


def _sections(snapshot: Snapshot, report: Report, width: int) -> list[_Section]:
    """In the order in which they are shown; those without an entry are left out."""
    is_job = len(report.trace.ranks) > 1
    frames = sorted(
        (merged for merged in merged_frames(report) if merged.first.has_recompiled),
        key=lambda merged: (-sum(len(item.recompiles) for item in merged.members), -merged.seconds),
    )
    recent = [[_line(events, is_job)] for events in reversed(_across_ranks(snapshot.events))]
    found = [
        _Section("Next steps, so far", list(_steps(report, snapshot.where, width - 2))),
        _Section("Frames that recompile most", [_frame(merged, is_job) for merged in frames]),
        _Section("Latest compilations", recent, "newest first"),
        _Section("Ranks" if any(rank.number is not None for rank in report.trace.ranks) else "Processes", _ranks(report.trace.ranks)),
    ]
    return [section for section in found if section.entries]


def _fitted(sections: Sequence[_Section], room: int) -> list[Text]:
    """What of them fits into ``room`` lines: of each the first entry, then one more of each in turn."""
    shown: dict[int, int] = {}
    left = room
    for number, section in enumerate(sections):
        needed = 2 + len(section.entries[0])
        if needed <= left:
            shown[number] = 1
            left -= needed
    is_growing = True
    while is_growing:
        is_growing = False
        for number, count in shown.items():
            entries = sections[number].entries
            if count < len(entries) and len(entries[count]) <= left:
                left -= len(entries[count])
                shown[number] += 1
                is_growing = True
    found: list[Text] = []
    for number, count in shown.items():
        section = sections[number]
        of = f"{count} of {len(section.entries)}" if count < len(section.entries) else ""
        note = ", ".join(filter(None, (of, section.note)))
        found += [Text(), Text.assemble((section.title, "bold"), (f"  {note}", "dim") if note else "")]
        found += [Text("  ") + line for entry in section.entries[:count] for line in entry]
    return found


def _steps(report: Report, where: str, room: int) -> Iterator[list[Text]]:
    """What to do as far as is known by now, with the lines to paste where all of them fit: a part is of no use."""
    indent = Text(" " * _STEP_INDENT)
    for number, step in enumerate(next_steps(collect_alerts(report, Repository())), 1):
        saved = saving_words(step.saving)
        typed = [one_line(line) for line in step.text]
        if len(typed) > _TYPED or any(cell_len(line) > room - _STEP_INDENT for line in typed):
            typed = [f"shapelog suggest-dynamic {one_line(shlex.quote(where))}"]
        head, cost = Text.assemble(f"{number}. ", (one_line(step.title), "bold")), Text(saved, style="green")
        fits = head.cell_len + 2 + cost.cell_len <= room
        heads = [Text("  ").join((head, cost))] if saved and fits else [head, indent + cost] if saved else [head]
        yield [*heads, *(indent + Text(line, style="cyan") for line in typed)]


def _frame(merged: MergedFrame, is_job: bool) -> list[Text]:
    item = merged.first
    frame = item.frame
    place = f"  {file_name(frame.file)}:{frame.line}" if frame.file else ""
    count = sum(len(member.recompiles) for member in merged.members)
    spent = math.fsum(entry.compile.seconds for member in merged.members for entry in member.recompiles)
    head = Text.assemble(
        (f"{merged.owner}  " if is_job else "", "dim"),
        (one_line(frame.title), "bold"),
        (one_line(place), "dim"),
        f"  {plural(count, 'recompilation')} {measured(spent)}".rstrip(),
        ("  limit hit" if item.limit_hit else "", "bold red"),
    )
    axes = Text("  ")
    for axis in item.axes:
        axes.append("   " if len(axes) > 2 else "").append(one_line(axis.name), style="bold cyan")
        axes.append("".join(f" {one_line(value)}" for value in axis.values[:_VALUES]))
        axes.append(" …" if axis.values[_VALUES:] else "")
        axes.append("".join(f" {rule.code}" for rule in axis.rules), style="dim")
    return [head, axes] if item.axes else [head]


def _ranks(ranks: Sequence[Rank]) -> list[list[Text]]:
    """A line for each rank or process of several, those that did the same as one."""
    if len(ranks) < 2:
        return []
    grouped: dict[tuple[int, ...], list[Rank]] = {}
    for rank in ranks:
        outcomes = Counter(compile.outcome for frame in rank.frames for compile in frame.compiles)
        entries = [len(frame.entries) for frame in rank.frames if frame.entries]
        key = sum(entries), sum(entries) - len(entries), outcomes[Outcome.LIMIT], outcomes[Outcome.FAILED]
        grouped.setdefault(key if rank.number is not None else (*key, rank.process), []).append(rank)
    return [[_rank(key, members)] for key, members in grouped.items()]


def _rank(counts: tuple[int, ...], members: Sequence[Rank]) -> Text:
    entries, again, hits, failed = counts[:4]
    frames = [frame for rank in members for frame in rank.frames]
    numbers = [rank for rank in members if rank.number is not None]
    name = (rank_label(frames) if frames else f"rank {numbers[0].number}") if numbers else f"process {members[0].process}"
    times = [sum(frame.seconds for frame in rank.frames) for rank in members]
    low, high = seconds(min(times)), seconds(max(times))
    spent = low if low == high else f"{low} to {high}"
    latest = max(rank.last_time for rank in members)
    last = f"  last record {_clock(latest)}" if latest else ""
    text = Text.assemble((name, "bold"), f"  {plural(entries, 'compilation')}, {plural(again, 'recompilation')}  {spent}", (last, "dim"))
    for count, noun in ((hits, "limit hit"), (failed, "failed compilation")):
        text.append(f"  {plural(count, noun)}" if count else "", style="red")
    return text


def _clock(when: str) -> str:
    """The time of day of a record, to the second."""
    return when[5:13] if len(when) >= 13 else "--:--:--"


def _across_ranks(events: Iterable[WatchEvent]) -> list[list[WatchEvent]]:
    """Compiles that are the same on several ranks together, in the order in which the last of each came."""
    found: dict[tuple[object, ...], list[WatchEvent]] = {}
    for number, event in enumerate(events):
        key = (event.compile.reference, event.frame.title, event.compile.outcome, _why(event), event.frame.rank is None and number)
        found[key] = [*found.pop(key, ()), event]
    return list(found.values())


def _line(events: Sequence[WatchEvent], is_job: bool) -> Text:
    event = events[-1]
    compile, item = event.compile, event.recompile
    again = item is not None and not item.is_after_failure
    verb = _VERBS.get(compile.outcome) or ("recompiled" if again else "compiled")
    owner = f"{rank_label(one.frame for one in events)} " if is_job else ""
    spent = max(one.compile.seconds for one in events)
    style = _DIED.get(compile.outcome) or (COLORS[item.verdict] if item and again else "")
    why, codes = _why(event)
    return Text.assemble(
        (f"{_clock(event.when)} {owner}", "dim"),
        (f"{compile.reference} ", "bold"),
        f"{one_line(event.frame.title_of([event.compile]))} ",
        (verb, style),
        f" ({seconds(spent)})" if spent >= LEAST_SECONDS else "",
        f": {why}" if why else "",
        (f"  {codes}" if codes else "", "dim"),
    )


def _why(event: WatchEvent) -> tuple[str, str]:
    """(sentence, codes of the rules), both "" for a first compile that went well."""
    item, metrics = event.recompile, event.compile.metrics
    codes = " ".join(item.codes) if item else ""
    if event.compile.outcome is Outcome.FAILED and metrics.fail_reason.strip():
        return one_line(f"{metrics.fail_type}: {metrics.fail_reason.strip().splitlines()[0]}"), codes if item and item.causes else ""
    if item is None or (item.is_after_failure and not item.causes):
        return "", ""
    if not item.causes:
        return one_line(item.unexplained_because), codes
    sentences = [one_line(cause.sentence) for cause in item.causes[:_CAUSES]]
    if item.causes[_CAUSES:]:
        sentences.append(f"and {len(item.causes) - _CAUSES} more")
    return "; ".join(sentences), codes + ("  justified" if item.verdict is Verdict.JUSTIFIED else "")
