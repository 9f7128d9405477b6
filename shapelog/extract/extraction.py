"""What ``shapelog extract`` wrote, file by file, and what it left out."""

from typing import NamedTuple

from shapelog.errors import INFO, Problem


class ExtractedFile(NamedTuple):
    """A payload as a file. ``path`` is relative to the output directory, with slashes; ``size`` is that of the file, in bytes.

    ``kind`` and ``name`` are those of its record, ``name`` "" for a kind that has none. ``digest`` is the MD5 that the trace states for the
    payload, "" where it states none, as for files that are made of several records. ``is_verbatim`` is False where lines were
    added so that it runs, or where it is made of headers. ``problem`` is in what way it may be incomplete, "" if it is whole.
    """

    path: str
    kind: str
    name: str
    attempt: int
    size: int
    digest: str = ""
    is_verbatim: bool = True
    problem: str = ""

    @property
    def title(self) -> str:
        """What it is called in lists: the name of an artifact, else its kind."""
        return self.name or self.kind


class LeftOut(NamedTuple):
    """A payload that was not written: its record, where that begins (in bytes from the start of the file), and the reason."""

    kind: str
    name: str
    compile: str
    file: str
    offset: int
    reason: str


class ExtractedCompile(NamedTuple):
    """The files of one compilation. ``function``, ``file`` and ``line`` are those of its frame, "" and 0 where they are not known."""

    label: str
    directory: str
    function: str
    file: str
    line: int
    outcome: str
    seconds: float
    attempts: int
    files: tuple[ExtractedFile, ...]


class ExtractedProcess(NamedTuple):
    """The files of one rank or process; ``directory`` is "" where it is the output directory itself.

    ``outside`` belong to no compilation.
    """

    rank: int | None
    process: int
    directory: str
    compiles: tuple[ExtractedCompile, ...]
    outside: tuple[ExtractedFile, ...]

    @property
    def files(self) -> tuple[ExtractedFile, ...]:
        return (*(file for compile in self.compiles for file in compile.files), *self.outside)


class Extraction(NamedTuple):
    """Everything that was written to ``directory``. ``processes`` are in the order in which their files were read.

    ``notes`` are for the user; ``problems`` are those of the trace;
    ``unreadable`` the reasons why files of it could not be read at all, and what was asked for and is not there.
    """

    trace: str
    torch_version: str
    directory: str
    processes: tuple[ExtractedProcess, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    unreadable: tuple[str, ...] = ()
    is_complete: bool = True

    @property
    def files(self) -> tuple[ExtractedFile, ...]:
        return tuple(file for process in self.processes for file in process.files)

    @property
    def compile_count(self) -> int:
        return sum(len(process.compiles) for process in self.processes)

    @property
    def has_problems(self) -> bool:
        return any(problem.severity != INFO for problem in self.problems)
