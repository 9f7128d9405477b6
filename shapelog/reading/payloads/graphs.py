"""The captured graph (``dynamo_output_graph``), as fx prints it → its inputs, operations, and a key that similar graphs share.

Similar: the same sequence of torch operations with the same data flow on tensor inputs of the same dtype and rank. Numbers, symbolic
numbers, ``torch.Size`` and size arithmetic do not matter; bools, strings and dtypes do.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import UserLine

_FORWARD = re.compile(r"^(\s*)def (\w+)\(self(?:, )?(.*?)\)(?: -> [^)]*)?:\s*$", re.S)
_PARAMETER = re.compile(r'\b(\w+)\b(?:: "([^"]*)")?(?: = [^,=]*)?(?:, |$)')
_ASSIGN = re.compile(r'^(\w+)(?:: "([^"]*)")? = (.*)$', re.S)
_FILE = re.compile(r"^# File: (.*?):(\d{1,18}) in (.*?), code: (.*)$")
_TOKEN = re.compile(r"""[A-Za-z_][\w.]*|"[^"]*"|'[^']*'|(?<![\w)\]] )-?\d+(?:\.\d*)?(?:e[+-]?\d+)?|\d+(?:\.\d*)?(?:e[+-]?\d+)?|\S""")
# With the class of a subclass around it: NestedTensor(f32[2, s1, 4][4*s1, 4, 1]cpu).
_TENSOR = re.compile(r"^((?:\w+\()?\w+)\[([^\]]*)\]")
_SIZE_CALL = re.compile(
    r"^(\w+)\.(?:size|stride|numel|dim|storage_offset)\(.*\)$|^(\w+)\.(?:shape|ndim)$"
    r"|^[\w.]*numpy_attr_wrapper\(\w+, '(?:shape|ndim|size|strides)'\)$"
)
_NEUTRAL = frozenset(("slice", "None", "True", "False", "operator", "int", "float", "min", "max", "sum"))
# How fx spells operator.not_ and the like, which it also applies to comparisons of sizes.
_OPERATOR = "_operator_"
_ASSERTS = ("torch._check", "_assert_scalar", "sym_constrain_range", "torch.sym_", "_operator.")
_NUMBERS = re.compile(r"[(\[]#(?:,#)*,?[)\]]")
_NUMBER_ARGUMENT = re.compile(r",#(?=[,)])|(?<=\()#,")
_KERNEL_INDEX = re.compile(r"\b(kernel_idx) = (\d{1,18})")
_KERNEL_NUMBER = re.compile(r",?'\w+':#")
_KERNEL = re.compile(r"triton_kernel_wrapper_(?:mutation|functional)\(kernel_idx = (\d{1,18})")
# Comments that name a line of code are shorter, and sizes are nested less deeply.
_MAX_COMMENT, _MAX_NESTING = 4000, 100
# A line that computes something: not one that only names an input, or an attribute of the module.
_OPERATION = re.compile(rb'^[ \t]+\w+(?:: "[^"\n]*")? = (?![\w.]+[ \t]*(?:;|$))', re.M)


class Placeholder(NamedTuple):
    """A graph input: its name and what fx wrote about it, ``f32[s0, 8][8, 1]cpu`` or ``Sym(s0)``."""

    name: str
    annotation: str

    @property
    def is_number(self) -> bool:
        return self.annotation.startswith("Sym(")


