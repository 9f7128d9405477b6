"""What the lines that call two compiled functions show about whether one of them is passed what the other returned.

A trace has the lines of the callers (``Compile.recorded_callers``). Two functions that a third one calls right after each other may be
linked, as in ``score(encode(x))``; the sum in ``score(h + encode(h))`` is a new tensor, which looks the same in the trace.
"""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from shapelog.model.compile import Compile, function_of, resumed_by
from shapelog.reading.payloads.python_code import line_tree
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import StackFrame, calling_line

_POSITIONAL = re.compile(r"^L\['args'\]\[(\d{1,4})\]$")
_KEYWORD = re.compile(r"^L\['(?!self')(?:kwargs'\]\[')?(\w+)'\](?P<part>(?:\[\w{1,60}\]|\['\w{1,60}'\]|\.\w{1,60})*)$")
# Code around a call that leaves what it returned as it is, and code that computes something else of it.
_UNCHANGED = (ast.Await, ast.Starred, ast.Subscript, ast.Attribute, ast.NamedExpr, ast.keyword, ast.Tuple, ast.List)
_COMPUTING = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.AugAssign)
# What a line calls that is not compiled code.
_NOT_COMPILED = frozenset(("torch", "print", "float", "int", "len", "range", "enumerate", "zip", "str"))
# What may return or hold its arguments as they are.
_PASSING_ON = frozenset(("list", "tuple", "dict", "next", "iter", "zip", "reversed", "enumerate", "map", "filter", "cast"))
# Methods that return a tensor as it is where nothing has to be done.
_SAME_TENSOR = frozenset(
    ("contiguous", "to", "cuda", "cpu", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "bool", "requires_grad_")
)
# Methods of what holds a tensor.
_TAKING_OUT = frozenset(("get", "items", "keys", "pop", "to_tuple", "values"))


class Link(Enum):
    """What the lines show: one call is an argument of the other, or takes the variable that held its result; it is not its result that is
    passed; or nothing for certain.
    """

    DIRECT = "direct"
    NAMED = "named"
    NONE = "none"
    UNKNOWN = "unknown"


def link(maker: Compile, taker: Compile, source: Source) -> Link:
    """Whether the input ``source`` of one compile is what the other one returned, by the lines of the function that calls both."""
    made, taken = _receiver(maker, taker), caller(taker)
    if made is None or taken is None:
        return Link.UNKNOWN
    return _Handover(maker, taker, source, made, taken).link


