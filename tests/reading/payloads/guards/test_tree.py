"""The guard tree of each torch version: facts, types, shape guards, comments; and the JSON list of old versions."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import RECORDED, compile_of, guards_of, report_of

from shapelog.reading.payloads.guards.comments import UserLine, place_of, split_comment
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Fact, Key, facts_of
from shapelog.reading.payloads.guards.tree import Guard, GuardTree, ShapeGuard, parse_list, parse_tree
from shapelog.reading.payloads.properties import VALUE, Property
from shapelog.reading.payloads.source_names import Source

TREES = {
    "2.4": guards_of(compile_of("real/2.4/a_auto.log.gz", "0/0")),
    "2.6": guards_of(compile_of("real/2.6/w_kill.log.gz", "0/0")),
    "2.13": guards_of(compile_of("lab/batch_varies.log.gz", "0/0")),
    "2.15": guards_of(compile_of("real/2.15/a_auto.log.gz", "0/0")),
}


def tree_of(*lines: str) -> GuardTree:
    return parse_tree("\n".join(["", "TREE_GUARD_MANAGER:", "+- RootGuardManager", *lines, ""]))


def written(facts: Iterable[tuple[Key, Fact]]) -> dict[tuple[str, str], Fact]:
    """Facts by their source and property as reports write them."""
    return {(str(source), str(prop)): value for (source, prop), value in facts}


def known(tree: GuardTree) -> dict[tuple[str, str], Fact]:
    return written(tree.facts.items())


def properties(facts: Iterable[tuple[Property, Fact]]) -> dict[str, Fact]:
    return {str(prop): value for prop, value in facts}


def only(found: GuardTree) -> Guard:
    assert len(found.guards) == 1
    return found.guards[0]


@pytest.mark.parametrize("version", TREES)
def test_every_version_writes_the_tensor_that_it_compiled_for(version: str) -> None:
    facts = known(parse_tree(TREES[version]))
    assert facts["L['x']", "dtype"] == "float32"
    assert facts["L['x']", "requires_grad"] is False
    assert facts["L['x']", "dispatch keys"] == "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
    assert facts["L['x']", "tensor"] == "Tensor"
    assert isinstance(facts["L['x']", "size[0]"], int)
    assert facts["L['x']", "rank"] == sum(1 for source, prop in facts if source == "L['x']" and prop.startswith("size["))
    assert facts["L['x']", "marking _dynamo_dynamic_indices"] is False


@pytest.mark.parametrize("version", TREES)
def test_every_line_of_a_recorded_tree_is_read(version: str) -> None:
    assert set(parse_tree(TREES[version]).unread) <= {"NO_TENSOR_ALIASING"}


@pytest.mark.parametrize("name", RECORDED)
def test_no_leaf_of_a_fixture_is_left_unread(name: str) -> None:
    trees = [compile.guards for compile in report_of(name).trace.compiles]
    assert {text for tree in trees if tree for text in tree.unread} <= {"NO_TENSOR_ALIASING"}


def test_a_static_size_is_a_number_and_a_symbolic_one_is_dynamic() -> None:
    static, dynamic = (compile_of("real/2.4/a_auto.log.gz", label).guards for label in ("0/0", "0/1"))
    assert static is not None
    assert dynamic is not None
    assert known(static)["L['x']", "size[0]"] == 10
    assert static.shapes == ()
    assert known(dynamic)["L['x']", "size[0]"] == DYNAMIC
    assert known(dynamic)["L['x']", "stride[0]"] == 1
    assert [shape.expression for shape in dynamic.shapes] == ["2 <= L['x'].size()[0]"]


def test_types_are_known_from_2_10_on() -> None:
    assert parse_tree(TREES["2.4"]).types == {}
    assert parse_tree(TREES["2.6"]).types == {}
    assert parse_tree(TREES["2.13"]).types["L['x']"] == "torch.Tensor"
    assert parse_tree(TREES["2.13"]).types["L['self']"] == "__main__.MLP"
    assert parse_tree(TREES["2.15"]).types["L['x']"] == "torch.Tensor"


def test_shape_guards_of_2_6_name_the_line_that_made_them() -> None:
    found = compile_of("real/2.6/b_branches.log.gz", "0/1").guards
    assert found is not None
    assert [shape.expression for shape in found.shapes] == ["L['x'].size()[0] != 10", "2 <= L['x'].size()[0]", "L['x'].size()[0] <= 30"]
    places = [place_of(shape.comment) for shape in found.shapes]
    assert [(place.file, place.line, place.name, place.code) for place in places if place] == [
        ("scripts/b_branches.py", 6, "g", "if x.size()[0] == 10:"),
        ("scripts/b_branches.py", 6, "g", "if x.size()[0] == 10:"),
        ("scripts/b_branches.py", 8, "g", "if x.size()[0] <= 30:"),
    ]
    assert "0/1 specialization" in found.shapes[1].comment


def test_guards_that_are_in_every_tree_are_not_shape_guards() -> None:
    found = parse_tree(TREES["2.13"])
    assert found.shapes == ()
    assert any("top_saved_tensors_hooks" in guard.text for guard in found.guards)


def test_2_13_writes_the_global_state_into_the_tree() -> None:
    facts = known(parse_tree(TREES["2.13"]))
    assert facts["", "grad_mode"] is False
    assert facts["", "allow_tf32"] is False
    assert facts["", "autocast cached_enabled"] == "True"
    assert isinstance(facts["", "num_threads"], int)
    assert ("", "grad_mode") not in known(parse_tree(TREES["2.6"]))


def test_the_marks_of_a_tensor_are_read_from_2_13_and_2_15() -> None:
    for version in ("2.13", "2.15"):
        marks = {prop for source, prop in known(parse_tree(TREES[version])) if source == "L['x']" and prop.startswith("marking")}
        assert marks == {f"marking _dynamo_{word}_indices" for word in ("dynamic", "weak_dynamic", "unbacked", "strict_unbacked", "static")}


def test_the_keys_of_a_dict_belong_to_its_manager() -> None:
    found = compile_of("lab/dict_keys.log.gz", "0/0").guards
    assert found is not None
    assert known(found)["list(dict.keys(L['targets']))[0]", "value"] == "'seg'"
    assert known(found)["L['targets']['seg']", "size[0]"] == 6
    assert (found.types["L['targets']"], found.types["L['targets']['seg']"]) == ("dict", "torch.Tensor")


def test_a_key_with_a_comma_and_brackets_stays_one_source() -> None:
    found = compile_of("lab/dict_tuple_keys.log.gz", "0/1").guards
    assert found is not None
    assert known(found)["L['feats'][(0, 'a')]", "size[0]"] == DYNAMIC
    assert known(found)["L['feats'][(0, 'a')]", "size[1]"] == 2
    assert found.types["L['feats'][(0, 'a')]"] == "torch.Tensor"


def test_an_item_has_the_name_that_its_leaf_has_where_its_manager_names_the_place_of_its_key() -> None:
    """Lines of torch 2.13; a key that is a member of an enum has no name of its own there."""
    edges, keys = "L['edges']", "list(dict.keys(L['edges']))"
    inner, inner_keys = f"{edges}[{keys}[0]]", f"list(dict.keys({edges}[{keys}[0]]))"
    lines = [
        f"| +- GuardManager: source={edges}, type=<class 'dict'>",
        "| | +- KeyValueManager pair at index=0",
        f"| | | +- KeyManager: GuardManager: source={keys}[0], type=<class 'tuple'>",
        f"| | | | +- EQUALS_MATCH: {keys}[0] == ('a', 'b')   # def f(edges):",
        f"| | | +- ValueManager: GuardManager: source={inner}, type=<class 'dict'>",
        "| | | | +- KeyValueManager pair at index=0",
        f"| | | | | +- KeyManager: GuardManager: source={inner_keys}[0], type=<class 'torch.dtype'>",
        f"| | | | | | +- EQUALS_MATCH: list(dict.keys({edges}[('a', 'b')]))[0] == torch.float32   # def f(edges):",
        f"| | | | | +- ValueManager: GuardManager: source={inner}[{inner_keys}[0]], type=<class 'int'>",
        f"| | | | | | +- EQUALS_MATCH: {edges}[('a', 'b')][torch.float32] == 3",
        "| | +- KeyValueManager pair at index=1",
        f"| | | +- KeyManager: GuardManager: source={keys}[1], type=<enum 'E'>",
        f"| | | | +- EQUALS_MATCH: {keys}[1] == <E.A: 1>   # def f(edges):",
        f"| | | +- ValueManager: GuardManager: source={edges}[{keys}[1]], type=<class 'int'>",
        f"| | | | +- EQUALS_MATCH: {edges}[{keys}[1]] == 4",
    ]
    tree = parse_tree("TREE_GUARD_MANAGER:\n+- RootGuardManager\n" + "\n".join(lines) + "\n")
    assert tree.facts[Source("L['edges'][('a', 'b')][torch.float32]"), VALUE] == "3"
    assert tree.facts[Source(f"{edges}[{keys}[1]]"), VALUE] == "4"
    assert tree.types[Source("L['edges'][('a', 'b')]")] == "dict"


def test_tensors_that_are_all_different_may_have_commas_in_their_names() -> None:
    names = ["L['edges'][('a', 'b')]", "L['x']", "dict.__getitem__(L['out'], list(dict.keys(L['out']))[0])"]
    tree = parse_tree(f"TREE_GUARD_MANAGER:\n+- RootGuardManager\n| +- NO_TENSOR_ALIASING: check_no_aliasing({', '.join(names)})\n")
    assert tree.distinct == frozenset(map(Source, names))


def test_a_leaf_belongs_to_the_manager_above_it() -> None:
    found = tree_of(
        "| +- GuardManager: source=L['a'], accessed_by=A(a), type=<class 'dict'>, tag_safe=(False, False)",
        "| | +- GuardManager: source=L['a']['k'], accessed_by=B('k'), type=<class 'int'>, tag_safe=(False, False)",
        "| | | +- EQUALS_MATCH: L['a']['k'] == 3",
        "| | +- DICT_LENGTH: len(L['a']) == 1",
        "| +- GuardManager: source=L['b'], accessed_by=A(b), type=<class 'int'>, tag_safe=(False, False)",
        "| | +- EQUALS_MATCH: L['b'] == 4",
    )
    assert known(found) == {("L['a']['k']", "value"): "3", ("L['a']", "len"): 1, ("L['b']", "value"): "4"}
    assert found.by_key[Source("L['b']"), VALUE].text == "L['b'] == 4"


def test_a_hash_in_a_string_constant_is_not_a_comment() -> None:
    found = only(
        tree_of("| +- GuardManager: source=L['s'], accessed_by=A(s)", "| | +- EQUALS_MATCH: L['s'] == 'a # b'  # if s:  # app.py:3 in f")
    )
    assert found.text == "L['s'] == 'a # b'"
    assert written(found.facts) == {("L['s']", "value"): "'a # b'"}
    assert place_of(found.comment) == UserLine("app.py", 3, "f", "if s:")


@pytest.mark.parametrize(
    ("text", "code", "comment"),
    [
        ("L['k'] == 3      # return x * k  # app.py:5 in f", "L['k'] == 3", "return x * k  # app.py:5 in f"),
        ("L['k'] == 3   ", "L['k'] == 3", ""),
        ("L['d']['a # b'] == 3  # line", "L['d']['a # b'] == 3", "line"),
        ("L['s'] == '#'  # line", "L['s'] == '#'", "line"),
        ('L["s"] == "it\'s # one"  # line', 'L["s"] == "it\'s # one"', "line"),
        ("", "", ""),
    ],
)
def test_the_comment_is_cut_off(text: str, code: str, comment: str) -> None:
    assert split_comment(text) == (code, comment)


def test_a_constant_over_several_lines_stays_whole() -> None:
    found = tree_of(
        "| +- GuardManager: source=L['s'], accessed_by=A(s)",
        "| | +- EQUALS_MATCH: L['s'] == array('a",
        "second line",
        "third')",
        "| +- GuardManager: source=L['k'], accessed_by=A(k)",
        "| | +- EQUALS_MATCH: L['k'] == 3",
    )
    assert known(found)["L['s']", "value"] == "array('a\nsecond line\nthird')"
    assert known(found)["L['k']", "value"] == "3"


def test_text_after_the_tree_is_not_part_of_its_last_leaf() -> None:
    found = parse_tree(
        "+- RootGuardManager\n| +- GuardManager: source=L['k'], accessed_by=A\n| | +- EQUALS_MATCH: L['k'] == 3\n\nGuard latency = 67 us\n"
    )
    assert known(found) == {("L['k']", "value"): "3"}


@pytest.mark.parametrize(
    ("leaf", "source", "facts"),
    [
        ("EQUALS_MATCH: L['m'] == 3", "L['m']", {"value": "3"}),
        ("EQUALS_MATCH: L['m'] == 'a'", "L['m']", {"value": "'a'"}),
        ("EQUALS_MATCH: L['m'] == torch.float32", "L['m']", {"value": "torch.float32"}),
        ("EQUALS_MATCH: L['m'] == (1, 2)", "L['m']", {"value": "(1, 2)"}),
        ("NONE_MATCH: L['n'] is None", "L['n']", {"value": "None"}),
        ("TRUE_MATCH: L['b'] == True", "L['b']", {"value": "True"}),
        ("FALSE_MATCH: L['b'] == False", "L['b']", {"value": "False"}),
        ("ID_MATCH: ___check_obj_id(L['o'], 139699067055872)", "L['o']", {"id": "139699067055872"}),
        ("ID_MATCH: ___check_obj_id(L['f'].__code__, 1397), type=<class 'code'>", "L['f'].__code__", {"id": "1397"}),
        ("TYPE_MATCH: ___check_type_id(L['xs'], 139791736075072)", "L['xs']", {"type": "139791736075072"}),
        ("TYPE_MATCH: ___check_type_id(L['xs'], 1397), type=<class 'list'> (HINT: type list)", "L['xs']", {"type": "1397"}),
        ("LENGTH_CHECK: len(L['xs']) == 2", "L['xs']", {"len": 2}),
        ("LENGTH_CHECK: not L['xs']", "L['xs']", {"len": 0}),
        ("LENGTH_CHECK: set.__len__(L['xs']) == 2", "L['xs']", {"len": 2}),
        ("DICT_LENGTH: len(L['d']) == 2", "L['d']", {"len": 2}),
        ("DICT_CONTAINS: ___dict_contains('k', L['d'])", "L['d']", {"has 'k'": True}),
        ("DICT_CONTAINS: not ___dict_contains('k', L['d'])", "L['d']", {"has 'k'": False}),
        ("SET_CONTAINS: not set.__contains__(L['s'], 3)", "L['s']", {"has 3": False}),
        ("NO_HASATTR: hasattr(L['x'], '_dynamo_dynamic_indices') == False", "L['x']", {"marking _dynamo_dynamic_indices": False}),
        ("HASATTR: hasattr(L['o'], 'zz')", "L['o']", {"has attribute zz": True}),
        ("NO_HASATTR: not hasattr(L['o'], 'zz')", "L['o']", {"has attribute zz": False}),
        ("RANGE_ITERATOR_MATCH: ___normalize_range_iter(L['i']) == (0, 3, 1)", "L['i']", {"range": "(0, 3, 1)"}),
        ("TUPLE_ITERATOR_LEN: ___tuple_iterator_len(L['i']) == 2", "L['i']", {"len": "2"}),
        ("DEFAULT_DEVICE: utils_device.CURRENT_DEVICE == None", "", {"default device": "None"}),
        ("NO_TENSOR_ALIASING: check_no_aliasing(L['x'], L['y'])", "L['x']", {}),
        ("OBJECT_ALIASING: L['x'] is L['y']", "L['x']", {}),
        ("GLOBAL_STATE: ___check_global_state()", "", {}),
        ("GLOBAL_STATE: ___check_global_state() against not json", "", {}),
        ("TORCH_FUNCTION_MODE_STACK: ___check_torch_function_mode_stack()", "", {}),
        ("SOMETHING_NEW: ___who_knows(L['x'])", "L['x']", {}),
    ],
)
def test_a_leaf_requires_these_properties(leaf: str, source: str, facts: dict[str, object]) -> None:
    lines = (f"| +- GuardManager: source={source}, accessed_by=A", f"| | +- {leaf}") if source else (f"| +- {leaf}",)
    found = only(tree_of(*lines))
    assert found.source == source
    assert written(found.facts) == {(source, prop): value for prop, value in facts.items()}


def test_the_marks_of_2_6_are_a_set_of_dims() -> None:
    leaf = "((L['x']._dynamo_dynamic_indices.issubset({0, 1})) if hasattr(L['x'], '_dynamo_dynamic_indices') else True)"
    assert properties(facts_of("DYNAMIC_INDICES", leaf, "L['x']")) == {"marking _dynamo_dynamic_indices": "{0, 1}"}


def test_the_device_of_a_tensor_is_its_index() -> None:
    leaf = "check_tensor(L['x'], Parameter, DispatchKeySet(CUDA), torch.bfloat16, device=1, requires_grad=True, size=[], stride=[])"
    assert properties(facts_of("TENSOR_MATCH", leaf, "L['x']")) == {
        "tensor": "Parameter",
        "rank": 0,
        "dtype": "bfloat16",
        "dispatch keys": "DispatchKeySet(CUDA)",
        "device": "1",
        "requires_grad": True,
    }


def test_the_first_guard_of_a_property_is_kept() -> None:
    found = tree_of(
        "| +- GuardManager: source=L['k'], accessed_by=A", "| | +- EQUALS_MATCH: L['k'] == 3", "| | +- EQUALS_MATCH: L['k'] == 4"
    )
    assert known(found)["L['k']", "value"] == "3"
    assert len(found.guards) == 2


def test_a_symbolic_shape_guard_written_in_c_plus_plus_is_a_shape_guard() -> None:
    found = parse_tree("+- RootGuardManager\n+- SYMBOLIC_SHAPE_GUARD: L['x'].size()[0] % 8 == 0  # assert x  # app.py:3 in f\n")
    assert found.shapes == (ShapeGuard("L['x'].size()[0] % 8 == 0", "assert x  # app.py:3 in f"),)


def test_lines_of_an_unknown_form_are_kept_as_unread() -> None:
    found = tree_of("| +- Something else entirely")
    assert (found.guards, found.unread) == ((), ("Something else entirely",))


def test_the_list_of_old_versions_has_the_same_facts() -> None:
    items = [
        {
            "code": "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, "
            "size=[None, 8], stride=[8, 1])"
        },
        {"code": "___check_type_id(L['xs'], 1397)\nlen(L['xs']) == 2"},
        {"code": "L['m'] == 3      # return x * m  # app.py:5 in f"},
        {"code": "___check_obj_id(L['flag'], 77)"},
        {"code": "hasattr(L['x'], '_dynamo_dynamic_indices') == False"},
        {"code": "___check_global_state()"},
        {"code": "2 <= L['x'].size()[0]  # if x.size()[0]:  # app.py:6 in f"},
        {"code": "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None"},
        {"no code": 1},
        "not an object",
    ]
    found = parse_list(json.dumps(items))
    assert known(found)["L['x']", "size[0]"] == DYNAMIC
    assert known(found)["L['x']", "size[1]"] == 8
    assert known(found)["L['xs']", "type"] == "1397"
    assert known(found)["L['xs']", "len"] == 2
    assert known(found)["L['m']", "value"] == "3"
    assert found.by_key[Source("L['m']"), VALUE].comment == "return x * m  # app.py:5 in f"
    assert known(found)["L['flag']", "id"] == "77"
    assert known(found)["L['x']", "marking _dynamo_dynamic_indices"] is False
    assert found.shapes == (ShapeGuard("2 <= L['x'].size()[0]", "if x.size()[0]:  # app.py:6 in f"),)


def test_an_empty_list_is_a_tree_without_guards() -> None:
    tree = parse_list("[\n\n]")
    assert (tree.guards, tree.shapes, tree.types, tree.unread) == ((), (), {}, ())


def test_a_list_that_is_not_json_raises_value_error() -> None:
    with pytest.raises(ValueError, match="end of data"):
        parse_list('[{"code": "L[')
    for text in ("1e30", "null", '{"code": 1}', '"x"'):
        with pytest.raises(ValueError, match="not a list"):
            parse_list(text)


@pytest.mark.parametrize(
    ("comment", "place"),
    [
        ("return x  # app/model.py:6 in f", ("app/model.py", 6, "f", "return x")),
        (
            "if x.size()[0] <= 30:  # scripts/b.py:8 in g (_dynamo/variables/tensor.py:1201 in evaluate_expr)",
            ("scripts/b.py", 8, "g", "if x.size()[0] <= 30:"),
        ),
        ("a  # app.py:6 in f (user code shown is first use) and b  # app.py:8 in f", ("app.py", 6, "f", "a")),
        ("x + 1  # <string>:1 in <lambda>", ("<string>", 1, "<lambda>", "x + 1")),
    ],
)
def test_the_place_is_the_line_of_user_code(comment: str, place: tuple[str, int, str, str]) -> None:
    found = place_of(comment)
    assert found is not None
    assert (found.file, found.line, found.name, found.code) == place


def test_a_line_of_dynamo_is_not_user_code() -> None:
    assert place_of("_dynamo/output_graph.py:460 in init_ambient_guards") is None


@pytest.mark.parametrize("comment", ["", "no place at all", "duck sizing added this equality because these variables had the same size 4"])
def test_a_comment_without_a_place_has_none(comment: str) -> None:
    assert place_of(comment) is None


PIECES = st.sampled_from(
    [
        "| ",
        "+- ",
        "GuardManager: source=L['x']",
        ", accessed_by=",
        ", type=<class '",
        "TENSOR_MATCH: check_tensor(",
        "size=[",
        "]",
        "None",
        ")",
        "\n",
        "EQUALS_MATCH: ",
        " == ",
        " # ",
        "'",
        '"',
        "\\",
        "RootGuardManager",
        "LAMBDA_GUARD: ",
        "GLOBAL_STATE: x against {",
        "}",
        "L['x']",
        "(HINT: ",
        "12",
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join))
def test_any_text_can_be_read_as_a_tree(text: str) -> None:
    found = parse_tree(text)
    assert set(found.facts) == set(found.by_key)
    assert all(guard.source == source for (source, _), guard in found.by_key.items())


@given(st.text(max_size=80))
def test_splitting_off_the_comment_keeps_all_code(text: str) -> None:
    code, _ = split_comment(text)
    assert text.startswith(code)


def test_a_guard_whose_manager_is_missing_is_about_what_its_text_names() -> None:
    """Of a log that lost every second line; the manager above the missing one is of the attributes."""
    tree = parse_tree(
        "+- RootGuardManager\n"
        "| +- GuardManager: source=L['self'], accessed_by=X, type=<class 'M'>\n"
        "| | +- GuardManager: source=L['self'].__dict__, accessed_by=X, type=<class 'dict'>\n"
        "| | | | +- EQUALS_MATCH: L['self'].k == 1  # return x * self.k  # a.py:26 in forward\n"
    )
    assert [(guard.kind, str(guard.source)) for guard in tree.guards] == [("EQUALS_MATCH", "L['self'].k")]
