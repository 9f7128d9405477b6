"""What to do about a recompile: the very marks that remove it, or what its rule recommends. All formats take it from here."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import islice
from typing import NamedTuple

from shapelog.advice.marks import Mark, entries
from shapelog.advice.minimal_marks import MARKED_ALONE, HarmfulMark, HarmfulMarks, mark_for
from shapelog.advice.routes import Route
from shapelog.advice.suggestions import Suggestion, subject_of
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.properties import VALUE, Kind
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.recompiles.before_breaks import CHANGED_BEFORE
from shapelog.recompiles.causes import INT_RULES, Cause
from shapelog.recompiles.classification.floats import FLOAT_BRANCH, FLOAT_SAME_ARM
from shapelog.recompiles.classification.other_types import ONE_GRAPH_MODULE, SAME_CLASS
from shapelog.recompiles.classification.pins import ZERO_OR_ONE
from shapelog.recompiles.classification.result import MARK_FORWARD
from shapelog.recompiles.classification.sizes import COPY_ROW, NO_BREAK, OR_UNBACKED
from shapelog.recompiles.evidence.violation import constant_type
from shapelog.recompiles.int_usage import is_tested, spelled
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.refused_calls import is_known_by_limit, is_of_oldest_alone
from shapelog.recompiles.reuse.similar import runs_other_operations, similar
from shapelog.recompiles.verdict import BREAKS_ON_SYMBOL, CHANGES_STATE, KEPT_STATIC, ONLY_UNDER_DYNAMIC_FALSE
from shapelog.rules import RULES, UNEXPLAINED, Remedy, Rule, Verdict, any_blocks_marking, remedy_for
from shapelog.text import enumerated, names_of

# The most entries of the list that a sentence has in full, as characters, the most lines of code, and the most inputs.
_ENTRIES, _LINES, _NAMED = 120, 6, 3
# The entries that are asked whether they take a tensor.
_MOST_ENTRIES = 8
_INT = "SL102"
_SIZE, _ZERO_OR_ONE, _BY_FRAMEWORK, _OTHER_TYPE, _FLOAT, _LENGTH, _NONE = "SL101", "SL104", "SL202", "SL310", "SL312", "SL313", "SL322"
_PARAMETER, _OF_MODULE = "SL106", "SL315"
_TEXTS = ("str", "bytes")
_OBJECT_RULES = frozenset(("SL308", "SL319"))  # of one that each call makes
_COMPILE_FAILED = RULES["SL403"]
# What a mark saves is not known then.
_WITHOUT_GRAPH = (Verdict.LIMIT, Verdict.UNFINISHED)
# Where a size of 1 is computed from what varies: from an int, which cannot be unbacked, or a size, of which a part cannot be then.
_COMPUTED_SIZE_ONE = (
    "if only the warm-up makes a size of 1, warm up with larger sizes; "
    "otherwise accept the extra graph (PyTorch always specializes on sizes 0 and 1)"
)
# What to do about that where it is an int, which cannot be unbacked.
_PINNED_INT = "a library, an operator or the backend needs the exact int: accept one graph per value, or keep it out of the compiled code"
# Where the last reason at the recompile limit is about a size, and nothing shows what the other graphs are for.
_UNKNOWN_GRAPHS = (
    "record again with TORCH_LOGS=recompiles, which shows what the graphs of this code differ in, or raise the recompile limit"
)
# Where that is why the first graph was not reused; in later ones, the size is dynamic already.
_LATER_GRAPHS = "mark {what} as dynamic, and record again with TORCH_LOGS=recompiles, which shows why the later graphs were not reused"
_LATER_VALUES = "record again with TORCH_LOGS=recompiles, which shows why the later graphs were not reused"
# Where marking is not enough although what varies could be marked, for rules that recommend to mark something.
_WHERE_BLOCKED = {
    "SL105": "{clone}, and mark {what}",
    "SL321": "remove mark_static from the sizes that vary, or accept one graph per size",
    UNEXPLAINED.code: "paste the whole message: it has the reasons for the later entries",
}


class _Removal(NamedTuple):
    """What removes compiles: the words for the marks that do, and how to set them; "" where nothing does.

    ``taken_over`` are the marks that are not needed, on tensors that have their sizes from what is marked; ``marked`` are the sources of
    what is, ``are_ints`` whether these are ints alone.
    """

    what: str
    how: str
    taken_over: frozenset[Mark]
    marked: frozenset[str]
    are_ints: bool = False


# A change that names the sizes to be marked itself.
_MARKS = ", and mark "
_MADE_ANEW = (ONE_GRAPH_MODULE, SAME_CLASS)
FORBIDDEN_WITHOUT_REASON = (
    "look for the reasons in the lines below this error, or run the same calls without this setting and with TORCH_LOGS=recompiles"
)
# Of a tensor that was on the stack where a graph break ended the code before, where only code can mark.
_SIZE_WITHOUT_NAME = f"{NO_BREAK}, or mark the input that it is computed from as dynamic"
# What the code makes anew for larger inputs.
_LARGE_ENOUGH = (
    "make what {} holds large enough for every input before the first call, so that the code does not change it, or change it outside "
    "the compiled code"
)
# Of more inputs, a sentence names the first.
_MOST_SUBJECTS = 8
_PASTE_MORE = "add the lines with its reasons, which are not in this text, or record them: TORCH_LOGS=recompiles"


class Remedies:
    """The remedies of one run.

    ``version`` is the torch that the marks are for, ``left_out`` are marks that would do harm. ``served`` are the calls that need no
    compile of their own once all suggestions are followed, each with the route to the entry that takes it.
    """

    def __init__(
        self,
        version: TorchVersion,
        suggestions: Sequence[Suggestion] = (),
        left_out: Sequence[HarmfulMark] = (),
        served: Mapping[Compile, Route] | None = None,
    ) -> None:
        self._version = version
        self._served = served or {}
        self._by_mark = {mark: item for item in suggestions for mark in item.marks}
        self._by_id = {item.id: item for item in suggestions}
        self._suggestions = suggestions
        self._frames = [frozenset(item.frames) for item in suggestions]
        # The numbers of the suggestions that remove a compile, by its label.
        self._removing: dict[str, list[int]] = {}
        for number, item in enumerate(suggestions):
            for label in dict.fromkeys(item.gone):
                self._removing.setdefault(label, []).append(number)
        self._removals: dict[tuple[Compile, ...], _Removal] = {}
        self._obstacles: dict[Compile, bool] = {}
        self._of_compiles: dict[Compile, Remedy] = {}
        # The function with the input that a suggestion marks.
        self._titles: dict[tuple[str, Mark], str] = {}
        # The compiles of a frame that take an int or a tensor, with the number of its dims.
        self._inputs: dict[Frame, dict[Source, list[tuple[int, Compile]]]] = {}
        self._left_out = HarmfulMarks(left_out)
        # By the properties that they are about, and by their sources, which look different; the first counts.
        by_source: dict[str, Suggestion] = {item.source: item for item in reversed(suggestions)}
        self._by_name = by_source | {seen.name: item for item in reversed(suggestions) for seen in item.seen}
        self._of_errors: Mapping[tuple[Frame, str], str] = {}

    def with_errors(self, of_errors: Mapping[tuple[Frame, str], str]) -> "Remedies":
        """The same, with what to do about each compile that failed, by its frame and label, where more is known than its rule."""
        known = copy(self)
        known._of_errors = of_errors
        return known

    def of_recompile(self, item: Recompile) -> Remedy:
        """The marks against all its causes where marking is enough, else what to do about the cause that is the obstacle, or the error."""
        if item.compile not in self._of_compiles:
            self._of_compiles[item.compile] = self._of_recompile(item)
        return self._of_compiles[item.compile]

    def _of_recompile(self, item: Recompile) -> Remedy:
        if item.verdict is Verdict.FAILED and not item.compile.is_forbidden:
            return Remedy(_COMPILE_FAILED, self._of_errors.get((item.frame, item.compile.label)) or _COMPILE_FAILED.remedy)
        causes = _obstacle_first(item)
        known = self.of((item,), causes if item.verdict is Verdict.MARKING else causes[:1])
        return known._replace(text=self._marks_without_graph(item, causes) or self._with_others(known.text, item, causes))

    def _with_others(self, text: str, item: Recompile, causes: Sequence[Cause]) -> str:
        """What to change in the code for the first cause, and for one of the others as well where each has to go and needs another change.

        A second one is enough to see that the first alone is not.
        """
        if item.verdict is not Verdict.CODE or not causes:
            return text
        needed = (
            cause for cause in causes[1:] if cause.verdict is Verdict.CODE and not cause.size_related and not _goes_with(causes[0], cause)
        )
        also = dict.fromkeys(self.of((item,), (cause,)).text for cause in needed)
        sizes = [cause for cause in causes[1:] if is_marked_itself(cause) and not self._left_out.for_cause(cause)]
        is_listed = all(cause.axis in self._by_name for cause in sizes)
        marks = self._to_mark(sizes, with_entries=not is_listed) if _MARKS not in text else ""
        return "; and ".join(filter(None, [text, *[other for other in also if other != text][:1], marks]))

    def _marks_without_graph(self, item: Recompile, causes: Sequence[Cause]) -> str:
        """All that varied in a call of which there is no graph, where several marks are all that it takes; "" for any other."""
        if item.verdict not in _WITHOUT_GRAPH or not causes[1:] or is_of_oldest_alone(item.compile):
            return ""
        is_enough = all(is_marked_itself(cause) and not self._left_out.for_cause(cause) for cause in causes)
        return self._to_mark(causes) if is_enough and not any(_unless_none(item, cause) for cause in causes) else ""

    def of(self, recompiles: Sequence[Recompile], causes: Sequence[Cause]) -> Remedy:
        """What to do about recompiles of one code, with regard to causes that they have in common; () where none is known."""
        removable = [item for item in recompiles if item.verdict is Verdict.MARKING]
        # the one that something can be done about, else one to which nothing but these causes happened
        is_markable_alone = bool(causes) and all(cause.verdict is Verdict.MARKING and marks_act_on(cause) for cause in causes)
        first = min(recompiles, key=lambda item: (item.verdict is not Verdict.CODE, is_markable_alone and self._has_obstacle(item)))
        blocking = "" if removable else first.blocking_rule
        if blocking:
            return Remedy(RULES[blocking], _where_blocked(blocking, causes, first))
        if not causes and all(item.compile.is_forbidden for item in recompiles):
            return Remedy(UNEXPLAINED, FORBIDDEN_WITHOUT_REASON)
        if not causes:
            is_cut = all(item.compile.metrics.lost_reasons for item in recompiles)
            return Remedy(UNEXPLAINED, _PASTE_MORE if is_cut else UNEXPLAINED.remedy)
        rule = causes[0].remedy_rule
        if failed := next((cause for cause in causes if all(_failed_dynamic(item, cause) for item in recompiles)), None):
            return Remedy(rule, f"a mark does not help: {failed.axis} was dynamic in the compilation that failed")
        if skipped := next((cause for cause in causes if all(_skipped_dynamic(item, cause) for item in recompiles)), None):
            return Remedy(rule, f"a mark does not help: {skipped.axis} was dynamic in the compilation, which produced no code")
        if rule.code == _SIZE and causes[0].source.is_unnamed and not self._version.reads_sources:
            return Remedy(rule, _SIZE_WITHOUT_NAME)
        is_markable = removable or (rule.markable and not all(item.verdict.is_beyond_marks for item in recompiles))
        removed = [item for item in recompiles if self.removes(item)] if removable else []
        marked = self._marks_that_remove(removed, causes)
        if marked and not rule.markable:  # it is what else changed that is marked
            rule = RULES[_INT if self._removals[tuple(item.compile for item in removed)].are_ints else _SIZE]
        text = marked or (is_markable and self._marks(causes, by_source=bool(removable))) or self._other_mark(removable)
        pinned = _PINNED_INT if rule.code == _BY_FRAMEWORK and causes[0].is_int else ""
        other = (
            "" if text or removable else _obstacle_beside(first, causes) or _unbroken(first, causes[0]) or _tested_float(first, causes[0])
        )
        known = text or other or _shared_remedy(causes) or pinned or _dims_to_mark(rule, causes, first) or self._to_list(rule, causes[0])
        if (
            not known
            and rule.code in INT_RULES
            and rule.code != _OF_MODULE
            and is_known_by_limit(first.frame)
            and is_of_oldest_alone(first.compile)
        ):
            known = f"{remedy_for(rule, self._version.reads_sources)}; {_LATER_VALUES}"
        text = known or remedy_for(rule, self._version.reads_sources)
        if text.endswith(OR_UNBACKED) and takes_another_path(first):
            text = f"{text.removesuffix(OR_UNBACKED)}; the code runs other operations for this size"
        return Remedy(rule, text + _unless_none(first, causes[0]))

    def removes(self, item: Recompile) -> bool:
        """Whether marks remove this recompile, or a call that the limit refused."""
        return item.verdict is Verdict.MARKING or (item.verdict is Verdict.LIMIT and item.compile in self._served)

    def _has_obstacle(self, item: Recompile) -> bool:
        """Whether marks do not act on one of its causes: looked up once, not for each of them."""
        if item.compile not in self._obstacles:
            self._obstacles[item.compile] = not all(map(marks_act_on, item.causes))
        return self._obstacles[item.compile]

    def _marks_that_remove(self, removable: Sequence[Recompile], causes: Sequence[Cause]) -> str:
        """The very marks that remove these recompiles, be some of them on what other causes are about; "" where that is not known."""
        compiles = tuple(item.compile for item in removable)
        if compiles not in self._removals:
            self._removals[compiles] = self._removal(removable)
        removal = self._removals[compiles]
        return f"{removal.what}{_taken_over(removal, causes)}{removal.how}" if removal.what else ""

    def _removal(self, recompiles: Sequence[Recompile]) -> _Removal:
        routes = [route for item in recompiles if (route := self._served.get(item.compile))]
        marks = dict.fromkeys(mark for route in routes for mark in self._required(route))
        numbers = dict.fromkeys(self._by_mark[mark].id for mark in marks)
        narrowed = (self._by_id[number].narrowed_to(marks, self._version) for number in numbers)
        suggestions = self._named_for(recompiles, narrowed)
        needed = {mark for route in routes for choice in route.required_marks for mark in choice}
        taken_over = needed.difference(mark for item in suggestions for mark in item.marks)
        marked = frozenset(item.source for item in suggestions)
        what, how = _what_and_how(sorted(suggestions, key=lambda item: bool(item.function))) if suggestions else ("", "")
        are_ints = bool(suggestions) and all(mark.is_int for item in suggestions for mark in item.marks)
        return _Removal(what, how, frozenset(taken_over), marked, are_ints)

    def _named_for(self, recompiles: Sequence[Recompile], suggestions: Iterable[Suggestion]) -> list[Suggestion]:
        """Suggestions for these, each with the function that has the input where their own have none of that name."""
        frames = dict.fromkeys(each.frame for each in recompiles)
        varied = {cause.source for each in recompiles for cause in each.causes}
        return [self._with_function(item, frames, varied) for item in suggestions]

    def _with_function(self, item: Suggestion, frames: Iterable[Frame], varied: Container[Source]) -> Suggestion:
        mark = item.marks[-1]
        if (mark.is_int and mark.source in varied) or any(self._takers(frame, mark) for frame in frames):
            return item
        if (item.id, mark) not in self._titles:
            titles = (frame.title_of(takers) for frame in item.frames if (takers := self._takers(frame, mark)))
            self._titles[item.id, mark] = next(titles, "")
        title = self._titles[item.id, mark]
        return item.in_function(title, self._version) if title else item

    def _takers(self, frame: Frame, mark: Mark) -> list[Compile]:
        """The compiles for calls with the int or tensor that is to be marked, or with another one of its name and that many dims."""
        if frame not in self._inputs:
            found: dict[Source, list[tuple[int, Compile]]] = {}
            for compile in frame.entries[:_MOST_ENTRIES]:
                for source, dims in _inputs(compile):
                    found.setdefault(source, []).append((dims, compile))
            self._inputs[frame] = found
        return [compile for dims, compile in self._inputs[frame].get(mark.source, ()) if mark.is_int or dims > mark.dim]

    def _required(self, route: Route) -> Iterator[Mark]:
        """One mark of the list for each that a route needs."""
        for choice in route.required_marks:
            chosen = sorted(mark for mark in choice if mark in self._by_mark)
            if chosen:
                yield chosen[0]

    def _marks(self, causes: Sequence[Cause], by_source: bool) -> str:
        """The marks against these causes, or why there had better be none; "" where the advice has nothing about them.

        A mark on another property of the same source counts ``by_source``: it makes strides dynamic with a size, not their order, and no
        other size.
        """
        named = [
            self._by_name.get(cause.axis) or (self._by_name.get(cause.source) if by_source and cause.prop.kind is not Kind.SIZE else None)
            for cause in causes
        ]
        suggestions = {found.id: found for found in named if found}
        instead = next((item.remedy for item in map(self._left_out.for_cause, causes) if item), "")
        unlisted = [cause for cause, found in zip(causes, named, strict=True) if not found]
        of_forward = MARK_FORWARD if suggestions and any(cause.own_remedy == MARK_FORWARD for cause in unlisted) else ""
        others = [cause for cause in unlisted if instead.endswith(MARKED_ALONE) and is_marked_itself(cause)]
        others = [cause for cause in others if not self._left_out.for_cause(cause)]
        listed = _what_to_set(list(suggestions.values())) if suggestions else ""
        return "; and ".join(filter(None, (instead, self._to_mark(others, ", too"), of_forward, listed)))

    def _to_mark(self, causes: Sequence[Cause], more: str = "", with_entries: bool = True) -> str:
        """Marks on all of this, and the entries for them, whether the list for this trace has these or not."""
        subjects = sizes_and_ints(causes)
        listed = entries(map(mark_for, causes), self._version) if with_entries else ()
        if len(subjects) > _MOST_SUBJECTS:  # the parameters of another model
            subjects, listed = [subjects[0], f"{len(subjects) - 1} more inputs"], ()
        return f"mark {enumerated(subjects)} as dynamic{more}{f': {_to_add(listed)}' if listed else ''}" if subjects else ""

    def _to_list(self, rule: Rule, cause: Cause) -> str:
        """The entry for an int or a parameter that varied, where the list for this trace has none."""
        if cause.source.is_unnamed:
            return ""
        if rule.code == _PARAMETER and cause.prop.kind is Kind.SIZE:
            listed = entries([mark_for(cause)], self._version)
            weight = ", and its weight, which has this size as well" if cause.source.display_name.endswith("bias") else ""
            return f"parameters are static by default: {_to_add(listed)}{weight}, or accept one graph per shape" if listed else ""
        listed = entries([Mark(cause.source)], self._version) if rule.code in INT_RULES else ()
        return f"mark the int {cause.source.display_name} as dynamic: {_to_add(listed)}" if listed else ""

    def _other_mark(self, removable: Sequence[Recompile]) -> str:
        """The mark that removes one of them although it names something else: dynamism travels."""
        numbers = sorted({number for item in removable for number in self._removing.get(item.compile.label, ())})
        for frame, own in grouped(removable, lambda item: item.frame).items():
            for number in numbers:
                if frame in self._frames[number]:
                    return _what_to_set(self._named_for(own, [self._suggestions[number]]))
        return ""


def _inputs(compile: Compile) -> Iterator[tuple[Source, int]]:
    """What a call was made with, as far as it is recorded, with the number of dims of tensors."""
    yield from ((tensor.source, len(tensor.size)) for tensor in compile.inputs)
    yield from ((source, 0) for source in (compile.guards.guarded_values if compile.guards else ()))
    yield from ((symbol.source.unwrapped, 0) for symbol in compile.symbols)


def takes_another_path(item: Recompile) -> bool:
    """Whether the code runs other operations than for the nearest entry, and nothing but sizes and ints changed."""
    return all(cause.size_related for cause in item.causes) and runs_other_operations(item.compile, item.nearest)


def _obstacle_first(item: Recompile) -> list[Cause]:
    """Its causes: one that needs a graph of its own first, then those that the verdict is about, of these what each call makes anew first,
    and sizes last. One of several ints that are pinned is last if it is 0 or 1, and so is the length of a list whose items are of other
    types, which need other graphs at any length. The sizes of what a list holds come after its length.
    """
    of_items = item.sizes_of_items
    of_other_types = [cause for cause in item.causes if cause.rule.code == _OTHER_TYPE]

    def rank(cause: Cause) -> tuple[bool, ...]:
        blocks = any_blocks_marking(cause.codes)
        is_removed = item.verdict is not Verdict.MARKING and not blocks
        is_another = {
            Verdict.CODE: cause.verdict is not Verdict.CODE,
            Verdict.JUSTIFIED: not blocks and cause.verdict is not Verdict.JUSTIFIED,
        }.get(item.verdict, False)
        is_kept = cause.own_remedy not in _MADE_ANEW
        holds_others = cause.rule.code == _LENGTH and any(other.source.is_below(cause.source) for other in of_other_types)
        is_small_int = cause.own_remedy == ZERO_OR_ONE
        return (
            cause in of_items,
            not cause.needs_own_graph,
            is_another,
            is_kept,
            cause.size_related,
            is_removed,
            is_small_int or holds_others,
        )

    return sorted(item.causes, key=rank)


def _obstacle_beside(item: Recompile, causes: Sequence[Cause]) -> str:
    """Why it saves nothing to mark what varied, where marks act on that and the call needs a graph of its own for another cause."""
    if not item.verdict.is_beyond_marks or not all(cause.verdict is Verdict.MARKING and marks_act_on(cause) for cause in causes):
        return ""
    other = next((cause for cause in item.causes if not marks_act_on(cause)), None)
    return f"a mark alone does not help: {other.subject} changed too ({other.remedy_rule.code})" if other else ""


def _goes_with(first: Cause, other: Cause) -> bool:
    """Whether what is done about the first cause does away with the other: what it holds, and objects that are made together with it."""
    are_objects = first.rule.code in _OBJECT_RULES and other.rule.code in _OBJECT_RULES
    return are_objects or (bool(first.source) and other.source.is_below(first.source))


def _failed_dynamic(item: Recompile, cause: Cause) -> bool:
    """Whether PyTorch had made dynamic what varied, and the compilation failed."""
    if item.verdict is not Verdict.FAILED or item.compile.is_forbidden:
        return False
    place = cause.source, "scalar" if cause.is_int else str(cause.prop.dim)
    return any((event.source, event.dim) == place for event in item.compile.automatic_dynamic)


def _skipped_dynamic(item: Recompile, cause: Cause) -> bool:
    """Whether what varied had a symbol in a compilation that produced no code."""
    name = cause.source if cause.is_int else f"{cause.source}.{cause.prop.kind.value}()[{cause.prop.dim}]"
    return item.verdict is Verdict.SKIPPED and cause.rule.markable and any(symbol.source == name for symbol in item.compile.symbols)


def _unbroken(item: Recompile, cause: Cause) -> str:
    """What to do about a value that has no name: it was on the stack where a graph break ended the code before.

    No compiled code can make a GraphModule, or the same class twice.
    """
    verdict = cause.verdict if item.compile.outcome is Outcome.LIMIT else item.verdict
    if not cause.source.is_unnamed or verdict is not Verdict.CODE or cause.own_remedy in _MADE_ANEW or CHANGED_BEFORE in cause.own_remedy:
        return ""
    if cause.rule.code in _OBJECT_RULES:
        return f"{cause.own_remedy or cause.rule.remedy}, or {NO_BREAK}"
    # a tensor, None or a text cannot be kept in one
    is_value = cause.prop.kind is Kind.VALUE and cause.rule.code != _NONE and constant_type(cause.before) not in _TEXTS
    return f"{NO_BREAK}, or keep it in a tensor" if is_value else NO_BREAK


def _unless_none(item: Recompile, cause: Cause) -> str:
    """What to do about an int whose new value is not known, in a call that was refused, where another call had None in its place."""
    if not item.compile.is_refused or cause.after or cause.rule.code not in INT_RULES:
        return ""
    none = (other for other in item.frame.compiles if other.guards and str(other.guards.facts.get((cause.source, VALUE))) == "None")
    return next((f"; where it is None, as in {other.label}, it needs a graph of its own" for other in none), "")


def _shared_remedy(causes: Sequence[Cause]) -> str:
    """The remedy of the first cause, unless the same property changed in another way as well, for which the rule's own is the remedy."""
    first = causes[0]
    same = (cause for cause in causes if cause.remedy_rule is first.remedy_rule and cause.axis == first.axis)
    return first.own_remedy if all(cause.own_remedy for cause in same) else ""


