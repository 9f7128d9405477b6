"""Recompile reasons: the first failed guard of each earlier cache entry, parsed by the table of ``reason_families``."""

import json
import re
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import UserLine, place_of, split_comment, without_hint
from shapelog.reading.payloads.guards.leaves import MAX_LENGTH, attribute_key
from shapelog.reading.payloads.properties import LENGTH, UNNAMED, VALUE, Kind, Property, in_order
from shapelog.reading.payloads.reason_families import FAMILIES
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.text import one_line

_ENTRY = re.compile(r"^((?:!\d{1,9}/)?\d{1,9}/\d{1,9}): ?", re.S)
_STACK = "\nUser stack trace:"
_FORBIDDEN = "triggered by the following guard failure(s):"
_INDENT = re.compile(r"^ {4}- ", re.M)
_FIRST_LINE = re.compile(r"^(?=(?:!\d+/)?\d+/\d+: )", re.M)
# With ``torch._dynamo.config.report_guard_failure_values`` of torch 2.1.
_WITH_VALUE = ", with LHS value: "
_PARAMETER = ". Guard failed on a parameter"
_FRAME = re.compile(r'File "([^"]*)", line (\d{1,18}), in (\S+)(?:\n\s*(.*))?')


class Reason(NamedTuple):
    """Why one earlier entry did not match. ``entry`` is its compile id as written.

    ``family`` is that of ``reason_families``, ``source`` and ``prop`` what failed (the source stripped of ``L[...]`` by torch 2.7 and
    later), ``expected`` the value that the entry requires and ``actual`` that of the call, "" where the text does not contain it.
    """

    entry: str
    text: str
    code: str
    family: str
    source: Source = Source()
    prop: Property = UNNAMED
    expected: str = ""
    actual: str = ""
    is_parameter: bool = False
    place: UserLine | None = None
    comment: str = ""

    @property
    def same(self) -> tuple[Source, ...]:
        """The sources that were to be different objects, or one and the same; none where the text does not name them."""
        if self.family == "aliasing" and self.source:
            return self.source, Source(self.expected)
        return tuple([Source(name) for name in split(self.actual)]) if self.family == "duplicate" else ()


def split(payload: str) -> list[str]:
    """The reasons in a ``recompile_reasons`` payload: a JSON list, or (torch 2.13 and later, one reason) bare text."""
    if payload.startswith("["):
        try:
            items = json.loads(payload)
        except (ValueError, RecursionError):
            items = None
        if isinstance(items, list):
            return [str(item) for item in items]
    return [payload] if payload.strip() else []


# What PyTorch writes where it has found none.
NO_REASON = "Unable to find recompilation reasons"
_CAPTURE = re.compile(r"^(?:!\d+: )?(?:Cache miss due to )?")


def of_capture(payload: str) -> list[str]:
    """Why compiled autograd captured a backward graph again, in PyTorch's words: ``new autograd node: TanhBackward0 (NodeCall 2) ...``."""
    return [_CAPTURE.sub("", one_line(reason)) for reason in split(payload)]


# The type of that error.
RECOMPILE_FORBIDDEN = "RecompileError"
# The exception of code that was compiled ahead of time, whose guards do not hold for a call.
CHECK_FAILED = "GuardManager check failed"


def of_error(message: str) -> list[str]:
    """The reasons in the message of a RecompileError, which ``error_on_recompile`` raises before they are recorded."""
    _, _, failures = message.partition(_FORBIDDEN)
    return [text.strip() for text in _FIRST_LINE.split(_INDENT.sub("", failures))[1:]]


_LIMIT = re.compile(r"recompile.?limit|cache_size_limit|RecompileLimit", re.I)


def refused_at_limit(fail_type: str, fail_reason: str) -> str:
    """The first line of what PyTorch wrote of a compile that it refused at the recompile limit, by its metrics; "" for any other.

    From torch 2.11 on, the type may be that of any failure, and the reason alone has it.
    """
    texts = fail_reason.partition("Developer debug context")[0], fail_type
    return next((text.partition("\n")[0] for text in texts if _LIMIT.search(text)), "")


# Compiled on first use: most reasons match one of the first.
_TEMPLATES: tuple[tuple[str, Kind, str], ...] = tuple(
    (family.name, kind, pattern.replace(r"\d+", r"\d{1,18}"))  # int() refuses thousands of digits
    for family in FAMILIES
    for kind, pattern in family.templates
)
_SHAPE_WORDS = re.compile(r"\.(?:size|stride)\(\)\[|\.storage_offset\(\)| (?:<=|>=|<|>|!=) |^.+ % \d+\)* ==")
_EMPTY = re.compile(r"^not (?P<source>[^\s()]\S*)$")
_VALUE = re.compile(r"^(?P<source>.+?) (?P<operator>==|is)(?: (?P<expected>.*)|(?<===))$", re.S)
# What no source has: two names with nothing but a blank between them.
_TWO_WORDS = re.compile(r"(?!\b(?:not|and|or|in|is|if|else|for|lambda)\b)\b\w+ +(?!(?:not|and|or|in|is|if|else|for|lambda)\b)['\"\w]")
_ITEM = re.compile(r"\[[^\[\]]*\]")


