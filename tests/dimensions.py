"""Traces that one number makes larger: a dimension each, for the test and the benchmark of how the work grows with them."""

import json
from collections.abc import Callable, Iterator

import vllm_traces
from make import (
    FAILED,
    MODEL,
    artifact,
    compile,
    describe,
    int_values,
    line,
    metrics,
    record,
    refused,
    split_records,
    strings,
    tensor,
    torch_version,
    trace,
    with_collectives,
)
from payload_text import code_comment, equals_match, graph_text, guard_manager, guard_tree, size_mismatch, tensor_match

DIMENSIONS: dict[str, Callable[[int], bytes]] = {}
# Those whose trace grows with the square of their number.
SQUARE = {"one of many tensors varies in each compile", "compiles with all reasons", "functions that call one another, with whole stacks"}


def dimension(name: str) -> Callable[[Callable[[int], bytes]], Callable[[int], bytes]]:
    def register(make: Callable[[int], bytes]) -> Callable[[int], bytes]:
        DIMENSIONS[name] = make
        return make

    return register


def _pair(frame: int, **more: object) -> bytes:
    """A function compiled for two sizes of its tensor."""
    return _first(frame, **more) + _second(frame, **more)


def _first(frame: int, **more: object) -> bytes:
    return compile(f"{frame}/0", tensor(8, 16), **{"name": f"f{frame}", "line": frame + 5, **more})  # type: ignore[arg-type]


def _second(frame: int, **more: object) -> bytes:
    reasons = [size_mismatch(f"{frame}/0", 8, 3)]
    return compile(f"{frame}/1", tensor(3, 16), reasons=reasons, **{"name": f"f{frame}", "line": frame + 5, **more})  # type: ignore[arg-type]


def _sized(number: int, reasons: list[str] | None) -> bytes:
    return compile(f"0/{number}", tensor(number + 3, 16), reasons=reasons)


def _int(value: int, name: str = "n") -> str:
    return equals_match(f"L['{name}']", value, comment=code_comment(6, "return x * n"))


@dimension("frames")
def _(n: int) -> bytes:
    return trace(*(_first(frame) for frame in range(n)))


@dimension("frames that recompile")
def _(n: int) -> bytes:
    return trace(*(_pair(frame) for frame in range(n)))


@dimension("frames in many files")
def _(n: int) -> bytes:
    return trace(*(_pair(frame, file=f"/srv/a{frame}/b{frame}.py") for frame in range(n)))


@dimension("functions of one name")
def _(n: int) -> bytes:
    return trace(*(_pair(frame, name="f") for frame in range(n)))


@dimension("frames that recompile for an int of their own")
def _(n: int) -> bytes:
    def made(frame: int) -> bytes:
        name = f"v{frame}"
        where = {"name": f"f{frame}", "line": frame + 5}
        first = compile(f"{frame}/0", tensor(8, 16), more_guards=[_int(5, name)], **where)  # type: ignore[arg-type]
        why = [f"{frame}/0: L['{name}'] == 5"]
        return first + compile(f"{frame}/1", tensor(8, 16), more_guards=[_int(7, name)], reasons=why, **where)  # type: ignore[arg-type]

    return trace(*map(made, range(n)))


@dimension("frames that recompile for a tensor of their own")
def _(n: int) -> bytes:
    def made(frame: int) -> bytes:
        source = f"L['x{frame}']"
        where = {"name": f"f{frame}", "line": frame + 5}
        first = compile(f"{frame}/0", tensor(8, 16, source=source), **where)  # type: ignore[arg-type]
        why = [size_mismatch(f"{frame}/0", 8, 3, name=f"x{frame}")]
        return first + compile(f"{frame}/1", tensor(3, 16, source=source), reasons=why, **where)  # type: ignore[arg-type]

    return trace(*map(made, range(n)))


@dimension("compiles of one frame, one reason each")
def _(n: int) -> bytes:
    return trace(*(_sized(number, [size_mismatch("0/0", 3, number + 3)] if number else []) for number in range(n)))


@dimension("compiles of one frame without reasons")
def _(n: int) -> bytes:
    return trace(*(_sized(number, None) for number in range(n)))


