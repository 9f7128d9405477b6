"""What follows from a state that is not the function's own: grad mode, autocast, default device and dtype, transforms, tracing."""

import re

from shapelog.reading.payloads.properties import AUTOCAST_ENABLED, DUAL_LEVEL, TRANSFORMS, Kind
from shapelog.recompiles.consequences.changes import Changes
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.global_state import default_dtypes, is_of_cache

_OF_TRANSFORMS = ("G['__import_torch_dot__functorch_dot_", "G['__import_torch_dot_autograd_dot_forward_ad']")
_OF_FUNCTION_MODES = "___get_torch_function_mode_stack_at("
_TORCH, _PARAMETER = "torch.", "torch.nn.Parameter"


def set_by_default_device(item: Violation, changes: Changes) -> bool:
    """The default device is a torch function mode, which has that device: where one is set or unset, the stack of modes changes as well."""
    if not changes.has(Kind.DEFAULT_DEVICE):
        return False
    devices = [{str(other.expected), str(other.actual)} for other in changes.of(Kind.DEFAULT_DEVICE)]
    if item.prop.kind is Kind.FUNCTION_MODES:
        return any("None" in values for values in devices)
    return item.source.startswith(_OF_FUNCTION_MODES) and {str(item.expected), str(item.actual)} in devices


def computed_under_other_grad_mode(item: Violation, changes: Changes) -> bool:
    """The requires_grad of the result of a computation follows the grad mode."""
    if item.prop.kind is not Kind.REQUIRES_GRAD or not changes.grad_mode_changed:
        return False
    found = (changes.entry.input(item.source), changes.call.input(item.source))
    return any(tensor is not None and tensor.has_history for tensor in found)


def gradient_of_a_parameter(item: Violation, changes: Changes) -> bool:
    """A parameter requires a gradient, and the plain tensor that is passed in its place does not, or the other way round."""
    if item.prop.kind is not Kind.REQUIRES_GRAD:
        return False
    types = {(str(other.expected), str(other.actual)) for other in changes.of(Kind.TYPE) if other.source == item.source}
    return any((before if item.expected is True else after) == _PARAMETER for before, after in types)


def metadata_with_requires_grad(item: Violation, changes: Changes) -> bool:
    """The metadata of a tensor subclass may have its requires_grad, as that of nested tensors (torch/nested/_internal/nested_tensor.py)
    and of DTensor does; where both differ, a call with the same requires_grad may have the same metadata.
    """
    return item.prop.kind is Kind.METADATA and any(other.source == item.source for other in changes.of(Kind.REQUIRES_GRAD))


def dtype_follows_default(item: Violation, changes: Changes) -> bool:
    """The dtype of a tensor that changed as the default dtype did, or as the complex one that belongs to it."""
    return item.prop.kind is Kind.DTYPE and any(
        (str(item.expected).removeprefix(_TORCH), str(item.actual).removeprefix(_TORCH)) in default_dtypes(other)
        for other in changes.of(Kind.GLOBAL_STATE)
    )


def changed_by_inference_mode(item: Violation, changes: Changes) -> bool:
    """Inference mode turns grad mode off, and autograd's dispatch keys of every tensor."""
    if item.prop.kind is Kind.INFERENCE_MODE or not changes.has(Kind.INFERENCE_MODE):
        return False
    if item.prop.kind is Kind.GLOBAL_STATE:
        return item.prop.name == "grad_mode" or item.expected == "grad_mode"
    if item.prop.kind is not Kind.DISPATCH_KEYS:
        return False
    old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
    return all(key == "ADInplaceOrView" or key.startswith("Autograd") for key in old ^ new)


def changed_by_transform(item: Violation, changes: Changes) -> bool:
    """A transform of torch.func wraps the tensors, takes a dim from them (vmap), may make them require a gradient (grad), and counts its
    levels in ints of torch.
    """
    states, kind = changes.of(Kind.FUNCTORCH_STATE), item.prop.kind
    if kind is Kind.RANK and item.source in changes.batched:
        return True
    if kind is Kind.REQUIRES_GRAD and item.source in changes.differentiated:
        return True
    if not states:
        return False
    if kind is Kind.RANK:
        return any(str(other.expected).count("'Vmap'") != str(other.actual).count("'Vmap'") for other in states)
    if kind is Kind.FUNCTORCH_STATE:
        return item.prop == DUAL_LEVEL and any(other.prop == TRANSFORMS for other in states)
    if kind is Kind.REQUIRES_GRAD:
        return any("'Grad'" in f"{other.expected}{other.actual}" for other in states)
    if kind is Kind.DISPATCH_KEYS:
        old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
        return all(key.startswith(("FuncTorch", "Functionalize")) for key in old ^ new)
    return kind is Kind.VALUE and item.source.startswith(_OF_TRANSFORMS)


def changed_by_tracing(item: Violation, changes: Changes) -> bool:
    """Tracing runs under a dispatch mode, turns the cache of autocast off, and makes a fake tensor of one that was the same as another."""
    if item.prop.kind is Kind.DISPATCH_KEYS:
        old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
        is_traced = changes.traced or any(map(is_of_cache, (*changes.of(Kind.AUTOCAST), *changes.of(Kind.GLOBAL_STATE))))
        return is_traced and all(key.startswith("Python") for key in old ^ new)
    if item.prop.kind is Kind.ALIASING:
        return not changes.faked.isdisjoint(f"{item.expected} is {item.actual}".split(" is "))
    return changes.traced and is_of_cache(item)


def dispatch_keys_of_autocast(item: Violation, changes: Changes) -> bool:
    return item.prop.kind is Kind.DISPATCH_KEYS and changes.autocast_changed and "Autocast" in f"{item.expected}{item.actual}"


def set_by_entering_autocast(item: Violation, changes: Changes) -> bool:
    """Where autocast is turned on or off, its dtype on that device and its cache change as well."""
    if item.prop.kind is not Kind.AUTOCAST or item.prop == AUTOCAST_ENABLED:
        return False
    switched = {place for other in changes.of(Kind.AUTOCAST) if other.prop == AUTOCAST_ENABLED for place in _places_that_differ(other)}
    return bool(switched) and (item.prop.name != "dtype" or _places_that_differ(item) <= switched)


def _places_that_differ(item: Violation) -> set[int]:
    """The numbers of the device types on which a part of the state of autocast differs."""
    before, after = (re.findall(r"\w+", str(value)) for value in (item.expected, item.actual))
    return {place for place, (old, new) in enumerate(zip(before, after, strict=False)) if old != new}


def dispatch_keys_of_device(item: Violation, changes: Changes) -> bool:
    """A tensor on another device, or of another type (a subclass, say), has other dispatch keys."""
    return item.prop.kind is Kind.DISPATCH_KEYS and item.source in changes.converted
