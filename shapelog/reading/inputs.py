"""A file, directory, archive, URL or standard input → the trace files of one run."""

import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.reading.compression import (
    CHUNK,
    HEAD,
    DamagedError,
    Room,
    archive_kind,
    chunks_of,
    is_packed,
    part_of,
    room_for,
    spool,
    unpacked,
)
from shapelog.reading.not_a_trace import HOW_TO_RECORD
from shapelog.reading.trace_files import TLPARSE_LOG, Item, Tell, TraceFile, is_archive_name, is_url, rank_of, shown, traces_of

if TYPE_CHECKING:
    from shapelog.reading.archives import Archive
    from shapelog.reading.run_selection import Run

# How many files a note names, and how many directories are looked into for what to name instead.
_NAMED, _SEARCHED = 3, 1000
# A job of so many ranks is read in full by one process; of a larger one, so many ranks at most.
IN_FULL = 16


class Selection(NamedTuple):
    """The files of the run that was asked for, what people should know about the choice, and what cannot be read beside them."""

    files: tuple[TraceFile, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Choice(NamedTuple):
    """What is wanted of a place that holds several traces, and what it may cost.

    ``run`` is as in ``run_selection.chosen``, and ``option`` what asks for it. ``most`` is how many bytes may come out of an archive,
    None for what is usual for its size. ``tell`` hears of the progress of downloads. ``in_full`` keeps the path in the names of files.
    """

    run: str = ""
    most: int | None = None
    tell: Tell | None = None
    in_full: bool = False
    option: str = "--run"


_DEFAULT = Choice()


def select(path: str, choice: Choice = _DEFAULT) -> Selection:
    """The trace files that ``path`` stands for: a file, ``-`` for standard input, a URL, or the newest run of a directory or an archive.

    Raises ShapelogError when there is nothing to read.
    """
    try:
        return _selected(path, choice)
    except FileNotFoundError as error:
        raise ShapelogError(f"{path}: no such file or directory; {HOW_TO_RECORD}") from error
    except (OSError, ValueError) as error:
        name = "standard input" if path == "-" else shown(path)
        raise ShapelogError(f"{name}: cannot read: {getattr(error, 'strerror', None) or error}") from error


def _selected(path: str, choice: Choice) -> Selection:
    if path == "-":
        return _of_stream("standard input", chunks_of(sys.stdin.buffer), choice)
    if is_url(path):
        if not path.lower().startswith("file://"):
            return _of_url(path, choice)
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(path).path)
    where = Path(path)
    state = where.stat()
    if stat.S_ISDIR(state.st_mode):
        return _of_directory(where, choice)
    name = path if choice.in_full else where.name
    if stat.S_ISFIFO(state.st_mode):
        with where.open("rb") as pipe:
            return _of_stream(name, chunks_of(pipe), choice)
    if not stat.S_ISREG(state.st_mode):
        raise ShapelogError(f"{path}: neither a file nor a directory")
    return _of_file(_local(where, name, state), name, choice)


def select_files(paths: Sequence[Path], notes: Sequence[str] = ()) -> Selection:
    """These files as one run: those that bear a rank in order of rank, then the others. Empty ones are left out, and counted.

    Raises ShapelogError when none of them holds anything.
    """
    filled = [path for path in paths if path.stat().st_size]
    if not filled:
        raise ShapelogError(f"no trace to read: {', '.join(map(str, paths)) or 'no file was given'}; {HOW_TO_RECORD}")
    files = sorted((TraceFile(path, path.name, rank_of(path.name)) for path in filled), key=_by_rank)
    empty = len(paths) - len(filled)
    said = (f"{empty} empty trace {'file' if empty == 1 else 'files'} left out: a process that compiled nothing",) if empty else ()
    return Selection(tuple(files), (*notes, *said))


def joined(selections: Sequence[Selection]) -> Selection:
    """The files of several selections as one run."""
    return Selection(
        tuple(sorted((file for item in selections for file in item.files), key=_by_rank)),
        tuple(dict.fromkeys(note for item in selections for note in item.notes)),
        tuple(problem for item in selections for problem in item.problems),
    )


def is_large(selections: Iterable[Selection], has_workers: bool = False) -> bool:
    """Whether these are a job whose ranks are summed up: more than one process reads in full, or several where workers are there for it."""
    ranks = {file.rank for item in selections for file in item.files if file.rank is not None}
    return len(ranks) > IN_FULL or (has_workers and len(ranks) > 1)


