"""Tracebacks as IPython, rich, pytest and exception groups print them → as Python prints them, which is all that is read further on."""

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.source_names import is_compiler
from shapelog.reading.text_logs.lines.exception_names import ANY_OF_MODULES, NAMES
from shapelog.reading.text_logs.lines.surroundings import as_printed, is_fence, without_colors, without_launcher

HEADING = "Traceback (most recent call last):"
_HEADS = re.compile(r"Traceback \(most recent call last\)")
# How far a traceback is looked for its end, or a function for its first line.
_MOST_LINES, _MOST_ABOVE = 4_000, 1_000
# Lines of a frame that IPython shows.
_LONGEST_FRAME = 30
# What pytest sums up is right below what it has printed.
_MOST_BETWEEN = 100

# ``Cell In[1], line 10``, ``Input In [3], in <cell line: 5>()``, ``<ipython-input-3-1f> in f(x)``, ``File ~/a.py:5, in f(x)``,
# ``~/a.py in f(x)``, and below it the line with an arrow in front.
_OF_IPYTHON = re.compile(r"(?P<type>\w{1,80}) {2,200}Traceback \(most recent call last\)$")
IN_FILE = re.compile(
    r"(?:(?P<cell>(?:Cell |Input )?In ?\[\d{1,9}\])(?:, line (?P<row>\d{1,9}))?|(?P<old><ipython-input-[\w-]{1,40}>)"
    r"|File (?P<file>[^\s\"].{0,1000}?):(?P<line>\d{1,9})|(?P<path>(?:[~/]|[A-Z]:\\)\S{0,1000}\.py))"
    r"(?:,? in (?P<name><[^<>]{1,80}>|\w[\w.]{0,400}(?:<\w{1,40}>[\w.]{0,400}){0,9}).*)?$"
)
ARROW = re.compile(r"-{1,20}> ?(?P<line>\d{1,9}) ?(?P<code>.*)$")
# ``> File "train.py", line 21, in run`` is the frame that caught the exception.
_CAUGHT = re.compile(r"(?:> |  )?(File \"[^\"]{1,1000}\", line \d{1,9}, in \S.*)$")
# ``  traceback : Traceback (most recent call last):``
_IN_FIELD = re.compile(r" *\w{1,40} *: Traceback \(most recent call last\):\s*$")
_FRAME = re.compile(r"(?P<margin> *)  File \"")
# A frame of a stack, also one that lost its margin; and an exception of any class but the compiler's own, which are known without a stack.
_IN_STACK = re.compile(r" *File \"(?P<file>[^\"]{1,1000})\", line \d{1,9}, in \S")
_OTHER_RAISED = re.compile(rf"(?!{ANY_OF_MODULES}|{NAMES}\b)(?:\w{{1,80}}\.){{0,8}}[A-Z]\w{{0,80}}(?:Error|Exception)(?:: |$)")
# ``>       return model(x)`` and below it ``train.py:21: ``, perhaps with the class of the exception, or ``train.py:21: in run`` and
# below it the code; what the exception printed, with a sign in front; what is between two frames, and around them all.
_POINTED = re.compile(r"> {3,200}(?P<code>\S.*)$")
_AT = re.compile(
    r"(?P<file>(?:[A-Za-z]:)?[^:\n]{0,1000}?(?:\.pyx?(?::\w{1,80}\(\w{1,80}\))?|>(?:\.\d{1,9})?)):(?P<line>\d{1,9}):"
    r"(?: in (?P<name>\S{1,400})| (?P<type>[\w.]{1,400})(?P<message>: .*)?)?\s*$"
)
_DEFINED = re.compile(r" {4}(?:async )?def (?P<name>\w{1,400})")
_PRINTED_IN = "E   "
_PRINTED = re.compile(r"E(?:   |\s*$)")
_LOGGED = re.compile(r"[VDIWEC]\d{4} \d\d:")
_SIGN = re.compile(r"(?:^| )(E {0,7})$")
_INDENTED = re.compile(r"(?P<margin> {1,40})E {3,200}[\w.]{1,400}(?::|$)")
_RAISED = re.compile(r"(?:\w{1,80}\.){0,8}[A-Z]\w{0,80}(?::|$)")
_BETWEEN = re.compile(r"(?:_ ){3,400}_?\s*$")
_CHAINS = re.compile(r"(?:The above exception was|During handling of) ")
_AROUND = re.compile(r"[_=-]{3,400} .{1,400} [_=-]{3,400}\s*$")
_CAPTURED = re.compile(r"-{2,400} Captured \w{1,20} \w{1,20} -{2,400}\s*$")
_SUMMARY = re.compile(r"=+ short test summary info =+\s*$")
_SUMMED = re.compile(r"(?:FAILED|ERROR) \S")
# A box with ``train.py:21 in run``, which may go on in the next line, or ``in run:21`` for a cell of a notebook, and a sign in front of
# the line; below it is the exception, in as many columns.
_BOX = re.compile(r"\s*[\u256d+][\u2500-]{1,400} Traceback \(most recent call last\) [\u2500-]{1,400}[\u256e+]\s*$")
_SIDES, _CORNERS, _GUIDES = "\u2502|", "\u2570\u256f+", "\u2502| "
_IN_BOX = re.compile(r"(?P<file>\S.{0,1000}?):(?P<line>\d{1,9}) in (?P<name>\S{1,400})$|in (?P<only>\S{1,400}):(?P<at>\d{1,9})$")
_MARKED = re.compile(r"[\u2771>] {1,20}\d{1,9} ?(?P<code>.*)$")
_NUMBERED = re.compile(r"\d{1,9}(?: |$)")
_MOST_OF_PLACE, _MOST_BROKEN = 4, 60
_BEGINS = re.compile(
    r"[VDIWEC]\d{4} |\[?(?:rank\d|\d{4}-)|\u256d|Traceback|File |(?:The above|During handling)|[\w.]{1,200}(?:Error|Warning): "
)


