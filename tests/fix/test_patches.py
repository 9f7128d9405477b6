"""Where marks are put, for one program after another, and why they are not."""

from pathlib import Path
from typing import Any

import make
import pytest
from make import compile as compiled
from payload_text import guard_manager, size_mismatch
from programs import LIBRARY, line_of, recorded, recorded_at

from shapelog.fix.arguments import parameter_name
from shapelog.fix.patches import Fix, patches_for
from shapelog.model.ids import parse_version
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository

HEAD = """import torch


@torch.compile
def f(x):
    return x * 2


"""


def fixed(folder: Path, text: str, call: str, is_old: bool = False, **more: Any) -> Fix:
    """What is made of a program; ``is_old`` for a torch that reads no list of sources, so that what cannot be marked is refused."""
    path = folder / "train.py"
    path.write_bytes(text.encode())
    report = analyze(make.load(recorded(path, text, call, version="2.6.0" if is_old else "2.13.0+cpu", **more)))
    assert report.advice is not None
    assert str(report.advice.version) == str(parse_version("2.6.0" if is_old else "2.13.0"))
    return patches_for(report, report.advice, Repository(str(folder)))


def refusal(folder: Path, text: str, call: str, **more: Any) -> str:
    found = fixed(folder, text, call, is_old=True, **more)
    assert (found.placed, found.patches) == ((), ())
    (left,) = found.not_placed
    return left.reason


def added(before: str, fix: Fix) -> list[str]:
    """The lines of the changed file that the program did not have."""
    (patch,) = fix.patches
    return [line for line in patch.after.splitlines() if line not in before.splitlines()]


MARK = "torch._dynamo.mark_dynamic({}, 0)"
MARKED = [
    ("f(batch)\n", "f(", [MARK.format("batch")]),
    ("out = f(x=batch)\n", "out", [MARK.format("batch")]),
    ("for batch in data:\n    out = f(batch).sum().item()\n", "out", ["    " + MARK.format("batch")]),
    ("for batch in data:\n\tout = f(batch)\n", "out", ["\t" + MARK.format("batch")]),
    ("f(self.batch)\n", "f(", [MARK.format("self.batch")]),
    ("f(batch['ids'])\n", "f(", [MARK.format("batch['ids']")]),
    ("if f(batch).any():\n    pass\n", "if", [MARK.format("batch")]),
    ("assert f(batch).all()\n", "assert", [MARK.format("batch")]),
    ("for y in f(batch):\n    pass\n", "for", [MARK.format("batch")]),
    ("print(f(batch), len(data))\n", "print", [MARK.format("batch")]),
    ("out = f(\n    batch,\n)\n", "out", [MARK.format("batch")]),
    ("g = f\ng(batch)\n", "g(", [MARK.format("batch")]),
    ("f(batch); done = True\n", "f(", [MARK.format("batch")]),
    ("é = 1\nf(é_batch)\n", "f(", [MARK.format("é_batch")]),
]


@pytest.mark.parametrize(("body", "call", "lines"), MARKED, ids=[body for body, *_ in MARKED])
def test_an_argument_with_a_name_is_marked_before_the_statement(tmp_path: Path, body: str, call: str, lines: list[str]) -> None:
    found = fixed(tmp_path, HEAD + body, call)
    assert added(HEAD + body, found) == lines
    assert [item.is_listed for item in found.placed] == [False]


@pytest.mark.parametrize(
    ("other", "function"), [(compiled("9/0", make.tensor(3, 4), co_name="g"), "maybe_mark_dynamic"), (b"", "mark_dynamic")]
)
@pytest.mark.parametrize(("last", "is_used"), [("batch", True), ("out", False)])
def test_a_tensor_that_other_compiled_code_may_take_has_no_strict_mark(
    other: bytes, function: str, last: str, is_used: bool, tmp_path: Path
) -> None:
    """That code may need the size, and would raise."""
    text = f"{HEAD}def run(batch):\n    out = f(batch)\n    return g({last})\n"
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    report = analyze(make.load(recorded(path, text, "out = f") + other))
    assert report.advice is not None
    found = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert added(text, found) == [f"    torch._dynamo.{function if is_used else 'mark_dynamic'}(batch, 0)"]


