"""Explained recompiles → the summary of each rank of a distributed job."""

import hashlib
import re
from collections.abc import Iterator

from shapelog.model.code_matching import Code, codes_of, file_of
from shapelog.model.compile import Compile
from shapelog.model.rank_summary import Change, CodeName, Executed, RankSummary, Spent, Step, Tensor
from shapelog.model.trace import Rank, Trace
from shapelog.reading.payloads import collectives
from shapelog.reading.payloads.collectives import SCHEDULE, TENSORS, Parity
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Span
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.text import without_addresses

# Later executions of graphs are only in the digest.
_MAX_EXECUTIONS = 1000
# The schedules of a rank that are compared with the generated code; the collectives in the summary of a compile.
_MAX_CHECKED, _MAX_COLLECTIVES = 256, 10_000
_CODE_RECORD = b'] {"inductor_output_code": '
_RECORD_END = re.compile(rb"\n(?!\t)")
# Bytes before a collective schedule in which its code is searched.
_MAX_DISTANCE = 64 << 20


def summaries(explanations: Explanations, min_ranks: int = 2) -> tuple[RankSummary, ...]:
    """One for each rank that is read in full, in order of their numbers; none for processes without a rank, or for fewer than
    ``min_ranks``.

    Of several processes under one rank (forked children write so) the one with the most compiles is summarized, and all are counted.
    """
    grouped: dict[int, list[Rank]] = {}
    for rank in explanations.trace.ranks:
        if rank.number is not None and rank.number >= 0:
            grouped.setdefault(rank.number, []).append(rank)
    if len(grouped) < min_ranks:
        return ()
    recompiles = {item.compile: item for item in explanations.recompiles}
    shared: dict[Step, Step] = {}
    found = []
    for _, processes in sorted(grouped.items()):
        most = max(processes, key=lambda rank: sum(len(frame.compiles) for frame in rank.frames))
        found.append(_summary(most, len(processes), explanations.trace, recompiles, shared))
    return tuple(found)


def all_ranks(explanations: Explanations) -> tuple[RankSummary, ...]:
    """Every rank of a job, including those of which there is only a summary; none if there are fewer than two."""
    others = [rank for item in explanations.trace.summarized for rank in item.ranks]
    found: dict[int, RankSummary] = {}
    for rank in (*summaries(explanations, 1 if others else 2), *others):
        known = found.get(rank.number)
        most = rank if known is None or len(rank.steps) > len(known.steps) else known
        found[rank.number] = most if known is None else most._replace(processes=rank.processes + known.processes)
    return tuple(rank for _, rank in sorted(found.items())) if len(found) > 1 else ()


def _summary(rank: Rank, processes: int, trace: Trace, recompiles: dict[Compile, Recompile], shared: dict[Step, Step]) -> RankSummary:
    codes = {compile: code for code in codes_of((rank,)) for frame in code.frames for compile in frame.compiles}
    compiles = sorted((compile for frame in rank.frames for compile in frame.compiles), key=lambda compile: compile.order)
    numbers: dict[Code, int] = {}
    steps: list[Step] = []
    spent: list[Spent] = []
    parities: list[tuple[str, Parity]] = []
    checked = 0
    for compile in compiles:
        code = codes[compile]
        number = numbers[code] = numbers.get(code, -1) + 1
        scheduled, own, tensors, runtime = _inductor(compile, _MAX_CHECKED - checked, are_schedules_written=trace.version.at_least(9))
        checked += len(compile.inductor)
        parities += [(compile.label, item) for item in own]
        step = _step(compile=compile, code=code, number=number, why=recompiles.get(compile), scheduled=scheduled, tensors=tensors)
        steps.append(shared.setdefault(step, step))
        spent.append(Spent(compile.seconds, runtime))
    return RankSummary(
        number=rank.number or 0,
        process=rank.process,
        torch_version=trace.torch_version or next((item.metrics.torch_version for item in compiles if item.metrics.torch_version), ""),
        steps=tuple(steps),
        spent=tuple(spent),
        executed=_executed(rank),
        parity=tuple((label, item) for label, item in parities if item.difference or item.missing_waits),
        ended=rank.last_time,
        frames=len(rank.frames),
        processes=processes,
        has_collectives_on=trace.config.enable_compiler_collectives is True,
    )


def _step(compile: Compile, code: Code, number: int, why: Recompile | None, scheduled: tuple[str, ...] | None, tensors: str) -> Step:
    graph, first = compile.graph, code.first
    return Step(
        label=compile.label,
        code=CodeName(file_of(first.file), first.line, first.name, _qualifier(code) if first.is_library else ""),
        number=number,
        outcome=compile.outcome.value,
        is_dynamic=compile.is_dynamic,
        graph=graph.key if graph else "",
        inputs=tuple(_tensors(compile)),
        changes=tuple(_changes(why)) if why else (),
        caches=compile.caches,
        collectives=scheduled,
        tensors=tensors,
        size_exchanges=len(compile.collectives),
        verdict=why.verdict.value if why else "",
        title=code.title,
        has_id=bool(compile.shown_label),
    )