def _tested_float(item: Recompile, cause: Cause) -> str:
    """What to do about a float that a line branches on, where a tensor in its place would break the graph.

    Where the line needs the exact float and the graphs are similar, it is not the branch that does, but a call in its condition.
    """
    is_of_call = cause.needs_own_graph and item.nearest is not None and similar(item.nearest, item.compile)
    is_own = cause.rule.code == _FLOAT and cause.place and not is_library(cause.place.file)
    is_known = cause.own_remedy in (FLOAT_BRANCH, FLOAT_SAME_ARM)
    is_branch = is_own and not is_known and cause.place and is_tested(cause.place.code, spelled(cause.source), not is_of_call)
    return "replace the branch on this float by torch.where on a tensor, or accept one graph per value" if is_branch else ""


def marks_act_on(cause: Cause) -> bool:
    """Whether a mark on what varied is all that this cause needs."""
    return cause.size_related and cause.rule.markable and not any_blocks_marking(cause.codes) and not cause.own_verdict


def sizes_and_ints(causes: Iterable[Cause]) -> list[str]:
    """What these causes are about, as far as it is sizes and ints: ``the int k``, ``dims 2 and 3 of x``."""
    found = list(causes)
    ints = dict.fromkeys(f"the int {cause.source.display_name}" for cause in found if cause.is_int)
    return [*ints, *_sizes_of(found)]


