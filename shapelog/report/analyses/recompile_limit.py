"""Which code ran into the recompile limit, from which compile on, and which axes filled the entries?"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from shapelog.advice.remedies import Remedies, marks_act_on
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.recompile_reasons import NO_REASON
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.classification.containers import is_of_hooks
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.refused_calls import entry_number, is_known_by_limit, is_of_oldest_alone
from shapelog.report.results import Finding, Location, Table, location_of
from shapelog.rules import RULES, Verdict
from shapelog.text import cut, enumerated, names_of, one_line, plural

_LONGEST = 200
DEFAULT_LIMIT, DEFAULT_ACCUMULATED_LIMIT = 8, 256
_HIT, _NEAR, _DIED = RULES["SL401"], RULES["SL402"], RULES["SL319"]
# A limit that nobody sets but to have none.
_ANY_NUMBER = 100_000
# Of fewer entries, each may have been made for the same reason.
_MANY = 3
# The most last reasons that a sentence has one by one.
_FEW = 2
# One reason represents all if at most one recompile in five has another.
_NEARLY_ALL = 5
_NO_VALUES = (Kind.FAILURE, Kind.LIFETIME)
_MINOR, _RUNS_CACHED = re.compile(r"\b2\.(\d{1,3})"), 6
_OF_MODULE = "SL315"
_ABOVE_MODULES = "above the number of modules, where each has its own value"
_INT, _PARAMETER, _FLOAT, _TRAINING, _NONE = "SL102", "SL106", "SL312", "SL316", "SL322"
# What has two values, or three.
_FEW_VALUES = frozenset({"SL104", "SL107", "SL302", "SL305", _TRAINING})
_THERE_OR_NOT = frozenset((Kind.HAS, Kind.HAS_ATTRIBUTE, Kind.PRESENT))
_ALL_REASONS = 'TORCH_LOGS="recompiles"'
_RECORD_AGAIN = "find the causes of the recompilations with TORCH_LOGS=recompiles, and remove them"
_OTHER_CAUSES = "find the other causes with TORCH_LOGS=recompiles"
_REASON_BELOW = "the last reason is in the log lines below this warning, which are not in this text"
_NO_ENTRY = (
    "PyTorch found no cache entry whose guards failed: entries are dropped when an object that they refer to is freed, "
    "so the code may refer to a new one each time"
)
_RAISING = "raise the recompile limit above"
_DYNAMIC = "leave out dynamic=False where it is set; otherwise "
_ABOVE_GRAPHS = "above the number of graphs that the code needs"
# What torch.compile wraps modules and library functions in.
_WRAPPERS = "torch/_dynamo/external_utils.py"
_SHARED = (
    "this is PyTorch's own wrapper: all models that are compiled in one process share its cache and its limit; "
    "torch._dynamo.reset() between two models empties it"
)


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    config = explained.trace.config
    limit = config.recompile_limit or DEFAULT_LIMIT
    unrecorded = not explained.trace.shows_limit_hits
    # several objects share such a function, or the limit is another one, also for the frames that it has on other ranks
    beyond = {frame.origin for frame in explained.trace.frames if _number_of_entries(explained, frame) > limit}
    # a text that is cut may have the reasons of one rank alone
    with_reasons = {frame for frame in explained.trace.frames if not lacks_reasons(explained, frame)}
    elsewhere = {frame.origin: frame for frame in explained.trace.frames if frame in with_reasons}
    for frame in explained.trace.frames:
        if may_be_refused(explained, frame):
            yield _at_default_limit(explained, frame)
            continue
        hit = next((compile for compile in frame.compiles if compile.outcome is Outcome.LIMIT), None)
        entries = len(frame.entries) if hit else _number_of_entries(explained, frame)
        if hit is None and entries + 1 < limit:
            continue
        titles = frame.titles_of(frame.compiles)
        title, has = names_of(titles), "have" if len(titles) > 1 else "has"
        rule, compile = _HIT, hit or frame.compiles[-1]
        if hit is not None:
            kind = "accumulated recompile limit" if is_accumulated(hit) else "recompile limit"
            counted = f", with {plural(entries, 'cache entry')}" if entries >= hit.id.compile else ""
            then = "the call raised an error" if hit.raised_at_limit else _from_then_on(explained.trace)
            at = f" at {hit.shown_label}{counted}" if hit.shown_label else ""
            sentence = f"{title} hit the {kind}{at}; {then}"
        elif unrecorded and entries >= limit:
            sentence = f"{title} {has} {entries} cache entries, which is the limit; this torch version does not record when it is exceeded"
        elif limit > 1 and frame.origin not in beyond:
            rule = _NEAR
            room = (
                "the next recompilation will be refused"
                if entries == limit
                else "one more is allowed, and the recompilation after that will be refused"
            )
            sentence = f"{title} {has} {plural(entries, 'cache entry')} (limit {limit}); {room}"
        else:
            continue
        axes = _varying_axes(explained, frame)
        of_reasons = frame if frame in with_reasons else elsewhere.get(frame.origin, frame)
        causes = ", ".join(axis for axis, _ in (axes if of_reasons is frame else _varying_axes(explained, of_reasons))[:3])
        reasons = _last_reasons(explained, frame, hit, bool(causes)) if hit is not None else []
        reason = "; ".join(reasons)
        line = _line(explained, frame) if hit is not None else None
        is_own = line is None or not frame.file or is_library(frame.file) or _file(line.file, frame) == frame.file
        guarded = () if is_own or line is None else (f"the guard is of {line.quoted}",)
        line = line if is_own else None
        notes = _notes(explained, frame, hit, of_reasons is frame) if hit is not None else ()
        yield Finding(
            rule=rule,
            sentence=sentence + (f"; the last {'reasons' if len(reasons) > 1 else 'reason'}: {reason}" if reason else ""),
            compile=compile.label,
            place=Location(_file(line.file, frame), line.line) if line else location_of(frame),
            code=line.code if line else "",
            details=axes,
            frame=frame,
            notes=(*guarded, *notes),
            own_remedy=_remedy(explained, of_reasons, causes, compile),
            reason=reason,
        )


def _from_then_on(trace: Trace) -> str:
    """What runs in eager mode from then on. Torch 2.5 and older, of which texts alone show the limit, mark the code as one to be skipped:
    its cached graphs are not used any more (``torch/_dynamo/convert_frame.py``, ``torch/csrc/dynamo/eval_frame.c``).
    """
    if not trace.is_text:
        return "any call that misses the cache now runs in eager mode"
    minors = [int(minor) for minor in _MINOR.findall(trace.torch_version or trace.version_guess)]
    is_open = not trace.torch_version and trace.version_guess.endswith("older")
    if minors and max(minors) < _RUNS_CACHED:
        return "all calls of it now run in eager mode"
    if minors and min(minors) >= _RUNS_CACHED and not is_open:
        return "any call that misses the cache now runs in eager mode"
    return f"any call that misses the cache now runs in eager mode (before torch 2.{_RUNS_CACHED}, every call)"


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
    axes = _varying_axes(explained, frame)
    return Finding(
        rule=_NEAR,
        sentence=(
            f"{frame.title_of([last])} had {DEFAULT_LIMIT} cache entries before {last.shown_label}, the default limit: "
            f"unless that was raised, {last.shown_label} was refused, and any call that misses the cache runs in eager mode"
        ),
        compile=last.label,
        place=location_of(frame),
        details=axes,
        frame=frame,
        own_remedy=_remedy(explained, frame, ", ".join(axis for axis, _ in axes[:3]), last),
    )


def _notes(explained: Explanations, frame: Frame, hit: Compile, is_by_itself: bool) -> Iterator[str]:
    """What a text leaves open, or what is known of PyTorch's own code; ``is_by_itself``: no other rank has the reasons of this frame."""
    if _found_no_entry(hit):
        yield _NO_ENTRY
    if not explained.trace.is_text:
        return
    if frame.file.replace("\\", "/").endswith(_WRAPPERS):
        yield _SHARED
    if hit.metrics.lost_reasons and is_by_itself:
        yield _REASON_BELOW
    found = explained.of_frame(frame)
    cause = found[0].causes[0] if len(found) == 1 and found[0].causes else None
    if cause is not None and _is_one_of_few(cause) and not frame.entries and hit.id.compile > _MANY:
        yield f"this alone does not make {hit.id.compile} graphs: {_ALL_REASONS} prints why the others were not reused"
        return
    if cause and _PARAMETER in cause.codes and not frame.entries and hit.id.compile > DEFAULT_LIMIT:
        yield f"a model has parameters of a few shapes, not of {hit.id.compile}: {_ALL_REASONS} prints what else made the other graphs"
        return
    entries = {reason.entry for reason in hit.reasons}
    if cause and cause.rule.code == _INT and is_known_by_limit(frame) and len(entries) == 1 and (late := entry_number(*entries)) >= _MANY:
        yield (
            f"a mark alone may not help: {entries.pop()} came after {late} other graphs and is still static, as under dynamic=False, where "
            f"the code needs the exact value, or where other ints vary too; {_ALL_REASONS} shows which"
        )
        return
    if (
        cause is not None
        and cause.is_size
        and not cause.own_verdict
        and hit.metrics.assumes_entries
        and not frame.entries
        and hit.id.compile >= DEFAULT_LIMIT
    ):
        yield (
            f"a size that varies makes {hit.id.compile} graphs only if the code needs its exact value, or under dynamic=False: "
            f"{_ALL_REASONS} prints why the other graphs were not reused"
        )
        return
    if (
        cause is None
        or not (cause.is_size or cause.is_int)
        or cause.own_verdict
        or len(entries) > 1
        or hit.metrics.assumes_entries
        or frame.entries
        or hit.id.compile < _MANY
    ):
        return
    if found[0].blocking_rule:
        yield found[0].why_not_markable
    elif is_of_oldest_alone(hit) and cause.rule.code != _OF_MODULE:  # that of each module may differ
        first = f"the first of {hit.id.compile} cached graphs"
        yield (
            f"this is why {f'{entries.pop()}, {first},' if hit.shown_label else first} was not reused; what changed is symbolic in later "
            f"ones, unless automatic dynamic shapes are off or the code needs its exact value: {_ALL_REASONS} prints why those were not "
            "reused"
        )


