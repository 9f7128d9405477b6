"""Violations → causes: the rule code of each, and what merely follows from another."""

import re
from typing import NamedTuple

from shapelog.model.trace import Compile
from shapelog.reading.payloads.guards import UserLine, place_of
from shapelog.reading.payloads.source_names import dict_of_key, display_name, is_below, is_library, tensor_part
from shapelog.recompiles.classify import judge
from shapelog.recompiles.global_state import autocast_pair, state_value
from shapelog.recompiles.strides import follows_from_sizes, layout, same_order
from shapelog.recompiles.violations import STATE_PROPS, Comparer, Violation, covers
from shapelog.rules import RULES, Rule

# What another object brings along; sizes and values below it changed by themselves.
_BELOW_REPLACED = frozenset(("id", "type", "tensor", "closure"))


class Cause(NamedTuple):
    """Why an entry did not fit: the property that changed, from what to what, and the rule that says so.

    ``codes`` begins with the main rule; more follow where they explain why marking will not remove it all. ``axis`` is the property as
    its user would write it, ``x.size[0]``. ``before`` and ``after`` are "" where the trace does not tell.
    """

    codes: tuple[str, ...]
    source: str
    prop: str
    axis: str
    before: str
    after: str
    size_related: bool
    sentence: str
    place: UserLine | None
    named_by_pytorch: bool

    @property
    def rule(self) -> Rule:
        return RULES[self.codes[0]]

    @property
    def helping(self) -> Rule:
        """The rule whose remedy holds. The last code of a size says why marking it alone is not enough."""
        return RULES[self.codes[-1]] if self.size_related else self.rule

    @property
    def is_size(self) -> bool:
        """Whether what changed is a size, or a stride that marking a size makes symbolic; an int is none."""
        if self.codes[0] in ("SL102", "SL315") or not self.size_related:
            return False
        return self.prop.startswith(("size[", "stride[", "duck")) or (
            self.prop.startswith("shape ") and tensor_part(self.source) is not None
        )


class Explanation(NamedTuple):
    """The causes that separate a compile from one earlier entry, and the differences that only follow from them."""

    entry: Compile
    causes: tuple[Cause, ...]
    consequences: tuple[str, ...]

    @property
    def others(self) -> int:
        """How many causes are no sizes; an int that could be symbolic is none either."""
        return sum([not cause.is_size for cause in self.causes])


def explain(comparer: Comparer, entry: Compile, compile: Compile) -> Explanation:
    """What keeps ``compile`` from using ``entry``. No cause at all means that the trace does not tell."""
    pair = (id(entry), id(compile))
    known = comparer.explanations.get(pair)
    if isinstance(known, Explanation):
        return known
    words = tuple([reason.text for reason in comparer.reasons_about(entry, compile)])
    key = (comparer.signature(entry), comparer.signature(compile), words)
    found = comparer.explained.get(key)
    if not isinstance(found, tuple):
        found = comparer.explained[key] = _explained(comparer, entry, compile)
    made = comparer.explanations[pair] = Explanation(entry, *found)
    return made


def _explained(comparer: Comparer, entry: Compile, compile: Compile) -> tuple[tuple[Cause, ...], tuple[str, ...]]:
    kept, followed = _without_consequences(comparer.violations(entry, compile), entry, compile, comparer)
    causes: dict[tuple[str, str], Cause] = {}
    for violation in kept:
        cause = _cause(violation, entry, compile, comparer)
        # Several guards on one size fail together, and so do several keys of one dict.
        part = cause.codes[0] if violation.shape and cause.prop != "stride" else "keys" if cause.prop.startswith("has ") else cause.prop
        if cause.codes[0] == "SL102":
            part = "value"  # its constant, or a guard on its symbol
        elif cause.prop == "value" and (cause.source, "keys") in causes:
            continue  # a set that lost or gained a member is another set
        causes.setdefault((cause.source, part), cause)
    return tuple(_merged_keys(list(causes.values()))), tuple(_axis(item.source, item.prop) for item in followed)


