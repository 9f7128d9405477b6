"""Small traces built in memory: records as PyTorch 2.13 writes them, whole compiles made of those, and the ways to read them."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from shapelog.check.alerts import Alerts, collect_alerts
from shapelog.check.repository_paths import Repository
from shapelog.model.load import build
from shapelog.model.trace import Compile, Frame, Trace
from shapelog.reading.inputs import Selection
from shapelog.reading.open_trace import OpenTrace
from shapelog.reading.reader import Reader
from shapelog.reading.trace_files import TraceFile
from shapelog.report.report import analyze

NAME = "made.log"
PROCESS = 4242
MODEL = "/srv/app/model.py"
MAIN = "/srv/app/main.py"


def prefix(process: int = PROCESS) -> bytes:
    return f"V1120 08:27:33.313000 {process} torch/_dynamo/made.py:303] ".encode()


def digest(payload: str | bytes) -> str:
    return hashlib.md5(payload.encode() if isinstance(payload, str) else payload, usedforsecurity=False).hexdigest()


def line(header: str | bytes, process: int = PROCESS) -> bytes:
    """A record's first line, with the JSON text as given."""
    return prefix(process) + (header.encode() if isinstance(header, str) else header) + b"\n"


def block(payload: str | bytes) -> bytes:
    """A payload as it stands in the file: every line behind a TAB."""
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
    """One record. ``id`` is a label such as ``0/1``; "" leaves the compile id out of the envelope."""
    header: dict[str, Any] = {kind: {} if body is None else body}
    if id:
        frame, number = id.split("/")
        header.update(frame_id=int(frame), frame_compile_id=int(number), attempt=attempt)
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


def start(name: str = "forward", line: int = 12, file: int | str = 0, caller: int = 1, call: int = 30, **where: Any) -> bytes:
    """``dynamo_start``: called from line ``call`` of ``main``; files are numbers in the string table, or names."""
    frames = [
        {"line": call, "name": "main", "filename": caller, "loc": "model(batch)"},
        {"line": line, "name": name, "filename": file},
    ]
    return record("dynamo_start", {"stack": frames}, **where)


def tensor(
    source: str, size: Sequence[int], number: int = 0, describer: int = 0, fields: dict[str, Any] | None = None, **where: Any
) -> bytes:
    """A described tensor and its source. Strides are those of a contiguous tensor."""
    stride = [1]
    for length in reversed(size[1:]):
        stride.insert(0, stride[0] * length)
    body = {
        "id": number,
        "ndim": len(size),
        "dtype": "torch.float32",
        "device": "device(type='cpu')",
        "size": list(size),
        "is_leaf": True,
        "stride": stride[: len(size)],
        "storage": number,
        "view_func": "_CustomViewFunc(func=<built-in method _view_func_unsafe of Tensor object at 0x7f0000000000>)",
        "describer_id": describer,
        **(fields or {}),
    }
    named = record("describe_source", {"describer_id": describer, "id": number, "source": source}, **where)
    return record("describe_tensor", body, **where) + named


def symbol(name: str, value: int, source: str, **where: Any) -> bytes:
    body = {"symbol": name, "val": str(value), "vr": "[2, int_oo]", "source": source, "user_stack": [], "stack": []}
    return record("create_symbol", body, **where)


def graph(size: Sequence[int | str], **where: Any) -> bytes:
    """One addition of ``x`` to itself. An item of ``size`` that is text is a symbol."""
    shape = ", ".join(map(str, size))
    symbols = "".join(f'{item}: "Sym({item})", ' for item in size if isinstance(item, str))
    text = (
        f'class GraphModule(torch.nn.Module):\n    def forward(self, {symbols}L_x_: "f32[{shape}][16, 1]cpu"):\n        l_x_ = L_x_\n\n'
        f"        # File: {MODEL}:13 in forward, code: return x + x\n"
        f'        add: "f32[{shape}][16, 1]cpu" = l_x_ + l_x_;  l_x_ = None\n        return (add,)\n'
    )
    return record("dynamo_output_graph", {"sizes": {"l_x_": list(size), "add": list(size)}}, text, **where)


