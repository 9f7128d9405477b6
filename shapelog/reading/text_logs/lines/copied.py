"""A text that somebody pasted, without what a terminal, a mail, a page or a source made of its lines: breaks, margins, comments."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise

_FEW = 3
# How wide terminals and mails are.
_NARROWEST, _WIDEST, _WIDEST_OF_WORDS = 50, 300, 140
# The head of PyTorch's logging, a blank line, the id of a compile.
_HEADED = re.compile(
    r"(?:(?:.{0,60}[^\w\n])?[VDIWEC]\d{4} \d\d:\d\d:|\[\d{4}-\d\d-\d\d |\[\d+/\d"
    r"| ?[^\s\[\]]{0,200}torch(?:dynamo|inductor)?[/.\\]\w\S*(?:\.py:\d+\] \[|: \[[A-Z]))"
)
_BEGINS_HEAD = re.compile(r"\b[VDIWEC]\d{4} \d\d:\d\d:[\d.]* +\d+ [^\s\]]*$")
_HEAD_ALONE = re.compile(r"\] \[__\w+\]\s+$")
# The head of a line in part; the id of the compile follows.
_IN_HEAD = re.compile(r"\.py:\d+\]$")
_BEGINS_ANEW = re.compile(rf"\s*$|{_HEADED.pattern}|Traceback \(most recent|\s*(?:`{{3}}|~{{3}})")
# A line of a log of PyTorch's that a terminal or a mail broke, and what goes on below it.
_IN_FRAME = re.compile(r'\s*File "[^"]+",?$'), re.compile(r"line \d+, in ")
_OF_STACK = re.compile(r'\s*File "|Traceback \(most recent')
# What only a whole log of one kind has in common: lines of a table, of a list, messages that are repeated.
_SAME, _DIGIT = 12, re.compile(r"\d")
_OPENING, _CLOSING = tuple("([{"), tuple(")]},;:.")
# How far Markdown wants a block of code indented that has no fences, below an empty line.
_OF_CODE = 4
_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})")
# What belongs to a line that is not in the text: a frame to the heading of its stack, a field to what it is about.
_NEEDS_MARGIN = re.compile(r'File "|~*\^|Explanation: |Hint: |Developer debug context: ')
# A comment of a program's source, in which a log is quoted, or the sign of pytest's. Those of a graph and a guard are PyTorch's.
_COMMENT = re.compile(r"[ \t]*(?P<sign>#{1,3}|/{2,3}|E(?=   |$))(?![!#/])(?P<text>.*)")
_IN_GRAPH = re.compile(r"\s*File: ")
# The line of code that a guard is from is in the comment above this one.
_OF_GUARD = re.compile(r" \S{1,400}:\d{1,9} in \w\S*\s*$")
# A frame of a stack whose lines have lost their margin, and what Python writes below it that is no line of code.
_FRAME = re.compile(r"(?P<frame>File \"[^\"]{1,400}\", line \d{1,9})(?P<name>, in \S.*)?(?:, in\s*)?$")
_BELOW_STACK = re.compile(
    r"\s*$|File \"|Traceback \(|from user code:|The above exception|During handling of|\[Previous line|\[rank\d|`{3}|~{3}"
    r"|[A-Za-z_][\w.]{0,200}(?:Error|Exception|Failed|Unsupported|Interrupt|Hit|Exceeded|SymNode)(?:[: ]|$)"
)
# Where the stack begins on the same line as the message above it.
_FIRST_FRAME = re.compile(r"\bStack trace: File \"[^\"]{1,400}\", line \d{1,9}, in \S+$")
_FEWEST_SPACED = 3
_CARETS = re.compile(r"[~^][~^ ]*$")
# The address of a page of PyTorch's that a terminal broke.
_BROKEN_ADDRESS = re.compile(
    r"(https://(?:meta-pytorch\.github\.io|(?:docs\.)?pytorch\.org)/(?:(?!\.html)[\w./#-])*[\w/])\n(?=[\w/-]*\.html\b)"
)
# An exception that somebody made bold, in Markdown.
_BOLD = re.compile(r"^\*\*((?:\w{1,80}\.){1,8}[A-Z]\w{0,80}: [^\n]*[^\n*])\*\*$", re.M)

# The head of a line of a message that has it in front of each, with the microsecond and the id of the compile.
_OF_MESSAGE = re.compile(
    r"(?:.{0,60}[^\w\n])?[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d{1,18} [^\]\n]{1,400}\] \[\d{1,9}/\d[^\]\n]{0,20}\] \[__\w{1,40}\]"
)
_LEFT_OUT = re.compile(r"\s*\[?(?:\.{3}|\u2026)\]?\s*$")
# The name of an artifact whose underscores a chat took for a sign of its own.
_ARTIFACT = re.compile(r"\] \[(?=(?:recompiles(?:_verbose)?|guards|graph_breaks|graph_code|perf_hints|cudagraphs|dynamic)\] )")
# A reason of which somebody left out the first word and the quotation marks.
_MISMATCH = re.compile(
    r"^([ \t]*(?:- )?(?:\d{1,9}/\d{1,9}: )?)(?!tensor\b)([A-Za-z_]\w{0,80}(?:\.\w{1,80}|\[(?:\w{1,80}|'[^'\n]{0,80}')\]){0,20}) "
    r"((?:size|stride|rank|dtype) mismatch(?: at index \d{1,3})?\. expected \S+, actual \S+[ \t]*)$",
    re.M,
)
# A line that somebody wrote as a span of code, in a list or a cell of a table perhaps, and how one of PyTorch's logging begins.
_IN_TICKS = re.compile(r"(?P<before>[^\w\n`]{0,20}(?:\d{1,9}[^\w\n`]{0,9})?)`(?P<line>[^`\n][^\n]*)`(?P<after>[ \t|]*)$")
_LOGGED = re.compile(r"(?:\W{0,3}rank ?\d{1,6}\S?:? ?)?[VDIWEC]\d{4} \d\d:\d\d:")
# A field of an error or a violated constraint, which PyTorch indents, as well as all lines of it, and what a mail has in a line of its own.
_FIELDS = r"(?:Explanation|Hint|Developer debug context):|- (?:Not all values of|You marked|The values of)"
_BROKEN_FIELD = re.compile(rf"^( +(?:{_FIELDS}) [^\n]{{30,200}}[^\n.)])\n(?![A-Z][\w ]{{2,40}}:)(?=[^\s`~]|`(?!``))", re.M)
# A hyphen that became a dash, as the sign of an item of a list.
_DASH = re.compile(r"(^|\])( {1,8})[\u2013\u2014](?= )", re.M)


def as_written(text: str) -> str:
    """The text as it was before somebody copied it."""
    plain = _BOLD.sub(r"\1", _BROKEN_ADDRESS.sub(r"\1", text))
    plain = _DASH.sub(r"\1\2-", _ARTIFACT.sub("] [__", plain))
    plain = _BROKEN_FIELD.sub(r"\1 ", plain)
    lines = list(_without_spacing(list(_without_comments(_without_ticks(plain.split("\n"))))))
    whole = "\n".join(_with_stacks(_without_margins(_unwrapped(_unfolded(_unfilled(lines))))))
    return _MISMATCH.sub(r"\1tensor '\2' \3", whole)


def once(text: str) -> str:
    """The text with each line once, where two handlers wrote nearly each of them, twice in a row."""
    runs = [list(group) for _, group in groupby(text.split("\n"))]
    written = [len(run) for run in runs if run[0].strip()]
    if len(written) < _FEW or 5 * sum(size % 2 == 0 for size in written) < 4 * len(written):
        return text
    return "\n".join(line for run in runs for line in run[: (len(run) + 1) // 2])


def together(text: str) -> str:
    """The text with the lines of each message together: what a program wrote, or a person left out (``...``), between two comes below.

    A line that goes on with what a terminal broke stays where it is.
    """
    lines = text.split("\n")
    columns = max(map(len, lines))
    blocks = [(head, list(block)) for head, block in groupby(lines, key=_head_of)]
    found: list[str] = []
    held: list[str] = []
    current = ""
    for (head, block), (following, _) in pairwise((*blocks, ("", []))):
        is_between = not head and current and following == current
        if is_between and (_LEFT_OUT.match(block[0]) or not _is_full(columns, found[-1], block[0])):
            held += block
            continue
        if head != current:
            found += held
            held, current = [], head
        found += block
    return "\n".join((*found, *held))


def _head_of(line: str) -> str:
    found = _OF_MESSAGE.match(line)
    return found[0] if found else ""


def _without_ticks(lines: Sequence[str]) -> Iterable[str]:
    """The lines, without the signs of a span of code around each of PyTorch's logging, or around each where most have them."""
    found = [_IN_TICKS.match(line) for line in lines]
    number = sum(map(bool, found))
    if not number:
        return lines
    are_all = number >= _FEW and 5 * number >= 4 * sum(map(bool, map(str.strip, lines)))
    return (
        f"{match['before']}{match['line']}{match['after']}" if match and (are_all or _LOGGED.match(match["line"])) else line
        for line, match in zip(lines, found, strict=True)
    )


