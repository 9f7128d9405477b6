"""The records of each compile as rows, and the payloads that the page embeds."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import orjson
from markupsafe import Markup

from shapelog.extract.file_names import Paths, attempt_directory, download_stems, file_stem, subgraph_directory
from shapelog.extract.graph_code import is_graph
from shapelog.model.record_index import IndexedRecord, index_records
from shapelog.reading.payloads.graphs import operation_count
from shapelog.report.details.provenance import Provenance, provenances
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.html.frame_page import FrameView
from shapelog.text import one_line, plural

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
_KINDS = {title: kind for kind, title in _TITLES.items()}
# What records are that keep PyTorch's name.
_ABOUT = {
    "dynamo_start": "the call stack at the start",
    "describe_tensor": "the tensors that came in",
    "describe_source": "where they came from",
    "create_symbol": "symbols for sizes and numbers",
    "guard_added_fast": "guards on symbols, as they were added",
    "recompile_reasons": "why no cache entry fitted",
    "dynamo_graph_break_reason": "the graph break",
    "dynamo_side_effects": "side effects outside of the graph",
    "fx_graph_runnable": "a script that runs the graph",
    "before_pre_grad_graph": "the graph before passes ahead of autograd",
    "after_pre_grad_graph": "the graph after them",
    "before_joint_graph": "forward and backward before passes",
    "after_joint_graph": "forward and backward after them",
    "before_post_grad_graph": "the graph before passes after autograd",
    "aot_forward_graph_fw_metadata": "what AOTAutograd knows of inputs and outputs",
    "torch._functorch.config": "settings of AOTAutograd",
}
# Inductor names the graph at the beginning of the code that it generates; other records about that graph come before the code.
_AOT_ID = re.compile(rb"# AOT ID: \['\d+_(forward|backward)'\]")
_OF_ONE_GRAPH = frozenset(("fx_graph_runnable", "before_post_grad_graph", "inductor_post_grad_graph"))
# Kinds, and names of artifacts, that are usually opened first.
_FIRST = (
    "dynamo_output_graph",
    "dynamo_cpp_guards_str",
    "inductor_output_code",
    "recompile_reasons",
    "dynamo_graph_break_reason",
    "dynamo_error",
)
_DUMP = "dump_file"
_HEAD = 200
# Texts of at least this many characters are not repeated but named.
_MIN_NAMED = 1000
# The operations of a larger graph, in bytes, are not counted.
_LONGEST_GRAPH = 4 << 20


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record with a payload, or all ``count`` records of a kind that have none. ``make`` gives the text to open.

    ``size`` is in bytes, ``key`` the same for equal texts; ``tier`` is 0 for what is usually opened first, 1 for other
    payloads, and 2 for records without one. ``file`` is the name of the file that it can be saved as, without its suffix; ``note`` is what
    the record is, how large a graph is, and which subgraph it is about.
    """

    title: str
    count: int
    size: int
    key: str
    tier: int
    make: Callable[[], bytes]
    file: str = ""
    note: str = ""


class PageRecords(NamedTuple):
    """``rows`` of each compile by its anchor, those outside of any under "". ``payloads`` has each text to embed once, in the order in
    which they are embedded, and ``chunk_ids`` the id of its chunk by ``RecordRow.key``. ``provenance`` is what Inductor tracked of each
    compile, by its anchor, and of ahead-of-time compilation, which has no compile ids, under "".
    """

    rows: dict[str, tuple[RecordRow, ...]]
    payloads: tuple[RecordRow, ...]
    chunk_ids: dict[str, str]
    provenance: dict[str, tuple[Provenance, ...]]


def page_records(report: Report, views: Iterable[FrameView], options: Options) -> PageRecords:
    """The records of the compiles that are shown in full, and of none where the page is to have no payloads."""
    if options.embed == "none" or not options.with_source:
        return PageRecords({}, (), {}, {})
    index = index_records(report.trace)
    full = [(view, item) for view in views for item in view.compiles if item.is_full]
    stems = download_stems(report.trace)
    rows = {item.anchor: record_rows(index.of(item.compile), item.anchor, stems[item.compile]) for _, item in full}
    rows[""] = record_rows(index.outside, "outside") if options.frame is None else ()  # else some are those of other frames
    embedded = [item.anchor for view, item in full if len(view.compiles) > 1]
    if options.embed != "recompiled":
        embedded += [item.anchor for view, item in full if len(view.compiles) == 1]
    payloads = _by_tier([rows[anchor] for anchor in (*embedded, "")])
    provenance = {item.anchor: found for _, item in full if (found := provenances(index.of(item.compile)))}
    if rows[""] and (ahead := provenances(index.outside)):
        provenance[""] = ahead
    return PageRecords(rows, payloads, {row.key: f"z{number}" for number, row in enumerate(payloads)}, provenance)


def dumped_files(records: PageRecords) -> dict[str, str]:
    """Name of a file whose text is a record (``<eval_with_key>.5``) → anchor of the compile that has it, "" outside of any."""
    prefix = f"{_DUMP} "
    titles = ((row.title, anchor) for anchor, rows in records.rows.items() for row in rows)
    return {title.removeprefix(prefix): anchor for title, anchor in titles if title.startswith(prefix)}


