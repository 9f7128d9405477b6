"""The families of recompile reasons: PyTorch's wording of each, 2.4 to 2.15, what it means, and which rules explain what helps.

``recompile_reasons`` reads by this table, and ``docs/recompile-reasons.md`` is written from it. The wording is that of
``torch._C._dynamo.guards`` and ``torch/_dynamo/guards.py``.
"""

from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.properties import Kind


class Group(Enum):
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
    under which such a recompilation is reported, the usual one first.
    """

    example: str
    meaning: str
    rules: tuple[str, ...]


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
    group: Group
    cases: tuple[Case, ...]
    templates: tuple[Template, ...] = ()


_T = r"tensor '(?P<source>.*?)' "
_AT_INDEX = r" mismatch at index (?P<dim>\d+)\. expected (?P<expected>-?\d+), actual (?P<actual>-?\d+)"
_CPU_KEYS = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
_PARAMETER = ". Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False to allow dynamism on parameters."
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
        Group.SIZES,
        (
            Case(
                "tensor 'x' size mismatch at index 0. expected 10, actual 20",
                "Dimension 0 of `x` was 10 when the entry was compiled and is 20 in this call. A size is a constant until it varies; then "
                "PyTorch recompiles with a symbol in its place. If the same dimension recompiles for one size after another, the code "
                "needs the exact value, or `dynamic=False` is set.",
                ("SL101", "SL201", "SL202"),
            ),
            Case(
                "tensor 'x' size mismatch at index 0. expected 8, actual 1",
                "One of the two sizes is 0 or 1, as in the last, incomplete batch of an epoch. PyTorch never uses a symbol for these two.",
                ("SL104",),
            ),
            Case(
                f"tensor 'self.linear.weight' size mismatch at index 0. expected 64, actual 32{_PARAMETER}",
                "The tensor is a parameter, and sizes of parameters are static by default. Usually several layers of different widths run "
                "the same code.",
                ("SL106",),
            ),
        ),
        (Template(Kind.SIZE, _T + "size" + _AT_INDEX),),
    ),
    Family(
        "stride",
        "A tensor has another memory layout",
        Group.SIZES,
        (
            Case(
                "tensor 'x' stride mismatch at index 0. expected 4, actual 1",
                "The sizes fit, but the strides differ: the tensor was transposed, is in channels-last format, or is a slice of a larger "
                "tensor. In torch 2.4 it can also be a size that varies, since the strides of one dimension are checked before the size "
                "of the next.",
                ("SL105",),
            ),
        ),
        (Template(Kind.STRIDE, _T + "strides?" + _AT_INDEX),),
    ),
    Family(
        "rank",
        "A tensor has another number of dimensions",
        Group.SIZES,
        (
            Case(
                "tensor 'x' rank mismatch. expected 2, actual 3",
                "`x` had two dimensions and now has three, as when a batch dimension is sometimes missing. The number of dimensions cannot "
                "be dynamic.",
                ("SL107",),
            ),
        ),
        (Template(Kind.RANK, _T + r"rank mismatch\. expected (?P<expected>\d+), actual (?P<actual>\d+)"),),
    ),
    Family(
        "dtype",
        "A tensor has another dtype",
        Group.TENSORS,
        (
            Case(
                "tensor 'x' dtype mismatch. expected Float, actual Half",
                "The names are those of PyTorch's C++ code: `Float` is float32, `Double` float64, `Half` float16, `Long` int64. Usually "
                "the warm-up ran in another precision, or numbers were read from a file as integers.",
                ("SL301",),
            ),
            Case(
                "tensor '___from_numpy(x)' dtype mismatch. expected Long, actual Float",
                "`___from_numpy(x)` is the tensor that PyTorch makes of a NumPy array `x`. Either the dtype of the array changed, or `x` "
                "is now a tensor.",
                ("SL301", "SL310"),
            ),
        ),
        (Template(Kind.DTYPE, _T + r"dtype mismatch\. expected (?P<expected>\S+), actual (?P<actual>\w+)"),),
    ),
    Family(
        "requires_grad",
        "A tensor requires a gradient, or no longer does",
        Group.TENSORS,
        (
            Case(
                "tensor 'x' requires_grad mismatch. expected requires_grad=0",
                "With 0, the entry is for a tensor that does not require a gradient, and this one does; with 1, the other way round. "
                "Typical of a module that is called with its own output, and of training and evaluation that share code.",
                ("SL302",),
            ),
        ),
        (Template(Kind.REQUIRES_GRAD, _T + r"requires_grad mismatch(?:\. expected requires_grad=(?P<expected>\d))?"),),
    ),
    Family(
        "dispatch_keys",
        "A tensor is of another kind",
        Group.TENSORS,
        (
            Case(
                f"tensor 'x' dispatch key set mismatch. expected {_CPU_KEYS}, actual DispatchKeySet(CPU, BackendSelect)",
                "Look for the keys that only one of the two lists has. Without `ADInplaceOrView` and `Autograd...`, the tensor was created "
                "in inference mode; `Sparse...`, `Nested...`, `Quantized...`, `Conjugate` and `Negative` are other kinds of tensors; "
                "`Python` is a tensor subclass or a dispatch mode, `FuncTorch...` a transform such as vmap.",
                ("SL303",),
            ),
            Case(
                f"tensor 'x' dispatch key set mismatch. expected {_CPU_KEYS}, actual DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView, "
                "AutogradCUDA)",
                "The first key of both lists is the device type: the tensor was on the CPU and is now on a GPU.",
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
        Group.TENSORS,
        (
            Case(
                "tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1",
                "The tensor was on `cuda:0` and is now on `cuda:1`. Another type of device shows as a "
                "[mismatch of dispatch keys](#dispatch_keys).",
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
        Group.TENSORS,
        (
            Case(
                "expected type of 'x' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
                "The entry is for a plain tensor, and this call has a parameter, a subclass of tensors, or a number. The quote in the "
                "middle is a slip in PyTorch; torch 2.15 has `to be <class 'torch.Tensor'>, but found ...`.",
                ("SL310",),
            ),
            Case(
                "expected type of 'mask' to be <class 'torch.Tensor'>, but found <class 'NoneType'>",
                "An optional tensor was given when the entry was compiled, and is left out in this call.",
                ("SL322",),
            ),
        ),
        (Template(Kind.TYPE, r"expected type of '(?P<source>.*?)' to be (?P<expected>.*?),? ?'? but found (?P<actual>.*)"),),
    ),
    Family(
        "global_state",
        "A setting of PyTorch changed",
        Group.STATE,
        (
            Case(
                "GLOBAL_STATE changed: grad_mode",
                "The entry was compiled with gradients enabled and the call runs under `torch.no_grad()`, or the other way round. "
                "Validation between training steps does this, and so does inference mode.",
                ("SL305",),
            ),
            Case(
                "GLOBAL_STATE changed: autocast(cpu)_enabled",
                "`torch.autocast` is on in one of the two and off in the other, or its dtype or its cache differs. Torch 2.8 to 2.10 write "
                "`autocast` alone.",
                ("SL306",),
            ),
            Case(
                "GLOBAL_STATE changed: default_dtype num_threads",
                "Every word is a setting that changed: `default_dtype`, `num_threads`, `deterministic_algorithms`, `allow_tf32`, "
                "`torch_function` and so on. A library often sets one of them after the first call.",
                ("SL307",),
            ),
        ),
        (Template(Kind.GLOBAL_STATE, r"GLOBAL_STATE changed: (?P<expected>.*)|___check_global_state\(\)"),),
    ),
    Family(
        "function_mode",
        "A function mode was entered or left",
        Group.STATE,
        (
            Case(
                "___check_torch_function_mode_stack()",
                "The stack of torch function modes is not the same. The usual mode is a default device: `with torch.device(...)` or "
                "`torch.set_default_device(...)`.",
                ("SL307",),
            ),
        ),
        (Template(Kind.FUNCTION_MODES, r"___check_torch_function_mode_stack\(\)"),),
    ),
    Family(
        "default_device",
        "The default device changed",
        Group.STATE,
        (
            Case(
                "utils_device.CURRENT_DEVICE == None",
                "`torch.set_default_device` was called after the entry was compiled; the value is the default device of the entry.",
                ("SL307",),
            ),
        ),
        (Template(Kind.DEFAULT_DEVICE, r"utils_device\.CURRENT_DEVICE == (?P<expected>.*)"),),
    ),
    Family(
        "saved_tensor_hooks",
        "Hooks for saved tensors changed",
        Group.STATE,
        (
            Case(
                "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None",
                "The call runs under `torch.autograd.graph.saved_tensors_hooks` (offloading of activations, for example) and the entry was "
                "compiled without, or with other hooks.",
                ("SL307",),
            ),
        ),
        (Template(Kind.SAVED_TENSOR_HOOKS, r"torch\._functorch\.aot_autograd\.utils\.top_saved_tensors_hooks.*"),),
    ),
    Family(
        "functorch",
        "The call is inside another transform",
        Group.STATE,
        (
            Case(
                "torch._functorch.pyfunctorch.compare_functorch_state([])",
                "The code is called inside `torch.func.vmap`, `grad` or the like, and was compiled outside, or the other way round. "
                "`torch.autograd.forward_ad._current_level == -1` is the same for forward-mode AD.",
                ("SL307",),
            ),
        ),
        (Template(Kind.FUNCTORCH_STATE, r"torch\._functorch\.pyfunctorch\..*|torch\.autograd\.forward_ad\..*"),),
    ),
    Family(
        "duplicate",
        "Two inputs are now the same tensor",
        Group.TENSORS,
        (
            Case(
                'Duplicate tensors found: ["x", "y"]',
                "The two arguments were different tensors when the entry was compiled, and this call passes one tensor for both.",
                ("SL317",),
            ),
        ),
        (Template(Kind.ALIASING, r"Duplicate tensors? found: (?P<actual>.*)"),),
    ),
    Family(
        "aliasing",
        "Inputs are no longer the same object, or overlap",
        Group.TENSORS,
        (
            Case(
                "x is y",
                "Both were one and the same object when the entry was compiled, and now differ.",
                ("SL317",),
            ),
            Case(
                "check_overlapping(overlapping=[x, y], non_overlapping=[z])",
                "Inputs that are written to share memory in another way than when the entry was compiled. Torch 2.15 also writes "
                "`NO_TENSOR_ALIASING guard failed` for inputs that are now the same tensor.",
                ("SL317",),
            ),
        ),
        (Template(Kind.ALIASING, r"NO_TENSOR_ALIASING .*|check_overlapping\(.*"),),
    ),
    Family(
        "marking",
        "A tensor is marked in another way",
        Group.SIZES,
        (
            Case(
                "_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time",
                "`mark_dynamic`, `maybe_mark_dynamic`, `mark_unbacked` or `mark_static` was called for this tensor and not for the first "
                "one, or for other dimensions. The text does not name the tensor.",
                ("SL321",),
            ),
            Case(
                "hasattr(x, '_dynamo_dynamic_indices') == False",
                "The same in torch 2.4 to 2.10, where `x` was marked after the entry was compiled.",
                ("SL321",),
            ),
        ),
        (
            Template(
                Kind.MARKING,
                r"(?:hasattr\((?P<source>.*), '_dynamo_\w+'\).*|\(\((?:.*)\._dynamo_\w+\.issubset.*|_?\w*dim_marking is .*|_dynamo_\w+ .*|"
                r"\S+ (?:mismatch: expected|not a subset|should be absent).*|.*attribute is absent on runtime tensor.*)",
            ),
        ),
    ),
    Family(
        "died",
        "An object was garbage-collected",
        Group.OBJECTS,
        (
            Case(
                "Cache line invalidated because L['config'] got deallocated",
                "The entry was compiled for this very object. It no longer exists, so the entry is discarded and can never be used again.",
                ("SL319",),
            ),
        ),
        (Template(Kind.LIFETIME, r"Cache line invalidated because (?P<source>.*) got deallocated.*"),),
    ),
    Family(
        "backend",
        "Another backend, or no reason at all",
        Group.OTHER,
        (
            Case(
                _BACKEND_MATCH,
                "All guards hold, but `torch.compile` was called for the same code with another backend, mode or option. Compare the two "
                "backends in the text; if they look the same, a new backend object is made for each call of `torch.compile`.",
                ("SL318",),
            ),
            Case(
                "",
                "Nothing after the compile id: all guards hold. Up to torch 2.8 this is how a changed backend shows. It can also be a "
                "state that is back to what it was when PyTorch looks for the reason, such as a dispatch mode or a setting of another "
                "thread.",
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
        Group.TENSORS,
        (
            Case(
                "'NoneType' object has no attribute 'size'",
                "The guard that failed is about the base of a view, and the tensor of this call is no view and has no base.",
                ("SL303",),
            ),
        ),
        (Template(Kind.UNKNOWN, r"'NoneType' object has no attribute '(?:size|stride|storage_offset)'"),),
    ),
    Family(
        "unexpected",
        "PyTorch cannot find the reason",
        Group.OTHER,
        (
            Case(
                "Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason analysis.",
                "When PyTorch checks the guards once more to find the one that failed, all of them hold. Something changed in between: "
                "another thread, or an object that computes what is asked of it.",
                ("SL399",),
            ),
        ),
        (Template(Kind.UNKNOWN, r"Unexpected recompilation.*"),),
    ),
    Family(
        "id",
        "Another object",
        Group.OBJECTS,
        (
            Case(
                "___check_obj_id(activation.__code__, 140544858757680), type=<class 'code'>",
                "`activation` is another function than the one the entry was compiled for. Often the same lambda or inner function is "
                "defined anew in each call.",
                ("SL309",),
            ),
            Case(
                "___check_obj_id(kind, 140711141062160), type=<class 'type'>",
                "The entry is for one particular object, by its address in memory; here, a class. An equal object at another address does "
                "not match. Modules, enum members and functions of libraries are guarded in this way, too. The type is that of the object "
                "that the entry requires; torch 2.10 prints the object itself, and earlier versions the address alone.",
                ("SL308", "SL311"),
            ),
            Case(
                "___check_obj_id(L['use_cache'], 139699067055872)",
                "Before torch 2.8, `True`, `False` and `None` are also guarded by their addresses.",
                ("SL308", "SL311", "SL322"),
            ),
        ),
        (
            Template(Kind.ID, r"___check_obj_id\((?P<source>.*), (?P<expected>\d+)\)(?:, type=(?P<actual>.*))?"),
            Template(Kind.ID, r"___check_obj_id\((?P<source>[^,()]*)"),  # cut off, as people paste them
        ),
    ),
    Family(
        "type",
        "An object of another type",
        Group.OBJECTS,
        (
            Case(
                "___check_type_id(items, 94293277447968), type=<class 'list'>",
                "`items` was a list when the entry was compiled, and is something else now: a tuple, a number of another type, another "
                "class with the same interface. The type in the text (torch 2.10 and later) is the old one.",
                ("SL310",),
            ),
        ),
        (
            Template(Kind.TYPE, r"___check_type_id\((?P<source>.*), (?P<expected>\d+)\)(?:, type=(?P<actual>.*))?"),
            Template(Kind.TYPE, r"___check_type_id\((?P<source>[^,()]*)"),
        ),
    ),
    Family(
        "length",
        "A container has another length",
        Group.CONTAINERS,
        (
            Case(
                "len(layers) == 2",
                "The entry is for a list or tuple of two items. `args` is that of `*args`: another number of positional arguments.",
                ("SL313",),
            ),
            Case(
                "len(options) != 2",
                "The entry is for a dict with two keys. The sign is not a mistake of yours: for a dict PyTorch prints the comparison that "
                "was true, everywhere else the one that was not.",
                ("SL314",),
            ),
            Case(
                "not cache",
                "`cache` was empty when the entry was compiled, and no longer is. A cache that fills during the first calls is the usual "
                "case.",
                ("SL313",),
            ),
        ),
        (Template(Kind.LENGTH, r"(?:len|(?:set|dict|list|tuple|frozenset)\.__len__)\((?P<source>.*)\) [!=]= (?P<expected>\d+)"),),
    ),
    Family(
        "key",
        "A dict has a key, or no longer has it",
        Group.CONTAINERS,
        (
            Case(
                "not ___dict_contains('scale', kwargs)",
                "The entry is for a dict without the key, and now it is there. Without the `not`, the key was there and now is missing. "
                "Usually the code asks `if 'scale' in kwargs` or `kwargs.get('scale')`.",
                ("SL314",),
            ),
        ),
        (Template(Kind.HAS, r"(?P<no>not )?___dict_contains\((?P<key>.*), (?P<source>.*?)\)"),),
    ),
    Family(
        "member",
        "A set has an item, or no longer has it",
        Group.CONTAINERS,
        (
            Case(
                "set.__contains__(active, 3)",
                "The entry is for a set with the item 3, and now it is gone. With `not` in front, it was not in the set and now is.",
                ("SL314",),
            ),
        ),
        (Template(Kind.HAS, r"(?P<no>not )?(?:set|frozenset)\.__contains__\((?P<source>.*?), (?P<key>.*)\)"),),
    ),
    Family(
        "attribute",
        "An object has an attribute, or no longer has it",
        Group.OBJECTS,
        (
            Case(
                "not hasattr(self, 'cache')",
                "The object had no attribute `cache` when the entry was compiled, and has one now. Typical of attributes that the first "
                "call creates. Without the `not`, the attribute is gone.",
                ("SL320",),
            ),
        ),
        (Template(Kind.HAS_ATTRIBUTE, r"(?P<no>not )?hasattr\((?P<source>.*), '(?P<key>[^']*)'\)(?: == (?:True|False))?"),),
    ),
    Family(
        "getattr",
        "An attribute is gone",
        Group.OBJECTS,
        (
            Case(
                "getattr failed on source model.cache",
                "The code reads this attribute, and it no longer exists. From torch 2.13 on, the text ends with the object (`model`) and "
                "does not name the attribute.",
                ("SL320",),
            ),
        ),
        (Template(Kind.ATTRIBUTES, r"getattr failed on source (?P<source>.*)"),),
    ),
    Family(
        "closure",
        "A function has another closure or other defaults",
        Group.OBJECTS,
        (
            Case(
                "ClosureGuardAccessor: Not a function on fn.__closure__",
                "`fn` was a function with a closure when the entry was compiled. Now it is a function without one, or another kind of "
                "callable. Up to torch 2.8 the text is `IndexError on fn.__closure__[0]`.",
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
        Group.CONTAINERS,
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
        Group.CONTAINERS,
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
        Group.OBJECTS,
        (
            Case(
                "KeyError on G['SCALE']",
                "The code uses the global variable `SCALE`, which was deleted after the entry was compiled.",
                ("SL320",),
            ),
        ),
        (Template(Kind.PRESENT, r"(?:KeyError|IndexError) on (?P<source>.*)"),),
    ),
    Family(
        "other_type",
        "No longer a function, a dict, or the like",
        Group.OBJECTS,
        (
            Case(
                "CodeGuardAccessor: Not a function on activation.__code__",
                "The entry is for a Python function, and this call passes another kind of callable, such as a module or a built-in "
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
        "Something that a guard needs is gone",
        Group.OBJECTS,
        (
            Case(
                "Not a weakref obj",
                "A guard cannot reach what it is about: a weak reference is no longer one, or what it referred to is gone. "
                "`not a tensor - grad field is accessed` is the same for the `.grad` of what is no longer a tensor.",
                ("SL320",),
            ),
        ),
        (Template(Kind.PRESENT, r"(?:Not a weakref|Not a weakref obj|Weakref_GetRef failed|not a tensor - .*)"),),
    ),
    Family(
        "key_order",
        "A dict has other keys, or another order of them",
        Group.CONTAINERS,
        (
            Case(
                "list(dict.keys(features))[1] == 'height'",
                "The second key of the dict was `'height'` when the entry was compiled. Code that loops over a dict depends on all of its "
                "keys and on their order.",
                ("SL314",),
            ),
        ),
        (Template(Kind.KEYS, r"list\((?:dict\.keys\()?(?P<source>.*?)(?:\.keys\(\))?\)\)?(?:\[\d+\])? == (?P<expected>.*)"),),
    ),
    Family(
        "iterator",
        "A range or an iterator is at another place",
        Group.CONTAINERS,
        (
            Case(
                "___normalize_range_iter(steps) == (0, 3, 1)",
                "`steps` is a range or an iterator over one, and was `range(0, 3, 1)` when the entry was compiled.",
                ("SL313",),
            ),
            Case(
                "___tuple_iterator_len(rest) == 2",
                "An iterator over a tuple had two items left.",
                ("SL313",),
            ),
            Case(
                "___normalize_count_iter(counter) == (4, 1)",
                "`counter` is an `itertools.count`, which stood at 4, with a step of 1. A counter that goes on with each call recompiles "
                "in each.",
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
        "plain_value",
        "An instance of a subclass of a number or string has another value",
        Group.VALUES,
        (
            Case(
                "int(level) == 3",
                "`level` is not an int, but an instance of a subclass of it, which PyTorch takes for a constant: each value is a graph of "
                "its own.",
                ("SL311",),
            ),
        ),
        (Template(Kind.PLAIN_VALUE, r"(?:int|float|str|bytes|complex)\((?P<source>\S+)\) == (?P<expected>.*)"),),
    ),
    Family(
        "nan",
        "A float is NaN, or no longer is",
        Group.VALUES,
        (
            Case(
                "(type(scale) is float and __math_isnan(scale))",
                "The float was NaN when the entry was compiled, and now is a number.",
                ("SL312",),
            ),
            Case(
                "not math.isnan(scale)  # implicit guard for float input due to NaN specialization in the framework",
                "The float was a number when the entry was compiled, and now is NaN.",
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
        "shape",
        "A condition on sizes no longer holds",
        Group.SIZES,
        (
            Case(
                "x.size()[0] <= 30  # if x.shape[0] <= 30:  # train.py:8 in forward (_dynamo/variables/tensor.py:2606 in evaluate_expr)",
                "The sizes are symbols already, but the graph is only valid while this condition holds. Usually the code branches on the "
                "size; the comment quotes the line. It can also be an operation that needs it, as in `(x.size()[0] % 8) == 0`. Torch 2.4 "
                "writes `Ne(...)`, `Eq(...)` and `Mod(...)` and does not quote the line.",
                ("SL204",),
            ),
            Case(
                f"2 <= x.size()[0]  # y = x * 2  # train.py:6 in forward {_ZERO_ONE}",
                "The graph is for every size but 0 and 1, and this one is 0 or 1. If the comment quotes two lines, `2 <= x.size()[0] <= "
                "30`, the size may also be above the upper bound, which comes from the second line.",
                ("SL104", "SL204"),
            ),
            Case(
                f"keys.size()[0] == queries.size()[0]  # {_DUCK_SIZING}",
                "Two sizes were the same by chance when the entry was compiled, got one symbol, and now differ. Without a comment about "
                "duck sizing, an operation such as an addition requires that they are the same.",
                ("SL103", "SL204"),
            ),
            Case(
                "x.stride()[0] >= x.stride()[1]",
                "The sizes fit, but the order of the strides does not: the tensor was transposed, or has another memory format.",
                ("SL105",),
            ),
        ),
    ),
    Family(
        "value",
        "A value differs",
        Group.VALUES,
        (
            Case(
                "start == 3  # return x[start:]  # train.py:6 in forward",
                "An int that the code uses was 3 when the entry was compiled; the value of this call is not in the text. PyTorch "
                "recompiles once with a symbol in its place. If it recompiles for one value after another, the code needs the exact value.",
                ("SL102", "SL201", "SL202"),
            ),
            Case(
                f"self.step == 2  # return x * self.step  # train.py:14 in forward {_STATIC_INT}",
                "The int is an attribute of a module, and those are static by default. A counter that goes up in each call recompiles in "
                "each.",
                ("SL315",),
            ),
            Case(
                "self.param_groups[0]['lr'] == 0.001",
                "Floats are constants in most places: a learning rate that a scheduler changes, a temperature, a loss scale.",
                ("SL312",),
            ),
            Case(
                "mode == 'train'",
                "A string, a bool, a dtype or another constant differs. Each value is a graph of its own.",
                ("SL311", "SL310"),
            ),
            Case(
                "mask is None",
                "An optional argument was left out when the entry was compiled, and is given now; with `is not None`, the other way round.",
                ("SL322",),
            ),
            Case(
                "self.training == True",
                "The module was compiled in training mode and is now in evaluation mode, after `model.eval()`.",
                ("SL316",),
            ),
            Case(
                'fn.__closure__[0].cell_contents == 4  # return x * k  # train.py:3 in inner (HINT: guard on "k")',
                "The value is that of a variable of an enclosing function. Torch 2.13 and later name it in the hint: `k`.",
                ("SL102", "SL311", "SL312"),
            ),
        ),
    ),
    Family(
        "other",
        "Any other guard",
        Group.OTHER,
        (
            Case(
                "___check_metadata_140057847825888_c0/0",
                "PyTorch prints the guard as it is: a Python expression that was true when the entry was compiled, and now is not. This "
                "one is about the metadata of a tensor subclass.",
                ("SL399",),
            ),
        ),
    ),
)