def is_marked_itself(cause: Cause) -> bool:
    """Whether it is about a size or an int that has a name, and a mark on that is all it needs."""
    return marks_act_on(cause) and (cause.prop.kind is Kind.SIZE or (cause.is_int and not cause.source.is_unnamed))


def _where_blocked(code: str, causes: Sequence[Cause], blocked: Recompile) -> str:
    """What to do where this rule is the obstacle."""
    if code == _BY_FRAMEWORK and causes and all(cause.is_int for cause in causes):
        return _PINNED_INT
    if code == _ZERO_OR_ONE and causes and not any(code in cause.codes for cause in causes):
        return _COMPUTED_SIZE_ONE
    if blocked.compile.outcome is Outcome.LIMIT and is_known_by_limit(blocked.frame):
        return _UNKNOWN_GRAPHS
    if blocked.why_not_markable.startswith(CHANGES_STATE):
        changed = blocked.why_not_markable.removeprefix(CHANGES_STATE).partition(" ")[0]
        return _LARGE_ENOUGH.format(changed)
    if blocked.why_not_markable.startswith(ONLY_UNDER_DYNAMIC_FALSE):
        return f"leave out dynamic=False where it is set; otherwise {RULES[code].remedy}"
    listed, is_kept, _ = blocked.why_not_markable.partition(KEPT_STATIC)
    if is_kept:
        return f"remove {listed} from torch.compiler.config.static_sources and mark {_varying(blocked.causes) or 'what varies'}"
    _, is_broken, place = blocked.why_not_markable.partition(BREAKS_ON_SYMBOL)
    if is_broken:
        return f"remove the graph break at {place}, and mark {_varying(blocked.causes) or 'what varies'}"
    text = _WHERE_BLOCKED.get(code)
    of = {cause.source.tensor_part.tensor if cause.source.tensor_part else cause.source for cause in blocked.causes}
    has_row = any(1 in tensor.size for tensor in blocked.compile.inputs if tensor.source in of)  # of which clone() keeps the strides
    clone = COPY_ROW if has_row else "clone() the slice or view before the call"
    return text.format(what=_varying(blocked.causes) or "what varies in it", clone=clone) if text else RULES[code].remedy


