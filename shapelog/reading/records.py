"""One typed record per kind: what PyTorch wrote on one line, checked and named.

The fields are those of PyTorch's ``trace_structured`` calls from torch 2.4 to 2.15; what a version does not write is None or empty.
Traces are hostile: a field of another type than expected raises ValueError, TypeError, KeyError or AttributeError in ``parse``, which
the builder turns into a problem.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from shapelog.reading.payloads.cache_keys import AOT_AUTOGRAD, FX_GRAPH
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.source_names import Source

Body = Mapping[str, Any]

_PASSES_ON = re.compile(r"\(\s*(?:\w+,\s*)?\*args\b")
_PASSES_NOTHING = re.compile(r"[^()]*(?:\(\)[^()]*)+")


class StackFrame(NamedTuple):
    """A place in code: file as PyTorch wrote it, 1-based line, function, source line where known.

    ``marked`` is the part of the source line that PyTorch points at, "" where it points at none.
    """

    file: str
    line: int
    name: str
    code: str = ""
    marked: str = ""

    @property
    def passes_on(self) -> bool:
        """Whether its line passes arguments on as they are, as that of ``Module.__call__`` does."""
        return _PASSES_ON.search(self.code) is not None

    @property
    def passes_nothing(self) -> bool:
        """Whether no call on its line has an argument, as in ``optimizer.step()``."""
        return _PASSES_NOTHING.fullmatch(self.code) is not None


def calling_line(stack: Sequence[StackFrame]) -> StackFrame | None:
    """The innermost line of a stack that does more than pass its arguments on; None without one."""
    return next((frame for frame in reversed(stack) if not frame.passes_on), None)


@dataclass(slots=True, eq=False)
class Stack:
    """A stack as written, outermost frame first. It stays in the file until its frames are asked for: many are written, few are read.

    ``header`` decodes the record again, ``keys`` lead to the stack in it; file names are ids in the string table of their process.
    """

    header: Callable[[int], Body] | None = None
    offset: int = -1
    keys: tuple[str, ...] = ()
    strings: Mapping[int, str] | None = None
    _frames: tuple[StackFrame, ...] | None = field(default=None, repr=False)

    @property
    def frames(self) -> tuple[StackFrame, ...]:
        if self._frames is None:
            self._frames = self._read() if self.header else ()
        return self._frames

    def _read(self) -> tuple[StackFrame, ...]:
        assert self.header is not None
        found: Any = self.header(self.offset)
        for key in self.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return tuple(self._resolved(entry) for entry in found if isinstance(entry, Mapping)) if isinstance(found, list) else ()

    def _resolved(self, entry: Body) -> StackFrame:
        file = entry.get("filename")
        if isinstance(file, int):
            file = (self.strings or {}).get(file, "")  # a forked child may use ids that only its parent defined
        line = entry.get("line")
        line = line if type(line) is int and line >= 0 else 0
        return StackFrame(str(file or ""), line, str(entry.get("name") or ""), str(entry.get("loc") or ""))


Stacks = Callable[[str], Stack]
"""Makes the stack in a field of the record at hand."""


class Input(NamedTuple):
    """A tensor that a compile was called with. Sizes, strides and the offset are real, in elements, also where symbolic.

    ``is_view``: it was made from another tensor, as slices are, with the sizes ``base_size``, None where they are not known. ``has_grad``:
    its gradient is described with it, also where that is an input itself. ``is_leaf`` is None where that is not known.
    """

    source: Source
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    requires_grad: bool = False
    is_parameter: bool = False
    is_leaf: bool | None = True
    layout: str = "torch.strided"
    marked_dynamic: tuple[int, ...] = ()
    storage_offset: int = 0
    is_view: bool = False
    base_size: tuple[int, ...] | None = None
    has_grad: bool = False

    @property
    def is_part(self) -> bool:
        """Whether it is a view of a tensor that has other sizes or is not known."""
        return self.is_view and self.base_size != self.size

    @property
    def has_history(self) -> bool:
        """Whether autograd recorded how it was computed; a text log does not have that."""
        return self.requires_grad and self.is_leaf is False


def described_input(body: Body, source: str) -> Input:
    """``describe_tensor``, with the source that a ``describe_source`` gave it and the sizes of its base."""
    get = body.get
    base_size = get("base_size")
    return Input(
        source=Source(source),
        size=_ints(body["size"]),
        stride=_ints(get("stride") or ()),
        dtype=str(body["dtype"]).removeprefix("torch."),
        requires_grad=get("requires_grad") is True,
        is_parameter=get("is_parameter") is True,
        is_leaf=None if get("is_leaf", False) is None else get("is_leaf") is True,
        layout=str(get("layout", "torch.strided")),
        marked_dynamic=tuple(index for index in get("dynamo_dynamic_indices") or () if isinstance(index, int)),
        storage_offset=offset if isinstance(offset := get("storage_offset"), int) else 0,
        is_view=get("is_view") is True,
        base_size=_ints(base_size) if base_size is not None else None,
        has_grad=isinstance(get("grad"), int),
    )


class Symbol(NamedTuple):
    """A size, int or float that became symbolic. ``hint`` is the value it had (or the override that the user gave), as text.

    ``stack`` is the whole call stack, through the caller of the compiled code and Dynamo itself.
    """

    name: str
    hint: str
    range: str
    source: Source
    user_stack: Stack
    stack: Stack = Stack()

    @property
    def value(self) -> int | None:
        """The hint as an int, None if it is a float or not known."""
        return integer(self.hint)


def created_symbol(body: Body, stacks: Stacks) -> Symbol:
    return Symbol(
        name=str(body["symbol"]),
        hint=str(body["val"]),
        range=str(body.get("vr", "")).removeprefix("VR"),
        source=Source(body.get("source", "")),
        user_stack=stacks("user_stack"),
        stack=stacks("stack"),
    )


def created_unbacked_symbol(body: Body, stacks: Stacks) -> Symbol:
    return created_symbol({**body, "val": "", "source": ""}, stacks)


class Specialization(NamedTuple):
    """A symbol that was pinned to one value. ``reason`` is PyTorch's word for it (solve, range_refined_to_singleton, ...)."""

    symbol: str
    sources: tuple[Source, ...]
    value: str
    reason: str
    user_stack: Stack
    stack: Stack