def split_entry(text: str) -> tuple[str, str]:
    """(compile id, the rest) of ``0/1: <failed guard>``; the id is "" where there is none."""
    match = _ENTRY.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def parse(text: str) -> Reason:
    """One reason, ``0/1: <failed guard>  # <user line>  # <file>:<line> in <function>``."""
    entry, body = split_entry(text)
    body, _, trace = body.partition(_STACK)
    code, comment = split_comment(body)
    code, _, seen = without_hint(code).strip().partition(_WITH_VALUE)
    is_parameter = _PARAMETER in code
    code = code.split(_PARAMETER, 1)[0]
    family, of, kind, expected, actual = _classify(code)
    source, prop = attribute_key(Source(of), kind)
    place = _stack_place(trace) or place_of(comment)
    return Reason(
        entry=entry,
        text=body.strip(),
        code=code,
        family=family,
        source=source,
        prop=prop,
        expected=expected,
        actual=actual or (seen if prop == VALUE else ""),
        is_parameter=is_parameter,
        place=place,
        comment=comment,
    )


def _classify(code: str) -> tuple[str, str, Property, str, str]:
    """(family, source, property, expected, actual) of a failed guard."""
    if not code:
        return "backend", "", Property(Kind.BACKEND), "", ""  # torch 2.6 and 2.8 have no text for a changed backend
    for family, kind, pattern in _TEMPLATES if len(code) <= MAX_LENGTH else ():
        match = re.fullmatch(pattern, code, re.S)
        if match:
            part = match.groupdict()
            source = part.get("source") or part.get("source2") or ""
            if part.get("index") is not None:
                return family, source, LENGTH, f"at least {int(part['index']) + 1}", ""
            if part.get("key") is not None:
                return family, source, Property(kind, name=part["key"]), "False" if part.get("no") else "True", ""
            prop = Property(kind, int(part["dim"]) if part.get("dim") is not None else -1)
            return family, source, prop, (part.get("expected") or "").strip(), (part.get("actual") or "").strip()
    if _SHAPE_WORDS.search(code) and not re.match(r"^[^<>]+ == '[^']*'$", code):
        return "shape", "", Property(Kind.SHAPE_GUARD), code, ""
    is_empty = _EMPTY.match(code)
    if is_empty:
        return "length", is_empty["source"], LENGTH, "0", ""
    value = _VALUE.match(code)
    if value and (_TWO_WORDS.search(_ITEM.sub("", value["source"])) or (value["operator"] == "is" and " " in value["source"])):
        return "other", "", UNNAMED, code, ""  # a sentence
    if value and value["operator"] == "is" and value["expected"] not in ("None", "not None", "True", "False", "Ellipsis"):
        return "aliasing", value["source"], Property(Kind.ALIASING), value["expected"], ""
    if value:
        return "value", value["source"], VALUE, in_order((value["expected"] or "").strip()), ""  # nothing where the text is cut off
    return "other", "", UNNAMED, code, ""


def _stack_place(trace: str) -> UserLine | None:
    """The innermost line outside libraries in the ``User stack trace:`` that torch 2.13 and later add, else the innermost line."""
    frames = _FRAME.findall(trace)
    if not frames:
        return None
    file, line, name, code = next((frame for frame in reversed(frames) if not is_library(frame[0])), frames[-1])
    return UserLine(file, int(line), name, code.strip())


class NamedBackend(NamedTuple):
    """A backend as PyTorch writes it: its compiler without addresses ("" where it is not written), and ``dynamic=True`` and the like."""

    compiler: str
    options: str

    def __str__(self) -> str:
        return f"{self.compiler}, {self.options}" if self.options else self.compiler

    @property
    def is_inductor(self) -> bool:
        return self.compiler == "inductor"


# Of a backend that is a function, as a program passes it to torch._dynamo.optimize.
_FUNCTION = re.compile(r"(?P<wrapper>functools\.partial wrapping )?(?:\S+\.)?(?P<name>[^\s.]+) defined at (?P<file>.*):(?P<line>\d{1,18})")


def backend_named(text: str) -> NamedBackend:
    """``_TorchCompileWrapper(compiler='eager', dynamic=True)`` → eager, ``dynamic=True``; ``app.make.<locals>.own defined at
    /srv/app.py:7`` → ``own (app.py:7)``.
    """
    if function := _FUNCTION.fullmatch(text):
        where = "" if is_library(function["file"]) else f" ({function['file'].rsplit('/', 1)[-1]}:{function['line']})"
        return NamedBackend(f"{function['wrapper'] or ''}{function['name']}{where}", "")
    wrapped = re.fullmatch(r"_TorchCompileWrapper\(compiler='(.*)', (.*)\)", text)
    compiler, options = (wrapped[1], wrapped[2]) if wrapped else (text.replace("_TorchCompileInductorWrapper", "inductor"), "")
    return NamedBackend(re.sub(r" at 0x[0-9a-fA-F]+", "", compiler), options)