def _without_comments(lines: Iterable[str]) -> Iterator[str]:
    """Comments of several lines without their signs, and without those of a comment or of pytest's within."""
    for sign, group in groupby(lines, key=_sign):
        block = list(group)
        texts = [found["text"] for line in block if (found := _COMMENT.match(line))] if sign and len(block) > 1 else []
        is_own = any(map(_IN_GRAPH.match, texts)) or (len(texts) == 2 and _OF_GUARD.match(texts[1]))
        yield from block if not texts or is_own else _without_comments(_without_margin(texts))


def _without_spacing(lines: Sequence[str]) -> Iterator[str]:
    """The lines, without the empty one that a page has put below each of several, of which some are indented as no paragraphs are."""
    at = 0
    while at < len(lines):
        end = at
        while end + 1 < len(lines) and not lines[end + 1].strip():
            end += 2
        spaced = [line for line in lines[at:end:2] if line.strip()]
        is_spaced = len(spaced) >= _FEWEST_SPACED and 3 * sum(line[0].isspace() for line in spaced) >= len(spaced)
        yield from lines[at:end:2] if is_spaced else lines[at : max(end, at + 1)]
        at = max(end, at + 1)


def _sign(line: str) -> str:
    found = _COMMENT.match(line)
    return found["sign"] if found else ""


