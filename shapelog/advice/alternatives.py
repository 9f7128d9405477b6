"""The alternatives to the list of sources that this version of PyTorch has for what varies, and what each costs."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from shapelog.advice.mark_dynamic_code import expression
from shapelog.advice.marks import Mark, entries, mark_at, pattern
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.replay import Marks
from shapelog.display import in_notebook
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.model.vllm import ranges_setting
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict, any_blocks_marking
from shapelog.text import MOST_NAMED, some

# A list by source with at least this many entries is a burden.
_LONG_LIST = 12
_DEFAULT_LIMIT = 8
# Dims whose sizes a comment names.
_SEEN = 6
# What the stance compares in two calls: arguments, and what dicts among them hold.
_IN_ARGUMENTS = re.compile(r"^L\['\w+'\](?:\['[^']*'\])*$")


class Alternative(NamedTuple):
    """Another tool for a problem of this run: its name in PyTorch, what it is for, lines to paste, and a caveat.

    ``codes`` are the rules that it answers to.
    """

    tool: str
    codes: tuple[str, ...]
    subject: str
    sentence: str
    lines: tuple[str, ...]
    warning: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)


class AdviceContext(NamedTuple):
    explained: Explanations
    marks: Marks
    remaining: tuple[Remaining, ...]
    version: TorchVersion

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(mark.source for mark in self.marks)

    @property
    def causes(self) -> Iterator[tuple[Recompile, Cause]]:
        return ((item, cause) for item in self.explained.recompiles for cause in item.causes)

    def with_code(self, code: str) -> list[tuple[Recompile, Cause]]:
        return [(item, cause) for item, cause in self.causes if code in cause.codes]


def alternatives(explained: Explanations, marks: Marks, remaining: tuple[Remaining, ...], version: TorchVersion) -> tuple[Alternative, ...]:
    """What else this torch version offers for this trace, one of a kind."""
    context = AdviceContext(explained, marks, remaining, version)
    return tuple(found for find in _ALTERNATIVES for found in find(context))


def _unbacked(context: AdviceContext) -> Iterator[Alternative]:
    """Sizes 0 and 1 share a graph with the others only where the size is unbacked."""
    found: dict[Mark, Frame] = {}
    for item, cause in context.with_code("SL104"):
        part = cause.source.tensor_part
        if cause.prop.kind is Kind.SIZE:
            found.setdefault(Mark(cause.source, cause.prop.dim), item.frame)
        elif part is not None and part.is_size:
            found.setdefault(Mark(part.tensor, part.dim), item.frame)
    found = {mark: frame for mark, frame in found.items() if not mark.source.is_registered}
    if not found or not context.version.at_least(6):
        return
    lines = [
        f"torch._dynamo.decorators.mark_unbacked({expression(mark.source)}, {mark.dim})"
        for mark in sorted(found)
        if mark.source == mark.source.unwrapped  # a NumPy array takes no mark
    ]
    if context.version.reads_sources:
        spelled = ",".join(entries(found, context.version))
        lines = [f"torch.compiler.config.unbacked_sources = {spelled!r}  # or TORCH_COMPILE_UNBACKED_SOURCES", *lines]
        lines.append(
            "torch.fx.experimental._config.backed_size_oblivious = True  # or, globally: every size that is dynamic from the start"
        )
    if not lines:
        return
    yield Alternative(
        tool="unbacked source",
        codes=("SL104",),
        subject=some([f"{mark.source.display_name}.size[{mark.dim}]" for mark in sorted(found)]),
        sentence="An unbacked size is never specialized on 0 or 1, so one graph handles these calls too.",
        lines=tuple(lines),
        warning=(
            "A branch on the size, or code that requires it to equal another size, causes a graph break or an error. "
            "Under Inductor, squeeze() keeps a dimension of size 1."
        ),
    )


def _conflicts(context: AdviceContext) -> Iterator[Alternative]:
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
        subject=f"{mark.source.display_name}.size[{mark.dim}] in {frame.title_of([compile])}",
        sentence=f"SL203 marked-dynamic-conflict: {compile.reference} failed because the code specializes the marked size to {value}."
        + (f" Static sizes of {value} in other inputs may be the reason: mark those as well." if partners else ""),
        lines=tuple(lines),
        warning="maybe_mark_dynamic does not raise an error; each specialized size is compiled separately.",
    )


def _stance(context: AdviceContext) -> Iterator[Alternative]:
    """The first call of a frame compiles statically, and the second one dynamically."""
    firsts = [
        item.frame.title_of([item.compile])
        for item in context.explained.recompiles
        if item.compile.outcome is Outcome.COMPILED
        and item.verdict is Verdict.MARKING
        and item.compile.is_dynamic
        and item.nearest is not None
        and not item.nearest.is_dynamic
        and item.nearest is next(iter(item.frame.entries), None)
        and item.size_related
        and all(_IN_ARGUMENTS.match(mark_at(cause.source).source) for cause in item.causes if cause.size_related)
    ]
    if firsts and context.version.at_least(8):
        yield Alternative(
            tool="set_stance",
            codes=("SL101", "SL102"),
            subject=", ".join(list(dict.fromkeys(firsts))[:4]),
            sentence=("Runs the first call in eager mode and compiles on the second, so sizes that differ are dynamic in the first graph."),
            lines=('torch.compiler.set_stance("eager_then_compile")',),
            warning=(
                "Dimensions that are equal in the first two calls stay static. "
                "If the number of dimensions differs between them, PyTorch raises an error."
            ),
        )


def _duck(context: AdviceContext) -> Iterator[Alternative]:
    pairs = [cause.axis for _, cause in context.with_code("SL103")]
    if pairs and context.version.at_least(6):
        yield Alternative(
            tool="use_duck_shape",
            codes=("SL103",),
            subject=some(list(dict.fromkeys(pairs)), between="; "),
            sentence="Gives every dimension its own symbol, even where sizes are equal.",
            lines=("torch.fx.experimental._config.use_duck_shape = False",),
            warning="Applies to all frames; code that relies on equal sizes gets more guards.",
        )


def _parameters(context: AdviceContext) -> Iterator[Alternative]:
    named = (f"{cause.source.display_name} in {item.frame.title_of([item.compile])}" for item, cause in context.with_code("SL106"))
    found = list(dict.fromkeys(named))
    if not found:
        return
    yield Alternative(
        tool="force_parameter_static_shapes",
        codes=("SL106",),
        subject=", ".join(found[:4]),
        sentence="Lets parameters become dynamic automatically from the second width on; needs one more compilation than the list.",
        lines=(
            "torch._dynamo.config.force_parameter_static_shapes = False",
            "torch._dynamo.config.force_nn_module_property_static_shapes = False  # also needed for torch.nn modules such as Linear",
        ),
        warning="Applies to all parameters of the program; kernels for dynamic weights may be slower.",
    )
    if context.version.at_least(13):
        yield Alternative(
            tool="isolate_recompiles",
            codes=("SL106",),
            subject=", ".join(found[:4]),
            sentence="Keeps one static graph per compiled instance, each with its own recompile limit.",
            lines=("torch.compile(module, isolate_recompiles=True)",),
            warning="Does not save any compilations.",
        )


def _module_ints(context: AdviceContext) -> Iterator[Alternative]:
    found = [cause.source.display_name for _, cause in context.with_code("SL315")]
    if found and context.version.at_least(8):
        yield Alternative(
            tool="allow_unspec_int_on_nn_module",
            codes=("SL315",),
            subject=some(list(dict.fromkeys(found))),
            sentence="Treats int attributes of modules like other ints: dynamic from the second value on.",
            lines=("torch._dynamo.config.allow_unspec_int_on_nn_module = True",),
            warning="Applies to all modules; code that formats such an int into a string loses its graph.",
        )


def _profile(context: AdviceContext) -> Iterator[Alternative]:
    """What PyTorch's own profile would remember for the next run of the same job; also of floats, which no list makes dynamic."""
    if not context.version.at_least(8) or context.explained.trace.code_states:
        return
    floats: dict[str, None] = {}
    for item in context.explained.recompiles:
        varied = [cause.source for cause in item.causes if "SL312" in cause.codes]
        if varied:
            pinned = {source.unwrapped for source in _specialized(item.compile)}
            symbolic = {symbol.source.unwrapped for symbol in item.compile.symbols} - pinned
            floats |= {source.display_name: None for source in varied if source in symbolic}
    kept = {"SL106", "SL315"}  # what is static by default is not profiled
    sources = context.sources
    remembered = [cause for item, cause in context.causes if kept.isdisjoint(cause.codes) and item.frame.makes_dynamic is not False]
    found = [mark_at(cause.source).source for cause in remembered] if sources else []
    marked = [source.display_name for source in dict.fromkeys(found) if source in sources]
    subject = [*floats, *dict.fromkeys(marked)]
    if subject:
        yield Alternative(
            tool="PGO",
            codes=("SL312", "SL101", "SL102") if floats else ("SL101", "SL102"),
            subject=some(subject),
            sentence=f"Remembers what became dynamic{', including floats,' if floats else ''} for the next run of the same job.",
            lines=("TORCH_COMPILE_JOB_ID=my_job python ...  # not 0 or 1: torch 2.8 to 2.15 parse these as booleans and fail",),
            warning="The first run does not change."
            + (" Frames with closures are not recognized in another process." if context.version.at_least(13) else ""),
        )