def specialized(body: Body, stacks: Stacks) -> Specialization:
    return Specialization(
        symbol=str(body["symbol"]),
        sources=tuple(map(Source, body.get("sources") or ())),
        value=str(body["value"]),
        reason=str(body.get("reason", "")),
        user_stack=stacks("user_stack"),
        stack=stacks("stack"),
    )


class GuardAdded(NamedTuple):
    """An expression over symbols that the compiled code relies on, and the line that asked for it.

    ``prefix`` is how it came about (``eval``, ``runtime_assert``, ``eval [guard suppressed]``), "" where that is not recorded. ``node`` is
    the number of the expression, 0 without one; ``values`` are the local variables of the line that it comes from, as (name, value).
    """

    expression: str
    user_stack: Stack
    stack: Stack
    prefix: str = ""
    node: int = 0
    values: tuple[tuple[str, str], ...] = ()


def guard_added(body: Body, stacks: Stacks) -> GuardAdded:
    return GuardAdded(
        expression=str(body["expr"]),
        user_stack=stacks("user_stack"),
        stack=stacks("stack"),
        prefix=str(body.get("prefix") or ""),
        node=number_in(body.get("expr_node_id")),
        values=local_values(body.get("frame_locals")),
    )


def number_in(value: object) -> int:
    """A number, 0 for anything else."""
    return value if type(value) is int else 0


def local_values(body: object) -> tuple[tuple[str, str], ...]:
    """Variables with a value that PyTorch wrote down: those that hold symbols or tensors; "self" and its like hold none."""
    values = body.get("locals") if isinstance(body, dict) else None
    found = values.items() if isinstance(values, dict) else ()
    shown = ((str(name), value[0] if isinstance(value, list) and value else value) for name, value in found)
    return tuple((name, value) for name, value in shown if isinstance(value, str))


# The kinds whose records have a type of their own; a compile holds those of its last attempt.
PARSERS: dict[str, Callable[[Body, Stacks], object]] = {
    "create_symbol": created_symbol,
    "create_unbacked_symbol": created_unbacked_symbol,
    "guard_added": guard_added,
    "guard_added_fast": guard_added,
    "symbolic_shape_specialization": specialized,
}


