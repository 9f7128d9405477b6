"""What terminals, launchers, pages and people add to a log makes no difference to its answer."""

import html
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.lines.leads import lead_of
from shapelog.reading.text_logs.lines.whole_lines import LONGEST_PASTE, whole_lines
from shapelog.recompiles.explain import explain_trace

PASTED = Path(__file__).parents[4] / "fixtures" / "text_logs" / "pasted"

TEXT = """\
torch._dynamo hit config.recompile_limit (8)
   function: 'forward' (/app/train.py:12)
   last reason: 3/7: tensor 'x' size mismatch at index 0. expected 4, actual 5
To log all recompilation reasons, use TORCH_LOGS="recompiles".
"""


def each(front: str) -> Callable[[str], str]:
    return lambda text: "".join(f"{front}{line}" for line in text.splitlines(keepends=True))


def objects(make: Callable[[str], object]) -> Callable[[str], str]:
    return lambda text: "".join(f"{json.dumps(make(line))}\n" for line in text.splitlines())


def box(text: str, columns: int = 90) -> str:
    rows = [line[at : at + columns] for line in text.splitlines() for at in range(0, len(line), columns)]
    side = "─" * (columns + 2)
    return "\n".join((f"╭{side}╮", *(f"│ {row:<{columns}} │" for row in rows), f"╰{side}╯", ""))


CHANGES: dict[str, Callable[[str], str]] = {
    "a CI system": each("2026-01-05T10:11:12.1234567Z "),
    "Docker Compose": each("trainer-1  | "),
    "journald": each("Jan 05 10:11:12 node-3 python[4242]: "),
    "srun": each("3: "),
    "torchrun": each("[rank2]: "),
    "mpirun": each("[1,3]<stderr>: "),
    "Ray": each("(RayTrainWorker pid=12345, ip=10.0.0.3) "),
    "Ray for equal lines of several workers": lambda text: text.replace("\n", " [repeated 7x across cluster]\n"),
    "Ray for the first of these": lambda text: text.replace(
        "\n", " [repeated 7x across cluster] (Ray deduplicates logs by default. Set RAY_DEDUP_LOGS=0 to disable it.)\n"
    ),
    "vLLM": each("(EngineCore_DP0 pid=77) ERROR 06-18 08:08:25 [core.py:712] "),
    "the logging of Python": each("2026-01-05 10:11:12,123 - INFO - "),
    "loguru": each("2026-01-05 10:11:12.123 | WARNING  | logging:callHandlers:1706 - "),
    "containerd": each("2026-01-05T10:11:12.123456789Z stderr F "),
    "GitLab": each("2026-01-05T10:11:12.123456Z 01E+"),
    "Airflow": each("[2026-01-05, 10:11:12 UTC] {subprocess.py:93} INFO - "),
    "SGLang": each("[2026-01-05 10:11:12 TP0] "),
    "the Trainer of Hugging Face": each("[INFO|trainer.py:2134] 2026-01-05 10:11:12,123 >> "),
    "Hydra": each("[2026-01-05 10:11:12,123][train][INFO] - "),
    "structlog": each("2026-01-05 10:11:12 [info     ] "),
    "SageMaker": each("[1,mpirank:0,algo-1]<stderr>:"),
    "DeepSpeed": each("worker-0: "),
    "kubectl": each("[pod/trainer-0/main] "),
    "a logger without times": each("INFO:root:"),
    "logfmt": lambda text: "".join(f"ts=2026-01-05T10:11:12Z level=info msg={json.dumps(line)}\n" for line in text.splitlines()),
    "a table": lambda text: "".join(f"| {at} | {line} |\n" for at, line in enumerate(text.splitlines())),
    "a box": box,
    "two handlers": lambda text: "".join(f"{line}\n{line}\n" for line in text.splitlines()),
    "a string of JSON": json.dumps,
    "the kernel's clock": each("[  123.456789] "),
    "grep": lambda text: "".join(f"logs/run.log:{at}:{line}\n" for at, line in enumerate(text.splitlines(), 8)),
    "cat -n": lambda text: "".join(f"{at:6}\t{line}\n" for at, line in enumerate(text.splitlines(), 8)),
    "a comment": each("# "),
    "the JSON of Docker": objects(lambda line: {"log": f"{line}\n", "stream": "stderr"}),
    "the JSON of loguru": objects(lambda line: {"text": f"12:00 | {line}\n", "record": {"level": {"no": 20}, "message": line}}),
    "the JSON of structlog": objects(lambda line: {"event": line, "level": "info"}),
    "the JSON of Python's logging": objects(lambda line: {"levelname": "INFO", "message": line}),
    "the JSON of a cloud": objects(lambda line: {"textPayload": line, "severity": "ERROR"}),
    "the JSON of a cloud with fields of its own": objects(lambda line: {"jsonPayload": {"message": line, "level": "info"}}),
    "the JSON of journald": objects(lambda line: {"_PID": "7", "MESSAGE": line, "PRIORITY": "6"}),
    "the JSON of Loki": objects(lambda line: {"timestamp": "170", "line": line}),
    "JSON with blanks": lambda text: "".join(f'{{ "log": {json.dumps(line)}, "stream": "stderr" }}\n' for line in text.splitlines()),
    "breaks and blanks of a page": lambda text: html.escape(text).replace(" ", "&nbsp;").replace("\n", "<br>\n"),
    "a quote": each("> > "),
    "an indented quote": each("  > "),
    "colors": lambda text: "".join(f"\x1b[33m{line}\x1b[0m\n" for line in text.splitlines()),
    "HTML": html.escape,
    "blanks that do not break": lambda text: text.replace(" ", "\xa0"),
    "typographic quotes": lambda text: text.replace("'forward'", "\u2018forward\u2019").replace("'x'", "\u2018x\u2019"),
    "empty lines": lambda text: text.replace("\n", "\n\n"),
    "a block of code": lambda text: f"Hi!\n```\n{text}```\nAny idea? 🤯\n",
    "progress bars": lambda text: "".join(f"{line} 12%|##   | 12/100 [00:01<00:09,  8.8it/s]\n" for line in text.splitlines()),
    "progress bars between": lambda text: "".join(f"{line}\n 12%|##   | 12/100 [00:01<00:09,  8.8it/s]\n" for line in text.splitlines()),
}


