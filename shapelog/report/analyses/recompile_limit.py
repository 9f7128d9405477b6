"""Which code ran into the recompile limit, from which compile on, and which axes filled the entries?"""

import re
from collections import Counter
from collections.abc import Iterator

from shapelog.model.code_matching import without_installation
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import DEFAULT_LIMIT
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.report.details.limit_notes import limit_notes
from shapelog.report.details.limit_remedies import is_accumulated, lacks_reasons, limit_remedy
from shapelog.report.results import Finding, Location, Table, location_of
from shapelog.rules import RULES, Rule
from shapelog.text import cut, names_of, one_line, plural

_LONGEST = 200
_HIT, _NEAR = RULES["SL401"], RULES["SL402"]
# The most last reasons that a sentence has one by one.
_FEW = 2
_MINOR, _RUNS_CACHED = re.compile(r"\b2\.(\d{1,3})"), 6


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    trace = explained.trace
    limit = trace.config.recompile_limit or DEFAULT_LIMIT
    # several objects share such a function, or the limit is another one, also for the frames that it has on other ranks
    beyond = {frame.origin for frame in trace.frames if _number_of_entries(explained, frame) > limit}
    # a text that is cut may have the reasons of one rank alone
    with_reasons = {frame.origin: frame for frame in trace.frames if not lacks_reasons(explained, frame)}
    for frame in trace.frames:
        hit = next((compile for compile in frame.compiles if compile.outcome is Outcome.LIMIT), None)
        entries = _number_of_entries(explained, frame)
        of_reasons = with_reasons.get(frame.origin, frame) if lacks_reasons(explained, frame) else frame
        if may_be_refused(explained, frame):
            yield _at_default_limit(explained, frame)
        elif hit is not None:
            yield _finding_of_hit(explained, frame, hit, of_reasons)
        elif not trace.shows_limit_hits and entries >= limit:
            has = f"{entries} cache entries, which is the limit; this torch version does not record when it is exceeded"
            yield _finding(explained, _HIT, frame, of_reasons, has)
        elif limit > 1 and entries + 1 >= limit and frame.origin not in beyond:
            one_more = "one more is allowed, and the recompilation after that will be refused"
            room = "the next recompilation will be refused" if entries == limit else one_more
            yield _finding(explained, _NEAR, frame, of_reasons, f"{plural(entries, 'cache entry')} (limit {limit}); {room}")


def _finding(explained: Explanations, rule: Rule, frame: Frame, of_reasons: Frame, has: str) -> Finding:
    """Of code that ``has`` as many entries as the limit allows, or nearly; ``of_reasons`` is the frame of a rank that has reasons."""
    titles = frame.titles_of(frame.compiles)
    return Finding(
        rule=rule,
        sentence=f"{names_of(titles)} {'have' if len(titles) > 1 else 'has'} {has}",
        compile=frame.compiles[-1].label,
        place=location_of(frame),
        details=_varying_axes(explained, frame),
        frame=frame,
        own_remedy=limit_remedy(explained, of_reasons, _main_axes(explained, of_reasons), frame.compiles[-1]),
    )


def _finding_of_hit(explained: Explanations, frame: Frame, hit: Compile, of_reasons: Frame) -> Finding:
    """Of code of which a call was refused; ``of_reasons`` is the frame of a rank that has reasons, where this one has none."""
    kind = "accumulated recompile limit" if is_accumulated(hit) else "recompile limit"
    entries = len(frame.entries)
    counted = f", with {plural(entries, 'cache entry')}" if entries >= hit.id.compile else ""
    at = f" at {hit.shown_label}{counted}" if hit.shown_label else ""
    then = "the call raised an error" if hit.raised_at_limit else _from_then_on(explained.trace)
    main = _main_axes(explained, of_reasons)
    reasons = _last_reasons(explained, frame, hit, bool(main))
    reason = "; ".join(reasons)
    last = f"; the last {'reasons' if len(reasons) > 1 else 'reason'}: {reason}" if reason else ""
    line = _line(explained, frame)
    is_own = line is None or not frame.file or is_library(frame.file) or _file(line.file, frame) == frame.file
    guarded = () if is_own or line is None else (f"the guard comes from {without_installation(line.quoted)}",)
    line = line if is_own else None
    return Finding(
        rule=_HIT,
        sentence=f"{names_of(frame.titles_of(frame.compiles))} hit the {kind}{at}; {then}{last}",
        compile=hit.label,
        place=Location(_file(line.file, frame), line.line) if line else location_of(frame),
        code=line.code if line else "",
        details=_varying_axes(explained, frame),
        frame=frame,
        notes=(*guarded, *limit_notes(explained, frame, hit, of_reasons is frame)),
        own_remedy=limit_remedy(explained, of_reasons, main, hit),
        reason=reason,
    )


def _main_axes(explained: Explanations, frame: Frame) -> str:
    return ", ".join(axis for axis, _ in _varying_axes(explained, frame)[:3])


