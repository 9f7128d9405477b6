"""What to do about a recompile limit that was hit, or nearly: against what fills the cache, or a higher limit."""

from collections import Counter
from collections.abc import Iterable, Sequence

from shapelog.advice.remedies import Remedies, marks_act_on
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.recompile_reasons import NO_REASON
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.classification.containers import is_of_hooks
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.refused_calls import is_known_by_limit, is_of_oldest_alone
from shapelog.rules import RULES, Verdict
from shapelog.text import enumerated

# Of fewer entries, each may have been made for the same reason.
MANY = 3
_DIED = RULES["SL319"]
# A limit that nobody sets but to have none.
_ANY_NUMBER = 100_000
# The most recompiles whose remedies are named one by one.
_FEW = 2
# One reason represents all if at most one recompile in five has another.
_NEARLY_ALL = 5
_PASS = "pass the float"
_NO_VALUES = (Kind.FAILURE, Kind.LIFETIME)
OF_MODULE = "SL315"
_ABOVE_MODULES = "above the number of modules, where each has its own value"
_FLOAT, _TRAINING, _NONE = "SL312", "SL316", "SL322"
# What has two values, or three.
_FEW_VALUES = frozenset({"SL104", "SL107", "SL301", "SL302", "SL305", "SL306", "SL307", _TRAINING, _NONE})
_THERE_OR_NOT = frozenset((Kind.HAS, Kind.HAS_ATTRIBUTE, Kind.PRESENT))
_RECORD_AGAIN = "find the causes of the recompilations with TORCH_LOGS=recompiles, and remove them"
_OTHER_CAUSES = "find the other causes with TORCH_LOGS=recompiles"
_RAISING = "raise the recompile limit above"
_DYNAMIC = "leave out dynamic=False where it is set; otherwise "
_ABOVE_GRAPHS = "above the number of graphs that the code needs"


def is_accumulated(compile: Compile) -> bool:
    """Whether a compile was refused since the entries of all objects that share its function are too many."""
    return compile.outcome is Outcome.LIMIT and "accumulated" in compile.metrics.fail_reason


def found_no_entry(compile: Compile) -> bool:
    """Whether a call was refused for the number of compiles that the function had, while its cache was empty."""
    return is_accumulated(compile) and compile.metrics.recompile_reason == NO_REASON


def lacks_reasons(explained: Explanations, frame: Frame) -> bool:
    """Whether a text has no reason for any recompilation of this code, nor guards that show one."""
    is_silent = explained.trace.is_text and not any(compile.reasons for compile in frame.compiles)
    return is_silent and not any(item.causes for item in explained.of_frame(frame))


def is_one_of_few(cause: Cause) -> bool:
    """Whether it has two values, or three, which do not fill a cache alone."""
    is_there_or_not = cause.prop.kind in _THERE_OR_NOT and not is_of_hooks(cause.source)
    return not _FEW_VALUES.isdisjoint(cause.codes) or is_there_or_not


def _needs_others(cause: Cause) -> bool:
    """The same of what is not an input for the sake of a graph break, with which all its values go away."""
    return is_one_of_few(cause) and not cause.source.is_unnamed


def limit_remedy(explained: Explanations, frame: Frame, causes: str, compile: Compile) -> str:
    """What to do about the entries that fill the cache. A higher limit does not help where no call passes a guard, nor above any number of
    graphs.
    """
    setting = explained.trace.version.limit_setting(is_accumulated(compile))
    text = _with_limit(explained, frame, causes, compile, setting)
    is_endless = any(reason.family == "guard_error" for reason in compile.reasons)
    is_endless = is_endless or (explained.trace.config.recompile_limit or 0) > _ANY_NUMBER
    return text.removesuffix(f"; or raise {setting}") if is_endless else text


def _with_limit(explained: Explanations, frame: Frame, causes: str, compile: Compile, setting: str) -> str:
    """Where the hit is all that is known, that is what helps against its own cause."""
    own = explained.of_frame(frame)
    if found_no_entry(compile) and not any(item.causes for item in own):
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
        if text and explained.trace.is_text and not frame.entries and compile.id.compile > MANY and _needs_others(main.causes[0]):
            text = f"{text}; {_OTHER_CAUSES}"
        above = f" {_ABOVE_MODULES}" if main.causes[0].rule.code == OF_MODULE and is_of_oldest_alone(compile) else ""
        return f"{text}; or raise {setting}{above}" if text else f"raise {setting} {_ABOVE_GRAPHS}"
    left = [item for item in own if item.verdict is not Verdict.MARKING]
    if len(left) < len(own):
        # what needs a graph of its own, such as training and inference, is not to be kept the same
        has_room = compile.outcome is not Outcome.LIMIT and 2 * (1 + len(left)) <= len(frame.entries)
        others = "" if has_room else _what_else([item for item in left if not any(map(_is_needed, item.causes))])
        kept = f" and keep {others} the same in all calls" if others else ""
        return f"mark the sizes and ints that vary{kept}, or raise {setting}"
    changes = Counter(Remedies(explained.trace.version).of_recompile(item).change for item in own)
    if len(changes) <= _FEW and all(changes) and all(item.compile.outcome is Outcome.LIMIT for item in own):
        return f"{'; and '.join(changes)}; or raise {setting}"  # a text has one reason for each of a few hits
    floats = [item.causes[0] for item in own if item.causes and item.causes[0].rule.code == _FLOAT]
    usual, number = changes.most_common(1)[0]
    if floats and usual.startswith(_PASS) and 2 * number >= len(own):  # a float is another one in most calls, and cannot be kept the same
        return f"{usual.replace(_PASS, f'{_PASS} {_most_common([floats])[0]}', 1)}; or raise {setting}"
    return f"keep what adds cache entries the same in all calls ({_needing_entries(own) or causes}), or raise {setting}"


def _is_needed(cause: Cause) -> bool:
    """Whether each of two values needs a graph, such as those of ``training``, or None in place of a tensor."""
    return cause.needs_own_graph or cause.rule.code in (_TRAINING, _NONE)


def _what_else(left: Sequence[Recompile]) -> str:
    """What else than sizes and ints fills the cache, of the recompiles that marks leave."""
    causes = ([cause for cause in item.causes if not (cause.is_size or cause.is_int or marks_act_on(cause))] for item in left)
    return enumerated(_most_common(causes))


def _needing_entries(own: Sequence[Recompile]) -> str:
    """What keeps recompiles from sharing entries: what marks do not remove, and anything only where that is all a recompile has.

    What has two values, such as the grad mode, is left out where more than that fills the cache, unless the code can be changed.
    """
    many = [item for item in own if item.verdict is Verdict.CODE or not all(map(is_one_of_few, item.causes))] or own
    causes = ([cause for cause in item.causes if not marks_act_on(cause)] or item.causes for item in many)
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
    return is_open and len(found) >= MANY and len({cause.after for cause in found}) == len(found)
