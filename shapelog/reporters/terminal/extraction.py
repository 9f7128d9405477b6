"""What was extracted, in a terminal: how much, where to begin, and what is incomplete."""

from collections import Counter

from shapelog.errors import INFO
from shapelog.extract.extraction import Extraction
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import file_size, plural, some

_MOST_PATHS = 2


def render_extraction(extraction: Extraction, options: Options) -> bytes:
    page = TextPage(options, "--verbose")
    files = extraction.files
    where = extraction.directory.rstrip("/")
    total = file_size(sum(file.size for file in files))
    page.line((plural(len(files), "file"), "bold"), f" ({total}) of {plural(extraction.compile_count, 'compilation')} in {where}")
    page.line("open ", (f"{where}/index.html", "cyan"), " in a browser; for programs: ", (f"{where}/index.json", "cyan"))
    if page.verbose:
        page.heading("Files by kind")
        for kind, count in Counter(file.title for file in files).most_common():
            page.line(f"{count:6}  {kind}")
    faults = _faults(extraction)
    if faults:
        page.heading("Incomplete or missing")
        for text in page.listed(faults, "entry"):
            page.line(text, indent=2)
    return page.bytes()


def _faults(extraction: Extraction) -> list[str]:
    """What is wrong, a line for each; files with the same problem are counted."""
    damaged: dict[str, list[str]] = {}
    for file in extraction.files:
        if file.problem:
            damaged.setdefault(file.problem, []).append(file.path)
    faults = [f"{some(paths, _MOST_PATHS)}: {problem}" for problem, paths in damaged.items()]
    faults += [f"{item.file}: {item.name or item.kind} at byte {item.offset}: {item.reason}" for item in extraction.left_out]
    return faults + [f"{item.place}: {item.message}" for item in extraction.problems if item.severity != INFO]