@dimension("compiles of one frame with reasons and no guards")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        reasons = [size_mismatch(f"0/{number - 1}", number + 2, number + 3)] if number else []
        return compile(f"0/{number}", tensor(number + 3, 16), guards="", reasons=reasons, has_guarded_code=True)

    return trace(*map(made, range(n)))


@dimension("compiles with all reasons")
def _(n: int) -> bytes:
    return trace(*(_sized(number, [size_mismatch(f"0/{other}", other + 3, number + 3) for other in range(number)]) for number in range(n)))


@dimension("compiles of one frame for values of an int")
def _(n: int) -> bytes:
    return trace(int_values(*range(2, n + 2)))


@dimension("compiles of one frame for another attribute each")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        reasons = [f"0/{number - 1}: L['self'].a{number} == 'a'"] if number else []
        own = [equals_match(f"L['self'].a{other}", "b" if other == number else "a", "str") for other in (number, number + 1)]
        return compile(f"0/{number}", tensor(8, 16), more_guards=own, reasons=reasons)

    return trace(*map(made, range(n)))


@dimension("compiles of one frame for another int each")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        reasons = [f"0/{number - 1}: L['v{number - 1}'] == 3"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=[_int(3, f"v{number}")], reasons=reasons)

    return trace(*map(made, range(n)))


@dimension("compiles of one frame for another tensor each")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        reasons = [size_mismatch(f"0/{number - 1}", 8, 3, name=f"t{number - 1}")] if number else []
        own = [tensor(3 if item < number else 8, 16, source=f"L['t{item}']") for item in (number - 1, number) if item >= 0]
        return compile(f"0/{number}", *own, reasons=reasons)

    return trace(*map(made, range(n)))


@dimension("compiles of one frame with another size in each of six dims")
def _(n: int) -> bytes:
    def sizes(number: int) -> list[int]:
        return [number * (dim + 1) % 97 + 2 for dim in range(6)]

    def made(number: int) -> bytes:
        dim = number % 6
        reasons = [size_mismatch(f"0/{number - 1}", sizes(number - 1)[dim], sizes(number)[dim], dim)] if number else []
        return compile(f"0/{number}", tensor(*sizes(number)), reasons=reasons)

    return trace(*map(made, range(n)))


@dimension("compiles of a frame that became dynamic")
def _(n: int) -> bytes:
    later = (
        compile(f"0/{number}", tensor(8, 16), dynamic=[0], reasons=[f"0/{number - 1}: L['n'] == {number - 1}"], more_guards=[_int(number)])
        for number in range(2, n + 2)
    )
    return trace(_first(0), _second(0, dynamic=[0]), *later)


@dimension("guards of a frame that stay the same")
def _(n: int) -> bytes:
    more = [_int(number, f"v{number}") for number in range(n)]
    return trace(_pair(0, more_guards=more))


@dimension("guards of a frame that vary")
def _(n: int) -> bytes:
    def more(step: int) -> list[str]:
        return [_int(number + step, f"v{number}") for number in range(n)]

    return trace(
        compile("0/0", tensor(8, 16), more_guards=more(2)),
        compile("0/1", tensor(8, 16), more_guards=more(100_000), reasons=["0/0: L['v0'] == 2"]),
    )


@dimension("guards that vary in eight compiles")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        more = [_int(item + 1000 * number, f"v{item}") for item in range(n)]
        reasons = [f"0/{number - 1}: L['v0'] == {1000 * (number - 1)}"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=more, reasons=reasons)

    return trace(*map(made, range(8)))


@dimension("guards on shapes")
def _(n: int) -> bytes:
    inputs = [tensor(8, 4, source=f"L['x{number}']") for number in range(n)]
    shapes = [f"2 <= L['x{number}'].size()[0] <= {number + 9}  {code_comment(6, 'x')}" for number in range(n)]
    guards = guard_tree(*(tensor_match(item.source, (None, 4)) for item in inputs), shapes=shapes)
    again = [tensor(3, 4, source=item.source) for item in inputs]
    why = [size_mismatch("0/0", 8, 3, name="x0")]
    return trace(compile("0/0", *inputs, guards=guards, dynamic=[0]), compile("0/1", *again, guards=guards, dynamic=[0], reasons=why))