def _is_one_of_few(cause: Cause) -> bool:
    """Whether it has two values, or three, which do not fill a cache alone."""
    is_there_or_not = cause.prop.kind in _THERE_OR_NOT and not is_of_hooks(cause.source)
    return not _FEW_VALUES.isdisjoint(cause.codes) or is_there_or_not


def _needs_others(cause: Cause) -> bool:
    """The same of what is not an input for the sake of a graph break, with which all its values go away."""
    return _is_one_of_few(cause) and not cause.source.is_unnamed


def lacks_reasons(explained: Explanations, frame: Frame) -> bool:
    """Whether a text has no reason for any recompilation of this code, nor guards that show one."""
    is_silent = explained.trace.is_text and not any(compile.reasons for compile in frame.compiles)
    return is_silent and not any(item.causes for item in explained.of_frame(frame))


def is_accumulated(compile: Compile) -> bool:
    """Whether a compile was refused since the entries of all objects that share its function are too many."""
    return compile.outcome is Outcome.LIMIT and "accumulated" in compile.metrics.fail_reason


def _found_no_entry(compile: Compile) -> bool:
    """Whether a call was refused for the number of compiles that the function had, while its cache was empty."""
    return is_accumulated(compile) and compile.metrics.recompile_reason == NO_REASON


