"""What Inductor writes about CUDA graphs: where they are not used, and where one is recorded again.

The wording is that of ``torch/_inductor/cudagraph_utils.py`` and ``cudagraph_trees.py``, 2.0 to 2.15.
"""

import re
from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.python_tracebacks import stack_lines
from shapelog.reading.records import StackFrame
from shapelog.text import enumerated, file_name

# The artifact in which the transcript of a text log has such a message.
INDUCTOR_MESSAGE = "shapelog_inductor_message"


class CudaGraphEvent(Enum):
    """What happened to a CUDA graph."""

    SKIPPED = "not used"
    RECORDED_AGAIN = "recorded again"
    MANY_SIZES = "recorded for many sizes"
    OVERWRITTEN = "output overwritten"
    MOVED = "static input moved"


class CudaGraphMessage(NamedTuple):
    """One message: its reason in PyTorch's words, the function as Inductor names it ("" where it does not), the line that it blames.

    ``sizes`` is how many sizes had a CUDA graph of their own so far, 0 where that is not the matter, and ``key`` the sizes for which one is
    recorded.
    """

    event: CudaGraphEvent
    reason: str
    function: str = ""
    place: StackFrame | None = None
    sizes: int = 0
    key: str = ""


_OWN_GRAPH = "each input size needs a CUDA graph of its own"
_SKIPPED = re.compile(
    r"skipping cudagraphs? (?:due to|because) (?:(?:skipping|disabling) cudagraphs? (?:due to|because) )*(?P<reason>.*)", re.I | re.S
)
_AGAIN = re.compile(r"Re-recording (?:function[= ])?(?P<function>[\w.<>]+)(?:,? mode=\w+)?(?:,? reason=(?P<reason>.*))?", re.S)
_SIZES = re.compile(r"(?:CUDAGraph supports dynamic shapes by recording a new graph .*?|We have )observed (\d{1,9}) distinct", re.S)
# That message, with N for the number.
_MANY_SIZES = (
    "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs may lead to "
    "extra overhead. We have observed N distinct sizes. Please consider the following options for better performance: a) padding inputs "
    "to a few fixed number of shapes; or b) set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs=True. Set "
    "torch._inductor.config.triton.cudagraph_dynamic_shape_warn_limit=None to silence this warning."
)
_NUMBER, _LOOKED_AT = re.compile(r"\b\d{1,9}\b"), 20
_RECORDED = re.compile(r"recording cudagraph tree for (?:symint key )?(?P<key>[\d(][\d(), ]*)", re.I)
_OVERWRITTEN = re.compile(
    r"accessing (?P<what>(?:gradient )?tensor) output of CUDAGraphs that has been overwritten"
    r"(?:.*?Stack trace:\s*(?P<stack>.*?)(?:\. (?:To prevent|This can happen)|$))?",
    re.S,
)
# A frame of a stack whose lines are joined, before its line of code.
_JOINED = re.compile(r"(?:^| )(File \"[^\"\n]{1,400}\", line \d{1,9}, in (?:<\w{1,40}>|[\w.]{1,200})) ")
_PENDING = re.compile(r"Unable to hit fast path of CUDAGraphs because (?:of )?([^.\n`]{1,200})")
# What a message about recording again goes on with; alone, it is that of an exception, with the inputs below it.
_MOVED = re.compile(r"^\s*(?:\w+Error: )?static input data pointer changed\.?\s*(?P<inputs>.*)", re.S | re.M)
_MOVED_INPUT = re.compile(
    r"input name: (?P<name>\w+)\. data pointer changed from \d+ to \d+\."
    r"(?: input stack trace:\s*(?P<stack>File (?:(?!input name: ).)*))?",
    re.S,
)
_FUNCTION = re.compile(r"^function (\d{1,9}) (exceeding max .*)", re.S)
# A place as people shorten it: ``.../reference.py, line 715, in forward``.
_PLACE = re.compile(r"(?P<file>[^\s,\"]{1,400}\.py), line (?P<line>\d{1,9}), in (?P<name>[\w.<>]{1,200})")
_FOUND_FROM = re.compile(r"\.?\s*Found from[ \t]*:?\s*(?P<stack>.*)", re.S)


def cuda_graph_message(text: str) -> CudaGraphMessage | None:
    """The message in a text, None where it holds none."""
    sizes = _SIZES.search(text)
    if sizes:
        return CudaGraphMessage(CudaGraphEvent.MANY_SIZES, _OWN_GRAPH, sizes=int(sizes[1]))
    recorded = _RECORDED.search(text)
    if recorded:
        return CudaGraphMessage(CudaGraphEvent.MANY_SIZES, _OWN_GRAPH, key=recorded["key"].strip())
    pending = _PENDING.search(text)
    if pending:
        return CudaGraphMessage(CudaGraphEvent.SKIPPED, pending[1])
    again = _AGAIN.search(text)
    if again:
        reason, place = _with_place(again["reason"] or "")
        return CudaGraphMessage(CudaGraphEvent.RECORDED_AGAIN, reason, again["function"], place)
    overwritten = _OVERWRITTEN.search(text)
    if overwritten:
        written = (overwritten["stack"] or "").replace("\\n", "\n")  # a quoted text may have the escapes
        written = written if "\n" in written.strip() else _JOINED.sub(r"\n  \1\n    ", written)
        stack = tuple(stack_lines([line for line in f"  {written}".split("\n") if line.strip()]))  # a frame without its code is empty
        return CudaGraphMessage(CudaGraphEvent.OVERWRITTEN, overwritten["what"], place=stack[-1] if stack else None)
    skipped = _SKIPPED.search(text)
    if skipped is None and (moved := _MOVED.search(text)):
        return _moved(moved["inputs"])
    if skipped is None:
        return None
    reason, place = _with_place(skipped["reason"])
    limit = _FUNCTION.match(reason)
    return CudaGraphMessage(CudaGraphEvent.SKIPPED, limit[2] if limit else reason, f"function {limit[1]}" if limit else "", place)


def goes_on_about_sizes(line: str) -> bool:
    """Whether a line begins with words from the middle of the message about many sizes, which a person wrapped there."""
    words = _NUMBER.sub("N", " ".join(line.split()))[:_LOOKED_AT]
    return bool(words) and f" {words}" in _MANY_SIZES


def _moved(inputs: str) -> CudaGraphMessage:
    """The inputs that moved, with the line of each but the first, whose line is the place."""
    names: list[str] = []
    first = None
    for item in _MOVED_INPUT.finditer(inputs):
        stack = tuple(stack_lines(f"  {item['stack'] or ''}".split("\n")))
        place = stack[-1] if stack else None
        names.append(f"{item['name']} at {file_name(place.file)}:{place.line}" if names and place else item["name"])
        first = first or place
    reason = f"static input data pointer changed ({enumerated(names)})" if names else "static input data pointer changed"
    return CudaGraphMessage(CudaGraphEvent.MOVED, reason, place=first)


def _with_place(text: str) -> tuple[str, StackFrame | None]:
    """A reason in one line, and the innermost line of the stack that follows it."""
    found = _FOUND_FROM.search(text)
    stack = tuple(stack_lines(f"  {found['stack']}".split("\n"))) if found else ()
    if found and not stack and (place := _PLACE.match(found["stack"])):
        stack = (StackFrame(place["file"], int(place["line"]), place["name"]),)
    reason = text[: found.start()] if found else text.partition("\n")[0]
    return " ".join(reason.split()).strip("[]'\". "), stack[-1] if stack else None
