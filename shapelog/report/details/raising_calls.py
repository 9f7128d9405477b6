"""Which call raised an error, by its stack: what compiles code or exports it, compiled code itself, or an exported program.

A text may have an error of any class that torch raised outside of a compilation. A trace has those of compilations alone.
"""

import re
from enum import Enum

from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import GENERATED, is_entry, is_guard_of_export
from shapelog.reading.records import StackFrame


class RaisingCall(Enum):
    """What raised the error, and what there is to write of it in front of the error; {} is the function."""

    COMPILED_CODE = "{} raised an error when its compiled code ran"
    EXPORTED_PROGRAM = "an exported program refused its inputs"
    EXPORT = "torch.export failed"
    LOAD = "torch.export.load failed"
    COMPILE = "torch.compile failed"
    UNKNOWN = "torch.compile or torch.export raised an error"

    def named(self, function: str) -> str:
        """The words with the function; "" where that is not known."""
        if self is RaisingCall.EXPORT and function:
            return f"{self.value} in {function}"
        return self.value.format(function) if function or "{}" not in self.value else "compiled code raised an error when it ran"


_FILE = r"[\\/]torch[\\/]"
# What runs compiled code and calls what it was compiled to; the files of the compiler's that run have names of functions that run, too.
_RUNS = re.compile(
    rf"{_FILE}(?:_functorch[\\/]_aot_autograd[\\/]runtime_wrappers|_inductor[\\/](?:output_code|cudagraph_trees|package[\\/]package|runtime[\\/]triton_heuristics))\.py$"
)
_GENERATED = re.compile(GENERATED)
# What generates code, and runs kernels of it to choose among them.
_GENERATES = re.compile(rf"{_FILE}_inductor[\\/](?:codegen[\\/]\w{{1,40}}|graph|scheduler|select_algorithm|autotune_process)\.py$")
_CHECKS_INPUTS = re.compile(rf"{_FILE}(?:_export[\\/]utils|export[\\/]_unlift)\.py$")
_EXPORTS = re.compile(rf"{_FILE}_?export[\\/]\w{{1,40}}\.py$")
_PASSES_EXPORT = re.compile(
    rf"File \"[^\"\n]{{1,400}}{_FILE}(?:_?export[\\/](?!_unlift|utils)\w{{1,40}}|onnx[\\/][\w\\/]{{1,100}})\.py\", line \d"
)
# Where both ``save`` and ``load`` are.
_LOADS = re.compile(rf"{_FILE}export[\\/]__init__\.py$")
# Around each call of compiled code, which is refused here under other tracers; what was raised inside is raised again.
_CALLS = re.compile(rf"{_FILE}_dynamo[\\/]eval_frame\.py$")
_WRAPPERS = frozenset(("compile_wrapper", "_fn"))
_REFUSES = re.compile(r"raise \w*Error\b")
# Of a text that has such an exception alone, by the words of which it is about the compiler.
_OF_PYTHON = frozenset(("RuntimeError", "NotImplementedError", "ValueError", "TypeError", "OSError"))
# What torch.onnx raises where torch.export failed.
_BY_ONNX = "TorchExportError"
# The end of an error that torch.export met (torch 2.7 and later).
_MET_BY_EXPORT = "The error above occurred when calling torch.export.export"
# The function itself was not traced (torch 2.12 and later).
_COMPILED_NOTHING = "torch.compile with fullgraph=True found no compiled frames"
# A size that ``torch.export.Dim`` gave a name, in ``produce_guards`` of ``torch/fx/experimental/symbolic_shapes.py``.
_DECLARED = re.compile(r"Constraints violated(?: \((?!L\[)\w|[.!]*$)|Not all values of \w+ = L\[")
# What a check of inputs writes, wherever it is made: of compiled code in Python, of an exported program there and in C++.
_CHECKED = (
    (re.compile(r"expected size \d{1,18}==\d{1,18}, stride \d"), RaisingCall.COMPILED_CODE),
    (
        re.compile(
            r"Expected input (?:at )?(?:\*args\[|\S{1,200}\.shape\[\d)|input_handles\[\d{1,9}\]: unmatched "
            r"|Guard failed: [^\n]{1,200}\.size\(\)\[\d"
        ),
        RaisingCall.EXPORTED_PROGRAM,
    ),
)


def raising_call(compile: Compile) -> RaisingCall | None:
    """That of a failure, None for one that compiling the code raised."""
    reason = compile.metrics.fail_reason
    if checked := next((call for words, call in _CHECKED if words.match(reason)), None):
        return checked
    if _COMPILED_NOTHING in reason:
        return RaisingCall.COMPILE
    is_met = compile.metrics.fail_type == _BY_ONNX or _MET_BY_EXPORT in reason
    is_export = is_met or _DECLARED.search(reason) or declares_amiss(reason)
    found = RaisingCall.EXPORT if is_export else None
    if not compile.exceptions and compile.metrics.fail_type in _OF_PYTHON:
        return found or RaisingCall.UNKNOWN
    stack = compile.exceptions[-1].stack if compile.exceptions else ()
    if any(_GENERATES.search(frame.file) for frame in stack):
        return found
    for frame in stack:
        found = _of_frame(frame, found)
    if found is None and _PASSES_EXPORT.search(reason):  # in the stack of another exception of the chain, which may be cut
        return RaisingCall.EXPORT
    return found


def _of_frame(frame: StackFrame, outer: RaisingCall | None) -> RaisingCall | None:
    """What a frame shows, else what those outside of it do. Compiled code may compile more: its backward graph, a kernel."""
    if _RUNS.search(frame.file) or (_GENERATED.search(frame.file) and frame.name == "call"):
        return RaisingCall.COMPILED_CODE if "compile" not in frame.name else None
    if (_CHECKS_INPUTS.search(frame.file) or is_guard_of_export(frame.file, frame.name)) and outer is not RaisingCall.EXPORT:
        return RaisingCall.EXPORTED_PROGRAM
    if _EXPORTS.search(frame.file):
        if outer in (RaisingCall.EXPORTED_PROGRAM, RaisingCall.LOAD):
            return outer
        return RaisingCall.LOAD if frame.name == "load" and _LOADS.search(frame.file) else RaisingCall.EXPORT
    if is_entry(frame.file, frame.name):
        return RaisingCall.COMPILE
    if _CALLS.search(frame.file) and _REFUSES.match(frame.code):
        return RaisingCall.COMPILED_CODE if frame.name in _WRAPPERS else RaisingCall.COMPILE
    if outer is RaisingCall.COMPILED_CODE and "compile" in frame.name and frame.name not in _WRAPPERS:
        return None
    return outer


def declares_amiss(reason: str) -> bool:
    """Whether an error is about the argument ``dynamic_shapes`` itself (``torch/export/dynamic_shapes.py``)."""
    return "`dynamic_shapes" in reason
