"""The guard tree (``dynamo_cpp_guards_str``) and the guard list of old versions (``dynamo_guards``) → facts and shape guards.

One line of the tree is ``| | +- KIND: text  # user line  # file:line in function``; the manager above it has the source.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import orjson

from shapelog.grouping import connected
from shapelog.reading.payloads.guard_expressions import Expression, integer, parse
from shapelog.reading.payloads.properties import (
    DTYPE,
    DUAL_LEVEL,
    ID,
    LENGTH,
    PLAIN_VALUE,
    RANK,
    REQUIRES_GRAD,
    TENSOR,
    TRANSFORMS,
    TYPE,
    VALUE,
    Kind,
    Property,
    in_order,
    size,
    stride,
)
from shapelog.reading.payloads.source_names import Source

_NODE = re.compile(r"\n([| ]*)\+- ")
_COMMENT = re.compile(r"(?<!\s)\s+# ")
# People who shorten a log leave out the function.
_WHERE = re.compile(r"^(?P<file>[^\s()]+\.py|<[^>]*>):(?P<line>\d{1,18})(?: in (?P<name>\S+)|$)")
_TENSOR = re.compile(
    r", (?P<type>[\w.]+), (?P<keys>DispatchKeySet\(.*?\)|\w+), (?P<dtype>torch\.\w+), device=(?P<device>[^,]+), "
    r"requires_grad=(?P<grad>True|False), size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
# With dots in place of what somebody left out.
_SHORTENED_TENSOR = re.compile(
    r", (?P<type>[\w.]+), \.\.\., (?P<dtype>torch\.\w+), (?:device=[^,]+, (?:requires_grad=(?:True|False), )?)?(?:\.\.\., )?"
    r"size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
_OBJECT = re.compile(r"^___check_(obj|type)_id\(.*, (\d{1,20})\)(?:, type=.*)?$", re.S)
_LENGTH = re.compile(r"^(?:len|(?:set|dict|list|tuple|frozenset)\.__len__)\((.*)\) (==|!=) (\d{1,18})$", re.S)
_CONTAINS = re.compile(r"^(not )?(?:___dict_contains\((?P<key>.*), .*\)|(?:set|frozenset)\.__contains__\(.*?, (?P<item>.*)\))$", re.S)
_PLAIN_VALUE = re.compile(r"^(?:int|float|str|bytes|complex)\((.*)\) == (.*)$", re.S)
_COUNTER = re.compile(r"^___normalize_count_iter\((.*)\) == (.*)$")
_TRANSFORMS = re.compile(r"^torch\._functorch\.pyfunctorch\.compare_functorch_state\((.*)\)$")
_HASATTR = re.compile(r"^(not )?hasattr\((.*), '([^']*)'\)(?: == (True|False))?$", re.S)
_MARKED = re.compile(r"\b(_dynamo_\w+)(?:', set\(\)\))?\.issubset\((\{.*?\}|set\(\))\)")
# Longer texts are not matched, because some of these patterns take quadratic time.
MAX_LENGTH = 4000
_AMBIENT = ("top_saved_tensors_hooks", "compare_functorch_state", "forward_ad", "CURRENT_DEVICE")
_MODULE_PARTS = ("._modules", "._parameters", "._buffers", ".training", "._forward_hooks", "._forward_pre_hooks", "._backward_hooks")
_NOT_USER_CODE = ("_dynamo/", "_functorch/", "torch/_dynamo/", "torch/_functorch/")
_LOCATION = re.compile(
    r"# (?P<file>[^\s#]{1,400}):(?P<line>\d{1,9}) in (?P<name>[^\s#]{1,200})"
    r"(?: \((?P<note>(?:[^()]|\([^()]{0,400}\)){0,600})\))?(?= and |\s*$)"
)
_FIRST_USE = "first use of this value"
_ALIASING = ("OBJECT_ALIASING", "TENSOR_ALIASING")
_SAME_OBJECT = re.compile(r"[LG]\[\S+ is [LG]\[\S+$")
# An item of a dict subclass, by the place of its key: ``dict.__getitem__(L['d'], list(dict.keys(L['d']))[0])``.
_ITEM_OF_SUBCLASS = re.compile(
    r"^(?:not )?(?:\w+\()?(?P<item>dict\.__getitem__\((?P<dict>[^ ]{1,200}), list\(dict\.keys\((?P=dict)\)\)\[\d+\]\))"
)
# A key that has a value of its own, which the names of the dict's items have in them; managers name them by the place of the key.
_KEY_BY_PLACE = re.compile(r"list\(dict\.keys\((?P<dict>.+)\)\)\[(?P<place>\d{1,18})\] == (?P<key>[^<]+)")
_BY_PLACE = "[list(dict.keys("
_NAME = re.compile(r", (?=[LG]\[|dict\.__getitem__\()")
_NEAR = 40
_DICT_OF_ATTRIBUTES = ".__dict__"
SHAPE_KINDS = ("LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD")
DYNAMIC = "dynamic"
_DEVICE, _DISPATCH_KEYS = Property(Kind.DEVICE), Property(Kind.DISPATCH_KEYS)

Fact = int | str | bool
Facts = tuple[tuple[Property, Fact], ...]
"""Properties of one source, each with its value."""
Key = tuple[Source, Property]
"""A source and one of its properties."""


class UserLine(NamedTuple):
    """A line of user code. In the comment of a guard, PyTorch shortens the file, so it is not absolute."""

    file: str
    line: int
    name: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Guard(NamedTuple):
    """One leaf: ``text`` is the guard as PyTorch wrote it, ``facts`` the properties of its source that it requires, with their values.

    The value of a dynamic dim is ``DYNAMIC``.
    """

    kind: str
    source: Source
    text: str
    facts: tuple[tuple[Key, Fact], ...]
    comment: str = ""


# Two sizes are equal, and one of them is that of the base of a view.
_OF_SIZES = re.compile(r"[^=<>!+*/%]+\.size\(\)\[\d+\] == [^=<>!+*/%]+\.size\(\)\[\d+\]")
_OF_BASE = re.compile(rf"(?=.*\._base\.size\(\)){_OF_SIZES.pattern}")
# What older versions write in place of the line that a guard comes from.
_WITHOUT_CODE = "in init_ambient_guards"


@dataclass(frozen=True)
class ShapeGuard:
    """A guard over sizes: an expression over sources, and the comment that names the code that it comes from."""

    expression: str
    comment: str = ""

    @cached_property
    def parsed(self) -> Expression:
        return parse(self.expression)

    @property
    def is_duck_shape(self) -> bool:
        """Whether it is there because two sizes were equal by chance. No code can tie the size of the tensor that another is a view of.

        Until torch 2.4 the comment does not have that. Sizes that the code requires to be equal fail in it, not in the guard.
        """
        if "duck sizing" in self.comment or _OF_BASE.fullmatch(self.expression):
            return True
        return _WITHOUT_CODE in self.comment and bool(_OF_SIZES.fullmatch(self.expression))


@dataclass(frozen=True, eq=False)
class GuardTree:
    """Everything that a cache entry checks before it is used. ``types`` holds the Python type of each source for which it is written.

    ``sources`` are all sources with a guard, ``same`` pairs of sources that are one object, ``distinct`` sources of tensors that are all
    different objects, ``modules`` sources with the attributes of an nn.Module.
    """

    guards: tuple[Guard, ...]
    shapes: tuple[ShapeGuard, ...]
    types: dict[Source, str]
    unread: tuple[str, ...]
    sources: frozenset[Source]
    same: frozenset[tuple[Source, Source]]
    distinct: frozenset[Source]
    modules: frozenset[Source]
    facts: dict[Key, Fact]
    by_key: dict[Key, Guard]

    @cached_property
    def one_symbol(self) -> dict[str, str]:
        """Of each size that had the symbol of an equal one, the first that has it."""
        groups = connected(shape.parsed.names for shape in self.shapes if shape.is_duck_shape)
        return {name: min(group) for group in groups for name in group}

    @cached_property
    def places(self) -> dict[str, UserLine | None]:
        """The user's line that each comment names."""
        return {comment: place_of(comment) for comment in dict.fromkeys(guard.comment for guard in self.guards)}

    @cached_property
    def guarded_values(self) -> frozenset[Source]:
        """The sources whose value is checked."""
        return frozenset([source for source, checked in self.facts if checked == VALUE])

    @cached_property
    def guarded_ints(self) -> tuple[Source, ...]:
        """The sources whose value is checked, where it is an int."""
        values = ((source, fact) for (source, prop), fact in self.facts.items() if prop == VALUE)
        return tuple([source for source, fact in values if isinstance(fact, str) and integer(fact) is not None])

    @cached_property
    def guarded_sizes(self) -> tuple[tuple[Key, Guard], ...]:
        """The guards on one size each, by what they check."""
        return tuple([(key, guard) for key, guard in self.by_key.items() if key[1].kind is Kind.SIZE])

    @cached_property
    def dynamic_sources(self) -> frozenset[Source]:
        """The sources with a dynamic property."""
        return frozenset([source for (source, _), value in self.facts.items() if value == DYNAMIC])

    @cached_property
    def bounds_by_size(self) -> dict[str, list[str]]:
        """The guards that bound one size or int alone, by its spelling in expressions."""
        found: dict[str, list[str]] = {}
        for shape in self.shapes:
            if len(shape.parsed.names) == 1:
                found.setdefault(shape.parsed.names[0], []).append(shape.expression)
        return found

    @cached_property
    def key_counts(self) -> dict[Source, int]:
        """How many keys of each dict have a guard."""
        return Counter([owner for source in self.sources if (owner := source.dict_of_key) is not None])

    @cached_property
    def guarded_keys(self) -> dict[Source, set[str]]:
        """The keys of each dict with a guard on its length that have guards themselves, if they are texts."""
        found: dict[Source, set[str]] = {}
        for source in self.sources:
            owner, _, key = source.rpartition("['") if source.endswith("']") else ("", "", "")
            if (Source(owner), LENGTH) in self.facts:
                found.setdefault(Source(owner), set()).add(f"'{key[:-1]}")
        return found


