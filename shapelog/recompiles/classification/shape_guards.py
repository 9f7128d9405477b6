"""Guards on sizes, ints and floats that a call did not meet: duck sizing, 0/1 specialization, branches, ranges."""

import re
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source, display_text, is_library
from shapelog.reading.records import Specialization
from shapelog.recompiles.classification.floats import (
    FLOAT_BRANCH,
    NUMBER_ALONE,
    is_constant_of_float,
    is_of_float,
    is_own_line,
    is_rounded,
    lines_with,
    remedy_of_pinned_float,
)
from shapelog.recompiles.classification.number_operators import break_with_tensor, take_tensor
from shapelog.recompiles.classification.pins import by_whom, remedy_of_pinned_int, specializer
from shapelog.recompiles.classification.result import (
    UPPER_BOUND,
    Classification,
    Classifier,
    line_that_failed,
    made_outside,
    shown_guard,
)
from shapelog.recompiles.classification.rewrites import rewriting
from shapelog.recompiles.classification.sizes import ACCEPT, COPY_OF_ROW, LAYOUT, OWN_SYMBOLS, SLICE, unbacked
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.exact_values import is_another_in_each_graph
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.int_usage import compares_nothing
from shapelog.recompiles.strides import is_free_stride, same_order
from shapelog.rules import Verdict
from shapelog.text import shorten

_ZERO_ONE = "0/1 specialization"
_FROM_START = "clone() the slice or view before the call, or accept the extra graph (PyTorch always specializes on 0 and 1)"
_OWN_NUMBERS = "clone() these slices or views, or set torch.fx.experimental._config.use_duck_shape = False: {numbers} cannot be marked"
_MARK_OF_VIEW = (
    "mark dim {} of {} as dynamic, or set torch.fx.experimental._config.use_duck_shape = False: it is a view, whose base cannot be marked"
)
_INT = "accept the extra graph: PyTorch always specializes on ints of 0 and 1"
_EQUAL_OR_NOT = "make them equal in every call, or accept one graph for equal sizes and one for different ones"
_WIDER_RANGE = "widen the range that mark_dynamic is given (min=, max=), or leave it out"
_EXACT_SIZE = "rewrite the line that needs the exact size, or accept one graph for each"
# A float that is computed from symbols goes to a function of ``math``, or into an operator as a number.
_FLOAT_COMPUTED = re.compile(r".*[/*+-].* == \(?-?\d+\.\d+(?:e[+-]?\d+)?\)?")
_AS_TENSOR = (
    "compute it with operators on a tensor, as torch.exp(torch.tensor(...)) in place of math.exp, or outside the compiled code: as it is, "
    "each new value needs a graph"
)
_COMPUTED = re.compile(r"[^=<>!%]+ == -?\d+")
# Where in PyTorch a guard comes from, ``(_dynamo/variables/builder.py:4960 in <lambda>)``, and the file in which sizes become symbolic.
_ORIGIN, _MAKES_SYMBOLS = re.compile(r"\((\S+):\d+ in [^()]+\)"), "_dynamo/variables/builder.py"
_EQUALITY = re.compile(r"[^<>=!%*/+]+ == [^<>=!%*/+]+")
_EXACT = re.compile(r"[^=<>!%*/+()]+(?:\(\)\[\d+\]|\.item\(\))? == -?\d+")
_EQUAL_TO_FLOAT = re.compile(r"[^=<>!%*/+()]+ == -?[\d.]+(?:e[+-]?\d+)?")
_OLD_ZERO_ONE = re.compile(r"2 <= [^<>=]+(?: <= 2147483647)?|Ne\([^()]+, [01]\)")
_BOUNDS = re.compile(r"(?:\d+ <= )?[^<>=]+(?: <= \d+)?")
_FIXED_AT_ONE = re.compile(r"specialized it to be a constant \([01]\)")  # an error about a mark
_LONGEST_CODE = 60
# Where Inductor asks whether 32 bits are enough for the indices of a tensor.
_WIDTH_OF_INDICES = " in can_use_32bit_indexing)"
_WIDE_INDICES = "accept a graph for tensors of more than 2147483647 elements: it has 64-bit indices"