def record_rows(records: Iterable[IndexedRecord], owner: str, stem: str = "outside") -> tuple[RecordRow, ...]:
    """The rows of one compile, in the order in which its records begin. ``owner`` is the anchor of the compile; the names of files begin
    with ``stem``.
    """
    records = tuple(records)
    passes = _passes(records)
    last = max((record.attempt for record in records), default=0)
    names = Paths()

    def file_of(record: IndexedRecord) -> str:
        attempt = attempt_directory(record.kind, record.name, record.attempt, last)
        return names.new("-".join(filter(None, (stem, attempt, subgraph_directory(record.subgraph), file_stem(record.kind, record.name)))))

    found: dict[tuple[str, int | None], list[IndexedRecord]] = {}
    for number, record in enumerate(records):
        found.setdefault((_title(record.kind, record.name), None if record.span is None else number), []).append(record)
    return tuple(
        replace(
            _header_row(title, members, owner) if number is None else _payload_row(title, members[0], passes.get(number, "")),
            file=file_of(members[0]),
        )
        for (title, number), members in found.items()
    )


def _passes(records: Sequence[IndexedRecord]) -> dict[int, str]:
    """``forward`` or ``backward`` of records about one of the two graphs, by their place."""
    found: dict[int, str] = {}
    waiting: list[int] = []
    for number, record in enumerate(records):
        if record.kind == "inductor_output_code":
            named = _AOT_ID.match(record.raw[:_HEAD])
            found.update(dict.fromkeys((*waiting, number), named[1].decode() if named else ""))
            waiting = []
        elif _OF_ONE_GRAPH & {record.kind, record.name}:
            waiting.append(number)
    return found


def kind_titled(title: str) -> str:
    """PyTorch's name for records of this title, "" where that is the title itself."""
    return _KINDS.get(title, "")


def _title(kind: str, name: str) -> str:
    if kind == "artifact":
        return name or "artifact"
    return _TITLES.get(kind) or f"{kind} {name}".strip() or "record"


def _payload_row(title: str, record: IndexedRecord, which: str) -> RecordRow:
    tier = 0 if record.kind in _FIRST or record.name in _FIRST else 1
    return RecordRow(
        title=title,
        count=1,
        size=record.size,
        key=record.key,
        tier=tier,
        make=partial(getattr, record, "raw"),
        note=_note(title, record, which),
    )


def _note(title: str, record: IndexedRecord, which: str) -> str:
    subgraph = f"of subgraph {record.subgraph}" if record.subgraph else ""
    size = ""
    if "graph" in f"{record.kind} {record.name}" and record.size <= _LONGEST_GRAPH and is_graph(raw := record.raw):
        size = plural(operation_count(raw), "operation")
    return ", ".join(filter(None, (which, _ABOUT.get(title, ""), size, subgraph)))


def _header_row(title: str, records: list[IndexedRecord], owner: str) -> RecordRow:
    """Records without a payload: one is shown as indented JSON, several one a line."""
    return RecordRow(
        title=title,
        note=_ABOUT.get(title, ""),
        count=len(records),
        size=sum(record.header_size for record in records),
        key=f"{owner} {title}",
        tier=2,
        make=partial(_header_lines, records),
    )


def _header_lines(records: list[IndexedRecord]) -> bytes:
    try:
        if len(records) == 1:
            return orjson.dumps(_without_repeated(records[0].body, records[0].first), option=orjson.OPT_INDENT_2)
        return b"\n".join(orjson.dumps(record.body) for record in records)
    except (TypeError, ValueError):  # numbers of more than 64 bits
        return "\n".join(record.header for record in records).encode("utf-8", "replace")


def _without_repeated(header: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    """Long texts that are the same in the ``first`` header of this kind are named only: the settings take 34 kB of 40 in metrics."""
    for kind, body in header.items():
        known = first.get(kind)
        if isinstance(body, dict) and isinstance(known, dict):
            header[kind] = {key: _unless_repeated(value, known.get(key)) for key, value in body.items()}
    return header


def _unless_repeated(value: object, known: object) -> object:
    is_repeated = isinstance(value, str) and len(value) >= _MIN_NAMED and value == known
    return f"the same {len(str(value)):,} characters as in the first record of this kind" if is_repeated else value


def _by_tier(compiles: list[tuple[RecordRow, ...]]) -> tuple[RecordRow, ...]:
    """Each text once, those of a lower tier first."""
    found: dict[str, RecordRow] = {}
    for row in sorted(chain.from_iterable(compiles), key=lambda row: row.tier):
        found.setdefault(row.key, row)
    return tuple(found.values())


def rows_html(rows: Iterable[RecordRow], chunk_ids: dict[str, str], escaped: Callable[[str], Markup]) -> Markup:
    """The rows of a table with three columns: record, bytes and payload. A page has thousands, too many for a template."""
    return Markup(
        "\n".join(
            _row_html(row, escaped(row.title), escaped(row.note), chunk_ids.get(row.key), escaped(one_line(row.title))) for row in rows
        )
    )


def _row_html(row: RecordRow, title: Markup, note: Markup, chunk_id: str | None, name: Markup) -> str:
    count = f' <span class="dim">× {row.count}</span>' if row.count > 1 else ""
    count += f' <span class="dim">{note}</span>' if note else ""
    payload = (
        f'<button type="button" class="open" data-chunk="{chunk_id}" data-file="{row.file}" hidden>'
        f'Open<span class="hidden"> {title}</span></button>'
        '<span class="without-js dim small">opens with JavaScript</span>'
        if chunk_id
        else '<span class="dim small">not embedded (<code>--embed all</code>)</span>'
    )
    return f'<tr data-record="{name}"><th scope="row">{title}{count}</th><td class="number">{row.size}</td><td>{payload}</td></tr>'