@dataclass(frozen=True)
class Graph:
    """One captured graph. ``key`` is "" when it holds no operation but size arithmetic; ``statements`` is its text for diffs, without
    ``comments``.

    ``operation_comments`` has, for each operation, the comment that names its line; ``numbers`` the numbers of all operations in order,
    "" for one that is symbolic: graphs with the same key differ in these alone.
    """

    placeholders: tuple[Placeholder, ...]
    statements: tuple[str, ...]
    key: str
    op_count: int
    comments: tuple[str, ...]
    triton_kernels: tuple[int, ...] = ()
    operation_comments: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @cached_property
    def user_lines(self) -> tuple[UserLine, ...]:
        """The lines of user code that the comments name, in order."""
        found = (_FILE.match(comment) for comment in self.comments if len(comment) <= _MAX_COMMENT)
        return tuple(dict.fromkeys(UserLine(match[1], int(match[2]), match[3], match[4]) for match in found if match))

    @cached_property
    def outputs(self) -> tuple[tuple[str, str], ...]:
        """(name, annotation) of each output, the annotation as in ``Placeholder`` ("" where fx wrote none)."""
        annotations = {item.name: item.annotation for item in self.placeholders}
        for statement in self.statements:
            assign = _ASSIGN.match(statement.split(";  ", 1)[0])
            if assign:
                annotations[assign[1]] = assign[2] or annotations.get(assign[3], "")
            elif statement.startswith("return "):
                return tuple((name, annotations[name]) for name in re.findall(r"\w+", statement[7:]) if name in annotations)
        return ()


