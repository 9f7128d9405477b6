"""Other ways to mark what varies."""

from collections.abc import Container, Iterator, Sequence
from itertools import count

from shapelog.advice.alternatives.alternative import AdviceContext, Alternative, compared_sizes, is_argument, specialized
from shapelog.advice.dynamism.equal_sizes import equal_sizes
from shapelog.advice.mark_dynamic_code import expression
from shapelog.advice.marks import Mark, entries, pattern
from shapelog.advice.remedies import marks_act_on, takes_another_path
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.vllm import ranges_setting
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.recompile import Recompile
from shapelog.text import MOST_NAMED, some

# A list by source with at least this many entries is a burden.
_LONG_LIST = 12
# A small odd number, as few sizes are.
_UNUSUAL = 29


def unbacked_sources(context: AdviceContext) -> Iterator[Alternative]:
    """Sizes 0 and 1 share a graph with the others only where the size is unbacked."""
    found: dict[Mark, Frame] = {}
    for item, cause in context.with_code("SL104"):
        if takes_another_path(item) or not _only_sizes_differ(item):  # a branch on an unbacked size fails
            continue
        part = cause.source.tensor_part
        if cause.prop.kind is Kind.SIZE:
            found.setdefault(Mark(cause.source, cause.prop.dim), item.frame)
        elif part is not None and part.is_size:
            found.setdefault(Mark(part.tensor, part.dim), item.frame)
    found |= {mark: item.frame for item, _ in context.with_code("SL104") for mark in _equal_to(item, found)}
    found = {mark: frame for mark, frame in found.items() if not mark.source.is_registered}
    # The setting is for all code with an input of that name.
    compared = compared_sizes(context.explained.trace.frames)
    comparing = {frame for mark, frame in found.items() if mark.place.canonical in compared}
    found = {mark: frame for mark, frame in found.items() if frame not in comparing}
    if not found or not context.version.at_least(6):
        return
    lines = [
        f"torch._dynamo.decorators.mark_unbacked({expression(mark.source)}, {mark.dim})"
        for mark in sorted(found)
        if mark.source == mark.source.unwrapped and not mark.source.is_unnamed  # a NumPy array takes no mark
    ]
    if context.version.reads_sources:
        spelled = ",".join(entries(found, context.version))
        lines = [f"torch.compiler.config.unbacked_sources = {spelled!r}  # or TORCH_COMPILE_UNBACKED_SOURCES", *lines]
    if not lines:
        return
    yield Alternative(
        tool="unbacked source",
        codes=("SL104",),
        subject=some([mark.name for mark in sorted(found)]),
        sentence="An unbacked size is never specialized on 0 or 1, so one graph may handle these calls too.",
        lines=tuple(lines),
        warning=(
            "A branch on the size, or code that requires it to equal another size, causes a graph break or an error, and some operators "
            "fail in Inductor, such as a batched matrix product. Under Inductor, squeeze() keeps a dimension of size 1."
        ),
    )


def _equal_to(item: Recompile, marks: Container[Mark]) -> Iterator[Mark]:
    """Further sizes that the code needs equal to one of these, which a backed one would fix."""
    for compile in (item.nearest, item.compile):
        equal = equal_sizes(compile, by_code=True) if compile else {}
        yield from (other for mark, others in equal.items() if mark in marks for other in sorted(others))


def _only_sizes_differ(item: Recompile) -> bool:
    """Whether a graph of another size would do: nothing changed but sizes of 0 or 1 and what a mark removes."""
    return all("SL104" in cause.codes or marks_act_on(cause) for cause in item.causes)


def conflicts(context: AdviceContext) -> Iterator[Alternative]:
    """A mark that the code contradicts (SL203): it failed, because the marked size was pinned, often by a static one tied to it."""
    for frame in context.explained.trace.frames:
        for compile in frame.compiles:
            if compile.outcome is not Outcome.FAILED or "Constraint" not in compile.metrics.fail_type:
                continue
            pinned = [(item, part) for item in compile.specializations for source in item.sources if (part := source.tensor_part)]
            for item, part in pinned:
                yield _conflict(context, frame, compile, Mark(part.tensor, part.dim), item.value)
            break


def _conflict(context: AdviceContext, frame: Frame, compile: Compile, mark: Mark, value: str) -> Alternative:
    marked = {(item.source, dim) for item in compile.inputs for dim in item.marked_dynamic}
    partners = [
        Mark(item.source, dim)
        for item in compile.inputs
        for dim, size in enumerate(item.size)
        if str(size) == value and (item.source, dim) not in marked and item.source != mark.source
    ]
    lines = [f"torch._dynamo.maybe_mark_dynamic({expression(mark.source)}, {mark.dim})  # instead of mark_dynamic"]
    if partners:
        lines += [
            f"torch._dynamo.mark_dynamic({expression(item.source)}, {item.dim})  # if the two sizes have to be equal"
            for item in partners[:3]
        ]
    return Alternative(
        tool="maybe_mark_dynamic",
        codes=("SL203",),
        subject=f"{mark.name} in {frame.title_of([compile])}",
        sentence=f"SL203 marked-dynamic-conflict: {compile.reference} failed because the code specializes the marked size to {value}."
        + (f" Static sizes of {value} in other inputs may be the reason: mark those as well." if partners else ""),
        lines=tuple(lines),
        warning="maybe_mark_dynamic does not raise an error; each specialized size is compiled separately.",
    )


