"""The argument of ``torch.compile`` that declares which dims vary."""

from collections.abc import Iterator

from shapelog.advice.alternatives.alternative import AdviceContext, Alternative, callee, compared_sizes, is_argument
from shapelog.advice.mark_dynamic_code import expression
from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input
from shapelog.rules import any_blocks_marking
from shapelog.text import some

# Dims whose sizes a comment names.
_SEEN = 6


def shapes_spec(context: AdviceContext) -> Iterator[Alternative]:
    """The argument of torch.compile, for one frame that the marks help, and whose marks are all tensors among its own arguments."""
    if not context.version.at_least(13):
        return
    has_decorator = context.version.at_least(14)
    name = "dynamic_shapes" if has_decorator else "shapes_spec"
    left = {compile for item in context.remaining for compile in item.compiles}
    for frame in context.explained.trace.frames:
        first = next(iter(frame.entries), None)
        removed = [cause for item in context.explained.of_frame(frame) if item.compile not in left for cause in item.causes]
        if context.marks.isdisjoint(Mark(cause.source, cause.prop.dim) for cause in removed if cause.prop.kind is Kind.SIZE):
            continue
        varied = _varied(frame)
        if not context.marks.issuperset(varied):  # what compiled code passes on dynamic needs no mark, and would be static here
            continue
        marks = grouped(varied, lambda mark: mark.source)
        mine = [mark for item in first.inputs for mark in marks.get(item.source, ())] if first else []
        if not first or not mine or frame.name.startswith("torch_dynamo_resume") or any(not is_argument(mark.source) for mark in mine):
            continue
        if not compared_sizes([frame]).isdisjoint(mark.place.canonical for mark in mine):
            continue
        if not _of_other_tensors(frame).isdisjoint(mark.source for mark in mine):
            continue
        codes = {code for item in context.explained.of_frame(frame) for code in item.codes}
        if not frame.called_at or frame.is_library or any_blocks_marking(codes) or codes & {"SL102", "SL103", "SL105", "SL107", "SL315"}:
            continue
        marked = {item.source: item for item in reversed(first.inputs) if item.source in marks}
        specs = ", ".join(f'"{expression(name)}": TensorSpec([{_dims(item, marks[name])}])' for name, item in sorted(marked.items()))
        above = [f"# or, in place of the argument, above def {frame.name}: @dynamic_spec({{{specs}}})"] if has_decorator else []
        yield Alternative(
            tool=f"{name}=",
            codes=("SL101",),
            subject=frame.title,
            sentence=(
                "Declares dynamic dimensions at the torch.compile call. Sizes 0 and 1 use the same graph; "
                "an accidental specialization raises an error."
            ),
            lines=(
                f"from torch.fx.experimental.dynamic_spec import ShapeVar, TensorSpec{', dynamic_spec' if has_decorator else ''}",
                f"torch.compile({callee(frame)}, {name}={{{specs}}})",
                *(above if frame.name.isidentifier() else ()),
                f"# seen: {_seen(frame, mine)}",
            ),
            warning=(
                "A branch on such a size causes a graph break (an error with fullgraph=True), and some operators fail in Inductor, such as "
                "a batched matrix product. Dimensions that it does not name are static, even if they are in the list."
            ),
        )
        return


def _varied(frame: Frame) -> list[Mark]:
    """The dims of tensors that a frame was called with several sizes of."""
    sizes: dict[Source, set[tuple[int, ...]]] = {}
    for compile in frame.compiles:
        for item in compile.inputs:
            sizes.setdefault(item.source, set()).add(item.size)
    dims = (Mark(source, dim) for source in sorted(sizes) for dim in range(max(map(len, sizes[source]))))
    return [mark for mark in dims if len({size[mark.dim] for size in sizes[mark.source] if mark.dim < len(size)}) > 1]


def _of_other_tensors(frame: Frame) -> set[str]:
    """The inputs that are DTensors or other subclasses, by tensors such as ``_local_tensor``: PyTorch refuses to declare their shape."""
    parts = (symbol.source.tensor_part for compile in frame.compiles for symbol in compile.symbols)
    inner = {part.tensor.canonical for part in parts if part is not None}
    return {tensor.rpartition(".")[0] for tensor in inner if not tensor.endswith("._base")}


def _dims(item: Input, marks: list[Mark]) -> str:
    marked = {mark.dim for mark in marks}
    return ", ".join(f'ShapeVar("{expression(item.source)}_{dim}")' if dim in marked else "None" for dim in range(len(item.size)))


def _seen(frame: Frame, marks: list[Mark]) -> str:
    """The sizes of the marked dims in all compiles of a frame: ``x.shape[0] 4 to 7``."""
    found = []
    inputs = grouped((item for compile in frame.compiles for item in compile.inputs), lambda item: item.source)
    for mark in sorted(set(marks)):
        sizes = {item.size[mark.dim] for item in inputs[mark.source] if mark.dim < len(item.size)}
        if sizes:
            span = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else str(min(sizes))
            found.append(f"{expression(mark.source)}.shape[{mark.dim}] {span}")
    return some(found, _SEEN)