@dimension("shapes that are violated")
def _(n: int) -> bytes:
    inputs = [tensor(8, 4, source=f"L['x{number}']") for number in range(n)]
    shapes = [f"5 <= L['x{number}'].size()[0]  {code_comment(6, 'x')}" for number in range(n)]
    guards = guard_tree(*(tensor_match(item.source, (None, 4)) for item in inputs), shapes=shapes)
    again = [tensor(3, 4, source=item.source) for item in inputs]
    symbols = [(f"s{number}", 8, f"{item.source}.size()[0]") for number, item in enumerate(inputs)]
    first, second = ({"guards": guards, "symbols": symbols} for _ in range(2))
    return trace(compile("0/0", *inputs, **first), compile("0/1", *again, **second, reasons=["0/0: 5 <= L['x0'].size()[0]"]))  # type: ignore[arg-type]


@dimension("attributes of a module that vary")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        more = [equals_match(f"L['self']._modules['layer{item}'].k", item + 1000 * number) for item in range(n)]
        reasons = ["0/0: L['self']._modules['layer0'].k == 0"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=more, reasons=reasons)

    return trace(*map(made, range(2)))


@dimension("keys of a dict that vary")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        more = [equals_match(f"list(dict.keys(L['d']))[{item}]", f"k{item + number}", "str") for item in range(n)]
        reasons = ["0/0: list(dict.keys(L['d']))[0] == 'k0'"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=more, reasons=reasons)

    return trace(*map(made, range(2)))


@dimension("types that vary")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        more = [guard_manager(f"L['o{item}']", f"TYPE_MATCH: ___check_type_id(L['o{item}'], {number + 1})") for item in range(n)]
        reasons = ["0/0: ___check_type_id(L['o0'], 1)"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=more, reasons=reasons)

    return trace(*map(made, range(2)))


@dimension("arguments whose length varies")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        lengths = [(f"L['args'][{item}]", 3 + number) for item in range(n)]
        more = [guard_manager(source, f"LENGTH_CHECK: len({source}) == {length}", type="list") for source, length in lengths]
        reasons = ["0/0: len(L['args'][0]) == 3"] if number else []
        return compile(f"0/{number}", tensor(8, 16), more_guards=more, reasons=reasons)

    return trace(*map(made, range(2)))


def _many_tensors(n: int, *lengths: int, version: str = "2.13.0+cpu") -> bytes:
    def made(number: int, length: int) -> bytes:
        inputs = [tensor(length, 16, source=f"L['t{item}']") for item in range(n)]
        return compile(f"0/{number}", *inputs, reasons=[size_mismatch("0/0", lengths[0], length, name="t0")] if number else [])

    return trace(*(made(number, length) for number, length in enumerate(lengths)), version=version)


@dimension("tensors of a frame that vary")
def _(n: int) -> bytes:
    return _many_tensors(n, 8, 3)


@dimension("tensors that vary in four compiles")
def _(n: int) -> bytes:
    return _many_tensors(n, 8, 3, 5, 9)


@dimension("tensors of a frame that vary, in an old version")
def _(n: int) -> bytes:
    return _many_tensors(n, 8, 3, version="2.7.0")


@dimension("tensors of a frame that become dynamic")
def _(n: int) -> bytes:
    lengths, inputs = (8, 3, 5), [f"L['t{item}']" for item in range(n)]

    def made(number: int, length: int) -> bytes:
        sized = [tensor(length + item, 16, source=source) for item, source in enumerate(inputs)]
        guards = guard_tree(*(tensor_match(item.source, (None if number else item.size[0], 16)) for item in sized))
        symbols = [(f"s{item}", length + item, f"{source}.size()[0]") for item, source in enumerate(inputs)] if number else []
        special = [_specialization(item, f"{source}.size()[0]") for item, source in enumerate(inputs)] if number == 2 else []
        reasons = [size_mismatch(f"0/{number - 1}", lengths[number - 1], length, name="t0")] if number else []
        return compile(f"0/{number}", *sized, guards=guards, symbols=symbols, specializations=special, reasons=reasons)

    return trace(*(made(*item) for item in enumerate(lengths)))