class AutomaticDynamic(NamedTuple):
    """The moment a source became dynamic by itself: ``dim`` is an index, ``scalar`` or ``all``; ``cached`` and ``new`` are values."""

    source: Source
    dim: str
    reason: str
    cached: str
    new: str
    compile_id: str


# How PyTorch prints a value that is dynamic already.
_AUTOMATIC = re.compile(r"<?AutoDynamic\.token(?:: 0>)?")


def automatic_dynamic(payload: str) -> AutomaticDynamic | None:
    """The event ``automatic_dynamic`` in a ``chromium_event`` payload, None for any other event. Raises ValueError on bad JSON."""
    event = orjson.loads(payload)
    args = event.get("args") if isinstance(event, dict) and event.get("name") == "automatic_dynamic" else None
    if not isinstance(args, dict):
        return None
    name, dim, reason, cached, new, cid = (
        str(args.get(key, "")) for key in ("name", "dim_changed", "reason", "cached", "new", "compile_id")
    )
    known, value = (_AUTOMATIC.sub("dynamic", text) for text in (cached, new))
    return AutomaticDynamic(source=Source(name), dim=dim, reason=reason, cached=known, new=value, compile_id=cid)


# What torch/_dynamo/config.py has for the limits below.
DEFAULT_LIMIT, DEFAULT_ACCUMULATED_LIMIT = 8, 256


class Config(NamedTuple):
    """The settings of torch._dynamo that decide about recompiles; None where the trace does not hold them."""

    recompile_limit: int | None = None
    accumulated_recompile_limit: int | None = None
    automatic_dynamic_shapes: bool | None = None
    assume_static_by_default: bool | None = None
    specialize_int: bool | None = None
    specialize_float: bool | None = None
    force_parameter_static_shapes: bool | None = None
    force_nn_module_property_static_shapes: bool | None = None
    allow_unspec_int_on_nn_module: bool | None = None
    enable_compiler_collectives: bool | None = None
    dynamic_sources: str = ""


def config_of(dynamo: object, compiler: object) -> Config:
    """The JSON texts ``dynamo_config`` (torch 2.6 and later) and ``compiler_config`` (2.10 and later) of the metrics."""
    settings = orjson.loads(dynamo) if isinstance(dynamo, str) else {}
    more = orjson.loads(compiler) if isinstance(compiler, str) else {}
    flags = {name: settings[name] for name in Config._fields if isinstance(settings.get(name), (bool, int))}
    for new, old in (("recompile_limit", "cache_size_limit"), ("accumulated_recompile_limit", "accumulated_cache_size_limit")):
        if new not in flags and isinstance(settings.get(old), int):
            flags[new] = settings[old]
    return Config(**flags, dynamic_sources=str(more.get("dynamic_sources") or ""))


class CacheLookups(NamedTuple):
    """How often one compile looked into one cache, and how often an entry was there; ``is_remote`` if other machines share the cache."""

    cache: str
    is_remote: bool
    hits: int
    misses: int


