"""What PyTorch writes where code does not allow what was marked or declared as dynamic, in words.

These are the texts of a ``ConstraintViolationError`` (``torch/fx/experimental/symbolic_shapes.py``).
"""

import re
from collections.abc import Collection, Iterable

from shapelog.grouping import grouped
from shapelog.reading.payloads.source_names import Source, display_text
from shapelog.text import enumerated

_VIOLATED_ALONE = re.compile(r"Constraints violated \(([^!]*)\)!?(?: For more information, run with \S+)?")
_HEADING, _SIZE_IN_HEADING = (
    re.compile(r"Constraints violated \((.{1,4000}?)\)(?:[!:.]| You marked| -|$)"),
    re.compile(r"[LG]\[[^,]*?\.size\(\)\[\d+\]"),
)
_LONGEST_VIOLATION = 20_000
# What Dynamo writes below an exception of any kind.
_HINT = re.compile(r"^You can suppress this exception", re.M)
# A dim with its name or without, or a range, as far as they have no other parentheses than those of ``size()``.
_SIZE = r"[^()]{0,400}?(?:\(\)[^()]{0,200}?){0,6}?"
_FIXED_DIM = re.compile(
    rf"(?:Not all values of (?:RelaxedUnspecConstraint\((?P<relaxed>{_SIZE})\)|(?P<named>{_SIZE}))"
    rf" are valid because {_SIZE} was inferred to be a constant"
    rf"|You marked (?P<marked>{_SIZE}) as dynamic but your code specialized it to be a constant)(?: \((?P<value>[^()]{{1,60}})\))?"
    rf"|solving the guards (?:generated )?for (?P<solved>{_SIZE}) resulted in a specialized value of (?P<only>\d{{1,18}})"
)
# The smallest size of a dim that is dynamic: 0 and 1 have graphs of their own.
_SMALLEST_DYNAMIC = 2
_OUT_OF_RANGE = re.compile(
    rf"Not all values of (?P<named>{_SIZE}) in the specified range(?: (?P<range>{_SIZE}))??"
    r" satisfy the generated guard (?P<guard>.*?)"
    r"(?=\.?(?: +-? ?(?:Not all|The values|You marked|solving the guards|Suggested fixes)|\s*$)|\. )"
)
_EQUAL = re.compile(rf"The values of (?P<one>{_SIZE}) and (?P<other>{_SIZE}) must always be equal")
# Torch 2.1 to 2.3 write ``Ne(x, 16)``, or ``Ne(16, x)``.
_EXCLUDED = re.compile(
    r"(?:Ne\()?(?:(?P<first>\d{1,18})(?: !=|,) (?P<last>\S{1,200}?)|(?P<name>\S{1,200}?)(?: !=|,) (?P<size>\d{1,18}))\)?"
)
# What older versions print of sympy's, with sides that have no parentheses of their own but those of ``size()``.
_MODULUS = re.compile(rf"Mod\((?P<left>{_SIZE}), (?P<right>{_SIZE})\)")
_RELATION = re.compile(r"(?P<kind>Eq|Ne)\((?P<left>[^,]{1,400}), (?P<right>[^,]{1,400})\)")
_SIGNS = {"Eq": "==", "Ne": "!="}
REQUIRES = ", but the code only accepts sizes with "
MUST_EQUAL = "the code requires that "
HAS_OWN_GRAPH, TREATED_APART = ", which always has a graph of its own", ", which the code treats apart"
_BOUND = re.compile(
    r"(?:(?P<least>\d{1,18}) (?P<above><=?) )?(?P<name>[^<>=!]+?)"
    r"(?: (?P<below><=?) (?:(?P<most>\d{1,19})|IntInfinity\(\)|int_oo)| (?P<over>>=?) (?P<low>\d{1,18}))?"
)
# Where the conditions, which are on the lines below the names, are not there.
OF_UNKNOWN_CONDITION = "cannot be dynamic in the way it is marked or declared"
# From here on, PyTorch means that there is no largest size.
_UNLIMITED = 2**62


