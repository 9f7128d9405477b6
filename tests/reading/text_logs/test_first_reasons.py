"""Causes and verdicts of text logs, where of each entry the first reason alone is known."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.steps.step import NextStep

# What torch 2.13 appends to the bounds of a size, as TORCH_LOGS=recompiles shows it.
_OF_SYMBOL = "the guard itself is not due user code but due to 0/1 specialization in the framework"
_BOUNDS = (
    f"# return x * 2  # model.py:6 in f ({_OF_SYMBOL}) and return x * 2  # model.py:6 in f (_dynamo/variables/builder.py:4960 in <lambda>)"
)
_SIZE = "tensor 'x' size mismatch at index 0. expected {}, actual {}"


def report_of(folder: Path, *recompiles: tuple[str, ...]) -> Report:
    """The report on a log in which each recompilation of a function has these reasons."""
    lines = []
    for number, reasons in enumerate(recompiles, start=1):
        lines.append(f"[0/{number}] [__recompiles] Recompiling function f in /srv/model.py:5")
        lines.append(f"[0/{number}] [__recompiles]     triggered by the following guard failure(s):")
        lines += [f"[0/{number}] [__recompiles]     - {reason}" for reason in reasons]
    start = "V0101 00:00:00.000000 1 torch/_dynamo/guards.py:5396] "
    path = folder / "run.txt"
    path.write_text("".join(f"{start}{line}\n" for line in lines), encoding="utf-8")
    return analyze(load(path), debug=True)


def _steps(report: Report) -> tuple[NextStep, ...]:
    return next_steps(collect_alerts(report, Repository()))


def codes_of(report: Report) -> list[str]:
    return [item.codes[0] for item in report.recompiles]


@pytest.mark.parametrize(
    ("later", "code"),
    [
        ("r == False  # g(x, r)  # model.py:6 in f", "SL311"),
        ("len(xs) == 2  # for y in xs:  # model.py:6 in f", "SL313"),
        ("tensor 'x' dtype mismatch. expected Float, actual Half", "SL301"),
        ("Eq(Mod(x.size()[0], 2), 0)  # if x.shape[0] % 2 == 0:  # model.py:6 in f", "SL204"),
    ],
)
def test_what_the_dynamic_version_of_an_entry_does_not_accept_is_the_cause(later: str, code: str, tmp_path: Path) -> None:
    """0/1 is the dynamic version of 0/0, so the size of the call is not why it needs another one."""
    report = report_of(tmp_path, (f"0/0: {_SIZE.format(3, 4)}",), (f"0/1: {later}", f"0/0: {_SIZE.format(3, 5)}"))
    assert codes_of(report) == ["SL101", code]
    assert report.recompiles[-1].entries_checked == 2


def test_an_entry_that_was_made_for_something_else_is_no_dynamic_version(tmp_path: Path) -> None:
    mode = "GLOBAL_STATE changed: grad_mode "
    report = report_of(tmp_path, (f"0/0: {mode}",), (f"0/1: {mode}", f"0/0: {_SIZE.format(3, 5)}"))
    assert codes_of(report) == ["SL305", "SL101"]


def test_one_that_is_static_again_is_none_either(tmp_path: Path) -> None:
    report = report_of(tmp_path, (f"0/0: {_SIZE.format(3, 4)}",), (f"0/1: {_SIZE.format(4, 5)}", f"0/0: {_SIZE.format(3, 5)}"))
    assert codes_of(report) == ["SL101", "SL101"]


def test_an_entry_for_a_size_of_one_does_not_hide_what_the_dynamic_version_refuses(tmp_path: Path) -> None:
    """0/2 is for a size of 1, and is static in it; no mark would make it serve the last call, nor 0/1, which needs the same mode."""
    report = report_of(
        tmp_path,
        (f"0/0: {_SIZE.format(3, 4)}",),
        (f"0/1: 2 <= x.size()[0]  {_BOUNDS}", f"0/0: {_SIZE.format(3, 1)}"),
        (f"0/2: {_SIZE.format(1, 5)}", "0/1: mode == 'train'  # if mode == 'train':  # model.py:6 in f", f"0/0: {_SIZE.format(3, 5)}"),
    )
    assert codes_of(report) == ["SL101", "SL104", "SL311"]
    assert [suggestion.compiles for suggestion in report.advice.suggestions] == [1]


def test_an_entry_that_differs_in_fewer_settings_is_nearer(tmp_path: Path) -> None:
    state = "GLOBAL_STATE changed: "
    report = report_of(
        tmp_path,
        (f"0/0: {state}deterministic_algorithms ",),
        (f"0/1: {state}deterministic_algorithms num_threads ", f"0/0: {state}num_threads "),
    )
    assert [cause.sentence for cause in report.recompiles[-1].causes] == ["the number of threads changed after this was compiled"]


@pytest.mark.parametrize(("bounds", "code"), [("2 <= x.size()[0] <= 16", "SL321"), ("2 <= x.size()[0]", "SL104")])
def test_an_upper_bound_is_not_that_of_sizes_0_and_1(bounds: str, code: str, tmp_path: Path) -> None:
    assert codes_of(report_of(tmp_path, (f"0/0: {bounds}  {_BOUNDS}",))) == [code]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("if m is Mode.A:", "SL311"),
        ("if m == config.Mode.A:", "SL311"),
        ("if m is Mode.make():", "SL308"),
        ("return m.scale * x", "SL308"),
    ],
)
def test_an_object_that_the_code_compares_with_those_of_its_class_is_not_made_anew(line: str, code: str, tmp_path: Path) -> None:
    report = report_of(tmp_path, (f"0/0: ___check_obj_id(m, 140059548995216), type=<class 'app.Mode'>  # {line}  # model.py:6 in f",))
    assert codes_of(report) == [code]


def test_an_array_is_listed_as_pytorch_names_it(tmp_path: Path) -> None:
    """Measured with torch 2.13: ``___from_numpy(a)`` matches nothing."""
    report = report_of(tmp_path, ("0/0: tensor '___from_numpy(a)' size mismatch at index 0. expected 4, actual 5",))
    (suggestion,) = report.advice.suggestions
    assert suggestion.entries == ("___from_numpy(L['a'])",)


def test_dispatch_keys_are_not_listed_as_values(tmp_path: Path) -> None:
    plain, normal, made_there = (
        f"DispatchKeySet(CPU, BackendSelect{more})" for more in (", ADInplaceOrView, AutogradCPU", ", ADInplaceOrView", "")
    )
    differing = "tensor 'x' dispatch key set mismatch. expected {}, actual {}"
    report = report_of(
        tmp_path,
        (f"0/0: {differing.format(plain, normal)}",),
        (f"0/1: {differing.format(normal, made_there)}", "0/0: GLOBAL_STATE changed: grad_mode "),
    )
    assert [alert.sentence for alert in collect_alerts(report, Repository()).alerts if "DispatchKeySet" in alert.sentence] == []


def test_what_an_entry_requires_is_what_its_own_call_came_with(tmp_path: Path) -> None:
    """Later reasons name the constants of entries, which show another type or value."""
    line = "# return x * v  # model.py:6 in f"
    report = report_of(
        tmp_path,
        (f"0/0: v == 2  {line}",),
        (f"0/1: v == 2.0  {line}", f"0/0: v == 2  {line}"),
    )
    first = report.recompiles[0]
    assert (first.codes[0], first.causes[0].sentence) == ("SL310", "v changed from the int 2 to 2.0")


def test_a_guard_that_holds_for_any_float_but_nan_is_no_constant_of_its_entry(tmp_path: Path) -> None:
    report = report_of(
        tmp_path,
        ("0/0: s == 1.5  # return x * s  # model.py:6 in f",),
        ("0/1: s == ___as_tensor(s).item()  # (unknown var zf72, please file a bug)", "0/0: s == 1.5  # return x * s  # model.py:6 in f"),
    )
    first = report.recompiles[0]
    assert (first.codes[0], first.causes[0].sentence) == ("SL312", "the float s was 1.5 and has changed")


def test_an_int_that_changed_before_does_not_hide_what_the_newest_entry_lacks(tmp_path: Path) -> None:
    """An int of a module is static in each entry. The newest was made for it, and requires another mode."""
    k = "self.k == {}  # return x * self.k  # model.py:8 in forward"
    mode = "self.mode == 'a'  # if self.mode == 'a':  # model.py:6 in forward"
    report = report_of(
        tmp_path,
        (f"0/0: {k.format(2)}",),
        (f"0/1: {k.format(3)}", f"0/0: {k.format(2)}"),
        (f"0/2: {mode}", f"0/1: {k.format(3)}", f"0/0: {k.format(2)}"),
    )
    last = report.recompiles[-1]
    assert (last.nearest.label if last.nearest else "", last.codes) == ("0/2", ("SL311",))


def test_a_member_of_an_enum_is_one_as_torch_2_10_writes_it(tmp_path: Path) -> None:
    report = report_of(tmp_path, ("0/0: ___check_obj_id(e, 140465252839248), type=<Mode.A: 1>  # if e is A: x = x - 1  # model.py:6 in f",))
    (item,) = report.recompiles
    assert (item.codes, item.causes[0].sentence) == (("SL311",), "e is a different member of the enum Mode")


@pytest.mark.parametrize(
    ("number", "reason", "is_few"),
    [
        (8, "tensor 'x' requires_grad mismatch. expected requires_grad=1", True),
        (84, _SIZE.format(1, 4), True),
        (8, "KeyError on self._parameters['bias']", True),
        (2, "tensor 'x' requires_grad mismatch. expected requires_grad=1", False),
        (8, _SIZE.format(3, 4), False),
    ],
)
def test_what_has_few_values_does_not_fill_a_cache_alone(number: int, reason: str, is_few: bool, tmp_path: Path) -> None:
    lines = f"torch._dynamo hit config.recompile_limit ({number})", "   function: 'f' (/srv/model.py:5)", f"   last reason: 0/1: {reason}"
    path = tmp_path / "run.txt"
    path.write_text("".join(f"W0101 00:00:00.000000 1 torch/_dynamo/x.py:1] [0/{number}] {line}\n" for line in lines), encoding="utf-8")
    (finding,) = analyze(load(path), debug=True).findings
    note = f'this alone does not make {number} graphs: TORCH_LOGS="recompiles" prints why the others were not reused'
    assert (note in finding.notes) is is_few


def test_other_inputs_may_have_the_size_that_the_first_failed_guard_names(tmp_path: Path) -> None:
    """PyTorch ties equal sizes that the code combines: a mark on one of them alone then saves nothing, or raises."""
    (step,) = _steps(report_of(tmp_path, (f"0/0: {_SIZE.format(10, 12)}",)))
    assert (step.saving.least, step.saving.most) == (0, 1)
    assert (
        step.explanation == "mark what else varies as well, such as later dims or other inputs: only the first size that differs is logged"
    )


def test_each_of_two_reasons_at_the_limit_keeps_its_remedy(tmp_path: Path) -> None:
    """A price and the number of a bar cannot be kept the same in all calls."""
    hits = (
        f"```\nW torch._dynamo hit config.cache_size_limit (8)\nlast reason: L['{reason}\n```\n"
        for reason in ("spot'] == 500.5", "bar'] == 0")
    )
    path = tmp_path / "run.txt"
    path.write_text("After fixing it, the next one appeared:\n".join(hits), encoding="utf-8")
    (finding,) = analyze(load(path), debug=True).findings
    assert finding.remedy == (
        "pass the float as a tensor, torch.tensor(value), or store it as one; and pass a tensor instead of the int, or use torch 2.7 or "
        "newer (TORCH_COMPILE_DYNAMIC_SOURCES accepts ints); record again with TORCH_LOGS=recompiles, which shows why the later graphs "
        "were not reused; or raise torch._dynamo.config.cache_size_limit"
    )


def test_another_code_object_is_that_of_another_function(tmp_path: Path) -> None:
    """A lambda that is made anew in each call has one code object."""
    (recompile,) = report_of(tmp_path, ("0/0: ___check_obj_id(mask_mod.__code__, 140030620899312)",)).recompiles
    assert recompile.causes[0].own_remedy.startswith("pass fewer functions, or accept one graph for each: ")


def test_an_int_that_the_first_failed_guard_names_shares_no_size(tmp_path: Path) -> None:
    (step,) = _steps(report_of(tmp_path, ("0/0: n == 3",)))
    assert (step.saving.least, step.explanation) == (1, "")


def test_a_learning_rate_stays_a_tensor(tmp_path: Path) -> None:
    reason = "expected type of 'self.param_groups[0]['lr']' to be a tensor type, ' but found <class 'float'>"
    (recompile,) = report_of(tmp_path, (f"0/0: {reason}",)).recompiles
    assert recompile.causes[0].own_remedy == "keep the learning rate a tensor, and set it with fill_(): group['lr'].fill_(value)"
    (other,) = report_of(tmp_path, ("0/0: " + reason.replace("['lr']", "['foreach']"),)).recompiles
    assert not other.causes[0].own_remedy


@pytest.mark.parametrize(
    ("source", "is_buffer"),
    [("self._buffers['inv_freq']", True), ("self.__dict__['_buffers']['w']", True), ("x", False)],
)
def test_a_buffer_that_is_replaced_in_inference_mode_is_to_be_filled(source: str, is_buffer: bool, tmp_path: Path) -> None:
    keys = "CPU, BackendSelect, ADInplaceOrView", "CPU, BackendSelect"
    expected, actual = (f"DispatchKeySet({names})" for names in keys)
    reason = f"tensor '{source}' dispatch key set mismatch. expected {expected}, actual {actual}"
    (recompile,) = report_of(tmp_path, (f"0/0: {reason}",)).recompiles
    assert ("copy_()" in recompile.causes[0].own_remedy) is is_buffer


def test_types_of_earlier_entries_are_listed_where_the_type_that_came_is_not_known(tmp_path: Path) -> None:
    """Ids may be left out, as where somebody shortens a list."""
    classes = ("gray.RandomGrayscale", "flip.RandomFlip", "affine.RandomAffine")
    path = tmp_path / "run.txt"
    lines = (f"0/{number}: ___check_type_id(self, ...), type=<class '...{name}'>\n" for number, name in enumerate(classes))
    path.write_text("".join(lines), encoding="utf-8")
    (alert,) = collect_alerts(analyze(load(path), debug=True), Repository()).alerts
    assert alert.sentence.endswith("to another type (other entries: RandomFlip, RandomAffine)")


def test_keys_that_the_line_of_the_guard_sets_are_added_by_the_code_itself(tmp_path: Path) -> None:
    report = report_of(tmp_path, ("0/0: len(td._dict) == 2    # self._dict[key] = value  # tensordict/_td.py:2486 in _set",))
    (item,) = report.recompiles
    assert item.causes[0].own_remedy.startswith("the code itself adds keys to this dict: add them before the first compiled call")


@pytest.mark.parametrize(("cell", "is_own"), [("2.py", False), ("1.py", True)])
def test_a_symbol_of_a_function_of_the_same_name_in_another_cell_is_not_of_this_one(cell: str, is_own: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    symbol = (
        f"create_env\ncreate_symbol s7 = 3 for L['x'].size()[0] [2, int_oo] return x + 1  # tmp/{cell}:3 in fn (builder.py:3382 in f)\n"
    )
    reason = "    - 3/0: tensor 'x' size mismatch at index 0. expected 3, actual 4\n"
    text = f"Recompiling function fn in /tmp/1.py:1\n    triggered by the following guard failure(s):\n{reason}\n{symbol}"
    path.write_text(text, encoding="utf-8")
    (item,) = analyze(load(path), debug=True).recompiles
    assert bool(item.compile.symbols) is is_own
