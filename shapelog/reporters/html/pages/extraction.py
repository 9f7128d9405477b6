"""The index of extracted payloads as a page next to them: functions, their compilations, and a link to each file."""

import base64
import hashlib
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from shapelog import __version__
from shapelog.extract.extraction import ExtractedCompile, ExtractedFile, Extraction
from shapelog.reporters import Options
from shapelog.reporters.html.environment import environment
from shapelog.resources import template_dir
from shapelog.text import file_name, file_size, one_line


class FileLink(NamedTuple):
    """A file: where it leads from the page, and its name there. ``attempt`` is set for an attempt before the last."""

    href: str
    name: str
    title: str
    size: str
    attempt: str
    problem: str


class CompileFiles(NamedTuple):
    """A compilation, and its files."""

    label: str
    outcome: str
    seconds: float
    anchor: str
    files: tuple[FileLink, ...]


class FunctionSection(NamedTuple):
    """The compilations of one function of one rank."""

    title: str
    place: str
    compiles: tuple[CompileFiles, ...]


class ProcessSection(NamedTuple):
    """What one rank or process compiled; ``title`` is "" where there is only one."""

    title: str
    functions: tuple[FunctionSection, ...]
    outside: tuple[FileLink, ...]


def render_extraction(extraction: Extraction, options: Options) -> bytes:
    """The page, in UTF-8. It has no script; its links are relative, so the directory can be moved."""
    style = "".join((template_dir() / "assets" / name).read_text(encoding="utf-8") for name in ("report.css", "extraction.css"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = environment(one_line_values).get_template("extraction.html.j2")
    text = page.render(
        extraction=extraction,
        processes=_sections(extraction),
        total=file_size(sum(file.size for file in extraction.files)),
        css=Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        version=__version__,
    )
    return text.encode("utf-8", "replace")


def one_line_values(value: object) -> object:
    """What a template prints: text of the trace without control characters."""
    return one_line(value) if type(value) is str else value


def _sections(extraction: Extraction) -> tuple[ProcessSection, ...]:
    are_several = len(extraction.processes) > 1
    return tuple(
        ProcessSection(
            title=(f"rank {item.rank}" if item.rank is not None else f"process {item.process}") if are_several else "",
            functions=tuple(
                FunctionSection(title, f"{file_name(file)}:{line}" if file else "", tuple(_row(compile) for compile in compiles))
                for (_, title, file, line), compiles in groupby(item.compiles, _function)
            ),
            outside=tuple(_link(file, item.directory) for file in item.outside),
        )
        for item in extraction.processes
    )


def _function(compile: ExtractedCompile) -> tuple[str, str, str, int]:
    """What the compilations of one frame have in common."""
    return compile.label.partition("/")[0], compile.function, compile.file, compile.line


def _row(compile: ExtractedCompile) -> CompileFiles:
    files = tuple(_link(file, compile.directory) for file in compile.files)
    return CompileFiles(compile.label, compile.outcome, compile.seconds, quote(compile.directory), files)


def _link(file: ExtractedFile, directory: str) -> FileLink:
    inner = file.path.removeprefix(f"{directory}/")
    attempt, _, name = inner.rpartition("/")
    return FileLink(
        href=quote(file.path),
        name=name,
        title=file.title,
        size=file_size(file.size),
        attempt=attempt.replace("_", " ") if attempt.startswith("attempt_") else "",
        problem=file.problem,
    )
