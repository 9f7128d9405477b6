"""Small traces built in memory: records as PyTorch 2.13 writes them, compiles, whole traces, and what reads them."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from payload_text import (
    RETURN_LINE,
    code_comment,
    contiguous_strides,
    equals_match,
    graph_text,
    guard_tree,
    reason_list,
    size_mismatch,
    tensor_match,
)
from recorded import metrics_fields

from shapelog.advice.advise import Advice, advise
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.model.load import build
from shapelog.model.trace import Trace
from shapelog.reading.inputs import Selection
from shapelog.reading.open_trace import OpenTrace
from shapelog.reading.reader import Reader
from shapelog.reading.trace_files import TraceFile
from shapelog.recompiles.explain import Explanations, explain_trace
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import AdvisedRun
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.verification import CommandResult, Verification, verify

NAME = "made.log"
PROCESS = 4242
MODEL = "/srv/app/model.py"
MAIN = "/srv/app/main.py"
# Of a compile that failed and left no code.
FAILED: dict[str, Any] = {"guards": "", "graph": "", "fail_type": "Unsupported", "fail_reason": "no"}


# Records.


def prefix(process: int = PROCESS) -> bytes:
    """What precedes the JSON text of a record in its first line."""
    return f"V1120 08:27:33.313000 {process} torch/_dynamo/made.py:303] ".encode()


def digest(payload: str | bytes) -> str:
    """The checksum of a payload, as the record's ``has_payload`` gives it."""
    return hashlib.md5(payload.encode() if isinstance(payload, str) else payload, usedforsecurity=False).hexdigest()


def line(header: str | bytes, process: int = PROCESS) -> bytes:
    """A record's first line, with the JSON text as given."""
    return prefix(process) + (header.encode() if isinstance(header, str) else header) + b"\n"


def block(payload: str | bytes) -> bytes:
    """A payload as the file has it: every line after a TAB."""
    raw = payload.encode() if isinstance(payload, str) else payload
    return b"\t" + raw.replace(b"\n", b"\n\t") + b"\n"


def record(
    kind: str,
    body: object = None,
    payload: str | bytes | None = None,
    *,
    id: str = "",
    attempt: int = 0,
    process: int = PROCESS,
    **envelope: Any,
) -> bytes:
    """One record. ``id`` is a label such as ``0/1`` or ``!0/1/0``; "" leaves the compile id out of the envelope."""
    header: dict[str, Any] = {kind: {} if body is None else body}
    if id:
        *captured, frame, number = id.split("/")
        header.update(frame_id=int(frame), frame_compile_id=int(number), attempt=attempt)
        if captured:
            header["compiled_autograd_id"] = int(captured[0].removeprefix("!"))
    header.update(envelope)
    if payload is not None:
        header.setdefault("has_payload", digest(payload))
    return line(json.dumps(header), process) + (b"" if payload is None else block(payload))


def artifact(name: str, payload: str | bytes | None, **where: Any) -> bytes:
    return record("artifact", {"name": name, "encoding": "string"}, payload, **where)


def torch_version(version: str = "2.13.0+cpu", process: int = PROCESS) -> bytes:
    return artifact("torch_version", json.dumps({"pytorch_version": version, "oss": True}, indent=0), process=process)


def strings(*texts: str, first: int = 0, process: int = PROCESS) -> bytes:
    """File names with their numbers in the string table, from ``first`` on."""
    return b"".join(record("str", [text, first + number], process=process) for number, text in enumerate(texts))


def dynamo_start(name: str = "f", line: int = 5, file: int | str = 0, caller: int | str = 1, call: int = 20, **where: Any) -> bytes:
    """The function at ``line`` of ``file`` is called from line ``call`` of ``main``; files are numbers in the string table, or names."""
    frames = [
        {"line": call, "name": "main", "filename": caller, "loc": "f(x)"},
        {"line": line, "name": name, "filename": file},
    ]
    return record("dynamo_start", {"stack": frames}, **where)