def marks_with_a_range(context: AdviceContext) -> Iterator[Alternative]:
    """Marks that are not enforced, with the range of the sizes that were seen."""
    if not context.version.at_least(15):
        return
    compiles = list(context.explained.trace.compiles)
    spans = {mark: _span(compiles, mark) for mark in sorted(context.marks) if not mark.is_int and is_argument(mark.source)}
    found = {mark: sizes for mark, sizes in spans.items() if sizes[1:]}
    if not found:
        return
    yield Alternative(
        tool="maybe_mark_dynamic with a range",
        codes=("SL101",),
        subject=some([mark.name for mark in found]),
        sentence=(
            "A mark that is not enforced: if the code needs the size to be constant, no error is raised. "
            "Comparisons that the range decides add no guards."
        ),
        lines=tuple(
            f"torch._dynamo.maybe_mark_dynamic({expression(mark.source)}, {mark.dim}, min={sizes[0]}, max={sizes[-1]})"
            for mark, sizes in list(found.items())[:MOST_NAMED]
        ),
        warning="A size outside of the range raises ConstraintViolationError: set min and max to all that can occur, not to what was seen.",
    )


def _span(compiles: Sequence[Compile], mark: Mark) -> list[int]:
    """The sizes of a dim in all compiles, in order; none where 0 or 1 is one of them, which have graphs of their own."""
    inputs = [item for compile in compiles for item in compile.inputs if item.source == mark.source and mark.dim < len(item.size)]
    sizes = sorted({item.size[mark.dim] for item in inputs})
    return sizes if sizes and sizes[0] > 1 else []


def dynamic_values(context: AdviceContext) -> Iterator[Alternative]:
    """Many dims that all have one size in the first graph that each is in, so that another number may take its place in all of them."""
    dims = [mark for mark in context.marks if not mark.is_int]
    if len(dims) < _LONG_LIST or not context.version.at_least(13):
        return
    compiles = list(context.explained.trace.compiles)
    if len({_first_size(compiles, mark) for mark in dims}) > 1:
        return
    seen = {size for compile in compiles for tensor in compile.inputs for size in tensor.size}
    number = next(number for number in count(_UNUSUAL, 2) if number not in seen)
    yield Alternative(
        tool="dynamic_values",
        codes=("SL101",),
        subject=f"{len(context.marks)} marks",
        sentence=(
            "Instead of a long list, warm up with a size that the model accepts and that occurs nowhere else, and name that number: "
            "everything equal to it is dynamic."
        ),
        lines=(
            f'torch.compiler.config.dynamic_values = "{number}"  # or TORCH_COMPILE_DYNAMIC_VALUES; and make the first call with this size',
        ),
        warning=(
            "Matches by value alone, so pick an unlikely number. Parameters stay static, and so do sizes that are computed from it, "
            "unless each of these numbers is named as well."
        ),
    )


def _first_size(compiles: Sequence[Compile], mark: Mark) -> int | None:
    """The size of a dim in the first compile that has it."""
    inputs = (item for compile in compiles for item in compile.inputs if item.source == mark.source and mark.dim < len(item.size))
    return next((item.size[mark.dim] for item in inputs), None)


def static_sources(context: AdviceContext) -> Iterator[Alternative]:
    """What was made dynamic and pinned again in every dynamic graph (SL108): static from the start saves that work."""
    if not context.version.at_least(15):
        return
    found: dict[Source, None] = {}
    for frame in context.explained.trace.frames:
        pinned: dict[Source, list[bool]] = {}  # in each graph where it is symbolic
        for compile in frame.entries:
            exact = specialized(compile)
            for source in {symbol.source: None for symbol in compile.symbols if symbol.source}:
                pinned.setdefault(source, []).append(source in exact)
        found |= {source: None for source, each in pinned.items() if len(each) > 1 and all(each)}
    if not found:
        return
    bases = list(dict.fromkeys(part.tensor if (part := source.tensor_part) else source.unwrapped for source in found))
    yield Alternative(
        tool="static source",
        codes=("SL108",),
        subject=some([source.display_name for source in found]),
        sentence="Became dynamic, but every graph specialized it to one value again; keeping it static from the start saves that work.",
        lines=(f"torch.compiler.config.static_sources = {','.join(map(pattern, bases))!r}  # or TORCH_COMPILE_STATIC_SOURCES",),
        warning="The other dimensions of a listed tensor become static too.",
    )


def dynamic_arg_dims(context: AdviceContext) -> Iterator[Alternative]:
    """In vLLM a decorator on the model declares which dims vary."""
    if not context.explained.trace.vllm:
        return
    dims = grouped(sorted(mark for mark in context.marks if not mark.is_int and is_argument(mark.source)), lambda mark: mark.source)
    if not dims:
        return
    ranges = ranges_setting(context.explained.trace.vllm)
    named = {expression(source): sorted({mark.dim for mark in marks}) for source, marks in dims.items()}
    shown = ", ".join(f'"{name}": {found[0] if len(found) == 1 else found}' for name, found in named.items())
    yield Alternative(
        tool="dynamic_arg_dims",
        codes=("SL101",),
        subject="models of vLLM",
        sentence="vLLM marks the arguments of a model itself, by the decorator of its class.",
        lines=("from vllm.compilation.decorators import support_torch_compile", f"@support_torch_compile(dynamic_arg_dims={{{shown}}})"),
        warning=(
            "Argument names are those of forward. With dynamic_arg_dims only the dims that it names are dynamic; without it, dim 0 of each "
            f"argument that is annotated as a tensor. A range of sizes gets graphs of its own with {ranges}."
        ),
    )