def of_rank(selection: Selection, rank: int | None) -> Selection:
    """Only the files that are named by this rank; all of them where none is."""
    files = tuple(file for file in selection.files if file.rank == rank)
    if rank is None or not files or len(files) == len(selection.files):
        return selection
    return selection._replace(files=files, notes=(f"read {', '.join(file.name for file in files)} alone",))


def _by_rank(file: TraceFile) -> tuple[bool, int, str]:
    return file.rank is None, file.rank or 0, file.name


def _local(path: Path, name: str, state: os.stat_result) -> Item:
    def part(start: int, end: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))

    return Item(name, state.st_size, state.st_mtime, lambda: chunks_of(path.open("rb"), close=True), part, path)


def _of_stream(name: str, chunks: Iterable[bytes], choice: Choice) -> Selection:
    """What can be read only once, by way of a temporary file."""
    handle, damage = spool(chunks, Room(name))
    size = handle.seek(0, os.SEEK_END)

    def part(start: int, end: int) -> bytes:
        return part_of(handle, start, end)

    def again() -> Iterator[bytes]:
        for start in range(0, size, CHUNK):
            yield part(start, start + CHUNK)
        if damage:
            raise DamagedError(damage)

    return _of_file(Item(name, size, None, again, part), name, choice, handle)


def _of_file(item: Item, name: str, choice: Choice, handle: BinaryIO | None = None) -> Selection:
    """One trace, or the archive that the content shows it to be, packed once more or not."""
    room = room_for(name, item.size, choice.most)
    head = item.part(0, HEAD) if item.part else b""
    kind = archive_kind(head)
    is_packed_tar = is_packed(head) and archive_kind(_unpacked_start(item)) == "tar"
    if not (kind or is_packed_tar):
        return Selection((TraceFile(item.path, name, _rank(item), None if item.path else item, room),))
    from shapelog.reading import archives  # most traces are in none

    if kind:
        if handle is None:
            assert item.path
            handle = item.path.open("rb")
        return _of_archive(archives.opened(name, handle, kind, room), choice)
    plain, damage = spool(unpacked(item.chunks(), name), room)
    archive = archives.opened(name, plain, "tar", room)
    if damage:
        archive.add("damaged-archive", f"{damage}, so members behind that are missing")
    return _of_archive(archive, choice)


def _unpacked_start(item: Item) -> bytes:
    head = b""
    with suppress(DamagedError, ShapelogError):
        for chunk in unpacked(item.chunks(), item.name):
            head += chunk
            if len(head) >= HEAD:
                break
    return head


def _rank(item: Item) -> int | None:
    """The name of its directory tells the rank of a log in the output of tlparse."""
    return rank_of("/".join(item.path.absolute().parts[-2:]) if item.path else item.name)


def _of_url(url: str, choice: Choice) -> Selection:
    from shapelog.reading import remote

    item, entries = remote.look(url, choice.tell)
    name = shown(url)
    if item is not None:
        return _of_stream(name if choice.in_full else item.base or name, item.chunks(), choice)
    return _of_folder(entries, name, choice)


def _of_archive(archive: "Archive", choice: Choice) -> Selection:
    """Its newest run, wherever in it; the only file of an archive is taken for a trace whatever its name."""
    try:
        found = _of_folder(archive.items, archive.name, choice, archive.room)
    except ShapelogError as error:
        loss = next((problem.message for problem in archive.problems if problem.severity == DATA_LOSS), "")
        if traces_of(archive.items) or not loss:
            raise
        said = error if archive.items else f"{archive.name}: nothing in this archive can be read"
        raise ShapelogError(f"{said}; {loss}") from error
    return found._replace(problems=tuple(archive.problems))


def _of_directory(where: Path, choice: Choice) -> Selection:
    """Its newest run. Directories in it are not searched, but for those in which tlparse tells of one rank each."""
    items, inner = [], []
    try:
        with os.scandir(where) as entries:
            for entry in entries:
                with suppress(OSError):  # it is gone, or a loop of links
                    if entry.is_file():
                        items.append(_local(Path(entry.path), entry.name, entry.stat()))
                    elif entry.is_dir():
                        inner.append(entry.name)
    except OSError as error:
        raise ShapelogError(f"{where}: cannot list the directory: {error.strerror}") from error
    if not traces_of(items):
        ranks = [(name, where / name / TLPARSE_LOG) for name in inner if rank_of(f"{name}/{TLPARSE_LOG}") is not None]
        with suppress(OSError):
            items.extend(_local(path, f"{name}/{TLPARSE_LOG}", path.stat()) for name, path in ranks if path.is_file())
    if not traces_of(items) and inner:
        _refuse_parent(where, sorted(inner))
    return _of_folder(items, str(where), choice)