def guards(size: Sequence[int | None], more: str = "", **where: Any) -> bytes:
    """The guard tree of a function of ``x``; None is a dim that is free."""
    text = (
        "\nTREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        "| +- DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None  # _dynamo/output_graph.py:1122 in init_ambient_guards\n"
        "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=1), "
        "type=<class 'torch.Tensor'>, tag_safe=(False, False)\n"
        "| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), "
        f"torch.float32, device=None, requires_grad=False, size=[{', '.join(map(str, size))}], stride=[16, 1])"
        "  # return x + x  # app/model.py:13 in forward\n"
        f"{more}"
    )
    return record("dynamo_cpp_guards_str", None, text, **where)


def reasons(*texts: str, is_list: bool | None = None, **where: Any) -> bytes:
    """``recompile_reasons``; one reason is bare text, as torch 2.13 writes it, unless ``is_list``."""
    if len(texts) == 1 and not is_list:
        return artifact("recompile_reasons", texts[0], **where)
    return artifact("recompile_reasons", "[\n" + ",\n".join(map(json.dumps, texts)) + "\n]", **where)


def metrics(id: str, kind: str = "compilation_metrics", attempt: int = 0, process: int = PROCESS, **fields: Any) -> bytes:
    """The metrics of a compile that went well, unless ``fields`` say otherwise."""
    body = {
        "compile_id": id,
        "co_name": "forward",
        "co_filename": MODEL,
        "co_firstlineno": 12,
        "guard_count": 3,
        "graph_op_count": 1,
        "entire_frame_compile_time_s": 1.5,
        "fail_type": None,
        "fail_reason": None,
        "restart_reasons": [],
        "has_guarded_code": True,
        "is_forward": True,
        **fields,
    }
    return record(kind, body, id=id, attempt=attempt, process=process)


def compile(
    id: str = "0/0",
    size: Sequence[int] = (8, 16),
    why: Sequence[str] = (),
    name: str = "forward",
    free: Sequence[int] = (),
    process: int = PROCESS,
    line: int = 12,
    file: str = MODEL,
    call: int = 30,
    more: str = "",
    **fields: Any,
) -> bytes:
    """A whole compile of a function of one tensor ``x``; dims in ``free`` are symbolic, ``fields`` are those of its metrics.

    The function begins at ``line`` of ``file`` and is called from line ``call``; ``more`` are guards besides those of ``x``.
    """
    describer = sum(int(part) for part in id.split("/"))
    where: dict[str, Any] = {"id": id, "process": process}
    return b"".join(
        (
            reasons(*why, **where) if why else b"",
            start(name, line, file, call=call, **where),
            tensor("L['x']", size, describer=describer, **where),
            *(symbol(f"s{70 + dim}", size[dim], f"L['x'].size()[{dim}]", **where) for dim in free),
            graph([f"s{70 + dim}" if dim in free else length for dim, length in enumerate(size)], **where),
            guards([None if dim in free else length for dim, length in enumerate(size)], more, **where),
            metrics(process=process, **{"id": id, "co_name": name, "co_filename": file, "co_firstlineno": line, **fields}),
        )
    )


def mismatch(entry: str, expected: int, actual: int, dim: int = 0) -> str:
    """A recompile reason about a size of ``x``."""
    return f"{entry}: tensor 'x' size mismatch at index {dim}. expected {expected}, actual {actual}"


def run(*parts: bytes, process: int = PROCESS) -> bytes:
    """A trace: the version and the file names that ``start`` refers to, then ``parts``."""
    return torch_version(process=process) + strings(MODEL, MAIN, process=process) + b"".join(parts)


