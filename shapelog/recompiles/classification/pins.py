"""Who needs the exact value of a size or an int that varied: a line of code, a library, or something static that it is tied to."""

import re
from itertools import takewhile

from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.guards.expressions import integer, parse
from shapelog.reading.payloads.source_names import Source, display_text, is_library
from shapelog.reading.records import GuardAdded, Specialization, StackFrame
from shapelog.recompiles.classification.result import made_outside
from shapelog.recompiles.classification.rewrites import rewriting
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts, pin_of
from shapelog.recompiles.int_usage import Use, is_tested, only_compares, spelled, use_in
from shapelog.recompiles.tied_sizes import tied_to
from shapelog.rules import Verdict
from shapelog.text import beginning

_SHOWN_CODE = 60
ZERO_OR_ONE = "accept the extra graph: 0 and 1 often need one each; rewrite the line if other values recompile, too"
# Dynamo unrolls such a loop: it cannot be traced where the size has no value.
_UNROLLED = "the loop of the library is unrolled: pad to fewer lengths, or accept one graph per value"
# Where vmap asks for the number, a size without one raises an error (torch 2.13: conv1d, layer_norm, cross_entropy, avg_pool1d).
_OF_VMAP = "vmap takes this size as a number: pad to fewer sizes, or accept one graph per value"
_MADE_STATIC = "accept one graph per value: the library makes this size static with torch._dynamo.mark_static"
_MAKING_STATIC = ("torch/_dynamo/comptime.py", "torch/_dynamo/decorators.py")
# A comparison with a number, ``elif mode == 2:``.
_WITH_NUMBER = re.compile(r"[\w\])] == -?\d+\b|\b\d+ == [A-Za-z_]")
_OVER_RANGE = re.compile(r"\bfor\b.+\bin\b.*\brange\(")
# Why a symbol is pinned that the code needs equal to one that is, as ``ShapeEnv._find`` writes it.
_EQUAL_TO_PINNED = "find"
_EQUALS_ZERO_OR_ONE = re.compile(r"Eq\((?P<of>.+), (?P<number>[01])\)")
_SPLITS = re.compile(r"\b(?:split|chunk|tensor_split|split_with_sizes)\(")
_VMAP, _FAKE_TENSORS = "torch/_functorch/vmap.py", "torch/_subclasses/fake_tensor.py"


def pinned(item: Violation, source: str, entry: CompileFacts, call: CompileFacts) -> tuple[tuple[str, ...], str]:
    """(more codes, end of the sentence) where a symbol was pinned, by a line of code or by something static that varies too."""
    known = entry if source in entry.specializations_by_source else call
    specialization = known.specializations_by_source.get(source)
    if specialization is None:
        return _pinned_as_an_item(Source(source), entry) if call.compile.is_refused else ((), "")
    if partner := _pinned_with(source, entry, call):
        line = by_whom(specialization)
        shared = f"{partner} had the same size when this was compiled, so PyTorch used one symbol for both"
        return ("SL103",), f"; {shared}, and {line} needs the exact value of that one"
    values = integer(str(item.expected)), integer(str(item.actual))
    partners = tied_to(key=item.key, values=values, pin=pin_of(source, specialization), known=known, entry=entry, call=call)
    if partners and not _is_unrolled(specialization):  # a loop needs the number, whatever else has it
        new = tuple([f"{tensor.source.display_name}.size[" for tensor in call.tensors_not_in(entry)])
        which = "which is static: mark that too" if len(partners) == 1 else "which are static: mark these too"
        if any(name.startswith(new) for name in partners):
            which = "which only this call has"
        return (), f"; the code ties it to {' and '.join(partners)}, {which}"
    if Source(source).tensor_part and (words := _computed_as_zero_or_one(source, specialization, known)):
        return ("SL104",), f"; {words}"
    where = by_whom(specialization)
    if specializer(specialization) == "SL201" and (ends := _how_it_branches(source, specialization, known, entry, call)):
        return ("SL204",), f"; {where} branches on it{ends}"
    is_zero_or_one = is_of_zero_or_one(source, known, call)
    words = f"{where} specialized on {specialization.value}" if is_zero_or_one else f"{where} needs the exact value"
    return (specializer(specialization),), f"; {words}"