class _Frame(NamedTuple):
    """A line of a traceback: its file, its number, its function, and its code where that is there."""

    file: str
    line: str
    name: str
    code: str = ""

    @property
    def as_printed(self) -> list[str]:
        """As Python prints it."""
        at = f'  File "{self.file}", line {self.line}, in {self.name}'
        return [at, f"    {self.code}"] if self.code else [at]


class _LineWithLead(NamedTuple):
    """A line as it is in the text, what is in front of it, and what is behind that."""

    raw: str
    lead: str
    text: str

    def indented(self, margin: str) -> "_LineWithLead":
        """The same where a margin is in front of it as well."""
        return self._replace(lead=self.lead + margin, text=self.text.removeprefix(margin))


class _Part(NamedTuple):
    """Some lines as Python prints them, in place of those from ``begin`` to ``end``; None where these stay as they are."""

    begin: int
    end: int
    lines: Sequence[str] | None


def as_python_prints(text: str) -> str:
    """A text with its tracebacks as Python prints them."""
    readers = [reader for sign, reader in _READERS if sign in text]
    if not readers:
        return text
    pairs = _in_order(_with_leads(text.split("\n"), has_tests=_PRINTED_IN in text))
    raw, lines = [line.raw for line in pairs], [line.text for line in pairs]
    written: list[str] = []
    at = least = below_box = columns = 0
    while at < len(lines):
        part = next(filter(None, (reader(lines, at) for reader in readers)), _Part(at, at + 1, None))
        if part.lines is None and below_box < at < below_box + _MOST_BROKEN and _is_broken(columns, lines[at - 1], lines[at]):
            written[-1] = _joined(written[-1], lines[at - 1], lines[at], columns)
            least = at + 1
        elif part.lines is None:
            written += raw[at : part.end]
        else:
            begin = max(part.begin, least)
            del written[len(written) - (at - begin) :]
            written += (f"{pairs[at].lead}{line}" for line in part.lines)
            least = below_box = part.end
            columns = len(lines[at].strip()) if _BOX.match(lines[at]) else 0
        at = part.end
    return "\n".join(written)


