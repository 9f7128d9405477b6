"""Calls that need the number behind a symbolic int: PyTorch pins it there, and each value has a graph of its own, marked or not.

Measured with torch 2.8, 2.10 and 2.13, on ints as on sizes. An operator of PyTorch keeps an int symbolic where its schema has
SymInt or Scalar (sizes, offsets, counts of top elements, what convolutions take, numbers to calculate with); where it has int or float
(numbers of dims, kernels of pooling, window lengths, counts of chunks and bins) the int becomes a constant of the graph.
"""

import ast
from collections.abc import Iterable, Iterator

from shapelog.reading.payloads.python_code import syntax_tree

# Parameters in the order of a method, whose tensor comes first; those that are pinned end in "!".
_SIGNATURES = """
sum mean prod amax amin max min argmax argmin var std nansum median all any count_nonzero: self dim!
softmax log_softmax logsumexp cumsum cumprod cummax cummin sort argsort unbind glu unsqueeze squeeze: self dim!
index_add index_copy index_fill index_select gather scatter scatter_add cat concat stack: self dim!
transpose swapaxes swapdims movedim flatten: self start_dim! end_dim!
select narrow: self dim! start length
unflatten: self dim! sizes
flip: self dims!
roll: self shifts dims!
topk kthvalue repeat_interleave: self k dim!
chunk tensor_split hsplit vsplit: self chunks! dim!
split: self size dim!
rot90: self k! dims!
unfold: self dimension! size! step! stride! kernel_size! dilation! padding!
fold: self output_size kernel_size! dilation! padding! stride!
diagonal diag diag_embed: self offset! dim1! dim2!
one_hot: self num_classes!
matrix_power linalg_matrix_power: self n!
histc: self bins!
vander: self N!
diff: self n! dim!
quantile nanquantile: self q! dim!
cosine_similarity: self other dim!
tensordot: self other dims!
cdist: self other p!
max_pool1d max_pool2d max_pool3d: self kernel_size! stride! padding! dilation!
avg_pool1d avg_pool2d avg_pool3d: self kernel_size! stride! padding!
lp_pool1d lp_pool2d: self norm_type! kernel_size! stride!
adaptive_avg_pool1d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d: self output_size!
pad: self pad mode value!
group_norm: self num_groups!
local_response_norm: self size!
pixel_shuffle pixel_unshuffle: self factor!
dropout: self p!
stft: self n_fft! hop_length! win_length!
scaled_dot_product_attention: self key value mask dropout_p! causal scale!
interpolate: self size scale_factor!
normalize gumbel_softmax trapezoid aminmax norm vector_norm matrix_norm linalg_vector_norm linalg_matrix_norm cross linalg_cross: self
round: self decimals!
linspace logspace: start end steps!
hann_window hamming_window blackman_window bartlett_window kaiser_window: length!
tril_indices triu_indices: row! col! offset!
polygamma: n!
affine_grid: theta size!
as_tensor: data!
"""
# Keywords that hold numbers of dims, whatever the operator.
_DIMS = frozenset(("dim", "dims", "axis", "start_dim", "end_dim", "dim0", "dim1", "decimals", "dx", "correction"))
_MODULES = frozenset(("torch", "F", "functional", "nn", "linalg", "special"))
# Of the functions of math those that PyTorch knows no symbolic form of.
_MATH = frozenset(("log", "log10", "log1p", "exp", "exp2", "expm1", "pow", "atan2", "hypot", "fabs", "fmod", "copysign"))


def _signatures() -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in _SIGNATURES.strip().splitlines():
        names, _, parameters = line.partition(":")
        yield from ((name, tuple(parameters.split())) for name in names.split())


_BY_NAME = dict(_signatures())


def pinned_arguments(call: ast.Call) -> Iterator[ast.expr]:
    """The arguments of a call that PyTorch makes constants of; it is known by its name, as a method of a tensor or a function of torch."""
    if not isinstance(call.func, ast.Attribute):
        return
    name, root = call.func.attr, _root(call.func)
    if root == "math":
        yield from call.args if name in _MATH else ()
        return
    known = _BY_NAME.get(name)
    if known is None:
        return
    is_method = known[0] == "self" and root not in _MODULES
    for parameter, argument in zip(known[1:] if is_method else known, call.args, strict=False):
        if parameter.endswith("!"):
            yield argument
    for keyword in call.keywords:
        if keyword.arg in _DIMS or f"{keyword.arg}!" in known:
            yield keyword.value


def _root(node: ast.expr) -> str:
    """The name that an attribute chain starts with, "" where it starts with no name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


Pinned = tuple[tuple[str, int], ...]
"""(operator, number that it takes as a constant) in the order of a graph."""


def pinned_by(before: Iterable[tuple[str, int]], after: Iterable[tuple[str, int]], old: int, new: int) -> str:
    """The operator that takes a constant ``old`` in one graph and ``new`` in another, "" if there is none."""
    for (operator, number), (other, changed) in zip(before, after, strict=False):
        if operator == other and (number, changed) == (old, new):
            return operator
    return ""


def pinned_numbers(statements: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The constants that a graph's statements hold where PyTorch makes a constant of what it is given."""
    for statement in statements:
        tree = syntax_tree(statement.strip(), "exec")
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree is not None else ():
            for argument in pinned_arguments(call):
                numbers = argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]
                for item in numbers:
                    if isinstance(item, ast.Constant) and type(item.value) is int:
                        yield ast.unparse(call.func).rsplit(".", 1)[-1], item.value
