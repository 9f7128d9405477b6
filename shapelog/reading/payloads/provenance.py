"""Which operation of the captured graph ended up in which kernel, as Inductor tracks it (``INDUCTOR_PROVENANCE=1``).

The artifact ``inductor_provenance_tracking_node_mappings`` holds, by name, the nodes after autograd that a node of the graph became
(``preToPost``) and the nodes in each kernel (``cppCodeToPost``; in code from C++ wrappers and older versions ``cudaKernelToPost``). From
version 2.0 on a kernel is named with a number for each of its calls: ``extern_kernels.addmm:3``. The artifact
``inductor_provenance_tracking_kernel_stack_traces`` holds the user's lines of each kernel.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from shapelog.reading.records import StackFrame

MAPPINGS = "inductor_provenance_tracking_node_mappings"
STACKS = "inductor_provenance_tracking_kernel_stack_traces"
_KERNELS = ("cppCodeToPost", "cudaKernelToPost", "kernelToPost")
_NODE = re.compile(r"^\s*(\w+)(?:\s*:\s*\"[^\"]*\")?\s*=(?!=)")
_HANDLES = re.compile(r"\[Provenance debug handles\] (.+)$")
_DEFINITION = re.compile(r"^\s*(\w+) = async_compile\.")
# How a kernel is called, and how many lines behind its handle at most.
_CALLS, _FARTHEST = ("(", ".run("), 30
_COMMENT = re.compile(r"^\s*# File: (.*?):(\d{1,18}) in (\S+?), code: (.*)$")
_PLACE = re.compile(r'^ *File "(.*)", line (\d{1,18}), in (.*)\n *(.*)$', re.M)

Links = Mapping[str, tuple[str, ...]]


class Mappings(NamedTuple):
    """``became`` has the nodes after autograd by node of the graph, ``kernels`` the nodes in each kernel."""

    became: Links
    kernels: Links


def parse_mappings(payload: str) -> Mappings:
    """Raises ValueError for text that is no JSON object."""
    body = orjson.loads(payload)
    if not isinstance(body, dict):
        raise ValueError("expected a JSON object")
    kernels: dict[str, tuple[str, ...]] = {}
    for name in _KERNELS:
        kernels.update(_links(body.get(name)))
    return Mappings(_links(body.get("preToPost")), kernels)


def _links(found: object) -> dict[str, tuple[str, ...]]:
    items = found.items() if isinstance(found, dict) else ()
    return {str(name): tuple(map(str, targets)) for name, targets in items if isinstance(targets, list)}


def parse_stacks(payload: str) -> dict[str, tuple[StackFrame, ...]]:
    """The user's lines of each kernel, each once. Raises ValueError for text that is no JSON object."""
    body = orjson.loads(payload)
    if not isinstance(body, dict):
        raise ValueError("expected a JSON object")
    found = {}
    for kernel, stacks in body.items():
        texts = [text for text in stacks if isinstance(text, str)] if isinstance(stacks, list) else []
        last = [places[-1] for places in map(_PLACE.findall, texts) if places]
        found[str(kernel)] = tuple(dict.fromkeys(StackFrame(file, int(line), name, code.strip()) for file, line, name, code in last))
    return found


def node_of(line: str) -> str:
    """The node that a line of a printed graph computes, "" for another line."""
    found = _NODE.match(line)
    return found[1] if found else ""


def places_in(graph: str) -> dict[str, StackFrame]:
    """The user's line of each node of a printed graph: that of the comment above it."""
    found: dict[str, StackFrame] = {}
    place: StackFrame | None = None
    for line in graph.splitlines():
        if comment := _COMMENT.match(line):
            file, number, name, code = comment.groups()
            place = StackFrame(file, int(number), name, code.strip())
        elif place and (node := node_of(line)):
            found[node] = place
    return found


def _base(kernel: str) -> str:
    """The name of a kernel without the number of its call."""
    name, _, number = kernel.rpartition(":")
    return name if number.isdigit() else kernel


def _call_after(lines: list[str], handle: int, kernels: tuple[str, ...]) -> int:
    """The line that a handle is about: C++ code sets up the arguments between the handle and the call."""
    following = [number for number in range(handle + 1, min(handle + _FARTHEST, len(lines))) if lines[number].strip()]
    until = next((place for place, number in enumerate(following) if _HANDLES.search(lines[number])), len(following))
    calls = (
        number for number in following[:until] if any(f"{_base(kernel)}{sign}" in lines[number] for kernel in kernels for sign in _CALLS)
    )
    return next(calls, following[0] if following[:until] else handle)


def kernels_by_line(code: str, kernels: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
    """The kernels that lines of generated code define or call, by the index of the line."""
    found: dict[int, tuple[str, ...]] = {}
    by_name: dict[str, list[str]] = {}
    for kernel in kernels:
        by_name.setdefault(_base(kernel), []).append(kernel)
    has_handles = "[Provenance debug handles]" in code
    body: tuple[str, ...] = ()
    lines = code.splitlines()
    for number, line in enumerate(lines):
        definition, handle = _DEFINITION.match(line), _HANDLES.search(line)
        if body:
            found[number] = body
            body = () if line.startswith("'''") else body
        elif handle:
            handled = tuple(name.strip() for name in handle[1].split(",") if name.strip() in kernels)
            end = _call_after(lines, number, handled)
            found |= {own: handled for own in range(number, end + 1) if lines[own].strip()}
        elif number in found:
            continue
        elif definition and definition[1] in by_name:
            found[number] = tuple(by_name[definition[1]])
            body = found[number] if line.rstrip().endswith("'''") else ()
        elif not has_handles and "(" in line:
            called = re.match(r"\s*(?:\w+ = )?([\w.]+?)(?:\.run)?\(", line)
            if called and called[1] in by_name:
                found[number] = tuple(by_name[called[1]])
    return found
