"""Traces for the tests: the fixtures, each analyzed once, and small ones written compile by compile as torch 2.13 writes them."""

import hashlib
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import shapelog
from shapelog.model.trace import Compile, Trace
from shapelog.recompiles.explain import Explanations, Recompile, explain_trace
from shapelog.report.report import Report

FIXTURES = Path(__file__).parents[1] / "fixtures"
PACKED = sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.log.gz"))
LAB = [name for name in PACKED if name.startswith("lab/")]
CPU_KEYS = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
LINE = "# return x + 1  # app/model.py:6 in f"


@cache
def analyzed(name: str) -> Report:
    """The report of a fixture, ``lab/batch_varies.log.gz``."""
    return shapelog.analyze(shapelog.load(FIXTURES / name))


def recompile_of(name: str, label: str) -> Recompile:
    return next(item for item in analyzed(name).recompiles if item.compile.label == label)


def compile_of(name: str, label: str) -> Compile:
    return next(item for item in analyzed(name).trace.compiles if item.label == label)


def strides(size: tuple[int, ...] | list[Any]) -> list[int]:
    """Those of a contiguous tensor; a dynamic size (None) counts as 8."""
    found = [1]
    for length in reversed([8 if item is None else item for item in size[1:]]):
        found.insert(0, found[0] * max(length, 1))
    return found[: len(size)]


def tensor(source: str = "L['x']", size: tuple[int, ...] = (10, 8), stride: list[int] | None = None, **more: Any) -> dict[str, Any]:
    """An input of a call, as ``describe_tensor`` and ``describe_source`` tell it."""
    plain = {"dtype": "torch.float32", "device": "device(type='cpu')", "is_leaf": True}
    body = {"ndim": len(size), "size": list(size), "stride": strides(size) if stride is None else stride, **plain, **more}
    return {"source": source, "body": body}


def manager(source: str, *leaves: str, type: str = "", comment: str = LINE, kind: str = "GuardManager") -> str:
    """A source of the guard tree, and what is checked of it."""
    written = f", type=<class '{type}'>" if type else ""
    head = (
        f"| +- {kind}: source={source}, accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0){written}, tag_safe=(False, False)"
    )
    return "\n".join([head, *(f"| | +- {leaf}  {comment}".rstrip() for leaf in leaves)])


def checked(
    source: str = "L['x']",
    size: tuple[int | None, ...] = (10, 8),
    stride: tuple[int | None, ...] | None = None,
    dtype: str = "float32",
    requires_grad: bool = False,
    keys: str = CPU_KEYS,
    more: tuple[str, ...] = (),
) -> str:
    """The guards of one tensor; None is a dim that is free."""
    told = list(strides(size) if stride is None else stride)
    layout = f"requires_grad={requires_grad}, size={list(size)}, stride={told}"
    leaf = f"check_tensor({source}, Tensor, {keys}, torch.{dtype}, device=None, {layout})"
    return manager(source, f"TENSOR_MATCH: {leaf}", *more, type="torch.Tensor")


def value(source: str, constant: object, type: str = "int") -> str:
    return manager(source, f"EQUALS_MATCH: {source} == {constant!r}", type=type)


def state(**fields: object) -> str:
    """The global state that torch 2.13 writes into the tree."""
    autocast = {"cached_enabled": True, "dtype": [15, 5], "enabled": [False, False]} | dict(fields.pop("autocast_state", {}))  # type: ignore[call-overload]
    known = {"allow_tf32": False, "autocast_state": autocast, "default_dtype": 6, "grad_mode": True, "num_threads": 1, **fields}
    return f"| +- GLOBAL_STATE: ___check_global_state() against {json.dumps(known)}"


def tree(*parts: str, shapes: tuple[str, ...] = ()) -> str:
    """A whole guard tree; each shape guard with its comment, ``2 <= L['x'].size()[0]  # where``."""
    lines = ["", "TREE_GUARD_MANAGER:", "+- RootGuardManager", *parts, *(f"+- LAMBDA_GUARD: {shape}" for shape in shapes), ""]
    return "\n".join(lines)


def graph(inputs: str = 'L_x_: "f32[10, 8][8, 1]cpu"', *statements: str) -> str:
    """A graph as fx prints it; without statements it adds one to its first input."""
    named = re.findall(r"(L_\w+):", inputs)
    body = statements or (f'add: "f32[10, 8][8, 1]cpu" = {named[0].lower()} + 1;  {named[0].lower()} = None', "return (add,)")
    lines = [*(f"{item.lower()} = {item}" for item in named), "", " # File: /srv/ml/app/model.py:6 in f, code: return x + 1", *body]
    return "\n".join(
        ["class GraphModule(torch.nn.Module):", f"    def forward(self, {inputs}):", *(f"        {line}" for line in lines), ""]
    )


