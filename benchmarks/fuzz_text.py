"""Inputs for the fuzzer that are no trace, or hardly one: TORCH_LOGS output, logs of programs, JSON, pages, in any encoding."""

import random
from collections import Counter
from pathlib import Path

from make import prefix, small_trace
from mutations import NASTY_JSON, NASTY_TEXT
from promises import command, watched
from stages import examine as examine_trace

_HEAD = b"V1120 08:27:33.313000 4242 torch/_dynamo/guards.py:4812] "
_LINES = (
    *(_HEAD + b"[0/%d] [__recompiles] " % number for number in range(3)),
    _HEAD + b"[0/1] [__recompiles] Recompiling function f in /srv/app/model.py:5",
    _HEAD + b"[0/1] [__recompiles]     triggered by the following guard failure(s):",
    _HEAD + b"[0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 8, actual 3",
    _HEAD + b"[0/0] [__guards] +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, size=[8, 16])",
    _HEAD + b"[0/0] [__graph_code] class GraphModule(torch.nn.Module):",
    _HEAD + b"[0/0] [__graph_breaks] Graph break in user code at /srv/app/model.py:6",
    _HEAD,
    prefix(),
    prefix(0),
    prefix() + b"{",
    prefix() + b"{}",
    prefix() + b'{"str": ["/srv/app/model.py", 0]}',
    prefix() + b'{"dynamo_start": {"stack": []}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}',
    prefix() + b'{"artifact": {"name": "x", "encoding": "string"}, "has_payload": "0"}\n\tx',
    b"\tpayload of nothing",
    b"WARNING:torch._dynamo.convert_frame:torch._dynamo hit config.recompile_limit (8)",
    b"W1120 08:27:33.313000 4242 site-packages/torch/_dynamo/convert_frame.py:1016] [0/8] torch._dynamo hit config.recompile_limit (8)",
    b"INFO:root:step 1",
    b"ERROR",
    b"Traceback (most recent call last):",
    b'  File "/srv/app/model.py", line 5, in f',
    b"torch._dynamo.exc.Unsupported: no",
    b"rank0]: [rank1]: V1120",
    b"<!DOCTYPE html><html><title>tlparse</title>",
    b'{"string_table": ["/srv/app/model.py"]}',
    b'{"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "f"}]}',
    b'[{"name": "f"}]',
    b"BZh91AY&SY",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf",
    b"\x7fELF",
    b"%PDF-1.7",
    b"PK\x03\x04",
    b"PK\x05\x06" + b"\0" * 18,
    b"\x1f\x8b\x08\0",
    b"\x28\xb5\x2f\xfd",
    b"torch/_dynamo/" * 30,
    b"\xef\xbb\xbf",
    b"",
)
_SMALL = small_trace().split(b"\n")
_ENDS = (b"\n", b"\n", b"\n", b"\r\n", b"\r", b"", b"\0", b"\n\t", b"\xe2\x80\xa8")
_ENCODINGS = ("utf-16", "utf-16-be", "utf-32", "cp037", "utf-7", "latin-1")


class Texts:
    """Lines of what people give by mistake, changed and mixed with each other and with pieces of a trace."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def input(self, chance: random.Random) -> bytes:
        end = chance.choice(_ENDS)
        data = end.join(self._line(chance) for _ in range(chance.choice((0, 1, 2, 4, 8, 20))))
        data += chance.choice((b"\n", b"\n", b""))
        if chance.random() < 0.1:
            data = data.decode("latin-1").encode(chance.choice(_ENCODINGS), "replace")
        if chance.random() < 0.1:
            data = data[: chance.randrange(len(data) + 1)]
        return data

    def _line(self, chance: random.Random) -> bytes:
        kind = chance.random()
        line = chance.choice(_LINES if kind < 0.7 else _SMALL if kind < 0.85 else NASTY_TEXT)
        if chance.random() < 0.2:
            at = chance.randrange(len(line) + 1)
            line = line[:at] + chance.choice((*NASTY_TEXT, *NASTY_JSON)) + line[at + chance.randrange(20) :]
        return line if chance.random() < 0.95 else chance.randbytes(chance.randrange(60))

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """As a trace that is in memory; some as a file for the command line."""
        examine_trace(data, counts, everything)
        if everything or chosen % 200 == 0:
            counts["a file for the command line"] += 1
            path = self.work / "text.log"
            path.write_bytes(data)
            name = ("report", "suggest-dynamic", "check", "compare", "explain")[chosen // 200 % 5]
            more = {"compare": [str(path)], "explain": ["0/0"]}.get(name, [])
            with watched(self.work):
                command(name, str(path), *more, *(["--strict"] if chosen % 7 == 0 and name != "explain" else []))
            path.unlink()