@dimension("tensors that are specialized, and vary")
def _(n: int) -> bytes:
    sources = [f"L['t{item}']" for item in range(n)]
    guards = [guard_tree(*(tensor_match(source, (length, 16)) for source in sources)) for length in (8, 3)]
    special = [_specialization(item, f"{source}.size()[0]") for item, source in enumerate(sources)]
    symbols = [(f"s{item}", 3, f"{source}.size()[0]") for item, source in enumerate(sources)]

    def made(number: int, length: int) -> bytes:
        inputs = [tensor(length, 16, source=source) for source in sources]
        reasons = [size_mismatch("0/0", 8, 3, name="t0")] if number else []
        own = {"symbols": symbols, "specializations": special} if number else {}
        return compile(f"0/{number}", *inputs, guards=guards[number], reasons=reasons, **own)  # type: ignore[arg-type]

    return trace(*(made(*item) for item in enumerate((8, 3))))


@dimension("tensors that are transposed")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        stride = ((16, 1), (1, 8))[number]
        inputs = [tensor(8, 16, stride=stride, source=f"L['t{item}']") for item in range(n)]
        return compile(
            f"0/{number}", *inputs, reasons=["0/0: tensor 't0' stride mismatch at index 0. expected 16, actual 1"] if number else []
        )

    return trace(*map(made, range(2)))


@dimension("tensors that shared a size")
def _(n: int) -> bytes:
    sources = [f"L['t{item}']" for item in range(n)]
    why = "# duck sizing added this equality because these variables had the same size 8"
    shapes = [f"{source}.size()[0] == {sources[0]}.size()[0]  {why}" for source in sources[1:]]
    guards = guard_tree(*(tensor_match(source, (None, 16)) for source in sources), shapes=shapes)
    symbols = [("s0", 8, f"{sources[0]}.size()[0]")]
    first = compile("0/0", *(tensor(8, 16, source=source) for source in sources), guards=guards, symbols=symbols)
    reasons = [f"0/0: {shape}" for shape in shapes[:1]]
    later = [tensor(8 + item % 2, 16, source=source) for item, source in enumerate(sources)]
    return trace(first, compile("0/1", *later, guards=guards, symbols=symbols, reasons=reasons))


@dimension("tensors of a frame that stay the same")
def _(n: int) -> bytes:
    inputs = [tensor(8, 16, source=f"L['t{item}']") for item in range(n)]
    why = [size_mismatch("0/0", 8, 3)]
    return trace(compile("0/0", tensor(8, 16), *inputs), compile("0/1", tensor(3, 16), *inputs, reasons=why))


@dimension("one of many tensors varies in each compile")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        inputs = [tensor(3 if item == number else 8, 16, source=f"L['t{item}']") for item in range(n)]
        return compile(f"0/{number}", *inputs, reasons=[size_mismatch("0/0", 8, 3, name=f"t{number}")] if number else [])

    return trace(*map(made, range(n)))


@dimension("tensors that a function keeps")
def _(n: int) -> bytes:
    kept = [f"L['self'].k{item}" for item in range(n)]

    def made(number: int, rows: int) -> bytes:
        symbol = f"s{number}" if number else ""
        names = [f"k{item}" for item in range(n)]
        lines = [f'{name}: "f32[{symbol or rows}, {4 + at}][{4 + at}, 1]cpu" = l_x_ + {at}' for at, name in enumerate(names)]
        inputs = (f'{symbol}: "Sym({symbol})", ' if symbol else "") + f'L_x_: "f32[{symbol or rows}, 3][3, 1]cpu"'
        graph = graph_text(inputs, *lines, f"return ({', '.join(names)},)")
        symbols = [(symbol, rows, "L['x'].size()[0]")] if symbol else []
        first = compile(f"0/{number}", tensor(rows, 3), graph=graph, symbols=symbols)
        effects = artifact("dynamo_side_effects", "Mutating object of type Net (source name: L['self'])\n", id=f"0/{number}")
        inputs_then = [tensor(rows, 4 + at, source=source) for at, source in enumerate(kept)]
        return first + effects + compile(f"0/{number + 1}", tensor(rows, 3), *inputs_then)

    return trace(made(0, 8), made(2, 5), *(record("aot_inference_graph", {}, "a graph", id=f"0/{number}") for number in range(4)))