def _line(explained: Explanations, frame: Frame) -> UserLine | None:
    """The line whose guard failed, where one reason is all that is known of the frame."""
    own = explained.of_frame(frame)
    line = next((cause.place for cause in own[0].causes if cause.place), None) if len(own) == 1 else None
    return line if line and not is_library(line.file) else None


def _file(short: str, frame: Frame) -> str:
    """The whole path of a file that PyTorch shortens, where it is that of the frame."""
    return frame.file if frame.file.replace("\\", "/").endswith(f"/{short}") else short


def _remedy(explained: Explanations, frame: Frame, causes: str, compile: Compile) -> str:
    """What to do about the entries that fill the cache. A higher limit does not help where no call passes a guard, nor above any number of
    graphs.
    """
    setting = explained.trace.version.limit_setting(is_accumulated(compile))
    text = _remedy_with_limit(explained, frame, causes, compile, setting)
    is_endless = any(reason.family == "guard_error" for reason in compile.reasons)
    is_endless = is_endless or (explained.trace.config.recompile_limit or 0) > _ANY_NUMBER
    return text.removesuffix(f"; or raise {setting}") if is_endless else text


def _remedy_with_limit(explained: Explanations, frame: Frame, causes: str, compile: Compile, setting: str) -> str:
    """Where the hit is all that is known, that is what helps against its own cause."""
    own = explained.of_frame(frame)
    if _found_no_entry(compile) and not any(item.causes for item in own):
        return f"{_DIED.remedy}; or raise {setting}"
    if lacks_reasons(explained, frame):
        return f"{_RECORD_AGAIN}; or raise {setting}"
    if len(own) == 1 and own[0].blocking_rule and (own[0].causes[0].is_size or own[0].causes[0].is_int):  # the code needs each of them
        may_be_static = is_known_by_limit(frame) and own[0].causes[0].is_size
        return f"{_DYNAMIC if may_be_static else ''}raise {setting} {_ABOVE_GRAPHS}"
    if not causes:
        remedies = {item.causes[0].own_remedy if item.causes else "" for item in own}
        only = remedies.pop() if len(remedies) == 1 else ""
        return f"{only}; or raise {setting}" if only else f"remove the causes of the recompilations, or raise {setting}"
    main = _main(own)
    if main is not None:
        text = Remedies(explained.trace.version).of_recompile(main).change  # accepting graphs keeps no code below the limit
        if text and _never_ends(own):
            return text
        if _RAISING in text:
            return text.replace(_RAISING, f"raise {setting} above")
        if text and explained.trace.is_text and not frame.entries and compile.id.compile > _MANY and _needs_others(main.causes[0]):
            text = f"{text}; {_OTHER_CAUSES}"
        above = f" {_ABOVE_MODULES}" if main.causes[0].rule.code == _OF_MODULE and is_of_oldest_alone(compile) else ""
        return f"{text}; or raise {setting}{above}" if text else f"raise {setting} {_ABOVE_GRAPHS}"
    left = [item for item in own if item.verdict is not Verdict.MARKING]
    if len(left) < len(own):
        # what needs a graph of its own, such as training and inference, is not to be kept the same
        has_room = compile.outcome is not Outcome.LIMIT and 2 * (1 + len(left)) <= len(frame.entries)
        others = "" if has_room else _what_else([item for item in left if not any(map(_is_needed, item.causes))])
        kept = f" and keep {others} the same in all calls" if others else ""
        return f"mark the sizes and ints that vary{kept}, or raise {setting}"
    if all(item.compile.outcome is Outcome.LIMIT for item in own):  # a text that has one reason for each of a few hits
        each = dict.fromkeys(Remedies(explained.trace.version).of_recompile(item).change for item in own)
        if len(each) <= _FEW and all(each):
            return f"{'; and '.join(each)}; or raise {setting}"
    return f"keep what adds cache entries the same in all calls ({_needing_entries(own) or causes}), or raise {setting}"


