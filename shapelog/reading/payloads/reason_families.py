"""The families of recompile reasons: PyTorch's wording of each, 2.4 to 2.15, what it means, and which rules explain what helps.

``recompile_reasons`` reads by this table, and ``docs/recompile-reasons.md`` is written from it. The wording is that of
``torch._C._dynamo.guards`` and ``torch/_dynamo/guards.py``.
"""

from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.properties import Kind


class Topic(Enum):
    """What a family is about, in the order of the page; the value is its heading."""

    SIZES = "Sizes"
    VALUES = "Values"
    OBJECTS = "Objects and functions"
    CONTAINERS = "Containers"
    TENSORS = "Tensors"
    STATE = "Global state"
    OTHER = "Other reasons"


class Case(NamedTuple):
    """One way in which a reason of a family reads.

    ``example`` is the text after the compile id. ``meaning`` is Markdown: what it means, and the usual causes. ``rules`` are the codes
    under which such a recompilation is reported, the usual one first. ``remedy`` is what helps, "" for what the rules have.
    """

    example: str
    meaning: str
    rules: tuple[str, ...]
    remedy: str = ""


class Template(NamedTuple):
    """A regular expression of a whole reason, and the kind of property that it is about.

    Its groups are ``source``, ``expected`` and ``actual``; ``dim``, ``key`` or ``index`` where the property has one; ``no`` for a negation.
    """

    kind: Kind
    pattern: str


class Family(NamedTuple):
    """Reasons that are read in the same way. Those without templates are recognized by their operators, after all templates."""

    name: str
    title: str
    topic: Topic
    cases: tuple[Case, ...]
    templates: tuple[Template, ...] = ()


_T = r"tensor '(?P<source>.*?)' "
_AT_INDEX = r" mismatch at index (?P<dim>\d+)\. expected (?P<expected>-?\d+), actual (?P<actual>-?\d+)"
_CUT_EXPECTED = r"(?:\.(?: e\w*(?: -?\d+,?(?: a\w*)?)?)?)?"
_CUT_VALUES = r" mismatch at index (?P<dim>\d+)" + _CUT_EXPECTED
_CUT_OFF = r" mismatch(?: at(?: index(?: (?P<dim>\d+)\b.*)?)?)?"  # at the end of a log
_CPU_KEYS = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
_PARAMETER = (
    ". Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on "
    "parameters."
)
_STATIC_INT = (
    "(HINT: torch.compile considers integer attributes of the nn.Module to be static. If you are observing recompilation, you might want "
    "to make this integer dynamic using torch._dynamo.config.allow_unspec_int_on_nn_module = True, or convert this integer into a tensor.)"
)
_ZERO_ONE = (
    "(user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the framework; to "
    "avoid specialization try torch._dynamo.decorators.mark_unbacked(tensor, dim))"
)
_DUCK_SIZING = (
    "duck sizing added this equality because these variables had the same size 8 (to avoid this specialization, set "
    "torch.fx.experimental._config.use_duck_shape = False)"
)
_BACKEND_MATCH = (
    "BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: _TorchCompileWrapper(compiler='eager', "
    "dynamic=None) (id=0x7f7f95182a10). New backend: _TorchCompileWrapper(compiler='eager', dynamic=True) (id=0x7f7f990adf50). If this is "
    "unexpected, wrap your backend in functools.partial (or reuse the same cached backend) to avoid creating a new backend function each "
    "time."
)