class Metrics(NamedTuple):
    """``compilation_metrics`` of one compile. Times are in seconds, None where the version or the backend does not measure them.

    ``seconds`` is the whole frame compile, ``is_whole`` where only that is measured; ``aot`` contains ``inductor``, and that ``codegen``.
    ``has_guarded_code`` is None before torch 2.6. ``is_empty``: Dynamo traced a call to its end and found no tensor operation (from torch
    2.8 on, where there is an ``ir_count`` without a ``guard_count``). ``cache_lookups`` has only caches that were used; ``remote_read`` and
    ``remote_write`` are times of the remote FX graph cache, ``remote_backend`` is what stores it. ``settings_checksum`` is the same for
    the same settings, ``makes_dynamic`` whether a size that changes becomes dynamic (``automatic_dynamic_shapes``, which ``dynamic=False``
    turns off), None without any. ``static_sources`` are those that stay static whatever marks them (torch 2.15).
    """

    seconds: float | None = None
    is_whole: bool = False
    backend: float | None = None
    aot: float | None = None
    inductor: float | None = None
    codegen: float | None = None
    backward: float | None = None
    before_restart: float | None = None
    start_time: float | None = None
    guard_count: int | None = None
    op_count: int | None = None
    cache_size: int | None = None
    has_guarded_code: bool | None = None
    is_empty: bool = False
    is_forward: bool | None = None
    is_unnumbered: bool = False
    assumes_entries: bool = False
    lost_graph: bool = False
    lost_guards: bool = False
    lost_reasons: str = ""
    fail_type: str = ""
    fail_reason: str = ""
    fail_file: str = ""
    fail_line: int = 0
    restart_reasons: tuple[str, ...] = ()
    code_name: str = ""
    code_file: str = ""
    code_line: int = 0
    compile_id: str = ""
    torch_version: str = ""
    recompile_reason: str = ""
    triton_kernels: int = 0
    cudagraph_skip_reason: str = ""
    cache_lookups: tuple[CacheLookups, ...] = ()
    remote_read: float | None = None
    remote_write: float | None = None
    remote_backend: str = ""
    settings_checksum: int | None = None
    makes_dynamic: bool | None = None
    static_sources: tuple[str, ...] = ()


def metrics(body: Body) -> Metrics:
    get = body.get
    fail_type = str(get("fail_type") or "")
    if fail_type.startswith("<class '"):  # torch 2.4
        fail_type = fail_type[8:-2].rsplit(".", 1)[-1]
    found: dict[str, Any] = {}
    for name, key, units in _TIMES:
        time = get(key)
        # The most that a clock can have shown.
        if (type(time) is float or type(time) is int) and name not in found and 0 <= time < 1e18:
            found[name] = float(time) / units
    for name, key in _COUNTS:
        count = get(key)
        if type(count) is int and count >= 0:
            found[name] = count
    for name, key in _TEXTS:
        text = get(key)
        if text:
            found[name] = str(text)
    for name in _FLAGS:
        flag = get(name)
        if type(flag) is bool:
            found[name] = flag
    if (whole := _whole_seconds(body)) > found.get("seconds", 0.0):
        found |= {"seconds": whole, "is_whole": True}
    is_skipped = found.get("has_guarded_code", False) and not fail_type and get("guard_count", 0) is None  # torch counts it as a success
    if is_skipped:
        found["has_guarded_code"] = False
    kernels = get("triton_kernel_compile_times_us")
    return Metrics(
        **found,
        is_empty=is_skipped and type(get("ir_count")) is int,
        fail_type=fail_type,
        restart_reasons=tuple(map(str, get("restart_reasons") or ())),
        triton_kernels=len(kernels) if isinstance(kernels, list) else 0,
        cache_lookups=tuple(_cache_lookups(body)),
        settings_checksum=_checksum(body),
        makes_dynamic=_makes_dynamic(body),
        static_sources=_static_sources(body),
    )


def _whole_seconds(body: Body) -> float:
    """Seconds from the start to the end of an ahead-of-time compilation, 0.0 of another one, or without these times.

    Such a compilation has no id, and its time as PyTorch has it leaves out most of the backend.
    """
    start, end = body.get("start_time_us"), body.get("end_time_us")
    is_ahead = "compile_id" in body and body["compile_id"] is None and body.get("entire_frame_compile_time_s") is None
    return (end - start) / 1e6 if is_ahead and type(start) is int and type(end) is int and 0 < start < end < 1e18 else 0.0


def _checksum(body: Body) -> int | None:
    """Of the texts of all settings, None without any."""
    texts = [text for name in SETTINGS if isinstance(text := body.get(name), str)]
    return zlib.crc32("\n".join(texts).encode("utf-8", "replace")) if texts else None


def _makes_dynamic(body: Body) -> bool | None:
    settings = body.get("dynamo_config")
    found = _AUTOMATIC_SETTING.search(settings) if isinstance(settings, str) else None
    return found[1] == "true" if found else None


def _static_sources(body: Body) -> tuple[str, ...]:
    """Without the backslashes of those that are written as expressions."""
    settings = body.get("compiler_config")
    found = _STATIC_SOURCES.search(settings) if isinstance(settings, str) else None
    return tuple(entry.strip() for entry in found[1].replace("\\", "").split(",")) if found else ()


