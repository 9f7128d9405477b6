"""Violation → rule codes and one sentence in English for a person who has never heard of dispatch keys."""

import re

from shapelog.model.trace import Compile
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.source_names import display_name, tensor_part
from shapelog.reading.records import Specialization
from shapelog.recompiles.global_state import judged_state
from shapelog.recompiles.strides import described, is_free, same_order
from shapelog.recompiles.violations import Comparer, Violation

_LAYOUT = {True: "a slice of another width", False: "another memory layout (transposed, channels last, or a view)"}
_ZERO_ONE = "0/1 specialization"
Judged = tuple[tuple[str, ...], str, bool | None]


def judge(item: Violation, is_key: bool, source: str, entry: Compile, compile: Compile, comparer: Comparer) -> Judged:
    """(codes, sentence, size-related or None for what the rule says)."""
    name, prop, before, after = display_name(source), item.prop, str(item.expected), str(item.actual)
    family = item.reason.family if item.reason else ""
    if prop.startswith("shape "):
        return _judged_shape(item, entry, compile, comparer)
    if prop.startswith("size["):
        return _judged_size(item, entry, compile)
    if prop.startswith("stride["):
        free = is_free(entry, item.source, int(prop[7:-1]), comparer) and item.actual not in (0, 1)
        same = free and same_order(entry, compile, item.source, comparer)
        return ("SL105",), f"the stride of {name} in dim {prop[7:-1]} was {before} and is now {after}: {_LAYOUT[same]}", same
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
        return judged_state(item)
    text = item.reason.text if item.reason else f"{name} {prop}"
    return ("SL399",), f"PyTorch names a guard that shapelog does not know: {text}", None


