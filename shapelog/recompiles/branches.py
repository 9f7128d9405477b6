"""Evidence in two static compiles that the code took another path, though their graphs have the same operations.

With what varied marked, each path has a graph of its own. Graphs alone do not show it where the arms of a branch differ in constants.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.expressions import Value, canonical, integer, parse
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.python_code import syntax_tree
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause, EntryDifference
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.text import file_name

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:e[+-]?\d+)?")
# Without one of these, a line has no condition.
_OF_CONDITIONS = ("==", "!=", "<", ">", " in ", "if ", "while ", "assert ", " and ", " or ", "not ")
# An element of a list, or of a dict whose keys are numbers, as text or not.
_ELEMENT = re.compile(r"\[(['\"]?)(\d{1,18})\1\]")


def other_path(difference: EntryDifference, entry: CompileFacts, call: CompileFacts) -> str:
    """What shows that the code takes another path for what varied, as the end of a sentence; "" where nothing does."""
    lines = {**entry.quoted_lines, **call.quoted_lines}
    values = _values(entry), _values(call)
    sizes, varied = _varied(difference, entry, of_sizes=True), _varied(difference, entry)
    for code in (lines[number] for number in sorted(lines)):
        if _loops_over(code, sizes):
            return f"the code loops over this size ({code.strip()[:60]})"
        if _condition_splits(code, varied, values):
            return f"the code branches on this value ({code.strip()[:60]})"
        for known in values:
            _assign(code, known)
    for cause in difference.causes:
        if cause.place and _splits_where_used(cause, cause.place.code):
            return f"the code branches on this value ({cause.place.code.strip()[:60]})"
    moved = _used_on_another_line(entry, call)
    if moved:
        return f"the code takes a different path for this value: it uses {moved} on a different line"
    one, other = entry.compile.graph, call.compile.graph
    if one is None or other is None:
        return ""
    if len(one.operation_comments) == len(other.operation_comments) and one.operation_comments != other.operation_comments:
        return "the code takes a different path for this value (the operations come from different lines)"
    written = set(_NUMBER.findall(" ".join(line.code for line in one.user_lines)))
    for before, after in zip(one.numbers, other.numbers, strict=False) if len(one.numbers) == len(other.numbers) else ():
        if before != after and "." in before and {before, after} <= written:
            return f"the code uses a different constant for this value ({before}, now {after})"
    return ""


def break_on_symbol(compile: Compile) -> str:
    """The place, ``model.py:9``, where a graph breaks because an operator does not take what is symbolic, such as a condition of sizes; ""
    where none does. With static sizes, the same line has no such argument.
    """
    places = (item.place for item in compile.breaks if item.message.takes_no_symbol)
    return next((f"{file_name(place.file)}:{place.line}" for place in places if place), "")


def index_of(difference: EntryDifference, entry: CompileFacts, call: CompileFacts) -> str:
    """An int among the causes by which the code picks an element of a list or dict, and the two elements, in words; "" without one.

    Dynamo needs the number to know the element: ``layers[self.index]`` is ``layers[0]`` in one compile and ``layers[1]`` in the other.
    """
    ints = {(cause.before, cause.after): cause for cause in difference.causes if cause.is_int}
    varied = grouped(ints.values(), lambda cause: cause.before)
    new = call.sources - entry.sources
    for source in sorted(entry.sources - call.sources) if varied and new else ():
        for found in _ELEMENT.finditer(source):
            for cause in varied.get(found[2], ()):
                other = Source(f"{source[: found.start(2)]}{cause.after}{source[found.end(2) :]}")
                if other in new:
                    return f"{cause.axis} picks an element: {source.display_name} before, {other.display_name} now"
    return ""


def _used_on_another_line(entry: CompileFacts, call: CompileFacts) -> str:
    """Something that the function first uses on one line in one call, and on another line in the other; "" without one."""
    lines = call.lines_of_use
    moved = (key[0].display_name for key, line in entry.lines_of_use.items() if lines.get(key, line) != line)
    return next(moved, "")


def _assign(code: str, values: dict[str, Value]) -> None:
    """What an int is after a line such as ``self.step += 1``; not known any more where that cannot be calculated."""
    tree = syntax_tree(code.strip(), "exec") if "=" in code else None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.AugAssign):
            _set(node.target, ast.BinOp(node.target, node.op, node.value), values)
        elif isinstance(node, ast.Assign):
            _set(node.targets[0], node.value, values)


def _set(target: ast.expr, new: ast.expr, values: dict[str, Value]) -> None:
    name = ast.unparse(target)
    if name in values:
        value = parse(ast.unparse(new)).value(values)
        del values[name]
        if value is not None:
            values[name] = value


def _varied(difference: EntryDifference, entry: CompileFacts, of_sizes: bool = False) -> frozenset[str]:
    """How code may write what varied, or the sizes among it."""
    ranks = {item.source.display_name: len(item.size) for item in entry.compile.inputs}
    return frozenset(
        spelling
        for name, prop in ((cause.source.display_name, cause.prop) for cause in difference.causes)
        if prop.kind is Kind.SIZE or not of_sizes
        for spelling in _spellings(name, prop.kind, prop.dim, ranks.get(name, 0))
    )


def _loops_over(code: str, sizes: frozenset[str]) -> bool:
    """Whether this line begins a loop over ``range`` of a size: Dynamo unrolls it, for which it needs the number."""
    if "range(" not in code or not any(name in code for name in sizes):
        return False
    nodes = (node for tree in _trees(code) for node in ast.walk(tree))
    loops = (node.iter for node in nodes if isinstance(node, (ast.For, ast.comprehension)))
    calls = (loop for loop in loops if isinstance(loop, ast.Call) and ast.unparse(loop.func) == "range")
    return any(ast.unparse(part) in sizes for call in calls for argument in call.args for part in ast.walk(argument))


def _condition_splits(code: str, varied: frozenset[str], values: tuple[dict[str, Value], dict[str, Value]]) -> bool:
    """Whether a condition in this line comes out differently in the two calls, because of what varied."""
    if not any(word in code for word in _OF_CONDITIONS) or not any(name in code for name in varied):
        return False
    for condition in _conditions(code):
        names = {name for name in varied if name in condition}
        if names:
            before, after = (_holds(condition, known) for known in values)
            if before is not None and after is not None and before != after:
                return True
    return False


def _splits_where_used(cause: Cause, code: str) -> bool:
    """Whether a condition in the line that first uses an int comes out differently with its two values.

    That line may be one of another function, which knows an attribute by another name of its object: self.layers.0.step is self.step there.
    """
    before, after = (integer(value) if cause.is_int else None for value in (cause.before, cause.after))
    attribute = cause.source.display_name.rpartition(".")[2]
    if before is None or after is None or attribute not in code:
        return False
    for condition in _conditions(code):
        parts = (node for node in ast.walk(ast.parse(condition)) if isinstance(node, ast.Attribute))
        names = {ast.unparse(node) for node in parts if node.attr == attribute}
        if len(names) == 1:
            (name,) = names
            held = [_holds(condition, {name: value}) for value in (before, after)]
            if None not in held and held[0] is not held[1]:
                return True
    return False


def _conditions(code: str) -> Iterator[str]:
    """The comparisons in a line, and the names whose truth it asks for."""
    for node in (node for tree in _trees(code) for node in ast.walk(tree)):
        if isinstance(node, ast.Compare):
            yield ast.unparse(node)
        yield from (ast.unparse(part) for part in _asked_for_truth(node) if isinstance(part, (ast.Name, ast.Attribute)))


def _asked_for_truth(node: ast.AST) -> Sequence[ast.expr]:
    if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
        return (node.test,)
    if isinstance(node, ast.BoolOp):
        return node.values
    return (node.operand,) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else ()


def _trees(code: str) -> Iterator[ast.AST]:
    """The syntax tree of one line, also where it is the head of a block; none where it is no whole statement."""
    text = code.strip()
    for whole in (text, f"{text} pass", text.replace("elif ", "if ", 1) + " pass", f"with a: pass\n{text}"):
        tree = syntax_tree(whole, "exec")
        if tree is not None:
            yield tree
            return


def _holds(condition: str, values: dict[str, Value]) -> bool | None:
    """Whether a comparison is true, or a name of a number that is not 0; None where that is not known."""
    node = ast.parse(condition, mode="eval").body
    if isinstance(node, (ast.Name, ast.Attribute)):
        number = values.get(canonical(condition))
        return bool(number) if isinstance(number, int) else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        listed = node.comparators[0]
        value = parse(ast.unparse(node.left)).value(values)
        if value is None or not isinstance(listed, (ast.Tuple, ast.List, ast.Set)):
            return None
        members = [item.value for item in listed.elts if isinstance(item, ast.Constant)]
        return (value in members) is isinstance(node.ops[0], ast.In) if len(members) == len(listed.elts) else None
    return parse(condition).holds(values)


def _spellings(name: str, kind: Kind, dim: int, rank: int) -> Iterator[str]:
    """How code may write a size of a tensor with that many dims, or an int: ``x.shape[0]``, ``x.size(-1)``, ``k``."""
    if kind is not Kind.SIZE:
        yield canonical(name)
        return
    for index in (dim, dim - rank):
        yield f"{name}.shape[{index}]"
        yield f"{name}.size({index})"
    if dim == 0:
        yield f"len({name})"


def _values(known: CompileFacts) -> dict[str, Value]:
    """The sizes and ints of a call by how code may write them."""
    found: dict[str, Value] = {}
    for tensor in known.compile.inputs:
        for dim, size in enumerate(tensor.size):
            found.update((name, size) for name in _spellings(tensor.source.display_name, Kind.SIZE, dim, len(tensor.size)))
    for (source, prop), fact in known.facts.items():
        number = integer(str(fact)) if prop.kind is Kind.VALUE else None
        if number is not None:
            found[canonical(source.display_name)] = number
    return found