def _with_leads(lines: Iterable[str], has_tests: bool) -> list[_LineWithLead]:
    """The lines, each without what its launcher wrote in front of it, and without what indents all of a report of pytest's."""
    found = [(_pointed(line) if has_tests else None) or _with_lead(line) for line in lines]
    margin = next((sign["margin"] for line in found if (sign := _INDENTED.match(line.text))), "")
    if not margin:
        return found
    return [line.indented(margin) if line.text.startswith(margin) else line for line in found]


def _pointed(line: str) -> _LineWithLead | None:
    """A line of code in a report of pytest's, of which the sign is not that of a quote."""
    plain = without_colors(line)
    plain = html.unescape(plain) if "&gt;" in plain else plain
    return _LineWithLead(line, "", plain) if _POINTED.match(plain.lstrip(" ")) else None


def _with_lead(line: str) -> _LineWithLead:
    """A line, of which the sign of pytest's is not what one of a launcher's looks like."""
    printed = as_printed(line)
    rest = without_launcher(printed)
    lead = printed[: len(printed) - len(rest)]
    sign = _SIGN.search(lead)
    return _LineWithLead(line, lead[: sign.start(1)], f"{sign[1]}{rest}") if sign else _LineWithLead(line, lead, rest)


def _in_order(lines: Iterable[_LineWithLead]) -> list[_LineWithLead]:
    """The lines with what a test printed above its exception, and not below, where pytest has it."""
    ordered: list[_LineWithLead] = []
    exception: list[_LineWithLead] = []
    is_test = is_captured = False
    for line in lines:
        if _CAPTURED.match(line.text) and is_test:
            is_captured = True
        elif is_fence(line.text) or _AROUND.match(line.text):
            ordered += exception
            exception = []
            is_test, is_captured = line.text.startswith("_"), False
        (exception if is_test and not is_captured else ordered).append(line)
    return ordered + exception


def frame_of_ipython(place: re.Match[str], arrow: re.Match[str] | None) -> _Frame:
    """A frame by the heading that IPython gives it, and the line below with an arrow."""
    file = place["cell"] or place["old"] or place["file"] or place["path"]
    line = arrow["line"] if arrow else place["row"] or place["line"] or "0"
    name = (place["name"] or "").rpartition(".")[2]  # without what the function is in, as Python names it
    is_module = not name or name.startswith("<cell line")
    return _Frame(file, line, "<module>" if is_module else name, arrow["code"].strip() if arrow else "")


def _of_ipython(lines: Sequence[str], at: int) -> _Part | None:
    heading = _OF_IPYTHON.match(lines[at].strip())
    if heading is None:
        return None
    margin = len(lines[at]) - len(lines[at].lstrip())
    raised = re.compile(rf"(?:\w{{1,80}}\.){{0,8}}{heading['type']}(?::|$)")
    found = _down_to(raised, lines, at + 1, margin)
    return _Part(at, found[0], [lines[at][:margin] + line for line in _as_printed(found[1])]) if found else None


def _of_cut_ipython(lines: Sequence[str], at: int) -> _Part | None:
    """A stack of IPython's through the compiler whose heading is not in the text, down to its exception."""
    if (
        not _is_frame_with_file(lines[at])
        or _goes_on_with_frame(lines, at)
        or any(_OF_IPYTHON.match(line.strip()) for line in lines[max(0, at - _MOST_LINES) : at])
    ):
        return None
    found = _down_to(_OTHER_RAISED, lines, at, margin=0)
    passes = found is not None and any(is_compiler(frame.file) for frame in found[1])
    return _Part(at, found[0], _as_printed(found[1])) if found and passes else None