HOISTED = [
    ("f(data[:n])\n", "f(", ["x = data[:n]", MARK.format("x"), "f(x)"]),
    ("out = f(data[0])\n", "out", ["x = data[0]", MARK.format("x"), "out = f(x)"]),
    ("f(batch.T)\n", "f(", ["x = batch.T", MARK.format("x"), "f(x)"]),
    ("total += f(torch.rand(n)).sum()\n", "total", ["x = torch.rand(n)", MARK.format("x"), "total += f(x).sum()"]),
    ("x_of = x = 1\nf(data[1])\n", "f(", ["x_2 = data[1]", MARK.format("x_2"), "f(x_2)"]),
    ("loss = loss + f(data[1])\n", "loss", ["x = data[1]", MARK.format("x"), "loss = loss + f(x)"]),
    ("f(torch.cat((a,\n   b)))\n", "f(", ["x = (torch.cat((a,", MARK.format("x"), "f(x)"]),
    ("f((y for y in z))\n", "f(", ["x = ((y for y in z))", MARK.format("x"), "f(x)"]),
]


@pytest.mark.parametrize(("body", "call", "lines"), HOISTED, ids=[body for body, *_ in HOISTED])
def test_an_expression_becomes_a_local_where_nothing_is_evaluated_before_it(tmp_path: Path, body: str, call: str, lines: list[str]) -> None:
    assert added(HEAD + body, fixed(tmp_path, HEAD + body, call)) == lines


def test_expressions_before_a_marked_one_keep_their_order(tmp_path: Path) -> None:
    head = HEAD.replace("f(x)", "f(a, x)")
    found = fixed(tmp_path, head + "f(make(), make())\n", "f(")
    assert added(head, found) == ["argument_0 = make()", "x = make()", MARK.format("x"), "f(argument_0, x)"]


REFUSED = [
    ("total = g() + f(data[:n])\n", "total", "train.py:9: x is passed as an expression that cannot be moved out of its statement"),
    ("g = lambda n: f(n)\n", "g =", "the call is in a lambda"),
    ("y = [f(x) for x in data]\n", "y", "the call is in a comprehension"),
    ("y = ready and f(x)\n", "y", "the call is in an expression that does not always evaluate it"),
    ("y = f(x) if ready else 0\n", "y", "the call is in an expression that does not always evaluate it"),
    ("while f(x) < 9: pass\n", "while", "the call is in the head of a compound statement"),
    ("if a: pass\nelif f(x): pass\n", "elif", "the call is in the condition of an elif"),
    ("for n in data: f(n)\n", "for", "train.py:9: the statement shares its line with another one"),
    ("f(*data)\n", "f(", "no call on line 9 is known to be one of the compiled code"),
    ("step(1, f, x)\n", "step", "no call on line 9 is known to be one of the compiled code"),
    ("g(h(x))\n", "g(", "more than one call on line 9 may be that of the compiled code"),
    ("f(None)\n", "f(", "train.py:9: the call passes a constant for x"),
    ("y = (x := g()) and 1, f(x)\n", "y", "the statement assigns names in the middle of an expression"),
]


@pytest.mark.parametrize(("body", "call", "reason"), REFUSED, ids=[body for body, *_ in REFUSED])
def test_what_cannot_be_placed_is_refused_with_the_reason(tmp_path: Path, body: str, call: str, reason: str) -> None:
    assert refusal(tmp_path, HEAD + body, call) == f"{reason}; torch 2.6 reads no list of dynamic sources"


def test_what_cannot_be_marked_before_its_call_goes_on_the_list_after_the_imports(tmp_path: Path) -> None:
    found = fixed(tmp_path, HEAD + "y = [f(x) for x in data]\n", "y")
    (patch,) = found.patches
    assert patch.after.startswith("import torch\n\ntorch.compiler.config.dynamic_sources = \"L['x']:0\"\n\n\n@torch.compile")
    assert [(item.is_listed, item.because) for item in found.placed] == [(True, "the call is in a comprehension")]


