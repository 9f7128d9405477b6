"""Floats that changed, and guards on what the code computes from them."""

import re

from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import VALUE
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.reading.records import Specialization, StackFrame
from shapelog.recompiles.classification.number_operators import break_with_tensor, take_tensor
from shapelog.recompiles.classification.pins import by_whom
from shapelog.recompiles.classification.result import Classification, code_of, line_of, made_outside, shown_guard
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.rules import Verdict
from shapelog.text import file_name

_FLOAT_OF_OPERATOR = "let the operator {operator} take it as a tensor, or accept one graph per value"
_CUSTOM_OPERATOR = re.compile(r"\btorch\.ops\.((?!aten\b|prims\b|higher_order\b)\w+)\.(\w+)[\w.]*\((.*)\)")
FLOAT_BRANCH = "replace the branch on this float by torch.where on a tensor, or accept one graph per branch"
LEARNING_RATE = re.compile(r"\.param_groups\[\d+\]\['lr'\]$")
_RATE_IN_TORCH, _OPTIMIZERS = re.compile(r"^L(?:\['kwargs'\])?\['lr'\]$"), "/torch/optim/"
# A float that is dynamic, as its graph takes it out of a tensor.
_TAKEN_OUT = re.compile(r'^(\w+): "Sym\([^"]*\)" = (\w+)\.item\(\)')
_AS_TENSOR = "wrap the number in a tensor, torch.tensor(float(value))"
_EACH_NUMBER = f"{_AS_TENSOR}: another value needs another graph, also where the type is the same"
_ONE_MORE_GRAPH = "accept one more graph: PyTorch made this float dynamic when it changed"
_ONE_MORE_NUMBER = f"{_ONE_MORE_GRAPH}, and the operator that receives it does not accept a tensor"
FLOAT_SAME_ARM = f"replace the branch on this float by torch.where on a tensor, or {_ONE_MORE_GRAPH}"
_BRANCH_OF_LIBRARY = f"{_ONE_MORE_GRAPH}, and a library branches on it"
_BRANCH_OF_OPERATOR = f"{_ONE_MORE_GRAPH}, and an operator branches on it"
_EACH_OF_LIBRARY = "accept one graph per branch: a library branches on it"
_BRANCHES_OF_OPERATOR = "accept one graph for each branch of the operator"
# What of a line may branch on a float.
_BRANCHES = re.compile(r"\b(?:if|elif|while|assert|and|or|not|min|max|bool|sorted|clip|clamp|abs)\b|[<>]|[=!]=")
_CYCLED = re.compile(r"\.param_groups\[\d+\]\['(?:betas'\]\[\d+\]|momentum'\])$")
_FIXED_MOMENTUM = "pass cycle_momentum=False to the scheduler that sets it (OneCycleLR, CyclicLR), or accept one graph per value"
_TENSOR_RATE = "pass the optimizer a tensor as its learning rate, lr=torch.tensor(value)"
_PINNED_FLOAT = "rewrite the line that needs the exact value of {name}, or accept one graph per value"
NUMBER_ALONE = "accept one graph per value: the operator that receives it does not accept a tensor in place of the float"
_PINNED_BY_LIBRARY = "a library needs the exact float: accept one graph per value"
_LONGEST_ARGUMENT, _LONGEST_CALL = 500, 60
_TO_FLOAT = re.compile(r"(?<![\w.])float\([A-Za-z_]\w*\)")
_EACH_VALUE = "accept one graph per value, or keep this call out of the compiled code"
# Of a float alone: ``torch.round`` and the methods of a tensor return tensors.
_ROUNDING = re.compile(r"(?<![\w.])(?:math\.)?(?:int|round|floor|ceil|trunc)\(")
# Where Dynamo decides which way a branch goes: by a comparison, or by whether the float itself is zero.
_IN_BRANCH = re.compile(r" in evaluate_expr\)|\(_dynamo/symbolic_convert\.py:\d+ in inner\)")