@dataclass(eq=False)
class _Handover:
    """The line that calls the maker of a tensor, and the one that calls the code which takes an input."""

    maker: Compile
    taker: Compile
    source: Source
    made: StackFrame
    taken: StackFrame

    @property
    def link(self) -> Link:
        if (self.made.file, self.made.name) != (self.taken.file, self.taken.name):
            return self._between_functions
        if self._is_one_line and (self._call is None or self._use is None) and self._making.is_passed_on(self.source):
            return Link.DIRECT
        if self._is_computed_with:
            return Link.NONE
        if self._call and isinstance(self._around, ast.Call):
            return self._in_call(self._around)
        if isinstance(self._around, _COMPUTING):
            return Link.NONE
        if isinstance(self._around, ast.Subscript):
            return Link.NONE if self._is_tensor or _is_of_tensor(self._around) else Link.UNKNOWN
        return self._by_names

    @property
    def _between_functions(self) -> Link:
        computed = [isinstance(part, _COMPUTING) for part in self._passed]
        return Link.NONE if computed and all(computed) else Link.UNKNOWN

    @property
    def _is_computed_with(self) -> bool:
        """Whether the line that calls the maker computes something else of what it returned."""
        likely = self._likely
        if likely and self._is_tensor and self._making.method_on(likely) not in ("", *_SAME_TENSOR, *_TAKING_OUT):
            return True
        if not self._use or self._call:
            return False
        is_new = not _is_in_container(self.source) and self._making.assigns_computed(self._passed)
        return is_new or (self._is_one_line and self._making.computes(self._passed))

    def _in_call(self, around: ast.Call) -> Link:
        """Where the maker is called among the arguments of another call."""
        name = last_name(around)
        if self._is_one_line and name == self.taker.metrics.code_name:
            return Link.DIRECT
        return Link.NONE if name and name not in _PASSING_ON else Link.UNKNOWN

    @property
    def _by_names(self) -> Link:
        """By the variables that the one line sets and the other passes."""
        names = _targets(self._around) if self._call or self._is_one_line else self._making.all_targets()
        if self._is_in_shared_container:
            return Link.NAMED
        if names and not self._use and self._call and not _is_in_container(self.source) and not self._is_one_line:
            named = _Line(self.taken.code).all_names()  # whichever call is that of the taker
            return Link.NONE if named and names.isdisjoint(named) else Link.UNKNOWN
        if not names or not self._passed:
            return Link.UNKNOWN
        if all(_is_new(part, self._is_tensor) for part in self._passed if not names.isdisjoint(_names([part]))):
            return Link.UNKNOWN if _is_in_container(self.source) else Link.NONE  # also where no argument has one of the names
        held = [part for part in self._passed if self._call and root_name(part) in names]
        if held and self.taken.line == self.made.line + 1:
            return Link.DIRECT  # nothing is done to it in between
        return Link.NAMED if any(not isinstance(part, ast.Subscript) for part in held) else Link.UNKNOWN

    @property
    def _is_in_shared_container(self) -> bool:
        """Whether it is in a container that both calls take, ``prefill(ids, cache)`` and ``step(token, cache)``: the maker may have put it
        there.
        """
        given = self._making.call_of(self.maker.metrics.code_name) if _is_in_container(self.source) else None
        arguments = [*given.args, *(item.value for item in given.keywords)] if given else []
        names = {part.id for part in arguments if isinstance(part, ast.Name)}
        return not names.isdisjoint(passed_names(self.taker, self.source))

    @property
    def _is_one_line(self) -> bool:
        return self.made == self.taken

    @cached_property
    def _making(self) -> "_Line":
        return _Line(self.made.code)

    @cached_property
    def _call(self) -> ast.Call | None:
        """The call of the maker, where its line shows it."""
        return self._making.call_of(self.maker.metrics.code_name)

    @cached_property
    def _likely(self) -> ast.Call | None:
        """The same, or on one line the only call among the arguments of the taker."""
        return self._call or (self._making.only_argument_call(self.taker.metrics.code_name) if self._is_one_line else None)

    @cached_property
    def _around(self) -> ast.AST | None:
        return self._making.around(self._likely) if self._likely else None

    @cached_property
    def _use(self) -> ast.Call | None:
        """The call of the taker."""
        return _Line(self.taken.code).call_of(self.taker.metrics.code_name)

    @cached_property
    def _passed(self) -> Sequence[ast.expr]:
        return _passed_by_name(self._use, self.taker, self.source) if self._use else ()

    @cached_property
    def _is_tensor(self) -> bool:
        """Whether the maker returned one tensor alone."""
        return self.maker.graph is not None and len(self.maker.graph.outputs) == 1


def caller(compile: Compile) -> StackFrame | None:
    """The innermost line that calls compiled code and does more than pass its arguments on, None where it is not recorded."""
    return calling_line(compile.recorded_callers)


def _receiver(maker: Compile, taker: Compile) -> StackFrame | None:
    """The line that gets what a compile returns: of the last part of a function with graph breaks, the one that calls the function; of a
    function that returns it as it is, ``return encode(x)``, the one that calls that.
    """
    own = _code(maker)
    is_last = resumed_by(maker.metrics.code_name) is not None and not maker.breaks
    above = maker.recorded_callers
    is_inside = above and (above[-1].file, above[-1].name) == own
    above = above[:-1] if is_last and is_inside and _code(taker) != own else above
    made, taken, name = calling_line(above), caller(taker), maker.metrics.code_name
    while made and taken and (made.file, made.name) != (taken.file, taken.name) and _returns_call(made.code, name):
        above, name = above[: above.index(made)], function_of(made.name)
        made = calling_line(above)
    return made


def _returns_call(code: str, function: str) -> bool:
    """Whether a line returns what a function returns, and nothing computed of it."""
    body = line_tree(code).body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    return isinstance(value, ast.Call) and last_name(value) == function


def _code(compile: Compile) -> tuple[str, str]:
    return compile.metrics.code_file, function_of(compile.metrics.code_name)