def _is_frame_with_file(line: str) -> bool:
    found = IN_FILE.match(line)
    return found is not None and bool(found["file"])


def _goes_on_with_frame(lines: Sequence[str], at: int) -> bool:
    """Whether a frame follows another one of the same stack, from which that is read already: each line is looked at few times."""
    for line in reversed(lines[max(0, at - _LONGEST_FRAME) : at]):
        if is_fence(line) or _HEADS.search(line) or _OTHER_RAISED.match(line):
            return False
        if _is_frame_with_file(line):
            return True
    return False


def _down_to(raised: re.Pattern[str], lines: Sequence[str], begin: int, margin: int) -> tuple[int, list[_Frame]] | None:
    """Where the exception below the frames of IPython's is, and these; None where the stack ends without it."""
    frames: list[_Frame] = []
    place: re.Match[str] | None = None
    for end in range(begin, min(len(lines), begin + _MOST_LINES)):
        line = lines[end][margin:]
        if raised.match(line):
            return end, [*frames, *([frame_of_ipython(place, None)] if place else [])]
        if _HEADS.search(line) or is_fence(line):
            break
        if found := IN_FILE.match(line):
            frames += [frame_of_ipython(place, None)] if place else []
            place = found
        elif place and (arrow := ARROW.match(line)):
            frames.append(frame_of_ipython(place, arrow))
            place = None
    return None


def _of_loguru(lines: Sequence[str], at: int) -> _Part | None:
    """The frames with a sign at the one that caught the exception, perhaps with an empty line above each and values of names below it."""
    first = at + 2 if at + 1 < len(lines) and not lines[at + 1].strip() else at + 1
    if lines[at] != HEADING or first >= len(lines) or not _CAUGHT.match(lines[first]):
        return None
    written = [HEADING]
    is_own, is_code = first == at + 2, False
    for end in range(first, min(len(lines), at + _MOST_LINES)):
        line = lines[end]
        frame = _CAUGHT.match(line)
        if not frame and line[:1].strip():
            return _Part(at, end, written) if is_own else None
        is_own = is_own or not line.startswith("  ")
        is_kept = is_code or not line.strip(" ^~")
        written += [f"  {frame[1]}"] if frame else [line] if is_kept and line.strip() else []
        is_code = frame is not None
    return None


def _of_field(lines: Sequence[str], at: int) -> _Part | None:
    """What torchrun reports of a process in a field, with the margin of that from the second line on."""
    first = _IN_FIELD.match(lines[at])
    below = _FRAME.match(lines[at + 1]) if first and at + 1 < len(lines) else None
    if below is None or not below["margin"]:
        return None
    end = at + 1
    while end < min(len(lines), at + _MOST_LINES) and (not lines[end].strip() or lines[end].startswith(below["margin"])):
        end += 1
    return _Part(at, end, [HEADING, *(line.removeprefix(below["margin"]) for line in lines[at + 1 : end])])


def _of_cut_stack(lines: Sequence[str], at: int) -> _Part | None:
    """A stack through the compiler or compiled code whose heading is not in the text, down to its exception."""
    if not _IN_STACK.match(lines[at]):
        return None
    end = at
    while end < min(len(lines), at + _MOST_LINES) and (lines[end].startswith("  ") or _IN_STACK.match(lines[end])):
        end += 1
    is_headed = at > 0 and _HEADS.search(lines[at - 1]) is not None
    is_whole = end < len(lines) and _OTHER_RAISED.match(lines[end]) is not None
    passes = any(is_compiler(frame["file"]) for line in lines[at:end] if (frame := _IN_STACK.match(line)))
    return _Part(at, end, [HEADING, *lines[at:end]] if passes and is_whole and not is_headed else None)


