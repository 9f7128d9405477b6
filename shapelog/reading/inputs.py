"""A file, directory, archive, URL or standard input → the trace files of one run."""

import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.reading.compression import (
    HEAD,
    UnpackQuota,
    archive_kind,
    decompress,
    is_compressed,
    quota_for,
    read_chunks,
    read_head,
    to_temporary_file,
)
from shapelog.reading.not_a_trace import HOW_TO_RECORD
from shapelog.reading.trace_files import (
    MOST_OPENED_REMOTELY,
    STANDARD_INPUT,
    WEB_TIMEOUT,
    FileEntry,
    ProgressCallback,
    TraceFile,
    clock_time,
    entry_within,
    is_archive_name,
    is_text_name,
    is_url,
    logs_among,
    rank_of,
    redacted_url,
    tlparse_logs,
    torchrun_logs,
    trace_names,
    traces_among,
)
from shapelog.text import plural, some

if TYPE_CHECKING:
    from shapelog.reading.archives import Archive
    from shapelog.reading.run_selection import Run

_MAX_NAMED_FILES, _MAX_SEARCHED_DIRECTORIES = 3, 1000
# The most ranks of a job that are read in full: all ranks of a job up to this size, representatives of a larger one.
MAX_RANKS_IN_FULL = 16


class Selection(NamedTuple):
    """The files of the selected run, notes for the user on what was selected, and problems with files that cannot be read."""

    files: tuple[TraceFile, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class InputOptions(NamedTuple):
    """Which traces to select where a path holds several, and what reading them may cost.

    ``run`` is as in ``run_selection.choose``, and ``option`` the command-line option that messages mention for it. ``max_bytes`` limits
    what is unpacked, None for the usual limit for the size of the input. ``progress`` is called during downloads. ``full_names`` keeps
    the path in the names of files. A web server may send nothing for ``timeout`` seconds.
    """

    run: str = ""
    max_bytes: int | None = None
    progress: ProgressCallback | None = None
    full_names: bool = False
    option: str = "--run"
    timeout: float = WEB_TIMEOUT


_DEFAULT = InputOptions()


def select(path: str, options: InputOptions = _DEFAULT) -> Selection:
    """The trace files at ``path``: a file, ``-`` for standard input, a URL, or the newest run of a directory or an archive.

    Raises ShapelogError when there is nothing to read.
    """
    try:
        return _select(path, options)
    except FileNotFoundError as error:
        raise ShapelogError(f"{path}: no such file or directory; {HOW_TO_RECORD}") from error
    except (OSError, ValueError) as error:
        name = STANDARD_INPUT if path == "-" else redacted_url(path)
        raise ShapelogError(f"{name}: cannot read: {getattr(error, 'strerror', None) or error}") from error


def _select(path: str, options: InputOptions) -> Selection:
    if not path:
        raise ShapelogError('"" is not a path (use . for the current directory)')
    if path == "-":
        if sys.stdin is None:
            raise ShapelogError(f"{STANDARD_INPUT}: cannot read: it is closed")
        return _select_stream(STANDARD_INPUT, read_chunks(sys.stdin.buffer), options)
    if is_url(path):
        if not path.lower().startswith("file://"):
            return _select_url(path, options)
        from urllib.parse import unquote, urlsplit

        path = unquote(urlsplit(path).path)
    where = Path(path)
    state = where.stat()
    if stat.S_ISDIR(state.st_mode):
        return _select_directory(where, options)
    name = path if options.full_names else where.name
    if stat.S_ISFIFO(state.st_mode):
        with where.open("rb") as pipe:
            return _select_stream(name, read_chunks(pipe), options)
    if not stat.S_ISREG(state.st_mode):
        raise ShapelogError(f"{path}: not a file or directory")
    return _select_file(_local_entry(where, name, state), name, options)


def select_files(paths: Sequence[Path], notes: Sequence[str] = ()) -> Selection:
    """These files as one run, those with a rank in their names first, in order of rank. Empty files are left out, with a note.

    Raises ShapelogError when all of them are empty.
    """
    filled = [path for path in paths if is_filled(path)]
    if not filled:
        raise ShapelogError(f"no trace to read: {', '.join(map(str, paths)) or 'no file was given'}; {HOW_TO_RECORD}")
    files = sorted((TraceFile(path, path.name, rank_of(path.name)) for path in filled), key=_by_rank)
    empty = len(paths) - len(filled)
    left_out = (f"{plural(empty, 'empty trace file')} ignored: those processes compiled nothing",) if empty else ()
    return Selection(tuple(files), (*notes, *left_out))


def is_filled(path: Path) -> bool:
    """Whether a file holds anything. One that cannot be looked at counts as filled: opening it gives the reason."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return True


def join(selections: Sequence[Selection]) -> Selection:
    """The files of several selections as one run."""
    return Selection(
        tuple(sorted((file for selection in selections for file in selection.files), key=_by_rank)),
        tuple(dict.fromkeys(note for selection in selections for note in selection.notes)),
        tuple(problem for selection in selections for problem in selection.problems),
    )


class DatedRun(NamedTuple):
    """The files of a run and when it began: in seconds since the epoch, and as ``11-20 08:27:33``."""

    begin: float
    began: str
    selection: Selection


def each_run(selection: Selection, where: str) -> list[DatedRun]:
    """The runs of a selection of all files in a directory or archive, the oldest first."""
    from shapelog.reading import run_selection

    found = {entry.name: file for file in selection.files if (entry := file.entry or _entry_below(where, file))}
    entries = [file.entry or _entry_below(where, file) for file in found.values()]
    dated = []
    for run in reversed(run_selection.group_runs([entry for entry in entries if entry], is_read=True)):
        files = sorted((found[member.entry.name] for member in run.members), key=_by_rank)
        dated.append(DatedRun(run.begin, run.began, Selection(tuple(files))))
    return dated


def directories_of_runs(path: str) -> list[str]:
    """``path`` itself; of a directory without a trace the subdirectories that have some, in order of their names."""
    where = Path(path)
    if not where.is_dir():
        return [path]
    logs, _, inner = _search(where)
    return [path] if logs else [str(where / name) for name in _with_traces(where, inner)] or [path]


def _entry_below(where: str, file: TraceFile) -> FileEntry | None:
    if file.path is None:
        return None
    return _local_entry(file.path, os.path.relpath(file.path, where) if os.path.isdir(where) else file.name, file.path.stat())


def is_large(selections: Iterable[Selection], has_workers: bool = False) -> bool:
    """Whether these are too many ranks to read each in full; with workers, any job of several ranks is."""
    ranks = {file.rank for selection in selections for file in selection.files if file.rank is not None}
    return len(ranks) > MAX_RANKS_IN_FULL or (has_workers and len(ranks) > 1)


def only_rank(selection: Selection, rank: int | None) -> Selection:
    """The files whose names have this rank, with a note; all files if no name has it."""
    files = tuple(file for file in selection.files if file.rank == rank)
    if rank is None or not files or len(files) == len(selection.files):
        return selection
    return selection._replace(files=files, notes=(f"read {', '.join(file.name for file in files)} alone",))


def _by_rank(file: TraceFile) -> tuple[bool, int, str]:
    return file.rank is None, file.rank or 0, file.name


def _chunks_of(path: Path) -> Iterator[bytes]:
    return read_chunks(path.open("rb"), close=True)


def _local_entry(path: Path, name: str, state: os.stat_result) -> FileEntry:
    def read(start: int, end: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))

    return FileEntry(
        name=name,
        size=state.st_size,
        modified=clock_time(state.st_mtime),
        chunks=partial(_chunks_of, path),
        read_range=read,
        path=path,
    )


def _select_stream(name: str, chunks: Iterable[bytes], options: InputOptions) -> Selection:
    """A stream can be read only once, so it goes through a temporary file, which grows as long as the disk has room."""
    handle, damage = to_temporary_file(chunks, UnpackQuota(name, options.max_bytes, is_requested=options.max_bytes is not None))
    entry = entry_within(handle, name, 0, handle.seek(0, os.SEEK_END), damage=damage)
    return _select_file(entry, name, options, handle)


def _select_file(entry: FileEntry, name: str, options: InputOptions, handle: BinaryIO | None = None) -> Selection:
    """One trace, or an archive, compressed or not; the content shows which."""
    quota = quota_for(name, entry.size, options.max_bytes)
    head = entry.read_range(0, HEAD) if entry.read_range else b""
    kind = archive_kind(head)
    is_compressed_tar = is_compressed(head) and archive_kind(read_head(decompress(entry.chunks(), name), HEAD)) == "tar"
    if not (kind or is_compressed_tar):
        return Selection((TraceFile(entry.path, name, _rank(entry), None if entry.path else entry, quota),))
    from shapelog.reading import archives  # most traces are in none

    if kind:
        if handle is None:
            assert entry.path
            handle = entry.path.open("rb")
        return _select_archive(archives.open_archive(name, handle, kind, quota), options)
    plain, damage = to_temporary_file(decompress(entry.chunks(), name), quota)
    archive = archives.open_archive(name, plain, "tar", quota)
    if damage:
        archive.add_problem("damaged-archive", f"{damage}, so the members after that are missing")
    return _select_archive(archive, options)


def _rank(entry: FileEntry) -> int | None:
    """The rank of a log that tlparse copied is in the name of its directory."""
    return rank_of("/".join(entry.path.absolute().parts[-2:]) if entry.path else entry.name)


def _select_url(url: str, options: InputOptions) -> Selection:
    from shapelog.reading import remote

    entry, entries = remote.find(url, options.progress, options.timeout)
    name = redacted_url(url)
    if entry is not None:
        return _select_stream(name if options.full_names else entry.base_name or name, entry.chunks(), options)
    logs = logs_among(entries)
    texts = sum(is_text_name(item.name) for item in entries)
    is_cut = texts > MOST_OPENED_REMOTELY and all(is_text_name(item.name) for item in logs)
    note = f"only the first {MOST_OPENED_REMOTELY} of {texts:,} text files in {name} were searched for output of the compiler"
    if is_cut and not logs:
        raise ShapelogError(f"{note}, and none has any; pass one of them by its own URL")
    found = _select_run(logs, entries, name, options)
    return found._replace(notes=(*found.notes, note)) if is_cut else found


def _select_archive(archive: "Archive", options: InputOptions) -> Selection:
    """Its newest run, in whatever directory of it; the only file of an archive is taken for a trace whatever its name."""
    logs = logs_among(archive.entries) or (archive.entries if len(archive.entries) == 1 else [])
    try:
        found = _select_run(logs, archive.entries, archive.name, options, archive.quota)
    except ShapelogError as error:
        loss = next((problem.message for problem in archive.problems if problem.severity == DATA_LOSS), "")
        if traces_among(archive.entries) or not loss:
            raise
        reason = str(error) if archive.entries else f"{archive.name}: nothing in this archive is readable"
        raise ShapelogError(f"{reason}; {loss}") from error
    return found._replace(problems=tuple(archive.problems))


def _select_directory(where: Path, options: InputOptions) -> Selection:
    """Its newest run. Of the directories in it, only those that tlparse and torchrun write for the ranks of a job are searched."""
    logs, entries = _logs_in(where)
    return _select_run(logs, entries, str(where), options)


def runs_in(where: Path) -> list[tuple[Path, ...]]:
    """The files of each run in a directory, the oldest run first. Raises ShapelogError where there is no trace in it."""
    from shapelog.reading.run_selection import group_runs

    filled = [entry for entry in _logs_in(where)[0] if entry.size]
    runs = group_runs(filled) if filled else []
    return [tuple(member.entry.path for member in run.members if member.entry.path) for run in reversed(runs)]


def _logs_in(where: Path) -> tuple[list[FileEntry], list[FileEntry]]:
    """The entries of a directory with the names of traces or of text logs, and all entries.

    Raises ShapelogError where only directories in it have traces: a text next to these may be anything.
    """
    logs, entries, inner = _search(where)
    if not traces_among(logs):
        _refuse_parent(where, _with_traces(where, inner[:_MAX_SEARCHED_DIRECTORIES]))
    return logs, entries


def _search(where: Path) -> tuple[list[FileEntry], list[FileEntry], list[str]]:
    """The entries of a directory with the names of traces or of text logs, all entries, and the names of the directories in it."""
    entries: list[FileEntry] = []
    inner: list[str] = []
    leading_nowhere: list[str] = []
    try:
        with os.scandir(where) as found:
            for file in found:
                with suppress(OSError):  # deleted meanwhile, or a loop of links
                    if file.is_file():
                        entries.append(_local_entry(Path(file.path), file.name, file.stat()))
                    elif file.is_dir():
                        inner.append(file.name)
                    elif file.is_symlink():
                        leading_nowhere.append(file.name)
    except OSError as error:
        raise ShapelogError(f"{where}: cannot list the directory: {error.strerror}") from error
    if not traces_among(entries):
        entries += _entries_below(where, tlparse_logs(inner))
    logs = logs_among(entries)
    if not logs and inner:
        entries += _entries_below(where, torchrun_logs(where))
        logs = traces_among(entries)
    if not entries and not inner:
        logs = [_entry_not_looked_at(where, name) for name in trace_names(leading_nowhere)]
    return logs, entries, sorted(inner)


def _entries_below(where: Path, logs: Iterable[str]) -> Iterator[FileEntry]:
    """Those of the logs in directories of ranks that are files. One that cannot be looked at is among them: opening it gives the reason."""
    for log in logs:
        try:
            state = (where / log).stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            yield _entry_not_looked_at(where, log)
        else:
            if stat.S_ISREG(state.st_mode):
                yield _local_entry(where / log, log, state)


def _entry_not_looked_at(where: Path, name: str) -> FileEntry:
    return FileEntry(name, -1, None, partial(_chunks_of, where / name), path=where / name)


def _with_traces(where: Path, inner: Sequence[str]) -> list[str]:
    """Those of the directories ``inner`` that have traces, but for links to ``where`` itself."""
    found = []
    for name in inner:
        with suppress(OSError), os.scandir(where / name) as files:
            if trace_names(file.name for file in files) and not (where / name).samefile(where):
                found.append(name)
    return found


def _refuse_parent(where: Path, found: Sequence[str]) -> None:
    """Raises ShapelogError when there are traces in the directories ``found`` of one that has none itself."""
    if len(found) == 1:
        typed = shlex.quote(str(where / found[0]))
        raise ShapelogError(f"{where}: no trace in this directory, but there is one in a subdirectory; try shapelog report {typed}")
    if found:
        listed = some(found, _MAX_NAMED_FILES)
        raise ShapelogError(
            f"{where}: no trace in this directory, but in {len(found)} subdirectories: {listed}; pass one of them, "
            f"or all of them as one job: shapelog report {shlex.quote(str(where))}/*/"
        )


def _select_run(
    traces: Sequence[FileEntry], entries: Sequence[FileEntry], where: str, options: InputOptions, quota: UnpackQuota | None = None
) -> Selection:
    """The requested run of ``traces`` among the ``entries`` of a directory or of an archive, all of whose members share one ``quota``."""
    kind = "archive" if quota else "directory"
    filled = [entry for entry in traces if entry.size]
    if not filled:
        raise ShapelogError(_why_no_trace(where, entries, traces, kind))
    from shapelog.reading import run_selection  # a file given by its name is one run

    runs = run_selection.group_runs(filled)
    chosen = run_selection.choose(runs, options.run, where, options.option)
    files = _files_of(chosen, where, options, quota)
    notes = _notes_on(files=files, runs=runs, chosen=chosen, where=where, kind=kind, option=options.option)
    empty = len(traces) - len(filled)
    if empty:
        notes.append(f"{plural(empty, 'empty file')} in that directory: those processes compiled nothing")
    return Selection(tuple(files), tuple(notes))


def _files_of(runs: "Sequence[Run]", where: str, options: InputOptions, quota: UnpackQuota | None) -> list[TraceFile]:
    """The files of these runs in order of rank; the names of few files leave their directory out where that is unambiguous."""
    entries = [member.entry for run in reversed(runs) for member in run.members]
    base_names = [entry.base_name for entry in entries]
    files = []
    for entry in entries:
        is_short = len(entries) <= _MAX_NAMED_FILES and base_names.count(entry.base_name) == 1
        name = f"{where.rstrip('/')}/{entry.name}" if options.full_names else entry.base_name if is_short else entry.name
        own = quota or quota_for(name, entry.size, options.max_bytes)
        files.append(
            TraceFile(
                path=entry.path,
                name=name,
                rank=_rank(entry),
                entry=None if entry.path else entry,
                quota=own,
                found_in="" if options.full_names else where,
            )
        )
    files.sort(key=lambda file: (file.rank is None, file.rank or 0))
    return files


def _notes_on(files: Sequence[TraceFile], runs: "Sequence[Run]", chosen: "Sequence[Run]", where: str, kind: str, option: str) -> list[str]:
    names = ", ".join(file.name for file in files[:_MAX_NAMED_FILES])
    if files[_MAX_NAMED_FILES:]:
        names = f"{len(files)} files ({names}, ...)"
    if len(chosen) > 1 or len(runs) == len(chosen) > 1:
        which = f"all {len(chosen)} runs in {where}, as one"
    elif chosen[0] is runs[0]:
        which = f"the newest run in {where}"
    else:
        which = f"the run that started {chosen[0].began} in {where}"
    notes = [f"read {names}, {which}"]
    left = sum(len(run.members) for run in runs) - len(files)
    if left:
        number, other = next((number, run) for number, run in enumerate(runs, 1) if run is not chosen[0])
        how = f"{option} {number} reads the run that started {other.began}"
        how += f", --all-runs reads all {len(runs)} runs" if option == "--run" else ""
        notes.append(f"{plural(left, 'older or other trace file')} in that {kind} not read; {how}")
    return notes


def _why_no_trace(where: str, entries: Sequence[FileEntry], traces: Sequence[FileEntry], kind: str) -> str:
    if traces:
        which = "the trace file in it is" if len(traces) == 1 else f"all {len(traces)} trace files in it are"
        return f"{where}: {which} empty: the process ended before compiling anything"
    if any(entry.base_name == "raw.jsonl" for entry in entries):
        return f"{where}: tlparse output without its raw.log, the only file with the payloads; pass the log that tlparse read"
    packed = [entry.base_name for entry in entries if is_archive_name(entry.base_name)]
    if packed:
        how = f"pass it by name: shapelog report {shlex.quote(where + '/' + packed[0])}" if kind == "directory" else "unpack it first"
        return f"{where}: no trace in this {kind}, only an archive ({packed[0]}); {how}"
    if entries:
        held = some([entry.name for entry in entries], _MAX_NAMED_FILES)
        return f"{where}: no trace in this {kind} (files are named dedicated_log_torch_trace_*.log), only {held}; {HOW_TO_RECORD}"
    return f"{where}: no file is in this {kind}; a trace appears when a compiled function is first called; {HOW_TO_RECORD}"