class _Guard(NamedTuple):
    """A guard that a call did not meet, the cache entry that it is of, and the call."""

    shape: ShapeGuard
    source: Source
    actual: str
    entry: CompileFacts
    call: CompileFacts

    @property
    def expression(self) -> str:
        return self.shape.expression

    @property
    def names(self) -> tuple[str, ...]:
        return self.shape.parsed.names

    @property
    def sizes(self) -> list[str]:
        return [name for name in self.names if Source(name).tensor_part]

    @property
    def values(self) -> list[float]:
        """What the call has, as far as that is known."""
        return [self.call.numbers[name] for name in self.names if name in self.call.numbers] if self.actual else []

    @property
    def shown(self) -> str:
        return shown_guard(self.expression) + (f" (now {display_text(self.actual)})" if self.actual else "")

    @property
    def is_equality(self) -> bool:
        """Whether it is that two sizes are equal."""
        return len(self.sizes) == 2 and _EQUALITY.fullmatch(self.expression) is not None


def shape_guard(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A guard on sizes, strides, ints or floats, by the first of the forms that it has."""
    assert item.shape is not None
    guard = _Guard(item.shape, item.source, str(item.actual), entry, call)
    return next((found for form in _FORMS if (found := form(guard))), None) or _branch(guard)


def _duck_shape(guard: _Guard) -> Classification | None:
    if not guard.shape.is_duck_shape:
        return None
    kinds = {_kind_of_number(name, guard.entry) for name in guard.names}
    what = " and ".join(f"a {kind}" for kind in sorted(kinds)) if len(kinds) > 1 else f"two {kinds.pop()}s"
    sentence = f"{what} were equal when this was compiled, so PyTorch used one symbol for both: {guard.shown}"
    if "size" not in what:
        numbers = "strides and offsets" if "stride" in what else "offsets"
        return Classification(("SL103",), sentence, False, Verdict.CODE, _OWN_NUMBERS.format(numbers=numbers))
    return Classification(("SL103",), sentence, True, remedy=_of_view(guard))


def _kind_of_number(name: str, entry: CompileFacts) -> str:
    """What a name in a guard is; a stride that is tied to a size counts as one."""
    return "storage offset" if name.endswith(".storage_offset()") else "stride" if is_free_stride(name, entry) else "size"


def _of_view(guard: _Guard) -> str:
    """The size to mark where a view was as long as its base, which cannot be marked; "" for any other two sizes."""
    parts = [part for name in guard.sizes if (part := Source(name).tensor_part)]
    tensors = [part.tensor for part in parts]
    view = next((part for part in parts if f"{part.tensor}._base" in tensors), None)
    return _MARK_OF_VIEW.format(view.dim, view.tensor.display_name) if view else ""


def _of_float(guard: _Guard) -> Classification | None:
    """A guard over floats that became symbolic."""
    if not is_of_float(guard.names, guard.entry):
        return None
    pin = _pin_of(guard) if _EQUAL_TO_FLOAT.fullmatch(guard.expression) else None
    source = Source(guard.names[0])
    outside = made_outside(source, lines_with(source, pin, guard.entry))
    before, after = guard.expression.rpartition(" == ")[2], str(guard.call.numbers.get(guard.names[0], ""))
    if pin is not None and is_own_line(pin) and take_tensor(before, guard.entry, after, guard.call):
        return Classification(("SL312",), f"the float {source.display_name} changed: the cache entry requires {guard.shown}", False)
    if pin is not None and pin.user_stack.frames:
        sentence = f"{by_whom(pin)} needs the exact value of the float {source.display_name}: the cache entry requires {guard.shown}"
        remedy = outside or remedy_of_pinned_float(source.display_name, pin.user_stack.frames[-1].file)
        return Classification(("SL312",), sentence, False, None if outside else Verdict.JUSTIFIED, remedy)
    if not is_constant_of_float(guard.shape):
        sentence = f"the code branches on a float: the cache entry requires {guard.shown}"
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, FLOAT_BRANCH)
    floats = " and ".join(Source(name).display_name for name in guard.names)
    if any(is_rounded(Source(name), "", guard.entry, guard.call) for name in guard.names):
        sentence = f"the code makes an int of the float {floats}: the cache entry requires {guard.shown}"
        remedy = remedy_of_pinned_float(floats, guard.call.code_file)
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, remedy)
    what = "its value" if guard.expression.startswith(f"{guard.names[0]} ==") else "the value computed from it"
    kept = f"PyTorch could not turn the float {floats} into a tensor, so {what} became a constant"
    sentence = f"{kept}: the cache entry requires {guard.shown}"
    if not outside and break_with_tensor(before, guard.entry, after, guard.call):
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, NUMBER_ALONE)
    return Classification(("SL312",), sentence, False, remedy=outside)


def _square_nested_tensor(guard: _Guard) -> Classification | None:
    if not (guard.source.tensor_part and "._offsets.size()[0]" in guard.expression and "._values.size()[1]" in guard.expression):
        return None
    sentence = f"a nested tensor had as many rows as columns when this was compiled, so PyTorch used one symbol for both: {guard.shown}"
    return Classification(("SL103",), sentence, True, Verdict.CODE, OWN_SYMBOLS)


def _strides(guard: _Guard) -> Classification | None:
    """Strides that do not follow from the sizes of a tensor. Where a guard compares one with another int, the code branches on that int."""
    part = guard.source.tensor_part
    if part is None or ".stride()[" not in guard.expression:
        return None
    ints = [name for name in guard.names if Source(name).tensor_part is None]
    are_sizes = (_is_size_of(part.tensor, name, known) for name in ints for known in (guard.entry, guard.call))
    if ints and (guard.shape.parsed.is_inequality or not all(are_sizes)):
        return None
    is_slice = same_order(guard.call.described(part.tensor), guard.entry, guard.call)
    seen = f" (now {display_text(guard.actual)})" if guard.actual else ""
    if is_slice and _OLD_ZERO_ONE.fullmatch(guard.expression) and guard.values == [1]:
        name, dim, tensor = part.tensor.display_name, part.prop.dim, guard.call.input(guard.call.described(part.tensor))
        is_innermost = tensor is None or dim == len(tensor.size) - 1
        was = (
            f"{name} was a slice with a step in dim {dim}" if is_innermost else f"{name} was a slice in which dim {dim} has a larger stride"
        )
        sentence = f"{was} ({shown_guard(guard.expression)}) and no longer is one{seen}"
        return Classification(("SL105",), sentence, is_slice)
    follow = "follow from its sizes, and did not before" if guard.shape.parsed.is_inequality else "no longer follow from its sizes"
    now = f"; now {display_text(guard.actual)}" if guard.actual else ""
    tied = f"the strides of {part.tensor.display_name} {follow} ({shown_guard(guard.expression)}{now})"
    tensor = guard.call.input(guard.call.described(part.tensor))
    remedy = COPY_OF_ROW if is_slice and tensor is not None and 1 in tensor.size else ""
    return Classification(("SL105",), f"{tied}: {SLICE if is_slice else LAYOUT}", is_slice, remedy=remedy)


def _is_size_of(tensor: Source, name: str, known: CompileFacts) -> bool:
    """Whether an int is that of a size of a tensor, such as the length of a cache that is passed with it: one symbol is for both."""
    found = known.input(known.described(tensor))
    return found is not None and name in known.numbers and known.numbers[name] in found.size


def _equal_unbacked(guard: _Guard) -> Classification | None:
    """Two sizes of which one is symbolic although it was 0 or 1: it is unbacked."""
    if not guard.is_equality or all(guard.entry.numbers.get(name) not in (0, 1) for name in guard.sizes):
        return None
    return Classification(("SL204",), f"the code requires two unbacked sizes to be equal: {guard.shown}", True, remedy=_EQUAL_OR_NOT)


def _zero_one(guard: _Guard) -> Classification | None:
    """0/1 specialization; torch 2.4 gives no comment, but has two forms for it. A size of 1 that broadcasts fails an equality.

    Where the size of the call is not known, an upper bound is the one that more likely failed, unless the compile failed for a size of 1.
    """
    is_zero_one = _ZERO_ONE in guard.shape.comment or _OLD_ZERO_ONE.fullmatch(guard.expression)
    is_small = _FIXED_AT_ONE.search(guard.call.compile.metrics.fail_reason) or not UPPER_BOUND.search(guard.expression)
    values = guard.values or ([0] if is_zero_one and is_small else [])
    if not (is_zero_one or guard.is_equality) or all(value not in (0, 1) for value in values):
        return None
    is_offset = bool(guard.names) and all(name.endswith(".storage_offset()") for name in guard.names)
    what = "a storage offset" if is_offset else "a size" if guard.sizes or not guard.values else "an int"
    sentence = f"PyTorch always specializes on {what} of 0 or 1: the cache entry requires {guard.shown}"
    # An upper bound of the size is of a branch.
    of_size = ACCEPT if UPPER_BOUND.search(guard.expression) else unbacked(guard.source)
    part = guard.source.tensor_part
    view = part.tensor.view_of_base if part else None
    sentence += f": the size of what {view.display_name} is a view of" if view else ""
    remedy = _FROM_START if is_offset or view else _INT if what == "an int" else of_size
    return Classification(("SL104",), sentence, True, remedy=remedy)


def _range_of_mark(guard: _Guard) -> Classification | None:
    part = guard.source.tensor_part
    if part is None or len(guard.names) != 1 or not _is_range_of_mark(guard.shape):
        return None
    sentence = f"dim {part.prop.dim} of {part.tensor.display_name} is marked as dynamic with a limited range: {guard.shown}"
    return Classification(("SL321",), sentence, True, Verdict.CODE, _WIDER_RANGE)


def _specialized(guard: _Guard) -> Classification | None:
    if not _EXACT.fullmatch(guard.expression):
        return None
    pin = _pin_of(guard)
    code = specializer(pin) if pin else "SL201"
    is_int = not guard.source.tensor_part
    sentence = f"the code specialized on {'an int' if is_int else 'a size'}{_elsewhere(guard)}: the cache entry requires {guard.shown}"
    verdict, remedy = _remedy_of_pin(guard, pin, is_int)
    return Classification(("SL102", code) if is_int else (code,), sentence, True, verdict, remedy)


def _remedy_of_pin(guard: _Guard, pin: Specialization | None, is_int: bool) -> tuple[Verdict | None, str]:
    place = place_of(guard.shape.comment)
    if is_int:
        return remedy_of_pinned_int(guard.source, place, guard.entry, guard.call)
    instead = rewriting(pin.user_stack.frames[-1:] if pin else (place,))
    return (Verdict.CODE, instead) if instead else (None, "")


def _pin_of(guard: _Guard) -> Specialization | None:
    """The specialization in the entry of what a guard is over."""
    pinned = (item for item in guard.entry.compile.specializations if any(source.canonical == guard.source for source in item.sources))
    return next(pinned, None)


def _exact(guard: _Guard) -> Classification | None:
    """An equation with a number, on a line that compares nothing: what is computed from a size has to be that, ``linspace(0, 1, n)``, or a
    function of Python takes a number, ``math.exp(-n / 500)``.
    """
    place = place_of(guard.shape.comment)
    is_alone = place is not None and place.code != "" and compares_nothing(place.code)
    if is_alone and place and not is_library(place.file) and _FLOAT_COMPUTED.fullmatch(guard.expression):
        what = "sizes or ints" if guard.names[1:] else "a size" if guard.sizes else "an int"
        sentence = (
            f"the code needs the exact number that it computes from {what}{_elsewhere(guard)}: the cache entry requires {guard.shown}"
        )
        return Classification(("SL201",), sentence, True, Verdict.CODE, _AS_TENSOR)
    if not (guard.sizes and _COMPUTED.fullmatch(guard.expression) and place and is_alone):
        return None
    sentence = f"the code needs an exact size{_elsewhere(guard)}: the cache entry requires {guard.shown}"
    if instead := rewriting((place,)):
        return Classification(("SL204",), sentence, True, Verdict.CODE, instead)
    return Classification(("SL204",), sentence, True, remedy="" if is_library(place.file) else _EXACT_SIZE)


def _another_in_each_graph(guard: _Guard) -> Classification | None:
    """An equation with a number, of which this call has another one: no branch, which has two sides."""
    if not guard.sizes or not is_another_in_each_graph(guard.expression, [guard.call.tree]):
        return None
    place = place_of(guard.shape.comment)
    is_of_code = place is not None and not is_library(place.file) and not compares_nothing(place.code)
    who = "the code" if is_of_code else "PyTorch"
    sentence = f"{who} specialized on what it computes from a size{_elsewhere(guard)}: the cache entry requires {guard.shown}"
    return Classification(("SL201" if is_of_code else "SL202",), sentence, True)


def _branch(guard: _Guard) -> Classification:
    if _WIDTH_OF_INDICES in guard.shape.comment:
        sentence = f"Inductor's 32-bit indices are too small for a tensor: the cache entry requires {guard.shown}"
        return Classification(("SL204",), sentence, True, remedy=_WIDE_INDICES)
    what = "an int" if guard.names and not guard.sizes else "a size"
    is_open = not guard.values and _ZERO_ONE in guard.shape.comment and UPPER_BOUND.search(guard.expression)
    small = f"{what} is 0 or 1, on which PyTorch always specializes, or " if is_open else ""
    branches = f"the code branches on {'it' if small else what}{_elsewhere(guard)}"
    return Classification(("SL204",), f"{small}{branches}: the cache entry requires {guard.shown}", True)


def _elsewhere(guard: _Guard) -> str:
    """`` at einops/einops.py:183 (if length != known)``: the line that a guard comes from, where that is in a library or in another file
    than the code: a report shows a line of the code's own file as its place.
    """
    line = line_that_failed(guard.shape, guard.values)
    own = guard.entry.code_file.replace("\\", "/")  # a refused call may have no metrics
    if line is None or (not is_library(own) and f"/{own}".endswith(f"/{line.file}")):
        return ""
    code = shorten(line.code.split("  #")[0].strip().rstrip(":"), _LONGEST_CODE)
    code += "\u2026)" if code.endswith("(") else ""  # the arguments are on the lines below
    return f" at {'/'.join(line.file.rsplit('/', 2)[-2:])}:{line.line}{f' ({code})' if code else ''}"


_FORMS = (
    _duck_shape,
    _of_float,
    _square_nested_tensor,
    _strides,
    _equal_unbacked,
    _zero_one,
    _range_of_mark,
    _specialized,
    _exact,
    _another_in_each_graph,
)


def _is_range_of_mark(shape: ShapeGuard) -> bool:
    """Whether bounds of a size come with its symbol, as those of ``mark_dynamic(min=, max=)`` do, and not from a line of code."""
    origins = _ORIGIN.findall(shape.comment)
    return bool(origins and _BOUNDS.fullmatch(shape.expression)) and all(origin.endswith(_MAKES_SYMBOLS) for origin in origins)


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.SHAPE_GUARD: shape_guard,
}
