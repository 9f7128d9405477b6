"""A graph break or an exception whose lines a page or a person joined to one, as the lines that these were; and the other way round."""

import re
from collections.abc import Sequence

from shapelog.reading.text_logs.lines.signs import USER_STACK

# A frame of a stack whose lines are joined, with its line of code up to what follows.
_FRAME = re.compile(
    r"(?P<frame>File \"[^\"\n]{1,400}\", line \d{1,9}, in (?:<\w{1,40}>|[\w.]{1,200}))"
    r"(?P<code>.*?)(?= File \"| Set TORCH| You can suppress| `{3}|$)"
)
_BREAK_STACK, _CONDITION_STACK = "User code traceback:", "User stack:"
# The parts of what torch 2.8 and later write about a graph break.
_BREAK = re.compile(r"(?P<heading>\bGraph [Bb]reak(?: \([^()\n]*\))? in user code at \S.*?:\d{1,9})\s*(?=(?:Graph Break )?Reason: )")
_FIELD = re.compile(r"\s+(?=(?:Explanation|Hint|Developer debug context): |For more details about this graph break, please visit: )")
_FIELDS = re.compile(
    r"\S {1,9}(?:Explanation: .{0,4000} (?:Hint|Developer debug context): "
    rf"|Hint: .{{0,4000}}(?:Developer debug context: |{USER_STACK})|Developer debug context: .{{0,4000}}{USER_STACK})"
)
# An operation that failed on fake tensors, with its arguments, up to where the error follows.
_OPERATION = re.compile(
    r"(?<=Dynamo failed to run FX node with fake tensors:)\s+(?:call_\w|\.{3} (?=got ))"
    r"(?:(?!\n[ \t]{0,80}\n).){0,4000}?\bgot \w{1,80}\(",
    re.S,
)
_UNDECIDED = re.compile(
    r"\bCould\s{1,99}not\s{1,99}(?:guard\s{1,99}on|extract\s{1,99}specialized\s{1,99}integer\s{1,99}from)\s{1,99}"
    r"(?:data-dependent\s{1,99}expression\s{1,99})?"
)
# What a kernel needs, where somebody wrapped the sentence about it.
_CONFIGS = re.compile(
    r"\bNo valid triton configs\.\s{1,99}\w{1,80}: out of resource: [^\n]{0,400}"
    r"(?:\n[ \t]{0,80}(?:Required|Hardware limit|Reducing)\b[^\n]{0,400})*"
)
# What PyTorch writes below the message.
_NOTE = re.compile(r" +(?=Set TORCH(?:_LOGS=\"\+dynamo\" and TORCHDYNAMO_VERBOSE=1 for|DYNAMO_VERBOSE=1 for the internal stack)\b)")
# The class of an exception in a sentence of a person's, and the rest of it, which they wrapped and indented.
_NAMED = re.compile(r"(?:\w(?:Error|Exception|Failed|SymNode)|\bUnsupported): \S")
_IN_SENTENCE, _MORE_WORDS = re.compile(rf"\w [`'\"]?(?:[\w.]+: )*[\w.]*{_NAMED.pattern}.*[a-z]$"), re.compile(r"[a-z]+ [a-z]")
_FENCE, _LONGEST_SPAN, _SHORT_LINE = "```", 3, 45
_INSIDE = re.compile(r"(?<=[(\[]) | (?=[)\]])")


def with_whole_operation(text: str) -> str:
    """A text with what PyTorch could not decide, what a kernel needs, or an operation that failed on fake tensors and its error, on one
    line where these are on several; of an error that the text cuts, its first line.
    """
    text = _CONFIGS.sub(lambda found: " ".join(found[0].split()), text, count=1)
    text = _UNDECIDED.sub(lambda found: f"{' '.join(found[0].split())} ", text, count=1)
    found = _OPERATION.search(text)
    if not found:
        return text
    end = end_of_parentheses(text, found.end(), len(text)) + 1
    if not end:
        end = text.find("\n", found.end()) if "\n" in text[found.end() :] else len(text)
    if "\n" not in text[found.start() : end]:
        return text
    return f"{text[: found.start()]} {_INSIDE.sub('', ' '.join(text[found.start() : end].split()))}{text[end:]}"


def with_whole_sentences(lines: Sequence[str]) -> list[str]:
    """Lines, of which those are one that a person wrapped within the message of an exception."""
    whole: list[str] = []
    for at, line in enumerate(lines):
        if whole and line.strip() and (is_in_span(whole[-1], lines[at : at + _LONGEST_SPAN]) or _is_in_sentence(whole[-1], line)):
            above, more = whole[-1].rstrip(), line.strip()
            is_string = above.endswith('"') and more.startswith('"')  # of Python, in pieces
            whole[-1] = f"{above[:-1]}{more[1:]}" if is_string else f"{above} {more}"
        else:
            whole.append(line)
    return whole


def is_in_span(above: str, below: Sequence[str]) -> bool:
    """Whether a span of code with an exception, which begins in the line above, ends in one of those below."""
    text = above.replace(_FENCE, "")
    is_open = text.count("`") % 2 == 1 and _NAMED.search(text.rpartition("`")[2]) is not None
    return is_open and any("`" in line.replace(_FENCE, "") for line in below)


def _is_in_sentence(above: str, line: str) -> bool:
    """Whether a line goes on with the one above, which ends within a sentence that has an exception, with a hanging indent."""
    text, more = above.lstrip(), line.lstrip()
    is_indented = len(line) - len(more) > len(above) - len(text)
    return is_indented and len(text) >= _SHORT_LINE and _IN_SENTENCE.search(text) is not None and _MORE_WORDS.match(more) is not None


def end_of_parentheses(text: str, begin: int, stop: int) -> int:
    """Where those close within ``stop`` that are open at ``begin``; -1 where they do not."""
    depth = 1
    for found in re.finditer(r"[()]", text[begin:stop]):
        depth += 1 if found[0] == "(" else -1
        if not depth:
            return begin + found.start()
    return -1


def joined_parts(line: str) -> list[str]:
    """The lines that one line was, above all the fields of a break, the frames of the user's stack, the notes below; another line alone."""
    line, *notes = _NOTE.split(line, maxsplit=1) if line[:1].strip() else [line]
    lines = [line]
    if found := _BREAK.search(line):
        lines = [found["heading"], line[found.end() :]]
    heading = next((known for known in (_BREAK_STACK, _CONDITION_STACK) if known in lines[-1]), USER_STACK)
    before, below = _with_stack(lines.pop(), heading)
    if found or _FIELDS.search(line):
        first, *fields = _FIELD.split(before if below else before.partition(f" {USER_STACK}")[0])
        lines += [first, *("\n" * part.startswith("For more") + f"  {part}" for part in fields)]
    else:
        lines.append(before)
    return [*lines, *below, *("\n" + note for note in notes)]


def _with_stack(line: str, heading: str) -> tuple[str, list[str]]:
    """What is in front of the heading of a stack, and below it the frames, on lines of their own; () for a line without both."""
    begin = line.find(heading)
    frames = list(_FRAME.finditer(line, begin)) if begin > 0 and line[:begin].strip() else []
    if not frames:
        return line, []
    stack = [part for frame in frames for part in (f"  {frame['frame']}", f"    {frame['code'].strip()}") if part.strip()]
    rest = line[frames[-1].end() :].strip()
    return line[:begin].rstrip(), ["", heading, *stack, *(["", rest] if rest else [])]
