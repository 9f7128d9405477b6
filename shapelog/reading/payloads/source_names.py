"""Sources, Dynamo's expressions for where a value comes from: ``L['x']``, ``L['self']._parameters['weight']``, ``G['N']``."""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import canonical
from shapelog.reading.payloads.properties import Kind, Property

# Bounded, because an unbounded search from each ``L[`` takes quadratic time on a hostile name.
_LOCAL = re.compile(r"L\[\s{0,9}['\"](.{0,100}?)['\"]\s{0,9}\]")
_MODULE_DICT = re.compile(r"(\.)(?:__dict__\['_(?:modules|parameters|buffers)'\]|_(?:modules|parameters|buffers))\['([^'\]]+)'\]")
_WRAPPER = re.compile(r"^___(?:from_numpy|as_tensor)\((.*?)\)(?:\.item\(\))?$")
_WRAPPED = re.compile(r"___(?:from_numpy|as_tensor)\(([^ ()]{1,200})\)(?:\.item\(\))?")  # in an expression
_IMPORT = re.compile(r"G\['__import_([^']*)'\]")
_BUILTIN = re.compile(r"G\['__builtins_dict__[^']*'\]\['([^']*)'\]")
# A key of a dict by its place, and the item of a dict subclass that has it.
_ITEM_BY_PLACE = re.compile(r"dict\.__getitem__\(([^ ]{1,200}), list\(dict\.keys\(\1\)\)\[(\d{1,18})\]\)")
_ITEM_OF_LIST = re.compile(r"(?:list|tuple)\.__getitem__\(([^ ()]{1,200}), (-?\d{1,9})\)")
_ITEM_OF_ITERATOR = re.compile(r"___tuple_iterator_getitem\(([^ ()]{1,200}), (\d{1,9})\)")
_KEY_ITSELF = re.compile(r"list\(dict\.keys\(([^()]{1,200})\)\)(?=\[\d+\])")
_KEY_BY_PLACE = re.compile(r"(?<=\[)list\(dict\.keys\([^()]{1,200}\)\)\[(\d{1,18})\](?=\])")
_CLASS_ATTRIBUTE = re.compile(r"dict\((type\([^()]*\)(?:\.__mro__\[\d+\])?)\.__dict__\)\['(\w+)'\]")
# A local variable as torch 2.7 and later write it, and how a source begins that is written in full.
# The iterable of a comprehension is ``.0``.
_LOCAL_ROOT, _FULL = re.compile(r"^([A-Za-z_]\w*|\.0)(?=[.\[]|$)"), ("L[", "G[", "___")
_FUNCTION_MODE = re.compile(r"___get_torch_function_mode_stack_at\((\d{1,9})\)")
_GLOBAL = re.compile(r"G\['([^']*)'\]")
_BASE_OF_VIEW = "._base"
_TENSOR_PART = re.compile(r"^(.*)\.(size|stride)\(\)\[(\d{1,18})\]$", re.S)
# An argument of the code.
_ARGUMENT = re.compile(r"L\['\w+'\]")
_KEY = re.compile(r"^list\((?:dict\.keys\()?(.*?)(?:\.keys\(\))?\)\)?\[\d+\]$", re.S)
_OPEN = re.compile(r"\(")
# The paths of the last line are those that the comment of a guard shortens.
# Code that Inductor generated, in its own directory or, by the hash that names it, in any other one.
GENERATED = r"[\\/](?:torchinductor_[^\\/]{1,80}[\\/]|(?P<hash>[a-z2-7]{2})[\\/]c(?P=hash)[a-z2-7]{40,60}(?=\.py))"
# A file of torch's own by such a path, which may lack the name of the package.
_OF_TORCH = (
    r"^(?:torch|nn|optim|_decomp|_library|_logging|_dynamo|_functorch|_higher_order_ops|_subclasses|_prims_common|_refs|_inductor)/"
    r"|^_(?:meta_registrations|ops|tensor)\.py$"
)
_LIBRARY = re.compile(
    r"[\\/](?:site|dist)-packages[\\/]|[\\/]torch[\\/](?!\w*test)|<eval_with_key>|<frozen |/lib/python3\.\d+/|<string>"
    rf"|{GENERATED}"
    r"|\\(?:Python3\d+|x64)\\[Ll]ib\\"
    rf"|{_OF_TORCH}|^(?:transformers|diffusers|peft)/"
    # Python's own where it comes in an archive, as on Windows
    r"|^(?:contextlib|functools|runpy|subprocess|threading|(?:asyncio|concurrent[\\/]futures|importlib)[\\/]\w{1,40})\.py$"
)
_TORCH = re.compile(_OF_TORCH)
# Files of PyTorch that only compiled or exported code meets, and the code that Inductor generates.
_COMPILER = re.compile(
    r"[\\/]torch[\\/](?:_dynamo|_inductor|_export|export|fx[\\/]experimental[\\/]symbolic_shapes|_functorch[\\/](?:_aot_autograd[\\/]|aot_autograd|partitioners))\b"
    rf"|{GENERATED}"
)
_ENTRY = re.compile(r"[\\/]torch[\\/]__init__\.py$")
_DYNAMO = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]")
_TEST_RUNNER = re.compile(r"[\\/](?:_pytest|pluggy|unittest)[\\/][^\\/]+$")
# Each process writes the cells of a notebook to a directory of its own.
_CELL = re.compile(r"[\\/]ipykernel_\d+[\\/]|^<ipython-input-")