def place_of(comment: str) -> UserLine | None:
    """The user's line in a guard comment ``code  # file:line in function``, the first outside the compiler if it names several."""
    for part in re.split(r"(?:^|\s)# | and ", comment):
        match = _WHERE.match(part.strip())
        if match and not match["file"].startswith(_NOT_USER_CODE):
            code = comment.split("  # ")[0].strip() if "  # " in comment else ""
            return UserLine(match["file"], int(match["line"]), match["name"] or "", code.removeprefix("# "))
    return None


def places_of(comment: str) -> tuple[UserLine, ...]:
    """The user's lines in the comment of a guard on a range that several lines asked for, in the order of its bounds: lower, upper.

    A line that merely used the value first, in the words of PyTorch, is left out where another one is named; () where there is but one.
    """
    found: list[tuple[UserLine, bool]] = []
    start = 0
    matches = list(_LOCATION.finditer(comment))
    for match in matches if len(matches) > 1 else ():
        code = comment[start : match.start()].removeprefix(" and ").strip().removeprefix("# ")
        start = match.end()
        if not match["file"].startswith(_NOT_USER_CODE):
            found.append((UserLine(match["file"], int(match["line"]), match["name"], code), _FIRST_USE in (match["note"] or "")))
    lines = tuple(dict.fromkeys(line for line, _ in found))
    return tuple(dict.fromkeys(line for line, is_first_use in found if not is_first_use)) or lines