def _is_needed(cause: Cause) -> bool:
    """Whether each of two values needs a graph, such as those of ``training``, or None in place of a tensor."""
    return cause.needs_own_graph or cause.rule.code in (_TRAINING, _NONE)


def _what_else(left: Sequence[Recompile]) -> str:
    """What else than sizes and ints fills the cache, of the recompiles that marks leave."""
    causes = ([cause for cause in item.causes if not (cause.is_size or cause.is_int or marks_act_on(cause))] for item in left)
    return enumerated(_most_common(causes))


def _needing_entries(own: Sequence[Recompile]) -> str:
    """What keeps recompiles from sharing entries: what marks do not remove, and anything only where that is all a recompile has."""
    causes = ([cause for cause in item.causes if not marks_act_on(cause)] or item.causes for item in own)
    return ", ".join(_most_common(causes))


def _most_common(causes: Iterable[Sequence[Cause]]) -> list[str]:
    """What the causes that the most recompiles have are about, without earlier failures and the ends of objects, which are no values."""
    subjects = (dict.fromkeys(cause.subject for cause in found if cause.axis and cause.prop.kind not in _NO_VALUES) for found in causes)
    count = Counter(subject for found in subjects for subject in found)
    return [subject for subject, _ in count.most_common(3)]


def _main(own: Sequence[Recompile]) -> Recompile | None:
    """One that represents nearly all recompiles of a frame, by what it is blamed on first; None where they have several reasons."""
    blamed = [(item.verdict is Verdict.MARKING, item.causes[0].axis) for item in own if item.causes]
    (axis, number), *_ = Counter(blamed).most_common(1) or [((False, ""), 0)]
    if number * _NEARLY_ALL < len(own) * (_NEARLY_ALL - 1) or (len(own) > 1 and axis[0]):
        return None
    return next((item for item in own if item.causes and (item.verdict is Verdict.MARKING, item.causes[0].axis) == axis), None)


