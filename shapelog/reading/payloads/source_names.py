"""Sources, Dynamo's expressions for where a value comes from: ``L['x']``, ``L['self']._parameters['weight']``, ``G['N']``."""

import re

# Bounded, because an unbounded search from each ``L[`` takes quadratic time on a hostile name.
_LOCAL = re.compile(r"L\[\s{0,9}['\"](.{0,100}?)['\"]\s{0,9}\]")
_MODULE_DICT = re.compile(r"(\.)_(?:modules|parameters|buffers)\['([^'\]]+)'\]")
_WRAPPER = re.compile(r"^___(?:from_numpy|as_tensor)\((.*)\)$")
_IMPORT = re.compile(r"G\['__import_([^']*)'\]")
_GLOBAL = re.compile(r"G\['([^']*)'\]")
_TENSOR_PART = re.compile(r"^(.*)\.(size|stride)\(\)\[(\d{1,18})\]$", re.S)
_KEY = re.compile(r"^list\((?:dict\.keys\()?(.*?)(?:\.keys\(\))?\)\)?\[\d+\]$", re.S)
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/torch/(?!\w*test)|<eval_with_key>|<frozen |/lib/python3\.\d+/|<string>")
# Each process writes the cells of a notebook to a directory of its own.
_CELL = re.compile(r"[\\/]ipykernel_\d+[\\/]|^<ipython-input-")
_SHORTENED_LIBRARIES = (
    "nn/",
    "optim/",
    "_library/",
    "_dynamo/",
    "_functorch/",
    "_higher_order_ops/",
    "torch/",
    "transformers/",
    "diffusers/",
)


def is_library(file: str) -> bool:
    """Whether a file belongs to torch, another installed package or Python itself, also by the shortened path of a guard comment."""
    return bool(_LIBRARY.search(file)) or file.startswith(_SHORTENED_LIBRARIES)


def is_notebook_cell(file: str) -> bool:
    """Whether this is the file name of a notebook cell."""
    return bool(_CELL.search(file))


def without_locals(text: str) -> str:
    """A text with ``x`` for each ``L['x']`` in it, as torch 2.8 and later write recompile reasons."""
    return _keep_groups(_LOCAL, text) if "L[" in text else text


def _keep_groups(pattern: re.Pattern[str], text: str) -> str:
    """The text with each match replaced by its groups, as ``sub(r"\\1\\2")``, but three times as fast."""
    return "".join(pattern.split(text))


def display_name(source: str) -> str:
    """The source as its user would write it: ``L['self']._modules['lin']._parameters['weight']`` is ``self.lin.weight``."""
    wrapped = _WRAPPER.match(source)
    text = without_locals(wrapped[1] if wrapped else source)
    if "._" in text:
        text = _keep_groups(_MODULE_DICT, text)
    if "G['" not in text:
        return text
    text = _IMPORT.sub(lambda match: match[1].replace("_dot_", "."), text)
    return _keep_groups(_GLOBAL, text)


def dict_of_key(source: str) -> str | None:
    """The dict that ``list(dict.keys(L['d']))[0]`` is a key of, None for any other source."""
    match = _KEY.match(source) if source.startswith("list(") else None
    return match[1] if match else None


def unwrap(source: str) -> str:
    """The Python value behind a source that Dynamo made a tensor of: ``___as_tensor(L['lr'])`` is ``L['lr']``."""
    match = _WRAPPER.match(source.removesuffix(".item()")) if source.startswith("___") else None
    return match[1] if match else source


def is_below(source: str, parent: str) -> bool:
    """Whether ``source`` is reached through ``parent``: an attribute, item, key or part of it."""
    if len(source) > len(parent) and source.startswith(parent):
        return source[len(parent)] in ".["
    return source != parent and f"({parent})" in source


def tensor_part(source: str) -> tuple[str, str, int] | None:
    """(tensor, "size" or "stride", dim) of a symbol's source such as ``L['x'].size()[0]``, None for a plain int or float."""
    match = _TENSOR_PART.match(source) if "()[" in source else None
    return (match[1], match[2], int(match[3])) if match else None