def is_library(file: str) -> bool:
    """Whether a file belongs to torch, another installed package or Python itself, also by the shortened path of a guard comment."""
    return bool(_LIBRARY.search(file))


def is_torch(file: str) -> bool:
    """Whether a file belongs to torch itself, also by the shortened path of a comment."""
    return (is_library(file) and "/torch/" in file.replace("\\", "/")) or _TORCH.match(file) is not None


def is_compiler(file: str) -> bool:
    """Whether a file belongs to the compiler or to ``torch.export``, or is code that Inductor generated."""
    return bool(_COMPILER.search(file))


def is_guard_of_export(file: str, name: str) -> bool:
    """Whether a frame is of the code that ``torch.export`` makes to check the inputs of a program (torch 2.9 and later)."""
    return (file, name) == ("<string>", "_")


def is_entry(file: str, name: str) -> bool:
    """Whether a frame is ``torch.compile`` itself, or what it makes of its arguments."""
    return name in ("compile", "apply_mode", "apply_options") and bool(_ENTRY.search(file))


def is_dynamo(file: str) -> bool:
    """Whether a file belongs to Dynamo, which has stand-ins for functions of Python and torch."""
    return bool(_DYNAMO.search(file))


def is_test_runner(file: str) -> bool:
    """Whether a file belongs to what runs tests, whose code is that of the user."""
    return bool(_TEST_RUNNER.search(file))


def is_notebook_cell(file: str) -> bool:
    """Whether this is the file name of a notebook cell."""
    return bool(_CELL.search(file))


def without_locals(text: str) -> str:
    """A text with ``x`` for each ``L['x']`` in it, as torch 2.7 and later write recompile reasons."""
    return _keep_groups(_LOCAL, text) if "L[" in text else text


def with_locals(name: str) -> "Source":
    """``L['x'].k`` for the ``x.k`` that torch 2.7 and later write in recompile reasons; what is written in full as it is."""
    if wrapped := _WRAPPER.match(name):
        return Source(f"{name[: wrapped.start(1)]}{with_locals(wrapped[1])}{name[wrapped.end(1) :]}")
    return Source(name if name.startswith(_FULL) else _LOCAL_ROOT.sub(r"L['\1']", name))


def _keep_groups(pattern: re.Pattern[str], text: str) -> str:
    """The text with each match replaced by its groups, as ``sub(r"\\1\\2")``, but three times as fast."""
    return "".join(pattern.split(text))


def display_text(text: str) -> str:
    """A text with each source in it as its user would write it: ``self.lin.weight`` for that of a parameter, ``N`` for ``G['N']``."""
    if "___" in text:
        text = _keep_groups(_WRAPPED, text)
    wrapped = _WRAPPER.match(text)
    text = without_locals(wrapped[1] if wrapped else text)
    if "._" in text:
        text = _keep_groups(_MODULE_DICT, text)
    if "(dict.keys(" in text:
        text = _KEY_BY_PLACE.sub(r"key \1", _ITEM_BY_PLACE.sub(r"\1[key \2]", text))
        text = _KEY_ITSELF.sub(r"list(\1)", text)
    if ".__getitem__(" in text:
        text = _ITEM_OF_LIST.sub(r"\1[\2]", text)
    if "_iterator_getitem(" in text:
        text = _ITEM_OF_ITERATOR.sub(r"\1[\2]", text)
    if "_mode_stack_at(" in text:
        text = _FUNCTION_MODE.sub(r"torch_function_mode[\1]", text)
    if "dict(type(" in text:
        text = _CLASS_ATTRIBUTE.sub(r"\1.\2", text)
    if "G['" not in text:
        return text
    text = _IMPORT.sub(lambda match: match[1].replace("_dot_", "."), text)
    return _keep_groups(_GLOBAL, _keep_groups(_BUILTIN, text))