class Tensor(NamedTuple):
    """An input of a compiled function; ``fields`` are those of its ``describe_tensor``."""

    source: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    fields: dict[str, Any]


def tensor(*size: int, source: str = "L['x']", stride: Sequence[int] | None = None, **fields: Any) -> Tensor:
    """A tensor on the CPU; contiguous unless ``stride`` is given."""
    return Tensor(source, size, tuple(contiguous_strides(size) if stride is None else stride), fields)


def describe(tensor: Tensor, number: int = 0, describer: int = 0, **where: Any) -> bytes:
    """``describe_tensor`` and ``describe_source`` of a tensor."""
    body = {
        "id": number,
        "ndim": len(tensor.size),
        "dtype": "torch.float32",
        "device": "device(type='cpu')",
        "size": tensor.size,
        "is_leaf": True,
        "stride": tensor.stride,
        "storage": number,
        "view_func": "_CustomViewFunc(func=<built-in method _view_func_unsafe of Tensor object at 0x7f0000000000>)",
        "describer_id": describer,
        **tensor.fields,
    }
    source = {"describer_id": describer, "id": number, "source": tensor.source}
    return record("describe_tensor", body, **where) + record("describe_source", source, **where)


def create_symbol(name: str, value: object, source: str, **where: Any) -> bytes:
    body = {"symbol": name, "val": str(value), "vr": "[2, int_oo]", "source": source, "user_stack": [], "stack": []}
    return record("create_symbol", body, **where)


def output_graph(size: Sequence[int | str], **where: Any) -> bytes:
    """A graph that adds 1 to a tensor ``x`` of this size. An item of ``size`` that is text is a symbol."""
    strides = contiguous_strides([item if isinstance(item, int) else None for item in size])
    symbols = "".join(f'{item}: "Sym({item})", ' for item in size if isinstance(item, str))
    text = graph_text(f'{symbols}L_x_: "f32[{", ".join(map(str, size))}][{", ".join(map(str, strides))}]cpu"')
    return record("dynamo_output_graph", {"sizes": {"l_x_": list(size), "add": list(size)}}, text, **where)


def cpp_guards(tree: str, **where: Any) -> bytes:
    """``tree`` is the text of a guard tree: payload_text.guard_tree()."""
    return record("dynamo_cpp_guards_str", None, tree, **where)


def recompile_reasons(*texts: str, is_list: bool | None = None, **where: Any) -> bytes:
    """``recompile_reasons``; one reason is bare text, as torch 2.13 writes it, unless ``is_list``."""
    return artifact("recompile_reasons", texts[0] if len(texts) == 1 and not is_list else reason_list(texts), **where)


def metrics(id: str, kind: str = "compilation_metrics", attempt: int = 0, process: int = PROCESS, **fields: Any) -> bytes:
    """The metrics of a compile that succeeded, except for what ``fields`` change."""
    body = {
        "compile_id": id,
        "co_name": "f",
        "co_filename": MODEL,
        "co_firstlineno": 5,
        "guard_count": 3,
        "graph_op_count": 1,
        "entire_frame_compile_time_s": 1.0,
        "fail_type": None,
        "fail_reason": None,
        "restart_reasons": [],
        "has_guarded_code": True,
        "is_forward": True,
        **fields,
    }
    return record(kind, body, id=id, attempt=attempt, process=process)


# Compiles.