def _without_consequences(
    violations: tuple[Violation, ...], entry: Compile, compile: Compile, comparer: Comparer
) -> tuple[list[Violation], list[Violation]]:
    """(causes, consequences): what lies below a replaced object, strides that follow from sizes, sizes of another rank, and the like."""
    # Of several signs that one object was replaced, the first stands for all.
    replaced = {_owner(item): item for item in reversed(violations) if _replaces(item)}
    ranks = {item.source for item in violations if item.prop == "rank"}
    resized = {comparer.spell(item.source) for item in violations if item.prop.startswith(("size[", "stride[", "rank"))}
    for item in violations:
        names = comparer.expression(str(item.expected)).names if item.shape else ()
        if not any(".stride()[" in name for name in names):
            resized.update(name.split(".size()[")[0] for name in names)
    changed = {comparer.spell(item.source) for item in violations if item.prop == "len"}
    died = any(item.prop == "lifetime" for item in violations)
    no_grad = any(item.prop in ("grad_mode", "global state") and "grad_mode" in (item.prop + str(item.expected)) for item in violations)
    autocast = any(item.prop.startswith("autocast") or "autocast" in str(item.expected) for item in violations if not item.source)
    kept: list[Violation] = []
    followed: list[Violation] = []
    for item in violations:
        follows = (
            (item.prop in _BELOW_REPLACED and any(covers(parent, item) for parent, own in replaced.items() if own is not item))
            or (item.source in ranks and item.prop.startswith(("size[", "stride[")))
            or (item.prop.startswith("shape ") and _is_layout_of(item, resized, entry, compile, comparer))
            or (item.prop.startswith("shape ") and _is_about(item, {comparer.spell(source) for source in ranks}, comparer))
            or (item.prop.startswith("shape ") and _lies_below(item, changed, comparer))
            or (died and item.prop in ("id", "type"))
            or (item.prop == "" and len(violations) > 1)  # PyTorch could not say what failed, and the facts do
            or (item.prop != "lifetime" and any(covers(other.source, item) for other in violations if other.prop == "lifetime"))
            or (no_grad and item.prop == "requires_grad" and _is_computed(item.source, entry, compile))
            or (autocast and item.prop == "dispatch keys" and "Autocast" in f"{item.expected}{item.actual}")
            or (item.prop.startswith("stride[") and follows_from_sizes(item, entry, compile, comparer))
            or (
                item.prop == "dispatch keys"
                and any(other.source == item.source and other.prop in ("device", "tensor") for other in violations)
            )
        )
        (followed if follows else kept).append(item)
    return (kept, followed) if kept else (followed, [])


def _is_layout_of(item: Violation, resized: set[str], entry: Compile, compile: Compile, comparer: Comparer) -> bool:
    """Whether a failed guard relates the strides of a tensor to its sizes, and failed because a size or stride that is static changed."""
    names = comparer.expression(str(item.expected)).names
    tensors = {name.split(".stride()[")[0] for name in names if ".stride()[" in name} & resized
    if not tensors or not any(".size()[" in name for name in names):
        return False
    sources = [tensor.source for tensor in compile.inputs if comparer.spell(tensor.source) in tensors]
    return all(same_order(entry, compile, source, comparer) for source in sources)


def _is_about(item: Violation, tensors: set[str], comparer: Comparer) -> bool:
    """Whether a failed guard speaks of a size or stride of one of these tensors."""
    names = comparer.expression(str(item.expected)).names
    return any(re.split(r"\.(?:size|stride)\(\)\[", name)[0] in tensors for name in names)


def _lies_below(item: Violation, containers: set[str], comparer: Comparer) -> bool:
    """Whether a failed guard speaks of an item of a container whose length changed: it belongs to the path for that length."""
    return any(is_below(name, container) for name in comparer.expression(str(item.expected)).names for container in containers)


def _replaces(item: Violation) -> bool:
    """Whether the whole object behind the source is another one."""
    if item.prop in ("id", "type", "closure", "tensor"):
        return True
    return item.prop == "value" and ("None" in (str(item.expected), str(item.actual)) or str(item.actual) in ("a tensor", "another object"))


def _owner(item: Violation) -> str:
    return item.source.removesuffix(".__code__").removesuffix(".__closure__")


def _is_computed(source: str, entry: Compile, compile: Compile) -> bool:
    """Whether a tensor is the result of a computation, so that its requires_grad follows the grad mode."""
    found = [item for item in (*entry.inputs, *compile.inputs) if item.source == source]
    return any(item.requires_grad and not item.is_leaf for item in found)


