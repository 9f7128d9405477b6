"""Small programs, each about one situation in which the cause of a recompile is easily mistaken, with the right answers.

They are the situations that PyTorch's own test suite brought up; fixtures/README.md describes the programs. The costs were measured by
running each with the list that shapelog gives.
"""

import pytest
from recorded import advice_of, report_of

from shapelog.model.compile import Compile
from shapelog.rules import Verdict

# For each recompile its rules and verdict; compiles and limit hits of the run as it was, and with the list.
ANSWERS: dict[str, tuple[dict[str, str], int, int]] = {
    "aliasing_with_size": ({"0/1": "SL101 SL317 CODE"}, 2, 2),
    "backend_objects": ({"0/1": "SL102 SL318 CODE", "0/2": "SL318 CODE"}, 3, 3),
    "branches_that_differ_in_constants": (
        {
            "0/1": "SL101 JUSTIFIED",
            "1/1": "SL101 MARKING",
            "1/2": "SL101 JUSTIFIED",
            "1/3": "SL101 MARKING",
            "2/1": "SL102 JUSTIFIED",
            "2/2": "SL102 MARKING",
            "3/1": "SL102 JUSTIFIED",
            "3/2": "SL102 MARKING",
            "4/1": "SL315 JUSTIFIED",
            "4/2": "SL315 MARKING",
            "4/3": "SL315 MARKING",
        },
        16,
        10,
    ),
    "counter_at_limit": ({"0/1": "SL315 MARKING", "0/2": "SL315 SL322 JUSTIFIED", "0/3": "SL315 LIMIT"}, 4, 2),
    "dict_types_and_kwargs": ({"0/1": "SL314 SKIPPED", "1/1": "SL310 CODE", "1/2": "SL310 CODE", "2/1": "SL314 FAILED"}, 5, 5),
    "duck_in_njt": ({"0/1": "SL103 CODE"}, 2, 2),
    "float_branch": ({"0/1": "SL312 CODE", "0/2": "SL312 JUSTIFIED"}, 3, 3),
    "functions_passed": (
        {
            **{f"0/{number}": "SL310 JUSTIFIED" for number in range(1, 7)},
            "1/1": "SL311 JUSTIFIED",
            "1/2": "SL311 JUSTIFIED",
            "2/1": "SL309 JUSTIFIED",
            "3/1": "SL312 CODE",
            "3/2": "SL102 MARKING",
        },
        15,
        14,
    ),
    "inference_mode": (
        {"0/1": "SL303 CODE", "1/1": "SL303 CODE", "1/2": "SL303 CODE", "2/1": "SL303 CODE", "2/2": "SL305 CODE"},
        8,
        8,
    ),
    "int_branch": (
        {"0/1": "SL102 JUSTIFIED", "0/2": "SL102 JUSTIFIED", "0/3": "SL102 MARKING", "1/1": "SL102 SL204 JUSTIFIED"}
        | {"1/2": "SL102 SL204 JUSTIFIED"},
        7,
        6,
    ),
    "isolate_recompiles": ({"0/1": "SL323 JUSTIFIED", "1/1": "SL323 JUSTIFIED", "1/2": "SL323 JUSTIFIED"}, 5, 5),
    "lines_that_branch": (
        {
            "0/1": "SL302 JUSTIFIED",
            "1/1": "SL310 JUSTIFIED",
            "2/1": "SL102 SL204 JUSTIFIED",
            "3/1": "SL107 JUSTIFIED",
            "3/2": "SL105 JUSTIFIED",
            "3/3": "SL101 SL105 JUSTIFIED",
            "4/1": "SL311 JUSTIFIED",
            "5/1": "SL312 JUSTIFIED",
            "6/1": "SL315 JUSTIFIED",
            "6/2": "SL315 MARKING",
        },
        17,
        16,
    ),
    "limit_under_fullgraph": ({"0/1": "SL101 MARKING", "0/2": "SL101 LIMIT"}, 3, 1),
    "ndarray_then_tensor": ({"0/1": "SL310 CODE"}, 2, 2),
    "numbers_of_operators": (
        {"0/1": "SL312 JUSTIFIED", "0/2": "SL312 JUSTIFIED", "1/1": "SL312 CODE"}
        | {"2/1": "SL102 SL201 JUSTIFIED", "2/2": "SL102 SL201 JUSTIFIED"},
        8,
        8,
    ),
    "other_dynamic_or_mode": (dict.fromkeys(("0/1", "0/2", "1/1", "1/2"), "SL318 CODE"), 6, 6),
    "out_pins_both": (dict.fromkeys(("0/1", "0/2", "0/3"), "SL101 SL201 JUSTIFIED"), 4, 4),
    "parameter_of_size_one": ({"0/1": "SL101 SL104 JUSTIFIED", "0/2": "SL101 SL106 MARKING"}, 3, 2),
    "slices_of_a_buffer": ({"0/1": "SL101 CODE", "0/2": "SL101 MARKING", "1/1": "SL101 CODE", "2/1": "SL101 CODE"}, 7, 6),
    "strides_of_size_one": ({"0/1": "SL101 SL104 JUSTIFIED"}, 2, 2),
    "super_int": (
        {"0/1": "SL102 JUSTIFIED", "0/2": "SL102 JUSTIFIED", "1/1": "SL315 MARKING", "1/2": "SL315 MARKING", "2/1": "SL102 MARKING"},
        8,
        5,
    ),
    "truncated_path": ({"0/1": "SL204 JUSTIFIED"}, 2, 2),
    "truthful_torch_assert": ({"0/1": "SL101 JUSTIFIED"}, 2, 2),
    "unbacked_equality": ({"0/1": "SL204 JUSTIFIED"}, 2, 2),
}