def _cache_lookups(body: Body) -> Iterator[CacheLookups]:
    for cache, is_remote, prefix in _CACHES:
        hits, misses = body.get(f"{prefix}_hit_count"), body.get(f"{prefix}_miss_count")
        hits, misses = (count if type(count) is int and count > 0 else 0 for count in (hits, misses))
        if hits or misses:
            yield CacheLookups(cache, is_remote, hits, misses)


_AUTOMATIC_SETTING = re.compile(r'"automatic_dynamic_shapes": ?(true|false)')
_STATIC_SOURCES = re.compile(r'"static_sources": ?"([^"]+)"')
# Cache, whether it is shared, and what the names of its two counts begin with (torch 2.6 or later).
_CACHES = (
    (FX_GRAPH, False, "inductor_fx_local_cache"),
    (FX_GRAPH, True, "inductor_fx_remote_cache"),
    (AOT_AUTOGRAD, False, "aotautograd_local_cache"),
    (AOT_AUTOGRAD, True, "aotautograd_remote_cache"),
)
# Fields that are JSON texts with every setting of a module, and the module.
SETTINGS = {
    "dynamo_config": "torch._dynamo.config",
    "inductor_config": "torch._inductor.config",
    "functorch_config": "torch._functorch.config",
    "compiler_config": "torch.compiler.config",
}
# Fields with the names of PyTorch's.
_COUNTS = (
    ("guard_count", "guard_count"),
    ("op_count", "graph_op_count"),
    ("cache_size", "cache_size"),
    ("fail_line", "fail_user_frame_lineno"),
    ("code_line", "co_firstlineno"),
)
# The last three are of a text log, whose transcript needs ids where the log has none: of a compile, and of the entries in its reasons.
# Its graph, or some of its guards, may have been cut off.
_FLAGS = ("has_guarded_code", "is_forward", "is_unnumbered", "assumes_entries", "lost_graph", "lost_guards")
_TEXTS = (
    ("lost_reasons", "lost_reasons"),  # of a text log: how it came to have none
    ("fail_reason", "fail_reason"),
    ("fail_file", "fail_user_frame_filename"),
    ("code_name", "co_name"),
    ("code_file", "co_filename"),
    ("compile_id", "compile_id"),
    ("torch_version", "pytorch_version"),
    ("recompile_reason", "recompile_reason"),
    ("cudagraph_skip_reason", "cudagraph_skip_reason"),
    ("remote_backend", "inductor_fx_remote_cache_backend_type"),
)
# Times by the names that they have or had, with their units in one second; of a field with several the first one that is there counts.
_TIMES = (
    ("seconds", "entire_frame_compile_time_s", 1),
    ("seconds", "dynamo_cumulative_compile_time_us", 1e6),
    ("seconds", "duration_us", 1e6),
    ("backend", "backend_compile_time_s", 1),
    ("aot", "aot_autograd_cumulative_compile_time_us", 1e6),
    ("inductor", "inductor_compile_time_s", 1),
    ("inductor", "inductor_cumulative_compile_time_us", 1e6),
    ("codegen", "code_gen_time_s", 1),
    ("codegen", "inductor_code_gen_cumulative_compile_time_us", 1e6),
    ("backward", "backward_cumulative_compile_time_us", 1e6),
    ("before_restart", "dynamo_time_before_restart_s", 1),
    ("start_time", "start_time", 1),
    ("remote_read", "remote_fx_graph_cache_get_time_us", 1e6),
    ("remote_read", "remote_fx_graph_cache_get_time_ms", 1e3),
    ("remote_write", "remote_fx_graph_cache_put_time_us", 1e6),
    ("remote_write", "remote_fx_graph_cache_put_time_ms", 1e3),
)


_INT = frozenset((int,))


def _ints(values: object) -> tuple[int, ...]:
    """Sizes and strides; -1 for one that is symbolic text."""
    if not isinstance(values, (list, tuple)):
        raise ValueError("expected a list of sizes")
    if _INT.issuperset(map(type, values)):
        return tuple(values)
    return tuple(value if isinstance(value, int) else -1 for value in values)
