"""Traces that are made for the page: a hostile one, one that is larger than a page, a damaged and an empty one."""

from make import artifact, growing, record, small_trace, tensor, trace, with_collectives
from make import compile as compiled
from payload_text import equals_match, graph_text, guard_manager, guard_tree, size_mismatch, tensor_match

# What would run, load, lead away or hide if a page took it for more than text. Each names what it came in.
ELEMENT = "<img src=x onerror=window.__owned='{0}'><b id=owned>{0}</b>"
SCRIPT = "</script></style></title></textarea><script>window.__owned='{0}'</script>"
COMMENT = "--><!-- <svg onload=window.__owned='{0}'>"
ATTRIBUTE = "\"' autofocus tabindex=0 onfocus=window.__owned='{0}' onmouseover=window.__owned='{0}' x=\"'"
LINK = "javascript:window.__owned='{0}'"
TEMPLATE = "{{{{ 7 * 191 }}}} {{% raw %}} ${{7*191}}"
CONTROL = "\x1b]0;owned\x07\x9b2J\x00\x08\u202egnp.exe\u2066\u200b\ufeff\U000e0041\u115f\u3164\u2800\ufe0f\U000e0100"
# What the page shows of CONTROL.
SHOWN = r"\x1b]0;owned\x07\x9b2J\x00\x08\u202egnp.exe\u2066\u200b\ufeff\U000e0041\u115f\u3164\u2800\ufe0f\U000e0100"
# A line of code that could as well be any other text.
WORDS = "return owned_by_us"
TABS = f"if\t{WORDS} ==\t1:"
FOLDER = "/home/somebody/secret/"
# The name of the file.
FILE = "trace<img src=x onerror=window.__owned='file'>\u202e.log"


def evil(place: str) -> str:
    """All of it on one line."""
    return " ".join((ELEMENT, SCRIPT, COMMENT, ATTRIBUTE, LINK, TEMPLATE)).format(place) + CONTROL


def name(place: str) -> str:
    """So much of it as the page shows in a line."""
    return ELEMENT.format(place) + CONTROL


def hostile() -> bytes:
    """Two frames whose names, files, code, sources, reasons, guards, graphs, metrics and payloads are markup."""
    made = trace()
    for number, text in enumerate((f"{FOLDER}{evil('folder')}/{name('module')}.py", LINK.format("file")), start=1):
        made += record("str", [text, number])
    made += record(evil("kind"), {evil("field"): evil("value")}, id="0/0")
    source = f"L['x'].d[{evil('key')!r}]"
    for number, size in enumerate(((10, 8), (12, 8))):
        label = f"0/{number}"
        if number:
            made += artifact(
                "recompile_reasons", f"0/0: {source} size mismatch at index 0. expected 10, actual 12  # {evil('reason')}", id=label
            )
        made += _start(label)
        made += compiled(
            label,
            tensor(*size, source=source, dtype=f"torch.{name('dtype')}", device=f"device(type={name('device')!r})"),
            guards=guard_tree(
                tensor_match(source, size),
                equals_match(f"L['self'].{name('attribute')}", f"{evil('constant')}{number}", "str"),
                guard_manager(
                    f"G[{name('global')!r}]",
                    f"ID_MATCH: ___check_obj_id({name('id')}{number})",
                    comment=f"# {evil('comment')}  # a.py:6 in f",
                ),
                shapes=(f"2 <= {source}.size()[0]  # {evil('shape')}",),
            ),
            graph=graph_text()
            + f"        # File: {FOLDER}model.py:13 in {name('function')}, code: {evil('code')}\n        y = {evil('graph')} {number}\n",
            symbols=((name("symbol"), name("hint"), f"{source}.size()[0]"),),
            specializations=tuple(
                {
                    "symbol": name("pinned"),
                    "sources": [source],
                    "value": f"{name('value')}{line}",
                    "reason": evil("why"),
                    "user_stack": stack,
                }
                for line, stack in enumerate((_stack(), _stack(WORDS), _stack(TABS)))
            ),
            reasons=None,
            is_started=False,
            name=f"forward{name('function')}",
            co_filename=f"{FOLDER}{name('file')}.py",
            restart_reasons=[evil("restart"), f"traced again from here: {TABS}"],
        )
    made += _start("1/0")
    made += artifact(
        "dynamo_graph_break_reason",
        f"Graph break in user code at {FOLDER}{name('at')}.py:6\nReason: {evil('break')}\nUser code traceback:\n",
        id="1/0",
    )
    made += artifact("dynamo_error", f'Traceback:\n  File "{FOLDER}{name("at")}.py", line 3, in f\n    {evil("line")}\n', id="1/0")
    made += artifact(evil("artifact"), f"{evil('payload')}\n" * 3, id="1/0")
    made += compiled(
        "1/0", tensor(10, 8), guards="", is_started=False, name=LINK.format("name"), fail_type=name("type"), fail_reason=evil("failure")
    )
    return made


