"""Recompile reasons: every family, in the wording of each version."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_text import reason_list
from recorded import RECORDED, report_of

from shapelog.reading.payloads.reason_families import FAMILIES
from shapelog.reading.payloads.recompile_reasons import Reason, parse, split, split_entry

KEYS, META = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)", "DispatchKeySet(CPU, BackendSelect)"
FORCED = (
    ". Guard failed on a parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False "
    "to allow dynamism on parameters."
)
BACKEND = (
    "BACKEND_MATCH failure: torch.compile detected different backend callables. If this is unexpected, wrap your backend in "
    "functools.partial (or reuse the same cached backend) to avoid creating a new backend function each time. More details: "
    "https://github.com/pytorch/pytorch/issues/168373"
)
BACKEND_213 = (
    "BACKEND_MATCH failure: torch.compile detected different backend callables. Cached backend: _TorchCompileWrapper(compiler='be1', "
    "dynamic=None) (id=0x7f7f95182a10). New backend: _TorchCompileWrapper(compiler='be2', dynamic=None) (id=0x7f7f990adf50). If this is "
    "unexpected, wrap your backend in functools.partial"
)
STATIC_INT = (
    "torch.compile considers integer attributes of the nn.Module to be static. If you are observing recompilation, you might want to make "
    "this integer dynamic using torch._dynamo.config.allow_unspec_int_on_nn_module = True, or convert this integer into a tensor."
)
ZERO_ONE = (
    "(user code shown is first use of this value--the guard itself is not due user code but due to 0/1 specialization in the framework; "
    "to avoid specialization try torch._dynamo.mark_unbacked(tensor, dim))"
)
DUCK = (
    "duck sizing added this equality because these variables had the same size 4 (to avoid this specialization, set "
    "torch.fx.experimental._config.use_duck_shape = False)"
)
X_MORE = "versions/scripts/x_more_reasons.py"

# version, text, (family, source, property, expected, actual)
KNOWN = [
    ("2.6", "tensor 'L['x']' size mismatch at index 0. expected 10, actual 20", ("size", "L['x']", "size[0]", "10", "20")),
    ("2.8 to 2.15", "tensor 'x' size mismatch at index 0. expected 10, actual 20", ("size", "x", "size[0]", "10", "20")),
    ("2.6", "tensor 'L['x']' stride mismatch at index 0. expected 4, actual 1", ("stride", "L['x']", "stride[0]", "4", "1")),
    ("2.8 to 2.15", "tensor 'x' stride mismatch at index 0. expected 4, actual 1", ("stride", "x", "stride[0]", "4", "1")),
    ("2.6", "tensor 'L['x']' rank mismatch. expected 2, actual 3", ("rank", "L['x']", "rank", "2", "3")),
    ("2.8 to 2.15", "tensor 'x' rank mismatch. expected 2, actual 3", ("rank", "x", "rank", "2", "3")),
    ("2.6", "tensor 'L['x']' dtype mismatch. expected Float, actual Double", ("dtype", "L['x']", "dtype", "Float", "Double")),
    ("2.8 to 2.15", "tensor 'x' dtype mismatch. expected Float, actual Double", ("dtype", "x", "dtype", "Float", "Double")),
    ("2.6", "tensor 'L['x']' requires_grad mismatch. expected requires_grad=0", ("requires_grad", "L['x']", "requires_grad", "0", "")),
    ("2.8 to 2.15", "tensor 'x' requires_grad mismatch. expected requires_grad=1", ("requires_grad", "x", "requires_grad", "1", "")),
    (
        "2.6",
        f"tensor 'L['x']' dispatch key set mismatch. expected {KEYS}, actual {META}",
        ("dispatch_keys", "L['x']", "dispatch keys", KEYS, META),
    ),
    (
        "2.8 to 2.15",
        f"tensor 'x' dispatch key set mismatch. expected {KEYS}, actual {META}",
        ("dispatch_keys", "x", "dispatch keys", KEYS, META),
    ),
    ("all", "tensor 'x' Tensor device index mismatch. Expected device index to be 0, actual 1", ("device", "x", "device", "0", "1")),
    (
        "2.6",
        "expected type of 'L['x']' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
        ("tensor_type", "L['x']", "type", "a tensor type", "<class 'torch.nn.parameter.Parameter'>"),
    ),
    (
        "2.8 to 2.13",
        "expected type of 'x' to be a tensor type, ' but found <class 'int'>",
        ("tensor_type", "x", "type", "a tensor type", "<class 'int'>"),
    ),
    (
        "2.15",
        "expected type of 'x' to be <class 'torch.Tensor'>, but found <class 'torch.nn.parameter.Parameter'>",
        ("tensor_type", "x", "type", "<class 'torch.Tensor'>", "<class 'torch.nn.parameter.Parameter'>"),
    ),
    ("2.6, 2.8: another backend", "", ("backend", "", "backend", "", "")),
    ("2.10", BACKEND, ("backend", "", "backend", "", "")),
    (
        "2.13, 2.15",
        BACKEND_213,
        ("backend", "", "backend", *[f"_TorchCompileWrapper(compiler='be{number}', dynamic=None)" for number in (1, 2)]),
    ),
    (
        "2.13, 2.15",
        "_has_dynamo_dim_marking is present on runtime tensor but was absent at compile time",
        ("marking", "", "marking", "", ""),
    ),
    (
        "2.6 to 2.10",
        "hasattr(L['x'], '_dynamo_dynamic_indices') == False",
        ("marking", "L['x']", "marking _dynamo_dynamic_indices", "False", ""),
    ),
    (
        "2.6 to 2.10",
        "((L['x']._dynamo_dynamic_indices.issubset({0})) if hasattr(L['x'], '_dynamo_dynamic_indices') else True)",
        ("marking", "", "marking", "", ""),
    ),
    (
        "2.13",
        "_dynamo_dynamic_indices not a subset: runtime {1} is not a subset of compiled {0}",
        ("marking", "", "marking _dynamo_dynamic_indices", "True", ""),
    ),
    (
        "2.13",
        "_dynamo_static_indices should be absent but is present on runtime tensor",
        ("marking", "", "marking _dynamo_static_indices", "False", ""),
    ),
    ("2.6", "L['x'] is L['y']                                            ", ("aliasing", "L['x']", "aliasing", "L['y']", "")),
    ("2.8", "x is y                                            ", ("aliasing", "x", "aliasing", "y", "")),
    (
        "2.10",
        "x is y                                              # def two(x, y): return x + y  # scripts/x_more_reasons.py:53 in two",
        ("aliasing", "x", "aliasing", "y", ""),
    ),
    (
        "2.13, 2.15",
        f"x is y                       # def two(x, y): return x + y  # {X_MORE}:53 in two",
        ("aliasing", "x", "aliasing", "y", ""),
    ),
    ("2.6", "Duplicate tensors found: [\"L['x']\", \"L['y']\"]", ("duplicate", "", "aliasing", "", "[\"L['x']\", \"L['y']\"]")),
    ("2.8 to 2.15", 'Duplicate tensors found: ["x", "y"]', ("duplicate", "", "aliasing", "", '["x", "y"]')),
    ("2.15", "NO_TENSOR_ALIASING guard failed", ("aliasing", "", "aliasing", "", "")),
    ("2.15", "NO_TENSOR_ALIASING guard source(s) no longer evaluate: x", ("aliasing", "", "aliasing", "", "")),
    ("all", "check_overlapping(overlapping=[x], non_overlapping=[y])", ("aliasing", "", "aliasing", "", "")),
    ("2.6 to 2.15", "GLOBAL_STATE changed: grad_mode ", ("global_state", "", "global state", "grad_mode", "")),
    ("2.8, 2.10", "GLOBAL_STATE changed: grad_mode autocast ", ("global_state", "", "global state", "grad_mode autocast", "")),
    ("2.13, 2.15", "GLOBAL_STATE changed: autocast(cpu)_enabled ", ("global_state", "", "global state", "autocast(cpu)_enabled", "")),
    ("2.6 to 2.15", "___check_torch_function_mode_stack()", ("function_mode", "", "function modes", "", "")),
    ("all", "utils_device.CURRENT_DEVICE == None", ("default_device", "", "default device", "None", "")),
    (
        "2.8 and later",
        "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None",
        ("saved_tensor_hooks", "", "saved tensor hooks", "", ""),
    ),
    ("all", "torch._functorch.pyfunctorch.compare_functorch_state([])", ("functorch", "", "functorch state", "[]", "")),
    ("all", "torch.autograd.forward_ad._current_level == -1", ("functorch", "", "functorch state", "-1", "")),
    ("2.13", "___check_metadata_140057847825888_c0/0                  ", ("metadata", "", "metadata", "", "")),
    ("2.13", "__dtensor_spec_140057847825888                          ", ("metadata", "", "metadata", "", "")),
    ("2.13", "___check_opaque_guard_fn_140057847825888_c0/0           ", ("own_guard", "", "metadata", "", "")),
    (
        "2.13",
        "___check_fake_script_type(q, 94807064254928), type=<class 'app.Queue'>",
        ("type", "q", "type", "94807064254928", "<class 'app.Queue'>"),
    ),
    ("2.6", "Cache line invalidated because L['fn'].__code__ got deallocated", ("died", "L['fn'].__code__", "lifetime", "", "")),
    ("2.8 to 2.15", "Cache line invalidated because L['k'] got deallocated", ("died", "L['k']", "lifetime", "", "")),
    ("all, cut by a terminal", "Cache line invalidate$ because L['k'] got deallocated", ("died", "L['k']", "lifetime", "", "")),
    ("2.6", "___check_type_id(L['xs'], 139791736075072)                  ", ("type", "L['xs']", "type", "139791736075072", "")),
    ("2.8", "___check_type_id(x, 94807064254928)                    ", ("type", "x", "type", "94807064254928", "")),
    (
        "2.10",
        "___check_type_id(x, 93971609242768), type=<class '__main__.Sub'>  # return x * 2  # scripts/e_tensor_props.py:6 in f",
        ("type", "x", "type", "93971609242768", "<class '__main__.Sub'>"),
    ),
    (
        "2.13, 2.15",
        "___check_type_id(x, 94293277447968), type=<class '__main__.Sub'>  # return x * 2  # versions/scripts/e_tensor_props.py:6 in f "
        "(HINT: type Sub)",
        ("type", "x", "type", "94293277447968", "<class '__main__.Sub'>"),
    ),
    ("2.6", "___check_obj_id(L['self'].flag, 139699067055872)            ", ("id", "L['self'].flag", "id", "139699067055872", "")),
    ("2.8", "___check_obj_id(e, 140383226267024)                    ", ("id", "e", "id", "140383226267024", "")),
    (
        "2.10",
        "___check_obj_id(e, 140539940407888), type=<E.A: 1>       # if e is E.A: x = x - 1  # scripts/d_module.py:63 in fk",
        ("id", "e", "id", "140539940407888", "<E.A: 1>"),
    ),
    (
        "2.13, 2.15",
        "___check_obj_id(e, 140711141062160), type=<class '__main__.E'>  # if e is E.A: x = x - 1  # versions/scripts/d_module.py:63 in fk",
        ("id", "e", "id", "140711141062160", "<class '__main__.E'>"),
    ),
    ("2.8", "not ___dict_contains('k', d)                           ", ("key", "d", "has 'k'", "False", "")),
    (
        "2.10",
        "not ___dict_contains('k', d)      # def dget(d, x): return x + d.get(\"k\", 5)  # scripts/x.py:20 in dget",
        ("key", "d", "has 'k'", "False", ""),
    ),
    (
        "2.15",
        f"not ___dict_contains('k', d)      # def dget(d, x): return x + d.get(\"k\", 5)  # {X_MORE}:20 in dget (HINT: Dictionary d must "
        "not contain key 'k'; Dynamo specialized the compiled code on this key being absent.)",
        ("key", "d", "has 'k'", "False", ""),
    ),
    ("2.13", "___dict_contains('k', d)", ("key", "d", "has 'k'", "True", "")),
    (
        "2.10",
        "set.__contains__(s, 3)             # def sin(s, x): return x + 1 if 3 in s else x + 2  # scripts/x.py:24 in sin",
        ("member", "s", "has 3", "True", ""),
    ),
    ("2.13", f"not set.__contains__(s, 3)    # def sin(s, x): return x  # {X_MORE}:24 in sin", ("member", "s", "has 3", "False", "")),
    (
        "2.15",
        f"not set.__contains__(s, 3)     # def sin(s, x): return x  # {X_MORE}:24 in sin (HINT: Set s must not contain item 3; Dynamo "
        "specialized the compiled code on this item being absent.)",
        ("member", "s", "has 3", "False", ""),
    ),
    ("2.6", "KeyError on L['d']['a']", ("missing_key", "L['d']", "has 'a'", "True", "")),
    ("2.8 to 2.15", "KeyError on G['GX']", ("missing", "G['GX']", "present", "", "")),
    ("2.6", "IndexError on L['fn'].__closure__[0]", ("closure", "L['fn']", "closure", "", "")),
    ("2.8", "IndexError on fn.__closure__[0]", ("closure", "fn", "closure", "", "")),
    ("all", "IndexError on xs[2]", ("missing_item", "xs", "len", "at least 3", "")),
    ("2.13", "CodeGuardAccessor: Not a function on act.__code__", ("other_type", "act", "type", "function", "")),
    ("2.13", "FuncKwDefaultsGuardAccessor: Not a function on fn.__kwdefaults__", ("closure", "fn", "closure", "", "")),
    ("2.6", "getattr failed on source L['o'].v", ("getattr", "L['o'].v", "attributes", "", "")),
    ("2.8, 2.10", "getattr failed on source o.v", ("getattr", "o.v", "attributes", "", "")),
    ("2.13, 2.15", "getattr failed on source o", ("getattr", "o", "attributes", "", "")),
    (
        "2.1",
        "__nn_module_guard_0(L['self'], debug_msg=\"versions(mod=118, _parameters=9)\")",
        ("module", "L['self']", "attributes", "", ""),
    ),
    ("all", "L['self'].step ==", ("value", "L['self'].step", "value", "", "")),
    ("2.10 to 2.15", "ClosureGuardAccessor: Not a function on fn.__closure__", ("closure", "fn", "closure", "", "")),
    ("2.13", "'NoneType' object has no attribute 'size'", ("not_a_view", "", "view", "", "")),
    ("2.13", "tuple index out of range", ("fewer_dims", "", "view", "", "")),
    ("all", "Not a weakref obj", ("accessor", "", "present", "", "")),
    ("all", "TYPE_MISMATCH(d)", ("other_type", "d", "type", "", "")),
    ("all", "not a tensor - grad field is accessed x", ("accessor", "", "present", "", "")),
    ("2.6", "len(L['d']) != 2", ("length", "L['d']", "len", "2", "")),
    ("2.8 to 2.15", "len(d) != 2", ("length", "d", "len", "2", "")),
    ("2.6", "len(L['self'].sizes) == 2                                   ", ("length", "L['self'].sizes", "len", "2", "")),
    ("2.8", "len(self.sizes) == 2                                   ", ("length", "self.sizes", "len", "2", "")),
    (
        "2.10 to 2.15",
        'len(self.sizes) == 2           # x = x * self.k + self.cfg["alpha"] + self.sizes[0]  # scripts/d_module.py:20 in forward',
        ("length", "self.sizes", "len", "2", ""),
    ),
    ("2.15", "set.__len__(s) == 2", ("length", "s", "len", "2", "")),
    ("all", "not xs", ("length", "xs", "len", "0", "")),
    ("2.6", "list(L['d'].keys())[1] == 'b'                               ", ("key_order", "L['d']", "keys", "'b'", "")),
    ("2.8", "list(dict.keys(d))[1] == 'b'                           ", ("key_order", "d", "keys", "'b'", "")),
    (
        "2.10 to 2.15",
        "list(dict.keys(d))[1] == 'b'      # for k in d: r = r + d[k]  # scripts/m_python_state.py:13 in fd",
        ("key_order", "d", "keys", "'b'", ""),
    ),
    ("all", "list(dict.keys(d)) == ['a', 'b']", ("key_order", "d", "keys", "['a', 'b']", "")),
    ("2.6", "not hasattr(L['o'], 'zz')                                   ", ("attribute", "L['o']", "has attribute zz", "False", "")),
    ("2.8", "not hasattr(o, 'zz')                                   ", ("attribute", "o", "has attribute zz", "False", "")),
    (
        "2.10 to 2.15",
        "not hasattr(o, 'zz')       # return x + 1 if hasattr(o, \"zz\") else x + 2  # scripts/m.py:99 in ha",
        ("attribute", "o", "has attribute zz", "False", ""),
    ),
    ("2.4, 2.8", "__math_isnan(s)", ("nan", "s", "nan", "", "")),
    (
        "2.10 to 2.15",
        "(type(s) is float and __math_isnan(s))              # return x * s  # scripts/p_floats_numpy.py:6 in f",
        ("nan", "s", "nan", "", ""),
    ),
    (
        "2.13, 2.15",
        "not math.isnan(s)  # implicit guard for float input due to NaN specialization in the framework",
        ("nan", "s", "nan", "", ""),
    ),
    ("2.6", "___normalize_range_iter(L['i']) == (0, 3, 1)                ", ("iterator", "L['i']", "range", "(0, 3, 1)", "")),
    ("2.8", "___normalize_range_iter(i) == (0, 3, 1)                ", ("iterator", "i", "range", "(0, 3, 1)", "")),
    (
        "2.10 to 2.15",
        f"___normalize_range_iter(i) == (0, 3, 1)           # for k in i: x = x + k  # {X_MORE}:86 in it",
        ("iterator", "i", "range", "(0, 3, 1)", ""),
    ),
    ("all", "___tuple_iterator_len(i) == 2", ("iterator", "i", "len", "2", "")),
    (
        "2.6",
        "L['x'].size()[0] <= 30  # if x.size()[0] <= 30:  # scripts/b.py:8 in g (_dynamo/variables/tensor.py:1201 in evaluate_expr)",
        ("shape", "", "shape", "L['x'].size()[0] <= 30", ""),
    ),
    (
        "2.8 to 2.15",
        f"2 <= x.size()[0] <= 30  # if x.size()[0] == 10:  # scripts/b.py:6 in g {ZERO_ONE} and if x:  # scripts/b.py:8 in g",
        ("shape", "", "shape", "2 <= x.size()[0] <= 30", ""),
    ),
    ("2.13", "(x.size()[0] % 2) == 0  # assert x  # app.py:3 in f", ("shape", "", "shape", "(x.size()[0] % 2) == 0", "")),
    ("2.13", f"y.size()[0] == x.size()[0]  # {DUCK}", ("shape", "", "shape", "y.size()[0] == x.size()[0]", "")),
    ("2.13", "k != 1  # (unknown var s17, please file a bug)", ("shape", "", "shape", "k != 1", "")),
    ("2.13", "x.stride()[0] >= x.stride()[1]", ("shape", "", "shape", "x.stride()[0] >= x.stride()[1]", "")),
    ("2.6", "L['m'] == 3                                                 ", ("value", "L['m']", "value", "3", "")),
    ("2.8", "m == 3                                                 ", ("value", "m", "value", "3", "")),
    (
        "2.10 to 2.15",
        "m == 3                           # return x * x.size()[0] * m  # scripts/c_int_arg.py:5 in f",
        ("value", "m", "value", "3", ""),
    ),
    ("2.13", "int(level) == 3", ("plain_value", "level", "plain value", "3", "")),
    ("2.8 and later", "b == True", ("value", "b", "value", "True", "")),
    ("all", "s == 'a # b'     # if s:  # app.py:3 in f", ("value", "s", "value", "'a # b'", "")),
    ("all", "s == 'it < 3'", ("value", "s", "value", "'it < 3'", "")),
    ("all", "d == torch.float32", ("value", "d", "value", "torch.float32", "")),
    ("2.8", "n is None                                              ", ("value", "n", "value", "None", "")),
    (
        "2.10 to 2.15",
        "n is None                  # if n is not None: x = x * n  # scripts/d_module.py:62 in fk",
        ("value", "n", "value", "None", ""),
    ),
    (
        "2.13",
        'fn.__closure__[0].cell_contents == 1  # return x * k  # app.py:3 in g (HINT: guard on "k")',
        ("value", "fn.__closure__[0].cell_contents", "value", "1", ""),
    ),
    (
        "2.8 and later",
        f"self.k == 2          # return x * self.k  # app.py:9 in forward (HINT: {STATIC_INT})",
        ("value", "self.k", "value", "2", ""),
    ),
    (
        "2.10 and later",
        "Unexpected recompilation: runtime guards failed even though they passed during recompilation-reason analysis.",
        ("unexpected", "", "", "", ""),
    ),
    ("2.2 and later", "name 'Trunc' is not defined", ("guard_error", "", "", "", "")),
    (
        "2.6 and later",
        "Cache miss due to 7 changed tensor shapes (total of 7): sizes[0], sizes[1]",
        ("backward_sizes", "", "sizes in the backward pass", "", ""),
    ),
    (
        "2.3 and later",
        "Cache miss due to new autograd node: MulBackward0 (NodeCall 2) with key size 71, previous key sizes=[]",
        ("autograd_graph", "", "autograd graph", "", ""),
    ),
    ("2.4 and older", "___guarded_code.valid", ("died", "", "lifetime", "", "")),
    (
        "2.0",
        "Object 140487837021376 of type <class '__main__.Toy'> is weakref'd by this code, but has been finalized",
        ("died", "__main__.Toy", "lifetime", "", ""),
    ),
    ("unknown version", "___check_opaque_guard_fn_3", ("other", "", "", "___check_opaque_guard_fn_3", "")),
]


@pytest.mark.parametrize(("version", "text", "parsed"), KNOWN)
def test_a_reason_is_parsed(version: str, text: str, parsed: tuple[str, ...]) -> None:
    found = parse(f"0/0: {text}")
    assert (found.family, found.source, str(found.prop), found.expected, found.actual) == parsed
    assert found.entry == "0/0"
    assert not found.is_parameter


def test_every_family_is_among_them() -> None:
    assert {parsed[0] for _, _, parsed in KNOWN} == {family.name for family in FAMILIES}


@pytest.mark.parametrize("source", ["L['self']._modules['lin']._parameters['weight']", "self.lin.weight"])
def test_a_parameter_is_recognized_by_the_advice_after_it(source: str) -> None:
    found = parse(f"0/1: tensor '{source}' size mismatch at index 1. expected 8, actual 9{FORCED}")
    assert (found.family, found.source, str(found.prop), found.expected, found.actual) == ("size", source, "size[1]", "8", "9")
    assert found.is_parameter


@pytest.mark.parametrize(
    ("text", "entry", "rest"),
    [
        ("0/1: m == 3", "0/1", "m == 3"),
        ("!0/12/3: m == 3", "!0/12/3", "m == 3"),
        ("0/0: ", "0/0", ""),
        ("0/0:", "0/0", ""),
        ("m == 3", "", "m == 3"),
        ("", "", ""),
    ],
)
def test_a_reason_starts_with_its_entry(text: str, entry: str, rest: str) -> None:
    assert split_entry(text) == (entry, rest)


def test_one_reason_is_bare_text_in_2_13_and_a_list_before() -> None:
    text = "0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20"
    assert split(text) == [text]
    assert split("[\n" + json.dumps(text) + "\n]") == [text]


def test_several_reasons_are_a_list_in_their_order() -> None:
    texts = ("0/1: m == 4", '0/0: m == 3  # "[\n')
    assert split(reason_list(texts)) == list(texts)


def test_bare_text_that_begins_like_a_list_is_one_reason() -> None:
    assert split("[not json]") == ["[not json]"]


@pytest.mark.parametrize("payload", ["", "  \n", "[\n\n]"])
def test_an_empty_payload_holds_no_reason(payload: str) -> None:
    assert split(payload) == []


def test_the_place_and_its_code_come_from_the_user_stack() -> None:
    found = parse(
        "0/0: self.step == 2   # return x * self.step  # app/model.py:14 in forward\nUser stack trace:\n"
        '  File "/app/train.py", line 30, in step\n    model(x)\n  File "/app/model.py", line 14, in forward\n    return x * self.step\n'
    )
    assert found.place is not None
    assert (found.place.file, found.place.line, found.place.name, found.place.code) == (
        "/app/model.py",
        14,
        "forward",
        "return x * self.step",
    )
    assert found.code == "self.step == 2"
    assert "User stack" not in found.text


def test_without_a_stack_the_place_comes_from_the_comment() -> None:
    found = parse("0/0: m == 3      # return x * m  # scripts/c_int_arg.py:5 in f")
    assert found.place is not None
    assert (str(found.place), found.place.code) == ("scripts/c_int_arg.py:5", "return x * m")
    assert parse("0/0: GLOBAL_STATE changed: grad_mode ").place is None


def test_a_string_that_looks_like_another_reason_stays_a_string() -> None:
    found = parse("0/3: s == 'it\\'s L[\\'x\\'] \"q\" ; 0/1: '")
    assert (found.entry, found.family, found.source) == ("0/3", "value", "s")


@pytest.mark.parametrize("name", RECORDED)
def test_every_reason_of_the_fixtures_is_of_a_known_family(name: str) -> None:
    reasons = [reason for compile in report_of(name).trace.compiles for reason in compile.reasons]
    assert [reason.text for reason in reasons if reason.family == "other" or not reason.entry] == []


PIECES = st.sampled_from(
    [
        "0/0: ",
        "tensor 'x' ",
        "size mismatch at index ",
        "0",
        ". expected ",
        "actual ",
        "\n",
        "User stack trace:",
        "not ",
        "len(",
        ")",
        " == ",
        " is ",
        "___check_obj_id(",
        "L['x']",
        ", type=",
        "(HINT: ",
        "  # ",
        "a.py:3 in f",
        "list(dict.keys(",
        "'",
        '"',
        "__math_isnan(",
        " % ",
        "\ud800",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join))
def test_any_text_is_a_reason(text: str) -> None:
    found = parse(text)
    assert isinstance(found, Reason)
    assert found.family
    assert all(isinstance(item, str) for item in split(text))


@pytest.mark.parametrize("text", ["local 'x' shape[1] == 64", "tensor 'x' device == cuda:0", "the loss is nan", "number of tokens == 3"])
def test_words_without_an_operator_between_them_are_no_source(text: str) -> None:
    """A person or a model wrote them, not PyTorch."""
    assert parse(text).family == "other"


@pytest.mark.parametrize("source", ["x['a b']", "f(x, y)", "(a if b else c)", "self.a[0].b", "not x"])
def test_blanks_in_an_item_or_around_an_operator_are_in_sources(source: str) -> None:
    assert (parse(f"{source} == 3").family, str(parse(f"{source} == 3").source)) == ("value", source)


def test_a_set_that_an_entry_requires_has_its_members_in_order() -> None:
    assert parse("kinds == {'b', 'a'}").expected == "{'a', 'b'}"