def _computed_as_zero_or_one(source: str, item: Specialization, known: CompileFacts) -> str:
    """That a size which is computed from this one is 0 or 1, as the last part of ``x.split(16)`` for a size of 33, with the line that
    asked for it; "" where that is not what pinned it. A symbol that has to equal a pinned one goes with that.
    """
    others = (other for other in known.compile.specializations if other.value == item.value)
    pin = item if item.reason != _EQUAL_TO_PINNED else next((other for other in others if other.reason != item.reason), item)
    value = integer(pin.value)
    if value is None:
        return ""
    for guard in known.compile.other_records.get(GuardAdded, ()):
        found = _EQUALS_ZERO_OR_ONE.fullmatch(guard.expression)
        if found and found["of"] != pin.symbol and parse(f"{found['of']} == {found['number']}").holds_for_one(pin.symbol, value):
            size = display_text(re.sub(rf"\b{pin.symbol}\b", pin.sources[0] if pin.sources else source, found["of"]))
            lines = [frame for frame in reversed(guard.user_stack.frames) if not is_library(frame.file)]
            line = next((frame for frame in lines if _SPLITS.search(frame.code)), lines[0] if lines else None)
            at = f" at {line.file.rsplit('/', 1)[-1]}:{line.line}" if line else ""
            code = f" ({beginning(line.code.strip(), _SHOWN_CODE)})" if line and line.code else ""
            return f"a size that is computed from it{at}{code} is {found['number']}: {size}; PyTorch always specializes on sizes 0 and 1"
    return ""


def _how_it_branches(source: str, item: Specialization, known: CompileFacts, entry: CompileFacts, call: CompileFacts) -> str:
    """The end of a sentence about a line that needs no value but the answer to a comparison with one; "" for any other line."""
    if known is entry and _is_excluded(source, item.value, call):
        return ", and this call takes the other branch"
    code = _lines(item)[-1].code.strip()
    is_branch = _WITH_NUMBER.search(code) is not None and not code.startswith("assert")
    is_branch = is_branch and is_tested(code, spelled(Source(source)), in_calls=False)
    return f" (here {item.value})" if is_branch or (Source(source).tensor_part and only_compares(code)) else ""


def _is_excluded(source: str, value: str, call: CompileFacts) -> bool:
    """Whether the entry of a call is for every value but this one, ``L['k'] != 2``, so that there are two graphs in all."""
    guards = call.tree.shapes_of_one.get(source, ()) if call.tree else ()
    return any(guard.expression in (f"{source} != {value}", f"{value} != {source}") for guard in guards)


def _pinned_as_an_item(source: Source, entry: CompileFacts) -> tuple[tuple[str, ...], str]:
    """The same for an item of a list or tuple that a line takes as a whole, ``unfold(x, kernel_size)``, where that pinned another item.

    Of a refused call nothing else shows it: the item has never varied before.
    """
    container, bracket, _ = source.rpartition("[")
    whole = re.compile(rf"(?<![\w.]){re.escape(Source(container).display_name)}(?![\w.\[])")
    for other, pin in entry.specializations_by_source.items() if bracket else ():
        lines = _lines(pin)
        if other.rpartition("[")[0] == container and lines and whole.search(lines[-1].code):
            words = f"needs the exact value of {Source(other).display_name}, which it takes together with this one"
            return (specializer(pin),), f"; {by_whom(pin)} {words}"
    return (), ""


def is_of_zero_or_one(source: str, known: CompileFacts, call: CompileFacts) -> bool:
    """Whether a line pinned a symbol at 0 or 1 alone, in all compiles, and no line at another value in that of the call.

    0 and 1 need a graph of their own in code that takes other values. A line that needs any value, such as the bound of a loop or an
    index, does not.
    """
    specialization = known.specializations_by_source.get(source)
    lines = _lines(specialization)[-1:] if specialization else ()
    if any(use_in(line.code, spelled(Source(source))) is Use.PINS for line in lines):
        return False
    same_pin = known.pinned_alike(pin_of(source, specialization)) if specialization else []
    values = {integer(pin.value) for other in (known, call, *same_pin) if (pin := other.specializations_by_source.get(source))}
    return bool(values) and {0, 1}.issuperset(values)