def split_comment(text: str) -> tuple[str, str]:
    """(guard, comment) of a leaf. A ``#`` inside a string constant of the guard does not start a comment."""
    first = text.find(" # ")
    if first < 0:
        return text.rstrip(), ""
    if not text.count("'", 0, first) % 2 and not text.count('"', 0, first) % 2:
        return text[:first].rstrip(), text[first + 3 :].strip()
    single = double = done = 0
    for match in _COMMENT.finditer(text):
        single += text.count("'", done, match.start())
        double += text.count('"', done, match.start())
        done = match.start()
        if not (single % 2 or double % 2) or (single % 2 and double and not double % 2):
            return text[:done].rstrip(), text[match.end() :].strip()
    return text.rstrip(), ""


def without_hint(code: str) -> str:
    """A guard without its ``(HINT: ...)``, which some versions write after the comment, some after the guard itself."""
    at = code.find("(HINT: ")
    return code[:at].rstrip() if at >= 0 and code.rstrip().endswith(")") else code


# Parsed nodes by the source of their parent and their text: the trees of one frame have nearly all nodes in common.
NodeCache = dict[tuple[Source, str], "Guard | ShapeGuard | tuple[Source, str]"]


def parse_tree(text: str, cache: NodeCache | None = None) -> GuardTree:
    """The C++ guard tree. Lines of an unknown form are kept in ``unread``; ``cache`` is shared between the trees of one file."""
    cache = {} if cache is None else cache
    guards: list[Guard] = []
    shapes: list[ShapeGuard] = []
    types: dict[Source, str] = {}
    unread: list[str] = []
    sources = [Source()]
    managed: set[Source] = set()
    names: dict[str, str] = {}
    renamed: list[tuple[int, str]] = []
    parts = _NODE.split("\n" + text)
    for indent, whole in zip(parts[1::2], parts[2::2], strict=True):
        depth, body = len(indent) // 2, _join_lines(whole) if "\n" in whole else whole
        if len(sources) != depth + 1:
            del sources[depth + 1 :]
            while len(sources) <= depth:
                sources.append(Source())  # a line above it is missing
        key = (sources[-1], body)
        node = cache.get(key)
        if node is None and (node := _node(*key)) is not None:
            cache[key] = node
        if isinstance(node, Guard):
            guards.append(node)
            if node.kind == "EQUALS_MATCH" and (found := _KEY_BY_PLACE.fullmatch(node.text)):
                names[f"{found['dict']}{_BY_PLACE}{found['dict']}))[{found['place']}]]"] = f"{found['dict']}[{found['key']}]"
        elif isinstance(node, ShapeGuard):
            shapes.append(node)
        elif node is not None:
            source, of_type = node
            if names and _BY_PLACE in source:
                source = _by_key(source, depth, names, renamed)
            managed.add(source)
            sources.append(source)
            if of_type:
                types.setdefault(source, of_type)  # the defaults of a function have its own source, further down
        elif body == "RootGuardManager" or body.startswith("KeyValueManager"):
            sources.append(sources[-1] if depth else Source())
        else:
            unread.append(body)
    return _tree(guards, shapes, types, unread, managed)