def compile(
    id: str,
    *inputs: Tensor,
    dynamic: Sequence[int] = (),
    symbols: Sequence[tuple[str, object, str]] = (),
    specializations: Sequence[dict[str, Any]] = (),
    graph: str | None = None,
    sizes: dict[str, list[object]] | None = None,
    guards: str | None = None,
    more_guards: Sequence[str] = (),
    reasons: Sequence[str] | None = (),
    is_started: bool = True,
    name: str = "f",
    file: str = MODEL,
    line: int = 5,
    call: int = 20,
    seconds: float = 1.0,
    process: int = PROCESS,
    **fields: Any,
) -> bytes:
    """A compile of a function that begins at ``line`` of ``file`` and is called from line ``call``; ``fields`` are those of its metrics.

    ``dynamic`` are the dynamic dims of the first input; ``symbols``, as (name, hint, source), are created in addition. Without ``graph``
    and ``guards`` (texts; "" leaves the record out) it has those of its inputs. ``is_started=False`` leaves out ``dynamo_start`` and both.
    A recompile has a record of ``reasons`` even where that is empty, so that it was compared with all earlier entries; None leaves it out.
    """
    if unknown := fields.keys() - metrics_fields():
        raise TypeError(f"no fields of compilation_metrics: {', '.join(sorted(unknown))}")
    where: dict[str, Any] = {"id": id, "process": process}
    describer = sum(int(part) for part in id.removeprefix("!").split("/"))
    symbolic = {dim: f"s{70 + dim}" for dim in dynamic}
    if guards is None:
        guards = guard_tree(*_matches(inputs, dynamic), *more_guards) if is_started else ""
    own = {"co_name": name, "co_filename": file, "co_firstlineno": line, "entire_frame_compile_time_s": seconds}
    parts = [
        recompile_reasons(*reasons, **where) if reasons or (reasons is not None and not id.endswith("/0")) else b"",
        dynamo_start(name, line, file, call=call, **where) if is_started else b"",
        *(describe(item, number, describer, **where) for number, item in enumerate(inputs)),
        *(create_symbol(text, inputs[0].size[dim], f"{inputs[0].source}.size()[{dim}]", **where) for dim, text in symbolic.items()),
        *(create_symbol(*item, **where) for item in symbols),
        *(
            record("symbolic_shape_specialization", {"reason": "solve", "stack": [], "user_stack": [], **item}, **where)
            for item in specializations
        ),
    ]
    if graph is None and is_started:
        first = inputs[0].size if inputs else ()
        parts.append(output_graph([symbolic.get(dim, length) for dim, length in enumerate(first)], **where))
    elif graph:
        parts.append(record("dynamo_output_graph", {"sizes": sizes or {}}, graph, **where))
    if guards:
        parts.append(cpp_guards(guards, **where))
    parts.append(metrics(process=process, **{"id": id, **own, "has_guarded_code": bool(guards), **fields}))
    return b"".join(parts)


def _matches(inputs: Sequence[Tensor], dynamic: Sequence[int]) -> list[str]:
    """The guards on each input; ``dynamic`` are dims of the first."""
    found = []
    for number, item in enumerate(inputs):
        size = [None if number == 0 and dim in dynamic else length for dim, length in enumerate(item.size)]
        found.append(tensor_match(item.source, size, item.stride))
    return found


def refused(id: str, *reasons: str) -> bytes:
    """A call that was not compiled because the cache was full."""
    text = "Dynamo recompile limit exceeded\n  Explanation: ... exceeding the recompile_limit cache size limit (currently set to 8)"
    fields = {"fail_type": "Unsupported", "fail_reason": text, "co_name": None, "co_filename": None}
    return compile(id, reasons=reasons, is_started=False, seconds=0.0, **fields)


def run_at_limit(*lengths: int, version: str = "2.13.0", more: bytes = b"") -> bytes:
    """A function that was refused after 8 sizes, then ``more``, then another compiled function that it calls in eager mode, compiled for
    ``lengths``: its stack ends at the wrapper of the first.
    """
    reasons = [f"0/{number}: tensor 'x' size mismatch at index 0. expected {number + 3}, actual 20" for number in reversed(range(8))]
    stack: list[dict[str, Any]] = [{"line": 20, "name": "main", "filename": 1}, {"line": 30, "name": "step", "filename": 1}]
    stack += [{"line": 1166, "name": "compile_wrapper", "filename": "/lib/torch/_dynamo/eval_frame.py"}]
    stack += [{"line": 40, "name": "inside", "filename": 0}]
    made = static_sizes(*range(3, 11), pytorch_version=version) + refused("0/8", *reasons) + more
    for number, length in enumerate(lengths):
        own: dict[str, Any] = {"name": "inside", "line": 40, "guards": guard_tree(tensor_match(size=(length, 8))), "graph": graph_text()}
        made += record("dynamo_start", {"stack": stack}, id=f"7/{number}")
        made += compile(f"7/{number}", tensor(length, 8), reasons=None, is_started=False, pytorch_version=version, **own)
    return made


