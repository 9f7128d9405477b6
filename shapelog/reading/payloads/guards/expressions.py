"""Guard expressions over sizes, from an untrusted file: evaluated with a small ``ast`` walker, never with ``eval``.

The forms are those of torch's Python and sympy printers: ``2 <= L['x'].size()[0] <= 30``, ``Eq(Mod(s0, 8), 0)``.
"""

import ast
import copy
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from shapelog.reading.payloads.python_code import syntax_tree

Value = int | float | bool

_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value | None]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, exponent: base**exponent if abs(exponent) <= _MAX_EXPONENT and abs(base) < 1 << 40 else None,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_CALL: dict[str, Callable[..., Value]] = {
    "Eq": operator.eq,
    "Ne": operator.ne,
    "Lt": operator.lt,
    "Le": operator.le,
    "Gt": operator.gt,
    "Ge": operator.ge,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "FloorDiv": operator.floordiv,
    "CeilDiv": lambda a, b: -(-a // b),
    "CleanDiv": operator.floordiv,
    "IntTrueDiv": operator.truediv,
    "FloatTrueDiv": operator.truediv,
    "ToFloat": float,
    "CeilToInt": math.ceil,
    "FloorToInt": math.floor,
    "TruncToInt": math.trunc,
    "TruncToFloat": lambda value: float(math.trunc(value)),
    "RoundToInt": round,
    "RoundDecimal": round,
    "Identity": lambda value: value,
    "Where": lambda condition, then, otherwise: then if condition else otherwise,
    "ModularIndexing": lambda base, divisor, modulus: base // divisor % modulus,
    "Max": max,
    "Min": min,
    "max": max,
    "min": min,
    "abs": abs,
    "Abs": abs,
    "And": lambda *values: all(values),
    "Or": lambda *values: any(values),
    "Not": operator.not_,
    "isnan": math.isnan,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "float": float,
    "int": int,
    "sqrt": math.sqrt,
    **{name: getattr(math, name) for name in ("log", "log2", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh")},
}
# ``math.ceil``, ``torch.sym_float``, ``torch._sym_sqrt``: the modules and the beginnings of what they call the same.
# Other values of a name that are tried in a guard.
_AROUND = 64
_MODULES, _OF_TORCH = ("math", "torch"), re.compile("^_?sym_")
_MAX_EXPONENT = 64
_FLOAT = re.compile(r"-?\d{1,400}(?:\.\d{0,400}(?:e[+-]?\d{1,3})?|e[+-]?\d{1,3})", re.A)
# Sources that ``ast.unparse`` would not change, as most are.
_CANONICAL = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*(?:\(\))?|\['[A-Za-z0-9_.]*'\]|\[(?:0|[1-9]\d{0,8})\])*", re.A)
_SEPARATORS = re.compile(r"([(),])")


class Expression(NamedTuple):
    """A parsed guard. ``names`` are the sources in it, spelled as ``ast.unparse`` spells them."""

    text: str
    tree: ast.expr | None
    names: tuple[str, ...]

    def holds(self, values: Mapping[str, Value]) -> bool | None:
        """Whether the guard holds for these values; None if a source is missing or the form is unknown."""
        result = self.value(values)
        return None if result is None else bool(result)

    def holds_for_one(self, name: str, value: int) -> bool:
        """Whether the guard has this name alone, and holds for this value of it and for none around, as ``-t / 10 == -0.4`` does."""
        if self.names != (name,) or self.holds({name: value}) is not True:
            return False
        return not any(self.holds({name: value + sign * offset}) for offset in range(1, _AROUND + 1) for sign in (1, -1))

    def value(self, values: Mapping[str, Value]) -> Value | None:
        """The value of a size such as ``2*s77 + 1``; None if a symbol is missing or the form is unknown."""
        if self.tree is None:
            return None
        try:
            return _evaluate(self.tree, values)
        except (ArithmeticError, TypeError, ValueError, RecursionError):
            return None

    @property
    def is_equation(self) -> bool:
        """Whether it equates sums and products: ``a == 2 + b``, but not ``a % 2 == 0``."""
        return self._compares((ast.Eq,))

    @property
    def is_bound(self) -> bool:
        """Whether it compares sums and products: ``a <= 2 + b``."""
        return self._compares((ast.Lt, ast.LtE, ast.Gt, ast.GtE))

    def _compares(self, operators: tuple[type[ast.cmpop], ...]) -> bool:
        """Whether it compares sums and products, with nothing else than these operators."""
        if not isinstance(self.tree, ast.Compare) or not all(isinstance(operator, operators) for operator in self.tree.ops):
            return False
        return all(isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)) for node in ast.walk(self.tree) if isinstance(node, ast.BinOp))

    @property
    def is_inequality(self) -> bool:
        """Whether it is ``a != b`` or ``Ne(a, b)``."""
        if isinstance(self.tree, ast.Compare):
            return any(isinstance(operator, ast.NotEq) for operator in self.tree.ops)
        return isinstance(self.tree, ast.Call) and isinstance(self.tree.func, ast.Name) and self.tree.func.id == "Ne"

    def with_constants(self, changes: Mapping[int, int]) -> "Expression":
        """The same guard with other numbers in place of these."""
        if self.tree is None:
            return self
        return Expression(self.text, _ReplaceConstants(changes).visit(copy.deepcopy(self.tree)), self.names)

    def renamed(self, names: Mapping[str, str]) -> str:
        """The same guard over other sources, as Python writes it; "" for a form that is unknown."""
        return ast.unparse(_ReplaceNames(names).visit(copy.deepcopy(self.tree))) if self.tree else ""


