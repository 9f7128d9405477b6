"""What did profile-guided dynamism (PGO) know before the run and after it, and what does PyTorch itself suggest?"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.trace import Profile, Trace
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.pgo_state import CodeEntry, CodeState, Extent, SourceState, StateKind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import plural, plural_noun

_READ, _WRITTEN, _AGAIN = "read at start", "written", "read, learned again"


class _SourceRow(NamedTuple):
    """A row but for the processes that it holds for."""

    frame: str
    where: str
    source: str
    state: str
    when: str


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    profiles = explained.trace.code_states
    if not profiles:
        return
    rows: dict[_SourceRow, list[str]] = {}
    compiles: dict[_SourceRow, int] = {}
    for profile in profiles:
        for row, count in _joined(_rows(profile, explained.trace)).items():
            rows.setdefault(row, []).append(_process(profile))
            compiles[row] = count
    columns = [Column("frame"), Column("where"), Column("source"), Column("state", is_wide=True), Column("when")]
    ordered = sorted(rows, key=lambda row: -compiles[row])
    cells: list[tuple[str, ...]] = [tuple(row) for row in ordered]
    if len(profiles) > 1:
        columns.append(Column("ranks" if all(profile.rank is not None for profile in profiles) else "processes"))
        cells = [(*row, "all" if len(rows[row]) == len(profiles) else " ".join(rows[row])) for row in ordered]
    is_bare = explained.trace.is_text and all(profile.read is None for profile in profiles)  # nothing shows what was read
    histories = [] if is_bare else _histories(profiles)
    notes = (*histories, *_notes(profiles, {row.when for row in ordered}))
    yield Table("pgo", "What PGO knew", tuple(columns), tuple(cells), "; ".join(notes))


def _joined(rows: Iterable[tuple[_SourceRow, int]]) -> dict[_SourceRow, int]:
    """The rows of one process. What a closure knew at the start and another one that looks like it came to know as well is one row."""
    moments: dict[_SourceRow, set[str]] = {}
    compiles: dict[_SourceRow, int] = {}
    for row, count in rows:
        key = row._replace(when="")
        moments.setdefault(key, set()).add(row.when)
        compiles[key] = count
    return {key._replace(when=_AGAIN if len(found) > 1 else min(found)): compiles[key] for key, found in moments.items()}


def _process(profile: Profile) -> str:
    return str(profile.process if profile.rank is None else profile.rank)


def _rows(profile: Profile, trace: Trace) -> Iterator[tuple[_SourceRow, int]]:
    """Each source of one process that varied, with the number of compiles that its code has in this run."""
    start = _entries(profile.read.state) if profile.read else {}
    for key, entry in _entries(profile.last.state).items():
        varied = [state for state in entry.states if state.is_varied]
        if not varied:
            continue
        before = {state.source: state for state in start[key].states} if key in start else {}
        frames = _frames_of(entry, trace.frames)
        seen = _seen([compile for frame in frames for compile in frame.compiles])
        title = frames[0].title if frames else f"{entry.name} (not in this run)"
        where = f"{entry.file.rsplit('/', 1)[-1]}:{entry.line}"
        for state in varied:
            yield (
                _SourceRow(title, where, Source(state.source).display_name, *_state_words(state, before.get(state.source), seen)),
                len(seen.compiles),
            )


def _entries(state: CodeState) -> dict[tuple[CodeEntry, int], CodeEntry]:
    """The entries by their code. Identical closures are distinguished by their order, which is the same from run to run."""
    found: dict[tuple[CodeEntry, int], CodeEntry] = {}
    same: Counter[CodeEntry] = Counter()
    for entry in state.entries:
        code = entry._replace(states=())
        found[code, same[code]] = entry
        same[code] += 1
    return found


def _frames_of(entry: CodeEntry, frames: Iterable[Frame]) -> list[Frame]:
    """The frames of a piece of code. A job may have been copied since its profile began, so the directory need not be the same."""
    file = entry.file.rsplit("/", 1)[-1]
    same = [frame for frame in frames if (frame.line, frame.name) == (entry.line, entry.name) and frame.file.rsplit("/", 1)[-1] == file]
    return [frame for frame in same if frame.file == entry.file] or same


class _Seen(NamedTuple):
    """What this run shows of the sources of one code: tensors with the dims that the program marked, ranks that changed, numbers."""

    compiles: list[Compile]
    tensors: dict[str, set[int]]
    ranks: set[str]
    numbers: dict[str, set[str]]


def _seen(compiles: list[Compile]) -> _Seen:
    seen = _Seen(compiles, {}, set(), {})
    for compile in compiles:
        for item in compile.inputs:
            seen.tensors.setdefault(item.source, set()).update(item.marked_dynamic)
        for symbol in compile.symbols:
            seen.numbers.setdefault(symbol.source, set()).add(symbol.hint)
        for event in compile.automatic_dynamic:
            if event.dim == "all":
                seen.ranks.add(event.source)
            elif event.dim == "scalar":
                seen.numbers.setdefault(event.source, set()).update((event.cached, event.new))
    return seen


def _state_words(state: SourceState, before: SourceState | None, seen: _Seen) -> tuple[str, str]:
    """What is known of a source, and since when: its state in words, where that changed with what it was at the start."""
    words = _words(state, seen)
    if before and before.text == state.text:
        return words, _READ
    return f"{words}; at the start: {_words(before, seen)}" if before and before.is_varied else words, _WRITTEN


def _words(state: SourceState, seen: _Seen) -> str:
    """``dim 0 dynamic in [?, 8]``."""
    if state.kind is StateKind.ANYTHING:
        return _anything(state.source, seen)
    if state.kind is not StateKind.TENSOR:
        return state.text
    sizes, strides = _dims("dim", state.sizes), _dims("stride", state.strides)
    if not sizes:
        return f"{strides} varied at sizes {_listed(state.sizes)}"
    dynamic = {dim for dim, size in enumerate(state.sizes) if size is None}
    marked = ", marked by the program" if dynamic <= seen.tensors.get(state.source, set()) else ""
    return f"{sizes} dynamic in {_listed(state.sizes)}{marked}{f', {strides} varied' if strides else ''}"


def _anything(source: str, seen: _Seen) -> str:
    """What varied about a source that PyTorch calls a "fully dynamic scalar or tensor", as far as this run shows it."""
    values = seen.numbers.get(source, set())
    is_tensor = source in seen.tensors or source in seen.ranks
    is_float = f"___as_tensor({source})" in seen.tensors or any(integer(value) is None and value[-1:].isdigit() for value in values)
    is_int = not is_float and any(integer(value) is not None for value in values)
    if not (is_tensor or is_float or is_int):  # a number that stays a constant all the same is in the guards alone
        types = {tree.types.get(Source(source)) for compile in seen.compiles if (tree := compile.guards)}
        is_float, is_int = "float" in types, "int" in types
    if is_float or is_int:
        return "sometimes a tensor, sometimes a number" if is_tensor else "float varied" if is_float else "int varied"
    return "rank changed" if is_tensor else "int or float varied, or the rank changed"


def _dims(noun: str, extents: tuple[Extent, ...]) -> str:
    """``dims 0, 2``, "" where none is dynamic."""
    found = [str(dim) for dim, extent in enumerate(extents) if extent is None]
    return f"{plural_noun(len(found), noun)} {', '.join(found)}" if found else ""


def _listed(extents: tuple[Extent, ...]) -> str:
    return f"[{', '.join('?' if extent is None else str(extent) for extent in extents)}]"


def _notes(profiles: tuple[Profile, ...], moments: set[str]) -> Iterator[str]:
    states = [profile.last.state for profile in profiles]
    if not moments:
        yield "the state contains nothing that varied"
    if _AGAIN in moments:
        yield "what was learned again belongs to closures that PyTorch did not match with those of the profile"
    unread = sum(state.unread for state in states)
    if unread:
        yield f"{plural(unread, 'line')} of the state could not be read"
    values = dict.fromkeys(state.suggestion_text for state in states if state.suggestion_text)
    yield from (f'PyTorch suggests TORCH_COMPILE_DYNAMIC_SOURCES="{value}"' for value in values)


def _histories(profiles: tuple[Profile, ...]) -> list[str]:
    """Whether each process began with a profile, and whether it wrote one; processes that did the same together."""
    by_history = grouped(profiles, _history)
    if len(by_history) == 1:
        return list(by_history)
    noun = "process" if any(profile.rank is None for profile in profiles) else "rank"
    return [f"{noun} {', '.join(map(_process, members))}: {words}" for words, members in by_history.items()]


def _history(profile: Profile) -> str:
    stores = " and ".join(dict.fromkeys(record.storage for record in profile.records if not record.is_read))
    if profile.read is None:
        return f"cold run: no state was read at the start; one was written to {stores} storage"
    changed = f"and written again to {stores} storage" if stores else "and nothing new was learned"
    return f"warm run: a state was read from {profile.read.storage} storage at the start, {changed}"