@dimension("gradients")
def _(n: int) -> bytes:
    def made(number: int, rows: int) -> bytes:
        shapes = [(rows, 4 + item) for item in range(n)]
        guards = guard_tree(*(tensor_match(f"L['{name}{item}']", shape) for name in "pg" for item, shape in enumerate(shapes)))
        inputs = [tensor(*shape, source=f"L['p{item}']", grad=1) for item, shape in enumerate(shapes)]
        return compile(f"0/{number}", *inputs, guards=guards)

    return trace(made(0, 8), made(1, 5))


@dimension("dims of a tensor")
def _(n: int) -> bytes:
    ones = [1] * n  # sizes whose product stays small
    return trace(compile("0/0", tensor(2, *ones)), compile("0/1", tensor(3, *ones), reasons=[size_mismatch("0/0", 2, 3)]))


@dimension("dims of a tensor that vary")
def _(n: int) -> bytes:
    first, second = (tensor(*[length] * n, stride=[1] * n) for length in (2, 3))
    return trace(compile("0/0", first, graph=""), compile("0/1", second, graph="", reasons=[size_mismatch("0/0", 2, 3)]))


def _into_last(data: bytes, *more: bytes) -> bytes:
    """The trace with records of its last compile before the last record."""
    *head, last = split_records(data)
    return b"".join((*head, *more, last))


def _dynamic_pair(*more: bytes) -> bytes:
    return _into_last(trace(_pair(0, dynamic=[])), *more)


@dimension("symbols")
def _(n: int) -> bytes:
    found = [(f"s{number}", 8, f"L['x{number}'].size()[0]") for number in range(n)]
    return trace(_first(0), _second(0, dynamic=[0], symbols=found))


@dimension("specializations")
def _(n: int) -> bytes:
    made = [_specialization(number, f"L['x{number}'].size()[0]") for number in range(n)]
    return trace(_first(0), _second(0, dynamic=[0], specializations=made))


def _specialization(number: int, source: str) -> dict[str, object]:
    stack = [{"line": number, "name": "f", "filename": 0, "loc": "x"}]
    return {"symbol": f"s{number}", "sources": [source], "value": "8", "user_stack": stack}


@dimension("guards that were added")
def _(n: int) -> bytes:
    stack = [{"line": 6, "name": "f", "filename": 0, "loc": "x"}]
    body = ({"expr": f"Eq(s{number}, 8)", "stack": [], "user_stack": stack} for number in range(n))
    return _dynamic_pair(*(record("guard_added", item, id="0/1") for item in body))


@dimension("events of automatic dynamic")
def _(n: int) -> bytes:
    def made(number: int) -> str:
        arguments = {"name": f"L['x{number}']", "dim_changed": 0, "reason": "size change", "cached": "8", "new": "3"}
        return json.dumps({"name": "automatic_dynamic", "args": arguments}, indent=0)

    return _dynamic_pair(*(record("chromium_event", {}, made(number), id="0/1") for number in range(n)))


@dimension("depth of a stack")
def _(n: int) -> bytes:
    stack = [{"line": number, "name": f"f{number}", "filename": 0, "loc": "x"} for number in range(n)]
    return trace(
        record("dynamo_start", {"stack": [*stack, {"line": 5, "name": "f", "filename": 0}]}, id="0/0"), _first(0, is_started=False)
    )


@dimension("functions that call one another")
def _(n: int) -> bytes:
    return trace(*(_first(frame, line=frame + 1, call=max(frame, 1)) for frame in range(n)))


@dimension("functions that call one another, with whole stacks")
def _(n: int) -> bytes:
    def made(frame: int) -> bytes:
        stack = [{"line": number + 1, "name": f"f{number}", "filename": 0, "loc": "x"} for number in range(frame + 1)]
        where = {"name": f"f{frame}", "line": frame + 1}
        rest = split_records(compile(f"{frame}/0", tensor(8, 16), **where))  # type: ignore[arg-type]
        return record("dynamo_start", {"stack": stack}, id=f"{frame}/0") + b"".join(rest[1:])

    return trace(*map(made, range(n)))


@dimension("operations of a graph")
def _(n: int) -> bytes:
    def made(length: int) -> str:
        lines = "".join(
            f"        # File: {MODEL}:{number + 6} in f, code: return x + {number}\n"
            f'        add_{number}: "f32[{length}, 16][16, 1]cpu" = l_x_ + {number}\n'
            for number in range(n)
        )
        return graph_text(f'L_x_: "f32[{length}, 16][16, 1]cpu"').replace("        return", f"{lines}        return", 1)

    return trace(_first(0, graph=made(8)), _second(0, graph=made(3)))