def _needless(context: AdviceContext) -> Iterator[Alternative]:
    """What was made dynamic and pinned again in every dynamic graph (SL108): static from the start saves that work."""
    if not context.version.at_least(15):
        return
    found: dict[Source, None] = {}
    for frame in context.explained.trace.frames:
        pinned: dict[Source, list[bool]] = {}  # in each graph where it is symbolic
        for compile in frame.entries:
            specialized = _specialized(compile)
            for source in {symbol.source: None for symbol in compile.symbols if symbol.source}:
                pinned.setdefault(source, []).append(source in specialized)
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


def _specialized(compile: Compile) -> set[Source]:
    return {source for item in compile.specializations for source in item.sources}


def _collectives(context: AdviceContext) -> Iterator[Alternative]:
    ranks = context.explained.trace.ranks
    if len({rank.number for rank in ranks}) < 2 or not context.version.at_least(6):
        return
    marks = {(mark.source, VALUE if mark.is_int else size(mark.dim)): mark for mark in context.marks}
    seen: dict[Mark, dict[int | None, set[str]]] = {mark: {} for mark in sorted(context.marks)}
    for rank in ranks:
        for facts in (context.explained.facts.of(compile).facts for frame in rank.frames for compile in frame.compiles):
            for key in marks.keys() & facts.keys():
                seen[marks[key]].setdefault(rank.number, set()).add(str(facts[key]))
    differing = {mark.source.display_name: None for mark, values in seen.items() if len(set(map(frozenset, values.values()))) > 1}
    if differing:
        yield Alternative(
            tool="compiler collectives",
            codes=("SL702",),
            subject=some(list(differing)),
            sentence="The ranks saw different sizes and compile at different calls. With collectives they agree on what is dynamic.",
            lines=("torch._dynamo.config.enable_compiler_collectives = True  # or TORCH_COMPILER_COLLECTIVES=1",),
            warning="Every rank must compile the same frames in the same order, or the job hangs. Fails without an accelerator.",
        )