def growing(*sources: str) -> bytes:
    """A function of tensors at these sources, whose last dim grows."""
    return trace(
        *(compile(f"0/{number}", *(tensor(2, 4, size, source=source) for source in sources)) for number, size in enumerate((10, 12)))
    )


def static_sizes(*lengths: int, frame: int = 0, source: str = "L['x']", **more: Any) -> bytes:
    """A function compiled for each of these lengths of its tensor, without recompile reasons."""
    return b"".join(compile(f"{frame}/{number}", tensor(length, 8, source=source), **more) for number, length in enumerate(lengths))


def dynamic_size(id: str, length: int = 10, *shapes: str, **more: Any) -> bytes:
    """A compile for any length of its tensor within ``shapes``, guards such as ``L['x'].size()[0] <= 30``."""
    tree = guard_tree(tensor_match(size=(None, 8)), shapes=[f"{shape}  {RETURN_LINE}" for shape in shapes])
    return compile(id, tensor(length, 8), dynamic=[0], guards=tree, **more)


def int_values(*values: int, frame: int = 0, name: str = "f", source: str = "L['k']", comment: str = "", **more: Any) -> bytes:
    """A function compiled for each of these values of an int, which it used first where ``comment`` says."""
    leaves = [equals_match(source, value, comment=comment or code_comment(6, "return x * k", name)) for value in values]
    return b"".join(
        compile(f"{frame}/{number}", tensor(10, 8), guards=guard_tree(tensor_match(), leaf), name=name, **more)
        for number, leaf in enumerate(leaves)
    )


# Traces.


def trace(*parts: bytes, version: str = "2.13.0+cpu", process: int = PROCESS) -> bytes:
    """The version ("" for none), the file names that ``dynamo_start`` refers to, then ``parts``."""
    begin = torch_version(version, process) if version else b""
    return begin + strings(MODEL, MAIN, process=process) + b"".join(parts)


