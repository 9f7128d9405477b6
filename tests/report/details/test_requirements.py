"""What the guards of a compile require of a call, as its user would write it."""

from pathlib import Path

from shapelog.api import analyze, load
from shapelog.report.details.requirements import Requirements, requirements_of

CPU = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
CUDA = "DispatchKeySet(CUDA, BackendSelect, ADInplaceOrView, AutogradCUDA)"
WEIGHT = "L['self']._modules['lin']._parameters['weight']"


def manager(source: str, *leaves: str) -> str:
    """A source with its guards, in the tree."""
    return "".join([f"| +- GuardManager: source={source}, accessed_by=X\n", *[f"| | +- {leaf}\n" for leaf in leaves]])


def tensor(source: str, size: str, stride: str, keys: str = CPU, device: str = "None", grad: bool = False) -> str:
    check = f"{source}, Tensor, {keys}, torch.float32, device={device}, requires_grad={grad}, size=[{size}], stride=[{stride}]"
    return manager(source, f"TENSOR_MATCH: check_tensor({check})")


def required(folder: Path, *guards: str) -> Requirements | None:
    log = folder / "guards.txt"
    log.write_text("TREE_GUARD_MANAGER:\n+- RootGuardManager\n" + "".join(guards), encoding="utf-8")
    report = analyze(load(log))
    (compile,) = report.trace.compiles
    assert not report.recompiles
    return requirements_of(compile)


def texts(folder: Path, *guards: str) -> list[str]:
    needed = required(folder, *guards)
    assert needed is not None
    return [item.text for item in needed.each]


def test_a_tensor_is_one_line_with_all_that_is_checked_of_it(tmp_path: Path) -> None:
    guards = tensor("L['x']", "3, 4", "4, 1"), tensor("L['y']", "None, 4", "4, 1", CUDA, "1", grad=True)
    assert texts(tmp_path, *guards) == ["x: float32 [3, 4] on cpu", "y: float32 [any, 4] on cuda:1, requires grad"]


def test_strides_are_shown_where_they_are_not_those_of_a_contiguous_tensor(tmp_path: Path) -> None:
    assert texts(tmp_path, tensor("L['x']", "3, 4", "1, 3")) == ["x: float32 [3, 4] on cpu, strides [1, 3]"]


def test_values_have_the_line_that_they_come_from(tmp_path: Path) -> None:
    guards = (
        manager("L['mode']", "EQUALS_MATCH: L['mode'] == 'train'  # if mode == 'train':  # app/net.py:7 in forward"),
        manager("L['mask']", "ID_MATCH: L['mask'] is None"),
        manager("L['xs']", "LENGTH_CHECK: len(L['xs']) == 3"),
        manager("L['d']", "DICT_CONTAINS: not ___dict_contains('k', L['d'])"),
    )
    needed = required(tmp_path, *guards)
    assert needed is not None
    assert [item.text for item in needed.each] == ["mode == 'train'", "mask is None", "len(xs) == 3", "'k' not in d"]
    place = needed.each[0].place
    assert (str(place), place and place.code) == ("app/net.py:7", "if mode == 'train':")


def test_one_tensor_with_two_names(tmp_path: Path) -> None:
    alias = "| +- OBJECT_ALIASING: L['x'] is L['y']\n"
    assert texts(tmp_path, tensor("L['x']", "3", "1"), alias) == ["x: float32 [3] on cpu", "x is the same tensor as y"]


def test_what_a_call_brings_comes_before_what_code_has(tmp_path: Path) -> None:
    guards = (
        manager("G['scale']", "EQUALS_MATCH: G['scale'] == 2"),
        manager("L['f'].__defaults__[0]", "EQUALS_MATCH: L['f'].__defaults__[0] == 5"),
        manager("L['self'].p", "EQUALS_MATCH: L['self'].p == 0.5  # return F.dropout(x)  # nn/modules/dropout.py:73 in forward"),
        manager("L['k']", "EQUALS_MATCH: L['k'] == 3  # return x * k  # app/net.py:8 in forward"),
        "+- LAMBDA_GUARD: -9223372036854775808 <= L['n']\n",  # torch 2.4
        "+- LAMBDA_GUARD: L['x'].size()[0] <= 30  # if len(x) <= 30:  # app/net.py:9 in forward\n",
        tensor("L['x']", "None", "1"),
    )
    assert texts(tmp_path, *guards) == [
        "x: float32 [any] on cpu",
        "x.size()[0] <= 30",
        "k == 3",
        "self.p == 0.5",
        "scale == 2",
        "f.__defaults__[0] == 5",
    ]


def test_what_every_module_has_is_counted(tmp_path: Path) -> None:
    needed = required(tmp_path, manager("L['self']", "TYPE_MATCH: ___check_type_id(L['self'], 5)"), tensor(WEIGHT, "4, 8", "8, 1"))
    assert needed == Requirements((), ("the sizes and dtypes of 1 parameter", "the type or identity of 1 object"))


def test_guards_that_every_call_meets_are_nothing_to_show(tmp_path: Path) -> None:
    assert required(tmp_path, "| +- GLOBAL_STATE: ___check_global_state()\n") is None