_SIMPLE = {
    "keys": ("SL314", "the keys of the dict {name} changed"),
    "rank": ("SL107", "{name} had rank {before} and now has rank {after}"),
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
    name, dim = display_name(item.source), item.prop[5:-1]
    codes = ["SL101"]
    sentence = f"dim {dim} of {name} was {item.expected} and is now {item.actual}"
    tensor = described(compile, item.source) or described(entry, item.source)
    if (tensor and tensor.is_parameter) or (item.reason and item.reason.is_parameter) or "._parameters[" in item.source:
        codes.append("SL106")
        sentence += "; it is a parameter, and parameters are static by default"
    elif item.expected in (0, 1) or item.actual in (0, 1):
        codes.append("SL104")
        which = (
            "sizes of 0 and 1 are"
            if {item.expected, item.actual} == {0, 1}
            else "a size of 1 is"
            if 1 in (item.expected, item.actual)
            else "a size of 0 is"
        )
        sentence += f"; {which} always compiled on {'their' if which.startswith('sizes') else 'its'} own"
    own = f"{item.source}.size()[{dim}]"
    pinned = _specialization(entry, own) or _specialization(compile, own)
    partner = _partner(item, entry, compile) if pinned else ""
    if partner:
        sentence += f"; the code ties it to {partner}, which is static: mark both"
    elif pinned:
        codes.append(_specializer(pinned))
        sentence += f"; {_by_whom(pinned)} needs the exact size"
    return tuple(codes), sentence, True


def _partner(item: Violation, entry: Compile, compile: Compile) -> str:
    """Another dim that changed from and to the same sizes: the two are one in the code, and a static one pins the other."""
    for before in entry.inputs:
        after = described(compile, before.source)
        if after is None or len(after.size) != len(before.size):
            continue
        for dim, sizes in enumerate(zip(before.size, after.size, strict=True)):
            if sizes == (item.expected, item.actual) and (before.source, f"size[{dim}]") != item.key:
                return f"{display_name(before.source)}.size[{dim}]"
    return ""


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
    code = frames[-1].code.strip().split("  #")[0]
    return f"{where} ({code[:60]}{'…' if len(code) > 60 else ''})" if code else where


def _judged_shape(item: Violation, entry: Compile, compile: Compile, comparer: Comparer) -> Judged:
    assert item.shape is not None
    text, comment = display_name(item.shape.expression), item.shape.comment
    seen = f" (now {display_name(str(item.actual))})" if item.actual else ""
    if "duck sizing" in comment:
        return ("SL103",), f"two sizes were equal when this was compiled, so PyTorch took them for one and the same: {text}{seen}", True
    numbers = comparer.observe(compile).numbers
    values = [numbers[name] for name in comparer.expression(item.shape.expression).names if name in numbers]
    expression = item.shape.expression
    part = tensor_part(item.source)
    if part and ".stride()[" in expression:
        source = next((tensor.source for tensor in compile.inputs if comparer.spell(tensor.source) == part[0]), part[0])
        same = same_order(entry, compile, source, comparer)
        return ("SL105",), f"the strides of {display_name(part[0])} no longer follow from its sizes ({text}){seen}: {_LAYOUT[same]}", same
    sizes = [name for name in comparer.expression(expression).names if tensor_part(name)]
    # torch 2.4 gives no comment, but these two forms are what its 0/1 specialization writes; a size of 1 that broadcasts fails an equality.
    is_zero_one = _ZERO_ONE in comment or re.fullmatch(r"2 <= [^<>=]+|Ne\([^()]+, [01]\)", expression)
    is_equality = len(sizes) == 2 and re.fullmatch(r"[^<>=!%*/+]+ == [^<>=!%*/+]+", expression)
    if (is_zero_one or is_equality) and any(value in (0, 1) for value in values or ((0,) if is_zero_one else ())):
        what = "a size" if sizes or not values else "an int"
        return ("SL104",), f"{what} of 0 or 1 is always compiled on its own: the entry needs {text}{seen}", True
    if re.fullmatch(r"[^=<>!%*/+()]+(?:\(\)\[\d+\])? == -?\d+", expression):
        if tensor_part(item.source) is None:
            return ("SL102", "SL201"), f"the code pinned an int: the entry needs {text}{seen}", True
        return ("SL201",), f"the code pinned a size: the entry needs {text}{seen}", True
    return ("SL204",), f"the code branches on a size: the entry serves {text} only{seen}", True


def _judged_python(item: Violation, name: str, entry: Compile, compile: Compile) -> Judged:
    prop, before, after = item.prop, str(item.expected), str(item.actual)
    family = item.reason.family if item.reason else ""
    if prop.startswith("marking") or family == "marking":
        named = name or "a tensor"
        return (
            ("SL321",),
            f"{named} is marked (mark_dynamic, maybe_mark_dynamic or mark_static) in another way than when this was compiled",
            None,
        )
    if prop.startswith("autocast"):
        return judged_state(item)
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
    before, after = str(item.expected), str(item.actual) or "another number"
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


# Before torch 2.8 a bool is guarded by its id, and CPython keeps True and False side by side, 32 bytes apart.
_BOOL_DISTANCE = 32


def _judged_identity(item: Violation, name: str) -> Judged:
    if item.source.endswith((".__code__", "__code__")) or "code" in str(item.expected).split("'")[-2:]:
        return ("SL309",), f"{name.removesuffix('.__code__')} is another function than before: its code object differs", None
    if "function" in str(item.expected):
        return ("SL309",), f"{name} is another function than before", None
    if "<enum " in str(item.expected):
        return ("SL311",), f"{name} is another member of the enum {_short(str(item.expected))} than before", None
    ids = [integer(str(value)) for value in (item.expected, item.actual)]
    if ids[0] is not None and ids[1] is not None and abs(ids[0] - ids[1]) == _BOOL_DISTANCE:
        return ("SL311",), f"{name} changed between True and False", None
    kind = f" (a {_short(str(item.expected))})" if item.expected and not str(item.expected).isdigit() else ""
    return ("SL308",), f"{name}{kind} is another object than the one this was compiled for", None


def _short(kind: str) -> str:
    """``<class 'a.B'>``, ``<enum 'B'>`` or ``a.B`` → ``B``."""
    quoted = re.fullmatch(r"<\w+ '(.*)'>", kind)
    return (quoted[1] if quoted else kind).rsplit(".", 1)[-1]


def _judged_value(item: Violation, name: str, entry: Compile, compile: Compile) -> Judged:
    before, after = str(item.expected), str(item.actual)
    now = f"{after}" if after else "something else"
    if before == "an object":  # guarded by its id, in a version that does not write types: most often None
        return ("SL322",), f"{name} was None, or an object guarded by its identity, and is now {now}", None
    if before == "not None":
        return ("SL322",), f"{name} was not None and is now None", None
    if "None" in (before, after) and before != after:
        return ("SL322",), f"{name} was {before} and is now {now}", None
    if item.source.endswith(".training"):
        return ("SL316",), f"{name} was {before} and is now {now}: train() and eval() compile apart", None
    if integer(before) is not None:
        if after and integer(after) is None:
            return ("SL310",), f"{name} was the int {before} and is now {now}", None
        return _judged_int(item, name, entry, compile, before, now)
    if _is_float(before) or "___as_tensor(" in before:  # a float is compared with the tensor made of it when it was NaN
        before = "NaN or another value" if "___as_tensor(" in before else before
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
    if owner == "L['self']" and entry.metrics.code_name == "forward":
        return True
    if not dot or tree is None:
        return False
    return (owner.endswith("']") and "._modules[" in owner) or owner in tree.modules