def _refuse_parent(where: Path, inner: Sequence[str]) -> None:
    """Raises ShapelogError when a directory without a trace has directories with some."""
    found = []
    for name in inner[:_SEARCHED]:
        with suppress(OSError), os.scandir(where / name) as entries:
            if traces_of([_named(entry.name) for entry in entries]):
                found.append(name)
    if len(found) == 1:
        typed = shlex.quote(str(where / found[0]))
        raise ShapelogError(f"{where}: no trace in this directory itself, but in one in it; give it by its name: shapelog report {typed}")
    if found:
        some = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if found[_NAMED:] else "")
        raise ShapelogError(
            f"{where}: no trace in this directory itself, but in {len(found)} directories in it: {some}; name one of them, "
            f"or all as one job: shapelog report {shlex.quote(str(where))}/*/"
        )


def _named(name: str) -> Item:
    return Item(name, 0, None, lambda: iter(()))


def _of_folder(items: Sequence[Item], where: str, choice: Choice, room: Room | None = None) -> Selection:
    """The run that is wanted of those in a directory or an archive, which has one ``room`` for all that comes out of it."""
    traces = traces_of(items) or (list(items) if room and len(items) == 1 else [])
    filled = [item for item in traces if item.size]
    if not filled:
        raise ShapelogError(_why_no_trace(where, items, traces, "archive" if room else "directory"))
    from shapelog.reading import run_selection  # a file by its name needs no choice

    every = run_selection.runs_of(filled)
    picked = run_selection.chosen(every, choice.run, where, choice.option)
    members = [member.item for run in reversed(picked) for member in run.members]
    bases = [item.base for item in members]
    files = []
    for item in members:
        name = item.name if bases.count(item.base) > 1 or len(bases) > _NAMED else item.base
        shown = f"{where.rstrip('/')}/{item.name}" if choice.in_full else name
        files.append(TraceFile(item.path, shown, _rank(item), None if item.path else item, room or room_for(shown, item.size, choice.most)))
    files.sort(key=lambda file: (file.rank is None, file.rank or 0))
    notes = _notes_on(files, every, picked, where, "archive" if room else "directory", choice.option)
    empty = len(traces) - len(filled)
    if empty:
        notes.append(f"{empty} empty {'file' if empty == 1 else 'files'} in that directory: a process that compiled nothing")
    return Selection(tuple(files), tuple(notes))


def _notes_on(files: Sequence[TraceFile], every: "Sequence[Run]", picked: "Sequence[Run]", where: str, kind: str, option: str) -> list[str]:
    """What is read, and how to read the rest."""
    names = ", ".join(file.name for file in files[:_NAMED])
    if files[_NAMED:]:
        names = f"{len(files)} files ({names}, ...)"
    if len(picked) > 1 or len(every) == len(picked) > 1:
        which = f"all {len(picked)} runs in {where} as one"
    elif picked[0] is every[0]:
        which = f"the newest run in {where}"
    else:
        which = f"the run that began {picked[0].when} in {where}"
    notes = [f"read {names}, {which}"]
    left = sum(len(run.members) for run in every) - len(files)
    if left:
        other = next((number, run) for number, run in enumerate(every, 1) if run is not picked[0])
        how = f"{option} {other[0]} reads the run that began {other[1].when}"
        how += f", --all-runs all {len(every)} runs" if option == "--run" else ""
        notes.append(f"{left} older or other trace {'file' if left == 1 else 'files'} in that {kind} not read; {how}")
    return notes


def _why_no_trace(where: str, items: Sequence[Item], traces: Sequence[Item], kind: str) -> str:
    if traces:
        return f"{where}: the {len(traces)} trace file(s) in it are empty: the process ended before it compiled anything"
    if any(item.base == "raw.jsonl" for item in items):
        return f"{where}: output of tlparse without its raw.log, which alone holds the payloads; give the log that tlparse was given"
    packed = [item.base for item in items if is_archive_name(item.base)]
    if packed:
        how = f"give it by its name: shapelog report {shlex.quote(where + '/' + packed[0])}" if kind == "directory" else "unpack it first"
        return f"{where}: no trace in this {kind}, but an archive ({packed[0]}); {how}"
    if items:
        return f"{where}: no trace in this {kind} (files are named dedicated_log_torch_trace_*.log); {HOW_TO_RECORD}"
    return f"{where}: the {kind} is empty; a trace appears there once a compiled function is called; {HOW_TO_RECORD}"