def _from_then_on(trace: Trace) -> str:
    """What runs in eager mode from then on. Torch 2.5 and older, of which texts alone show the limit, mark the code as one to be skipped:
    its cached graphs are not used any more (``torch/_dynamo/convert_frame.py``, ``torch/csrc/dynamo/eval_frame.c``). A text does not show
    whether the call raised an error.
    """
    then = "any call that misses the cache now runs in eager mode"
    if not trace.is_text:
        return then
    then += ", or raises an error under fullgraph=True"
    minors = [int(minor) for minor in _MINOR.findall(trace.torch_version or trace.version_guess)]
    or_older, or_newer = (not trace.torch_version and trace.version_guess.endswith(end) for end in ("older", "newer"))
    if minors and max(minors) < _RUNS_CACHED and not or_newer:
        return "all calls of it now run in eager mode"
    if minors and min(minors) >= _RUNS_CACHED and not or_older:
        return then
    return f"{then} (before torch 2.{_RUNS_CACHED}, every call)"


def _number_of_entries(explained: Explanations, frame: Frame) -> int:
    """How many entries a frame has. A text may begin after the first ones: then the id of the last compile shows how many it is."""
    last = frame.compiles[-1]
    is_counted = explained.trace.is_text and last.shown_label and last.reasons and last.outcome is Outcome.COMPILED
    return max(len(frame.entries), last.id.compile + 1 if is_counted else 0)


def may_be_refused(explained: Explanations, frame: Frame) -> bool:
    """Whether the last compile of a text is the first beyond the default limit: PyTorch logs the reasons of a call that it refuses, too.

    A graph or guards show that it was compiled, and a later one that the limit was raised.
    """
    trace, last = explained.trace, frame.compiles[-1]
    if not trace.is_text or trace.config.recompile_limit or last.outcome is not Outcome.COMPILED or not (last.reasons and last.shown_label):
        return False
    is_made = last.graph_span is not None or last.guards_span is not None
    return last.id.compile == DEFAULT_LIMIT and not is_made and all(compile.id.compile <= DEFAULT_LIMIT for compile in trace.compiles)


def _at_default_limit(explained: Explanations, frame: Frame) -> Finding:
    last = frame.compiles[-1]
    return Finding(
        rule=_NEAR,
        sentence=(
            f"{frame.title_of([last])} had {DEFAULT_LIMIT} cache entries before {last.shown_label}, the default limit: "
            f"unless that was raised, {last.shown_label} was refused, and any call that misses the cache runs in eager mode"
        ),
        compile=last.label,
        place=location_of(frame),
        details=_varying_axes(explained, frame),
        frame=frame,
        own_remedy=limit_remedy(explained, frame, _main_axes(explained, frame), last),
    )


def _line(explained: Explanations, frame: Frame) -> UserLine | None:
    """The line whose guard failed, where one reason is all that is known of the frame."""
    own = explained.of_frame(frame)
    line = next((cause.place for cause in own[0].causes if cause.place), None) if len(own) == 1 else None
    return line if line and not is_library(line.file) else None


def _file(short: str, frame: Frame) -> str:
    """The whole path of a file that PyTorch shortens, where it is that of the frame."""
    return frame.file if frame.file.replace("\\", "/").endswith(f"/{short}") else short


def _last_reasons(explained: Explanations, frame: Frame, hit: Compile, is_known: bool) -> list[str]:
    """Why the calls that were refused needed another entry, where that is all that is known of the frame."""
    own = explained.of_frame(frame)
    if is_known:
        refused = [item for item in own if item.compile.outcome is Outcome.LIMIT]
        sentences = list(dict.fromkeys(cause.sentence for item in refused for cause in item.causes[: _named_of_one_entry(item)]))
        shown = {cause.axis for item in own if item.compile.outcome is not Outcome.LIMIT for cause in item.causes}
        is_new = not any(cause.axis in shown for item in refused for cause in item.causes[:1])
        return sentences if is_new and len(sentences) <= _FEW else []
    if hit.reasons and hit.reasons[0].family in ("unexpected", "guard_error"):
        return [cause.sentence for item in own for cause in item.causes][:1]
    return [cut(one_line(hit.reasons[0].code), _LONGEST) or "blank, PyTorch gives none"] if hit.reasons else []


def _named_of_one_entry(item: Recompile) -> int:
    """How many reasons a text has for one entry; PyTorch itself names the first guard that failed alone."""
    return max(Counter(reason.entry for reason in item.compile.reasons).values(), default=1)


def _varying_axes(explained: Explanations, frame: Frame) -> tuple[tuple[str, str], ...]:
    """The axes whose change made the entries, by how many recompiles each took part in."""
    causes = ([cause for cause in item.causes if cause.prop.kind is not Kind.FAILURE] for item in explained.of_frame(frame))
    count = Counter(axis for found in causes for axis in dict.fromkeys(cause.axis for cause in found))
    total = len(explained.of_frame(frame))
    return tuple((axis, f"in {number} of {plural(total, 'recompilation')}") for axis, number in count.most_common(4))