def _of_pytest(lines: Sequence[str], at: int) -> _Part | None:
    """The frames of a test that failed: the code of each and its place below that, or the other way round."""
    first = _AT.match(lines[at])
    if not (_POINTED.match(lines[at]) or _PRINTED.match(lines[at]) or (first and first["name"])):
        return None
    begin = _above(lines, at)
    frames: list[_Frame] = []
    name = code = ""
    is_open = first is None
    end = begin
    while end < min(len(lines), at + _MOST_LINES):
        line = lines[end]
        if _PRINTED.match(line):
            return _raised_by_test(lines, (begin, end), frames, name, code)
        found, pointed = _AT.match(line), _POINTED.match(line)
        is_other = line[:1].strip() != "" and not (is_open or found or pointed or _BETWEEN.match(line))
        if end > at and (is_other or is_fence(line) or _HEADS.search(line) or _AROUND.match(line) or _LOGGED.match(line)):
            break
        if found and found["name"]:
            below = lines[end + 1].strip() if end + 1 < len(lines) else ""
            frames.append(_Frame(found["file"], found["line"], found["name"], below))
        elif found and code:
            frames.append(_Frame(found["file"], found["line"], name or "<module>", code))
        elif pointed:
            code = pointed["code"].strip()
        elif not name and (defined := _DEFINED.match(line)):
            name = defined["name"]
        if found:
            name = code = ""
        is_open = (is_open or _BETWEEN.match(line) is not None) and found is None
        end += 1
    return _Part(at, max(end, at + 1), None)


def _above(lines: Sequence[str], at: int) -> int:
    """Where the code above a line begins: at what pytest prints between two frames, else at the function."""
    begin = at
    for number in range(at - 1, max(-1, at - _MOST_ABOVE), -1):
        line = lines[number]
        if _BETWEEN.match(line) or _CHAINS.match(line):
            return number + 1
        if is_fence(line) or any(form.match(line) for form in (_AROUND, _PRINTED, _AT, _LOGGED)):
            break
        begin = number if _DEFINED.match(line) else begin
    return begin


def _raised_by_test(lines: Sequence[str], place: tuple[int, int], frames: list[_Frame], name: str, code: str) -> _Part | None:
    """The same with its exception, from the line where the test begins and the one where that does."""
    begin, at = place
    margin = len(lines[at]) - len(lines[at][1:].lstrip())
    end = at + 1
    while end < len(lines) and _PRINTED.match(lines[end]):
        end += 1
    if end == at + 1:  # with --tb=line, the sign is in front of the first line alone
        while end < min(len(lines), at + _MOST_ABOVE) and lines[end].startswith(" " * margin):
            end += 1
    printed = [re.sub(rf"^[E ] {{0,{margin - 1}}}", "", line) for line in lines[at:end]]
    if not _RAISED.match(printed[0]):
        return _Part(begin, end, None)
    last = next((number for number in (end, end + 1) if number < len(lines) and lines[number].strip()), at)
    found = _AT.match(lines[last])
    if found and code and not found["name"]:
        frames = [*frames, _Frame(found["file"], found["line"], name or "<module>", code)]
        end = last + 1
    return _Part(begin, end, [*(_as_printed(frames) if frames else ()), *printed])


def _summed_up(lines: Sequence[str], at: int) -> _Part | None:
    """What pytest sums up of the exceptions that it has printed above."""
    raised = _AT.match(lines[at])
    is_repeated = raised is not None and raised["message"] is not None and not raised["type"].endswith("Warning")
    above = lines[max(0, at - _MOST_BETWEEN) : at] if is_repeated or _SUMMARY.match(lines[at]) else ()
    if not any(_HEADS.search(line) or _PRINTED.match(line) for line in above):
        return None
    if is_repeated:
        return _Part(at, at + 1, [])
    end = at + 1
    while end < len(lines) and _SUMMED.match(lines[end]):
        end += 1
    return _Part(at, end, [lines[at]])