def _by_key(source: Source, depth: int, names: dict[str, str], renamed: list[tuple[int, str]]) -> Source:
    """The name of an item as symbols, reasons and marks have it: with its key, in place of where that is.

    ``names`` are the names of items, by the place of their keys; ``renamed`` are those that this one may be below, by their depths.
    """
    while renamed and renamed[-1][0] >= depth:
        renamed.pop()
    text = str(source)
    for _, by_place in renamed:
        text = text.replace(by_place, names[by_place])
    if text in names:
        renamed.append((depth, text))
        text = names[text]
    return Source(text)


_ABOUT_ONE = frozenset(("TENSOR_MATCH", "EQUALS_MATCH", "TYPE_MATCH", "ID_MATCH"))


def _node(parent: Source, body: str) -> "Guard | ShapeGuard | tuple[Source, str] | None":
    """A leaf, or (source, type or "") of a manager; None for the root and for an unknown form. ``parent`` is the source of its parent."""
    kind, colon, leaf = body.partition(": ")
    if colon and kind.isupper():
        code, comment = split_comment(leaf)
        code = without_hint(code)
        if kind in SHAPE_KINDS and not parent and " is " not in code and not any(word in code for word in _AMBIENT):
            return ShapeGuard(code, comment)
        if kind in _ABOUT_ONE and not parent:  # of a tree that somebody shortened
            parent = Source(_kind_and_source(code)[1])
        return _guard(kind, parent, code, comment)
    if " source=" in body:
        source, of_type = _manager(body)
        return Source(source), type_name(of_type)
    return None


