"""Violations → causes: the rule code of each, what merely follows from another, and one sentence in English."""

import re
from dataclasses import dataclass

from shapelog.axes import STATE_PROPS, Comparer, Violation, covers, is_about
from shapelog.model import Compile
from shapelog.payloads.exprs import integer
from shapelog.payloads.guards import Fact, Place, place_of
from shapelog.payloads.sources import dict_of_key, friendly, tensor_part
from shapelog.records import Input, Specialization
from shapelog.rules import RULES, Rule

# What another object brings along; sizes and values below it changed by themselves.
_BELOW_REPLACED = frozenset(("id", "type", "tensor", "closure"))
_ZERO_ONE = "0/1 specialization"
_GENERIC_STATE = {"grad_mode": "SL305", "autocast": "SL306"}
_STATE_WORDS = {
    "grad_mode": "grad mode",
    "num_threads": "the number of threads",
    "default_dtype": "the default dtype",
    "deterministic_algorithms": "deterministic algorithms",
    "deterministic_algorithms_warn_only": "deterministic algorithms (warn only)",
    "torch_function": "the torch_function switch",
    "torch_function_all_disabled": "the torch_function switch",
    "allow_tf32": "TF32",
    "allow_fp16_reduce": "reduced precision of fp16 sums",
    "allow_bf16_reduce": "reduced precision of bf16 sums",
}