class _ReplaceNames(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id))


class _ReplaceConstants(ast.NodeTransformer):
    def __init__(self, changes: Mapping[int, int]) -> None:
        self.changes = changes

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is int and node.value in self.changes:
            return ast.Constant(self.changes[node.value])
        return node


def parse(text: str) -> Expression:
    """Never raises: text that cannot be parsed has no tree, and its value is unknown."""
    names: list[str] = []
    code = text.strip()
    tree = syntax_tree(code)
    if not isinstance(tree, ast.Expression):
        return Expression(text, None, ())
    has_offsets = code.isascii() and "\n" not in code  # the columns of the tree are those of characters
    return Expression(text, _name_sources(tree.body, names, code if has_offsets else ""), tuple(dict.fromkeys(names)))


def integer(text: str) -> int | None:
    """The int that ``text`` is in decimal digits, None for anything else (and for one with thousands of digits)."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 1000 else None


def number(text: str) -> int | float | None:
    """The int or float that ``text`` is, as Python prints it: ``7``, ``0.25``, ``1e-05``; None for anything else, NaN and infinities."""
    if _FLOAT.fullmatch(text):
        return float(text)
    return integer(text)


def split_items(text: str) -> tuple[str, ...]:
    """The items of a list without its brackets, such as the sizes ``s0, Max(1, s1)``: commas in parentheses separate arguments."""
    items, depth = [""], 0
    for part in _SEPARATORS.split(text):
        depth += (part == "(") - (part == ")")
        if part == "," and not depth:
            items.append("")
        else:
            items[-1] += part
    return tuple(item.strip() for item in items) if text.strip() else ()


def canonical(source: str) -> str:
    """A source spelled as in ``Expression.names``."""
    tree = None if _CANONICAL.fullmatch(source) else syntax_tree(source)
    return ast.unparse(tree) if tree is not None else source


def _function(node: ast.expr) -> Callable[..., Value] | None:
    """What a guard calls, as ``PythonPrinter`` in ``torch/utils/_sympy/printers.py`` writes it; None for anything else."""
    if isinstance(node, ast.Name):
        return _CALL.get(node.id)
    if isinstance(node, ast.Attribute):
        is_of_module = isinstance(node.value, ast.Name) and node.value.id in _MODULES
        name = _OF_TORCH.sub("", node.attr) if is_of_module else node.attr
        return _CALL.get(name) if is_of_module or name in ("isnan", "floor", "ceil") else None
    return None


def _name_sources(node: ast.expr, names: list[str], code: str) -> ast.expr:
    """The tree with each source in it replaced by one name, its spelling in ``code`` (may be ""), which is added to ``names``."""
    if isinstance(node, ast.Call) and _function(node.func):
        node.args = [_name_sources(argument, names, code) for argument in node.args]
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        written = code[node.col_offset : node.end_col_offset]
        names.append(written if _CANONICAL.fullmatch(written) else ast.unparse(node))
        return ast.Name(names[-1])
    elif isinstance(node, (ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp)):
        for name, part in ast.iter_fields(node):
            named = [_name_sources(item, names, code) for item in part] if isinstance(part, list) else _name_sources(part, names, code)
            setattr(node, name, named)
    return node


def _evaluate(node: ast.expr, values: Mapping[str, Value]) -> Value | None:
    """None means unknown, and makes the whole value unknown."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float)) else None
    if isinstance(node, ast.Call) and (function := _function(node.func)):
        arguments = [_evaluate(argument, values) for argument in node.args]
        return None if None in arguments or not arguments else function(*arguments)
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.Compare):
        return _evaluate_comparison(node, values)
    if isinstance(node, ast.BoolOp):
        parts = [_evaluate(value, values) for value in node.values]
        decisive = isinstance(node.op, ast.Or)
        if any(part is not None and bool(part) is decisive for part in parts):
            return decisive
        return None if None in parts else not decisive
    if isinstance(node, ast.UnaryOp):
        inner = _evaluate(node.operand, values)
        if inner is None:
            return None
        return not inner if isinstance(node.op, ast.Not) else -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.IfExp):
        condition = _evaluate(node.test, values)
        return None if condition is None else _evaluate(node.body if condition else node.orelse, values)
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, values), _evaluate(node.right, values)
        operation = _BINARY.get(type(node.op))
        return None if left is None or right is None or operation is None else operation(left, right)
    return None


def _evaluate_comparison(node: ast.Compare, values: Mapping[str, Value]) -> bool | None:
    left = _evaluate(node.left, values)
    unknown = False
    for operation, right_node in zip(node.ops, node.comparators, strict=True):
        right = _evaluate(right_node, values)
        compare = _COMPARE.get(type(operation))
        if left is None or right is None or compare is None:
            unknown = True
        elif not compare(left, right):
            return False
        left = right
    return None if unknown else True
