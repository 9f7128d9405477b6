"""What the one reason at the recompile limit shows, and what it leaves open."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding

HEAD = "V1226 11:51:27.633000 3727 torch/_dynamo/guards.py:3508] [{label}] [__recompiles] "
ALONE = "this alone does not make 8 graphs"


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def hit(reason: str, at: str = "0/8", name: str = "recompile_limit") -> str:
    frame, _, number = at.partition("/")
    return (
        f"W1209 10:08:01.582000 25 torch/_dynamo/convert_frame.py:1564] [{at}] torch._dynamo hit config.{name} ({number})\n"
        f"W1209 10:08:01.582000 25 torch/_dynamo/convert_frame.py:1564] [{at}]    function: 'forward' (/srv/net.py:145)\n"
        f"W1209 10:08:01.582000 25 torch/_dynamo/convert_frame.py:1564] [{at}]    last reason: {frame}/{int(number) - 1}: {reason}\n"
    )


def limit(text: str, folder: Path) -> Finding:
    (found,) = (item for item in report_of(text, folder).findings if item.rule.code == "SL401")
    return found


def recompiled(*labels: str, reason: str = "s == 0.5") -> str:
    text = ""
    for label in labels:
        head, entry = HEAD.format(label=label), f"{label.partition('/')[0]}/{int(label.partition('/')[2]) - 1}"
        text += f"{head}Recompiling function f in /srv/a.py:3\n{head}    triggered by the following guard failure(s):\n"
        text += f"{head}    - {entry}: {reason}\n"
    return text


@pytest.mark.parametrize("kind", ["_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called", "_backward_hooks"])
def test_hooks_of_another_module_have_other_numbers(kind: str, tmp_path: Path) -> None:
    found = limit(hit(f"___dict_contains(148, self.attn.{kind})  # if hook_id in hooks:"), tmp_path)
    what = kind.partition("hook")[0].replace("_", " ").strip()
    assert found.sentence.endswith(f"self.attn has another {what} hook than before: no. 148 is not there")
    assert found.remedy.startswith(
        "register the hooks before the first call, and keep them; where each module has its own, update to torch"
    )
    assert not found.notes  # each module may have made a graph


def test_a_key_that_is_there_or_not_makes_two_graphs(tmp_path: Path) -> None:
    assert limit(hit("KeyError on self._parameters['bias']"), tmp_path).notes[0].startswith(ALONE)


@pytest.mark.parametrize(
    ("value", "is_of_module"), [("'blocks.25.cross_attn.k'", True), ("'layers.0'", True), ("'v1.5'", False), ("'k'", False)]
)
def test_a_text_that_names_one_of_many_modules(value: str, is_of_module: bool, tmp_path: Path) -> None:
    remedy = limit(hit(f"submodule_name == {value}"), tmp_path).remedy
    assert ("each instance needs its own graph" in remedy) is is_of_module


def test_the_accumulated_limit_is_raised_by_its_own_setting(tmp_path: Path) -> None:
    report = report_of(hit("key == 'layers.3.k'", at="3/256", name="accumulated_recompile_limit"), tmp_path)
    (step,) = next_steps(collect_alerts(report, Repository()))
    assert step.text == ("torch._dynamo.config.accumulated_recompile_limit = 512",)


def test_parameters_of_other_shapes_do_not_fill_a_limit_that_was_raised(tmp_path: Path) -> None:
    reason = "tensor 'self._parameters['bias']' size mismatch at index 0. expected 5120, actual 13824. Guard failed on a parameter"
    found = limit(hit(reason, at="2/128"), tmp_path)
    assert found.notes[0].startswith("a model has parameters of a few shapes, not of 128")
    assert "add L['self']._parameters['bias'] to TORCH_COMPILE_DYNAMIC_SOURCES" in found.remedy
    report = report_of(hit(reason, at="2/8"), tmp_path)
    assert not any(item.notes for item in report.findings)
    assert report.advice is not None
    assert any(text.startswith("mark what else varies as well") for text in report.advice.warnings)


def test_a_reason_of_the_oldest_entry_is_not_what_fills_the_cache(tmp_path: Path) -> None:
    """Nothing can be marked in this version, so what the later graphs differ in comes first."""
    text = hit("L['lengths']['most'] == 31868").replace("0/7: ", "0/0: ").replace("recompile_limit", "cache_size_limit")
    report = report_of(text, tmp_path)
    (step,) = next_steps(collect_alerts(report, Repository()))
    assert "record again with TORCH_LOGS=recompiles, which shows why the later graphs were not reused" in step.title
    assert step.saving.is_unsure


def near(text: str, folder: Path) -> list[Finding]:
    return [item for item in report_of(text, folder).findings if item.rule.code == "SL402" and "unless that was raised" in item.sentence]


def test_reasons_of_the_first_compile_beyond_the_default_limit_may_be_of_a_refused_call(tmp_path: Path) -> None:
    """PyTorch logs them before it checks the limit."""
    (found,) = near(recompiled("0/7", "0/8"), tmp_path)
    assert found.sentence.startswith("f had 8 cache entries before 0/8, the default limit: unless that was raised, 0/8 was refused")
    graph = HEAD.format(label="0/8").replace("recompiles", "graph_code") + "TRACED GRAPH\n"
    graph += HEAD.format(label="0/8").replace("recompiles", "graph_code") + " ===== __compiled_fn_9 =====\n"
    graph += HEAD.format(label="0/8").replace("recompiles", "graph_code") + " class GraphModule(torch.nn.Module):\n"
    for more in (recompiled("0/9"), recompiled("1/9"), graph, hit("s == 0.5")):  # the limit was raised, a graph was made, or it is known
        assert not near(recompiled("0/7", "0/8") + more, tmp_path)
    assert not near(recompiled("0/6", "0/7"), tmp_path)


@pytest.mark.parametrize(("values", "words"), [((8,), "a later dim has another size"), ((8, 7, 6), "a slice of a different width")])
def test_strides_that_differ_from_several_entries_are_of_slices(values: tuple[int, ...], words: str, tmp_path: Path) -> None:
    """A size is dynamic from the second entry on, and so is a stride that is made of it. Torch 2.4 and older name no entries."""
    head = HEAD.format(label="0/5")
    text = f"{head}Recompiling function fn in /srv/gen1.py:4\n{head}    triggered by the following guard failure(s):\n"
    text += "".join(f"{head}    - tensor 'L['x']' stride mismatch at index 0. expected {value}, actual 9\n" for value in values)
    (item,) = report_of(text, tmp_path).explained.recompiles
    assert words in item.causes[0].sentence


@pytest.mark.parametrize("end", ["\n", "", "\n\n", "\nThanks\n"])
@pytest.mark.parametrize(
    "reasons", ["[\"tensor 'x' size mismatch at index 0. expected 562, actual 2447\"]", "tensor 'x' size mismatch at index 0"]
)
def test_a_list_of_reasons_may_end_the_text(reasons: str, end: str, tmp_path: Path) -> None:
    text = "[2022-10-14 15:59:22,874] torchdynamo.convert_frame: [WARNING] torchdynamo hit config.cache_size_limit (64)\n"
    text += f"   function: 'forward' (/srv/resnet.py:284)\n   reasons:  {reasons}{end}"
    assert "dim 0 of x changed" in limit(text, tmp_path).sentence


def test_a_limit_that_does_not_count_is_not_to_be_raised(tmp_path: Path) -> None:
    never = limit(hit("name 'Trunc' is not defined"), tmp_path)
    assert never.remedy == "update PyTorch, or wrap the function in torch.compiler.disable"
    endless = limit(hit("s == 0.5", at="0/8").replace("(8)", "(8000000)"), tmp_path)
    assert "or raise" not in endless.remedy
    assert "or raise" in limit(hit("s == 0.5"), tmp_path).remedy


def test_parameters_that_are_keys_belong_to_an_optimizer(tmp_path: Path) -> None:
    found = limit(hit("___dict_param_key_ids(L['self'].state) == {140040850413968, 140040908327248}"), tmp_path)
    assert found.sentence.endswith("the dict self.state has other parameters as keys than before")
    assert found.remedy.startswith("use one optimizer with the same parameters")


@pytest.mark.parametrize(
    ("place", "is_named"), [("tensordict/_td.py:2486 in _set", True), ("net.py:150 in forward", False), ("srv/net.py:150 in f", False)]
)
def test_the_place_of_a_limit_is_that_of_its_function(place: str, is_named: bool, tmp_path: Path) -> None:
    """The line whose guard failed may be in a library that the function calls."""
    found = limit(hit(f"len(td.d) == 7  # self.d[key] = value  # {place}"), tmp_path)
    assert any(text.startswith("the guard comes from tensordict/_td.py:2486: self.d[key] = value") for text in found.notes) is is_named
    assert str(found.place) == ("/srv/net.py:145" if is_named else "/srv/net.py:150")


def test_the_reasons_of_a_recompile_that_is_forbidden_are_below(tmp_path: Path) -> None:
    text = "torch._dynamo.exc.RecompileError: Recompiling function forward in /srv/net.py:389\n"
    (found,) = (item for item in report_of(text, tmp_path).findings if item.rule.code == "SL403")
    assert found.remedy.startswith("look for the reasons in the lines below this error")


@pytest.mark.parametrize(("setting", "is_of_first"), [("cache_size_limit", True), ("recompile_limit", False)])
def test_the_last_reason_of_old_versions_is_that_of_the_first_entry(setting: str, is_of_first: bool, tmp_path: Path) -> None:
    """Recorded with torch 2.4, whose reasons have no ids: of sizes 2, 3, 4 and 5 it is "expected 2, actual 5"."""
    lines = (f"torch._dynamo hit config.{setting} (8)", "   function: 'f' (a.py:1)")
    path = tmp_path / "run.txt"
    path.write_text("\n".join((*lines, "   last reason: tensor 'x' size mismatch at index 0. expected 2, actual 9\n")), encoding="utf-8")
    (finding,) = analyze(load(path), debug=True).findings
    why = "this is why the first of 8 cached graphs was not reused; what changed is symbolic in later ones"
    assert any(note.startswith(why) for note in finding.notes) is is_of_first


def test_reasons_that_somebody_copied_below_the_limit_are_all_shown(tmp_path: Path) -> None:
    found = limit(
        "The log has:\n\ntorch._dynamo hit config.recompile_limit\n"
        "cache.layers[9].is_set == False\nmask rank mismatch. expected 2, actual 4\n",
        tmp_path,
    )
    assert found.sentence.endswith(
        "the last reasons: cache.layers[9].is_set changed from False to True; the number of dimensions of mask changed from 2 to 4"
    )