@dimension("length of a reason")
def _(n: int) -> bytes:
    return trace(_first(0), compile("0/1", tensor(3, 16), reasons=["0/0: " + "a" * (100 * n) + " == 3"]))


@dimension("reasons of a recompile")
def _(n: int) -> bytes:
    return trace(_first(0), compile("0/1", tensor(3, 16), reasons=[size_mismatch(f"0/{number}", 8, 3) for number in range(n)]))


@dimension("reasons that name other sources")
def _(n: int) -> bytes:
    return trace(_first(0), compile("0/1", tensor(3, 16), reasons=[f"0/0: L['v{number}'] == {number}" for number in range(n)]))


@dimension("reasons for entries outside of the trace")
def _(n: int) -> bytes:
    return trace(_first(0), compile("5/1", tensor(3, 16), reasons=[size_mismatch(f"5/{number + 9}", 8, 3) for number in range(n)]))


@dimension("graph breaks")
def _(n: int) -> bytes:
    return trace(*(_first(frame) + _break(frame, f"{frame}/0") for frame in range(n)))


@dimension("graph breaks of one compile")
def _(n: int) -> bytes:
    return trace(_first(0), *(_break(number, "0/0") for number in range(n)))


def _break(number: int, id: str) -> bytes:
    return artifact("dynamo_graph_break_reason", f"Graph break in user code at /srv/app/model.py:{number}\nReason: print{number}", id=id)


@dimension("resumed functions")
def _(n: int) -> bytes:
    names = ("f", *(f"torch_dynamo_resume_in_f_at_{number}" for number in range(1, n)))
    return trace(*(_pair(frame, name=name, line=5) for frame, name in enumerate(names)))


@dimension("functions that pass a size on")
def _(n: int) -> bytes:
    """Each breaks, and what resumes it gets its output."""
    return trace(*(_passing_on(2 * number, f"f{number}", 2) for number in range(n)))


@dimension("resumed functions that pass a size on")
def _(n: int) -> bytes:
    """One function that breaks again and again, each part of it with the output of the one before."""
    return trace(_passing_on(0, "f", n))


def _passing_on(first: int, name: str, parts: int) -> bytes:
    """A function in several parts, frames from ``first`` on, compiled for two sizes."""

    def made(frame: int, number: int) -> bytes:
        length, symbol = ("3", "") if number == 0 else ("s70", 's70: "Sym(s70)", ')
        annotation = f"f32[{length}, 16][16, 1]cpu"
        graph = graph_text(
            f'{symbol}L_h{frame}_: "{annotation}"', f'h{frame + 1}: "{annotation}" = l_h{frame}_ + 1', f"return (h{frame + 1},)"
        )
        part = name if frame == first else f"torch_dynamo_resume_in_{name}_at_{frame + 6}"
        taken = tensor(3 if number == 0 else 8, 16, source=f"L['h{frame}']")
        lowered = record("aot_inference_graph", {}, "a graph", id=f"{frame}/{number}")
        return compile(f"{frame}/{number}", taken, name=part, line=first + 5, dynamic=[0] if number else [], graph=graph) + lowered

    return b"".join(made(frame, number) for number in range(2) for frame in range(first, first + parts))


@dimension("failures")
def _(n: int) -> bytes:
    return trace(*(_first(frame, **FAILED) for frame in range(n)))


@dimension("calls at the recompile limit")
def _(n: int) -> bytes:
    return trace(_first(0), *(refused(f"0/{number}", size_mismatch("0/0", 8, number + 9)) for number in range(1, n)))


@dimension("functions at the recompile limit")
def _(n: int) -> bytes:
    return trace(*(_pair(frame) + refused(f"{frame}/2", size_mismatch(f"{frame}/0", 8, 9)) for frame in range(n)))


@dimension("failures of one function")
def _(n: int) -> bytes:
    return trace(*(compile(f"0/{number}", tensor(8, 16), **{**FAILED, "fail_reason": f"cannot trace {number}"}) for number in range(n)))