def violated(text: str) -> str:
    """What was marked or declared as dynamic, and what the code makes of it; "" where it is another condition that is violated."""
    text = " ".join(_HINT.split(text[:_LONGEST_VIOLATION], maxsplit=1)[0].split())
    fixed = grouped(
        _FIXED_DIM.finditer(text),
        lambda item: (_how(item["marked"] or item["named"] or item["solved"] or ""), item["value"] or item["only"] or "one value"),
    )
    clauses = []
    for (how, value), items in fixed.items():
        dims = (item["marked"] or item["relaxed"] or item["named"] or item["solved"] for item in items)
        names = enumerated(list(dict.fromkeys(map(_dim, dims))))
        are, them = ("are", "them") if " and " in names else ("is", "it")
        clauses.append(f"{names}{_own_name(items)} {are} {how} as dynamic, but the code fixes {them} to {value}")
    only = {item["solved"].partition(" = ")[0] for items in fixed.values() for item in items if item["solved"]}
    guards = [item for item in _OUT_OF_RANGE.finditer(text) if item["named"].partition(" = ")[0] not in only]
    clauses += filter(None, (_narrower(item, [other["guard"] for other in guards if other["named"] == item["named"]]) for item in guards))
    clauses += [f"{MUST_EQUAL}{_dim(item['one'])} equals {_dim(item['other'])}" for item in _EQUAL.finditer(text)]
    if not clauses and (heading := _VIOLATED_ALONE.fullmatch(text)):
        return f"{enumerated([_dim(name) for name in heading[1].split(', ')])} {OF_UNKNOWN_CONDITION}"
    # What the heading names and no condition is about: somebody left that out.
    sizes = map(_dim, _SIZE_IN_HEADING.findall(heading[1] if (heading := _HEADING.match(text)) else ""))
    conditions = "; ".join(clauses)
    others = [name for name in sizes if clauses and not re.search(rf"{re.escape(name)}(?![\w.\[])", conditions)]
    clauses += [f"{enumerated(others)} {OF_UNKNOWN_CONDITION}"] if others else []
    return "; ".join(dict.fromkeys(clauses))


def _own_name(items: Iterable[re.Match[str]]) -> str:
    """The name that the program gave to dims, in parentheses, where they share one; those that PyTorch makes up begin with ``_``."""
    names = {name for item in items for name, is_given, _ in [(item["named"] or "").partition(" = ")] if is_given}
    name = names.pop() if len(names) == 1 else ""
    return f" ({name})" if name.isidentifier() and not name.startswith("_") else ""


def _narrower(found: re.Match[str], guards: Iterable[str]) -> str:
    """What the code allows of a range that was marked or declared; "" where it is no range, and the size has no name.

    ``guards`` are all that PyTorch has generated for this dim.
    """
    name, _, source = found["named"].partition(" = ")
    marked = _bounds(found["range"] or "", {name, source})
    dim = f"{_dim(found['named'])} ({name})" if source and name != source and name.isidentifier() else _dim(found["named"])
    if (size := _excluded(found["guard"], (name, source))) is not None:
        what = f"{dim} is {_how(found['named'])} with a range that includes {size}"
        apart = HAS_OWN_GRAPH if size < _SMALLEST_DYNAMIC else TREATED_APART
        bounds = [guard for guard in (found["range"] or "", *guards) if guard and _bounds(guard, {name, source})]
        return f"{what}{apart}: {_without(size, _bounds(' and '.join(bounds), {name, source}) or (None, None))}"
    allowed = _bounds(found["guard"], {name, source})
    if allowed is None and marked is not None and source:
        required = list(dict.fromkeys(guard.strip() for guard in guards if _is_required(guard, {name, source})))
        if found["guard"].strip() != required[0]:
            return ""
        return f"{dim} is {_how(found['named'])} as dynamic{REQUIRES}{enumerated([_as_code(guard, name, source) for guard in required])}"
    if marked is None or allowed is None:
        return ""
    if allowed[1] is not None and allowed[1] == max(allowed[0] or 0, _SMALLEST_DYNAMIC):
        return f"{dim} is {_how(found['named'])} as dynamic, but the code fixes it to {allowed[1]}"
    wanted = [f"{limit}={known}" for limit, known, before in zip(("min", "max"), allowed, marked, strict=True) if known != before]
    given = " and ".join(f"{limit}={known}" for limit, known in zip(("min", "max"), marked, strict=True) if known is not None)
    low, high = allowed
    only = f"{low or _SMALLEST_DYNAMIC} to {high}" if high is not None else f"{low} or more"
    # The smallest size that a dynamic dim has in any case is no limit to set.
    wanted = [text for text in wanted if not text.endswith("=None") and text != f"min={_SMALLEST_DYNAMIC}"]
    if not wanted:
        return ""
    how = _how(found["named"])
    what = f"{dim} is {how} {f'with {given}' if given else 'as dynamic'}"
    return f"{what}, but the code only allows {only}: set {', '.join(wanted)}"