def _guard(kind: str, source: Source, code: str, comment: str) -> Guard:
    found = _ITEM_OF_SUBCLASS.search(code) if "dict.__getitem__(" in code[:_NEAR] else None
    source = Source(found["item"]) if found else source  # its manager is named by the key, its symbol, reason and mark are not
    return Guard(kind, source, code, tuple([(attribute_key(source, name), value) for name, value in facts_of(kind, code, source)]), comment)


def attribute_key(source: Source, prop: Property) -> Key:
    """A key that is asked of an object's ``__dict__``, as an attribute of the object."""
    if prop.kind is Kind.HAS and source.endswith(_DICT_OF_ATTRIBUTES):
        return Source(source.removesuffix(_DICT_OF_ATTRIBUTES)), Property(Kind.HAS_ATTRIBUTE, name=prop.name.strip("'\""))
    return source, prop


def _manager(body: str) -> tuple[str, str]:
    """(source, type or "") of ``GuardManager: source=S, accessed_by=A(...), type=<class 'T'>, tag_safe=(...)``."""
    start = body.index(" source=") + 8
    safe = body.rfind(", tag_safe=(")
    end = safe if safe >= 0 else len(body)
    accessed = body.find(", accessed_by=", start, end)
    typed = body.rfind(", type=<", accessed if accessed >= 0 else start, end)
    stop = accessed if accessed >= 0 else typed if typed >= 0 else end
    return body[start:stop], body[typed + 7 : end] if typed >= 0 else ""


def _join_lines(body: str) -> str:
    """A leaf whose constant contains newlines, so that it continues without a ``+-``; without blank lines and the guard latency."""
    first, *more = body.split("\n")
    return "\n".join((first, *(line for line in more if line and not line.startswith("Guard latency"))))


def parse_list(text: str) -> GuardTree:
    """``dynamo_guards``: a JSON list of ``{"code": ...}``, all guards in versions without the C++ tree. Raises ValueError."""
    guards: list[Guard] = []
    shapes: list[ShapeGuard] = []
    items = orjson.loads(text)
    if not isinstance(items, list):
        raise ValueError("not a list")
    for item in items:
        for code in str(item.get("code", "")).split("\n") if isinstance(item, dict) else ():
            guard, comment = split_comment(code)
            kind, source = _kind_and_source(guard)
            if kind == "LAMBDA_GUARD" and not any(word in guard for word in _AMBIENT) and ("size()" in guard or "stride()" in guard):
                shapes.append(ShapeGuard(guard, comment))
            elif guard:
                guards.append(_guard(kind, Source(source), guard, comment))
    return _tree(guards, shapes, {}, [], set())


_LIST_KINDS = (
    (re.compile(r"^check_tensor\((.*?), (?:Tensor|Parameter|Buffer|[\w.]+), (?:DispatchKeySet|\.\.\.)"), "TENSOR_MATCH"),
    (re.compile(r"^___check_type_id\((.*), \d+\)"), "TYPE_MATCH"),
    (re.compile(r"^___check_obj_id\((.*), \d+\)"), "ID_MATCH"),
    (re.compile(r"^len\((.*)\) == \d+$"), "LENGTH_CHECK"),
    (re.compile(r"^(?:not )?hasattr\((.*), '[^']*'\)"), "NO_HASATTR"),
    (re.compile(r"^___check_global_state\(\)"), "GLOBAL_STATE"),
    (re.compile(r"^((?:[LG]\[.*?\]|[A-Za-z_]\w*)[^<>=()]*) == [^=]*$"), "EQUALS_MATCH"),
)


