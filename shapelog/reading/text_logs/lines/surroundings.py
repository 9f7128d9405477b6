"""What terminals, launchers, web pages and people add to the lines of a log: colors, quotes, times, processes, characters."""

import html
import re

from shapelog.reading.text_logs.lines.exports import message_in

# What is read of one line; a longer one is cut there.
LONGEST_LINE = 1 << 16
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,999}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>A-Z])")
_QUOTE = re.compile(r"[ \t]{0,8}(?:> ?){1,9}")
_QUOTED_LINE = re.compile(r"\n[ \t]{0,8}>")
_PROGRESS = re.compile(r"\s*\b\d{1,3}%\|[^|\n]{0,400}\|[^\[\n]{0,80}\[[^\]\n]{0,99}\] ?")
# Behind the first of equal lines of several workers, which Ray shows once.
_REPEATED = re.compile(r" ?\[repeated \d{1,9}x across cluster\](?: \(Ray deduplicates logs by default\.[^()]*\))?")
_CLUSTER = "x across cluster]"
# A path that an editor or a page made a link of, in Markdown.
_LINK = re.compile(r"\[([^\[\]\n]{1,400})\]\((?:https?|file|vscode)[^()\s]{0,2000}\)?")
_BREAKS = ("<br>", "<br/>", "<br />")
_ENTITIES = ("&lt;", "&gt;", "&amp;", "&quot;", "&nbsp;", "&#")
# What word processors and chats write for the characters of a log.
_CHARACTERS = {"\xa0": " ", "\u2002": " ", "\u2003": " ", "\u202f": " ", "\u200b": "", "\u2011": "-"}
_QUOTATION_MARKS = {"'": "\u2018\u2019", '"': "\u201c\u201d"}
_RARE = re.compile(f"[{''.join((*_CHARACTERS, *_QUOTATION_MARKS.values()))}]")
_TO_ASCII = str.maketrans(_CHARACTERS)
# In front of a line: torchrun, mpirun, srun, Ray and vLLM, the loggers of vLLM, Docker Compose, CI systems and kubectl, journald, pytest.
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
_LAUNCHER = re.compile(
    r"(?:(?:[ \t]{0,8}(?=[(\[]))?(?:\[rank ?\d{1,6}\]: ?|\[default\d{1,6}\]: ?|\[\d{1,6},\d{1,6}\]<std(?:out|err)>: ?"
    r"|\([A-Za-z][\w.:-]{0,60} [^()\n]{0,60}?\bpid=\d{1,9}[^()\n]{0,60}\) ?|\[\d\d:\d\d:\d\d(?:\.\d{1,9})?\]:? "
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]? "
    rf"(?:[-|] (?:[\w.]{{1,80}} [-|] )?{_LEVEL} {{0,4}}[-|] (?:[\w.:<>]{{1,80}} [-|] )?|\[{_LEVEL}\] )?)"
    rf"|{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d \[[\w./-]{{1,80}}:\d{{1,6}}\] ?"
    r"|\d{1,4}: (?=\S|  )|[A-Za-z][\w.-]{0,60} {1,20}\| |E {7}|E (?=torch\.)|E$"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,80} [\w./-]{1,80}(?:\[\d{1,9}\])?: )"
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[\w-]{0,20}\s*$")


def as_printed(line: str) -> str:
    """A line of a file without what was added to its characters: colors, quotes, entities of HTML, typographic quotes and blanks."""
    line = line[:LONGEST_LINE]
    if line.startswith(('{"', '{ "')):
        line = message_in(line)
    line = without_colors(line)
    if "%|" in line:
        line = _PROGRESS.sub("", line)
    if _CLUSTER in line:
        line = _REPEATED.sub("", line)
    if line.endswith(_BREAKS):
        line = line.rpartition("<")[0]
    if "&" in line and any(map(line.__contains__, _ENTITIES)):
        line = html.unescape(line)
    if "](" in line:
        line = _LINK.sub(r"\1", line)
    if not line.isascii() and _RARE.search(line):
        line = line.translate(_TO_ASCII)
        for mark, others in _QUOTATION_MARKS.items():
            if mark not in line:
                line = line.replace(others[0], mark).replace(others[1], mark)
    if line[:1] in ("", ">", " ", "\t", "\r", "\ufeff") or line[-1:] == "\r":
        line = line.removeprefix("\ufeff").strip("\r")
        quote = _QUOTE.match(line)
        line = line[quote.end() :] if quote else line
    return line


def without_colors(line: str) -> str:
    """A line without the codes for a terminal."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def is_as_printed(text: str) -> bool:
    """Whether ``as_printed`` leaves every line of a text as it is; then it need not be asked for each."""
    return (
        text[0] not in ">\ufeff{"
        and not any(mark in text for mark in ("\r", "\x1b", "\n>", '\n{"', '\n{ "', "<br", "%|", "](", _CLUSTER))
        and not ((" >" in text or "\t>" in text) and (_QUOTE.match(text) or _QUOTED_LINE.search(text)))
        and ("&" not in text or not any(map(text.__contains__, _ENTITIES)))
        and (text.isascii() or not _RARE.search(text))
    )


def without_launcher(line: str) -> str:
    """A line without what its launcher wrote in front of it."""
    for _ in range(4):
        found = _LAUNCHER.match(line)
        if found is None:
            break
        line = line[found.end() :]
    return line


def is_progress(raw: str, line: str) -> bool:
    """Whether a line is a progress bar and nothing else; ``raw`` is the line as it is in the file."""
    return "%|" in raw and not line.strip()


def is_fence(line: str) -> bool:
    """Whether a line begins or ends a block of code, as Markdown marks them."""
    return _FENCE.match(line) is not None


def is_heading(line: str) -> bool:
    """Whether a line is a heading in Markdown."""
    return re.match(r"\s*#{1,6} \S", line) is not None