def _as_code(guard: str, name: str, source: str) -> str:
    """A guard as Python has it, with the name of a dim that has one."""
    text = guard.replace(source, name) if name.isidentifier() else guard
    text = _MODULUS.sub(lambda found: " % ".join(part if part.isalnum() else f"({part})" for part in (found["left"], found["right"])), text)
    relation = _RELATION.fullmatch(text)
    return display_text(f"{relation['left']} {_SIGNS[relation['kind']]} {relation['right']}" if relation else text)


def _is_required(guard: str, names: Collection[str]) -> bool:
    """Whether a guard on a size is anything else than a range or a size that is excluded."""
    return _bounds(guard, names) is None and _excluded(guard, names) is None


def _excluded(guard: str, names: Collection[str]) -> int | None:
    """The one size that a guard excludes; None for any other guard."""
    found = _EXCLUDED.fullmatch(guard.strip())
    return int(found["size"] or found["first"]) if found and (found["name"] or found["last"]) in names else None


def _without(size: int, marked: tuple[int | None, int | None]) -> str:
    """What keeps a size out of a range, where it is at the end of that."""
    if size < _SMALLEST_DYNAMIC or size == marked[0]:
        return f"set min={size + 1}"
    return f"set max={size - 1}" if size == marked[1] else "no one range has all sizes but this one"


def _bounds(text: str, names: Collection[str]) -> tuple[int | None, int | None] | None:
    """(least, most) of conditions on one size, ``2 <= x and x <= 7``; None where one of them is anything else."""
    least: int | None = None
    most: int | None = None
    for part in filter(None, text.strip().split(" and ")):
        found = _BOUND.fullmatch(part.strip())
        if not found or found["name"] not in names:
            return None
        if found["least"] or found["low"]:
            number = int(found["least"] or found["low"]) + ((found["above"] or found["over"]) in ("<", ">"))
            least = number if least is None else max(least, number)
        if found["most"] and int(found["most"]) < _UNLIMITED:
            number = int(found["most"]) - (found["below"] == "<")
            most = number if most is None else min(most, number)
    return least, most


def _how(named: str) -> str:
    """A dim of ``dynamic_shapes`` has a name of its own; one that ``mark_dynamic`` marked has its source in place of that."""
    name, _, source = named.partition(" in the specified range")[0].partition(" = ")
    return "declared" if (source and name != source) or name.isidentifier() else "marked"


def _dim(text: str) -> str:
    """``dim 0 of x`` for ``batch = L['x'].size()[0] in the specified range batch <= 128``; a name alone as it is.

    The ``repr`` of the exception has its quotes with backslashes.
    """
    source = Source(text.replace("\\'", "'").partition(" in the specified range")[0].rpartition(" = ")[2])
    part = source.tensor_part
    return f"dim {part.prop.dim} of {part.tensor.display_name}" if part else source.display_name