def _kind_and_source(guard: str) -> tuple[str, str]:
    for pattern, kind in _LIST_KINDS if len(guard) <= MAX_LENGTH else ():
        match = pattern.match(guard)
        if match and not (kind == "EQUALS_MATCH" and "size()" in guard):
            return kind, match[1] if match.groups() else ""
    return "LAMBDA_GUARD", ""


def _tree(guards: list[Guard], shapes: list[ShapeGuard], types: dict[Source, str], unread: list[str], managed: set[Source]) -> GuardTree:
    facts: dict[Key, Fact] = {}
    by_key: dict[Key, Guard] = {}
    same: set[tuple[Source, Source]] = set()
    distinct: set[Source] = set()
    for guard in guards:
        if guard.kind in _ALIASING or (guard.kind == "LAMBDA_GUARD" and _SAME_OBJECT.match(guard.text)):
            first, _, second = guard.text.partition(" is ")
            same.add((Source(first), Source(second)))
        elif guard.kind == "NO_TENSOR_ALIASING" and not distinct and guard.text.startswith("check_no_aliasing("):
            distinct.update(map(Source, _NAME.split(guard.text[len("check_no_aliasing(") : -1])))
        for key, value in guard.facts:
            if key not in facts:
                facts[key] = value
                by_key[key] = guard
    sources = frozenset(managed).union([guard.source for guard in guards])
    return GuardTree(
        guards=tuple(guards),
        shapes=tuple(shapes),
        types=types,
        unread=tuple(unread),
        sources=sources,
        same=frozenset(same),
        distinct=frozenset(distinct),
        modules=frozenset([Source(source.rpartition(".")[0]) for source in sources if source.endswith(_MODULE_PARTS)]),
        facts=facts,
        by_key=by_key,
    )


def type_name(text: str) -> str:
    """``<class 'torch.nn.modules.linear.Linear'>`` → ``torch.nn.modules.linear.Linear``."""
    return text[8:-2] if text.startswith("<class '") else text


def facts_of(kind: str, code: str, source: str) -> Facts:
    """The properties of ``source`` that one leaf requires; none for a leaf without a comparable value."""
    if len(code) > MAX_LENGTH:
        return _equality(code, source)
    read = _attribute if "hasattr(" in code[:12] else _READERS.get(kind, _equality)
    return read(code, source)


def _equality(code: str, source: str, of: Property = VALUE) -> Facts:
    """``S == constant``, ``S is None`` and the like."""
    if source and code.startswith((" is ", " == "), len(source)) and code.startswith(source):
        return ((of, in_order(code[len(source) + 4 :])),)
    checked, equals, value = code.partition(" == ")
    if equals and checked in (f"list({source}.keys())", f"list(dict.keys({source}))"):
        return ((Property(Kind.KEYS), value),)
    return ((of, value),) if equals else ()


def _identity(code: str, source: str) -> Facts:
    match = _OBJECT.match(code)
    return ((ID if match[1] == "obj" else TYPE, match[2]),) if match else _equality(code, source)


def _length(code: str, source: str) -> Facts:
    length = _LENGTH.match(code)
    if length:
        return ((LENGTH, int(length[3])),)
    return ((LENGTH, 0),) if code.startswith("not ") else _equality(code, source, LENGTH) if " == " in code else ()


def _lambda(code: str, source: str) -> Facts:
    """A check that is written in Python: of an ``itertools.count``, or of an instance of a subclass of int and the like."""
    for pattern, prop in ((_PLAIN_VALUE, PLAIN_VALUE), (_COUNTER, VALUE)):
        found = pattern.match(code)
        if found and found[1] == source:
            return ((prop, found[2]),)
    state = _TRANSFORMS.match(code)
    return ((TRANSFORMS, state[1]),) if state else _not_a_number(code, source)