class Recording:
    """Writes a trace, one compile after the other."""

    def __init__(self, torch_version: str = "2.13.0+cpu") -> None:
        self.lines: list[str] = []
        self.described = 0
        self.started: set[str] = set()
        self.record("str", ["/srv/ml/app/model.py", 0])
        if torch_version:
            versions = json.dumps({"pytorch_version": torch_version}, indent=0)
            self.record("artifact", {"name": "torch_version", "encoding": "json"}, payload=versions)

    def record(self, kind: str, body: object, label: str = "", payload: str | None = None, attempt: int = 0) -> None:
        header: dict[str, object] = {kind: body}
        if label:
            frame, number = label.split("/")
            header |= {"frame_id": int(frame), "frame_compile_id": int(number), "attempt": attempt}
        if payload is not None:
            header["has_payload"] = hashlib.md5(payload.encode(), usedforsecurity=False).hexdigest()
        self.lines.append(f"V1120 08:27:33.313000 12031 torch/_dynamo/app.py:303] {json.dumps(header)}")
        if payload is not None:
            self.lines.extend(f"\t{line}" for line in payload.split("\n"))

    def artifact(self, label: str, name: str, payload: str, attempt: int = 0) -> None:
        self.record("artifact", {"name": name, "encoding": "string"}, label, payload, attempt)

    def compile(
        self,
        label: str,
        *inputs: dict[str, Any],
        guards: str | None = None,
        code: str | None = None,
        reasons: tuple[str, ...] = (),
        symbols: tuple[tuple[str, str, str], ...] = (),
        specializations: tuple[dict[str, Any], ...] = (),
        sizes: dict[str, list[object]] | None = None,
        seconds: float = 1.0,
        name: str = "f",
        is_started: bool = True,
        **metrics: Any,
    ) -> "Recording":
        """One compile. ``symbols`` are (name, hint, source); without ``guards`` and ``code`` it has those of its inputs."""
        if reasons:
            self.artifact(label, "recompile_reasons", reasons[0] if len(reasons) == 1 else listed(reasons))
        if is_started:
            stack = [{"line": 20, "name": "<module>", "filename": 0, "loc": "f(x)"}, {"line": 5, "name": name, "filename": 0}]
            self.record("dynamo_start", {"stack": stack}, label)
        for item in inputs:
            self.described += 1
            self.record("describe_tensor", {"id": self.described, "describer_id": 1, "storage": 0, **item["body"]}, label)
            self.record("describe_source", {"id": self.described, "describer_id": 1, "source": item["source"]}, label)
        for symbol, hint, source in symbols:
            body = {"symbol": symbol, "val": hint, "vr": "[2, int_oo]", "source": source, "user_stack": [], "stack": []}
            self.record("create_symbol", body, label)
        for item in specializations:
            self.record("symbolic_shape_specialization", {"reason": "solve", "stack": [], "user_stack": [], **item}, label)
        if code is None:
            code = graph() if is_started else ""
        if code:
            self.record("dynamo_output_graph", {"sizes": sizes or {}}, label, code)
        if guards is None and is_started:
            guards = tree(*(checked(item["source"], tuple(item["body"]["size"]), tuple(item["body"]["stride"])) for item in inputs))
        if guards:
            self.record("dynamo_cpp_guards_str", {}, label, guards)
        own = {"co_name": name, "co_filename": "/srv/ml/app/model.py", "co_firstlineno": 5, "has_guarded_code": bool(guards)}
        self.record("compilation_metrics", {"compile_id": label, "entire_frame_compile_time_s": seconds, **own, **metrics}, label)
        return self

    def limit(self, label: str, *reasons: str) -> "Recording":
        """A call that was refused because the cache was full."""
        text = "Dynamo recompile limit exceeded\n  Explanation: ... exceeding the recompile_limit cache size limit (currently set to 8)"
        refused = {"fail_type": "Unsupported", "fail_reason": text, "has_guarded_code": False, "co_name": None, "co_filename": None}
        return self.compile(label, reasons=reasons, is_started=False, seconds=0.0, **refused)

    def load(self) -> Trace:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dedicated_log_torch_trace_abcdefgh.log"
            path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
            return shapelog.load(path)

    def explained(self) -> Explanations:
        return explain_trace(self.load())

    def report(self) -> Report:
        return shapelog.analyze(self.load())

    def last(self) -> Recompile:
        """What is said about the last recompile."""
        return self.explained().recompiles[-1]


def listed(reasons: tuple[str, ...]) -> str:
    """Several reasons, as they are written in one payload."""
    return "[\n" + ",\n".join(map(json.dumps, reasons)) + "\n]"


def sized(*lengths: int, made: Recording | None = None, frame: int = 0, name: str = "f", source: str = "L['x']", **more: Any) -> Recording:
    """A function that was compiled for each of these lengths of its tensor, statically."""
    made = made or Recording()
    for number, length in enumerate(lengths):
        made.compile(f"{frame}/{number}", tensor(source, (length, 8)), name=name, **more)
    return made


def freed(label: str, length: int = 10, *shapes: str, made: Recording | None = None, **more: Any) -> Recording:
    """A compile for any length of its tensor within ``shapes``, guards such as ``L['x'].size()[0] <= 30``."""
    guards = tree(checked(size=(None, 8)), shapes=tuple(f"{shape}  {LINE}" for shape in shapes))
    symbols = (("s77", str(length), "L['x'].size()[0]"),)
    return (made or Recording()).compile(label, tensor(size=(length, 8)), guards=guards, symbols=symbols, **more)


def at(line: int, code: str, name: str = "f") -> str:
    """A guard's comment that quotes a line of the function."""
    return f"# {code}  # app/model.py:{line} in {name}"


def numbered(
    *values: int, made: Recording | None = None, frame: int = 0, name: str = "f", source: str = "L['k']", comment: str = "", **more: Any
) -> Recording:
    """A function that was compiled for each of these values of an int, which it used first where ``comment`` says."""
    made = made or Recording()
    for number, constant in enumerate(values):
        leaf = manager(source, f"EQUALS_MATCH: {source} == {constant}", type="int", comment=comment or at(6, "return x * k", name))
        made.compile(f"{frame}/{number}", tensor(), guards=tree(checked(), leaf), name=name, **more)
    return made
