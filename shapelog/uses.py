"""What code does with an int, told from the lines that a trace quotes: a symbolic int cannot be formatted into a string.

Measured with torch 2.13: f-strings, ``format`` and ``%`` lose the graph once the int is symbolic, and ``str`` and ``repr`` break it in
two; ``range``, ``hash``, list and dict look-ups and sequence repetition pin it to its value, so that marking it gains nothing;
arithmetic, slices and sizes are fine.
"""

import ast
from enum import IntEnum

from shapelog.model import Frame
from shapelog.payloads.guards import place_of
from shapelog.payloads.sources import friendly


class Use(IntEnum):
    """What a line does with an int, the most harmful last."""

    UNSEEN = 0
    PLAIN = 1
    HANDS_ON = 2
    PINS = 3
    FORMATS = 4


_CONTAINERS = frozenset(("list", "tuple", "dict", "OrderedDict", "defaultdict", "ModuleList", "ModuleDict", "ParameterList", "Sequential"))
_PINNING = frozenset(("range", "getattr", "hash"))
_FORMATTING = frozenset(("format", "format_map"))
_SPELLING = frozenset(("str", "repr", "format", "ascii", "divmod"))
_LOOKING_UP = frozenset(("get", "setdefault", "pop"))
_HARMLESS_CALLS = frozenset(("int", "float", "bool", "abs", "min", "max", "len", "isinstance", "print", "sum", "pow", "round"))


def use_in(code: str, name: str, containers: frozenset[str] = frozenset()) -> Use:
    """What a line of code does with ``name``, an expression such as ``k`` or ``self.step``; ``containers`` are lists, tuples and dicts.

    Where the line does not bear the name (the int came in as an argument of another one), its formatting stands for it.
    """
    tree = _parsed(code)
    if tree is None:
        return Use.UNSEEN
    found = Use.UNSEEN
    is_named = any(_is(node, name) for node in ast.walk(tree))
    for node in ast.walk(tree):
        found = max(found, _use_of(node, name, is_named))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in containers and _holds(node.slice, name):
            found = max(found, Use.PINS)
    return max(found, Use.PLAIN) if is_named else found


def _use_of(node: ast.AST, name: str, is_named: bool) -> Use:
    if _formats(node) and (not is_named or _holds(node, name)):
        return Use.FORMATS
    if not is_named:
        return Use.UNSEEN
    if isinstance(node, ast.Compare) and any(isinstance(part, (ast.In, ast.NotIn)) for part in node.ops) and _is(node.left, name):
        return Use.PINS
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _PINNING and any(_holds(argument, name) for argument in node.args):
            return Use.PINS
        direct = any(_is(argument, name) for argument in (*node.args, *(keyword.value for keyword in node.keywords)))
        if direct and isinstance(node.func, ast.Name) and node.func.id not in _HARMLESS_CALLS:
            return Use.HANDS_ON
        if direct and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKING_UP:
            return Use.PINS
        return Use.HANDS_ON if direct and _is_own_method(node.func) else Use.UNSEEN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        if any(isinstance(side, (ast.List, ast.Tuple)) for side in sides) and any(_is(side, name) for side in sides):
            return Use.PINS
    return Use.UNSEEN


def _is_own_method(function: ast.expr) -> bool:
    """``self.run(k)``: the int goes on to code that this line does not show."""
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self"


def _formats(node: ast.AST) -> bool:
    if isinstance(node, ast.FormattedValue):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return isinstance(node.left, ast.JoinedStr) or (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _FORMATTING
    return isinstance(node.func, ast.Name) and node.func.id in _SPELLING


def _holds(node: ast.AST, name: str) -> bool:
    return any(_is(part, name) for part in ast.walk(node))


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(node) == name


def _parsed(code: str) -> ast.AST | None:
    """One line, or the head of a block, as a tree."""
    text = code.strip()
    for start in ("elif ", "except ", "case "):
        text = text.replace(start, "if ", 1) if text.startswith(start) else text
    for whole in (text, f"{text} pass", f"{text.removeprefix('return ')}", f"{text})", f"({text}", f"f({text}", f"with a: pass\n{text}"):
        try:
            return ast.parse(whole)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def spelled(source: str) -> str:
    """The int as the code at its source names it: ``L['k']`` is ``k``."""
    text = friendly(source)
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


def lines_of(frame: Frame) -> dict[int, str]:
    """The lines of a frame's own code that its guards and graphs quote."""
    graphs = {id(graph): graph for graph in (compile.graph for compile in frame.compiles) if graph}
    found = {
        item.line: item.code
        for graph in graphs.values()
        for item in graph.user_lines
        if item.file == frame.file and item.name == frame.name
    }
    trees = [tree for tree in (compile.guards for compile in frame.compiles) if tree]
    file = frame.file.rsplit("/", 1)[-1]
    for place in map(place_of, dict.fromkeys(guard.comment for tree in trees for guard in tree.guards)):
        if place and place.code and place.name == frame.name and place.file.rsplit("/", 1)[-1] == file:
            found[place.line] = place.code
    return found


def use_by(frame: Frame, source: str) -> Use:
    """The most harmful use of an int that the frame's trace quotes, wherever the int was looked at first."""
    name, containers = spelled(source), _containers(frame)
    found = Use.UNSEEN
    for compile in frame.compiles:
        tree = compile.guards
        for guard in tree.guards if tree else ():
            if guard.source == source:
                place = place_of(guard.comment)
                found = max(found, use_in(place.code, name, containers) if place and place.code else Use.UNSEEN)
    return max([found, *(use_in(code, name, containers) for code in lines_of(frame).values() if name in code)])


def _containers(frame: Frame) -> frozenset[str]:
    """The lists, tuples and dicts that a frame's guards know, as its code names them."""
    trees = [tree for tree in (compile.guards for compile in frame.compiles) if tree]
    typed = {source for tree in trees for source, kind in tree.types.items() if kind.rsplit(".", 1)[-1] in _CONTAINERS}
    measured = {source for tree in trees for source, prop in tree.facts if prop in ("len", "keys")}
    return frozenset(spelled(source) for source in typed | measured if source)


def is_seen_whole(frame: Frame) -> bool:
    """Whether every line from the first of the body to the last that is quoted is quoted, so that no other use can hide."""
    lines = lines_of(frame)
    if not lines:
        return False
    # the code object begins at its decorator, if it has one: one line more before the body
    missing = [line for line in range(frame.line + 1, max(lines)) if line not in lines]
    return not missing or missing == [frame.line + 1]