def sentence(name: str, label: str) -> str:
    (found,) = [item for item in report_of(f"causes/{name}.log.gz").recompiles if item.compile.label == label]
    return "; ".join([*[cause.sentence for cause in found.causes], *filter(None, [found.why_not_markable])])


@pytest.mark.parametrize("name", ANSWERS)
def test_each_recompile_has_its_cause_and_verdict(name: str) -> None:
    found = {item.compile.label: f"{' '.join(item.codes)} {item.verdict.name}" for item in report_of(f"causes/{name}.log.gz").recompiles}
    assert found == ANSWERS[name][0]


@pytest.mark.parametrize("name", ANSWERS)
def test_the_cost_is_the_measured_one(name: str) -> None:
    advice = advice_of(f"causes/{name}.log.gz")
    assert (advice.before.total, advice.after.total) == ANSWERS[name][1:]


@pytest.mark.parametrize(
    ("name", "label", "words"),
    [
        ("aliasing_with_size", "0/1", "a and b were different tensors, and are now the same one"),
        ("dict_types_and_kwargs", "1/2", "d changed from type collections.OrderedDict to collections.defaultdict"),
        ("dict_types_and_kwargs", "2/1", "kw no longer contains 'a'"),
        ("float_branch", "0/2", "the code branches on a float: the cache entry requires t <= 0.5"),
        ("functions_passed", "0/1", "act changed from the function <lambda> (m06_functions_passed.py:7) to a built-in function"),
        ("functions_passed", "1/1", "act is a different library function: torch.relu, now torch.sin"),
        ("functions_passed", "2/1", "act changed from the function a1 (m06_functions_passed.py:16) to a2 (m06_functions_passed.py:17)"),
        ("inference_mode", "0/1", "compiled outside inference mode, called inside it"),
        ("inference_mode", "1/2", "x is now a tensor created in inference mode"),
        ("inference_mode", "2/1", "compiled in inference mode, called outside it"),
        ("int_branch", "0/1", "the code branches on this value (if mode == 1:)"),
        ("lines_that_branch", "2/1", "(if k == 2:) branches on it, and this call takes the other branch"),
        ("lines_that_branch", "3/3", "x is now a slice of a larger tensor"),
        ("lines_that_branch", "4/1", "kind changed from the NumPy dtype float32 to float16"),
        ("ndarray_then_tensor", "0/1", "m changed from type numpy.ndarray to a tensor"),
        ("numbers_of_operators", "0/2", "the float p changed from 0.2 to 0.3; numbers_of_operators.py:9 (return F.dropout("),
        ("numbers_of_operators", "2/2", "the int t.item() changed from 12 to 8; numbers_of_operators.py:19 (return x * table[t]) needs"),
        ("other_dynamic_or_mode", "0/1", "torch.compile was called for the same code with dynamic=True instead of dynamic=False"),
        ("other_dynamic_or_mode", "1/1", "torch.compile was called for the same code with a different mode=, options= or dynamic="),
        ("slices_of_a_buffer", "1/1", "the strides of x do not follow from its sizes"),
        ("super_int", "0/1", "PyTorch treats values read through super(), such as type(self).__mro__[1].step, as constants"),
        ("unbacked_equality", "0/1", "the code requires two unbacked sizes to be equal"),
    ],
)
def test_what_changed_is_named(name: str, label: str, words: str) -> None:
    assert words in sentence(name, label)


def test_two_guards_on_one_number_are_one_change() -> None:
    assert [item.consequences for item in report_of("causes/numbers_of_operators.log.gz").recompiles] == [()] * 5


def test_a_function_that_is_passed_on_purpose_is_not_to_be_defined_once() -> None:
    report = report_of("causes/functions_passed.log.gz")
    (found,) = [item for item in report.recompiles if item.compile.label == "2/1"]
    assert report.remedies.of_recompile(found).text == "pass fewer functions, or accept one graph for each"


def test_what_varied_in_a_frame_has_the_remedy_of_its_cause() -> None:
    axes = [axis for frame in report_of("causes/functions_passed.log.gz").frames for axis in frame.axes]
    remedies = {axis.name: [item.text for item in axis.remedies] for axis in axes}
    assert remedies["id(act)"] == ["pass fewer functions, or accept one graph for each"]


def test_a_limit_that_raised_leaves_nothing_to_run_eagerly() -> None:
    (finding,) = [item for item in report_of("causes/limit_under_fullgraph.log.gz").findings if item.rule.code == "SL401"]
    assert finding.sentence == "f hit the recompile limit at 0/2, with 2 cache entries; the call raised an error"


def test_a_path_that_pytorch_cut_is_whole_again() -> None:
    (found,) = report_of("causes/truncated_path.log.gz").recompiles
    assert str(found.causes[0].place) == "/srv/ml/min/m16_truncated_path.py:3"


def test_a_backend_for_constant_shapes_is_warned_of() -> None:
    (found,) = advice_of("causes/backend_for_constant_shapes.log.gz").suggestions
    assert any("a backend that only supports static shapes will fail" in caveat for caveat in found.caveats)


def test_a_list_is_not_given_twice() -> None:
    """What PyTorch pins in both tensors of an ``out=`` is removed by no list."""
    assert advice_of("causes/out_pins_both.log.gz").env == ""


def test_the_graph_that_breaks_only_once_a_size_is_symbolic_stays_whole() -> None:
    report = report_of("causes/truthful_torch_assert.log.gz")
    broken: list[Compile] = [compile for compile in report.trace.compiles if compile.breaks]
    assert [compile.label for compile in broken] == ["0/1"]
    assert not any(item.verdict is Verdict.MARKING for item in report.recompiles)
