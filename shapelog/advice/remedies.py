"""What to do about a recompile: the very marks that remove it, or what its rule recommends. All formats take it from here."""

from collections.abc import Sequence

from shapelog.advice.minimal_marks import HarmfulMark
from shapelog.advice.suggestions import Suggestion
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Recompile
from shapelog.rules import RULES, UNEXPLAINED, Remedy, Verdict, any_blocks_marking, remedy_for

# The most entries of the list that a sentence has in full, as characters, and the most lines of code.
_ENTRIES, _LINES = 80, 6
_NOT_BY_MARKS = (Verdict.CODE, Verdict.JUSTIFIED)
_BY_FRAMEWORK = "SL202"
# What to do about that where it is an int, which cannot be unbacked.
_PINNED_INT = "a library, an operator or the backend needs the exact int: accept one graph per value, or keep it out of the compiled code"
# Where marking is not enough although what varies could be marked, for rules that recommend to mark something.
_WHERE_BLOCKED = {
    "SL105": "clone() the slice or view, and mark what varies in it",
    "SL321": "remove mark_static from what varies, or accept one graph per size",
}


class Remedies:
    """The remedies of one run.

    ``reads_sources`` is whether its torch has a list of dynamic sources; ``left_out`` are marks that would do harm.
    """

    def __init__(self, reads_sources: bool, suggestions: Sequence[Suggestion] = (), left_out: Sequence[HarmfulMark] = ()) -> None:
        self._reads_sources = reads_sources
        self._suggestions = suggestions
        self._frames = [frozenset(item.frames) for item in suggestions]
        # The numbers of the suggestions that remove a compile, by its label.
        self._removing: dict[str, list[int]] = {}
        for number, item in enumerate(suggestions):
            for label in dict.fromkeys(item.gone):
                self._removing.setdefault(label, []).append(number)
        self._left_out = {item.mark.source: item for item in left_out}
        # By the properties that they are about, and by their sources, which look different; the first counts.
        by_source: dict[str, Suggestion] = {item.source: item for item in reversed(suggestions)}
        self._by_name = by_source | {seen.name: item for item in reversed(suggestions) for seen in item.seen}

    def of_recompile(self, item: Recompile) -> Remedy:
        """The marks against all its causes where marking is enough, else what to do about the cause that is the obstacle."""
        is_enough = item.verdict is Verdict.MARKING
        causes = sorted(item.causes, key=lambda cause: (cause.size_related, not (is_enough or any_blocks_marking(cause.codes))))
        return self.of((item,), causes if is_enough else causes[:1])

    def of(self, recompiles: Sequence[Recompile], causes: Sequence[Cause]) -> Remedy:
        """What to do about recompiles of one code, with regard to causes that they have in common; () where none is known."""
        removable = [item for item in recompiles if item.verdict is Verdict.MARKING]
        first = min(recompiles, key=lambda item: item.verdict is not Verdict.CODE)  # the one that something can be done about
        blocking = "" if removable else first.blocking_rule
        if blocking:
            return Remedy(RULES[blocking], _where_blocked(blocking, causes))
        if not causes:
            return Remedy(UNEXPLAINED, UNEXPLAINED.remedy)
        rule = causes[0].remedy_rule
        is_markable = removable or (rule.markable and not all(item.verdict in _NOT_BY_MARKS for item in recompiles))
        text = (is_markable and self._marks(causes, by_source=bool(removable))) or self._other_mark(removable)
        pinned = _PINNED_INT if rule.code == _BY_FRAMEWORK and causes[0].is_int else ""
        other = "" if text or removable else _obstacle_beside(first, causes) or _unbroken(first, causes[0])
        return Remedy(rule, text or other or causes[0].own_remedy or pinned or remedy_for(rule, self._reads_sources))

    def _marks(self, causes: Sequence[Cause], by_source: bool) -> str:
        """The marks against these causes, or why there had better be none; "" where the advice has nothing about them.

        A mark on another property of the same source counts ``by_source``: it makes strides dynamic with a size, not their order.
        """
        named = (self._by_name.get(cause.axis) or (self._by_name.get(cause.source) if by_source else None) for cause in causes)
        suggestions = {found.id: found for found in named if found}
        if suggestions:
            return _what_to_set(list(suggestions.values()))
        return next((self._left_out[cause.source].remedy for cause in causes if cause.source in self._left_out), "")

    def _other_mark(self, removable: Sequence[Recompile]) -> str:
        """The mark that removes one of them although it names something else: dynamism travels."""
        numbers = sorted({number for item in removable for number in self._removing.get(item.compile.label, ())})
        for frame in dict.fromkeys(item.frame for item in removable):
            for number in numbers:
                if frame in self._frames[number]:
                    return _what_to_set([self._suggestions[number]])
        return ""


def _obstacle_beside(item: Recompile, causes: Sequence[Cause]) -> str:
    """Why it saves nothing to mark what varied, where marks act on that and the call needs a graph of its own for another cause."""
    if item.verdict not in _NOT_BY_MARKS or not all(cause.verdict is Verdict.MARKING and _is_markable(cause) for cause in causes):
        return ""
    other = next((cause for cause in item.causes if not _is_markable(cause)), None)
    return f"marking it alone saves no compilation: {other.axis} changed too ({other.remedy_rule.code})" if other else ""


def _unbroken(item: Recompile, cause: Cause) -> str:
    """What to do about a value that has no name: it was on the stack where a graph break ended the code before."""
    is_nameless = cause.source.is_unnamed and item.verdict is Verdict.CODE
    return "remove the graph break that makes this value an input, or keep it in a tensor" if is_nameless else ""


def _is_markable(cause: Cause) -> bool:
    return cause.size_related and cause.rule.markable and not any_blocks_marking(cause.codes) and not cause.own_verdict


def _where_blocked(code: str, causes: Sequence[Cause]) -> str:
    """What to do where this rule is the obstacle."""
    if code == _BY_FRAMEWORK and causes and all(cause.is_int for cause in causes):
        return _PINNED_INT
    return _WHERE_BLOCKED.get(code, RULES[code].remedy)


def _what_to_set(suggestions: list[Suggestion]) -> str:
    """The words and the entries of suggestions; where there are many, how many."""
    more = f", and {len(suggestions) - 1} more with it" if len(suggestions) > 1 else ""
    words = f"{suggestions[0].recommendation}{more}"
    entries = [entry for item in suggestions for entry in item.entries]
    if entries:
        whole = ",".join(entries)
        shown = whole if len(entries) == 1 or len(whole) <= _ENTRIES else f"{entries[0]} and {len(entries) - 1} more"
        return f"{words}: add {shown} to TORCH_COMPILE_DYNAMIC_SOURCES"
    lines = [line.partition("  #")[0] for item in suggestions for line in item.python if not line.startswith("#")]
    return f"{words}: {'; '.join(lines[:_LINES])}{'; …' if len(lines) > _LINES else ''}" if lines else words