def _of_rich(lines: Sequence[str], at: int) -> _Part | None:
    """The frames in a box, of which each has its place on one line or two, and a sign in front of its line."""
    if not _BOX.match(lines[at]):
        return None
    columns = len(lines[at].strip())
    frames: list[_Frame] = []
    place: list[str] = []
    for end in range(at + 1, min(len(lines), at + _MOST_LINES)):
        row = lines[end].strip()
        if not row or row[0] not in _SIDES or row[-1] not in _SIDES:
            end += row[:1] in _CORNERS and row[-1:] in _CORNERS
            message = list(_in_margin(lines, end, lines[at][: lines[at].index(lines[at].strip())]))
            written = [*_as_printed(frames), *_whole(message, columns)]
            return _Part(at, end + len(message), written) if frames else _Part(at, at + 1, None)
        text = row[1:-1].strip()
        if pointed := _MARKED.match(text):
            frames[-1:] = [frame._replace(code=pointed["code"].lstrip(_GUIDES)) for frame in frames[-1:]]
            place = []
        elif not text:
            place = []
        elif len(place) < _MOST_OF_PLACE:
            place.append(text if len(text) + 4 < columns else f"{text}\0")
            whole = " ".join(place).replace("\0 ", "").rstrip("\0")
            if found := _IN_BOX.match(whole) or _IN_BOX.match(text):
                is_inside = any("-packages" in frame.file for frame in frames)
                file = found["file"] or ("<string>" if is_inside else "<cell>")
                frames.append(_Frame(file, found["line"] or found["at"], found["name"] or found["only"]))
            if found or _NUMBERED.match(text):
                place = []
    return _Part(at, at + 1, None)


def _in_margin(lines: Sequence[str], begin: int, margin: str) -> Iterator[str]:
    """The lines below a box that is indented, as far as they are as well, without what fills them up."""
    for line in lines[begin : begin + _MOST_BROKEN] if margin else ():
        if _BOX.match(line) or (line.strip() and not line.startswith(margin)):
            break
        yield line[len(margin) :].rstrip()


def _whole(lines: Iterable[str], columns: int) -> list[str]:
    """The lines without the breaks that a box of so many columns made."""
    whole: list[str] = []
    last = ""
    for number, line in enumerate(lines):
        if number and _is_broken(columns, last, line):
            whole[-1] = _joined(whole[-1], last, line, columns)
        else:
            whole.append(line)
        last = line
    return whole


def _joined(begun: str, last: str, line: str, columns: int) -> str:
    """What the last line ends, with the next one; there is no blank in a word that is longer than a line."""
    is_word = " " not in last.strip() and len(last.rstrip()) == columns
    return f"{begun.rstrip()}{'' if is_word else ' '}{line}"


def _is_broken(columns: int, line: str, after: str) -> bool:
    """Whether the next word would have been too long for a line of so many columns, below a box that is as wide."""
    word = after.split(None, 1)[0] if after[:1].strip() else ""
    is_sentence = word[:1].isupper() and word[1:2].islower() and not line.endswith(" ")  # which a line of its own may be
    is_full = bool(line.strip()) and len(line) <= columns < len(line.rstrip()) + 1 + len(word)
    return bool(word) and is_full and not is_sentence and not _BEGINS.match(after)


def _as_printed(frames: Iterable[_Frame]) -> list[str]:
    return [HEADING, *(text for frame in frames for text in frame.as_printed)]


_READERS: tuple[tuple[str, Callable[[Sequence[str], int], _Part | None]], ...] = (
    ("  Traceback (most", _of_ipython),
    ("-> ", _of_cut_ipython),
    (" Traceback (most recent call last) ", _of_rich),
    ("> File ", _of_loguru),
    (": Traceback (most recent call last):", _of_field),
    ('File "', _of_cut_stack),
    (_PRINTED_IN, _of_pytest),
    ("= short test summary info =", _summed_up),
)
