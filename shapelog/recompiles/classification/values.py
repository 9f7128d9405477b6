"""Values that changed: ints, floats, strings, None, flags."""

import re

from shapelog.reading.payloads.properties import VALUE, Kind, class_written_with_address, set_members
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.classification.floats import float_value, is_compared_with_tensor, not_a_number, other_kind_of_number
from shapelog.recompiles.classification.library_calls import is_passed_by_library
from shapelog.recompiles.classification.pins import pinned, remedy_of_pinned_int
from shapelog.recompiles.classification.result import (
    CLEARED,
    GRADIENT,
    Classification,
    Classifier,
    are_of_two_models,
    code_of,
    compute_the_same,
    line_of,
    short_type,
)
from shapelog.recompiles.classification.shown_objects import shown_object
from shapelog.recompiles.classification.tensors import INNER, inner_tensors
from shapelog.recompiles.evidence.violation import Described, Violation, constant_type
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.int_usage import is_tested, spelled
from shapelog.rules import Verdict
from shapelog.text import around_difference, some

# Characters of a constant in a sentence.
LONGEST_VALUE = 100
# Characters of two sets in one, where what they differ in is not easily seen.
_SHORT_SETS = 32
_OTHER_BOOL = {"True": "False", "False": "True"}
# A condition that ``torch.cond`` takes: of a bool, PyTorch captures one side alone.
_PASSED_TO_COND = re.compile(r"\bcond\(")
_AS_PREDICATE = "pass a tensor, torch.tensor({}): then torch.cond keeps both sides in one graph"
_SCALARS = frozenset(("bool", "int", "float", "complex", "str", "bytes"))
_NUMBERS = frozenset(("int", "float"))
_COUNTER = "itertools.count"
_NUMBER_OF_COUNTER = "call next({}) outside the compiled function, and pass the number"
_TENSOR = "wrap the number in a tensor, torch.tensor(value)"
_PLAIN = "pass a plain {}: PyTorch treats an instance of a subclass as a constant"
_OF_INSTANCE = (
    "leave the value out of the compiled code if it only names the object; if not, each instance needs its own graph: "
    "raise the recompile limit above the number of instances"
)
_OF_OTHER_MODULE = "accept one graph for each module: this one also has parameters of other shapes"
_UNUSED = "keep the value out of the compiled function, or always pass the same one: the graphs are the same"
_VALUE_FOR_LIBRARY = "accept one graph for each value: library code calls this function with several"
_SET_BEFORE = "set {} to {} before the first call"
# A path with a number in it, or a pair of a number and a name.
_WITH_NUMBER = re.compile(r"'(?=[^']*\d)[\w-]{1,80}(?:[./][\w-]{1,80}){1,40}'|\(\d{1,9}, '[^',]{1,80}'\)|\('[^',]{1,80}', \d{1,9}\)")

# As ``named_modules()`` gives it, of a list of modules: ``blocks.25.cross_attn.k``.
_NAME_OF_MODULE = re.compile(r"'[A-Za-z_]\w{2,80}\.(?:[A-Za-z_]\w{0,80}\.){0,20}\d{1,4}(?:\.\w{1,80}){0,20}'")