# A reason belongs to the first family with a template that matches it. The most frequent ones come first.
FAMILIES = (
    Family(
        "size",
        "A tensor has another size",
        Topic.SIZES,
        (
            Case(
                "tensor 'x' size mismatch at index 0. expected 10, actual 20",
                "Dimension 0 of `x` was 10 when the entry was compiled, and is 20 in this call. PyTorch treats a size as a constant until "
                "it varies; then it recompiles with a symbol in its place. If every new size recompiles, the code needs the exact value "
                "or branches on it, or `dynamic=False` is set.",
                ("SL101", "SL201", "SL202", "SL204"),
            ),
            Case(
                "tensor 'x' size mismatch at index 0. expected 8, actual 1",
                "One of the two sizes is 0 or 1, as in the last, incomplete batch of an epoch. PyTorch never uses a symbol for these two.",
                ("SL104",),
            ),
            Case(
                f"tensor 'self._modules['linear']._parameters['weight']' size mismatch at index 0. expected 64, actual 32{_PARAMETER}",
                "`self.linear.weight` is a parameter, and sizes of parameters are static by default. Usually several layers of different "
                "widths run the same code.",
                ("SL106",),
            ),
        ),
        (Template(Kind.SIZE, _T + "size" + _AT_INDEX), Template(Kind.SIZE, _T + "size" + _CUT_VALUES)),
    ),
    Family(
        "shape",
        "A condition on sizes no longer holds",
        Topic.SIZES,
        (
            Case(
                "x.size()[0] <= 30  # if x.shape[0] <= 30:  # train.py:8 in forward (_dynamo/variables/tensor.py:2606 in evaluate_expr)",
                "The sizes are symbols already, but the graph is only valid while this condition holds. Usually the code branches on the "
                "size, and the comment quotes the line. It can also be an operation that requires it, as in `(x.size()[0] % 8) == 0`. In "
                "torch 2.4 the text is `Ne(...)`, `Eq(...)` or `Mod(...)`, without the line. A condition on a float, such as `scale <= "
                "0.5`, reads in the same way.",
                ("SL204", "SL312"),
            ),
            Case(
                f"2 <= x.size()[0]  # y = x * 2  # train.py:6 in forward {_ZERO_ONE}",
                "The graph is for all sizes but 0 and 1, and this size is 0 or 1. In `2 <= x.size()[0] <= 30` the size can also be above "
                "the upper end, which comes from the second line that the comment quotes.",
                ("SL104", "SL204"),
            ),
            Case(
                f"keys.size()[0] == queries.size()[0]  # {_DUCK_SIZING}",
                "Two sizes happened to be equal when the entry was compiled, so PyTorch used one symbol for both. In this call they "
                "differ. If the comment does not mention duck sizing, an operation requires them to be equal.",
                ("SL103", "SL204"),
            ),
            Case(
                "x.stride()[0] >= x.stride()[1]",
                "The sizes fit, but the order of the strides changed: the tensor was transposed, or is in another memory format.",
                ("SL105",),
            ),
        ),
    ),
    Family(
        "stride",
        "A tensor has another memory layout",
        Topic.SIZES,
        (
            Case(
                "tensor 'x' stride mismatch at index 0. expected 4, actual 1",
                "The sizes fit, but the strides differ: the tensor was transposed, is in channels-last format, or is a slice of a larger "
                "tensor. In torch 2.4 a size that varies can show up here as well, since the stride of one dimension is checked before "
                "the size of the next.",
                ("SL105",),
            ),
        ),
        (Template(Kind.STRIDE, _T + "strides?" + _AT_INDEX), Template(Kind.STRIDE, _T + "strides?" + _CUT_OFF)),
    ),
    Family(
        "rank",
        "A tensor has another number of dimensions",
        Topic.SIZES,
        (
            Case(
                "tensor 'x' rank mismatch. expected 2, actual 3",
                "`x` had two dimensions and now has three; a batch dimension, for example, that some calls leave out. The number of "
                "dimensions cannot be dynamic.",
                ("SL107",),
            ),
        ),
        (
            Template(Kind.RANK, _T + r"rank mismatch\. expected (?P<expected>\d+), actual (?P<actual>\d+)"),
            Template(Kind.RANK, _T + r"rank mismatch" + _CUT_EXPECTED),
        ),
    ),
    Family(
        "dtype",
        "A tensor has another dtype",
        Topic.TENSORS,
        (
            Case(
                "tensor 'x' dtype mismatch. expected Float, actual Half",
                "The names are those of PyTorch's C++ code: `Float` is float32, `Double` float64, `Half` float16, `Long` int64. Usual "
                "causes are a warm-up in another precision, and data that is sometimes read as integers.",
                ("SL301",),
            ),
            Case(
                "tensor '___from_numpy(x)' dtype mismatch. expected Long, actual Float",
                "`___from_numpy(x)` is the tensor that PyTorch makes of a NumPy array `x`. Either the dtype of the array changed, or `x` "
                "is now a tensor itself.",
                ("SL301", "SL310"),
            ),
        ),
        (
            Template(Kind.DTYPE, _T + r"dtype mismatch\. expected (?P<expected>\S+), actual (?P<actual>\w+)"),
            Template(Kind.DTYPE, _T + r"dtype mismatch(?:\. expected(?: (?P<expected>\w+),?)?)?"),
        ),
    ),
    Family(
        "requires_grad",
        "A tensor requires a gradient, or no longer does",
        Topic.TENSORS,
        (
            Case(
                "tensor 'x' requires_grad mismatch. expected requires_grad=0",
                "With 0, the entry is for a tensor that does not require a gradient, and this one does; with 1, it is the other way "
                "round. Usual causes are a module that gets its own output as input, and code that training and evaluation share.",
                ("SL302",),
            ),
        ),
        (Template(Kind.REQUIRES_GRAD, _T + r"requires_grad mismatch(?:\. expected requires_grad=(?P<expected>\d)|\..{0,40})?"),),
    ),
    Family(
        "dispatch_keys",
        "A tensor is of another kind",
        Topic.TENSORS,
        (
            Case(
                f"tensor 'x' dispatch key set mismatch. expected {_CPU_KEYS}, actual DispatchKeySet(CPU, BackendSelect)",
                "Look for the keys that only one of the two lists has. A tensor without `ADInplaceOrView` and `Autograd...` was created "
                "in inference mode. `Sparse...`, `Nested...`, `Quantized...`, `Conjugate` and `Negative` are kinds of tensors, `Python` "
                "is a tensor subclass or a dispatch mode, and `FuncTorch...` a transform such as vmap.",
                ("SL303",),
            ),
            Case(
                f"tensor 'x' dispatch key set mismatch. expected {_CPU_KEYS}, actual DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView, "
                "AutogradCUDA)",
                "The first key of each list is the type of device: the tensor was on the CPU and is now on a GPU.",
                ("SL304",),
            ),
            Case(
                f"tensor 'x' dispatch key set mismatch. expected {_CPU_KEYS}, actual DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, "
                "AutogradCPU, AutocastCPU)",
                "Autocast was turned on or off. From torch 2.8 on, this is a change of the [global state](#global_state).",
                ("SL306",),
            ),
        ),
        (Template(Kind.DISPATCH_KEYS, _T + r"dispatch key set mismatch\. expected (?P<expected>.*?\)), actual (?P<actual>.*\))"),),
    ),
    Family(
        "device",
        "A tensor is on another device",
        Topic.TENSORS,
        (
            Case(
                "tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1",
                "The tensor was on `cuda:0` and is now on `cuda:1`. A device of another type shows as [other dispatch "
                "keys](#dispatch_keys).",
                ("SL304",),
            ),
        ),
        (
            Template(
                Kind.DEVICE,
                _T + r"Tensor device index mismatch\. Expected device index to be (?P<expected>-?\d+), actual (?P<actual>-?\d+)",
            ),
        ),
    ),
    Family(
        "tensor_type",
        "Something else is passed in place of a tensor",
        Topic.TENSORS,
        (
            Case(
                "expected type of 'x' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
                "The entry is for a plain tensor, and this call passes a parameter, an instance of a subclass, or a number. The quote in "
                "the middle is a slip in PyTorch; in torch 2.15 the text is `to be <class 'torch.Tensor'>, but found ...`.",
                ("SL310",),
            ),
            Case(
                "expected type of 'mask' to be <class 'torch.Tensor'>, but found <class 'NoneType'>",
                "An optional tensor was given when the entry was compiled, and is left out in this call.",
                ("SL322",),
            ),
        ),
        (Template(Kind.TYPE, r"expected type of '(?P<source>.*?)' to be (?P<expected>.*?),? ?'? but found `?(?P<actual>.*)"),),
    ),
    Family(
        "metadata",
        "A tensor subclass has other metadata",
        Topic.TENSORS,
        (
            Case(
                "___check_metadata_140057847825888_c0/0",
                "The tensor is an instance of a subclass that consists of other tensors, and what it holds in addition to them changed: "
                "the second value that its `__tensor_flatten__` returns, or what its `__metadata_guard__` compares. The text does not "
                "name the tensor.",
                ("SL303",),
            ),
            Case(
                "__dtensor_spec_140057847825888",
                "The tensor is a `DTensor`, and its device mesh, its placements, its shape or its dtype changed. The text does not name "
                "the tensor.",
                ("SL303",),
            ),
        ),
        (Template(Kind.METADATA, r"___check_metadata_\d+_c\S+|__dtensor_spec_\d+"),),
    ),
    Family(
        "own_guard",
        "An object is in another state, by its own account",
        Topic.OBJECTS,
        (
            Case(
                "___check_opaque_guard_fn_140057847825888_c0/0",
                "The object is of an opaque type that returns the values to guard on (`guard_fn`), and one of them changed. The text does "
                "not name the object.",
                ("SL320",),
                "pass an object in the same state in every call",
            ),
        ),
        (Template(Kind.METADATA, r"___check_opaque_guard_fn_\d+_c\S+"),),
    ),
    Family(
        "global_state",
        "A setting of PyTorch changed",
        Topic.STATE,
        (
            Case(
                "GLOBAL_STATE changed: grad_mode",
                "Gradients were enabled when the entry was compiled and this call runs under `torch.no_grad()` or in inference mode, or "
                "the other way round. Validation between training steps does this.",
                ("SL305",),
            ),
            Case(
                "GLOBAL_STATE changed: autocast(cpu)_enabled",
                "`torch.autocast` was turned on or off, or its dtype or its cache changed. In torch 2.8 and 2.10 the name is `autocast` "
                "alone.",
                ("SL306",),
            ),
            Case(
                "GLOBAL_STATE changed: autocast_cache_enabled",
                "The cache of autocast alone: one of the two calls was traced by `torch.export` or `make_fx`, which turn it off. An "
                "operator such as `torch.cond` is compiled for both.",
                ("SL307",),
                "accept the second graph, or export in a process of its own",
            ),
            Case(
                "GLOBAL_STATE changed: default_dtype num_threads",
                "Each name is a setting that changed: `default_dtype`, `num_threads`, `deterministic_algorithms`, `allow_tf32` and so on. "
                "Often a library sets one of them after the first call.",
                ("SL307",),
            ),
        ),
        (Template(Kind.GLOBAL_STATE, r"GLOBAL_STATE changed: (?P<expected>.*)|___check_global_state\(\)"),),
    ),
    Family(
        "function_mode",
        "A function mode was entered or left",
        Topic.STATE,
        (
            Case(
                "___check_torch_function_mode_stack()",
                "Another torch function mode is active, or none is. The usual one is a default device: `with torch.device(...)` or "
                "`torch.set_default_device(...)`.",
                ("SL307",),
                "set the default device once, before the first compiled call, or enter the same function mode for every call",
            ),
        ),
        (Template(Kind.FUNCTION_MODES, r"___check_torch_function_mode_stack\(\)"),),
    ),
    Family(
        "default_device",
        "The default device changed",
        Topic.STATE,
        (
            Case(
                "utils_device.CURRENT_DEVICE == None",
                "`torch.set_default_device` was called after the entry was compiled. The value is the default device at that time.",
                ("SL307",),
            ),
        ),
        (Template(Kind.DEFAULT_DEVICE, r"utils_device\.CURRENT_DEVICE == (?P<expected>.*)"),),
    ),
    Family(
        "saved_tensor_hooks",
        "Hooks for saved tensors changed",
        Topic.STATE,
        (
            Case(
                "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None",
                "This call runs under `torch.autograd.graph.saved_tensors_hooks`, which offloading and compression of activations use, "
                "and the entry was compiled without them or with others; or the other way round.",
                ("SL307",),
                "use the same hooks in every call, or accept a graph for each",
            ),
        ),
        (Template(Kind.SAVED_TENSOR_HOOKS, r"torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks.*"),),
    ),
    Family(
        "functorch",
        "The call is inside of another transform",
        Topic.STATE,
        (
            Case(
                "torch._functorch.pyfunctorch.compare_functorch_state([])",
                "The code was compiled outside of `torch.func.vmap`, `grad` and the like and is now called inside of one, or the other "
                "way round. For forward-mode AD the text is `torch.autograd.forward_ad._current_level == -1`.",
                ("SL307",),
                "call the code inside of the same transforms every time, or accept a graph for each",
            ),
        ),
        (
            Template(Kind.FUNCTORCH_STATE, r"torch\._functorch\.pyfunctorch\.compare_functorch_state\((?P<expected>.*)\)"),
            Template(Kind.FUNCTORCH_STATE, r"torch\.autograd\.forward_ad\._current_level == (?P<expected>-?\d+)"),
        ),
    ),
    Family(
        "duplicate",
        "Two inputs are now the same tensor",
        Topic.TENSORS,
        (
            Case(
                'Duplicate tensors found: ["x", "y"]',
                "These were different tensors when the entry was compiled, and this call passes one tensor for both.",
                ("SL317",),
            ),
        ),
        (Template(Kind.ALIASING, r"Duplicate tensors? found: (?P<actual>.*)"),),
    ),
    Family(
        "aliasing",
        "Inputs are no longer the same object, or overlap in another way",
        Topic.TENSORS,
        (
            Case(
                "x is y",
                "Both were one and the same object when the entry was compiled, and now differ.",
                ("SL317",),
            ),
            Case(
                "check_overlapping(overlapping=[x, y], non_overlapping=[z])",
                "Inputs share memory in another way than when the entry was compiled; this is checked where the code writes to one of "
                "them. In torch 2.15 there is also `NO_TENSOR_ALIASING guard failed`, for inputs that are now the same tensor.",
                ("SL317",),
            ),
        ),
        (Template(Kind.ALIASING, r"NO_TENSOR_ALIASING .*|check_overlapping\(.*"),),
    ),
    Family(
        "marking",
        "A tensor is marked in another way",
        Topic.SIZES,
        (
            Case(
                "_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time",
                "`mark_dynamic`, `maybe_mark_dynamic`, `mark_unbacked` or `mark_static` was called on the tensor of this call, but not on "
                "that of the first one. The text does not name the tensor. For other dimensions it is `_dynamo_dynamic_indices not a "
                "subset: ...`.",
                ("SL321",),
            ),
            Case(
                "hasattr(x, '_dynamo_dynamic_indices') == False",
                "The same up to torch 2.10: `x` is marked now and was not when the entry was compiled.",
                ("SL321",),
            ),
        ),
        (
            Template(Kind.MARKING, r"hasattr\((?P<source>.*), '(?P<key>_dynamo_\w+)'\)(?P<no> == False)?.*"),
            Template(Kind.MARKING, r"(?P<key>_dynamo_\w+) (?P<no>should be absent)?.*"),
            Template(
                Kind.MARKING,
                r"(?:\(\((?:.*)\._dynamo_\w+\.issubset.*|_?\w*dim_marking is .*|\S+ (?:mismatch: expected|not a subset|should be absent).*|"
                r".*attribute is absent on runtime tensor.*)",
            ),
        ),
    ),
    Family(
        "died",
        "An object was garbage-collected",
        Topic.OBJECTS,
        (
            Case(
                "Cache line invalidated because L['config'] got deallocated",
                "The entry depends on this object, which no longer exists. Such an entry is discarded, and the next call compiles again.",
                ("SL319",),
            ),
            Case(
                "___guarded_code.valid",
                "The same in torch 2.4 and older, which do not name the object; most often it is a module.",
                ("SL319",),
            ),
        ),
        (
            Template(Kind.LIFETIME, r"Cache line invalidate\S{0,2} because (?P<source>.*) got deallocated.*"),
            Template(Kind.LIFETIME, r"Object \d+ of type <class '(?P<source>[\w.]+)'> is weakref'd by this code, but has been finalized"),
            Template(Kind.LIFETIME, r"___guarded_code\.valid|Cache line invalidate.*"),
        ),
    ),
    Family(
        "backend",
        "Another backend, or no reason at all",
        Topic.OTHER,
        (
            Case(
                _BACKEND_MATCH,
                "All guards hold, but `torch.compile` was called for the same code with another backend, mode or option. Compare the two "
                "backends in the text. If they look the same, each call of `torch.compile` gets a new backend object.",
                ("SL318",),
            ),
            Case(
                "",
                "Nothing comes after the compile id, because all guards hold. Up to torch 2.8 this is how a changed backend shows. It can "
                "also be a state that is back to normal by the time PyTorch looks for the reason, such as a dispatch mode or a setting of "
                "another thread.",
                ("SL318",),
            ),
        ),
        (
            Template(
                Kind.BACKEND,
                r"BACKEND_MATCH.*?(?:Cached backend: (?P<expected>.*?) \(id=\w+\)\. New backend: (?P<actual>.*?) \(id=\w+\)\..*)?",
            ),
        ),
    ),
    Family(
        "not_a_view",
        "A tensor is no longer a view",
        Topic.TENSORS,
        (
            Case(
                "'NoneType' object has no attribute 'size'",
                "The guard that failed is about the base of a view, and the tensor of this call is no view and has no base.",
                ("SL303",),
            ),
        ),
        (Template(Kind.VIEW, r"'NoneType' object has no attribute '(?:size|stride|storage_offset)'"),),
    ),
    Family(
        "fewer_dims",
        "A tensor is a view of one with fewer dims",
        Topic.TENSORS,
        (
            Case(
                "tuple index out of range",
                "The guard that failed is about a dim that the base of the view does not have: the tensor that it is a view of.",
                ("SL105",),
                "clone() the view before the call, or accept one graph for each kind of view",
            ),
        ),
        (Template(Kind.VIEW, r"tuple index out of range"),),
    ),
    Family(
        "unexpected",
        "PyTorch cannot find the reason",
        Topic.OTHER,
        (
            Case(
                "Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason analysis.",
                "PyTorch checks the guards once more to find the one that failed, and this time all of them hold. Something changed in "
                "between, perhaps in another thread, or an object returns something else each time it is asked.",
                ("SL399",),
            ),
        ),
        (Template(Kind.UNKNOWN, r"Unexpected recompilation.*"),),
    ),
    Family(
        "guard_error",
        "A guard cannot be evaluated",
        Topic.OTHER,
        (
            Case(
                "name 'Trunc' is not defined",
                "The guard itself raised an error when it was checked: PyTorch wrote an expression with a name that does not exist there. "
                "No call passes such a guard, so each one recompiles. This is an error of PyTorch.",
                ("SL399",),
            ),
        ),
        (Template(Kind.UNKNOWN, r"name '\w+' is not defined"),),
    ),
    Family(
        "id",
        "Another object",
        Topic.OBJECTS,
        (
            Case(
                "___check_obj_id(activation.__code__, 140544858757680), type=<class 'code'>",
                "`activation` is a different function from the one that the entry was compiled for. Often the same lambda or inner "
                "function is defined anew in each call.",
                ("SL309",),
            ),
            Case(
                "___check_obj_id(kind, 140497427725536), type=<class 'int'>",
                "The entry is for one particular object, by its address in memory: here, the class `int`. An equal object at another "
                "address does not match. Enum members and built-in functions are guarded in this way, too, and modules in torch 2.4. The "
                "type at the end is that of the object, or, for a class, the class itself. In torch 2.10 it is the object as Python "
                "prints it; before, there is none.",
                ("SL308", "SL311", "SL310"),
            ),
            Case(
                "___check_obj_id(L['use_cache'], 139699067055872)",
                "Before torch 2.8, `True`, `False` and `None` are guarded by their addresses, too.",
                ("SL308", "SL311", "SL322"),
            ),
        ),
        (
            Template(Kind.ID, r"___check_obj_id\((?P<source>.*), (?:(?P<expected>\d+)|\.{3}|…)\)(?:, type=(?P<actual>.*))?"),
            Template(Kind.ID, r"___check_obj_id\((?P<source>[^,()]*)"),  # cut off, as people paste them
        ),
    ),
    Family(
        "type",
        "An object of another type",
        Topic.OBJECTS,
        (
            Case(
                "___check_type_id(items, 94293277447968), type=<class 'list'>",
                "`items` was a list when the entry was compiled, and is now something else, such as a tuple. The type in the text, in "
                "torch 2.10 and later, is the one that the entry requires.",
                ("SL310", "SL322"),
            ),
        ),
        (
            Template(
                Kind.TYPE,
                r"___check_(?:type_id|fake_script_type)\((?P<source>.*), (?:(?P<expected>\d+)|\.{3}|…)\)(?:, type=(?P<actual>.*))?",
            ),
            Template(Kind.TYPE, r"___check_type_id\((?P<source>[^,()]*)"),
            Template(Kind.TYPE, r"isinstance\((?P<source>[^,()]+), (?P<expected>[\w.]+)\)"),
        ),
    ),
    Family(
        "length",
        "A container has another length",
        Topic.CONTAINERS,
        (
            Case(
                "len(layers) == 2",
                "The entry is for a list or tuple of two items. With `args`, this is about `*args`: the number of positional arguments.",
                ("SL313",),
            ),
            Case(
                "len(options) != 2",
                "The entry is for a dict with two keys. Mind the sign: for a dict, PyTorch prints the comparison that was true; "
                "everywhere else, the one that was not.",
                ("SL314",),
            ),
            Case(
                "not cache",
                "`cache` was empty when the entry was compiled, and no longer is. Usually it is filled by the first call.",
                ("SL313",),
            ),
        ),
        (Template(Kind.LENGTH, r"(?:len|(?:set|dict|list|tuple|frozenset)\.__len__)\((?P<source>.*)\) [!=]= (?P<expected>\d+)"),),
    ),
    Family(
        "key",
        "A dict has a key, or no longer has it",
        Topic.CONTAINERS,
        (
            Case(
                "not ___dict_contains('scale', kwargs)",
                "The dict did not have the key when the entry was compiled, and now has it; without `not`, the other way round. Usually "
                "the code asks `if 'scale' in kwargs` or `kwargs.get('scale')`.",
                ("SL314",),
            ),
        ),
        (Template(Kind.HAS, r"(?P<no>not )?___dict_contains\((?P<key>.*), (?P<source>.*?)\)"),),
    ),
    Family(
        "member",
        "A set has an item, or no longer has it",
        Topic.CONTAINERS,
        (
            Case(
                "set.__contains__(active, 3)",
                "The set had the item 3 when the entry was compiled, and no longer has it; with `not`, the other way round.",
                ("SL314",),
            ),
        ),
        (Template(Kind.HAS, r"(?P<no>not )?(?:set|frozenset)\.__contains__\((?P<source>.*?), (?P<key>.*)\)"),),
    ),
    Family(
        "attribute",
        "An object has an attribute, or no longer has it",
        Topic.OBJECTS,
        (
            Case(
                "not hasattr(self, 'cache')",
                "The object had no attribute `cache` when the entry was compiled, and has one now; without `not`, the other way round. "
                "Usually the first call creates it.",
                ("SL320",),
            ),
        ),
        (Template(Kind.HAS_ATTRIBUTE, r"(?P<no>not )?hasattr\((?P<source>.*), '(?P<key>[^']*)'\)(?: == (?:True|False))?"),),
    ),
    Family(
        "getattr",
        "An attribute is gone",
        Topic.OBJECTS,
        (
            Case(
                "getattr failed on source model.cache",
                "The code reads this attribute, and the object of this call does not have it. From torch 2.13 on, the text is `getattr "
                "failed on source model`, without the attribute.",
                ("SL320",),
            ),
        ),
        (Template(Kind.ATTRIBUTES, r"getattr failed on source (?P<source>.*)"),),
    ),
    Family(
        "module",
        "A module was changed, in torch 2.1",
        Topic.OBJECTS,
        (
            Case(
                '__nn_module_guard_0(self, debug_msg="versions(mod=1189643, _parameters=1186941, _buffers=1186943, _modules=1187070)")',
                "Something was assigned to the module after the entry was compiled: an attribute, a parameter or a hook. `train()` and "
                "`eval()` do that, too, even where nothing changes. The numbers are those of the versions of its dicts; later versions "
                "check what the code reads instead.",
                ("SL320",),
            ),
        ),
        (Template(Kind.ATTRIBUTES, r"__nn_module_guard_\d+\((?P<source>.*?)(?:, debug_msg=.*)?\)?"),),
    ),
    Family(
        "closure",
        "A function has another closure or other defaults",
        Topic.OBJECTS,
        (
            Case(
                "ClosureGuardAccessor: Not a function on fn.__closure__",
                "`fn` was a function with a closure when the entry was compiled, and is now one without, or another kind of callable. Up "
                "to torch 2.8 the text is `IndexError on fn.__closure__[0]`.",
                ("SL309",),
            ),
        ),
        (
            Template(Kind.CLOSURE, r"IndexError on (?P<source>.*)\.__closure__\[\d+\]"),
            Template(Kind.CLOSURE, r"\w*(?:Closure|Defaults)GuardAccessor: Not a function on (?P<source>.*?)(?:\.__\w+__)?"),
        ),
    ),
    Family(
        "missing_key",
        "A key is gone",
        Topic.CONTAINERS,
        (
            Case(
                "KeyError on batch['labels']",
                "The code reads this key, and the dict of this call does not have it.",
                ("SL314",),
            ),
        ),
        (Template(Kind.HAS, r"KeyError on (?P<source>.*[^GL])\[(?P<key>[^\[\]]+)\]"),),
    ),
    Family(
        "missing_item",
        "An item is gone",
        Topic.CONTAINERS,
        (
            Case(
                "IndexError on layers[2]",
                "The code reads this item, and the list or tuple of this call is too short to have it.",
                ("SL313",),
            ),
        ),
        (Template(Kind.LENGTH, r"IndexError on (?P<source>.*)\[(?P<index>\d+)\]"),),
    ),
    Family(
        "missing",
        "A variable is gone",
        Topic.OBJECTS,
        (
            Case(
                "KeyError on G['SCALE']",
                "The code uses the global variable `SCALE`, which no longer exists.",
                ("SL320",),
                "define the variable before the first call, and do not delete it",
            ),
        ),
        (Template(Kind.PRESENT, r"(?:KeyError|IndexError) on (?P<source>.*)"),),
    ),
    Family(
        "other_type",
        "Something else is passed in place of a function or a dict",
        Topic.OBJECTS,
        (
            Case(
                "CodeGuardAccessor: Not a function on activation.__code__",
                "The entry is for a Python function, and this call passes another kind of callable: a module, for example, or a built-in "
                "function.",
                ("SL310",),
            ),
            Case(
                "TYPE_MISMATCH(options)",
                "The entry is for a dict, and this call passes an object of another class.",
                ("SL310",),
            ),
        ),
        (
            Template(Kind.TYPE, r"(?:\w+: )?Not an? (?P<expected>function|type|callable)(?: \w+)? on (?P<source>.*?)(?:\.__code__)?"),
            Template(Kind.TYPE, r"TYPE_MISMATCH\((?P<source>.*)\)"),
        ),
    ),
    Family(
        "accessor",
        "What a guard is about cannot be reached",
        Topic.OBJECTS,
        (
            Case(
                "Not a weakref obj",
                "A guard cannot reach what it is about, since an object that it goes through is gone or is of another kind. `not a tensor "
                "- grad field is accessed` is about the `.grad` of what is no longer a tensor.",
                ("SL320",),
                "keep the object alive, and pass one of the same kind in every call",
            ),
        ),
        (Template(Kind.PRESENT, r"(?:Not a weakref|Not a weakref obj|Weakref_GetRef failed|not a tensor - .*)"),),
    ),
    Family(
        "key_order",
        "A dict has other keys, or another order of them",
        Topic.CONTAINERS,
        (
            Case(
                "list(dict.keys(features))[1] == 'height'",
                "The second key of the dict was `'height'` when the entry was compiled. Code that loops over a dict depends on all of its "
                "keys, and on their order.",
                ("SL314",),
            ),
            Case(
                "___dict_const_keys(state) == {'step'}",
                "torch 2.0 to 2.3 compare the keys of a dict that has parameters among them in two parts: constants, and in "
                "`___dict_param_key_ids` the ids of the parameters.",
                ("SL314",),
            ),
        ),
        (
            Template(Kind.KEYS, r"___dict_(?:const_keys|param_key_ids)\((?P<source>.*?)\) == (?P<expected>.*)"),
            Template(Kind.KEYS, r"list\((?:dict\.keys\()?(?P<source>.*?)(?:\.keys\(\))?\)\)?(?:\[\d+\])? == (?P<expected>.*)"),
            Template(Kind.KEYS, r"set\((?P<source>.*?)\.keys\(\)\) == (?P<expected>.*)"),
        ),
    ),
    Family(
        "iterator",
        "A range or an iterator differs",
        Topic.CONTAINERS,
        (
            Case(
                "___normalize_range_iter(steps) == (0, 3, 1)",
                "`steps` was `range(0, 3, 1)` when the entry was compiled, or an iterator over it.",
                ("SL313",),
            ),
            Case(
                "___tuple_iterator_len(rest) == 2",
                "An iterator over a tuple had two items left when the entry was compiled.",
                ("SL313",),
            ),
            Case(
                "___normalize_count_iter(counter) == (4, 1)",
                "`counter` is an `itertools.count` that stood at 4, with steps of 1. If each call advances it, each call recompiles.",
                ("SL311",),
            ),
        ),
        (
            Template(Kind.RANGE, r"___normalize_range_iter\((?P<source>.*)\) == (?P<expected>.*)"),
            Template(Kind.LENGTH, r"___tuple_iterator_len\((?P<source>.*)\) == (?P<expected>.*)"),
            Template(Kind.VALUE, r"___normalize_count_iter\((?P<source>.*)\) == (?P<expected>.*)"),
        ),
    ),
    Family(
        "value",
        "A value differs",
        Topic.VALUES,
        (
            Case(
                "start == 3  # return x[start:]  # train.py:6 in forward",
                "The int `start` was 3 when the entry was compiled; its value in this call is not in the text. PyTorch recompiles once "
                "with a symbol in its place. If every new value recompiles, the code needs the exact value or branches on it. A float or "
                "a tensor in place of the int shows in the same way.",
                ("SL102", "SL201", "SL202", "SL204", "SL310"),
            ),
            Case(
                f"self.step == 2  # return x * self.step  # train.py:14 in forward {_STATIC_INT}",
                "The int is an attribute of a module, and these are static by default. A counter that goes up in each call recompiles in "
                "each call.",
                ("SL315",),
            ),
            Case(
                "self.param_groups[0]['lr'] == 0.001",
                "A float, which PyTorch treats as a constant in most places: a learning rate that a scheduler changes, a temperature, a "
                "loss scale.",
                ("SL312",),
            ),
            Case(
                "mode == 'train'",
                "A string, a bool, a dtype or another constant has another value. Each value needs its own graph.",
                ("SL311",),
            ),
            Case(
                "mask is None",
                "An optional argument was left out when the entry was compiled, and is given now; with `is not None`, the other way round.",
                ("SL322",),
            ),
            Case(
                "self.training == True",
                "The module was in training mode when the entry was compiled, and is now in evaluation mode.",
                ("SL316",),
            ),
            Case(
                'fn.__closure__[0].cell_contents == 4  # return x * k  # train.py:3 in inner (HINT: guard on "k")',
                "The value belongs to a variable of an enclosing function. In torch 2.13 and later the hint names it: `k`.",
                ("SL102", "SL311", "SL312"),
            ),
        ),
    ),
    Family(
        "plain_value",
        "An instance of a subclass of int, float or str differs",
        Topic.VALUES,
        (
            Case(
                "int(level) == 3",
                "`level` is an instance of a subclass of int. PyTorch treats it as a constant, so each value needs its own graph.",
                ("SL311",),
            ),
        ),
        (Template(Kind.PLAIN_VALUE, r"(?:int|float|str|bytes|complex)\((?P<source>\S+)\) == (?P<expected>.*)"),),
    ),
    Family(
        "nan",
        "A float is NaN, or no longer is",
        Topic.VALUES,
        (
            Case(
                "(type(scale) is float and __math_isnan(scale))",
                "The float was NaN when the entry was compiled, and no longer is.",
                ("SL312",),
            ),
            Case(
                "not math.isnan(scale)  # implicit guard for float input due to NaN specialization in the framework",
                "The float was a number when the entry was compiled, and is now NaN.",
                ("SL312",),
            ),
        ),
        (
            Template(
                Kind.NAN,
                r"(?:\(type\(.*\) is \w+ and )?__(?:math|numpy)_isnan\((?P<source>.*?)\)\)?|not math\.isnan\((?P<source2>.*)\)",
            ),
        ),
    ),
    Family(
        "backward_sizes",
        "Compiled autograd: sizes in the backward pass changed",
        Topic.SIZES,
        (
            Case(
                "Cache miss due to 3 changed tensor shapes (total of 3): sizes[0], sizes[1], sizes[2]",
                "Compiled autograd captured the backward pass again: 3 of the 3 sizes that it depends on are not those of the capture "
                "before. It treats each as a constant until it changes, unless `torch.compile` was called with `dynamic=True`, or the "
                "input of the forward pass is marked. Written by `TORCH_LOGS=compiled_autograd_verbose`.",
                ("SL101",),
            ),
            Case(
                "Cache miss due to dynamic shapes: collected size idx 2 of SumBackward0 (NodeCall 1)",
                "The same in torch 2.5 and older, one line for each size: the third size that the node `SumBackward0` needs.",
                ("SL101",),
            ),
        ),
        (
            Template(
                Kind.BACKWARD_SIZES,
                r"Cache miss due to (?:\d+ changed tensor shapes? \(total of \d+\): .*|dynamic shapes: collected size idx .*)",
            ),
        ),
    ),
    Family(
        "autograd_graph",
        "Compiled autograd: another autograd graph",
        Topic.OBJECTS,
        (
            Case(
                "Cache miss due to new autograd node: MulBackward0 (NodeCall 2) with key size 71, previous key sizes=[]",
                "The backward pass has another structure than those that were captured before: its third node, `MulBackward0`, is new "
                "there. Another operation was called in the forward pass, a hook was registered, or another loss or other parameters were "
                "used.",
                ("SL324",),
            ),
        ),
        (Template(Kind.AUTOGRAD_GRAPH, r"Cache miss due to new autograd node: .*"),),
    ),
    Family(
        "other",
        "Any other guard",
        Topic.OTHER,
        (
            Case(
                "___check_current_scope(L['self'])",
                "PyTorch prints the guard itself: an expression that was true when the entry was compiled, and no longer is.",
                ("SL399",),
            ),
        ),
    ),
)