def float_value(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another value of a float.

    PyTorch makes a float dynamic that varies. It pins one that goes to an operator which takes it as a number, and no tensor either.
    """
    before, after = str(item.expected), str(item.actual)
    was = "NaN or another value" if is_compared_with_tensor(before) else before
    sentence = f"the float {name} changed from {was} to {after}" if after else f"the float {name} was {was} and has changed"
    operator = _operator_with(before, entry)
    if operator and operator == _operator_with(after, call):
        return Classification(("SL312",), sentence, remedy=_FLOAT_OF_OPERATOR.format(operator=operator))
    pin = (call if item.source in call.specializations_by_source else entry).specializations_by_source.get(item.source)
    outside = made_outside(item.source, (*lines_with(item.source, pin, call), line_of(item)))
    if is_rounded(item.source, code_of(item), entry, call):
        rounded = f"{sentence}; the code makes an int of it, which a tensor in its place would not be"
        place = (item.reason.place if item.reason else None) or place_of(item.comment)
        is_dynamic = pin is None and item.source.canonical in call.symbolic_floats
        remedy = _ONE_MORE_GRAPH if is_dynamic else remedy_of_pinned_float(name, _file_of(place.file if place else "", call))
        return Classification(("SL312",), rounded, False, Verdict.JUSTIFIED, remedy)
    if converted := _converted_at(item.source, pin, call):
        is_dynamic = pin is None and item.source.canonical in call.symbolic_floats
        words = f"{sentence}; {converted} makes a Python float of it, at which a tensor would break the graph"
        return Classification(("SL312",), words, False, Verdict.JUSTIFIED, _ONE_MORE_GRAPH if is_dynamic else _EACH_VALUE)
    if pin is not None and not pin.user_stack.frames:  # after the code was traced: the backend takes no floats
        constant = f"{sentence}; PyTorch could not turn it into a tensor, so its value became a constant"
        remedy = outside or _remedy_of_group(item.source, call)
        if not remedy and break_with_tensor(after, call, before, entry):
            return Classification(("SL312",), constant, False, Verdict.JUSTIFIED, NUMBER_ALONE)
        return Classification(("SL312",), constant, False, remedy=remedy)
    if pin is not None and (outside or (is_own_line(pin) and take_tensor(after, call, before, entry))):
        return Classification(("SL312",), sentence, False, remedy=outside)
    if pin is not None:
        sentence += f"; {by_whom(pin)} needs the exact value"
        remedy = remedy_of_pinned_float(name, pin.user_stack.frames[-1].file)
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, remedy)
    branch = _branch_on_float(item.source, call)
    if branch is None and _goes_as_number(item.source, call):
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, _ONE_MORE_NUMBER)
    if branch is None:
        remedy = outside or _remedy_of_group(item.source, call)
        return Classification(("SL312",), sentence, remedy=remedy)
    same_arm = branch.parsed.holds(entry.numbers)
    verdict = Verdict.JUSTIFIED if same_arm is False else None
    sentence += f"; the code branches on it ({shown_guard(branch.expression)}{' for both' if same_arm else ''})"
    place = place_of(branch.comment)
    if is_library(_file_of(place.file if place else "", call)):
        return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED, _BRANCH_OF_LIBRARY)
    if place and place.code and not _BRANCHES.search(place.code):
        remedy = _BRANCH_OF_OPERATOR if verdict is None else _BRANCHES_OF_OPERATOR
        return Classification(("SL312",), sentence.replace("the code branches", "an operator branches"), False, Verdict.JUSTIFIED, remedy)
    return Classification(("SL312",), sentence, False, verdict, FLOAT_SAME_ARM if same_arm else FLOAT_BRANCH)


def other_kind_of_number(item: Violation, sentence: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """An int in place of a float, or a float in place of an int, which needs another graph for its value, unless that is the same."""
    try:
        before, after = float(str(item.expected)), float(str(item.actual))
    except ValueError:  # in another notation
        return Classification(("SL310",), sentence)
    if before == after:
        return Classification(("SL310",), sentence)
    branch = _branch_on_float(item.source, call)
    if branch is not None and branch.parsed.holds({**entry.numbers, item.source.canonical: before}) is False:
        place = place_of(branch.comment)
        is_of_library = is_library(_file_of(place.file if place else "", call))
        sentence += f"; the code branches on it ({shown_guard(branch.expression)})"
        return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=_EACH_OF_LIBRARY if is_of_library else FLOAT_BRANCH)
    is_dynamic = item.source.canonical in call.symbolic_floats
    return Classification(("SL310",), sentence, remedy=f"{_AS_TENSOR}, or {_ONE_MORE_GRAPH}" if is_dynamic else _EACH_NUMBER)


def lines_with(source: Source, pin: Specialization | None, known: CompileFacts) -> list[StackFrame]:
    """The lines that lead to the use of a float that became symbolic, innermost first: the one that pinned it, or that used it first."""
    symbol = known.symbols_by_source.get(source)
    stack = pin.user_stack if pin and pin.user_stack.frames else symbol.user_stack if symbol else None
    return list(reversed(stack.frames)) if stack else []


def _converted_at(source: Source, pin: Specialization | None, call: CompileFacts) -> str:
    """The line that passes a float to ``float()``, as ``torch.nn.utils.clip_grad_norm_`` does; "" for any other first use."""
    for line in lines_with(source, pin, call)[:1]:
        if _TO_FLOAT.search(line.code):
            return f"{file_name(line.file)}:{line.line} ({line.code.strip()[:_LONGEST_CALL]})"
    return ""


def _file_of(shortened: str, call: CompileFacts) -> str:
    """The file of a guard, whose path its comment shortens, as far as that is the code's own."""
    own = call.code_file
    return own if own.endswith(shortened) else shortened


def is_own_line(pin: Specialization) -> bool:
    """Whether a line of the user's needs the value of a float, and not one of a library."""
    lines = pin.user_stack.frames
    return bool(lines) and not is_library(lines[-1].file)


def remedy_of_pinned_float(name: str, file: str) -> str:
    """What to do about a float whose exact value a line of ``file`` needs."""
    return _PINNED_BY_LIBRARY if is_library(file) else _PINNED_FLOAT.format(name=name)


def _goes_as_number(source: Source, call: CompileFacts) -> bool:
    """Whether the graph passes a dynamic float to what takes a number alone: ``torch.add(x, y, alpha = item)``, ``leaky_relu(x, item)``."""
    statements = call.compile.graph.statements if call.compile.graph else ()
    slug = re.sub(r"\W+", "_", source).strip("_").lower()
    taken = (match for statement in statements if (match := _TAKEN_OUT.match(statement)))
    return any(break_with_tensor(match[1], call) for match in taken if match[2].strip("_").lower() == slug)


def _remedy_of_group(source: Source, known: CompileFacts) -> str:
    """What to do about a float in the parameter group of an optimizer, where a scheduler may replace a tensor by the next float.

    The functions of an optimizer of PyTorch get the rate from there as an argument. With ``foreach=True``, those that can be capturable
    take a tensor only where they are; SGD and Adagrad cannot, and take one in any case.

    ``OneCycleLR`` and ``CyclicLR`` (torch/optim/lr_scheduler.py) set floats as momentum; a rate that is a tensor stays one. "" for others.
    """
    of_group = LEARNING_RATE.search(source)
    is_rate = of_group or (_OPTIMIZERS in known.code_file.replace("\\", "/") and _RATE_IN_TORCH.search(source))
    group = source.removesuffix("['lr']")
    foreach, capturable = (known.guarded((Source(f"{group}['{name}']"), VALUE)) for name in ("foreach", "capturable"))
    if of_group and str(foreach) == "True" and capturable is not None:
        return f"{_TENSOR_RATE}, and capturable=True, which foreach=True needs for that"
    return _TENSOR_RATE if is_rate else _FIXED_MOMENTUM if _CYCLED.search(source) else ""


def not_a_number(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A float that became NaN, or that was NaN."""
    is_now = item.reason is not None and item.reason.code.startswith("not ")
    sentence = f"the float {name} {'is now NaN' if is_now else 'was NaN, and no longer is'}"
    branch = _branch_on_float(item.source, entry) or _branch_on_float(item.source, call)
    return Classification(("SL312",), sentence, False, Verdict.JUSTIFIED if branch else None, FLOAT_BRANCH if branch else "")


def _operator_with(number: str, known: CompileFacts) -> str:
    """The operator of a program's own, ``lab::smooth``, that takes a number as it is in a graph; "" where none does."""
    statements = known.compile.graph.statements if known.compile.graph else ()
    found = (call for statement in statements if "torch.ops." in statement for call in _CUSTOM_OPERATOR.findall(statement))
    return next((f"{space}::{name}" for space, name, arguments in found if number in re.split(r"[,\s=()\[\]]+", arguments)), "")


def is_rounded(source: Source, code: str, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether a line that uses a float, or a guard, makes an int of it: a tensor in its place would break the graph there.

    ``code`` is the line of the guard that failed; a float that became symbolic has the lines that led to its first use as well.
    """
    named = re.compile(rf"(?<![\w.]){re.escape(source.display_name)}(?!\w)")
    symbols = (symbol for known in (entry, call) if (symbol := known.symbols_by_source.get(source)))
    for line in (code, *(frame.code for symbol in symbols for frame in symbol.user_stack.frames)):
        if any(named.search(_to_closing(line, match.end())) for match in _ROUNDING.finditer(line)):
            return True
    shapes = (shape for known in (entry, call) for shape in (known.tree.shapes if known.tree else ()))
    return any(source.canonical in shape.parsed.names and _ROUNDING.search(shape.expression) for shape in shapes)


def _to_closing(code: str, start: int) -> str:
    """What is in the parentheses that were opened before ``start``; of a long text the beginning."""
    depth, end = 1, start + _LONGEST_ARGUMENT
    for at, character in enumerate(code[start:end], start):
        depth += (character == "(") - (character == ")")
        if not depth:
            return code[start:at]
    return code[start:end]


def _branch_on_float(source: Source, call: CompileFacts) -> ShapeGuard | None:
    """The guard that a branch on a float leaves, None without one. Operations such as ``t**0.5`` leave guards on their range, too."""
    name, shapes = source.canonical, call.tree.shapes if call.tree else ()
    found = (shape for shape in shapes if shape.parsed.names == (name,) and not shape.parsed.is_equation)
    return next((shape for shape in found if _IN_BRANCH.search(shape.comment)), None)


def is_compared_with_tensor(expected: str) -> bool:
    """Whether a float was NaN when it was compiled: then it is compared with the tensor made of it."""
    return "___as_tensor(" in expected


def is_constant_of_float(shape: ShapeGuard) -> bool:
    """Whether a guard over floats is from the pass that makes tensors of them, which took an expression as a constant, and no branch."""
    return shape.parsed.is_equation and bool(shape.comment) and place_of(shape.comment) is None


def is_of_float(names: tuple[str, ...], entry: CompileFacts) -> bool:
    """Whether a guard is over a Python float that became symbolic."""
    floats = entry.symbolic_floats
    return bool(names) and all(Source(name).unwrapped.canonical in floats or entry.types.get(Source(name)) == "float" for name in names)
