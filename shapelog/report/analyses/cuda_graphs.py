"""Which compiled code runs without CUDA graphs, and for which are they recorded again and again?"""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.cuda_graphs import CudaGraphEvent, CudaGraphMessage, cuda_graph_message
from shapelog.recompiles.explain import Explanations
from shapelog.report.details.warning_remedies import remedy_of_warning
from shapelog.report.results import Column, Finding, Location, Table, location_of
from shapelog.rules import RULES
from shapelog.text import cut, how_often, one_line, plural

_SKIPPED, _AGAIN, _OVERWRITTEN = RULES["SL503"], RULES["SL504"], RULES["SL508"]
_FEW_SIZES = "pad inputs to a few sizes, or set torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
# What helps against a reason, by words of it.
_REMEDIES = (
    (
        ("mutated inputs", "input mutation", "storage mutation"),
        "return a new tensor in place of writing into an input; where the input keeps its address, "
        "torch._dynamo.mark_static_address(x) before the first call keeps CUDA graphs",
    ),
    (
        ("cpu device", "non gpu", "non-cuda", "multiple devices", "multple devices"),
        "move everything that the compiled code reads to one GPU before the call",
    ),
    (
        ("pending", "require backward"),
        "run the backward pass of each forward before the next one, use torch.no_grad() for inference, or call "
        "torch.compiler.cudagraph_mark_step_begin() before each step",
    ),
    (("dynamic shape",), "compile for fixed sizes, or pad inputs to a few sizes: CUDA graphs are made for one size each"),
    (
        ("data pointer", "staticinput", "static input"),
        "keep parameters and buffers at their addresses: write into them with copy_() in place of assigning new tensors",
    ),
    (
        ("cudagraph_managed", "cudagraphmanaged"),
        "mark each iteration with torch.compiler.cudagraph_mark_step_begin(), and clone outputs that are passed to the next one",
    ),
    (("re-recording limit", "each input size"), _FEW_SIZES),
    (("_local_scalar_dense",), "leave the number in a tensor rather than read it with .item(), or pass it to the code as an int"),
    (  # ``_fx_node_is_input_dependent_cudagraph_unsafe`` in ``torch/_inductor/utils.py``
        ("index_put",),
        "assign with torch.where in place of a boolean mask; in older versions also turn off torch.use_deterministic_algorithms(True)",
    ),
)
_COUNTING = (
    "pass the number that grows with each call as a tensor, so that it needs no CUDA graph of its own, or set "
    "torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
)
_LONGEST, _LONGEST_HINT = 200, 400
# A CUDA graph for each of a few sizes is what PyTorch intends.
_FEW = 2
_MOST_DIGITS = 18


class _Item(NamedTuple):
    """A message, with the compile that it is about where that is known."""

    message: CudaGraphMessage
    frame: Frame | None
    compile: Compile | None


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    items: list[_Item] = []
    hints: Counter[str] = Counter()
    has_failed = explained.trace.is_text and _has_failed(explained)
    for text, frame, compile in _texts(explained):
        message = cuda_graph_message(text)
        if has_failed and message and message.event is CudaGraphEvent.OVERWRITTEN and message.place is None:
            continue  # that failure once more
        if message:
            items.append(_Item(message, frame, compile))
        else:
            hints[one_line(text)] += 1
    for key, members in grouped(items, lambda item: (item.frame, item.message.event, item.message.reason)).items():
        if key[1] is not CudaGraphEvent.MANY_SIZES or _sizes(members) > _FEW:
            yield _finding(key[1], members)
    if hints:
        yield _others(hints)


def _others(hints: Counter[str]) -> Table:
    """Messages that no rule is about, with what PyTorch means by those that are known."""
    rows = [(cut(text, _LONGEST_HINT), times, remedy_of_warning(text)) for text, times in hints.most_common()]
    columns = Column("message", is_wide=True), Column("times", True), Column("what to do", is_wide=True, is_sentence=True)
    shown = 3 if any(remedy for *_, remedy in rows) else 2
    return Table("performance_hints", "Other messages of the compiler", columns[:shown], tuple(row[:shown] for row in rows))


def _texts(explained: Explanations) -> Iterator[tuple[str, Frame | None, Compile | None]]:
    """Each message of Inductor. What the metrics state is the message that the log of the same compile has."""
    for rank in explained.trace.ranks:
        for frame in rank.frames:
            for compile in frame.compiles:
                reason, logged = compile.metrics.cudagraph_skip_reason, compile.inductor_messages
                for text in logged if reason in ("", *logged) else (reason, *logged):
                    yield text, frame, compile
        for text in rank.inductor_messages:
            yield text, None, None


def _has_failed(explained: Explanations) -> bool:
    """Whether a compile failed as it read an output that had been overwritten."""
    reasons = (compile.metrics.fail_reason for rank in explained.trace.ranks for frame in rank.frames for compile in frame.compiles)
    found = (cuda_graph_message(reason) for reason in reasons if reason)
    return any(message.event is CudaGraphEvent.OVERWRITTEN for message in found if message)


def _sizes(members: list[_Item]) -> int:
    """For how many sizes CUDA graphs were recorded, as PyTorch counts them, or as far as each recording is in the log."""
    return max(max(item.message.sizes for item in members), len({item.message.key for item in members} - {""}))


def _count_up(members: list[_Item]) -> bool:
    """Whether a CUDA graph was recorded for each of several ints in a row, such as the position of a token."""
    keys = [int(item.message.key) for item in members if item.message.key.isdecimal() and len(item.message.key) <= _MOST_DIGITS]
    return len(keys) >= _FEW and all(after - before == 1 for before, after in pairwise(keys))


def _finding(event: CudaGraphEvent, members: list[_Item]) -> Finding:
    first = members[-1] if event is CudaGraphEvent.MANY_SIZES else members[0]
    message, frame = first.message, first.frame
    who = frame.title if frame and frame.name else message.function or "compiled code"
    place = Location(message.place.file, message.place.line) if message.place else location_of(frame)
    because = f": {cut(one_line(message.reason), _LONGEST)}" if message.reason else ""
    if event is CudaGraphEvent.SKIPPED:
        rule, sentence = _SKIPPED, f"{who} runs without CUDA graphs{because}"
    elif event is CudaGraphEvent.OVERWRITTEN:
        who = f"an output of {message.place.name}" if message.place and message.place.name else "an output of compiled code"
        gradient = " (a gradient)" if message.reason.startswith("gradient") else ""
        rule, sentence = _OVERWRITTEN, f"{who}{gradient} was read after the next run of its CUDA graph had overwritten it"
    elif event is CudaGraphEvent.MOVED:
        rule, sentence = _AGAIN, f"the CUDA graph of {who} could not be run again{because}"
    elif event is CudaGraphEvent.MANY_SIZES:
        rule, sentence = _AGAIN, f"{who} has recorded CUDA graphs for {plural(_sizes(members), 'input size')}"
    else:
        rule, sentence = _AGAIN, f"the CUDA graph of {who} was recorded again {how_often(len(members))}{because}"
    words = message.reason.lower()
    remedy = next((text for found, text in _REMEDIES if any(part in words for part in found)), "")
    if event is CudaGraphEvent.MANY_SIZES and _count_up(members):
        remedy = _COUNTING
    return Finding(
        rule=rule,
        sentence=sentence,
        compile=first.compile.label if first.compile else "",
        place=place,
        frame=frame,
        own_remedy=remedy,
        message=CompilerMessage("", stack=(message.place,)) if message.place else None,
    )
