"""Settings that make dynamic what varies, raise the limit, or let ranks and later runs know of it."""

import re
from collections.abc import Iterator

from shapelog.advice.alternatives.alternative import AdviceContext, Alternative, callee, specialized
from shapelog.advice.marks import Mark, mark_at
from shapelog.model.compile import Compile, Outcome
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.records import DEFAULT_LIMIT
from shapelog.rules import Verdict, any_blocks_marking
from shapelog.text import some

# What the stance compares in two calls: arguments, and what dicts among them hold.
_IN_ARGUMENTS = re.compile(r"^L\['\w+'\](?:\['[^']*'\])*$")


def eager_first(context: AdviceContext) -> Iterator[Alternative]:
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
                "Dimensions that are equal in the first two calls stay static, and a function that runs twice within the first call is "
                "compiled there by itself. If the number of dimensions differs between them, PyTorch raises an error."
            ),
        )


def symbols_for_equal_sizes(context: AdviceContext) -> Iterator[Alternative]:
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


def parameters(context: AdviceContext) -> Iterator[Alternative]:
    found = context.with_code("SL106")
    markable = _of_marks_alone(context)
    named = (f"{cause.source.display_name} in {item.frame.title_of([item.compile])}" for item, cause in found if item.compile in markable)
    free = list(dict.fromkeys(named))
    if free:
        yield Alternative(
            tool="force_parameter_static_shapes",
            codes=("SL106",),
            subject=", ".join(free[:4]),
            sentence="Lets parameters become dynamic automatically from the second width on; needs one more compilation than the list.",
            lines=(
                "torch._dynamo.config.force_parameter_static_shapes = False",
                "torch._dynamo.config.force_nn_module_property_static_shapes = False  # also needed for torch.nn modules such as Linear",
            ),
            warning="Applies to all parameters of the program; kernels for dynamic weights may be slower.",
        )
    of_instances = [item for item, cause in found if cause.source.startswith("L['self']")]  # else the function takes them as arguments
    if of_instances and context.version.at_least(13):
        yield Alternative(
            tool="isolate_recompiles",
            codes=("SL106",),
            subject=some(list(dict.fromkeys(item.frame.title_of([item.compile]) for item in of_instances))),
            sentence="Keeps the graphs of each compiled instance apart, each with its own recompile limit.",
            lines=("torch.compile(module, isolate_recompiles=True)",),
            warning="Does not save any compilations; it keeps one instance from filling the cache of another.",
        )


def _of_marks_alone(context: AdviceContext) -> frozenset[Compile]:
    """The recompiles of which nothing but what can be marked differs from the nearest entry."""
    return frozenset(item.compile for item in context.explained.recompiles if all(cause.rule.markable for cause in item.causes))


def _names_of_free(context: AdviceContext, code: str) -> list[str]:
    """The ints that varied under a rule, without those of which the code needs the exact value, or beside which other things changed."""
    markable = _of_marks_alone(context)
    named = [(item, cause) for item, cause in context.with_code(code) if item.compile in markable]
    return [cause.source.display_name for item, cause in named if not any_blocks_marking(filter(None, (*cause.codes, item.blocking_rule)))]


def module_ints(context: AdviceContext) -> Iterator[Alternative]:
    """An int whose exact value the code needs stays static in any case."""
    found = _names_of_free(context, "SL315")
    if found and context.version.at_least(8):
        yield Alternative(
            tool="allow_unspec_int_on_nn_module",
            codes=("SL315",),
            subject=some(list(dict.fromkeys(found))),
            sentence="Treats int attributes of modules like other ints: dynamic from the second value on.",
            lines=("torch._dynamo.config.allow_unspec_int_on_nn_module = True",),
            warning="Applies to all modules; code that formats such an int into a string loses its graph.",
        )


def profile(context: AdviceContext) -> Iterator[Alternative]:
    """What PyTorch's own profile would remember for the next run of the same job; also of floats, which no list makes dynamic."""
    if not context.version.at_least(8) or context.explained.trace.code_states:
        return
    floats: dict[str, None] = {}
    # PyTorch needed the value of something that is computed from these.
    computed = {cause.source for _, cause in context.with_code("SL312") if cause.prop.kind is Kind.SHAPE_GUARD}
    for item in context.explained.recompiles:
        varied = [cause.source for cause in item.causes if "SL312" in cause.codes and cause.source not in computed]
        if varied:
            pinned = {source.unwrapped for source in specialized(item.compile)}
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


def collectives(context: AdviceContext) -> Iterator[Alternative]:
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


def recompile_limit(context: AdviceContext) -> Iterator[Alternative]:
    """Frames that need more graphs than the limit allows, marks or not. A text has a step about each limit that it names."""
    if context.explained.trace.is_text:
        return
    config = integer(str(context.explained.trace.config.recompile_limit or "")) or DEFAULT_LIMIT
    left = {compile: item for item in context.remaining for compile in item.compiles}
    for frame in context.explained.trace.frames:
        stay = [left[compile] for compile in frame.compiles if compile in left]
        if any(item.verdict in (Verdict.CODE, Verdict.UNEXPLAINED) or item.rule.verdict is Verdict.CODE for item in stay):
            continue  # what is made anew for each call fills any limit
        kept = 1 + len(stay)
        if not stay or kept <= config:
            continue
        needed = config
        while needed <= kept:
            needed *= 2
        spelled = (
            f"torch.compile({callee(frame)}, recompile_limit={needed})"
            if context.version.at_least(13)
            else f"{context.version.limit_setting()} = {needed}"
        )
        yield Alternative(
            tool="recompile_limit",
            codes=("SL401",),
            subject=frame.title,
            sentence=f"At least {kept} graphs are needed after marking, and the limit is {config}; beyond it the code runs in eager mode.",
            lines=(spelled,),
            warning="This does not remove the cause: each new value still costs a compilation.",
        )


def dynamic_true(context: AdviceContext) -> Iterator[Alternative]:
    """Before torch 2.7 nothing else makes ints dynamic at the first compile."""
    ints = _names_of_free(context, "SL102")
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