def test_what_another_function_needs_too_goes_on_the_list_where_the_trace_lacks_the_line_that_calls_that_one(tmp_path: Path) -> None:
    text = HEAD + "@torch.compile\ndef g(x):\n    return x + 1\n\n\nf(batch)\nrun(g)\n"
    path = tmp_path / "train.py"
    path.write_text(text)
    where: dict[str, Any] = {"name": "g", "file": str(path), "line": line_of(text, "def g") - 1}
    other = [
        compiled("1/0", make.tensor(8, 16), **where),
        compiled("1/1", make.tensor(3, 16), reasons=[size_mismatch("1/0", 8, 3)], dynamic=[0], **where),
    ]
    report = analyze(make.load(recorded(path, text, "f(batch)") + b"".join(other)))
    assert report.advice
    fix = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert [(item.is_listed, item.because) for item in fix.placed] == [(True, "the trace does not name the line that calls g")]
    assert added(text, fix) == ["torch.compiler.config.dynamic_sources = \"L['x']:0\""]


@pytest.mark.parametrize(
    ("sizes", "because"),
    [((), "the call of 0/2 does not pass it as a tensor"), ((4,), "in 0/2 it has only 1 dimension")],
    ids=["without it", "of another rank"],
)
def test_a_call_that_cannot_be_marked_like_the_others_is_named(tmp_path: Path, sizes: tuple[int, ...], because: str) -> None:
    text = HEAD + "f(batch)\n"
    path = tmp_path / "train.py"
    path.write_text(text)
    # dim 1 of x changed, then another call passes another tensor, or one without that dim
    made = recorded(path, text, "f(batch)").replace(b"mismatch at index 0", b"mismatch at index 1")
    other = make.tensor(*sizes) if sizes else make.tensor(3, source="L['other']")
    made += compiled("0/2", other, file=str(path), line=line_of(text, "@torch.compile"))
    report = analyze(make.load(made))
    assert report.advice
    fix = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert [item.because for item in fix.placed] == [because]


def test_a_list_that_the_program_sets_already_is_left_alone(tmp_path: Path) -> None:
    text = HEAD.replace("\n\n\n@", "\ntorch.compiler.config.dynamic_sources = 'a'\n\n@") + "y = [f(x) for x in data]\n"
    (left,) = fixed(tmp_path, text, "y").not_placed
    assert left.reason == "the call is in a comprehension; train.py:2 sets dynamic_sources already: add L['x']:0"


def test_all_calls_by_the_same_name_are_marked(tmp_path: Path) -> None:
    body = "f(a)\nf(b)\n\n\ndef again(c):\n    f(c)\n\n\ndef other(f, d):\n    f(d)\n"
    lines = [MARK.format("a"), MARK.format("b"), "    " + MARK.format("c")]
    assert added(HEAD + body, fixed(tmp_path, HEAD + body, "f(a)")) == lines


def test_calls_by_another_name_of_the_code_are_marked(tmp_path: Path) -> None:
    text = HEAD.replace("@torch.compile\n", "") + "one = torch.compile(f)\nother = torch.compile(f, fullgraph=True)\none(a)\nother(b)\n"
    assert added(text, fixed(tmp_path, text, "one(", definition="def f")) == [MARK.format("a"), MARK.format("b")]


def test_torch_is_imported_where_it_is_not(tmp_path: Path) -> None:
    text = (
        '"""Doc."""\n\nfrom __future__ import annotations\nfrom torch import compile\n\n\n@compile\ndef f(x):\n    return x\n\n\nf(batch)\n'
    )
    found = fixed(tmp_path, text, "f(", definition="@compile")
    assert added(text, found) == ["import torch", MARK.format("batch")]
    assert "from torch import compile\nimport torch\n" in found.patches[0].after


def test_another_name_of_torch_is_used(tmp_path: Path) -> None:
    text = HEAD.replace("torch", "th").replace("import th", "import torch as th") + "f(batch)\n"
    assert added(text, fixed(tmp_path, text, "f(", definition="@th.compile")) == ["th._dynamo.mark_dynamic(batch, 0)"]