def causes(path: Path, data: bytes) -> list[tuple[str, str, tuple[str, ...]]]:
    path.write_bytes(data)
    return [(item.compile.label, item.frame.title, item.codes) for item in explain_trace(load(path), debug=True).recompiles]


@pytest.mark.parametrize("change", CHANGES, ids=list(CHANGES))
def test_what_is_added_makes_no_difference(change: str, tmp_path: Path) -> None:
    assert causes(tmp_path / "run.txt", CHANGES[change](TEXT).encode()) == [("3/8", "forward", ("SL101",))]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_files_of_windows(encoding: str, tmp_path: Path) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    data = (mark + TEXT.replace("\n", "\r\n")).encode(encoding)
    assert causes(tmp_path / "run.txt", data) == [("3/8", "forward", ("SL101",))]


HEAD = "W1120 08:27:33.313000 4242 torch/_dynamo/convert_frame.py:896] [3/8] "


@pytest.mark.parametrize("front", ["Epoch 3: ", "  ", "| ", "[rank0]:"])
@pytest.mark.parametrize("name", ["06_pytorch-pytorch_99091", "42_pytorch-pytorch_110325", "72_pytorch-pytorch_124900"])
def test_the_heads_of_pytorch_are_not_taken_for_that_of_a_launcher(name: str, front: str) -> None:
    text = (PASTED / f"{name}.txt").read_bytes()
    assert lead_of(text) is None
    lines = b"".join(f"{front}{line}\n".encode() for line in ("loss 0.1", "loss 0.2"))
    assert lead_of(lines + text) is None


@pytest.mark.parametrize("is_filled", [False, True])
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_lines_that_a_terminal_wrapped_are_whole_again(columns: int, is_filled: bool, tmp_path: Path) -> None:
    lines = each(HEAD)(TEXT).splitlines()
    width = columns if is_filled else 0
    wrapped = "".join(f"{line[at : at + columns]:<{width}}\n" for line in lines for at in range(0, len(line), columns))
    assert causes(tmp_path / "run.txt", wrapped.encode()) == [("3/8", "forward", ("SL101",))]


def test_the_first_lines_may_have_lost_their_heads(tmp_path: Path) -> None:
    cut = each(HEAD)(TEXT).split("] [3/8] ", 2)[2]
    assert causes(tmp_path / "run.txt", cut.encode()) == [("3/8", "forward", ("SL101",))]


def test_what_lines_begin_with_is_found_in_the_beginning_of_a_long_log_whatever_its_pieces() -> None:
    known, other = b"2026-01-02 03:04:05 | it\n", b"[12:13:14] <trainer> another\n"
    log = known * (LONGEST_PASTE // len(known) + 1) + other * LONGEST_PASTE
    sizes = (LONGEST_PASTE + 1, len(log))
    leads = [next(iter(whole_lines(log[at : at + size] for at in range(0, len(log), size)))).lead for size in sizes]
    assert leads[0] == leads[1] == lead_of(known * 100) != lead_of(log)


def test_a_comment_in_code_begins_each_line_and_an_empty_one_has_nothing_else() -> None:
    text = "# The log has this error:\n#\n# .. code:: shell\n#\n# \tA: 1\n#\n# and so on\n#\n"
    lead = lead_of(text.encode())
    assert lead is not None
    assert lead.sub(b"", text.encode()).decode() == text.replace("# ", "").replace("#", "")


@pytest.mark.parametrize("end", [b"", b"(Worker TP0 pid=18) ERR", b"(Wor"])
@pytest.mark.parametrize("front", [b"vllm-1  | ", b"Nov 27 16:00:02 gpu01 vllm[4711]: "])
def test_a_few_lines_of_which_the_last_is_cut_have_the_lead_of_the_others(front: bytes, end: bytes) -> None:
    lines = [b"(Worker TP0 pid=18) ERROR 08-27 05:54:20 [a.py:602]   " + text for text in (b"run(x)", b'File "a.py"', b"f(y)", b"g()")]
    whole = b"".join(front + line + b"\n" for line in lines)
    found = lead_of(whole + (front + end if end else b""))
    assert found is not None
    assert found.sub(b"", whole).split(b"\n")[0] == lines[0]