def _with_stacks(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with the margin of a stack that a page has taken away: two blanks in front of a frame, four in front of its code."""
    is_below_frame = is_code = False
    for line in lines:
        if frame := _FRAME.match(line):
            yield f"  {frame['frame']}{frame['name'] or ''}"
        elif (is_below_frame and not _BELOW_STACK.match(line) and not line[0].isspace()) or (is_code and _CARETS.match(line)):
            yield f"    {line}"
        else:
            yield line
        is_code, is_below_frame = is_below_frame, frame is not None or _FIRST_FRAME.search(line) is not None


def _unwrapped(lines: Sequence[str]) -> Sequence[str]:
    """Without the line breaks of a terminal, which has the same number of characters in front of each.

    The width is that of the longest line, or of the longest line of PyTorch's logging: a person may have joined lines of a stack below it.
    """
    if any("\r" in line for line in lines):
        return lines
    widths = max(map(len, lines)), max((len(line) for line in lines if _HEADED.match(line)), default=0)
    columns = next((width for width in dict.fromkeys(widths) if _are_wrapped_at(width, lines)), 0)
    return _joined(lines, lambda line, after: _is_filled(columns, line), "") if columns else lines


def _are_wrapped_at(columns: int, lines: Sequence[str]) -> bool:
    """Whether a terminal of this width broke these lines; some terminals fill up the last part with blanks."""
    if not _NARROWEST <= columns <= _WIDEST:
        return False
    pairs = [(line, after) for line, after in pairwise(lines) if _is_filled(columns, line)]
    counted = Counter(not _begins_anew(*pair) for pair in pairs)
    longer = sum(len(line) > columns for line in lines)
    if counted[True] < max(2, longer + 1, 4 * counted[False]):
        return False
    return any(_HEADED.match(line) for line, _ in pairs) or _is_of_terminal(lines, pairs, columns)


def _unfilled(lines: Sequence[str]) -> list[str]:
    """Without the line breaks of a terminal that filled up every line with blanks, in each block of code that has a stack."""
    ends = [at for at, line in enumerate(lines) if _FENCE.match(line)]
    blocks = (lines[begin:end] for begin, end in pairwise((0, *ends, len(lines))))
    return [line for block in blocks if block for line in _joined(block, partial(_is_broken_at, _filled_columns(block)), "")]


def _filled_columns(lines: Sequence[str]) -> int:
    """How wide the terminal is that filled up lines of a stack with blanks; 0 where these are no such lines."""
    filled = {len(line) for line in lines if line.strip() and line.endswith("  ")}
    is_stack = len(filled) == 1 and any(map(_OF_STACK.match, lines))
    (columns,) = filled if is_stack else (0,)
    return columns if columns >= _NARROWEST and sum(len(line) == columns and line.endswith("  ") for line in lines) >= _FEW else 0


def _is_broken_at(columns: int, line: str, _: str) -> bool:
    """Whether a line fills a terminal of so many columns; a person may have made a path in it longer."""
    return 0 < columns <= len(line) and not line.endswith("  ")


def _is_filled(columns: int, line: str) -> bool:
    """Whether a line is as wide as the terminal, by more than the blanks that it was filled up with; a head alone is no whole line.

    One with the comment of a guard is whole: those of guards from one line of code are equally long.
    """
    return len(line) == columns and (not line.endswith("  ") or _HEAD_ALONE.search(line) is not None) and not _OF_GUARD.search(line)


def _is_of_terminal(lines: Sequence[str], pairs: Sequence[tuple[str, str]], columns: int) -> bool:
    """Whether it was a terminal that broke some lines of equal length, none of which has a head of PyTorch's.

    It breaks many of them in words or after a blank, and none before the last column; lines of a table or a list begin in the same way.
    """
    others = sum(len(line) < columns and _is_full(columns, line, after) for line, after in _flush(lines))
    in_word = sum(_is_in_word(pair) or pair[0].endswith(" ") for pair in pairs)
    beginnings = {_DIGIT.sub("0", line[:_SAME]) for line, _ in pairs}
    return len(pairs) > 2 and 3 * in_word >= len(pairs) and 2 * len(beginnings) > len(pairs) and 4 * others <= len(pairs)


def _flush(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Lines of a paragraph, each with the next one of it, which is not indented and begins nothing new."""
    return [pair for pair in pairwise(lines) if pair[0].strip() and not _BEGINS_ANEW.match(pair[1]) and not pair[1][:1].isspace()]


def _unfolded(lines: Sequence[str]) -> Sequence[str]:
    """Without the line breaks of a mail or an editor, where the next word would have been too long for the line.

    That is so of most lines, and in lines of PyTorch's, which are longer than any mail is wide.
    """
    columns = max((len(line) for line in lines if len(line.split(None, 1)) > 1), default=0)  # a path alone may be longer
    if not _NARROWEST <= columns <= _WIDEST_OF_WORDS:
        return lines
    flush = _flush(lines)
    full = [(line, after) for line, after in flush if _is_full(columns, line, after)]
    begin, end = _IN_FRAME
    broken = sum(bool(_HEADED.match(line) or (begin.match(line) and end.match(after))) for line, after in full)
    filled = [pair for pair in full if len(pair[0]) >= columns]
    # A terminal fills every line, most often in the middle of a word.
    shorter = len(full) - len(filled)
    is_by_words = 4 * shorter >= len(full) or (shorter and 3 * sum(map(_is_in_word, filled)) <= len(filled))
    if not is_by_words or not broken or len(full) < 2 or (len(full) < len(flush) if broken == 1 else 2 * len(full) < len(flush)):
        return lines
    return _joined(lines, lambda line, after: _is_full(columns, line, after) and not after[:1].isspace(), " ")


def _is_in_word(pair: tuple[str, str]) -> bool:
    """Whether a line ends, and the next one begins, with a letter or a digit, or with a bracket or a sign that has no blank there."""
    line, after = pair
    return (line[-1:].isalnum() and after[:1].isalnum()) or line[-1:] in _OPENING or after[:1] in _CLOSING


def _is_full(columns: int, line: str, after: str) -> bool:
    return len(line) + 1 + len(after.split(None, 1)[0] if after.strip() else "") > columns


def _begins_anew(line: str, after: str) -> bool:
    """Whether a line begins something new, and is not the rest of a head that the one above it has in part."""
    is_rest = (_IN_HEAD.search(line) and after.startswith("[")) or _BEGINS_HEAD.search(line)
    return not is_rest and _BEGINS_ANEW.match(after) is not None


def _joined(lines: Sequence[str], is_broken: Callable[[str, str], bool], by: str) -> list[str]:
    """The lines without their breaks; there is no blank in front of a closing bracket, where a word was too long for a line."""
    joined = [lines[0]]
    for line, after in pairwise(lines):
        if is_broken(line, after) and not _begins_anew(line, after):
            is_in_word = not by or after.startswith(_CLOSING)
            joined[-1] = joined[-1] + after if is_in_word else f"{joined[-1].rstrip()}{by}{after}"
        else:
            joined.append(after)
    return joined


def _without_margins(lines: Sequence[str]) -> Iterator[str]:
    """Without what indents all of the text, or a whole block of code in it."""
    block: list[str] = []
    mark, is_after_blank, before = "", True, 0
    for line in _without_margin(lines):
        fence = _FENCE.match(line)
        is_indented = _margin(line) >= _OF_CODE if line.strip() else bool(block)
        if fence and not mark:
            yield from _without_margin(block)
            block, mark = [line], fence[2]
        elif mark:
            block.append(line)
            if fence and fence[2].startswith(mark):
                yield from _without_margin(block)
                block, mark = [], ""
        elif is_indented and (block or (is_after_blank and not before)):
            block.append(line)
        else:
            yield from _without_margin(block)
            block = []
            yield line
        is_after_blank = not line.strip()
        before = before if is_after_blank else _margin(line)
    yield from _without_margin(block)


def _without_margin(lines: Sequence[str]) -> Sequence[str]:
    margin = min(map(_margin, filter(str.strip, lines)), default=0)
    outer = (line.lstrip() for line in lines if line.strip() and _margin(line) == margin)
    return lines if not margin or all(map(_NEEDS_MARGIN.match, outer)) else [line[margin:] for line in lines]


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