@dimension("calls of one function outside of the range of a mark")
def _(n: int) -> bytes:
    first = compile("0/0", tensor(4, 8), symbols=[("s0", 4, "L['x'].size()[0]")]).replace(b"[2, int_oo]", b"[2, 16]")
    failed = {**FAILED, "fail_type": "ConstraintViolationError"}
    marked = [tensor(16 + number, 8, dynamo_dynamic_indices=[0]) for number in range(1, n)]
    return trace(first, *(compile(f"0/{number}", item, **failed) for number, item in enumerate(marked, 1)))


@dimension("recompiles of one function that the program forbids")
def _(n: int) -> bytes:
    fields = {
        "fail_type": "RecompileError",
        "fail_reason": "triggered by error_on_recompile",
        "is_started": False,
        "guards": "",
        "graph": "",
    }
    reasons = [size_mismatch("0/0", 8, 3)]
    return trace(_first(0), *(compile(f"0/{number}", reasons=reasons, **fields) for number in range(1, n)))  # type: ignore[arg-type]


@dimension("restarts")
def _(n: int) -> bytes:
    reasons = [f"r{number}" for number in range(50)]
    return trace(*(compile(f"0/{number}", tensor(8, 16), restart_reasons=reasons) for number in range(n)))


@dimension("attempts of one compile")
def _(n: int) -> bytes:
    attempts = (record("dynamo_start", {"stack": []}, id="0/1", attempt=number) for number in range(n))
    described = (describe(tensor(3, 16), describer=number, id="0/1", attempt=number) for number in range(n))
    return trace(_first(0), *(item for pair in zip(attempts, described, strict=True) for item in pair), _second(0))


@dimension("processes")
def _(n: int) -> bytes:
    return b"".join(trace(compile("0/0", tensor(8, 16), process=number + 1), process=number + 1) for number in range(n))


@dimension("processes and strings")
def _(n: int) -> bytes:
    names = strings(*(f"/srv/{number}.py" for number in range(n)))
    return torch_version() + names + b"".join(torch_version(process=number + 1) for number in range(n))


@dimension("resets")
def _(n: int) -> bytes:
    return trace(*(_pair(0) for _ in range(n)))


@dimension("functions that Inductor compiled")
def _(n: int) -> bytes:
    return trace(*(b"".join(_lowered(frame)) for frame in range(n)))


def _lowered(frame: int) -> Iterator[bytes]:
    *head, last = split_records(_first(frame))
    yield from head
    yield artifact("fx_graph_cache_miss", "{}", id=f"{frame}/0")
    yield record("inductor_output_code", {"filename": "/tmp/a.py"}, "x = 1", id=f"{frame}/0")
    yield last


@dimension("collectives of one graph")
def _(n: int) -> bytes:
    return with_collectives(trace(_first(0)), ["all_reduce"] * n, "x = 1")


@dimension("graphs that ran")
def _(n: int) -> bytes:
    order = json.dumps({"graph_execution_order": ["0/0"] * 3})
    return trace(_first(0), *(artifact("graph_execution", order) for _ in range(n)))


@dimension("sources of a code state")
def _(n: int) -> bytes:
    sources = "".join(f"  L['x{number}']: tensor size=[?] stride=[1]\n" for number in range(n))
    return trace(_pair(0), artifact("put_local_code_state", f"hash(1){MODEL}:5:f0:\n{sources}", id="0/1"))


@dimension("sources of a code state that varied")
def _(n: int) -> bytes:
    sources = "".join(f"  L['t{number}']: tensor size=[?, 16] stride=[16, 1]\n" for number in range(n))
    return _into_last(_many_tensors(n, 8, 3), artifact("put_local_code_state", f"hash(1){MODEL}:5:f:\n{sources}", id="0/1"))


@dimension("code states")
def _(n: int) -> bytes:
    head = f"hash(1){MODEL}:5:f0:\n  L['x']: tensor size=[?] stride=[1]\n"
    return trace(_pair(0), *(artifact("put_local_code_state", f"{head}{number}", id="0/1") for number in range(n)))


@dimension("kinds of record")
def _(n: int) -> bytes:
    return trace(_first(0), *(record(f"kind_{number}", {"a": 1}, id="0/0") for number in range(n)))