def _qualifier(code: Code) -> str:
    """Distinguishes a library's code from the same code for another class or caller."""
    called = code.first.called_at
    return f"{called.file}:{called.line}" if code.has_bare_title and called else code.title


def _tensors(compile: Compile) -> Iterator[Tensor]:
    dynamic: dict[str, list[int]] = {}
    pinned = {source for item in compile.specializations for source in item.sources}
    for symbol in compile.symbols:
        part = symbol.source.tensor_part
        if part and part.is_size and symbol.source not in pinned:
            dynamic.setdefault(part.tensor, []).append(part.dim)
    for item in compile.inputs:
        if not item.is_parameter:  # they are sharded on purpose
            yield Tensor(item.source, item.size, tuple(sorted(dynamic.get(item.source, ()))))


def _changes(why: Recompile) -> Iterator[Change]:
    for cause in why.causes:
        axis, before, after, sentence = map(without_addresses, (cause.axis, cause.before, cause.after, cause.sentence))
        yield Change(code=cause.rule.code, axis=axis, before=before, after=after, size_related=cause.size_related, sentence=sentence)


def _inductor(
    compile: Compile, max_checked: int, are_schedules_written: bool
) -> tuple[tuple[str, ...] | None, list[Parity], str, float | None]:
    """The collectives of all graphs of a compile (None where not known); parity with their code in the first ``max_checked`` records,
    digest of tensors, estimated runtime.
    """
    scheduled: list[str] = []
    parities: list[Parity] = []
    digests: list[str] = []
    runtime: float | None = None
    is_known = any(name == SCHEDULE for name, *_ in compile.inductor) or (are_schedules_written and _was_lowered(compile))
    payloads = compile.payloads
    for index, (name, offset, span) in enumerate(compile.inductor if payloads else ()):
        assert payloads is not None
        text = payloads.text(span)
        try:
            if name == TENSORS:
                found, seconds = collectives.tensors(text)
                digests.append(found)
                runtime = (runtime or 0.0) + seconds
                continue
            names = collectives.schedule(text)
        except (ValueError, TypeError, KeyError, AttributeError):
            payloads.reader.ledger.add(offset, "bad-json", f"the JSON of this {name} is not as expected")
            continue
        scheduled += names
        code = code_before(payloads.reader, offset, compile.offset) if index < max_checked else ""
        parities += [collectives.parity(names, code)] if code else []
    digest = hashlib.md5("".join(digests).encode(), usedforsecurity=False).hexdigest() if digests else ""
    return tuple(scheduled[:_MAX_COLLECTIVES]) if is_known else None, parities, digest, runtime


def _was_lowered(compile: Compile) -> bool:
    """Whether Inductor compiled every graph, and would have recorded its collectives; a graph out of a cache has no record of them."""
    names = [name for name, _ in compile.caches]
    return "fx_graph_cache_miss" in names and not any(name.endswith("_hit") for name in names)


def code_before(reader: Reader, offset: int, first: int) -> str:
    """The last generated code of the same compile between the offsets ``first`` and ``offset``; "" if there is none."""
    base = max(first, offset - _MAX_DISTANCE)
    text, own = reader.data[base:offset], reader.header(offset)
    at = text.rfind(_CODE_RECORD)
    start = text.rfind(b"\n", 0, at) + 1 if at >= 0 else 0
    if at < 0 or text[start : start + 1] == b"\t":
        return ""
    header = reader.header(base + start)
    if any(header.get(key) != own.get(key) for key in ("frame_id", "frame_compile_id", "compiled_autograd_id")):
        return ""
    end = _RECORD_END.search(text, at)
    digest = header.get("has_payload")
    if end is None or not isinstance(digest, str):
        return ""
    return reader.payload_text(Span(base + text.find(b"\n", at) + 1, base + end.end(), digest))


def _executed(rank: Rank) -> Executed | None:
    labels: list[str] = []
    for span in rank.executed if rank.payloads else ():
        assert rank.payloads is not None
        try:
            labels += collectives.execution(rank.payloads.text(span))
        except (ValueError, TypeError, KeyError, AttributeError):
            rank.payloads.reader.ledger.add(span.start, "bad-json", "the JSON of this graph_execution is not as expected")
    if not labels:
        return None
    return Executed(tuple(labels[:_MAX_EXECUTIONS]), len(labels), hashlib.md5("\n".join(labels).encode("utf-8", "replace")).hexdigest())