@dataclass(frozen=True, slots=True)
class Cause:
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
    place: Place | None
    named_by_pytorch: bool

    @property
    def rule(self) -> Rule:
        return RULES[self.codes[0]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The causes that separate a compile from one earlier entry, and the differences that only follow from them."""

    entry: Compile
    causes: tuple[Cause, ...]
    consequences: tuple[str, ...]

    @property
    def others(self) -> int:
        """How many causes are no sizes; an int that could be symbolic is none either."""
        return sum(not cause.prop.startswith(("size[", "stride[", "shape ")) for cause in self.causes)


def explain(comparer: Comparer, entry: Compile, compile: Compile) -> Explanation:
    """What keeps ``compile`` from using ``entry``. No cause at all means that the trace does not tell."""
    words = tuple(reason.text for reason in compile.reasons if is_about(reason, entry))
    key = (comparer.signature(entry), comparer.signature(compile), words)
    found = comparer.explained.get(key)
    if not isinstance(found, tuple):
        found = comparer.explained[key] = _explained(comparer, entry, compile)
    return Explanation(entry, *found)


def _explained(comparer: Comparer, entry: Compile, compile: Compile) -> tuple[tuple[Cause, ...], tuple[str, ...]]:
    kept, followed = _without_consequences(comparer.violations(entry, compile), entry, compile, comparer)
    causes: dict[tuple[str, str], Cause] = {}
    for violation in kept:
        cause = _cause(violation, entry, compile, comparer)
        # Several guards on one size fail together, and so do several keys of one dict.
        part = cause.codes[0] if violation.shape else "keys" if cause.prop.startswith("has ") else cause.prop
        causes.setdefault((cause.source, part), cause)
    return tuple(_merged_keys(list(causes.values()))), tuple(_axis(item.source, item.prop) for item in followed)


def _without_consequences(
    violations: tuple[Violation, ...], entry: Compile, compile: Compile, comparer: Comparer
) -> tuple[list[Violation], list[Violation]]:
    """(causes, consequences): what lies below a replaced object, strides that follow from sizes, sizes of another rank, and the like."""
    # Of several signs that one object was replaced, the first stands for all.
    replaced = {_owner(item): item for item in reversed(violations) if _replaces(item)}
    ranks = {item.source for item in violations if item.prop == "rank"}
    resized = {comparer.spell(item.source) for item in violations if item.prop.startswith(("size[", "rank"))}
    for item in violations:
        names = comparer.expression(str(item.expected)).names if item.shape else ()
        if not any(".stride()[" in name for name in names):
            resized.update(name.split(".size()[")[0] for name in names)
    died = any(item.prop == "lifetime" for item in violations)
    no_grad = any(item.prop in ("grad_mode", "global state") and "grad_mode" in (item.prop + str(item.expected)) for item in violations)
    autocast = any(item.prop.startswith("autocast") or "autocast" in str(item.expected) for item in violations if not item.source)
    kept: list[Violation] = []
    followed: list[Violation] = []
    for item in violations:
        follows = (
            (item.prop in _BELOW_REPLACED and any(covers(parent, item) for parent, own in replaced.items() if own is not item))
            or (item.source in ranks and item.prop.startswith(("size[", "stride[")))
            or (item.prop.startswith("shape ") and _is_layout_of(item, resized, comparer))
            or (died and item.prop in ("id", "type"))
            or (no_grad and item.prop == "requires_grad" and _is_computed(item.source, entry, compile))
            or (autocast and item.prop == "dispatch keys" and "Autocast" in f"{item.expected}{item.actual}")
            or (item.prop.startswith("stride[") and _follows_from_sizes(item, entry, compile, comparer))
            or (
                item.prop == "dispatch keys"
                and any(other.source == item.source and other.prop in ("device", "tensor") for other in violations)
            )
        )
        (followed if follows else kept).append(item)
    return (kept, followed) if kept else (followed, [])


def _is_layout_of(item: Violation, resized: set[str], comparer: Comparer) -> bool:
    """Whether a failed guard relates the strides of a tensor to its sizes, and a size that is static in it changed."""
    names = comparer.expression(str(item.expected)).names
    return any(".stride()[" in name and name.split(".stride()[")[0] in resized for name in names)


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


def _input(compile: Compile, source: str) -> Input | None:
    return next((item for item in compile.inputs if item.source == source), None)


def _layout(compile: Compile, source: str, comparer: Comparer) -> tuple[list[int], list[int]] | None:
    """(sizes, strides) of a tensor, from its description or from what is static in the guards."""
    tensor = _input(compile, source)
    if tensor is not None:
        return list(tensor.size), list(tensor.stride)
    seen = comparer.observe(compile).facts
    rank = seen.get((source, "rank"))
    if not isinstance(rank, int):
        return None
    sizes, strides = ([seen.get((source, f"{name}[{dim}]")) for dim in range(rank)] for name in ("size", "stride"))
    if any(not isinstance(value, int) for value in (*sizes, *strides)):
        return None
    return [int(value) for value in sizes if value is not None], [int(value) for value in strides if value is not None]


def _follows_from_sizes(item: Violation, entry: Compile, compile: Compile, comparer: Comparer) -> bool:
    """Whether the stride is the product of the same inner sizes in both calls, so that it changed only because a size did."""
    before, after = _layout(entry, item.source, comparer), _layout(compile, item.source, comparer)
    if before is None or after is None or len(before[0]) != len(after[0]):
        return False
    dim = int(item.prop[7:-1])
    sizes_differ = before[0] != after[0]
    return sizes_differ and any(
        inner != dim
        and before[1][dim] == before[0][inner] * before[1][inner]
        and after[1][dim] == after[0][inner] * after[1][inner]
        and (before[0][inner] != after[0][inner] or before[1][inner] != after[1][inner])
        for inner in range(len(before[0]))
    )


def _same_order(entry: Compile, compile: Compile, source: str, comparer: Comparer) -> bool:
    """Whether the dims lie in the same order in memory: then a symbolic size makes the stride symbolic too."""
    before, after = _layout(entry, source, comparer), _layout(compile, source, comparer)
    if before is None or after is None or len(before[1]) != len(after[1]):
        return False
    return _order(before) == _order(after)


def _order(layout: tuple[list[int], list[int]]) -> list[int]:
    sizes, strides = layout
    return sorted((dim for dim in range(len(sizes)) if sizes[dim] > 1), key=lambda dim: (-strides[dim], dim))


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
    name = friendly(source)
    if prop.startswith("shape "):
        part = tensor_part(source)
        return f"{friendly(part[0])}.{part[1]}[{part[2]}]" if part else name
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
    codes, sentence, size_related = _judged(item, owner is not None, source, entry, compile, comparer)
    place = (item.reason.place if item.reason else None) or place_of(item.comment)
    prop = "keys" if codes[0] == "SL314" and (owner or item.prop.startswith("has ")) else item.prop
    before, after = _shown(item)
    if item.prop == "global state":  # before torch 2.13 only the names of what changed are recorded
        return Cause(codes, source, prop, ", ".join(before.split()), "", "", bool(size_related), sentence, place, True)
    return Cause(
        codes=codes,
        source=source,
        prop=prop,
        axis=_axis(source, prop),
        before=before,
        after=after,
        size_related=RULES[codes[0]].size_related if size_related is None else size_related,
        sentence=sentence,
        place=place,
        named_by_pytorch=item.reason is not None,
    )


def _shown(item: Violation) -> tuple[str, str]:
    """Before and after, as people would say them."""
    before, after = _said(item.expected), _said(item.actual)
    if item.shape:
        return friendly(before), friendly(after)
    if item.prop.startswith("autocast "):
        return _autocast_pair(item) or (before, after)
    if item.prop in STATE_PROPS:
        return _state_value(item.prop, before), _state_value(item.prop, after)
    return before, after


def _said(value: Fact) -> str:
    return str(value)


Judged = tuple[tuple[str, ...], str, bool | None]


def _judged(item: Violation, is_key: bool, source: str, entry: Compile, compile: Compile, comparer: Comparer) -> Judged:
    """(codes, sentence, size-related or None for what the rule says)."""
    name, prop, before, after = friendly(source), item.prop, _said(item.expected), _said(item.actual)
    family = item.reason.family if item.reason else ""
    if prop.startswith("shape "):
        return _judged_shape(item, comparer, compile)
    if prop.startswith("size["):
        return _judged_size(item, entry, compile)
    if prop.startswith("stride["):
        same = _same_order(entry, compile, item.source, comparer)
        words = "a slice of another width" if same else "another memory layout (transposed, channels last, or a view)"
        return ("SL105",), f"the stride of {name} in dim {prop[7:-1]} was {before} and is now {after}: {words}", same
    if is_key:
        return ("SL314",), f"the keys of the dict {name} changed", None
    if prop == "dispatch keys":
        return _judged_keys(name, before, after)
    simple = _SIMPLE.get(prop)
    if simple:
        code, words = simple
        return (code,), words.format(name=name, before=before or "one value", after=after or "another"), None
    if family in _BY_FAMILY or prop.startswith(("has ", "marking", "autocast")) or prop in ("id", "type", "value", "len", "range"):
        return _judged_python(item, name, entry, compile)
    if not item.source or family == "global_state":
        return _judged_state(item)
    text = item.reason.text if item.reason else f"{name} {prop}"
    return ("SL399",), f"PyTorch names a guard that shapelog does not know: {text}", None


_SIMPLE = {
    "keys": ("SL314", "the keys of the dict {name} changed"),
    "rank": ("SL107", "{name} had {before} dims and now has {after}"),
    "dtype": ("SL301", "the dtype of {name} was {before} and is now {after}"),
    "requires_grad": ("SL302", "{name} had requires_grad={before} and now has {after}"),
    "device": ("SL304", "{name} was on device {before} and is now on {after}"),
    "closure": ("SL309", "{name} is another function than before, created anew for this call"),
    "backend": ("SL318", "torch.compile was called with another backend object for the same code, so its earlier entries do not count"),
    "lifetime": ("SL319", "{name} was garbage-collected, which throws away the code that was compiled for it"),
    "aliasing": ("SL317", "which of the inputs are the same tensor (or overlap in memory) changed"),
    "attributes": ("SL320", "an attribute of {name} that was there before is gone"),
    "nan": ("SL312", "the float {name} changed between NaN and a number"),
    "present": ("SL320", "{name} was there before and is gone"),
    "": ("SL399", "PyTorch itself could not say which guard failed: the state changed while it looked"),
}
_BY_FAMILY = frozenset(("value", "type", "id", "length", "key", "member", "attribute", "marking", "tensor_type", "iterator", "key_order"))


_BACKEND = re.compile(r"^(?:CPU|CUDA|HIP|XLA|MPS|IPU|XPU|HPU|VE|Lazy|MTIA|MAIA|PrivateUse\d|Meta)$")
_KEY_KINDS = (
    (("Conjugate", "Negative", "ZeroTensor"), "SL303", "a lazily conjugated or negated view"),
    (
        ("FuncTorchBatched", "FuncTorchGradWrapper", "BatchedNestedTensor", "Functionalize"),
        "SL303",
        "inside a torch.func transform such as vmap",
    ),
    (("Python", "PythonTLSSnapshot"), "SL303", "a tensor subclass, or used under a dispatch mode"),
)


def _judged_keys(name: str, before: str, after: str) -> Judged:
    """What kind of tensor it is, told from the dispatch keys that only one side has."""
    old, new = (set(re.findall(r"\w+", text.removeprefix("DispatchKeySet"))) for text in (before, after))
    differing = old ^ new
    backends = [sorted(key for key in keys if _BACKEND.match(key)) for keys in (old, new)]
    if any(key.startswith(("Sparse", "Nested", "Quantized", "Mkldnn")) for key in differing):
        return ("SL303",), f"{name} is of another layout than before (sparse, nested or quantized)", None
    if new and backends[0] != backends[1]:
        return ("SL304",), f"{name} was on device type {'/'.join(backends[0]) or '?'} and is now on {'/'.join(backends[1]) or '?'}", None
    if any(key.startswith("Autocast") for key in differing):
        return (
            ("SL306",),
            f"autocast was switched {'on' if any(key.startswith('Autocast') for key in new) else 'off'} since this was compiled",
            None,
        )
    for keys, code, words in _KEY_KINDS:
        if differing & set(keys):
            now = "is now" if new & set(keys) else "is no longer"
            return (code,), f"{name} {now} {words}", None
    if "ADInplaceOrView" in differing or any(key.startswith("Autograd") for key in differing):
        now = "used outside of" if "ADInplaceOrView" in new else "made or used in"
        return ("SL303",), f"{name} is now {now} inference mode, which makes it another kind of tensor", None
    return (
        ("SL303",),
        f"{name} is a tensor of another kind than before: {', '.join(sorted(differing)) or 'the trace does not tell which'}",
        None,
    )


def _judged_size(item: Violation, entry: Compile, compile: Compile) -> Judged:
    name, dim = friendly(item.source), item.prop[5:-1]
    codes = ["SL101"]
    sentence = f"dim {dim} of {name} was {item.expected} and is now {item.actual}"
    tensor = _input(compile, item.source) or _input(entry, item.source)
    if (tensor and tensor.is_parameter) or (item.reason and item.reason.is_parameter) or "._parameters[" in item.source:
        codes.append("SL106")
        sentence += "; it is a parameter, and parameters are static by default"
    elif item.expected in (0, 1) or item.actual in (0, 1):
        codes.append("SL104")
        which = item.expected if item.expected in (0, 1) else item.actual
        sentence += f"; a size of {which} is always compiled on its own"
    own = f"{item.source}.size()[{dim}]"
    pinned = _specialization(entry, own) or _specialization(compile, own)
    if pinned:
        codes.append(_specializer(pinned))
        sentence += f"; {_by_whom(pinned)} needs the exact size"
    return tuple(codes), sentence, True


def _specialization(compile: Compile, source: str) -> Specialization | None:
    return next((item for item in compile.specializations if source in item.sources), None)


def _specializer(item: Specialization) -> str:
    frames = item.user_stack.frames
    return "SL202" if not frames or "-packages/" in frames[-1].file else "SL201"


def _by_whom(item: Specialization) -> str:
    frames = item.user_stack.frames
    if not frames:
        return "the framework"
    where = f"{frames[-1].file.rsplit('/', 1)[-1]}:{frames[-1].line}"
    return f"{where} ({frames[-1].code.strip()})" if frames[-1].code else where


def _judged_shape(item: Violation, comparer: Comparer, compile: Compile) -> Judged:
    assert item.shape is not None
    text, comment = friendly(item.shape.expression), item.shape.comment
    seen = f" (now {friendly(str(item.actual))})" if item.actual else ""
    if "duck sizing" in comment:
        return ("SL103",), f"two sizes were equal when this was compiled, so PyTorch took them for one and the same: {text}{seen}", True
    numbers = comparer.observe(compile).numbers
    values = [numbers[name] for name in comparer.expression(item.shape.expression).names if name in numbers]
    # torch 2.4 gives no comment, but these two forms are what its 0/1 specialization writes.
    is_zero_one = _ZERO_ONE in comment or re.fullmatch(r"2 <= [^<>=]+|Ne\([^()]+, [01]\)", item.shape.expression)
    if is_zero_one and (not values or any(value in (0, 1) for value in values)):
        return ("SL104",), f"a size of 0 or 1 is always compiled on its own: the entry needs {text}{seen}", True
    if re.fullmatch(r"[^=<>!]+ == -?\d+", item.shape.expression):
        if tensor_part(item.source) is None:
            return ("SL102", "SL201"), f"the code pinned an int: the entry needs {text}{seen}", True
        return ("SL201",), f"the code pinned a size: the entry needs {text}{seen}", True
    return ("SL204",), f"the code branches on a size: the entry serves {text} only{seen}", True


def _judged_python(item: Violation, name: str, entry: Compile, compile: Compile) -> Judged:
    prop, before, after = item.prop, _said(item.expected), _said(item.actual)
    family = item.reason.family if item.reason else ""
    if prop.startswith("marking") or family == "marking":
        named = name or "a tensor"
        return (
            ("SL321",),
            f"{named} is marked (mark_dynamic, maybe_mark_dynamic or mark_static) in another way than when this was compiled",
            None,
        )
    if prop.startswith("autocast"):
        return _judged_state(item)
    if family == "member" or family == "key" or (prop.startswith("has ") and not prop.startswith("has attribute")):
        what = prop[4:]
        now = "no longer holds" if before == "True" else "now holds"
        return ("SL314",), f"{name} {now} {what}", None
    if prop.startswith("has attribute"):
        return ("SL320",), f"{name} {'no longer has' if before == 'True' else 'now has'} the attribute {prop[14:]}", None
    if prop == "len":
        return _judged_length(item, name, entry)
    if prop == "range":
        return ("SL313",), f"the range {name} was {before or 'another one'} and changed", None
    if prop == "id" or family == "id":
        return _judged_identity(item, name)
    if prop == "type" or family in ("type", "tensor_type"):
        now = f"now {after}" if after else "now something else"
        named = before if before in ("a tensor", "None") else f"of type {before}"
        was = f"was {named}, {now}" if before and before != after else f"is of another type than before ({now})"
        code = "SL322" if "None" in (before, after) or after == "NoneType" else "SL310"
        return (code,), f"{name} {was}", None
    return _judged_value(item, name, entry, compile)


def _judged_length(item: Violation, name: str, entry: Compile) -> Judged:
    before, after = _said(item.expected), _said(item.actual) or "another number"
    tree = entry.guards
    kind = tree.types.get(item.source, "") if tree else ""
    if tree and not kind and (item.source, "len") not in tree.facts and item.reason is None:
        kind = "dict"  # inferred from its guarded keys
    guard = tree.by_key.get((item.source, "len")) if tree else None
    is_dict = (
        "dict" in kind.lower()
        or (guard is not None and guard.kind == "DICT_LENGTH")
        or (item.reason is not None and "!=" in item.reason.code)
    )
    if is_dict:
        return ("SL314",), f"the dict {name} had {before} key{'' if before == '1' else 's'} and now has {after}", None
    return ("SL313",), f"{name} had {before} item{'' if before == '1' else 's'} and now has {after}", None


def _judged_identity(item: Violation, name: str) -> Judged:
    if item.source.endswith((".__code__", "__code__")) or "code" in str(item.expected).split("'")[-2:]:
        return ("SL309",), f"{name.removesuffix('.__code__')} is a new function each time: its code object is another one", None
    if "function" in str(item.expected):
        return ("SL309",), f"{name} is another function than before", None
    kind = f" (a {_short(str(item.expected))})" if item.expected and not str(item.expected).isdigit() else ""
    return ("SL308",), f"{name}{kind} is another object than the one this was compiled for", None


def _short(kind: str) -> str:
    return kind.removeprefix("<class '").removesuffix("'>").rsplit(".", 1)[-1]


def _judged_value(item: Violation, name: str, entry: Compile, compile: Compile) -> Judged:
    before, after = _said(item.expected), _said(item.actual)
    now = f"{after}" if after else "something else"
    if "None" in (before, after) and before != after:
        return ("SL322",), f"{name} was {before} and is now {now}", None
    if item.source.endswith(".training"):
        return ("SL316",), f"{name} was {before} and is now {now}: train() and eval() compile apart", None
    if integer(before) is not None:
        if after and integer(after) is None:
            return ("SL310",), f"{name} was the int {before} and is now {now}", None
        return _judged_int(item, name, entry, compile, before, now)
    if _is_float(before):
        return ("SL312",), f"the float {name} was {before} and is now {now}", None
    return ("SL311",), f"{name} was {before} and is now {now}", None


def _judged_int(item: Violation, name: str, entry: Compile, compile: Compile, before: str, now: str) -> Judged:
    sentence = f"the int {name} was {before} and is now {now}"
    if _is_module_attribute(item.source, entry) or (item.reason and "nn.Module" in item.reason.text):
        return ("SL315",), f"{sentence}; ints on an nn.Module are static by default", True
    codes = ["SL102"]
    pinned = _specialization(entry, item.source) or _specialization(compile, item.source)
    if pinned:
        codes.append(_specializer(pinned))
        sentence += f"; {_by_whom(pinned)} needs the exact value"
    return tuple(codes), sentence, True


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_module_attribute(source: str, entry: Compile) -> bool:
    owner, dot, _ = source.rpartition(".")
    tree = entry.guards
    if not dot or tree is None:
        return False
    marks = tuple(f"{owner}.{part}" for part in ("_modules", "_parameters", "_buffers", "training", "_forward_hooks"))
    return (owner.endswith("']") and "._modules[" in owner) or any(key[0].startswith(marks) for key in tree.facts)


def _judged_state(item: Violation) -> Judged:
    """Global state. torch 2.13 and later write its fields into the guard tree; before, only PyTorch's reason names them."""
    names = [item.prop] if item.prop != "global state" else str(item.expected).split()
    codes: list[str] = []
    words = []
    for name in names:
        root = "autocast" if name.startswith("autocast") else name
        codes.append(_GENERIC_STATE.get(root, "SL307"))
        label = "autocast" if root == "autocast" else _STATE_WORDS.get(root, root)
        words.append(label)
    known = item.prop != "global state" and not item.prop.startswith("autocast") and item.actual != ""
    change = (
        f" from {_state_value(item.prop, item.expected)} to {_state_value(item.prop, item.actual)}" if known else _autocast_change(item)
    )
    text = " and ".join(dict.fromkeys(words)) or "the global state"
    return tuple(dict.fromkeys(codes)) or ("SL307",), f"{text} changed{change} since this was compiled", None


# at::ScalarType, as the global state in the guard tree writes it
_SCALAR_TYPES = {"5": "float16", "6": "float32", "7": "float64", "9": "complex64", "10": "complex128", "15": "bfloat16"}


def _state_value(prop: str, value: Fact) -> str:
    text = str(value)
    return _SCALAR_TYPES.get(text, text) if prop == "default_dtype" else {"True": "on", "False": "off"}.get(text, text)


def _autocast_change(item: Violation) -> str:
    """What differs between two lists with one entry a device type; "" where the trace does not tell."""
    pair = _autocast_pair(item) if item.prop.startswith("autocast ") else None
    if pair is None:
        return ""
    return f"{' its dtype' if item.prop == 'autocast dtype' else ''} from {pair[0]} to {pair[1]}"


def _autocast_pair(item: Violation) -> tuple[str, str] | None:
    """(before, after) of the first device type whose autocast state differs; the lists have one entry a device type."""
    before, after = (re.findall(r"\w+", str(value)) for value in (item.expected, item.actual))
    for old, new in zip(before, after, strict=False):
        if old != new:
            dtype = item.prop == "autocast dtype"
            return (_SCALAR_TYPES.get(old, old), _SCALAR_TYPES.get(new, new)) if dtype else (_state_value("", old), _state_value("", new))
    return None
