"""The records of each compile as rows, and their payloads packed into the page, those that tell most first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import orjson

from shapelog.model.record_index import Listed

_TITLES = {
    "dynamo_output_graph": "graph that Dynamo captured",
    "dynamo_cpp_guards_str": "guards",
    "dynamo_guards": "guards (list)",
    "inductor_output_code": "generated code",
    "aot_inference_graph": "AOT inference graph",
    "aot_forward_graph": "AOT forward graph",
    "aot_backward_graph": "AOT backward graph",
    "aot_joint_graph": "AOT joint graph",
    "inductor_pre_grad_graph": "Inductor pre-grad graph",
    "inductor_post_grad_graph": "Inductor post-grad graph",
    "compiled_autograd_graph": "graph of compiled autograd",
    "compilation_metrics": "compilation metrics",
    "bwd_compilation_metrics": "compilation metrics of the backward",
}
# What people open first.
_FIRST = frozenset(
    (
        "dynamo_output_graph",
        "dynamo_cpp_guards_str",
        "inductor_output_code",
        "recompile_reasons",
        "dynamo_graph_break_reason",
        "dynamo_error",
    )
)
_TIERS = 3
# Characters from which on a text is named rather than repeated.
_WORTH_NAMING = 1000


@dataclass(frozen=True, slots=True)
class Item:
    """One row: a record with a payload, or all ``count`` records of a kind that have none. ``make`` gives the text to open.

    ``size`` is in bytes, ``key`` the same for equal texts; ``tier`` is 0 for what people open first, then 1, and 2 for records without a
    payload.
    """

    title: str
    count: int
    size: int
    key: str
    tier: int
    make: Callable[[], bytes]


def items_of(records: Iterable[Listed], owner: str) -> tuple[Item, ...]:
    """The rows of one compile, in the order in which its records begin. ``owner`` is the anchor of the compile."""
    found: list[Item | str] = []
    bare: dict[str, list[Listed]] = {}
    for record in records:
        kind, name, span = record.kind, record.name, record.span
        title = _title(kind, name)
        if span is not None:
            tier = 0 if kind in _FIRST or name in _FIRST else 1
            found.append(Item(title, 1, record.size, record.key, tier, partial(getattr, record, "raw")))
        elif title in bare:
            bare[title].append(record)
        else:
            found.append(title)
            bare[title] = [record]
    return tuple(_headers(item, bare[item], owner) if isinstance(item, str) else item for item in found)


@lru_cache(maxsize=1024)  # names may come from a trace
def _title(kind: str, name: str) -> str:
    if kind == "artifact":
        return name or "artifact"
    return _TITLES.get(kind) or f"{kind} {name}".strip() or "record"


def _headers(title: str, records: list[Listed], owner: str) -> Item:
    """Records that say all in their first line: one is laid out, several stand one a line."""
    return Item(title, len(records), sum([record.header_size for record in records]), f"{owner} {title}", 2, partial(_lines, records))


def _lines(records: list[Listed]) -> bytes:
    texts = [record.header for record in records]
    if len(texts) == 1:
        try:
            return orjson.dumps(_without_known(orjson.loads(texts[0]), records[0].first), option=orjson.OPT_INDENT_2)
        except (ValueError, AttributeError):
            pass
    return "\n".join(texts).encode("utf-8", "replace")


def _without_known(header: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """A header that only names long texts which stand word for word in the first of its kind: the settings take 34 kB of 40 in metrics."""
    for kind, body in header.items():
        known = first.get(kind)
        if isinstance(body, dict) and isinstance(known, dict):
            header[kind] = {key: _unless_known(value, known.get(key)) for key, value in body.items()}
    return header


def _unless_known(value: object, known: object) -> object:
    is_known = isinstance(value, str) and len(value) >= _WORTH_NAMING and value == known
    return f"the same {len(str(value)):,} characters as in the first record of this kind" if is_known else value


class Row(NamedTuple):
    """A row of records, and the chunk of the page that its text would be in; "" where nothing of it was asked for."""

    item: Item
    chunk: str


def arranged(compiles: Iterable[tuple[Item, ...]]) -> list[Item]:
    """Each text once, what people open first of all compiles before the rest of any."""
    members = list(compiles)
    found: dict[str, Item] = {}
    for item in (item for tier in range(_TIERS) for items in members for item in items if item.tier == tier):
        found.setdefault(item.key, item)
    return list(found.values())
