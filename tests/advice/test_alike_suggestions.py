"""Suggestions for the layers of a cache are shown in one line."""

import make

from shapelog.advice.advise import Advice, advise
from shapelog.advice.alike_suggestions import alike
from shapelog.text import in_natural_order

LAYERS = [f"L['cache'].layers[{number}].keys" for number in range(12)]


def growing(*sources: str) -> Advice:
    return advise(make.explain(make.growing(*sources)))


def test_inputs_that_differ_in_an_index_are_together_in_natural_order() -> None:
    ids, layers = alike(growing("L['ids']", *LAYERS).suggestions)[::-1]
    assert (ids.name, ids.how_many) == ("ids", "")
    assert (layers.name, layers.how_many) == ("cache.layers[*].keys", "12 inputs")
    assert [item.source for item in layers.members] == LAYERS


def test_an_index_that_all_share_stays() -> None:
    (found,) = alike(growing(*(f"L['cache'][{layer}][1].k" for layer in range(4))).suggestions)
    assert found.name == "cache[*][1].k"


def test_few_inputs_are_shown_one_by_one() -> None:
    assert [item.name for item in alike(growing(*LAYERS[:3]).suggestions)] == [f"cache.layers[{number}].keys" for number in range(3)]


def test_a_caveat_of_all_is_shown_once() -> None:
    (found,) = alike(item._replace(caveats=(f"2 <= {item.name}.size()[2] <= 255", "rare")) for item in growing(*LAYERS).suggestions)
    assert found.caveats == ("2 <= cache.layers[0].keys.size()[2] <= 255", "rare")


def test_numbers_are_ordered_by_their_value() -> None:
    assert sorted(["x[10]", "x[9]", "x", "a1"], key=in_natural_order) == ["a1", "x", "x[9]", "x[10]"]