class _Normalizer:
    """Renames values by order of appearance and erases numbers, so that similar graphs read the same."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.inputs: dict[str, str] = {}
        self.aliases: dict[str, list[str]] = {}
        self.count = 0
        self.numbers: list[str] = []

    def add_inputs(self, placeholders: tuple[Placeholder, ...]) -> None:
        for item in placeholders:
            self.inputs[item.name] = "#" if item.is_number else _kind_of(item.annotation)
            self.aliases[item.name] = [item.name]

    def statement(self, target: str, annotation: str, expression: str) -> bool:
        """Add one assignment; False if it is not a torch operation."""
        if expression in self.inputs:  # fx gives each placeholder a name of its own before it is used: l_x_ = L_x_
            self.inputs[target] = self.inputs[expression]
            self.aliases[target] = self.aliases[expression]
            self.aliases[target].append(target)
            return False
        if expression in self.names:
            self.names[target] = self.names[expression]
            return False
        if annotation.startswith("Sym(") or self._is_arithmetic(annotation, expression):
            self.names[target] = "#"
            return False
        text = self._normal(expression)
        self.names[target] = f"v{self.count}"
        self.count += 1
        self.lines.append(text)
        return True

    def other(self, text: str) -> None:
        self.lines.append(self._normal(text))

    def returned(self, text: str) -> None:
        values = [token for token in _TOKEN.findall(text) if token in self.names or token in self.inputs]
        self.lines.append("return " + ",".join(name for name in map(self._name, values) if name != "#"))

    def _is_arithmetic(self, annotation: str, expression: str) -> bool:
        if annotation:
            return False
        if _SIZE_CALL.match(expression) or expression.startswith("torch.Size(") or _is_assert(expression):
            return True
        names = [token.partition(".")[0] for token in _TOKEN.findall(expression) if token[0].isalpha() or token[0] == "_"]
        values = [name for name in names if name not in _NEUTRAL and not name.startswith(_OPERATOR)]
        return bool(values) and all((self.names.get(name) or self.inputs.get(name)) == "#" for name in values)

    def _name(self, token: str) -> str:
        known = self.names.get(token)
        if known is not None:
            return known
        kind = self.inputs.get(token)
        if kind is None:
            return token
        if kind == "#":
            return "#"
        name = f"v{self.count}<{kind}>"
        self.names[token] = name
        self.count += 1
        self.names.update(dict.fromkeys(self.aliases[token], name))
        return name

    def _normal(self, expression: str) -> str:
        parts: list[str] = []
        if "kernel_idx" in expression:
            expression = _KERNEL_INDEX.sub(r"\1 = kernel_\2", expression)  # the number of the kernel matters
        for token in _TOKEN.findall(expression):
            first = token[0]
            if first.isdigit() or (first == "-" and len(token) > 1):
                parts.append("#")
                self.numbers.append(token)
            elif first.isalpha() or first == "_":
                root, dot, rest = token.partition(".")
                named = self._name(root)
                parts.append(named + dot + rest if dot else named)
                if named == "#":
                    self.numbers.append("")
            else:
                parts.append(token)
        text = "".join(parts).replace(" ", "").replace("torch.Size", "").replace(".size()", "#").replace(".shape", "#")
        for _ in range(_MAX_NESTING):
            text, changes = _NUMBERS.subn("#", text)
            if not changes:
                break
        if "higher_order." in text:  # symbolic numbers are inputs of the inner graph too
            text = _NUMBER_ARGUMENT.sub("", text)
        if "triton_kernel_wrapper" in text:  # an int is an argument while symbolic, and no argument once it is a constant
            text = _KERNEL_NUMBER.sub("", text)
        return text


def _is_assert(text: str) -> bool:
    return any(map(text.__contains__, _ASSERTS))


def _kind_of(annotation: str) -> str:
    match = _TENSOR.match(annotation)
    if not match:
        return annotation
    return f"{match[1]}:{len(match[2].split(',')) if match[2].strip() else 0}"


def parse(text: str) -> Graph:
    """A graph from its printed form. Never raises: what is not a known statement counts as an operation of its own."""
    normalizer = _Normalizer()
    inputs: list[Placeholder] = []
    statements: list[str] = []
    comments: dict[str, None] = {}
    kernels: list[int] = []
    operations = 0
    lines: list[str] = []
    comment = ""
    for line in _logical_lines(text):
        if line.startswith("#"):
            comments[line] = None
            comment = line
            continue
        header = _FORWARD.match(line) if line.startswith("def ") else None
        if header:
            own = tuple(Placeholder(name, annotation) for name, annotation in _PARAMETER.findall(header[3]))
            normalizer.add_inputs(own)
            inputs.extend(own if not inputs else ())
            continue
        statements.append(line)
        main = line.split(";  ", 1)[0]
        if "triton_kernel_wrapper" in main:
            kernels.extend(int(index) for index in _KERNEL.findall(main))
        assign = _ASSIGN.match(main)
        if assign:
            is_operation = normalizer.statement(assign[1], assign[2] or "", assign[3])
            operations += is_operation
            lines.extend([comment] if is_operation else ())
        elif main.startswith("return "):
            normalizer.returned(main[7:])
        elif not main.startswith("class "):
            normalizer.other(main)
            operations += not _is_assert(main)
    key = hashlib.md5("\n".join(normalizer.lines).encode(), usedforsecurity=False).hexdigest() if operations else ""
    return Graph(
        placeholders=tuple(inputs),
        statements=tuple(statements),
        key=key,
        op_count=operations,
        comments=tuple(comments),
        triton_kernels=tuple(kernels),
        operation_comments=tuple(lines),
        numbers=tuple(normalizer.numbers),
    )


def operation_count(text: bytes) -> int:
    """How many operations the text of a graph and of the graphs inside it has, without reading what they are."""
    return sum(1 for _ in _OPERATION.finditer(text))


def made_sizes(graph: Graph) -> Iterator[tuple[str, ...]]:
    """The size of each tensor that a graph computes, as it is written; those of tuples are not."""
    for assign in map(_ASSIGN.match, graph.statements):
        tensor = _TENSOR.match(assign[2]) if assign and assign[2] else None
        if tensor:
            yield tuple(tensor[2].split(", "))


def _logical_lines(text: str) -> Iterator[str]:
    """Stripped lines without blank ones; a ``def`` line continues until its colon."""
    pending = ""
    for raw in text.split("\n"):
        line = raw.strip()
        if pending:
            pending += " " + line
            if line.endswith(":"):
                yield pending
                pending = ""
        elif line.startswith("def ") and not line.endswith(":"):
            pending = line
        elif line:
            yield line
    if pending:
        yield pending
