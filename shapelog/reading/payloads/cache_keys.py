"""What compile caches write: whether an entry was found, and the components of the key that it was looked up by.

The artifacts are those of torch/_inductor/compile_fx.py and torch/_functorch/_aot_autograd/autograd_cache.py (torch 2.6 to 2.15). A
component is one line of ``FxGraphHashDetails.debug_lines``: ``[hash] name: value``; in older traces its
further lines are items of their own.
"""

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

FX_GRAPH, AOT_AUTOGRAD = "FX graph cache", "AOTAutograd cache"
HIT, MISS, BYPASS, NOT_SAVED = "hit", "miss", "bypass", "not saved"
# Artifact → the cache, and what became of it.
CACHE_ARTIFACTS = {
    **{f"fx_graph_cache_{result}": (FX_GRAPH, result) for result in (HIT, MISS, BYPASS)},
    **{f"aotautograd_cache_{result}": (AOT_AUTOGRAD, result) for result in (HIT, MISS, BYPASS)},
    "aotautograd_cache_pickle_failure": (AOT_AUTOGRAD, NOT_SAVED),
    "dynamo_cache_bypass": ("Dynamo cache", BYPASS),
    "precompile_cache_bypass": ("precompile cache", BYPASS),
}
_COMPONENT = re.compile(r"\[([a-z0-9]{20,80})\] ([^:\n]{1,200}):\s?(.*)", re.DOTALL)
_FIELD = re.compile(r"(\w+)=(torch\.Size\(\[[^\]]*\]\)|device\([^)]*\)|\([^()]*\)|\[[^\]]*\]|[^,()\[\]]+)")
_INPUTS, _INPUT, _TENSOR = "] example_inputs[", re.compile(r"example_inputs\[\d+\]$"), "TensorMetadata("
_SYMBOL = re.compile(r"^\('(\w+)',\)$")
_SIZE, _INNER = re.compile(r"torch\.Size\((.*)\)"), r"\1"
_IS_BACKWARD = "] fx_kwargs[is_backward]: True"
_LONGEST_REASON = 2000
# Those by which PyTorch itself decides that a cache is not used: their name adds nothing to the message.
_OWN_EXCEPTION = re.compile(r"Bypass\w+Cache")


class CacheEvent(NamedTuple):
    """What one lookup in a cache, or one attempt to save an entry, came to.

    ``components`` are those of the key, each with its hash, as PyTorch writes them. ``reason`` is why the cache was bypassed, or the
    entry not saved. ``seconds`` were spent compiling after a miss, ``saved_seconds`` were saved by a hit; None where they are not recorded.
    ``is_backward`` is whether the key is that of a backward graph, as the FX graph cache records it.
    """

    cache: str
    result: str
    key: str = ""
    components: tuple[str, ...] = ()
    reason: str = ""
    seconds: float | None = None
    saved_seconds: float | None = None
    is_backward: bool = False


class KeyComponent(NamedTuple):
    """A part of a key: ``inductor_config[max_autotune]`` and its value, as text."""

    hash: str
    name: str
    value: str


class KeyDifference(NamedTuple):
    """A component that two keys do not share. ``before`` and ``after`` are values, None where a key does not have it."""

    name: str
    before: str | None
    after: str | None