@dimension("names of artifacts")
def _(n: int) -> bytes:
    return trace(_first(0), *(artifact(f"name_{number}", "x", id="0/0") for number in range(n)))


@dimension("records that are no JSON")
def _(n: int) -> bytes:
    return trace(_first(0), *(line('{"artifact": {"name": "x", }') for _ in range(n)))


@dimension("backward compiles")
def _(n: int) -> bytes:
    return trace(_first(0), *(metrics("0/0", kind="bwd_compilation_metrics", is_forward=False) for _ in range(n)))


@dimension("records of another form")
def _(n: int) -> bytes:
    return trace(_first(0), *(record("describe_tensor", [number], id="0/0") for number in range(n)))


@dimension("uses of caches")
def _(n: int) -> bytes:
    return trace(_first(0), *(artifact(f"thing{number}_cache_hit", "{}", id="0/0") for number in range(n)))


@dimension("calls of functions with bytecode")
def _(n: int) -> bytes:
    return trace(_first(0), *(artifact(f"f{number}_{number}_ORIGINAL_BYTECODE", "x", id="0/0") for number in range(n)))


@dimension("functions without CUDA graphs")
def _(n: int) -> bytes:
    why = 'skipping cudagraphs due to mutated inputs ({} instances). Found from :\n   File "/srv/app/model.py", line 17, in step\n    x'
    return trace(*(_first(frame, cudagraph_skip_reason=why.format(frame)) for frame in range(n)))


@dimension("Triton kernels")
def _(n: int) -> bytes:
    call = "t = torch.ops.higher_order.triton_kernel_wrapper_mutation(kernel_idx = {0}, constant_args_idx = {0}, grid = [(1, 1, 1)])"
    graph = graph_text('L_x_: "f32[8, 16][16, 1]cpu"', *(call.format(number) for number in range(n)), "return ()")
    return trace(_first(0, graph=graph), _second(0, graph=graph))


@dimension("exports")
def _(n: int) -> bytes:
    return trace(*(_export(number) for number in range(n)))


def _export(number: int) -> bytes:
    called: dict[str, object] = {"stack": [{"line": number + 5, "name": "main", "filename": 1}]}
    source = {"describer_id": number, "id": 0, "source": "L['x']"}
    return record("export", {}, "a program", **called) + record("describe_source", source, **called) + _assumed(number, **called)


@dimension("assumptions of an export")
def _(n: int) -> bytes:
    return trace(record("export", {}, "a program"), *map(_assumed, range(n)))


def _assumed(number: int, **where: object) -> bytes:
    stack = [{"line": number + 5, "name": "f", "filename": 0, "loc": f"if n > {number}:"}]
    created = {"method": "gt", "result": f"u{number} > 2", "result_id": number, "arguments": [f"u{number}", "2"], "argument_ids": []}
    assumed = {"expr": f"u{number} > 2", "result": "True", "expr_node_id": number, "user_stack": stack, "stack": stack}
    return record("expression_created", {**created, "user_stack": stack, "stack": stack}, **where) + record(
        "propagate_real_tensors_provenance", assumed, **where
    )


@dimension("kernels that an export lacks")
def _(n: int) -> bytes:
    return trace(record("export", {}, "a program"), *(record("missing_fake_kernel", {"op": f"mylib.op{number}"}) for number in range(n)))


@dimension("pieces that vLLM compiled")
def _(n: int) -> bytes:
    return trace(*vllm_traces.part(*(vllm_traces.piece(number, 1, 2048) for number in range(n))))


@dimension("sizes for which vLLM compiled")
def _(n: int) -> bytes:
    return trace(*vllm_traces.part(*(vllm_traces.piece(0, number, number) for number in range(1, n + 1))))


@dimension("graphs of compiled autograd")
def _(n: int) -> bytes:
    def made(number: int) -> bytes:
        where = {"compiled_autograd_id": number, "attempt": 0}
        return record("compiled_autograd_graph", {}, "captured", **where)

    return trace(_first(0), *map(made, range(n)))


@dimension("depth of a source")
def _(n: int) -> bytes:
    deep = "L['self']" + "".join(f"._modules['m{number}']" for number in range(min(n, 100)))
    return trace(*(_pair(frame, more_guards=[_int(frame, "v"), equals_match(f"{deep}.k", frame)]) for frame in range(n // 4)))