def _merged_keys(causes: list[Cause]) -> list[Cause]:
    """One cause for a dict, however many of its keys differ and though its length does too."""
    dicts = {cause.source for cause in causes if cause.codes[0] == "SL314"}
    seen: set[str] = set()
    merged = []
    for cause in causes:
        if cause.source in dicts and cause.codes[0] in ("SL313", "SL314"):
            if cause.source in seen:
                continue
            seen.add(cause.source)
        merged.append(cause)
    return merged


def _axis(source: str, prop: str) -> str:
    """``x.size[0]``, ``mode``, ``type(self)``, ``grad_mode``."""
    name = display_name(source)
    if prop.startswith("shape "):
        part = tensor_part(source)
        return f"{display_name(part[0])}.{part[1]}[{part[2]}]" if part else name
    if not name:
        return prop
    if prop == "value":
        return name
    if prop in ("len", "type", "id"):
        return f"{prop}({name})"
    return f"{name}.{prop}" if prop.startswith(("size[", "stride[", "dtype", "requires_grad", "rank", "device")) else f"{name} {prop}"


def _cause(item: Violation, entry: Compile, compile: Compile, comparer: Comparer) -> Cause:
    owner = dict_of_key(item.source)
    source = item.source if owner is None else owner
    codes, sentence, size_related = judge(item, owner is not None, source, entry, compile, comparer)
    place = _place(item, compile)
    prop = "keys" if codes[0] == "SL314" and (owner or item.prop.startswith("has ")) else item.prop
    before, after = _shown(item)
    axis = _axis(source, prop)
    if codes[0] == "SL105" and not size_related:  # another order of dims shows in several strides, and in guards that relate them
        part = tensor_part(source) if item.shape else None
        source = part[0] if part else source
        layouts = layout(entry, source, comparer), layout(compile, source, comparer)
        axis, prop = f"{display_name(source)}.stride", "stride"
        before, after = (str(tuple(found[1])) if found else text for found, text in zip(layouts, (before, after), strict=True))
        sentence = (
            f"the memory layout of {display_name(source)} changed (transposed, channels last, or a view): strides {before}, now {after}"
        )
    if codes[0] == "SL103" and item.shape:
        pair = [name for name in comparer.expression(item.shape.expression).names if tensor_part(name)]
        numbers = comparer.observe(compile).numbers
        axis, prop = " and ".join(_axis(name, "shape ") for name in pair), "duck shape"
        before, after = "equal", " and ".join(str(numbers.get(name, "?")) for name in pair)
    if item.prop == "global state":  # before torch 2.13 only the names of what changed are recorded
        return Cause(codes, source, prop, ", ".join(before.split()), "", "", bool(size_related), sentence, place, True)
    return Cause(
        codes=codes,
        source=source,
        prop=prop,
        axis=axis,
        before=before,
        after=after,
        size_related=RULES[codes[0]].size_related if size_related is None else size_related,
        sentence=sentence,
        place=place,
        named_by_pytorch=item.reason is not None,
    )


def _place(item: Violation, compile: Compile) -> UserLine | None:
    """The user's line: from the reason's stack, else from that of the symbol that the size became, else as the guard's comment has it,
    which may be a line of a library.
    """
    found = (item.reason.place if item.reason else None) or place_of(item.comment)
    if found is not None and not is_library(found.file):
        return found
    part = f"{item.source}.size()[{item.prop[5:-1]}]" if item.prop.startswith("size[") else item.source
    symbol = next((symbol for symbol in compile.symbols if symbol.source == part), None)
    for frame in reversed(symbol.user_stack.frames if symbol else ()):
        if not is_library(frame.file):
            return UserLine(frame.file, frame.line, frame.name, frame.code)
    return found


def _shown(item: Violation) -> tuple[str, str]:
    """Before and after, as people would say them."""
    before, after = str(item.expected), str(item.actual)
    if item.shape:
        return display_name(before), display_name(after)
    if "___as_tensor(" in before:  # a float is compared with the tensor made of it when it was NaN
        return "NaN or another value", after
    if item.prop.startswith("autocast "):
        return autocast_pair(item) or (before, after)
    if item.prop in STATE_PROPS:
        return state_value(item.prop, before), state_value(item.prop, after)
    return before, after
