"""Large hostile traces, each put through the command line at one size and at twice that: time, peak memory, and how both grow."""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutations  # makes the modules of the tests known
from make import compile, describe, line, metrics, record, strings, tensor, torch_version, trace
from payload_text import size_mismatch

_MEGABYTE = 1_000_000
_PATIENCE = 60
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Case:
    """A kind of input. ``make`` gives one of about so many bytes; the larger one that is measured is of ``size``."""

    name: str
    make: Callable[[int], bytes]
    size: int = _MEGABYTE


def _fill(text: str, size: int) -> str:
    return text * (size // len(text))


def _first(id: str = "0/0", **more: Any) -> bytes:
    return compile(id, tensor(8, 16), **more)


def _again(id: str, length: int, why: str = "", **more: Any) -> bytes:
    return compile(id, tensor(length, 16), reasons=[why or size_mismatch("0/0", 8, length)], **more)


def _two(more: Sequence[str] = (), why: str = "") -> bytes:
    """A recompile, both sides of which have these guards, with this reason."""
    return trace(_first(more_guards=more), _again("0/1", 3, why, more_guards=more))


def _guard(text: str) -> Callable[[int], bytes]:
    """One line of the guard tree that goes on and on."""
    return lambda size: _two(["| +- GuardManager: source=L['k'], accessed_by=x\n| | +- " + _long(text, size // 2)])


def _long(text: str, size: int) -> str:
    head, middle, tail = text.split("…")
    return head + _fill(middle, size) + tail


def _reason(text: str) -> Callable[[int], bytes]:
    return lambda size: _two(why="0/0: " + _long(text, size))


def _code(text: str) -> Callable[[int], bytes]:
    return lambda size: trace(*(_first(f"0/{n}") + record("dynamo_output_graph", {}, _long(text, size // 2), id=f"0/{n}") for n in (0, 1)))


def _source(text: str) -> Callable[[int], bytes]:
    def made(size: int) -> bytes:
        name = _long(text, size // 2)
        inputs = (tensor(2, n + 2, source=name) for n in (0, 1))
        return trace(*(_first(f"0/{n}") + describe(item, id=f"0/{n}") + metrics(f"0/{n}") for n, item in enumerate(inputs)))

    return made


def _deep(step: str, leaf: str) -> Callable[[int], bytes]:
    def made(size: int) -> bytes:
        lines, left, depth = [], size // 2, 0
        while left > 0:
            lines.append(f"{step * depth}+- {leaf}")
            left -= len(lines[-1])
            depth += 1
        return _two("\n".join(lines) + "\n")

    return made


def _deeper(size: int) -> bytes:
    """A hundred thousand levels in few bytes: each line jumps far."""
    depth = size // 20
    return _two(f"{'| ' * depth}+- GuardManager: source=L['k']\n{'| ' * (depth + 1)}+- EQUALS_MATCH: L['k'] == 1\n")


def _shape(text: str) -> Callable[[int], bytes]:
    return lambda size: _two(f"+- LAMBDA_GUARD: {_long(text, size // 2)}  # app/model.py:13 in forward\n")


def _tiny(size: int) -> bytes:
    return torch_version() + line("{}") * (size // 70)


def _strings(size: int) -> bytes:
    return torch_version() + strings(*(f"/srv/{number}.py" for number in range(size // 110)))


def _frames(size: int) -> bytes:
    each = len(_first())
    return trace(*(_first(f"{number}/0", line=number + 1) for number in range(size // each)))


def _entries(size: int) -> bytes:
    each = len(_again("0/1", 3))
    return trace(*(_again(f"0/{number}", number + 3) for number in range(size // each)))


def _processes(size: int) -> bytes:
    each = len(torch_version())
    return b"".join(torch_version(process=number + 1) for number in range(size // each))


def _stack(size: int) -> bytes:
    frames = [{"line": number, "name": f"f{number}", "filename": 0, "loc": "x"} for number in range(size // 100)]
    return trace(record("dynamo_start", {"stack": frames}, id="0/0"), _first())


def _rubbish(text: bytes) -> Callable[[int], bytes]:
    return lambda size: torch_version() + text * (size // len(text))


def _many_reasons(size: int) -> bytes:
    texts = [size_mismatch(f"0/{number}", 8, 3) for number in range(size // 70)]
    return trace(_first(), compile("0/1", tensor(3, 16), reasons=texts))


def _list(size: int) -> bytes:
    """A list of dynamic sources that takes for ever to match."""
    entry = "(a|a)*" * 3 + "$," + "(a+)+$," + "a*" * 30 + "$"
    config = json.dumps({"dynamic_sources": entry})
    name = "L['" + "a" * (size // 4) + "!']"
    configured = {"dynamo_config": "{}", "compiler_config": config}
    return trace(*(_first(f"0/{n}", **configured) + describe(tensor(2, n + 2, source=name), id=f"0/{n}") for n in (0, 1)))


CASES = (
    Case("one line of 10 MB, no record", _rubbish(b"x"), 10 * _MEGABYTE),
    Case("one header of 10 MB", lambda size: torch_version() + line(json.dumps({"str": ["x" * size, 0]})), 10 * _MEGABYTE),
    Case("one payload line of 10 MB", lambda size: _two() + record("artifact", {"name": "x"}, "y" * size, id="0/1"), 10 * _MEGABYTE),
    Case("a million tiny records", _tiny, 70 * _MEGABYTE),
    Case("a million lines that are no record", _rubbish(b"\x00\xff\n"), 3 * _MEGABYTE),
    Case("a million cut headers", _rubbish(b'V1120 08:27:33.3 1 a.py:3] {"str\n'), 34 * _MEGABYTE),
    Case("nested JSON", lambda size: torch_version() + line('{"str": ' + "[" * (size // 2) + "]" * (size // 2) + "}")),
    Case("a table of strings", _strings, 10 * _MEGABYTE),
    Case("frames with one compile", _frames),
    Case("compiles of one frame", _entries),
    Case("processes in one file", _processes),
    Case("a stack of frames", _stack),
    Case("reasons of one recompile", _many_reasons),
    Case("a list that takes for ever to match", _list, 40_000),
    Case("a tree of guards, one level a line", _deep("| ", "GuardManager: source=L['k'][0]")),
    Case("100,000 levels at once", _deeper),
    *(
        Case(f"guard: {text[:34]}", _guard(text))
        for text in (
            "EQUALS_MATCH: L['k'] == 1… …x",
            "EQUALS_MATCH: …L['…",
            "EQUALS_MATCH: L['k'] == 1…  # …",
            "EQUALS_MATCH: L['k'] == 1… # a and …",
            "EQUALS_MATCH: L['k']…(HINT: …x",
            "LENGTH_CHECK: …len(…",
            "DICT_CONTAINS: …not ___dict_contains('a', …",
            "DICT_CONTAINS: ___dict_contains(…, …",
            "SET_CONTAINS: …set.__contains__(…",
            "NO_HASATTR: …hasattr(L, '…",
            "TYPE_MATCH: ___check_type_id(…, 1…",
            "TENSOR_MATCH: check_tensor(L['x'], Tensor, …DispatchKeySet(…",
            "TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=True, size=[…1, …",
            "DIM: …_dynamo_x.issubset({…",
            "EQUALS_MATCH: …G['…",
            "GuardManager: source=…L[' …, accessed_by=x",
            "GuardManager: source=…list(dict.keys(…, accessed_by=x",
        )
    ),
    *(
        Case(f"reason: {text[:34]}", _reason(text))
        for text in (
            "…a == …",
            "…L['…",
            "…(…% 2) ==",
            "tensor '…'x' …size mismatch",
            "___dict_contains(…, …",
            "set.__contains__(…, …",
            "hasattr(…, '…",
            "…list(dict.keys(…",
            'x == 1  # File "…File "…',
            "KeyError on …G['__import_…",
            "1… …x",
        )
    ),
    *(
        Case(f"shape: {text[:34]}", _shape(text))
        for text in (
            "…(…",
            "…-…1",
            "1…+1…",
            "…not …1",
            "…a.…a",
            "…[…",
            "2…**2…",
            "L['x'].size()[0]…*9999999999…",
            "…L['x'].size()[0] <= …1",
            "…Max(…1",
            "…9…",
        )
    ),
    *(
        Case(f"graph: {text[-34:].replace(chr(10), ' ')}", _code(text))
        for text in (
            "class GraphModule(torch.nn.Module):\n    def forward(self, …a: …",
            'class GraphModule(torch.nn.Module):\n    def forward(self, …a: "f32[8]", …):\n',
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        a = …f(…",
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        a = …(#,…",
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        a = x…;  a = …None",
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n… \n…        return x\n",
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n        # File: …:1 in …, code: x\n",
            "class GraphModule(torch.nn.Module):\n    def forward(self, x):\n…        a = x + x\n…",
        )
    ),
    *(
        Case(f"source: {text[:34]}", _source(text))
        for text in ("L['…x…']", "…L['…", "…L['a'].…x", "…list(dict.keys(…", "L['x']…[0]…", "L['x']…._modules['…", "…G['__import_…")
    ),
)


def _measured(case: Case, size: int, folder: Path, arguments: list[str]) -> tuple[int, float, int, int]:
    """Bytes of the input, seconds, peak memory in bytes and the exit code of the report; -1 where patience ended."""
    path = folder / "trace.log"
    # In a child, because the peak of a process counts that of the one that it was forked from.
    maker = multiprocessing.get_context("fork").Process(target=lambda: path.write_bytes(case.make(size)))
    maker.start()
    maker.join()
    command = [sys.executable, "-m", "shapelog", "report", str(path), *arguments]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(mutations.ROOT)}
    )
    while time.perf_counter() - start < _PATIENCE:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        if ended:
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.stderr is not None
            said = process.stderr.read().decode(errors="replace")
            code = 99 if "Traceback" in said else process.returncode
            return path.stat().st_size, time.perf_counter() - start, usage.ru_maxrss * _MAXRSS_UNIT, code
        time.sleep(0.01)
    process.kill()
    process.wait()
    return path.stat().st_size, time.perf_counter() - start, 0, -1


def measured(wanted: str = "") -> int:
    """Print a line for each case, at half its size and at its size; 1 when one of them ended as it should not."""
    failed = 0
    print(f"{'':<58}{'MB':>8}{'s':>8}{'MB peak':>9}{'s, half':>9}  exit")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if wanted not in case.name:
                continue
            _, half, _, _ = _measured(case, case.size // 2, Path(folder), [])
            size, seconds, peak, code = _measured(case, case.size, Path(folder), [])
            failed += code not in (0, 2)
            print(f"{case.name:<58}{size / 1e6:8.1f}{seconds:8.2f}{peak / 1e6:9.0f}{half:9.2f}  {code}", flush=True)
    return 1 if failed else 0