MODULE = """import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x


class Head(nn.Module):
    def forward(self, x):
        return x


net = torch.compile(Net().eval())
head = torch.compile(Head())
"""


def test_the_class_behind_a_name_decides_which_of_two_calls_is_meant(tmp_path: Path) -> None:
    body = "out = head(net(batch))\n"
    found = fixed(tmp_path, MODULE + body, "out", name="forward", definition="def forward(self, x)", more_guards=[TYPE])
    assert added(MODULE + body, found) == [MARK.format("batch")]


FORWARD: dict[str, Any] = {"name": "forward", "definition": "def forward(self, x)"}
TYPE = guard_manager("L['self']", "TYPE_MATCH: ___check_type_id(L['self'], 7)", type="__main__.Net")


def test_code_that_a_library_calls_is_refused(tmp_path: Path) -> None:
    between = [{"line": 7, "name": "fit", "filename": f"{LIBRARY}/lightning/fit.py", "loc": "model(x)"}]
    reason = refusal(tmp_path, HEAD + "fit(f, x)\n", "fit", between=between)
    assert reason.startswith("fit.py belongs to an installed package, which is never changed; ")


def test_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    text = HEAD + "f(batch)\n"
    path = tmp_path / "train.py"
    path.write_text("# another line\n" + text)
    report = analyze(make.load(recorded(path, text, "f(")))
    assert report.advice
    found = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert [item.reason for item in found.not_placed] == ["train.py has changed since the trace was recorded (line 9)"]


def test_a_file_outside_of_the_source_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    text = HEAD + "f(batch)\n"
    path = tmp_path / "train.py"
    path.write_text(text)
    report = analyze(make.load(recorded(path, text, "f(")))
    assert report.advice
    root = str(tmp_path / "inside")
    found = patches_for(report, report.advice, Repository(root))
    missing = f"train.py is not found below {root}: run this where the program ran, or pass --source-root"
    assert [item.reason for item in found.not_placed] == [missing]
    (tmp_path / "inside" / "train.py").symlink_to(path)
    found = patches_for(report, report.advice, Repository(str(tmp_path / "inside")))
    assert [item.reason for item in found.not_placed] == ["train.py is not below the source root (see --source-root)"]


def test_a_call_inside_compiled_code_is_refused(tmp_path: Path) -> None:
    text = HEAD + "\n@torch.compile\ndef outer(x):\n    print(1)\n    return f(x)\n\n\nouter(x)\n"
    path = tmp_path / "train.py"
    path.write_text(text)
    outer = make.compile("1/0", make.tensor(8, 16), name="outer", file=str(path), line=10)
    report = analyze(make.load(recorded(path, text, "return f(x)") + outer))
    assert report.advice
    found = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert [item.because for item in found.placed] == ["the call is inside outer, which is compiled itself"]