def _dims_to_mark(rule: Rule, causes: Sequence[Cause], item: Recompile) -> str:
    """The dims whose sizes varied, where the rule is to mark them and the list for this trace has none of them."""
    what = _varying(causes) if rule.code == _SIZE else ""
    if what and is_known_by_limit(item.frame) and is_of_oldest_alone(item.compile):
        return _LATER_GRAPHS.format(what=what)
    return f"mark {what} as dynamic so that one graph handles every size" if what else ""


def _varying(causes: Sequence[Cause]) -> str:
    subjects = _sizes_of(causes)
    return _first_of(subjects, len(subjects))


def _sizes_of(causes: Sequence[Cause]) -> list[str]:
    """The dims that these causes are about, by tensor: ``dims 2 and 3 of x``."""
    by_source = grouped((cause for cause in causes if cause.prop.kind is Kind.SIZE), lambda cause: cause.source.display_name)
    return [subject_of(name, sorted({cause.prop.dim for cause in own}), False) for name, own in by_source.items()]


def _first_of(subjects: Iterable[str], number: int, whose: str = "") -> str:
    """All of a few subjects; of many the first, and how many more there are, and ``whose`` these are."""
    named = list(islice(subjects, number if number <= _NAMED else 1))
    more = number - len(named)
    return enumerated([*named, *([f"{more} more inputs{whose}"] if more else [])])


