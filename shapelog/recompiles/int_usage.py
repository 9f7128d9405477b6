"""What code does with a number, judged by the lines that a trace quotes: some of it needs the number behind a symbolic int.

Measured with torch 2.13 (2.8 and 2.10 differ in a few, which count as the worst of the three): f-strings, ``format`` and ``%`` lose the
graph once the int is symbolic, ``str`` and ``repr`` break it in two, and so do or fail the calls of ``_FAILING``; ``range``, ``hash``,
list and dict look-ups, sequence repetition and the operators of ``pinning`` pin it to its value, so that marking it gains nothing;
arithmetic, comparisons, slices and sizes are fine, and so is a message that is not shown. A range whose ints are symbolic fails wherever it
is used as a whole.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from itertools import chain

from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.expressions import canonical
from shapelog.reading.payloads.properties import LENGTH
from shapelog.reading.payloads.python_code import syntax_tree
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.constant_arguments import pinned_arguments


class Use(IntEnum):
    """What a line does with an int, the most harmful last."""

    UNSEEN = 0
    PLAIN = 1
    HANDS_ON = 2
    PINS = 3
    FORMATS = 4
    FAILS = 5


_CONTAINERS = frozenset(("list", "tuple", "dict", "OrderedDict", "defaultdict", "ModuleList", "ModuleDict", "ParameterList", "Sequential"))
_LONGEST_LINE = 60
_WORD = re.compile(r"\w+")
_INDEX = re.compile(r"\[\d{1,18}\]")
_PINNING = frozenset(("range", "hash", "islice"))
_FORMATTING = frozenset(("format", "format_map"))
_SPELLING = frozenset(("str", "repr", "format", "ascii"))
_LOOKING_UP = frozenset(("get", "setdefault", "pop", "index", "count"))
_OF_TYPE = frozenset(("isinstance", "issubclass", "hasattr", "callable", "type"))
_ASKING_FOR_TYPE = frozenset(("isinstance", "issubclass", "type", "callable", "hasattr", "is_tensor", "is_tensor_like"))
_FAILING = frozenset(("divmod", "sorted", "bin", "hex", "oct", "chr"))
_COMPARING = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_OF_A_DIM = frozenset(("size", "stride"))
_FAILING_ATTRIBUTES = _OF_A_DIM | frozenset(("gcd", "lcm", "comb", "perm", "factorial", "isqrt", "isclose"))
RANGE_PARTS = frozenset(("start", "stop", "step"))
_OVER_RANGES = frozenset(("len", "sum", "list", "tuple", "set", "iter", "enumerate", "zip", "reversed", "min", "max", "any", "all", "map"))
_OF_DTYPES = ("Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")
_MAKING_TENSORS = frozenset(("tensor", "as_tensor", "new_tensor", "asarray", "array", "Tensor", *map("{}Tensor".format, _OF_DTYPES)))
_HARMLESS_CALLS = frozenset(
    ("int", "float", "bool", "abs", "min", "max", "len", "isinstance", "print", "sum", "pow", "round", "getattr", "enumerate")
)


def use_in(code: str, name: str, containers: frozenset[str] = frozenset(), is_eager: bool = False) -> Use:
    """What a line of code does with ``name``, an expression such as ``k`` or ``self.step``; ``containers`` are lists, tuples and dicts.

    Where the line does not have the name (the int came in as an argument of another one), any formatting in it counts. An int is
    ``is_eager`` when it is made symbolic at once, before it is used: those of modules and globals are, and cannot slice a list.
    """
    tree = _parsed(code)
    if tree is None:
        return Use.UNSEEN
    nodes = list(_executed(tree))
    found = Use.UNSEEN
    is_named = any(_is(node, name) for node in nodes)
    for node in nodes:
        if _formats(node) and (not is_named or _holds(node, name)):
            found = max(found, Use.FORMATS)
        elif is_named and isinstance(node, ast.Call):
            found = max(found, _use_by_call(node, name))
        elif is_named and isinstance(node, ast.Subscript) and _holds(node.slice, name) and _is_container(node.value, containers):
            found = max(found, Use.FAILS if is_eager and isinstance(node.slice, ast.Slice) else Use.PINS)
        elif is_named:
            found = max(found, _use_by(node, name))
    return max(found, Use.PLAIN) if is_named else found


def uses_whole_range(code: str, name: str) -> bool:
    """Whether a line of code goes over a range, takes items from it, or asks for its length or members.

    A resumed function names the range that the line before the break made ``___stack0``.
    """
    tree = _parsed(code)
    made = name.startswith("___stack")
    return tree is not None and any(
        _is(part, name) or (made and isinstance(part, ast.Call) and _called(part) == "range")
        for node in ast.walk(tree)
        for part in _ranges_of(node)
    )


def _ranges_of(node: ast.AST) -> Sequence[ast.AST]:
    """The parts of a node that are used as a whole if they are ranges."""
    if isinstance(node, (ast.For, ast.comprehension)):
        return (node.iter,)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        return (node.test,)
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return (node.value,)
    if isinstance(node, ast.Compare):
        return node.comparators
    return node.args if isinstance(node, ast.Call) and _called(node) in _OVER_RANGES else ()


def is_tested(code: str, name: str, in_calls: bool = True) -> bool:
    """Whether a line of code branches on the value of ``name``: in the condition of a branch, a loop or an assertion.

    Whether it is None, or of which type, does not depend on the value; what a call returns for it may not, where that is left out.
    """
    tree = _parsed(code)
    tests = (node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert))) if tree else ()
    return any(_asks_for(test, name, in_calls) for test in tests)


def branches_on_type(code: str, name: str) -> bool:
    """Whether a line branches on the type of ``name``, ``if isinstance(index, slice):``."""
    tree = _parsed(code)
    tests = (node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp, ast.While))) if tree else ()
    calls = (part for test in tests for part in ast.walk(test) if isinstance(part, ast.Call) and part.args and _is(part.args[0], name))
    return any((_called(call) or getattr(call.func, "attr", "")) in _ASKING_FOR_TYPE for call in calls)


def only_compares(code: str) -> bool:
    """Whether a line branches, and its conditions do nothing but compare sizes, numbers and what is calculated from them. A loop, which
    Dynamo unrolls, needs its size.
    """
    nodes = list(ast.walk(tree)) if (tree := _parsed(code)) else []
    tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.IfExp))]
    return bool(tests) and all(map(_is_comparison, tests)) and not any(isinstance(node, ast.While) for node in nodes)


def _is_comparison(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(map(_is_comparison, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_comparison(test.operand)
    if not isinstance(test, ast.Compare) or not all(isinstance(operator, _COMPARING) for operator in test.ops):
        return False
    return all(map(_is_calculated, (test.left, *test.comparators)))


def _is_calculated(node: ast.expr) -> bool:
    """Whether it is a name, a number, a size, or made of these without a call that needs the number."""
    if isinstance(node, ast.Call):
        is_size = (isinstance(node.func, ast.Name) and node.func.id == "len") or getattr(node.func, "attr", "") in _OF_A_DIM
        return is_size and all(map(_is_calculated, node.args))
    parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
    return isinstance(node, (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.UnaryOp)) and all(
        map(_is_calculated, parts)
    )


def compares_nothing(code: str) -> bool:
    """Whether a line of code, as far as it is there, has no comparison, condition or assertion; False where it cannot be read."""
    tree = _parsed(code)
    kinds = (ast.Compare, ast.BoolOp, ast.If, ast.IfExp, ast.While, ast.Assert)
    return tree is not None and not any(isinstance(node, kinds) for node in ast.walk(tree))


def tensor_made_of(code: str, source: Source) -> str:
    """The call of a line that makes a tensor or an array of a number or a list, ``torch.tensor(sizes)``; "" where it has none.

    An item of a list is one of what the whole list is passed for.
    """
    tree = _parsed(code)
    name = spelled(source)
    names = {name} | {name[: match.start()] for match in _INDEX.finditer(name)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args) if tree else ()
    makers = (node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr in _MAKING_TENSORS)
    return next((ast.unparse(node) for node in makers if any(_is(part, *names) for part in _parts(node.args[0]))), "")


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """What a list or tuple that is written out has, or the expression itself."""
    return node.elts if isinstance(node, (ast.List, ast.Tuple)) else (node,)


def passes_on(code: str, name: str) -> bool:
    """Whether a line passes the items of a list as arguments of their own, ``count(*args)``."""
    tree = _parsed(code)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    return any(isinstance(part, ast.Starred) and _is(part.value, name) for node in calls for part in node.args)


def picks_dim(code: str, name: str) -> bool:
    """Whether a line asks for the size or stride of the dim with this number, ``x.size(dim=axis)``: another dim has another one."""
    tree = _parsed(code)
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree else ()
    return any(
        isinstance(node.func, ast.Attribute) and node.func.attr in _OF_A_DIM and any(_is(part, name) for part in _arguments(node))
        for node in calls
    )


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def is_branch(code: str) -> bool:
    """Whether a line of code is an ``if``, an ``elif`` or a ``while``."""
    tree = None if code.lstrip().startswith("except ") else _parsed(code)
    return tree is not None and any(isinstance(node, (ast.If, ast.While)) for node in ast.walk(tree))


def _asks_for(test: ast.AST, name: str, in_calls: bool) -> bool:
    if isinstance(test, ast.Compare) and all(isinstance(operator, (ast.Is, ast.IsNot)) for operator in test.ops):
        return False
    if isinstance(test, ast.Call) and (not in_calls or (isinstance(test.func, ast.Name) and test.func.id in _OF_TYPE)):
        return False
    return _is(test, name) or any(_asks_for(part, name, in_calls) for part in ast.iter_child_nodes(test))


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree without the messages of assertions and errors, which are made when those are raised."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        children = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.Raise))
        pending.extend(child for child in children if not (isinstance(node, ast.Assert) and child is node.msg))


def _use_by_call(node: ast.Call, name: str) -> Use:
    arguments = _arguments(node)
    is_direct = any(_is(argument, name) for argument in arguments)
    if isinstance(node.func, ast.Name):
        if node.func.id in _FAILING and any(_holds(argument, name) for argument in arguments):
            return Use.FAILS
        if node.func.id in _PINNING and any(_holds(argument, name) for argument in arguments):
            return Use.PINS
        return Use.HANDS_ON if is_direct and node.func.id not in _HARMLESS_CALLS else Use.UNSEEN
    if isinstance(node.func, ast.Attribute):
        if is_direct and node.func.attr in _FAILING_ATTRIBUTES:
            return Use.FAILS
        if _is(node.func.value, name) or (is_direct and node.func.attr in _LOOKING_UP):
            return Use.PINS
        if any(_holds(argument, name) for argument in pinned_arguments(node)):
            return Use.PINS
    return Use.HANDS_ON if is_direct and _is_own_method(node.func) else Use.UNSEEN


def _use_by(node: ast.AST, name: str) -> Use:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert) and _is(node.operand, name):
        return Use.FAILS
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)) and _holds(node.left, name):
        if isinstance(node.comparators[0], (ast.Tuple, ast.List)):
            return Use.UNSEEN  # a branch for each element
        return Use.FAILS if _called(node.comparators[0]) == "range" else Use.PINS
    if isinstance(node, (ast.Dict, ast.Set)):
        return (
            Use.PINS
            if any(part and _holds(part, name) for part in (node.keys if isinstance(node, ast.Dict) else node.elts))
            else Use.UNSEEN
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        if any(isinstance(side, (ast.List, ast.Tuple)) for side in sides) and any(_is(side, name) for side in sides):
            return Use.PINS
    return Use.UNSEEN


def _called(node: ast.expr) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def _is_container(node: ast.expr, containers: frozenset[str]) -> bool:
    return ast.unparse(node) in containers or (isinstance(node, ast.Attribute) and node.attr == "shape")


def _is_own_method(function: ast.expr) -> bool:
    """``self.run(k)``: the int is passed to code that this line does not show."""
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


def _is(node: ast.AST, *names: str) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(node) in names


def _parsed(code: str) -> ast.AST | None:
    """One line, or the head of a block, as a tree."""
    text = code.strip()
    for start in ("elif ", "except ", "case "):
        text = text.replace(start, "if ", 1) if text.startswith(start) else text
    for whole in (text, f"{text} pass", f"{text.removeprefix('return ')}", f"{text})", f"({text}", f"f({text}", f"with a: pass\n{text}"):
        tree = syntax_tree(whole, "exec")
        if tree is not None:
            return tree
    return None


def spelled(source: Source) -> str:
    """The int as the code at its source names it: ``L['k']`` is ``k``."""
    return canonical(source.display_name)


class QuotedCode:
    """The lines of a frame's own code that its guards and graphs quote, and what they do with an int.

    ``lines`` has them by their numbers.
    """

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._trees = [tree for tree in (compile.guards for compile in frame.compiles) if tree]
        self.lines = self._own_lines()

    def _own_lines(self) -> dict[int, str]:
        frame = self.frame
        lines = (item for compile in frame.compiles if compile.graph for item in compile.graph.user_lines)
        found = {item.line: item.code for item in lines if item.file == frame.file and item.name == frame.name}
        file = frame.file.rsplit("/", 1)[-1]
        of_reasons = (reason.place for compile in self.frame.compiles for reason in compile.reasons)
        for place in chain((place for tree in self._trees for place in tree.places.values()), of_reasons):
            if place and place.code and place.name == frame.name and place.file.rsplit("/", 1)[-1] == file:
                found[place.line] = place.code
        return found

    def use_of(self, source: Source) -> Use:
        """The most harmful use of the int at a source, wherever it was looked at first."""
        guarded = self._guarded.get(source, set())
        names = (spelled(source), self.range_with(source))
        own = {code for name in names if name for code in self._lines_with(name) if name in code}
        return max((self._use_in(code, source) for code in guarded | own), default=Use.UNSEEN)

    def _use_in(self, code: str, source: Source) -> Use:
        whole = self.range_with(source)
        if whole and uses_whole_range(code, whole):
            return Use.FAILS
        return use_in(code, spelled(source), self._containers, source.startswith(("L['self'].", "G[")))

    def range_with(self, source: Source) -> str:
        """The range, as the code names it, that an int belongs to; "" for other ints."""
        owner, _, part = source.rpartition(".")
        return spelled(Source(owner)) if part in RANGE_PARTS and owner in self._ranges else ""

    def dim_picked_by(self, source: Source) -> str:
        """The line that takes the int at a source for the number of a dim, like ``line_with``; "" where none does."""
        return self._first_line(lambda line: picks_dim(line, spelled(source)))

    def line_with(self, source: Source, use: Use) -> str:
        """The first line with this use of the int at a source, ``model.py:12 (cache[self.index] = x)``; "" where no line has it."""
        return self._first_line(lambda line: self._use_in(line, source) is use)

    def _first_line(self, is_it: Callable[[str], bool]) -> str:
        found = next(((number, line) for number, line in sorted(self.lines.items()) if is_it(line)), None)
        return f"{self.frame.file.rsplit('/', 1)[-1]}:{found[0]} ({found[1].strip()[:_LONGEST_LINE]})" if found else ""

    @cached_property
    def is_whole(self) -> bool:
        """Whether every line from the first of the body to the last that is quoted is quoted, so that no other use can hide."""
        if not self.lines:
            return False
        # the code object begins at its decorator, if it has one: one line more before the body
        body, end = self.frame.line + 1, max(self.lines)
        missing = end - body - sum(body <= line < end for line in self.lines)
        return missing <= 0 or (missing == 1 and body not in self.lines)

    def _lines_with(self, name: str) -> Collection[str]:
        """The lines that have a word of a name, of its words the one that the fewest have."""
        found = [self._by_word.get(word, []) for word in _WORD.findall(name)]
        return min(found, key=len, default=self.lines.values())

    @cached_property
    def _by_word(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for code in self.lines.values():
            for word in dict.fromkeys(_WORD.findall(code)):
                found.setdefault(word, []).append(code)
        return found

    @cached_property
    def _guarded(self) -> dict[Source, set[str]]:
        """The lines that the guards on each source quote."""
        found: dict[Source, set[str]] = {}
        for tree in self._trees:
            for guard in tree.guards:
                place = tree.places[guard.comment]
                if place and place.code:
                    found.setdefault(guard.source, set()).add(place.code)
        return found

    @cached_property
    def _ranges(self) -> frozenset[str]:
        return frozenset(source for tree in self._trees for source, kind in tree.types.items() if kind == "range")

    @cached_property
    def _containers(self) -> frozenset[str]:
        """The lists, tuples and dicts that the guards know, as the code names them."""
        typed = {source for tree in self._trees for source, kind in tree.types.items() if kind.rsplit(".", 1)[-1] in _CONTAINERS}
        measured = {source for tree in self._trees for source, prop in tree.facts if prop == LENGTH}
        return frozenset(spelled(source) for source in typed | measured if source)
