"""Lines of Python to paste: ``mark_dynamic`` calls for a source, written as the code that makes the call would name it."""

import ast
import re

from shapelog.advice.marks import Mark
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.python_code import syntax_tree
from shapelog.text import is_visible

_LOCAL = re.compile(r"\b[LG]\['(\w+)'\]")
_MODULE = re.compile(r"\._modules\['(\d{1,18})'\]")
_NAMED = re.compile(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]")
# Where a strict mark is no option: PyTorch raises ConstraintViolationError where the size is specialized.
_SPECIALIZED = frozenset(("SL201", "SL202", "SL203"))
# With another range, PyTorch raises where code compares the size: the guard would be narrower than what was promised.
_COMPARED = "SL204"
_PLAIN = (ast.Expression, ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load)


def expression(source: str) -> str:
    """``L['self']._modules['layers']._modules['0'].k_cache`` → ``self.layers[0].k_cache``, Python as its user would write it."""
    text = _LOCAL.sub(r"\1", source)
    text = _MODULE.sub(r"[\1]", text)
    return _NAMED.sub(r".\1", text)


def is_plain(text: str) -> bool:
    """Whether a text is nothing but a name with attributes, items and constants, so that it may appear in code to paste."""
    if not is_visible(text) or "#" in text:  # what follows on the line would be a comment
        return False
    tree = syntax_tree(text)
    return tree is not None and all(isinstance(node, _PLAIN) for node in ast.walk(tree))


def mark_function(codes: tuple[str, ...]) -> str:
    """The function of ``torch._dynamo`` to mark with where a source varied by these rules; a strict mark raises where the code pins it."""
    return "maybe_mark_dynamic" if _SPECIALIZED & set(codes) else "mark_dynamic"


def mark_line(
    mark: Mark,
    values: list[str],
    codes: tuple[str, ...],
    *,
    is_resumed: bool = False,
    has_list: bool = True,
    is_always: bool = True,
    is_within_library: bool = False,
) -> str:
    """A call that marks one dim, with the sizes seen; a comment where no line of code could do it.

    As arguments, ``min=`` and ``max=`` shut out all other sizes, so the comment has them. ``is_resumed``: the tensor is a local one of
    code after a graph break, and ``mark_dynamic`` fails where it is compiled. ``has_list``: this version of torch reads a list of sources.
    ``is_always``: each call had such a tensor. ``is_within_library``: only code of a library passes it.
    """
    or_list = ", or use the list" if has_list else ""
    name = expression(mark.source)
    if mark.source.startswith("___"):
        return f"# {mark.source.display_name} is not a tensor before the call: convert it (torch.from_numpy) and mark dim {mark.dim}"
    if mark.source.is_unnamed or not is_plain(name):
        return f"# {mark.source.display_name} has no name in the program: mark dim {mark.dim} where it is created{or_list}"
    if "SL106" in codes or mark.source.is_registered:
        return f"# {name} is a parameter or buffer, which mark_dynamic does not affect: use the list"
    if is_resumed and "." not in name:
        return f"# {name} is created before a graph break: mark dim {mark.dim} in a function under @torch.compiler.disable{or_list}"
    if is_within_library:
        return f"# {name} is passed by code of a library: mark dim {mark.dim} of the input that it is made of{or_list}"
    function = mark_function(codes)
    strict = function == "mark_dynamic"
    sizes = sorted({number for number in map(integer, values) if number is not None})
    note = f"  # sizes {sizes[0]}–{sizes[-1]} seen" if len(sizes) > 1 else ""
    if note and strict and sizes[0] > 1 and _COMPARED not in codes:
        note += "; add min= and max= only if no other sizes occur"
    if not is_always:
        return f"# in calls in which {name} is a tensor with dim {mark.dim}: torch._dynamo.{function}({name}, {mark.dim}){note}"
    return f"torch._dynamo.{function}({name}, {mark.dim}){note}"