def parse_cache_event(artifact: str, payload: str) -> CacheEvent:
    """The event that an artifact of ``CACHE_ARTIFACTS`` holds. Text that is no JSON is the reason of a bypass."""
    cache, result = CACHE_ARTIFACTS[artifact]
    try:
        body = orjson.loads(payload)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        return CacheEvent(cache, result, reason=payload.strip()[:_LONGEST_REASON] if result == BYPASS else "")
    listed = body.get("components")
    components = [item for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    components = components if all(item[:1] == "[" for item in components) else list(_joined(components))
    saved = _seconds(body, "time_saved_ns", 1e9)
    return CacheEvent(
        cache=cache,
        result=result,
        key=str(body.get("key") or ""),
        components=tuple(components),
        reason=_reason(body)[:_LONGEST_REASON],
        seconds=_seconds(body, "time_taken_ns", 1e9),
        saved_seconds=_seconds(body, "time_saved_ms", 1e3) if saved is None else saved,
        is_backward=any(item.endswith(_IS_BACKWARD) for item in components),
    )


def _reason(body: dict[str, Any]) -> str:
    """Why there is no entry, with the type of the exception, or the field that cannot be saved, where these are recorded."""
    text = str(body.get("cache_bypass_reason") or body.get("error") or body.get("reason") or body.get("_reason") or "")
    kind, field = str(body.get("cache_bypass_exception_type") or ""), body.get("field")
    if field:
        return f"{field} cannot be saved: {text}"
    return f"{kind}: {text}" if kind and text and kind not in text and not _OWN_EXCEPTION.fullmatch(kind) else text


def _seconds(body: dict[str, Any], name: str, units: float) -> float | None:
    value = body.get(name)
    return value / units if isinstance(value, int | float) and 0 <= value < 1e18 else None


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """Components, with the lines behind them that are items of their own."""
    current: list[str] = []
    for line in lines:
        if current and not line.startswith("["):
            current.append(line)
            continue
        if current:
            yield "\n".join(current)
        current = [line]
    if current:
        yield "\n".join(current)


def parse_component(text: str) -> KeyComponent | None:
    """``[hash] name: value``, None for any other text."""
    found = _COMPONENT.fullmatch(text)
    return KeyComponent(found[1], found[2], found[3]) if found else None


def key_differences(before: Collection[str], after: Collection[str]) -> tuple[KeyDifference, ...]:
    """The components that only one of two keys has, by name, in the order of the second key; of a value only what differs in it.

    A symbolic size is an input of its own, which moves the tensors behind it: these are compared in their order, where both keys have as
    many.
    """
    equal = {text for text in frozenset(before).intersection(after) if _INPUTS not in text}
    one, other = _components(before, equal), _components(after, equal)
    gone: list[KeyComponent] = []
    if len(_tensors(one)) == len(_tensors(other)):
        moved = dict(zip(_tensors(one), _tensors(other), strict=True))
        gone = [item for name, item in one.items() if name not in moved and name in moved.values()]
        one = {name: item for name, item in one.items() if name not in moved} | {moved[name]: one[name] for name in moved}
    found = [_difference(name, one.get(name), other.get(name)) for name in (*other, *(name for name in one if name not in other))]
    found += [_difference(item.name, item, None) for item in gone]
    return tuple(item for item in found if item)


def _components(key: Iterable[str], left_out: Container[str]) -> dict[str, KeyComponent]:
    return {item.name: item for text in key if text not in left_out and (item := parse_component(text))}


def _tensors(key: Mapping[str, KeyComponent]) -> list[str]:
    """The names of the inputs that are tensors, in their order."""
    return [name for name, item in key.items() if _INPUT.match(name) and item.value.startswith(_TENSOR)]


def _difference(name: str, before: KeyComponent | None, after: KeyComponent | None) -> KeyDifference | None:
    if before and after and before.hash == after.hash:
        return None
    return KeyDifference(name, *_unlike(before.value if before else None, after.value if after else None))


def _unlike(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """Two values; of the metadata of tensors what differs, such as ``shape [8, 4]``. Strides and bytes follow from the shape."""
    old, new = _tensor_fields(before), _tensor_fields(after)
    if old and new:
        names = [name for name in new if old.get(name) != new[name]]
        names = ["shape"] if "shape" in names else names
        return _listed(old, names), _listed(new, names)
    return _as_tensor(old) or _as_symbol(before), _as_tensor(new) or _as_symbol(after)


def _as_tensor(fields: Mapping[str, str]) -> str:
    """What is compared with something that is no tensor; "" for no fields."""
    return f"a tensor of {_listed(fields, ['shape'])}" if fields else ""


def _as_symbol(value: str | None) -> str | None:
    """``s33`` for ``('s33',)``, as a symbolic size is written; any other value as it is."""
    return value and _SYMBOL.sub(r"\1", value)


def _tensor_fields(value: str | None) -> dict[str, str]:
    """The fields of the metadata of a tensor by name; {} for any other value."""
    return dict(_FIELD.findall(value)) if value is not None and value.startswith(_TENSOR) else {}


def _listed(fields: Mapping[str, str], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {_SIZE.sub(_INNER, fields.get(name, 'none'))}" for name in names)