def _stack(code: str = "") -> list[dict[str, object]]:
    return [
        {"line": 30, "name": name("caller"), "filename": 2, "loc": evil("call")},
        {"line": 12, "name": name("function"), "filename": 1, "loc": code or evil("loc")},
    ]


def _start(label: str) -> bytes:
    return record("dynamo_start", {"stack": _stack()}, id=label)


def large(frames: int = 64, compiles: int = 5) -> bytes:
    """So much that later frames are compressed. Each frame is compiled for several sizes."""
    parts = []
    for frame in range(frames):
        for number in range(compiles):
            why = [size_mismatch(f"{frame}/{before}", 8 + before, 8 + number) for before in reversed(range(number))]
            parts.append(compiled(f"{frame}/{number}", tensor(8 + number, 16), reasons=why, name=f"forward_{frame}"))
    return trace(*parts)


def long_names() -> bytes:
    """Functions and inputs with long names, and an input of each compilation that has another size."""
    parts = []
    for frame in range(2):
        source = "L['past_key_values'].self_attention_cache_of_the_decoder"
        for number in range(3):
            why = [size_mismatch(f"{frame}/{before}", 8 + before, 8 + number, name=source) for before in reversed(range(number))]
            name = f"ConditionalGenerationOfLongSequences_{frame}"
            parts.append(compiled(f"{frame}/{number}", tensor(8 + number, 16, source=source), reasons=why, name=name))
    return trace(*parts)


def one_int_at_a_time(count: int = 14) -> bytes:
    """A function that is compiled once more for each of its ints, of which that one alone is another."""
    values = [[int(place == changed) + 3 for place in range(count)] for changed in range(-1, count)]
    guards = [guard_tree(tensor_match(), *(equals_match(f"L['k{place}']", value) for place, value in enumerate(own))) for own in values]
    return trace(*(compiled(f"0/{number}", tensor(10, 8), guards=own) for number, own in enumerate(guards)))


def growing_cache(layers: int = 16) -> bytes:
    """A function of token ids and of a cache with many layers, all of which grow."""
    return growing("L['ids']", *(f"L['cache'].layers[{layer}].keys" for layer in range(layers)))


def empty() -> bytes:
    return trace()


def parted() -> tuple[bytes, ...]:
    """Four ranks: one that recompiled, two that saw another size, one with other collectives."""
    collectives = ["all_reduce_", "wait_tensor", "all_gather_into_tensor"]
    first = with_collectives(compiled("0/0", tensor(8, 16)), collectives)
    again = compiled("0/1", tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0])
    other = with_collectives(compiled("0/0", tensor(9, 16)), collectives)
    return (trace(first, again), trace(other), trace(other), trace(with_collectives(compiled("0/0", tensor(8, 16)), collectives[:1])))


def damaged() -> bytes:
    """A line that is no record, a payload that is cut off, a checksum that does not match."""
    return (
        small_trace()
        + b"this is no record\n"
        + compiled("1/0", tensor(8, 16)).replace(b"l_x_ + 1", b"l_x_ - l_x_")
        + compiled("2/0", tensor(8, 16))[:-400]
    )
