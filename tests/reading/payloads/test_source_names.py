"""Sources: how they are displayed, which are below others, and which part of a tensor they name."""

import pytest

from shapelog.reading.payloads.properties import size, stride
from shapelog.reading.payloads.source_names import Owners, Source, without_locals


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("L['x']", "x"),
        ("L['self'].k == 2", "self.k == 2"),
        ("L[\"x\"].size()[0] == L['y'].size()[0]", "x.size()[0] == y.size()[0]"),
        ("G['GLOB'] == 3", "G['GLOB'] == 3"),
        ("# y = MODEL['x']", "# y = MODEx"),
        ("L[ 'x' ]", "x"),
    ],
)
def test_locals_are_shortened_as_torch_does_in_reasons(text: str, stripped: str) -> None:
    assert without_locals(text) == stripped


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("L['x']", "x"),
        ("L['self']._modules['lin']._parameters['weight']", "self.lin.weight"),
        ("L['self'].__dict__['_modules']['lin'].__dict__['_parameters']['weight']", "self.lin.weight"),
        ("L['self'].__dict__['step']", "self.__dict__['step']"),
        ("L['self']._buffers['mean']", "self.mean"),
        ("L['self']._modules['layers']._modules['0'].k", "self.layers.0.k"),
        ("G['STEP']", "STEP"),
        ("dict(type(L['b']).__dict__)['scale']", "type(b).scale"),
        ("___tuple_iterator_getitem(L['.0'], 1)", ".0[1]"),
        ("___get_torch_function_mode_stack_at(0).count", "torch_function_mode[0].count"),
        ("dict(type(L['b']).__mro__[2].__dict__)['scale']", "type(b).__mro__[2].scale"),
        ("G['__builtins_dict___770']['isinstance']", "isinstance"),
        ("G['__import_torch_dot_nn_dot_functional'].relu", "torch.nn.functional.relu"),
        ("___from_numpy(L['a'])", "a"),
        ("___as_tensor(L['lr'])", "lr"),
        ("2 <= ___from_numpy(L['a']).size()[0]", "2 <= a.size()[0]"),
        ("___as_tensor(L['a']).item() < ___as_tensor(L['b']).item()", "a < b"),
        ("L['d']['L']", "d['L']"),
        ("", ""),
    ],
)
def test_a_source_is_displayed_as_its_user_writes_it(source: str, name: str) -> None:
    assert Source(source).display_name == name


def test_a_float_that_dynamo_wrapped_is_unwrapped() -> None:
    assert Source("___as_tensor(L['lr']).item()").unwrapped == "L['lr']"
    assert Source("L['lr']").unwrapped == "L['lr']"


@pytest.mark.parametrize(
    ("source", "parent", "below"),
    [
        ("L['self'].k", "L['self']", True),
        ("L['d']['a']", "L['d']", True),
        ("L['d']", "L['d']", False),
        ("L['self2']", "L['self']", False),
        ("L['xs'].k", "L['x']", False),
        ("L['self']", "L['self'].k", False),
        ("list(dict.keys(L['d']))[0]", "L['d']", True),
        ("___from_numpy(L['a'])", "L['a']", True),
        ("L['fn'].__code__", "L['fn']", True),
    ],
)
def test_a_source_reached_through_another_is_below_it(source: str, parent: str, below: bool) -> None:
    assert Source(source).is_below(parent) is below


def test_a_symbol_source_names_the_dim_of_a_tensor() -> None:
    assert Source("L['x'].size()[0]").tensor_part == ("L['x']", size(0))
    assert Source("L['d']['a.size()[1]'].stride()[12]").tensor_part == ("L['d']['a.size()[1]']", stride(12))


@pytest.mark.parametrize("source", ["L['n']", "L['x'].storage_offset()", "L['x'].size()", "L['x'].size()[n]", ""])
def test_any_other_source_names_no_dim(source: str) -> None:
    assert Source(source).tensor_part is None


def test_a_source_is_looked_up_by_its_text() -> None:
    source = Source("L['x']")
    assert {"L['x']": 1}[source] == {source: 1}["L['x']"] == 1


@pytest.mark.parametrize("text", ["list(L['d'].keys())[0]", "list(dict.keys(L['d']))[0]"])
def test_a_key_belongs_to_its_dict(text: str) -> None:
    assert Source(text).dict_of_key == "L['d']"


def test_only_keys_belong_to_a_dict() -> None:
    assert Source("L['d']['a']").dict_of_key is None


def test_a_part_of_a_tensor_is_displayed_as_its_user_writes_it() -> None:
    part = Source("L['self']._buffers['mean'].size()[1]").tensor_part
    assert part is not None
    assert (str(part), part.dim, part.is_size) == ("self.mean.size[1]", 1, True)


NAMES = (
    *("L['x']", "L['x'].a", "L['x'].a['k']", "L['xy']", "L['y']", "L['x'].ab", "len(L['x'])", "___from_numpy(L['m'])", "L['m']"),
    *("G['f'](L['x'].a)", "list(dict.keys(L['d']))[0]", "L['d']", "L", ""),
)


@pytest.mark.parametrize("source", NAMES)
def test_the_owners_of_a_source_are_all_that_it_is_below(source: str) -> None:
    parents = [name for name in NAMES if name]
    assert set(Owners(parents).of(Source(source))) == {parent for parent in parents if Source(source).is_below(parent)}