def small_trace() -> bytes:
    """Two compiles of one function: the second because dim 0 of ``x`` was 8 and then 3."""
    return trace(compile("0/0", tensor(8, 16)), compile("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], dynamic=[0]))


def with_collectives(data: bytes, operators: Sequence[str], code: str | None = None, id: str = "0/0") -> bytes:
    """A compile whose graph Inductor compiled, with the collectives that it scheduled, and the code where it is given."""
    *head, last = split_records(data)
    names = [f"torch.ops._c10d_functional.{name}.default" for name in operators]
    more = [artifact("fx_graph_cache_miss", "{}", id=id)]
    more += [record("inductor_output_code", {"filename": "/tmp/a.py"}, code, id=id)] if code is not None else []
    return b"".join((*head, *more, artifact("inductor_collective_schedule", json.dumps(names, indent=0), id=id), last))


def with_code_states(*states: tuple[str, str, str], process: int = PROCESS) -> bytes:
    """A trace of two compiles; ``states`` are (compile, name of the artifact, text)."""
    parts = [strings(MODEL, MAIN, process=process)]
    for label, length, why in (("0/0", 8, ()), ("0/1", 4, (size_mismatch("0/0", 8, 4),))):
        parts.append(compile(label, tensor(length, 16), reasons=why, process=process))
        parts += [artifact(f"{name}_code_state", text, id=label, process=process) for at, name, text in states if at == label]
    return b"".join(parts)


# Reading.


def every_kind(**config: str) -> bytes:
    """Compile 1/0 with a record of every kind that the model uses; its backward part has this configuration."""
    where = {"id": "1/0"}
    event = {"name": "automatic_dynamic", "args": {"name": "L['x']", "dim_changed": 0, "reason": "size change", "cached": "8", "new": "3"}}
    pinned = {"symbol": "s1", "sources": ["L['x'].size()[0]"], "value": "8", "reason": "solve", "stack": [], "user_stack": []}
    return b"".join(
        (
            dynamo_start(**where),
            describe(tensor(2, 2, source="L['y']", dynamo_dynamic_indices=[0]), **where),
            record("create_unbacked_symbol", {"symbol": "u0", "vr": "[0, 5]", "user_stack": [], "stack": []}, **where),
            record("guard_added_fast", {"expr": "Eq(s1, 8)", "user_stack": [], "stack": []}, **where),
            record("symbolic_shape_specialization", pinned, **where),
            record("chromium_event", {}, json.dumps(event, indent=0), **where),
            artifact("dynamo_graph_break_reason", "Graph break in user code at /srv/app/model.py:14\nReason: print", **where),
            artifact("fx_graph_cache_miss", "{}", **where),
            artifact("put_local_code_state", "hash(1)/srv/app/model.py:5:f:\n  L['x']: tensor size=[?] stride=[1]", **where),
            record("dynamo_guards", {}, json.dumps([{"code": "L['y'] == 3", "stack": [], "user_stack": []}]), **where),
            metrics("1/0", kind="bwd_compilation_metrics", is_forward=False, **config),
            metrics("1/0", fail_type="Unsupported", fail_reason="no"),
        )
    )


def split_records(data: bytes) -> list[bytes]:
    """The records of a trace, each with its payload."""
    return re.split(rb"(?m)^(?=V\d{4} )", data)[1:]


def reader(data: bytes, strict: bool = False, with_positions: bool = False) -> Reader:
    return Reader(OpenTrace(NAME, data, len(data)), strict, with_positions)


def load(data: bytes, strict: bool = False) -> Trace:
    return build(Selection((TraceFile(None, NAME),)), [reader(data, strict)])


def load_ranks(*traces: bytes, numbers: Sequence[int] = ()) -> Trace:
    """Several traces as the ranks of one job, numbered from 0 on unless ``numbers`` are given."""
    files = tuple(TraceFile(None, NAME, number) for number in numbers or range(len(traces)))
    return build(Selection(files), [reader(data) for data in traces])


def report(data: bytes) -> Report:
    return analyze(load(data))


def explain(data: bytes) -> Explanations:
    return explain_trace(load(data))


def last_recompile(data: bytes) -> Recompile:
    return explain(data).recompiles[-1]


def advice(data: bytes | Trace, version: TorchVersion | None = None) -> Advice:
    """What to set for a trace, for its own version of torch or this one."""
    return advise(explain_trace(data if isinstance(data, Trace) else load(data)), version)


def advised(advice: Advice) -> AdvisedRun:
    """An advice as ``suggest-dynamic`` shows it, where nothing else helps."""
    return AdvisedRun(report(small_trace()), advice, ())


def verification(before: bytes | Report, after: bytes | Report, codes: tuple[int, int] = (0, 0)) -> Verification:
    """A run with the advice of another that took 2 s; it took 1.5 s itself. ``codes`` are the exit codes."""
    first, second = (item if isinstance(item, Report) else report(item) for item in (before, after))
    assert first.advice is not None
    return verify(first, second, first.advice, CommandResult(codes[0], 2.0), CommandResult(codes[1], 1.5))


def alerts_of(*traces: bytes, root: str = "nowhere", prefixes: tuple[str, ...] = ()) -> Alerts:
    """The alerts of one trace, or of several as the ranks of one run."""
    trace = load(traces[0]) if len(traces) == 1 else load_ranks(*traces)
    return collect_alerts(analyze(trace), Repository(root, prefixes))


def only(trace: Trace, label: str) -> Compile:
    """The one compile with that label."""
    (found,) = (item for item in trace.compiles if item.label == label)
    return found


def frame(trace: Trace, label: str) -> Frame:
    """The one frame with that label."""
    (found,) = (item for item in trace.frames if item.label == label)
    return found