def _not_a_number(code: str, source: str) -> Facts:
    """NaN, which equals nothing, is guarded by ``__math_isnan(S)`` until torch 2.6, then by ``(type(S) is float and __math_isnan(S))``."""
    return ((VALUE, "nan"),) if code in (f"__math_isnan({source})", f"(type({source}) is float and __math_isnan({source}))") else ()


def _contains(code: str, source: str) -> Facts:
    found = _CONTAINS.match(code)
    return ((Property(Kind.HAS, name=found["key"] or found["item"]), not found[1]),) if found else ()


def _attribute(code: str, source: str) -> Facts:
    found = _HASATTR.match(code)
    if not found:
        return ()
    present = (found[1] is None) == (found[4] != "False")
    kind = Kind.MARKING if found[3].startswith("_dynamo_") else Kind.HAS_ATTRIBUTE
    return ((Property(kind, name=found[3]), present),)


def _marking(code: str, source: str) -> Facts:
    marked = _MARKED.search(code)
    return ((Property(Kind.MARKING, name=marked[1]), marked[2].replace("set()", "{}")),) if marked else ()


def _tensor(code: str, source: str) -> Facts:
    whole = _TENSOR.search(code)
    match = whole or _SHORTENED_TENSOR.search(code)
    if not match:
        return ()
    sizes, strides = ([part.strip() for part in match[name].split(",") if part.strip()] for name in ("size", "stride"))
    rest = ((_DISPATCH_KEYS, whole["keys"]), (_DEVICE, whole["device"]), (REQUIRES_GRAD, whole["grad"] == "True")) if whole else ()
    return (
        (TENSOR, match["type"].rsplit(".", 1)[-1]),
        (RANK, len(sizes)),
        (DTYPE, match["dtype"].removeprefix("torch.")),
        *rest,
        *[
            (of_dim(dim), value if (value := integer(part)) is not None else DYNAMIC)
            for of_dim, parts in ((size, sizes), (stride, strides))
            for dim, part in enumerate(parts)
        ],
    )


def _global_state(code: str) -> Iterator[tuple[Property, Fact]]:
    """``___check_global_state() against {json}``, torch 2.13 and later: each field of the state at compile time."""
    _, _, state = code.partition(" against ")
    if not state:
        return
    try:
        fields = orjson.loads(state)
    except orjson.JSONDecodeError:
        return
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if name == "autocast_state" and isinstance(value, dict):
            for part, inner in value.items():
                yield Property(Kind.AUTOCAST, name=part), str(inner)
        else:
            yield Property(Kind.GLOBAL_STATE, name=str(name)), value if isinstance(value, (bool, int)) else str(value)


# How a leaf is read that checks for no attribute, by its kind.
_READERS: dict[str, Callable[[str, str], Facts]] = {
    "TENSOR_MATCH": _tensor,
    "GLOBAL_STATE": lambda code, source: tuple(_global_state(code)),
    "TYPE_MATCH": _identity,
    "ID_MATCH": _identity,
    "LENGTH_CHECK": _length,
    "DICT_LENGTH": _length,
    "TUPLE_ITERATOR_LEN": _length,
    "DICT_CONTAINS": _contains,
    "SET_CONTAINS": _contains,
    "DYNAMIC_INDICES": _marking,
    "DIMENSION_DYNAMIC_MARKING_GUARD": _marking,
    "RANGE_ITERATOR_MATCH": partial(_equality, of=Property(Kind.RANGE)),
    "DUAL_LEVEL_MATCH": lambda code, source: _equality(code, source, DUAL_LEVEL),
    "DEFAULT_DEVICE": lambda code, source: _equality(code, "utils_device.CURRENT_DEVICE", Property(Kind.DEFAULT_DEVICE)),
    **dict.fromkeys((*_ALIASING, "NO_TENSOR_ALIASING", *SHAPE_KINDS), lambda code, source: ()),
    "LAMBDA_GUARD": _lambda,
    "FLOAT_IS_NAN": _not_a_number,
}