def test_an_argument_of_a_library_is_named_by_its_keyword(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    text = "import torch\n\nmodel = torch.compile(Model())\nmodel(input_ids=data[:n], labels=make())\n"
    path.write_text(text)
    stack = [{"line": 4, "name": "<module>", "filename": str(path), "loc": text.splitlines()[3]}]
    file = f"{LIBRARY}/transformers/utils/generic.py"
    data = recorded_at(path, 933, stack, "wrapper", source="L['kwargs']['input_ids']")
    data = data.replace(b'"co_filename": "' + str(path).encode(), b'"co_filename": "' + file.encode())
    data = data.replace(b'"name": "wrapper", "filename": "' + str(path).encode(), b'"name": "wrapper", "filename": "' + file.encode())
    report = analyze(make.load(data))
    assert report.advice
    found = patches_for(report, report.advice, Repository(str(tmp_path)))
    assert [item.because for item in found.placed] == [""]
    assert added(text, found) == ["input_ids = data[:n]", MARK.format("input_ids"), "model(input_ids=input_ids, labels=make())"]


MAPPED = [
    ("f(**batch)\n", [MARK.format("batch['x']")]),
    ("f(**self.batch, y=1)\n", [MARK.format("self.batch['x']")]),
    ('f(**data["a"])  # "\n', [MARK.format('data["a"]["x"]')]),
    ("f(**make(n))\n", ["inputs = make(n)", MARK.format("inputs['x']"), "f(**inputs)"]),
    ("f(x, **more)\n", [MARK.format("x")]),
]


@pytest.mark.parametrize(("body", "lines"), MAPPED, ids=[body for body, _ in MAPPED])
def test_an_item_of_a_mapping_that_is_passed_with_stars_is_marked(tmp_path: Path, body: str, lines: list[str]) -> None:
    text = HEAD.replace("f(x)", "f(x, y=None)") + body
    assert added(text, fixed(tmp_path, text, "f(")) == lines


def test_an_item_of_a_mapping_is_found_below_kwargs(tmp_path: Path) -> None:
    text = HEAD.replace("f(x)", "f(**kwargs)") + "f(**batch)\n"
    assert added(text, fixed(tmp_path, text, "f(", source="L['kwargs']['x']")) == [MARK.format("batch['x']")]


def test_a_mapping_that_the_trace_does_not_show_may_lack_an_item(tmp_path: Path) -> None:
    text = HEAD + "f(**batch)\nprint(f(**other))\n"
    assert refusal(tmp_path, text, "f(").startswith("train.py:10: what the call passes with ** may lack it; ")


def test_making_the_object_is_no_call_of_its_method(tmp_path: Path) -> None:
    init = "class Net(nn.Module):\n    def __init__(self, size):\n        self.size = size\n\n"
    text = MODULE.replace("class Net(nn.Module):\n", init, 1).replace("Net()", "Net(16)") + "net(batch)\n"
    found = fixed(tmp_path, text, "net(", **{**FORWARD, "definition": "def forward"})
    assert added(text, found) == [MARK.format("batch")]


ATTRIBUTES = [
    ("net(batch)\n", ["net.cache"]),
    ("net.forward(batch)\n", ["net.cache"]),
    ("Net.forward(net, batch)\n", ["net.cache"]),
    (
        "class Trainer:\n    def __init__(self):\n        self.net = Net()\n\n    def run(self):\n        self.net(batch)\n",
        ["self.net.cache"],
    ),
]


@pytest.mark.parametrize(("body", "names"), ATTRIBUTES, ids=[body.splitlines()[-1] for body, _ in ATTRIBUTES])
def test_an_attribute_of_the_object_that_is_called_is_marked(tmp_path: Path, body: str, names: list[str]) -> None:
    found = fixed(tmp_path, MODULE + body, body.splitlines()[-1].strip(), source="L['self'].cache", **FORWARD)
    assert [line.strip() for line in added(MODULE + body, found)] == [MARK.format(name) for name in names]


@pytest.mark.parametrize("call", ["build()(batch)", "step(batch)"])
def test_an_object_that_the_call_does_not_show_is_not_marked(tmp_path: Path, call: str) -> None:
    text = MODULE + f"step = Net().forward\n{call}\n"
    reason = refusal(tmp_path, text, call, source="L['self'].cache", **FORWARD)
    assert reason.startswith(("the call does not name the object that has it", "no call on line 18"))


def test_a_global_variable_is_marked_where_its_module_makes_the_call(tmp_path: Path) -> None:
    text = HEAD + "table = f\nf(batch)\n"
    assert added(text, fixed(tmp_path, text, "f(", source="G['table']")) == [MARK.format("table")]


@pytest.mark.parametrize("body", ["f(batch)\n", "def run(table):\n    f(batch)\n\n\ntable = 1\n"])
def test_a_global_variable_with_another_meaning_at_the_call_is_not_marked(tmp_path: Path, body: str) -> None:
    reason = refusal(tmp_path, HEAD + body, "f(", source="G['table']")
    assert reason.startswith("it is a global variable that has no name where the call is; ")


@pytest.mark.parametrize(
    ("source", "name"), [("L['class']", "class"), ("L['args'][0]", "argument"), ("L['kwargs']['k']", "k"), ("G['x']", "argument")]
)
def test_a_parameter_has_the_name_that_the_code_gives_it(source: str, name: str) -> None:
    assert parameter_name(source) == name