class Source(str):
    """Dynamo's expression for where a value comes from. It is equal to its text, and can be looked up by it."""

    @cached_property
    def display_name(self) -> str:
        """The source as its user would write it: ``L['self']._modules['lin']._parameters['weight']`` is ``self.lin.weight``."""
        return display_text(self)

    @cached_property
    def canonical(self) -> str:
        """The source as ``guard_expressions.Expression.names`` spells it."""
        return canonical(self)

    @cached_property
    def unwrapped(self) -> "Source":
        """The Python value behind a source that Dynamo made a tensor of: ``___as_tensor(L['lr'])`` is ``L['lr']``."""
        match = _WRAPPER.match(self.removesuffix(".item()")) if self.startswith("___") else None
        return Source(match[1]) if match else self

    @cached_property
    def tensor_part(self) -> "TensorPart | None":
        """The size or stride that ``L['x'].size()[0]`` is, None for any other source."""
        match = _TENSOR_PART.match(self) if "()[" in self else None
        return TensorPart(Source(match[1]), Property(Kind(match[2]), int(match[3]))) if match else None

    @property
    def view_of_base(self) -> "Source | None":
        """The view whose base this tensor is, None for any other source."""
        return Source(self.removesuffix(_BASE_OF_VIEW)) if self.endswith(_BASE_OF_VIEW) else None

    @property
    def is_registered(self) -> bool:
        """Whether it is a parameter or buffer of a module: static while force_parameter_static_shapes is on, unless it is listed."""
        return "._parameters[" in self or "._buffers[" in self

    @property
    def is_unnamed(self) -> bool:
        """Whether resumed code took this value over from where a graph break left it: from the function itself, or from those that were
        called on the way to the break, ``L['__nested_frame_values'][0][3]``.
        """
        return self.is_left_by_break or self.removeprefix("L['").startswith("__nested_frame_values")  # in guards on sizes without L[...]

    @property
    def is_left_by_break(self) -> bool:
        """The same of the function itself: what is on Python's stack, ``L['___stack0']``, and all its variables where it deletes one later
        on (torch 2.13), ``L['__resume_frame_values'][3]``.
        """
        return self.removeprefix("L['").startswith(("___stack", "__resume_frame_values"))

    @property
    def is_on_stack(self) -> bool:
        """Whether resumed code took this value, or what holds it, over from Python's stack."""
        return self.removeprefix("L['").startswith("___stack")

    @property
    def is_attribute(self) -> bool:
        """Whether it is reached through an attribute of an object, as ``L['self'].cache[0]`` is."""
        return "]." in self

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument, or another local variable, itself: ``L['x']``."""
        return _ARGUMENT.fullmatch(self) is not None

    @property
    def dict_of_key(self) -> "Source | None":
        """The dict that ``list(dict.keys(L['d']))[0]`` is a key of, None for any other source."""
        match = _KEY.match(self) if self.startswith("list(") else None
        return Source(match[1]) if match else None

    def is_below(self, parent: str) -> bool:
        """Whether it is reached through ``parent``: an attribute, item, key or part of it."""
        if len(self) > len(parent) and self.startswith(parent):
            return self[len(parent)] in ".["
        return self != parent and f"({parent})" in self


class Owners:
    """Sources that others may be below, for questions about many others."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._sources = frozenset(sources)
        self._lengths = sorted({len(source) for source in self._sources})

    def of(self, source: Source) -> Iterator[str]:
        """Those that a source is below (``Source.is_below``); one may come more than once."""
        for length in self._lengths:
            if length >= len(source):
                break
            if source[length] in ".[" and source[:length] in self._sources:
                yield source[:length]
            for begin in (match.end() for match in _OPEN.finditer(source)):
                if source[begin + length : begin + length + 1] == ")" and source[begin : begin + length] in self._sources:
                    yield source[begin : begin + length]


class TensorPart(NamedTuple):
    """A size or stride of a tensor."""

    tensor: Source
    prop: Property

    @property
    def dim(self) -> int:
        return self.prop.dim

    @property
    def is_size(self) -> bool:
        return self.prop.kind is Kind.SIZE

    def __str__(self) -> str:
        """``x.size[0]``, as its user would write the tensor."""
        return f"{self.tensor.display_name}.{self.prop}"
