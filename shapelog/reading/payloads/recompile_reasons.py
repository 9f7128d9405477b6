"""Recompile reasons: the first failed guard of each earlier cache entry, parsed from PyTorch's wording.

The templates are those of ``torch._C._dynamo.guards`` and ``torch/_dynamo/guards.py``, 2.6 to 2.15.
"""

import json
import re
from typing import NamedTuple

from shapelog.reading.payloads.guards import MAX_LENGTH, UserLine, attribute_key, place_of, split_comment, without_hint
from shapelog.reading.payloads.properties import LENGTH, UNNAMED, VALUE, Kind, Property
from shapelog.reading.payloads.source_names import Source, is_library

_ENTRY = re.compile(r"^((?:!\d+/)?\d+/\d+): ?", re.S)
_STACK = "\nUser stack trace:"
_FORBIDDEN = "triggered by the following guard failure(s):"
_INDENT = re.compile(r"^ {4}- ", re.M)
_FIRST_LINE = re.compile(r"^(?=(?:!\d+/)?\d+/\d+: )", re.M)
_PARAMETER = ". Guard failed on a parameter"
_FRAME = re.compile(r'File "([^"]*)", line (\d{1,18}), in (\S+)(?:\n\s*(.*))?')


class Reason(NamedTuple):
    """Why one earlier entry did not match. ``entry`` is its compile id as written.

    ``family`` names the template, ``source`` and ``prop`` what failed (the source stripped of ``L[...]`` by torch 2.8 and later),
    ``expected`` the value that the entry requires and ``actual`` that of the call, "" where the text does not contain it.
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


def of_error(message: str) -> list[str]:
    """The reasons in the message of a RecompileError, which ``error_on_recompile`` raises before they are recorded."""
    _, _, failures = message.partition(_FORBIDDEN)
    return [text.strip() for text in _FIRST_LINE.split(_INDENT.sub("", failures))[1:]]


_T = r"tensor '(?P<source>.*?)' "
_AT_INDEX = r" mismatch at index (?P<dim>\d+)\. expected (?P<expected>-?\d+), actual (?P<actual>-?\d+)"
# Compiled on first use: most reasons match one of the first.
_TEMPLATES: tuple[tuple[str, Kind, str], ...] = tuple(
    (family, kind, pattern.replace(r"\d+", r"\d{1,18}"))  # int() refuses thousands of digits
    for family, kind, pattern in (
        ("size", Kind.SIZE, _T + "size" + _AT_INDEX),
        ("stride", Kind.STRIDE, _T + "strides?" + _AT_INDEX),
        ("rank", Kind.RANK, _T + r"rank mismatch\. expected (?P<expected>\d+), actual (?P<actual>\d+)"),
        ("dtype", Kind.DTYPE, _T + r"dtype mismatch\. expected (?P<expected>\S+), actual (?P<actual>\w+)"),
        ("requires_grad", Kind.REQUIRES_GRAD, _T + r"requires_grad mismatch(?:\. expected requires_grad=(?P<expected>\d))?"),
        ("dispatch_keys", Kind.DISPATCH_KEYS, _T + r"dispatch key set mismatch\. expected (?P<expected>.*?\)), actual (?P<actual>.*\))"),
        (
            "device",
            Kind.DEVICE,
            _T + r"Tensor device index mismatch\. Expected device index to be (?P<expected>-?\d+), actual (?P<actual>-?\d+)",
        ),
        ("tensor_type", Kind.TYPE, r"expected type of '(?P<source>.*?)' to be (?P<expected>.*?),? ?'? but found (?P<actual>.*)"),
        ("global_state", Kind.GLOBAL_STATE, r"GLOBAL_STATE changed: (?P<expected>.*)|___check_global_state\(\)"),
        ("function_mode", Kind.FUNCTION_MODES, r"___check_torch_function_mode_stack\(\)"),
        ("default_device", Kind.DEFAULT_DEVICE, r"utils_device\.CURRENT_DEVICE == (?P<expected>.*)"),
        ("saved_tensor_hooks", Kind.SAVED_TENSOR_HOOKS, r"torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks.*"),
        ("functorch", Kind.FUNCTORCH_STATE, r"torch\._functorch\.pyfunctorch\..*|torch\.autograd\.forward_ad\..*"),
        ("duplicate", Kind.ALIASING, r"Duplicate tensors? found: (?P<actual>.*)"),
        ("aliasing", Kind.ALIASING, r"NO_TENSOR_ALIASING .*|check_overlapping\(.*"),
        (
            "marking",
            Kind.MARKING,
            r"(?:hasattr\((?P<source>.*), '_dynamo_\w+'\).*|\(\((?:.*)\._dynamo_\w+\.issubset.*|_?\w*dim_marking is .*|_dynamo_\w+ .*|"
            r"\S+ (?:mismatch: expected|not a subset|should be absent).*|.*attribute is absent on runtime tensor.*)",
        ),
        ("died", Kind.LIFETIME, r"Cache line invalidated because (?P<source>.*) got deallocated.*"),
        (
            "backend",
            Kind.BACKEND,
            r"BACKEND_MATCH.*?(?:Cached backend: (?P<expected>.*?) \(id=\w+\)\. New backend: (?P<actual>.*?) \(id=\w+\)\..*)?",
        ),
        ("not_a_view", Kind.UNKNOWN, r"'NoneType' object has no attribute '(?:size|stride|storage_offset)'"),
        ("unexpected", Kind.UNKNOWN, r"Unexpected recompilation.*"),
        ("id", Kind.ID, r"___check_obj_id\((?P<source>.*), (?P<expected>\d+)\)(?:, type=(?P<actual>.*))?"),
        ("type", Kind.TYPE, r"___check_type_id\((?P<source>.*), (?P<expected>\d+)\)(?:, type=(?P<actual>.*))?"),
        ("id", Kind.ID, r"___check_obj_id\((?P<source>[^,()]*)"),  # cut off, as people paste them
        ("type", Kind.TYPE, r"___check_type_id\((?P<source>[^,()]*)"),
        ("length", Kind.LENGTH, r"(?:len|(?:set|dict|list|tuple|frozenset)\.__len__)\((?P<source>.*)\) [!=]= (?P<expected>\d+)"),
        ("key", Kind.HAS, r"(?P<no>not )?___dict_contains\((?P<key>.*), (?P<source>.*?)\)"),
        ("member", Kind.HAS, r"(?P<no>not )?(?:set|frozenset)\.__contains__\((?P<source>.*?), (?P<key>.*)\)"),
        ("attribute", Kind.HAS_ATTRIBUTE, r"(?P<no>not )?hasattr\((?P<source>.*), '(?P<key>[^']*)'\)(?: == (?:True|False))?"),
        ("getattr", Kind.ATTRIBUTES, r"getattr failed on source (?P<source>.*)"),
        ("closure", Kind.CLOSURE, r"IndexError on (?P<source>.*)\.__closure__\[\d+\]"),
        ("missing_key", Kind.HAS, r"KeyError on (?P<source>.*[^GL])\[(?P<key>[^\[\]]+)\]"),
        ("missing_item", Kind.LENGTH, r"IndexError on (?P<source>.*)\[(?P<index>\d+)\]"),
        ("missing", Kind.PRESENT, r"(?:KeyError|IndexError) on (?P<source>.*)"),
        ("closure", Kind.CLOSURE, r"\w*(?:Closure|Defaults)GuardAccessor: Not a function on (?P<source>.*?)(?:\.__\w+__)?"),
        ("other_type", Kind.TYPE, r"(?:\w+: )?Not an? (?P<expected>function|type|callable)(?: \w+)? on (?P<source>.*?)(?:\.__code__)?"),
        ("other_type", Kind.TYPE, r"TYPE_MISMATCH\((?P<source>.*)\)"),
        ("accessor", Kind.PRESENT, r"(?:Not a weakref|Not a weakref obj|Weakref_GetRef failed|not a tensor - .*)"),
        ("key_order", Kind.KEYS, r"list\((?:dict\.keys\()?(?P<source>.*?)(?:\.keys\(\))?\)\)?(?:\[\d+\])? == (?P<expected>.*)"),
        ("iterator", Kind.RANGE, r"___normalize_range_iter\((?P<source>.*)\) == (?P<expected>.*)"),
        ("iterator", Kind.LENGTH, r"___tuple_iterator_len\((?P<source>.*)\) == (?P<expected>.*)"),
        ("iterator", Kind.VALUE, r"___normalize_count_iter\((?P<source>.*)\) == (?P<expected>.*)"),
        ("plain_value", Kind.PLAIN_VALUE, r"(?:int|float|str|bytes|complex)\((?P<source>\S+)\) == (?P<expected>.*)"),
        (
            "nan",
            Kind.NAN,
            r"(?:\(type\(.*\) is \w+ and )?__(?:math|numpy)_isnan\((?P<source>.*?)\)\)?|not math\.isnan\((?P<source2>.*)\)",
        ),
    )
)
_SHAPE_WORDS = re.compile(r"\.(?:size|stride)\(\)\[|\.storage_offset\(\)| (?:<=|>=|<|>|!=) |^.+ % \d+\)* ==")
_EMPTY = re.compile(r"^not (?P<source>[^\s()]\S*)$")
_VALUE = re.compile(r"^(?P<source>.+?) (?P<operator>==|is) (?P<expected>.*)$", re.S)


def split_entry(text: str) -> tuple[str, str]:
    """(compile id, the rest) of ``0/1: <failed guard>``; the id is "" where there is none."""
    match = _ENTRY.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def parse(text: str) -> Reason:
    """One reason, ``0/1: <failed guard>  # <user line>  # <file>:<line> in <function>``."""
    entry, body = split_entry(text)
    body, _, trace = body.partition(_STACK)
    code, comment = split_comment(body)
    code = without_hint(code).strip()
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
        actual=actual,
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
    if value and value["operator"] == "is" and value["expected"] not in ("None", "not None", "True", "False", "Ellipsis"):
        return "aliasing", value["source"], Property(Kind.ALIASING), value["expected"], ""
    if value:
        return "value", value["source"], VALUE, value["expected"].strip(), ""
    return "other", "", UNNAMED, code, ""


def _stack_place(trace: str) -> UserLine | None:
    """The innermost line outside libraries in the ``User stack trace:`` that torch 2.13 and later add, else the innermost line."""
    frames = _FRAME.findall(trace)
    if not frames:
        return None
    file, line, name, code = next((frame for frame in reversed(frames) if not is_library(frame[0])), frames[-1])
    return UserLine(file, int(line), name, code.strip())