def every_kind(**config: str) -> bytes:
    """Compile 1/0 with a record of every kind that the model uses; its backward part has this configuration."""
    where = {"id": "1/0"}
    event = {"name": "automatic_dynamic", "args": {"name": "L['x']", "dim_changed": 0, "reason": "size change", "cached": "8", "new": "3"}}
    pinned = {"symbol": "s1", "sources": ["L['x'].size()[0]"], "value": "8", "reason": "solve", "stack": [], "user_stack": []}
    return b"".join(
        (
            start(**where),
            tensor("L['y']", (2, 2), fields={"dynamo_dynamic_indices": [0]}, **where),
            record("create_unbacked_symbol", {"symbol": "u0", "vr": "[0, 5]", "user_stack": [], "stack": []}, **where),
            record("guard_added_fast", {"expr": "Eq(s1, 8)", "user_stack": [], "stack": []}, **where),
            record("symbolic_shape_specialization", pinned, **where),
            record("chromium_event", {}, json.dumps(event, indent=0), **where),
            artifact("dynamo_graph_break_reason", "Graph break in user code at /srv/app/model.py:14\nReason: print", **where),
            artifact("fx_graph_cache_miss", "{}", **where),
            artifact("put_local_code_state", "hash(1)/srv/app/model.py:12:forward:\n  L['x']: tensor size=[?] stride=[1]", **where),
            record("dynamo_guards", {}, json.dumps([{"code": "L['y'] == 3", "stack": [], "user_stack": []}]), **where),
            metrics("1/0", kind="bwd_compilation_metrics", is_forward=False, **config),
            metrics("1/0", fail_type="Unsupported", fail_reason="no"),
        )
    )


def sized(*lengths: int, frame: int = 0, **more: Any) -> bytes:
    """A function compiled for each of these lengths of its tensor."""
    found = b""
    for number, length in enumerate(lengths):
        why = [mismatch(f"{frame}/{number - 1}", lengths[number - 1], length)] if number else []
        found += compile(f"{frame}/{number}", (length, 16), why, **more)
    return found


def small_run() -> bytes:
    """Two compiles of one function: the second because dim 0 of ``x`` was 8 and then 3."""
    return run(compile("0/0"), compile("0/1", (3, 16), [mismatch("0/0", 8, 3)], free=[0]))


def records(data: bytes) -> list[bytes]:
    """A trace taken apart into its records, each with its payload."""
    return re.split(rb"(?m)^(?=V\d{4} )", data)[1:]


def reader(data: bytes, strict: bool = False, with_positions: bool = False) -> Reader:
    return Reader(OpenTrace(NAME, data, len(data)), strict, with_positions)


def built(data: bytes, strict: bool = False) -> Trace:
    return build(Selection((TraceFile(None, NAME),)), [reader(data, strict)])


def lowered(data: bytes, operators: Sequence[str], code: str | None = None, id: str = "0/0") -> bytes:
    """A compile whose graph Inductor compiled, with the collectives that it scheduled, and the code where it is given."""
    *head, last = records(data)
    names = [f"torch.ops._c10d_functional.{name}.default" for name in operators]
    more = [artifact("fx_graph_cache_miss", "{}", id=id)]
    more += [record("inductor_output_code", {"filename": "/tmp/a.py"}, code, id=id)] if code is not None else []
    return b"".join((*head, *more, artifact("inductor_collective_schedule", json.dumps(names, indent=0), id=id), last))


def distributed(*traces: bytes, numbers: Sequence[int] = ()) -> Trace:
    """Several traces as the ranks of one job, numbered from 0 on unless told."""
    files = tuple(TraceFile(None, NAME, number) for number in numbers or range(len(traces)))
    return build(Selection(files), [reader(data) for data in traces])


def alerts_of(*traces: bytes, root: str = "nowhere", prefixes: tuple[str, ...] = ()) -> Alerts:
    """Several traces as the ranks of one run, one as a run without ranks."""
    files = tuple(TraceFile(None, NAME, number if len(traces) > 1 else None) for number in range(len(traces)))
    return collect_alerts(analyze(build(Selection(files), [reader(data) for data in traces])), Repository(root, prefixes))


def only(trace: Trace, label: str) -> Compile:
    """The one compile of that label."""
    (found,) = (item for item in trace.compiles if item.label == label)
    return found


def frame(trace: Trace, label: str) -> Frame:
    (found,) = (item for item in trace.frames if item.label == label)
    return found


def with_code_states(*states: tuple[str, str, str], process: int = PROCESS) -> bytes:
    """A run of two compiles; ``states`` are (compile, name of the artifact, text)."""
    parts = [strings(MODEL, MAIN, process=process)]
    for label, why in (("0/0", ()), ("0/1", (mismatch("0/0", 8, 4),))):
        parts.append(compile(label, (8 if label == "0/0" else 4, 16), why, process=process))
        parts += [artifact(f"{name}_code_state", text, id=label, process=process) for at, name, text in states if at == label]
    return b"".join(parts)
