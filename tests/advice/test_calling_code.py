"""What the code around a call of compiled code does with what it passes or is returned, by the source file."""

from pathlib import Path

import make
import pytest

from shapelog.advice.dynamism.calling_code import CallingCode
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source

KEYS = Source("L['cache'].layers[0].keys")
CALL = "y = step(x, cache)"


def taker(file: Path, line: int, code: str = CALL) -> Compile:
    """A compile of ``step`` that a line of a file called."""
    frames = (
        {"filename": str(file), "line": line, "name": "main", "loc": code},
        {"filename": "/opt/torch/_dynamo/convert_frame.py", "line": 900, "name": "__call__", "loc": "result = self._inner_convert("},
    )
    symbol = {"symbol": "s1", "val": "12", "vr": "[2, int_oo]", "source": "L['x'].size()[0]", "user_stack": [], "stack": list(frames)}
    made = make.record("dynamo_start", {"stack": []}, id="0/0") + make.record("create_symbol", symbol, id="0/0")
    made += make.compile("0/0", make.tensor(12, 8), name="step", is_started=False)
    return make.load(make.trace(made)).frames[0].compiles[0]


def is_changed(folder: Path, *body: str, code: str = CALL) -> bool:
    """The same for a loop with a call of step, and these lines below it."""
    file = folder / "decode.py"
    lines = [
        "def main(x, cache, rows, seen):",
        "    cache.prepare()",
        "    for n in range(4):",
        *(f"        {line}" for line in (code, *body)),
    ]
    file.write_text("\n".join(lines) + "\n")
    return CallingCode().changes(taker(file, 4, code), KEYS)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("reorder(cache, rows)", True),
        ("reorder(rows, cache=cache)", True),
        ("cache.reorder_cache(rows)", True),
        ("cache.layers[0].crop(n)", True),
        ("if n: cache.crop(n)", True),
        ("cache = reorder(cache, rows)", True),
        ("cache.layers = [layer[rows] for layer in cache.layers]", True),
        ("length = cache.get_length()", False),
        ("cache = make_cache()", False),
        ("print(n, cache)", False),
        ("seen.append(cache)", False),
        ("reorder(seen, rows)", False),
        ("seen.cache = reorder(seen.cache)", False),
        ("x = y", False),
    ],
)
def test_a_statement_that_is_there_for_its_effect_on_the_object_changes_it(tmp_path: Path, line: str, expected: bool) -> None:
    assert is_changed(tmp_path, line) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.length += 1", False),
        ("self.layers = self.layers[:n]", True),
        ("self.layers[0] = self.layers[0][:n]", True),
        ("for layer in self.layers: layer.keys = layer.keys[:n]", True),
        ("self.layers[0].keys.zero_()", False),
        ("layer.keys, layer.values = cut(layer)", True),
    ],
)
def test_a_function_of_the_same_file_changes_what_it_assigns(tmp_path: Path, body: str, expected: bool) -> None:
    file = tmp_path / "decode.py"
    loop = f"for n in range(4):\n    {CALL}\n    cache.advance(n)\n"
    file.write_text(f"{loop}class Cache:\n    def advance(self, n):\n        {body}\n")
    assert CallingCode().changes(taker(file, 2), KEYS) is expected


def test_the_object_is_known_by_its_keyword_or_by_the_name_of_the_parameter(tmp_path: Path) -> None:
    assert is_changed(tmp_path, "past.crop(n)", code="y = step(x, cache=past)")
    assert not is_changed(tmp_path, "past.crop(n)", code="y = step(x, past)")
    assert not is_changed(tmp_path, "cache.crop(n)", code="y = step(x, **cache)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def main(x, cache):\n    y = step(x, cache)\n    cache.crop(1)\n",
        "for n in range(4):\n    def main(x, cache):\n        y = step(x, cache)\n    cache.crop(n)\n",
        "for n in range(4):\n    y = other(x, cache)\n    cache.crop(n)\n",
        "for n in range(4)\n    y = step(x, cache)\n    cache.crop(n)\n",
    ],
    ids=["no such line", "no loop", "a function within the loop", "changed since", "no Python"],
)
def test_without_a_loop_around_that_very_line_nothing_is_known(tmp_path: Path, text: str) -> None:
    file = tmp_path / "decode.py"
    file.write_text(text)
    number = next((number for number, line in enumerate(text.split("\n"), 1) if "step(" in line), 2)
    assert not CallingCode().changes(taker(file, number), KEYS)


def test_a_file_that_is_not_on_this_disk_shows_nothing(tmp_path: Path) -> None:
    assert not CallingCode().changes(taker(tmp_path / "missing.py", 4), KEYS)


@pytest.mark.parametrize(
    ("call", "end", "expected"),
    [
        (CALL, "return norm(y)", True),
        (CALL, "return self.norm(y)", True),
        (CALL, "return y", False),
        (CALL, "return (y, cache)", False),
        (CALL, "return Output(hidden=y)", False),
        (CALL, "return y if cache else norm(y)", False),
        (CALL, "self.y = norm(y)", False),
        ("return step(x, cache)", "return norm(x)", False),
    ],
)
def test_a_function_that_returns_what_another_call_makes_of_it_returns_another_tensor(
    tmp_path: Path, call: str, end: str, expected: bool
) -> None:
    """As a model normalizes what its last block returns, where the blocks are compiled one by one."""
    file = tmp_path / "model.py"
    file.write_text(f"def main(self, x, cache):\n    if x:\n        {call}\n    {end}\n")
    assert CallingCode().returns_another(taker(file, 3, call)) is expected
    assert not CallingCode().returns_another(taker(tmp_path / "missing.py", 3, call))


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("h = h.repeat_interleave(2, 0)", True),
        ("h = h + 1", True),
        ("h = h[:, :4]", True),
        ("h = expand(h)", True),
        ("h = h.to('cpu')", False),
        ("other = h + 1", False),
        ("if h is None: h = make()", False),
        ("return h.sum()", False),
    ],
)
def test_a_variable_that_is_assigned_between_two_calls_holds_another_tensor(tmp_path: Path, between: str, expected: bool) -> None:
    file, made, taken = tmp_path / "encode.py", "h = encode(x)", "y = step(h)"
    file.write_text(f"def main(x):\n    {made}\n    {between}\n    for n in range(4):\n        {taken}\n")
    calling = CallingCode()
    assert calling.makes_anew(taker(file, 2, made), taker(file, 5, taken), Source("L['h']")) is expected
    assert not calling.makes_anew(taker(file, 2, "h = other(x)"), taker(file, 5, taken), Source("L['h']"))  # the file has changed