def _never_ends(own: Sequence[Recompile]) -> bool:
    """Whether a value that a graph break made an input, or a float, was another one each time: so it will be, however high the limit.

    A float that is an attribute may differ only because the object is another one of a few.
    """
    found = [item.causes[0] for item in own if item.causes]
    is_open = all(cause.source.is_on_stack or (cause.rule.code == _FLOAT and not cause.source.is_attribute) for cause in found)
    return is_open and len(found) >= _MANY and len({cause.after for cause in found}) == len(found)


def _last_reasons(explained: Explanations, frame: Frame, hit: Compile, is_known: bool) -> list[str]:
    """Why the calls that were refused needed another entry, where that is all that is known of the frame."""
    own = explained.of_frame(frame)
    if is_known:
        refused = [item for item in own if item.compile.outcome is Outcome.LIMIT]
        sentences = list(dict.fromkeys(cause.sentence for item in refused for cause in item.causes[:1]))
        shown = {cause.axis for item in own if item.compile.outcome is not Outcome.LIMIT for cause in item.causes}
        is_new = not any(cause.axis in shown for item in refused for cause in item.causes[:1])
        return sentences if is_new and len(sentences) <= _FEW else []
    if hit.reasons and hit.reasons[0].family in ("unexpected", "guard_error"):
        return [cause.sentence for item in own for cause in item.causes][:1]
    return [cut(one_line(hit.reasons[0].code), _LONGEST) or "blank, PyTorch gives none"] if hit.reasons else []


def _varying_axes(explained: Explanations, frame: Frame) -> tuple[tuple[str, str], ...]:
    """The axes whose change made the entries, by how many recompiles each took part in."""
    causes = ([cause for cause in item.causes if cause.prop.kind is not Kind.FAILURE] for item in explained.of_frame(frame))
    count = Counter(axis for found in causes for axis in dict.fromkeys(cause.axis for cause in found))
    total = len(explained.of_frame(frame))
    return tuple((axis, f"in {number} of {plural(total, 'recompilation')}") for axis, number in count.most_common(4))