def remedy_of_pinned_int(source: Source, line: UserLine | None, known: CompileFacts, call: CompileFacts) -> tuple[Verdict | None, str]:
    """(verdict, remedy) of an int that is pinned, by a line that can be written in another way; None and "" for what its rules state."""
    pin = known.specializations_by_source.get(source)
    lines = (*reversed(_lines(pin) if pin else ()), line)
    if remedy := made_outside(source, lines) or rewriting(lines[:1]):
        return Verdict.CODE, remedy
    return None, ZERO_OR_ONE if is_of_zero_or_one(source, known, call) else ""


def _pinned_with(source: str, entry: CompileFacts, call: CompileFacts) -> str:
    """The size whose value the code needs, where another one had its symbol by duck sizing; "" where the code needs that one's own.

    In this call, where the two differ, each has a symbol, and the code pinned the other one alone.
    """
    if source not in entry.specializations_by_source or source in call.specializations_by_source or source not in call.symbolic:
        return ""
    others = (Source(other) for other in entry.specializations_by_source[source].sources if other in call.specializations_by_source)
    parts = (part for other in others if (part := other.tensor_part))
    return next((f"dim {part.dim} of {part.tensor.display_name}" for part in parts), "")


def _lines(item: Specialization) -> tuple[StackFrame, ...]:
    """The lines that pinned it, the innermost last; that which calls ``torch._dynamo.mark_static``, not how Dynamo does that."""
    frames = item.user_stack.frames
    return tuple(takewhile(lambda frame: not frame.file.endswith(_MAKING_STATIC), frames)) if _is_made_static(item) else frames


def _is_made_static(item: Specialization) -> bool:
    """Whether a call of ``mark_static`` in compiled code pinned it."""
    frames = item.user_stack.frames
    return len(frames) > 1 and frames[-1].name == "force_static" and frames[-1].file.endswith(_MAKING_STATIC)


def specializer(item: Specialization) -> str:
    """The rule that fits who pinned it: the code of the user, or a library."""
    frames = _lines(item)
    return "SL202" if not frames or is_library(frames[-1].file) or _is_pinned_by_vmap(item) else "SL201"


def rewriting_of_pin(source: str, entry: CompileFacts, call: CompileFacts) -> str:
    """What to write in place of the line that pinned a symbol; "" where nothing is known that does not need its value."""
    known = entry if source in entry.specializations_by_source else call
    item = known.specializations_by_source.get(source)
    return rewriting(_lines(item)[-1:]) if item else ""


def remedy_of_library_pin(source: str, entry: CompileFacts, call: CompileFacts) -> str:
    """What to do where a library pinned a symbol in code that cannot be traced without its value; "" where it is not known to be such."""
    known = entry if source in entry.specializations_by_source else call
    item = known.specializations_by_source.get(source)
    frames = _lines(item) if item else ()
    if item is None or not frames:
        return ""
    if _is_made_static(item):
        return _MADE_STATIC
    if is_library(frames[-1].file) and _is_unrolled(item):
        return _UNROLLED
    return _OF_VMAP if _is_pinned_by_vmap(item) else ""


def _is_unrolled(item: Specialization) -> bool:
    """Whether a loop over a range pinned it."""
    frames = item.user_stack.frames
    return bool(frames) and _OVER_RANGE.search(frames[-1].code) is not None


def _is_pinned_by_vmap(item: Specialization) -> bool:
    """Whether vmap pinned it, whose rules for many operators need sizes as numbers: below vmap, while an operator ran on fake tensors."""
    # grad and jvp run a wrapper of that file, fn
    return any(frame.file.endswith(_VMAP) and frame.name != "fn" for frame in item.user_stack.frames) and any(
        frame.file.endswith(_FAKE_TENSORS) for frame in item.stack.frames
    )


def by_whom(item: Specialization) -> str:
    """The line that pinned it: the innermost one of the user, with the library that it called where that did it."""
    frames = _lines(item)
    if not frames:
        return "the framework"
    own = next((frame for frame in reversed(frames) if not is_library(frame.file)), frames[-1])
    where = f"{own.file.rsplit('/', 1)[-1]}:{own.line}"
    code = own.code.strip().split("  #")[0]
    line = f"{where} ({beginning(code, _SHOWN_CODE)})" if code else where
    if own is frames[-1] and _is_pinned_by_vmap(item):
        return f"vmap, for the operator at {line},"
    library = "/".join(frames[-1].file.rsplit("/", 2)[-2:])
    return line if own is frames[-1] else f"{library}:{frames[-1].line}, called at {line},"