def _values_list(context: AdviceContext) -> Iterator[Alternative]:
    """Many sources that all held one distinctive number at first."""
    dims = [mark for mark in context.marks if not mark.is_int]
    if len(dims) < _LONG_LIST or not context.version.at_least(13):
        return
    yield Alternative(
        tool="dynamic_values",
        codes=("SL101",),
        subject=f"{len(context.marks)} marks",
        sentence=(
            "Instead of a long list, warm up with a size that the model accepts and that occurs nowhere else, and name that number: "
            "everything equal to it is dynamic."
        ),
        lines=('torch.compiler.config.dynamic_values = "1111"  # or TORCH_COMPILE_DYNAMIC_VALUES; and make the first call with this size',),
        warning="Matches by value alone, so pick an unlikely number. Parameters stay static.",
    )


def _shapes_spec(context: AdviceContext) -> Iterator[Alternative]:
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
        marks = grouped(_varied(frame, context.marks), lambda mark: mark.source)
        mine = [mark for item in first.inputs for mark in marks.get(item.source, ())] if first else []
        if not first or not mine or frame.name.startswith("torch_dynamo_resume") or any(not _is_argument(mark.source) for mark in mine):
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
                f"torch.compile({_callee(frame)}, {name}={{{specs}}})",
                *(above if frame.name.isidentifier() else ()),
                f"# seen: {_seen(frame, mine)}",
            ),
            warning=(
                "A branch on such a size causes a graph break (an error with fullgraph=True). "
                "Dimensions that it does not name are static, even if they are in the list."
            ),
        )
        return


def _varied(frame: Frame, marks: Marks) -> list[Mark]:
    """The dims that a frame was called with several sizes of."""
    sizes: dict[str, set[tuple[int, ...]]] = {}
    for compile in frame.compiles:
        for item in compile.inputs:
            sizes.setdefault(item.source, set()).add(item.size)
    dims = (mark for mark in sorted(marks) if not mark.is_int)
    return [mark for mark in dims if len({size[mark.dim] for size in sizes.get(mark.source, ()) if mark.dim < len(size)}) > 1]


