"""Shapes that a program declares for a compiled function: ``shapes_spec=`` of ``torch.compile`` (2.13), ``dynamic_shapes=`` (2.14 on).

PyTorch records the declaration with the settings of each compilation, as ``to_jsonable`` of torch/fx/experimental/dynamic_spec.py has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.payloads.source_names import Source

# The setting and the argument of torch.compile that it comes from.
_ARGUMENTS = {"_shapes_spec": "shapes_spec", "_dynamic_shapes_spec": "dynamic_shapes"}


class DeclaredSize(NamedTuple):
    """A size of a tensor or, with ``dim`` None, an int. ``range`` is what it may be: ``b, 0 to 64`` or ``16``; "" where it is static."""

    source: Source
    dim: int | None
    range: str


class Declaration(NamedTuple):
    """What one function declares, and the argument of ``torch.compile`` that does. What it does not name is static."""

    argument: str
    sizes: tuple[DeclaredSize, ...]


def declarations(trace: Trace) -> dict[Frame, Declaration]:
    """Those of the functions that have one, each from the first compilation whose settings are recorded."""
    by_settings: dict[int, Declaration | None] = {}  # the settings of a compilation are long, and most have the same
    found = {}
    for frame in trace.frames if trace.version.at_least(13) else ():
        first = next((item for item in frame.compiles if item.metrics.settings_checksum is not None), None)
        if first is None or first.metrics.settings_checksum is None:
            continue
        if first.metrics.settings_checksum not in by_settings:
            by_settings[first.metrics.settings_checksum] = _declaration(first)
        if declared := by_settings[first.metrics.settings_checksum]:
            found[frame] = declared
    return found


def _declaration(compile: Compile) -> Declaration | None:
    try:
        settings = orjson.loads(str(compile.metric_fields.get("dynamo_config") or "{}"))
        setting = next((name for name in _ARGUMENTS if settings.get(name)), None)
        params = settings[setting]["params"]["params"] if setting else {}
        sizes = tuple(size for name, spec in params.items() for size in _sizes(f"L['{name}']", spec))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Declaration(_ARGUMENTS[setting], sizes) if setting else None


def _sizes(source: str, spec: Any) -> Iterator[DeclaredSize]:
    """The sizes in the specification of one value; those of an object, a dict or a sequence are in its parts."""
    kind = spec.get("type") if isinstance(spec, Mapping) else ""
    if kind == "TensorSpec":
        yield from (DeclaredSize(Source(source), dim, _range(size)) for dim, size in enumerate(spec["dims"]))
    elif kind == "ObjectSpec":
        yield from (size for name, part in spec["fields"].items() for size in _sizes(f"{source}.{name}", part))
    elif kind == "DictSpec":
        yield from (size for key, part in spec["entries"].items() for size in _sizes(f"{source}['{key}']", part))
    elif kind == "SeqSpec":
        yield from (size for index, part in enumerate(spec["entries"]) for size in _sizes(f"{source}[{index}]", part))
    else:
        yield DeclaredSize(Source(source), None, _range(spec))


def _range(size: Any) -> str:
    if size is None:
        return ""
    if not isinstance(size, Mapping):
        return str(size)
    least, most = size.get("min"), size.get("max")
    if least is not None and most is not None:
        span = f"{least} to {most}"
    else:
        span = f"at least {least}" if least is not None else f"at most {most}" if most is not None else "any"
    return f"{size['name']}, {span}" if size.get("name") else span
