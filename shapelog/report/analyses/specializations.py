"""Which symbols were pinned to one value, by whose line?"""

from collections.abc import Iterator

from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import Specialization, Stack
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table

# How PyTorch calls that a guard left a symbol a single value.
_IN_PLAIN_WORDS = {"range_refined_to_singleton": "by a guard"}


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    found: dict[tuple[str, str, str], list[tuple[Compile, Specialization]]] = {}
    for compile in explained.trace.compiles:
        for item in compile.specializations:
            source = ", ".join(source.display_name for source in item.sources) or item.symbol
            found.setdefault((source, place(item.user_stack), item.reason), []).append((compile, item))
    rows = []
    for (source, where, reason), members in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        values = " ".join(dict.fromkeys(item.value for _, item in members))
        ids = " ".join(dict.fromkeys(compile.label for compile, _ in members))
        code = "SL201" if where else "SL202"
        how = _IN_PLAIN_WORDS.get(reason, reason.replace("_", " "))
        rows.append((source, values, where or framework_place(members[0][1].stack), how, ids, code))
    if rows:
        columns = (Column("source"), Column("pinned to"), Column("by", is_wide=True), Column("how"), Column("compiles"), Column("rule"))
        yield Table("specializations", "Specializations: symbols fixed to one value", columns, tuple(rows))


def place(stack: Stack) -> str:
    """The innermost line of a stack outside of libraries, with its code where that is known."""
    frames = stack.frames
    if not frames:
        return ""
    last = next((frame for frame in reversed(frames) if not is_library(frame.file)), frames[-1])
    where = f"{last.file.rsplit('/', 1)[-1]}:{last.line}"
    return f"{where}  {last.code}" if last.code else where


def framework_place(stack: Stack) -> str:
    """The innermost line of PyTorch, without those that only write the record."""
    last = next((frame for frame in reversed(stack.frames) if "/_logging/" not in frame.file), None)
    return f"{last.file.rsplit('/torch/', 1)[-1]}:{last.line} in {last.name} (framework)" if last else "unknown"