def _weak_marks(context: AdviceContext) -> Iterator[Alternative]:
    """Marks that are not enforced, with the range of the sizes that were seen."""
    if not context.version.at_least(15):
        return
    compiles = list(context.explained.trace.compiles)
    spans = {mark: _span(compiles, mark) for mark in sorted(context.marks) if not mark.is_int and _is_argument(mark.source)}
    found = {mark: sizes for mark, sizes in spans.items() if sizes[1:]}
    if not found:
        return
    yield Alternative(
        tool="maybe_mark_dynamic with a range",
        codes=("SL101",),
        subject=some([f"{mark.source.display_name}.size[{mark.dim}]" for mark in found]),
        sentence=(
            "A mark that is not enforced: a size that the code needs to be constant is compiled as such, without an error. "
            "Comparisons that the range decides add no guards."
        ),
        lines=tuple(
            f"torch._dynamo.maybe_mark_dynamic({expression(mark.source)}, {mark.dim}, min={sizes[0]}, max={sizes[-1]})"
            for mark, sizes in list(found.items())[:MOST_NAMED]
        ),
        warning="These are the sizes seen: a call with another one raises ConstraintViolationError. Widen the range to all that can occur.",
    )


def _span(compiles: Sequence[Compile], mark: Mark) -> list[int]:
    """The sizes of a dim in all compiles, in order; without 0 and 1, which have graphs of their own."""
    inputs = [item for compile in compiles for item in compile.inputs if item.source == mark.source and mark.dim < len(item.size)]
    return sorted({item.size[mark.dim] for item in inputs if item.size[mark.dim] > 1})


def _vllm(context: AdviceContext) -> Iterator[Alternative]:
    """In vLLM a decorator on the model declares which dims vary."""
    if not context.explained.trace.vllm:
        return
    dims = grouped(sorted(mark for mark in context.marks if not mark.is_int and _is_argument(mark.source)), lambda mark: mark.source)
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


def _callee(frame: Frame) -> str:
    """What to call the code in a line to paste: it may be a lambda, or the method of a model that is compiled as a whole."""
    if "." in frame.title:
        return "model"
    return frame.name if frame.name.isidentifier() else "fn"


def _is_argument(source: str) -> bool:
    return source.startswith("L['") and source.count("[") == 1 and source.endswith("']")


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


def _limit(context: AdviceContext) -> Iterator[Alternative]:
    """Frames that need more graphs than the limit allows, marks or not."""
    config = integer(str(context.explained.trace.config.recompile_limit or "")) or _DEFAULT_LIMIT
    left = {compile: item for item in context.remaining for compile in item.compiles}
    for frame in context.explained.trace.frames:
        stay = [left[compile] for compile in frame.compiles if compile in left]
        if any(item.verdict in (Verdict.CODE, Verdict.UNEXPLAINED) or item.rule.verdict is Verdict.CODE for item in stay):
            continue  # what is made anew for each call fills any limit
        kept = 1 + len(stay)
        if not stay or kept <= config:
            continue
        needed = 2 * kept
        spelled = (
            f"torch.compile({_callee(frame)}, recompile_limit={needed})"
            if context.version.at_least(13)
            else f"torch._dynamo.config.{'recompile_limit' if context.version.at_least(8) else 'cache_size_limit'} = {needed}"
        )
        yield Alternative(
            tool="recompile_limit",
            codes=("SL401",),
            subject=frame.title,
            sentence=f"At least {kept} graphs are needed after marking, and the limit is {config}; beyond it the code runs in eager mode.",
            lines=(spelled,),
            warning="This does not remove the cause: each new value still costs a compilation.",
        )


def _dynamic_true(context: AdviceContext) -> Iterator[Alternative]:
    """Before torch 2.7 nothing else makes ints dynamic at the first compile."""
    ints = [cause.source.display_name for _, cause in context.with_code("SL102")]
    if ints and not context.version.reads_sources:
        yield Alternative(
            tool="dynamic=True",
            codes=("SL102",),
            subject=some(list(dict.fromkeys(ints))),
            sentence="Makes every size and int dynamic from the first compilation on; in this version no list can do that for an int.",
            lines=("torch.compile(fn, dynamic=True)",),
            warning=(
                "Also affects sizes that never change: kernels are slower, equal sizes share a symbol, "
                "and code that formats a size or branches on it may break."
            ),
        )


_ALTERNATIVES: tuple[Callable[[AdviceContext], Iterator[Alternative]], ...] = (
    _conflicts,
    _unbacked,
    _duck,
    _stance,
    _parameters,
    _module_ints,
    _profile,
    _collectives,
    _limit,
    _needless,
    _vllm,
    _shapes_spec,
    _weak_marks,
    _values_list,
    _dynamic_true,
)
