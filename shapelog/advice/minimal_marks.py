"""Which marks to put on the list: all that would help, without those that could do harm, and without those that save no compile."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import chain, product
from typing import NamedTuple

from shapelog.advice.dynamism.equal_sizes import equal_sizes
from shapelog.advice.mark_dynamic_code import mark_line
from shapelog.advice.marks import Mark, mark_at
from shapelog.advice.replay import Marks, Replay
from shapelog.advice.routes import Route
from shapelog.advice.savings import Savings
from shapelog.advice.source_index import SourceIndex
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, GraphBreak, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.properties import Kind, size
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.int_usage import QuotedCode, Use, spelled, use_in
from shapelog.recompiles.nearest_entry import MOST_COMPARED
from shapelog.recompiles.reuse.held_guards import guards_hold
from shapelog.text import one_line, some

_NOT_YOURS = "entries match by name in every frame, and the code that needs the mark is a library's, where you cannot rename it"
MARKED_ALONE = "which marks this tensor alone"
_NOT_ALL_SEEN = "and the trace does not show everything it does with it"
_FIX_FIRST = "fix the error and then mark it, or keep it static: torch.compile(..., dynamic=False)"


# A line that counts.
_COUNTS = re.compile(r"\s*(?:[\w.]*\.)?(\w+)\s*[+-]=")
# In a sentence about several of them.
_ANY = "any of these"


class HarmfulMark(NamedTuple):
    """A mark that would save compiles and is not on the list, and why. ``frame`` is where it would do harm."""

    mark: Mark
    frame: Frame
    reason: str
    remedy: str


class Harm(NamedTuple):
    """Why some marks were left out, which do the same harm at one place, and what to do about it."""

    names: tuple[str, ...]
    reason: str
    remedy: str


def harms(left_out: Iterable[HarmfulMark]) -> list[Harm]:
    """The reasons why marks were left out, each once, in the order of the first marks."""
    found = grouped(left_out, lambda item: tuple(_of_any(text, item.mark) for text in (item.reason, item.remedy)))
    return [
        Harm(tuple(item.mark.name for item in same), *(texts if same[1:] else (same[0].reason, same[0].remedy)))
        for texts, same in found.items()
    ]


def _of_any(text: str, mark: Mark) -> str:
    return re.sub(rf"(?<![\w.]){re.escape(mark.name)}(?!\w)", _ANY, text)


def mark_for(cause: Cause) -> Mark:
    """The mark on the size or int that a cause is about."""
    return Mark(cause.source, cause.prop.dim) if cause.prop.kind is Kind.SIZE else mark_at(cause.source)


class HarmfulMarks:
    """Those that were left out, by the causes that they would have removed."""

    def __init__(self, left_out: Iterable[HarmfulMark]) -> None:
        self._by_source = grouped(left_out, lambda item: item.mark.source)

    def for_cause(self, cause: Cause) -> HarmfulMark | None:
        """The one that would have removed it, None without one; where a stride changed, any on its tensor."""
        mark = mark_for(cause)
        is_stride = mark.is_int and not cause.is_int
        found = (item for item in self._by_source.get(mark.source, ()) if is_stride or item.mark == mark)
        return next(found, None)


class MarkSelection(NamedTuple):
    """A minimal list: each unit of ``marks`` (one dim, or from torch 2.7 to 2.12 one source) saves at least one compile, or keeps one that
    goes from coming back.

    ``is_minimal`` is False where not all of the calls that depend on one another were followed, because there are too many.
    """

    marks: Marks
    left_out: tuple[HarmfulMark, ...]
    is_minimal: bool = True


def select_marks(explained: Explanations, replayed: Replay, version: TorchVersion) -> MarkSelection:
    """The minimal list for this version. Before 2.7 it holds what ``mark_dynamic`` can mark: tensors that are no parameters."""
    wanted = {mark for plan in replayed.plans for mark in plan.marks}
    left_out: list[HarmfulMark] = []
    index = SourceIndex(explained)
    harm = _Harm(explained.facts, replayed, index)
    for mark in sorted(wanted):
        harmful = harm.of(mark)
        if harmful is not None:
            left_out.append(harmful)
            wanted.discard(mark)
    if not version.reads_sources:
        first = (frame.compiles[0] for frame in explained.trace.frames)
        parameters = {item.source for compile in first for item in compile.inputs if item.is_parameter}
        wanted = {mark for mark in wanted if not (mark.is_int or mark.source.is_registered or mark.source in parameters)}
    savings = Savings(replayed, frozenset(wanted))
    causes = {(cause.source, cause.prop.dim) for item in explained.recompiles for cause in item.causes}
    named = {mark for mark in wanted if (mark.source, mark.dim) in causes}
    _drop_useless(savings, replayed, version, named)
    every = frozenset(wanted.union(item.mark for item in left_out))  # a mark may help only together with others
    with_harmful = Savings(replayed, every)
    saving: list[HarmfulMark] = []
    for item in reversed(left_out):  # of two that would save the same, the first
        if with_harmful.lost_without([item.mark]).total > 0:
            saving.append(item)
        else:
            with_harmful.drop([item.mark])
    saving.reverse()
    chosen, is_minimal = frozenset(savings.chosen), savings.steps_left > 0
    wider = chain(_widening(replayed, chosen, explained.facts, index), _counters(explained, replayed, chosen))
    widening = {mark for mark in wider if harm.of(mark) is None and (version.reads_dims or not version.reads_sources)}
    if widening:  # with these, marks on what follows from them may save nothing more
        savings = Savings(replayed, chosen | widening)
        _drop_useless(savings, replayed, version, named, kept=widening)
        chosen = frozenset(savings.chosen)
    return MarkSelection(chosen, tuple(saving), is_minimal)


def _widening(replayed: Replay, chosen: Marks, facts: FactTable, index: SourceIndex) -> Iterator[Mark]:
    """Further sizes and ints that a compile which goes had symbolic, and that take several values above 1; and those of the bases of
    tensors on the list.

    Without them, what takes its place is for one of these values alone, and calls that hit the cache before compile again. The sizes that
    the code needs equal to one of them are marked with it: where one is static, all are.
    """
    listed = {mark.source for mark in chosen}
    found: list[tuple[Compile, Route, set[Mark]]] = []
    for plan in replayed.plans:
        for number, route in plan.served(chosen).items():
            narrowed = {mark_at(source) for source in route.narrows(chosen)}
            wider = {mark for mark in narrowed if mark.source.view_of_base in listed or _takes_several(plan.frame, mark, facts, index)}
            if wider:
                found.append((plan.calls[number].compile, route, wider))
    own = frozenset(mark for _, _, wider in found for mark in wider)
    yield from own
    for compile, route, wider in found:
        equal = equal_sizes(compile, by_code=True)
        narrowed = {mark_at(source) for source in route.narrows(chosen | own)}  # some follow from what is marked now
        yield from (other for mark in wider for other in equal.get(mark, ()) if other in narrowed)


def _counters(explained: Explanations, replayed: Replay, chosen: Marks) -> Iterator[Mark]:
    """Where the recompile limit was hit, ints that the compiled code itself counts up or down, of causes that have others next to them.

    They have another value in each call beyond the limit, which left no record, and fill the cache anew.
    """
    for plan in replayed.plans:
        if any(call.compile.outcome is Outcome.LIMIT for call in plan.calls) and plan.served(chosen):
            causes = (cause for item in explained.of_frame(plan.frame) for cause in item.causes)
            yield from {mark_for(cause) for cause in causes if cause.is_int and cause.rule.markable and _is_counted(cause)} - chosen


def _is_counted(cause: Cause) -> bool:
    found = _COUNTS.match(cause.place.code) if cause.place else None
    return found is not None and found[1] == cause.source.display_name.rpartition(".")[2]


def _takes_several(frame: Frame, mark: Mark, facts: FactTable, index: SourceIndex) -> bool:
    """Whether a size of a tensor, or an int, had two values or more, 0 and 1 not counted, which need graphs of their own; or may well take
    them in calls that left no record.
    """
    if mark.is_int:
        return len({facts.of(compile).numbers.get(mark.place) for compile in frame.compiles} - {None, 0, 1}) > 1
    all_sizes = (item.size for compile in frame.compiles for item in compile.inputs if item.source == mark.source)
    sizes = frozenset(size[mark.dim] for size in all_sizes if len(size) > mark.dim)
    return len(sizes - {0, 1}) > 1 or (len(sizes) > 1 and index.varies_further(sizes))


def _drop_useless(savings: Savings, replayed: Replay, version: TorchVersion, named: Set[Mark], kept: Set[Mark] = frozenset()) -> None:
    """Drop one unit after the other that saves nothing and is not ``kept``, the least useful first, those that a cause names after others.

    Of marks that are as useful, one on a tensor itself stays rather than one on what it is only taken to have its sizes from.
    """
    wanted = frozenset(savings.chosen - kept)
    routes = [route for plan in replayed.plans for call in plan.calls for route in call.routes]
    uses = Counter(mark for route in routes for choice in route.required_marks for mark in choice)
    settling = {mark for route in routes for choice in route.doubts for mark in choice}
    units: dict[object, set[Mark]] = {}
    for mark in wanted:
        units.setdefault(mark.source if version.reads_sources and not version.reads_dims else mark, set()).add(mark)
    order = sorted(units.values(), key=lambda unit: [(-mark.dim, mark.source) for mark in sorted(unit)])
    order.sort(key=lambda unit: (max(uses[mark] for mark in unit), not settling.isdisjoint(unit), not named.isdisjoint(unit)))
    single = sorted(sorted(wanted, reverse=True), key=lambda mark: mark in named)
    for unit in [*order, *([mark] for mark in single)]:  # of a source that remains, the dims that save nothing go
        if savings.chosen.issuperset(unit) and savings.lost_without(unit).total == 0:
            savings.drop(unit)


@dataclass(frozen=True, slots=True)
class _Harm:
    """Finds out why a mark had better not be listed. ``quoted`` is the code of the frames that were asked about."""

    facts: FactTable
    replayed: Replay
    index: SourceIndex
    quoted: dict[Frame, QuotedCode] = field(default_factory=dict)

    def of(self, mark: Mark) -> HarmfulMark | None:
        return self._of_break(mark) or (self._of_int(mark) if mark.is_int else self._of_size(mark))

    def _of_break(self, mark: Mark) -> HarmfulMark | None:
        """The frame whose graph breaks somewhere only where this size or int is symbolic: the mark would break it for every call."""
        for frame in self.index.broken_with_symbol(mark):
            made = [compile for compile in frame.compiles if compile.outcome in (Outcome.COMPILED, Outcome.FAILED)]
            symbolic = [compile for compile in made if mark.place in self.facts.of(compile).symbolic]
            if not symbolic or len(symbolic) == len(made):
                continue
            static = [compile for compile in made if compile not in symbolic]
            compared = product(symbolic[:MOST_COMPARED], static[:MOST_COMPARED])
            alike = [(compile, other) for compile, other in compared if self._is_alike(mark, compile, other)]
            if not alike:
                continue  # the code took another path, on which it breaks anyway
            numbers = [compile for compile in static if mark.place in self.facts.of(compile).numbers]  # where it is None, it shows nothing
            before = [item for compile in static for item in compile.breaks if not _may_be_due_to(mark, item, numbers)]
            known = {item.reason for item in before}
            calls = {item.place for item in before if item.place and item.place.marked}  # which break it in either case
            new = [[item for item in compile.breaks if item.reason not in known and item.place not in calls] for compile in symbolic]
            if all(new):
                broken, found = symbolic[0], new[0][0]
                name = mark.name
                line = f"{found.place.file.rsplit('/', 1)[-1]}:{found.place.line}" if found.place else ""
                where = f" at {line}" if line else ""
                what = one_line(found.reason)[:80]
                title = frame.title_of(symbolic)
                if not any(_gets_as_far(other, compile) for compile, other in alike):
                    whole, first = alike[0]
                    reason = (
                        f"{title} broke before its first operation in {first.reference}, and not in {whole.reference}: with the mark, "
                        "it would run in parts as before"
                    )
                    return HarmfulMark(mark, frame, reason, "if only the first call breaks there, make it in eager mode; then mark it")
                reason = f"{title} has a graph break{where} once {name} is symbolic ({what}), as in {broken.reference}"
                is_elsewhere = found.place is not None and is_library(found.place.file)
                what = f"what leads to {line} (library code)" if is_elsewhere else line or title
                return HarmfulMark(mark, frame, reason, f"before you mark {name}, change {what} so that it works with a symbol")
        return None

    def _is_alike(self, mark: Mark, symbolic: Compile, static: Compile) -> bool:
        """Whether the static call satisfies what the symbolic entry guards of sizes; one of 0 or 1, a graph of its own, may not."""
        number = self.facts.of(static).numbers.get(mark.place)
        return (number is not None and number in (0, 1)) or guards_hold(self.facts.of(symbolic), self.facts.of(static))

    def _of_int(self, mark: Mark) -> HarmfulMark | None:
        """Code that formats an int loses its graph, code that needs its value gains nothing."""
        helped = self._helped(mark)
        name = mark.source.display_name
        for frame in self.index.with_int(mark.source):
            failed = self.index.first_symbolic(frame, mark.source, Outcome.FAILED)
            if self.index.first_symbolic(frame, mark.source, Outcome.COMPILED):
                failed = self._failed_as_symbol(frame, mark) if failed else None
                if failed is None:
                    continue  # what failed on another branch failed there for another reason
            if failed is not None:
                title = frame.title_of([failed])
                reason = f"compilation {failed.reference} of {title} failed once {name} was symbolic, and the code ran in eager mode"
                stack = failed.failure.stack
                where = f"{stack[-1].file.rsplit('/', 1)[-1]}:{stack[-1].line}, where Dynamo stops" if stack else "strings and hashes"
                return HarmfulMark(mark, frame, reason, f"pass {name} as a tensor, or keep it out of {where}")
            code = self._code_of(frame)
            use = code.use_of(mark.source)
            line = code.line_with(mark.source, use) if use >= Use.FORMATS else ""
            where = f" at {line}" if line else ""
            if use >= Use.FORMATS:
                does = (
                    f"formats {name} into a string" if use is Use.FORMATS else f"uses {name} in a way that a symbolic int does not support"
                )
                reason = f"{frame.title} {does}{where}: its graph would be lost or split in two"
                what = "build the string" if use is Use.FORMATS else "do that"
                return HarmfulMark(mark, frame, reason, _keep_out(name, frame, helped, what))
            is_same = frame.origin in {item.origin for item in helped}  # in another process, or after a reset
            is_same = is_same or (mark.source.startswith("G[") and any(item.file == frame.file for item in helped))
            is_same = is_same or (use is not Use.HANDS_ON and any(_calls_itself(item, frame) for item in helped))
            if not is_same and (use is Use.HANDS_ON or not code.is_whole):
                reason = f"{frame.title} has an int of the same name that never changed, {_NOT_ALL_SEEN}"
                return HarmfulMark(mark, frame, reason, _keep_out(name, frame, helped))
        return None

    def _failed_as_symbol(self, frame: Frame, mark: Mark) -> Compile | None:
        """The first compile that failed with a symbolic int of a value with which it only compiled as a constant."""
        made: dict[tuple[Outcome, bool], dict[float, Compile]] = {}
        for compile in frame.compiles:
            known = self.facts.of(compile)
            number = known.numbers.get(mark.place)
            if number is not None and not (compile.outcome is Outcome.FAILED and compile.failure.is_raised_by_code):
                made.setdefault((compile.outcome, mark.place in known.symbolic), {}).setdefault(number, compile)
        static, symbolic = (made.get((Outcome.COMPILED, is_symbolic), {}) for is_symbolic in (False, True))
        failed = made.get((Outcome.FAILED, True), {})
        return next((compile for number, compile in failed.items() if number in static and number not in symbolic), None)

    def _of_size(self, mark: Mark) -> HarmfulMark | None:
        """Other code that has a tensor of this name puts its sizes into a string, or has an int of this name and puts that into one."""
        if failed := self._failed_as_size(mark):
            return failed
        helped = self._helped(mark)
        name = spelled(mark.source)
        for frame in self.index.with_int(mark.source):
            if frame in helped or self.index.first_symbolic(frame, mark.source, Outcome.COMPILED):
                continue
            use = self._code_of(frame).use_of(mark.source)
            if use >= Use.FORMATS:
                where = self._code_of(frame).line_with(mark.source, use)
                reason = f"entries also match the int {name} of {frame.title}, which cannot be symbolic at {where}"
                return HarmfulMark(mark, frame, reason, self._mark_alone(mark, frame, helped))
        for frame, guard in self.index.with_guarded_size((mark.source, size(mark.dim))):
            place = place_of(guard.comment) if ".shape" in guard.comment or ".size(" in guard.comment else None
            if place is None or frame in helped:
                continue
            is_named = f"{name}.shape" in place.code or f"{name}.size(" in place.code
            if is_named and use_in(place.code, "") >= Use.FORMATS:
                where = f"{frame.file.rsplit('/', 1)[-1]}:{place.line} ({place.code.strip()[:60]})"
                reason = f"{frame.title} formats sizes of its own {name} into a string at {where}: its graph would be lost or split in two"
                return HarmfulMark(mark, frame, reason, self._mark_alone(mark, frame, helped))
        return self._read_back(mark, helped)

    def _failed_as_size(self, mark: Mark) -> HarmfulMark | None:
        """A compile that failed where a size of this tensor was symbolic that is so in no graph, while sizes and ints alone had changed.

        Code that cannot do with one symbolic size may well not do with another one of the tensor.
        """
        for item in self.index.failed_with_symbols:
            symbolic = self.facts.of(item.compile).symbolic
            dims = [
                Mark(mark.source, dim) for tensor in item.compile.inputs if tensor.source == mark.source for dim in range(len(tensor.size))
            ]
            new = [other for other in (mark, *dims) if not self.index.first_symbolic(item.frame, other.place, Outcome.COMPILED)]
            failed = next((other for other in new if other.place in symbolic), None)
            if failed and mark in new:
                title, name = item.frame.title_of([item.compile]), f"{mark.source.display_name}.size[{failed.dim}]"
                reason = f"compilation {item.compile.reference} of {title} failed once {name} was symbolic"
                return HarmfulMark(mark, item.frame, reason, _FIX_FIRST)
        return None

    def _read_back(self, mark: Mark, helped: list[Frame]) -> HarmfulMark | None:
        """Other code that has a tensor of this name, whose size stays, makes a tensor of the size and needs its value."""
        for frame in self.index.with_tensor_or_value(mark.source):
            sizes = {size[mark.dim] for size in self.index.sizes(frame, mark.source) if mark.dim < len(size)}
            if frame in helped or len(sizes) != 1:
                continue
            (number,) = sizes
            made = (item for compile in frame.entries for item in self.facts.of(compile).sizes_as_tensors)
            if found := next((item for item in made if number in item.numbers), None):
                name = mark.source.display_name
                reason = (
                    f"entries also match {name} of {frame.title}, which makes a tensor of the size {number} ({found.call}) and needs its "
                    f"value: once {name}.size[{mark.dim}] is symbolic there, its graph would be lost"
                )
                return HarmfulMark(mark, frame, reason, self._mark_alone(mark, frame, helped))
        return None

    def _mark_alone(self, mark: Mark, frame: Frame, helped: list[Frame]) -> str:
        """The call that marks a tensor, and no other one of its name; to rename it where no line of code could do that."""
        codes = {code for item in helped for cause in self.index.causes(item, mark.source) for code in cause.codes}
        line = mark_line(mark, [], tuple(codes), is_resumed=all(resumed_by(item.name) for item in helped))
        if line.startswith("#"):
            is_library = any(item.is_library for item in helped)
            return f"accept one graph per size: {_NOT_YOURS}" if is_library else _rename(mark.source.display_name, frame, helped)
        return f"entries match by name in every frame: call {line} instead, {MARKED_ALONE}"

    def _helped(self, mark: Mark) -> list[Frame]:
        return [plan.frame for plan in self.replayed.by_mark.get(mark, ())]

    def _code_of(self, frame: Frame) -> QuotedCode:
        if frame not in self.quoted:
            self.quoted[frame] = QuotedCode(frame)
        return self.quoted[frame]


def _gets_as_far(static: Compile, symbolic: Compile) -> bool:
    """Whether a compile may show what the code does where another one broke its graph: not if it broke before the first operation."""
    return static.graph is not None or not static.breaks or symbolic.graph is None


def _may_be_due_to(mark: Mark, item: GraphBreak, static: Iterable[Compile]) -> bool:
    """Whether a line that broke the graph names an int, and not each call broke there in which the int was static.

    Another int on that line may have been symbolic in those that did: ``math.gcd(n, m)`` breaks with either.
    """
    is_named = mark.is_int and item.place is not None and re.search(rf"(?<![\w.]){re.escape(spelled(mark.source))}(?!\w)", item.place.code)
    return bool(is_named) and not all(item.reason in {other.reason for other in compile.breaks} for compile in static)


def _keep_out(name: str, frame: Frame, helped: list[Frame], what: str = "") -> str:
    """What to do instead of marking an int: ``frame`` does ``what`` with it."""
    if frame in helped or all(_is_same_function(item, frame) for item in helped):
        is_passed = not (frame.is_library and "." in name)
        otherwise = f", or pass {name} as a tensor" if is_passed else ""
        return f"{what} outside the compiled code{otherwise}" if what and is_passed else f"accept one graph per value{otherwise}"
    if any(item.is_library for item in helped):
        return f"accept one graph per value: {_NOT_YOURS}"
    return f"{_rename(name, frame, helped)}, or pass it as a tensor there"


def _is_same_function(one: Frame, other: Frame) -> bool:
    """Whether two frames are one function, which may have been compiled again after a reset, or go on after a graph break."""
    is_resumed = resumed_by(one.name) is not None or resumed_by(other.name) is not None
    return one.origin == other.origin or (is_resumed and one.function[2:] == other.function[2:])


def _calls_itself(resumed: Frame, function: Frame) -> bool:
    """Whether a frame is what goes on after a graph break, and calls the function again: its guards quote the code before the break."""
    line = (resumed_by(resumed.name) or ("", 0))[1]
    if not line or not _is_same_function(resumed, function):
        return False
    trees = [compile.guards for compile in resumed.compiles if compile.guards]
    of_shapes = (place_of(shape.comment) for tree in trees for shape in tree.shapes)
    places = (place for place in chain(*(tree.places.values() for tree in trees), of_shapes) if place)
    name, file = function.name, function.file.rsplit("/", 1)[-1]
    return any(place.name == name and function.line < place.line < line and place.file.rsplit("/", 1)[-1] == file for place in places)


def _rename(name: str, frame: Frame, helped: list[Frame]) -> str:
    others = dict.fromkeys(f"{item.title}{_where(item) if item.title == frame.title else ''}" for item in helped)
    return f"entries match by name in every frame: rename {name.partition('[')[0]} in {some(list(others))}"


def _where(frame: Frame) -> str:
    """The line of a function that has the name of another one."""
    return f" ({frame.file.rsplit('/', 1)[-1]}:{frame.line})" if frame.line else ""
