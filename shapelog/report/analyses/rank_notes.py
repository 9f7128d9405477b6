"""What did ranks compare, agree on or exchange while they compiled?"""

from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import beginning

_WORDS = {
    "inductor_spmd_graph_mismatch": "graphs differ between ranks",
    "aot_joint_graph_sync_decision_cross_ranks": "agreed on what to save for the backward",
}
_EXCHANGED = "exchanged inputs (compiler collectives)"
_LONGEST = 600


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    rows: list[tuple[str, str, str, str]] = []
    for compile in explained.trace.compiles:
        rank = "" if compile.rank is None else str(compile.rank)
        found = [(_WORDS.get(name, name), text) for name, text in compile.rank_notes]
        found += [(_EXCHANGED, text) for text in compile.collectives]
        rows += [(compile.label, rank, what, beginning(" ".join(text.split()), _LONGEST)) for what, text in found]
    if rows:
        order = {words: number for number, words in enumerate((*_WORDS.values(), _EXCHANGED))}
        columns = (Column("compiles"), Column("rank"), Column("what"), Column("in PyTorch's words", is_wide=True))
        rows.sort(key=lambda row: order.get(row[2], len(order)))
        yield Table("rank_notes", "What ranks compared during compilation", columns, tuple(rows))