def value(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another constant: a number, a text, a flag, or None."""
    before, after = str(item.expected), str(item.actual)
    now = after or "another value"
    if (optional := _optional(item, name, entry)) is not None:
        return optional
    if item.source.endswith(INNER):
        return inner_tensors(item, name)
    if entry.types.get(item.source) == _COUNTER:
        how = f"from {_COUNTER}{before} to {_COUNTER}{after}" if after else f"(was {_COUNTER}{before})"
        return Classification(("SL311",), f"{name} changed {how}", verdict=Verdict.CODE, remedy=_NUMBER_OF_COUNTER.format(name))
    if item.source.endswith(".requires_grad") and before in _OTHER_BOOL:
        return Classification(("SL302",), f"requires_grad of {name.removesuffix('.requires_grad')} changed from {before} to {now}")
    if item.source.endswith(".training"):
        return Classification(("SL316",), f"{name} changed from {before} to {now}")
    if not before and not after:
        return Classification(("SL311",), f"{name} changed (its values are not recorded)")
    kind, kind_now = constant_type(before or after), constant_type(after)
    has_type_alone = bool(kind) and kind != after == call.types.get(item.source)  # such as Ellipsis before, and a tuple now
    if after and kind_now != kind and (kind in _SCALARS or (kind and kind_now in _SCALARS) or has_type_alone):
        was = f"the {kind} {before}" if kind in _SCALARS else before
        sentence = f"{name} changed from {was} to {shown_object(now)}"
        if {kind, kind_now} == _NUMBERS:
            return other_kind_of_number(item, sentence, entry, call)
        return Classification(("SL310",), sentence)
    if kind == "int":
        return _int(item, name, entry, call)
    if kind == "float" or is_compared_with_tensor(before):
        return float_value(item, name, entry, call)
    if kind == "complex" and not is_tested(code_of(item), spelled(item.source)):
        sentence = f"the complex number {name} changed from {before} to {now}"
        return Classification(("SL311",), sentence, verdict=Verdict.CODE, remedy=_TENSOR)
    if (written := class_written_with_address(before)) and class_written_with_address(after) in ("", written):
        return Classification(("SL311",), f"{name} (a {short_type(written)}) is not equal to the one this was compiled for")
    return _plain_constant(item, name, entry, call)


def _plain_constant(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A text, a flag, or what else has no rule of its own."""
    before = str(item.expected)
    after = str(item.actual) or _OTHER_BOOL.get(before, "")
    was, is_now = around_difference(before, after, LONGEST_VALUE), around_difference(after, before, LONGEST_VALUE)
    sentence = f"{name} changed from {was} to {is_now}" if after else f"{name} was {was} and has changed"
    if len(before) + len(after) > _SHORT_SETS and (changed := _changed_members(before, after)):
        sentence = f"the set {name} {changed}"
    by_library = _VALUE_FOR_LIBRARY if is_passed_by_library(item, entry, call) else ""
    if {before, after} <= _OTHER_BOOL.keys() and _PASSED_TO_COND.search(code_of(item)):
        return Classification(("SL311",), sentence, verdict=Verdict.CODE, remedy=_AS_PREDICATE.format(name))
    if _names_instance(item.source, before) or by_library:
        return Classification(("SL311",), sentence, remedy=by_library or _OF_INSTANCE)
    if are_of_two_models(entry, call):
        return Classification(("SL311",), sentence, remedy=_OF_OTHER_MODULE)
    are_texts = constant_type(before) == constant_type(after) == "str"
    is_unused = are_texts and not is_tested(code_of(item), spelled(item.source)) and compute_the_same(entry, call)
    return Classification(("SL311",), sentence, verdict=Verdict.CODE if is_unused else None, remedy=_UNUSED if is_unused else "")


def _optional(item: Violation, name: str, entry: CompileFacts) -> Classification | None:
    """What was or is None; None for two values."""
    before, after = str(item.expected), str(item.actual)
    now = after or "another value"
    if item.expected is Described.OBJECT:  # guarded by its id, in a version that does not write types: most often None
        return Classification(("SL322",), f"{name} was None or an object guarded by its identity, and is now {now}")
    if before == "not None":
        return Classification(("SL322",), f"{name} was not None and is now None")
    if before == "None" and constant_type(after) in _SCALARS and _sets_it_itself(item, entry):
        sentence = f"{name} changed from None to {shown_object(now)}, as the code sets it in its first call"
        return Classification(("SL322",), sentence, verdict=Verdict.CODE, remedy=_SET_BEFORE.format(name, after))
    if "None" in (before, after) and before != after:
        remedy = CLEARED if item.source.endswith(GRADIENT) else ""
        return Classification(("SL322",), f"{name} changed from {shown_object(before)} to {shown_object(now)}", remedy=remedy)
    return None


def _changed_members(before: str, after: str) -> str:
    """Which members a set of constants gained and lost, such as ``lost 'device'``; "" for other values."""
    had, has = (set(set_members(text)) for text in (before, after))
    parts = [f"{word} {some(sorted(found))}" for word, found in (("gained", has - had), ("lost", had - has)) if found]
    return " and ".join(parts) if had and has else ""


def _sets_it_itself(item: Violation, entry: CompileFacts) -> bool:
    """Whether the code of an entry tests an attribute, ``if self.config.kind is None``, and changes the object that holds it."""
    parent, _, attribute = item.source.rpartition(".")
    is_tested = re.search(rf"\bif [\w.]*\b{re.escape(attribute)} is None\b", code_of(item)) is not None
    return is_tested and Source(parent) in entry.compile.changed_objects


def _names_instance(source: Source, constant: str) -> bool:
    """Whether what an object holds looks like what names it among others of its class: ``blocks.6.attn``, ``(8, 'conv')``; or any value
    like the name of one of many modules.
    """
    is_own = source.display_name.startswith("self.") and _WITH_NUMBER.fullmatch(constant) is not None
    return is_own or _NAME_OF_MODULE.fullmatch(constant) is not None


def plain_value(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The value of an instance of a subclass of int and the like, which is never symbolic."""
    changed = f"changed from {item.expected} to {item.actual}" if item.actual else f"was {item.expected} and has changed"
    of_type = short_type(entry.types.get(item.source, "")) or "subclass of a built-in type"
    sentence = f"{name}, a {of_type}, {changed}"
    kind = constant_type(str(item.expected))
    return Classification(("SL311",), sentence, remedy=_PLAIN.format(kind) if kind in ("int", "float") else "")


def _int(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another value of an int."""
    before, after = str(item.expected), str(item.actual)
    what = f"the global int {name}" if item.source.startswith("G[") else f"the int {name}"
    sentence = f"{what} {_change(before, after)}"
    has_hint = bool(item.reason and "nn.Module" in item.reason.text)  # that PyTorch keeps the int static
    if has_hint or _is_module_attribute(item.source, entry, call):
        return Classification(("SL315",), f"{sentence}{_why_static(item, entry, call, has_hint)}", True)
    codes, words = pinned(item, item.source, entry, call)
    known = entry if item.source in entry.specializations_by_source else call
    verdict, remedy = remedy_of_pinned_int(item.source, line_of(item), known, call) if codes else (None, "")
    return Classification(("SL102", *codes), sentence + words, True, verdict, remedy)


def _why_static(item: Violation, entry: CompileFacts, call: CompileFacts, has_hint: bool) -> str:
    """That PyTorch keeps an int of a module static, where it does: torch 2.8 and later, and only by default."""
    is_older = not has_hint and item.reason is not None and "L['" in item.reason.code  # as torch 2.6 and older write it
    if item.source in call.symbolic or is_older:
        return ""
    is_known = has_hint or entry.guarded((item.source, VALUE)) is not None
    return f"; ints on an nn.Module are static by default{'' if is_known else ' from torch 2.8 on'}"


def _change(before: str, after: str) -> str:
    if not before:
        return f"changed to {after}"
    return f"changed from {before} to {after}" if after else f"was {before} and has changed"


def _is_module_attribute(source: Source, entry: CompileFacts, call: CompileFacts) -> bool:
    owner, dot, _ = source.rpartition(".")
    if owner in ("L['self']", "self") and "forward" in (entry.compile.metrics.code_name, call.compile.metrics.code_name):
        return True
    if owner.endswith("']") and "._modules[" in owner:
        return True
    return bool(dot) and entry.tree is not None and owner in entry.tree.modules


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.NAN: not_a_number,
    Kind.VALUE: value,
    Kind.PLAIN_VALUE: plain_value,
}