def passed_names(taker: Compile, source: Source) -> frozenset[str]:
    """The variables of the calling function that hold an input, or the container that it is in; () where that is not certain.

    Of arguments without keywords, one that has the name of the parameter is taken for it.
    """
    line, parameter = caller(taker), _KEYWORD.match(source)
    use = _Line(line.code).call_of(taker.metrics.code_name) if line else None
    passed = _passed(use, source) if use else ()
    roots = {name for part in passed if (name := root_name(part))}
    return frozenset(roots if len(passed) == 1 else roots.intersection((parameter[1],)) if parameter else ())


class _Line:
    """A line of code as a tree, empty where it is only a part of a statement."""

    def __init__(self, code: str) -> None:
        tree = line_tree(code)
        self._statements = tree.body
        self._last = tree.body[-1] if tree.body else None
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and root_name(node.func) not in _NOT_COMPILED]

    def call_of(self, function: str) -> ast.Call | None:
        """The call of a function; of a module, whose name in the code is not known, the only call of the line.

        Methods of what a call returns, as in ``model(torch.ones(n).view(2, -1)).detach()``, do not count for that.
        """
        found = [call for call in self._calls if last_name(call) == function]
        found = found or [call for call in self._calls if not _is_method_of_result(call)]
        return found[0] if len(found) == 1 else None

    def is_passed_on(self, source: Source) -> bool:
        """Whether the last statement makes two calls, of which one has what the other returns as the argument ``source``."""
        within = set(ast.walk(self._last)) if self._last else set()
        calls = [call for call in self._calls if call in within]
        pairs = [(inner, outer) for inner in calls for outer in calls if self.around(inner) is outer]
        return len(calls) == 2 and any(inner in ast.walk(part) for inner, outer in pairs for part in _passed(outer, source))

    def all_names(self) -> frozenset[str]:
        """The variables that a whole line reads and sets, () for a part of a statement."""
        return frozenset(node.id for statement in self._statements for node in ast.walk(statement) if isinstance(node, ast.Name))

    def all_targets(self) -> frozenset[str]:
        """The variables that hold whatever any call of the line returns, () where one statement does anything but assign to variables."""
        found = [_targets(statement) for statement in self._statements]
        return frozenset().union(*found) if all(found) else frozenset()

    def computes(self, passed: Sequence[ast.expr]) -> bool:
        """Whether no variable that is passed holds what a call of the line returns, whichever it is: all statements assign to variables,
        and what is computed is new.
        """
        kept = [statement for statement in self._statements if not isinstance(getattr(statement, "value", None), _COMPUTING)]
        held = frozenset().union(*map(_targets, kept))
        parts = [node for part in passed for node in ast.walk(part)]
        is_plain = all(map(_targets, self._statements)) and not any(isinstance(node, (ast.Call, ast.NamedExpr)) for node in parts)
        return bool(passed) and is_plain and held.isdisjoint(_names(passed))

    def assigns_computed(self, passed: Sequence[ast.expr]) -> bool:
        """Whether the variables of the line that are passed hold what it computes of what it calls, ``w = -energy(x) - density(x)``,
        where all statements assign to variables.
        """
        targets = list(map(_targets, self._statements))
        computed = [statement for statement in self._statements if isinstance(getattr(statement, "value", None), _COMPUTING)]
        named = _names(passed) & frozenset().union(*targets)
        return bool(named) and all(targets) and named <= frozenset().union(*map(_targets, computed))

    def only_argument_call(self, function: str) -> ast.Call | None:
        """The only call that the arguments of that of a function have, None if there are more."""
        use = self.call_of(function)
        within = {node for part in (*use.args, *use.keywords) for node in ast.walk(part)} if use else set()
        found = [call for call in self._calls if call in within]
        return found[0] if len(found) == 1 else None

    def method_on(self, call: ast.Call) -> str:
        """The method that the line calls on the result of a call, such as ``detach``; "" if it calls none."""
        part: ast.expr = call
        parent = self._parents.get(part)
        while isinstance(parent, (ast.Await, ast.Subscript, ast.Attribute)) and parent.value is part:
            part, parent = parent, self._parents.get(parent)
        return part.attr if isinstance(parent, ast.Call) and parent.func is part and isinstance(part, ast.Attribute) else ""

    def around(self, call: ast.Call) -> ast.AST | None:
        """The code that does something with what a call returns: a statement, a computation, a slice or another call that has it as an
        argument.

        None where one of its methods is called.
        """
        node: ast.AST = call
        while (parent := self._parents.get(node)) is not None:
            if isinstance(parent, ast.Call) and parent.func is node:
                return None
            if not isinstance(parent, _UNCHANGED) or (isinstance(parent, ast.Subscript) and parent.value is node and _is_slice(parent)):
                return parent
            node = parent
        return None


