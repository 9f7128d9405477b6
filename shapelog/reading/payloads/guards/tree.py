"""The guard tree (``dynamo_cpp_guards_str``) and the guard list of old versions (``dynamo_guards``) → facts and shape guards.

One line of the tree is ``| | +- KIND: text  # user line  # file:line in function``; the manager above it has the source.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import orjson

from shapelog.grouping import connected, grouped
from shapelog.reading.payloads.guards.comments import UserLine, place_of, split_comment, without_hint
from shapelog.reading.payloads.guards.expressions import Expression, integer, parse
from shapelog.reading.payloads.guards.leaves import (
    ALIASING_KINDS,
    DYNAMIC,
    MAX_LENGTH,
    SHAPE_KINDS,
    Fact,
    Key,
    attribute_key,
    facts_of,
    type_name,
)
from shapelog.reading.payloads.properties import LENGTH, VALUE, Kind
from shapelog.reading.payloads.source_names import Source

_NODE = re.compile(r"\n([| ]*)\+- ")
_AMBIENT = ("top_saved_tensors_hooks", "compare_functorch_state", "forward_ad", "CURRENT_DEVICE")
_MODULE_PARTS = (
    *("._modules", "._parameters", "._buffers", ".training", "._forward_hooks", "._forward_pre_hooks", "._backward_hooks"),
    *(".__dict__['_modules']", ".__dict__['_parameters']", ".__dict__['_buffers']"),
)
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
_ABOUT_ONE = frozenset(("TENSOR_MATCH", "EQUALS_MATCH", "TYPE_MATCH", "ID_MATCH"))
# Two sizes are equal, and one of them is that of the base of a view.
_OF_SIZES = re.compile(r"[^=<>!+*/%]+\.size\(\)\[\d+\] == [^=<>!+*/%]+\.size\(\)\[\d+\]")
_OF_BASE = re.compile(rf"(?=.*\._base\.size\(\)){_OF_SIZES.pattern}")
_LOWER_BOUND = re.compile(r"^[012] <= [^<>=]+$")
# With ``torch._dynamo.config.automatic_dynamic_exclusion_guard``, a graph that became dynamic leaves the sizes of the static one to it.
_EXCLUSION = "exclusion guard for automatic dynamic"
# What older versions write in place of the line that a guard comes from.
_WITHOUT_CODE = "in init_ambient_guards"
_LIST_KINDS = (
    (re.compile(r"^check_tensor\((.*?), (?:Tensor|Parameter|Buffer|[\w.]+), (?:DispatchKeySet|\.\.\.)"), "TENSOR_MATCH"),
    (re.compile(r"^___check_type_id\((.*), \d+\)"), "TYPE_MATCH"),
    (re.compile(r"^___check_obj_id\((.*), \d+\)"), "ID_MATCH"),
    (re.compile(r"^len\((.*)\) == \d+$"), "LENGTH_CHECK"),
    (re.compile(r"^(?:not )?hasattr\((.*), '[^']*'\)"), "NO_HASATTR"),
    (re.compile(r"^___check_global_state\(\)"), "GLOBAL_STATE"),
    (re.compile(r"^((?:[LG]\[.*?\]|[A-Za-z_]\w*)[^<>=()]*) == [^=]*$"), "EQUALS_MATCH"),
)

# Parsed nodes by the source of their parent and their text: the trees of one frame have nearly all nodes in common.
NodeCache = dict[tuple[Source, str], "Guard | ShapeGuard | tuple[Source, str]"]


class Guard(NamedTuple):
    """One leaf: ``text`` is the guard as PyTorch wrote it, ``facts`` the properties of its source that it requires, with their values.

    The value of a dynamic dim is ``DYNAMIC``.
    """

    kind: str
    source: Source
    text: str
    facts: tuple[tuple[Key, Fact], ...]
    comment: str = ""


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

    @property
    def is_of_code(self) -> bool:
        """Whether the code requires it. Sizes that were equal by chance do not, nor that the first, static graph keeps its own sizes."""
        return not (self.is_duck_shape or _EXCLUSION in self.comment)

    @property
    def is_usual(self) -> bool:
        """Whether it is the lower bound that every symbolic size has, since 0 and 1 have graphs of their own."""
        return _LOWER_BOUND.match(self.expression) is not None


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
    def shapes_of_one(self) -> dict[str, list[ShapeGuard]]:
        """The guards over one size or int alone, by its spelling in expressions."""
        alone = [shape for shape in self.shapes if len(shape.parsed.names) == 1]
        return grouped(alone, lambda shape: shape.parsed.names[0])

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
        if guard.kind in ALIASING_KINDS or (guard.kind == "LAMBDA_GUARD" and _SAME_OBJECT.match(guard.text)):
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