def _elsewhere(suggestions: Sequence[Suggestion]) -> str:
    """Which of these inputs are those of other functions: `` in embed``, `` (2 of them in embed and head)``."""
    others = [item.function for item in suggestions if item.function]
    named = names_of(list(dict.fromkeys(others)))
    named += " functions" if named.endswith(" more") else ""
    if len(others) == len(suggestions):
        return f" in {named}"
    return f" ({len(others)} of them in {named})" if others else ""


def _taken_over(removal: _Removal, causes: Sequence[Cause]) -> str:
    """What varied and is not marked itself, as it has its size from what is: the output of compiled code; "" where there is nothing.

    A dim is named where another one of its tensor is marked.
    """
    found = [cause for cause in causes if cause.prop.is_of_dim and Mark(cause.source, cause.prop.dim) in removal.taken_over]
    names = list(dict.fromkeys(cause.subject if cause.source in removal.marked else cause.source.display_name for cause in found))
    size, follow = ("sizes", "follow") if len(names) > 1 else ("size", "follows")
    return f" (the {size} of {_first_of(names, len(names))} {follow} from this)" if names else ""


def _what_to_set(suggestions: Sequence[Suggestion]) -> str:
    return "".join(_what_and_how(suggestions))


def _what_and_how(suggestions: Sequence[Suggestion]) -> tuple[str, str]:
    """The words for suggestions, and what to type, behind a colon; where there are many of either, how many."""
    if len(suggestions) == 1:
        words = suggestions[0].recommendation
    else:
        subjects = (item.subject.rstrip(",") for item in suggestions)
        words = f"mark {_first_of(subjects, len(suggestions), _elsewhere(suggestions[1:]))} as dynamic"
    listed = [entry for item in suggestions for entry in item.entries]
    if listed:
        if len(listed) > 1 and len(",".join(listed)) > _ENTRIES:
            return words, f": shapelog suggest-dynamic lists the {len(listed)} entries for TORCH_COMPILE_DYNAMIC_SOURCES"
        return words, f": {_to_add(listed)}"
    lines = [line.partition("  #")[0] for item in suggestions for line in item.python if not line.startswith("#")]
    return words, f": {'; '.join(lines[:_LINES])}{'; …' if len(lines) > _LINES else ''}" if lines else ""


def _to_add(listed: Sequence[str]) -> str:
    return f"add {','.join(listed)} to TORCH_COMPILE_DYNAMIC_SOURCES"
