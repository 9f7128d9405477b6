"""Do the sizes that were seen match the shapes that the program declares?"""

from collections.abc import Iterator

from shapelog.model.declared_shapes import DeclaredSize, declarations
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import VALUE, size
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Table
from shapelog.text import some

_COLUMNS = Column("frame"), Column("what"), Column("declared"), Column("seen"), Column("result")
_SEEN, _NOTE = 6, "what a declaration does not name is static, also where TORCH_COMPILE_DYNAMIC_SOURCES names it"


def analyze(explained: Explanations) -> Iterator[Table]:
    found = declarations(explained.trace)
    rows = tuple(_row(explained, frame, item) for frame, declared in found.items() for item in declared.sizes)
    if rows:
        yield Table("declared_shapes", "Declared shapes, and the sizes seen", _COLUMNS, rows, _NOTE)


def _row(explained: Explanations, frame: Frame, item: DeclaredSize) -> tuple[str, ...]:
    key = (item.source, VALUE if item.dim is None else size(item.dim))
    facts = (explained.facts.of(compile).facts for compile in frame.compiles)
    seen = list(dict.fromkeys(str(found[key]) for found in facts if key in found))
    what = item.source.display_name + ("" if item.dim is None else f".size[{item.dim}]")
    return frame.title, what, item.range or "static", some(seen, _SEEN), _result(item, len(seen))


def _result(item: DeclaredSize, seen: int) -> str:
    if item.range:
        return "one value seen" if seen == 1 else "as declared" if seen else "not seen"
    return "varies: declare it, too" if seen > 1 else "as declared" if seen else "not seen"