def root_name(part: ast.expr) -> str:
    """``out`` for ``out``, ``out[0]`` and ``out.logits``; "" for any other expression."""
    while isinstance(part, (ast.Subscript, ast.Attribute, ast.Starred)):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""


def is_computed(value: ast.expr) -> bool:
    """Whether an expression makes a tensor of its own: arithmetic, a slice, a call of anything but what returns a tensor as it is."""
    if isinstance(value, ast.Call):
        return last_name(value) not in _SAME_TENSOR | _TAKING_OUT | _PASSING_ON
    return isinstance(value, _COMPUTING) or (isinstance(value, ast.Subscript) and _is_slice(value))


def _is_slice(part: ast.Subscript) -> bool:
    """Whether it takes a range out of something, ``h[:n]`` or ``h[:, -1]``."""
    return isinstance(part.slice, ast.Slice) or _is_of_tensor(part)


def _is_of_tensor(part: ast.Subscript) -> bool:
    """Whether it takes ranges of several dims, as only a tensor has them."""
    return isinstance(part.slice, ast.Tuple) and any(isinstance(item, ast.Slice) for item in part.slice.elts)


def _is_method_of_result(call: ast.Call) -> bool:
    part = call.func
    while isinstance(part, (ast.Subscript, ast.Attribute)):
        part = part.value
    return isinstance(call.func, ast.Attribute) and isinstance(part, ast.Call)


def last_name(call: ast.Call) -> str:
    """``crop`` for ``cache.crop(n)``, ``len`` for ``len(x)``; "" for a call of any other expression."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _targets(statement: ast.AST | None) -> frozenset[str]:
    """The variables that a statement assigns to, () where it assigns to anything else."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    parts = [part for target in targets for part in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return frozenset(names) if len(names) == len(parts) else frozenset()


def _passed(call: ast.Call, source: Source) -> Sequence[ast.expr]:
    """The arguments of a call of which one is the input, () where that is not certain."""
    at, named = _POSITIONAL.match(source), _KEYWORD.match(source)
    if at:
        before = call.args[: int(at[1]) + 1]
        return () if len(before) <= int(at[1]) or any(isinstance(part, ast.Starred) for part in before) else before[-1:]
    if named is None:
        return ()
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if named[1] in keywords:
        return [keywords[named[1]]]
    is_whole = None not in keywords and not any(isinstance(part, ast.Starred) for part in call.args)
    return call.args if is_whole and "kwargs" not in source else ()


def _passed_by_name(use: ast.Call, taker: Compile, source: Source) -> Sequence[ast.expr]:
    """The same without those that have the names of other parameters, and are taken for these: ``score(x - self.mean, self.table)``."""
    passed = _passed(use, source)
    own = _KEYWORD.match(source)
    others = {found[1] for item in taker.inputs if (found := _KEYWORD.match(item.source))} - {own and own[1]}
    return [part for part in passed if getattr(part, "attr", getattr(part, "id", "")) not in others] or passed


def _is_in_container(source: Source) -> bool:
    """Whether it is an item or attribute of an argument, which may have been put there between the two calls."""
    found = None if _POSITIONAL.match(source) else _KEYWORD.match(source)
    return found is not None and bool(found["part"])


def _is_new(part: ast.expr, is_tensor: bool) -> bool:
    """Whether an argument is a new tensor that is computed of what a variable holds, which ``is_tensor`` and no list of tensors."""
    if isinstance(part, ast.Subscript):
        return _is_of_tensor(part) or (is_tensor and not isinstance(part.slice, ast.Constant) and isinstance(part.value, ast.Name))
    if isinstance(part, ast.Call):
        is_method = isinstance(part.func, ast.Attribute) and part.func.attr not in _SAME_TENSOR
        return is_method and (is_tensor or root_name(part.func) == "torch")
    return isinstance(part, _COMPUTING)


def _names(parts: Iterable[ast.expr]) -> frozenset[str]:
    return frozenset(node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
