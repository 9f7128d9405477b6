"""Files that are not traces are refused in one line that names what they look like."""

from pathlib import Path

import pytest
from packing import RANK, put, refusal

from shapelog import load
from shapelog.errors import DATA_LOSS


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html>\n<html><body>tlparse</body></html>\n", "an HTML page; pass the log that tlparse read"),
        (b"\n  <html lang='en'>\n", "an HTML page"),
        (b'{"traceEvents": [{"ph": "X", "name": "aten::add"}]}\n', "JSON, such as a profiler trace"),
        (b'{\n  "schemaVersion": 1,\n  "deviceProperties": []\n}\n', "JSON"),
        (b"V1120 08:27:33.313000 1 torch/_dynamo/convert_frame.py:99 [0/1] torchdynamo start\n", "TORCH_LOGS output"),
        (b"\x7fELF\x02\x01\x01" + bytes(99), "a binary file"),
        (b"I1128 09:45:57.1 1 torch/_inductor/codecache.py:2299] [0/0] fx graph cache hit for key ftrb\n", "about the caches of compiled"),
        (b"AOTAutograd cache miss for key an47\n", "about the caches of compiled"),
        (b"Bypassing FX Graph Cache because 'no'\n", "about the caches of compiled"),
        (b"marking L['x'] as dynamic (from automatic dynamic/PGO)\n", "what becomes dynamic"),
        (b"torchdynamo skipping frame forward /srv/a.py line 30\n", "TORCH_LOGS=graph_breaks shows"),
        (b"Skipping frame because there is a graph break in a for/while loop\n", "TORCH_LOGS=graph_breaks shows"),
        (b"skipping: __enter__ (reason: in skipfiles, file: /lib/contextlib.py)\n", "TORCH_LOGS=graph_breaks shows"),
        (b"AUTOTUNE mm(64x64, 64x64)\n  mm 0.5 ms 100.0%\n", "that max-autotune compared"),
        (b"SingleProcess AUTOTUNE benchmarking takes 2.3 seconds\n", "that max-autotune compared"),
        (b"TorchDynamo attempted to trace the following frames: [\n  * f a.py:2\n]\n", "at exit"),
        (b"Function, Runtimes (s)\n_compile, 0.1\n", "at exit"),
        (b"Step 1: torchdynamo start tracing f /srv/a.py:2\n", "begin or end"),
        (
            b'[0/0] torchdynamo start compiling f /srv/a.py:2, stack:\n[0/0]   File "/lib/torch/_dynamo/a.py", line 2, in f\n',
            "begin or end",
        ),
        (b"BZh91AY&SY" + bytes(20), "an unsupported compression format; unpack it first"),
        (b"\x93NUMPY\x01\0v\0", "a binary file"),
        (b"epoch 1\nWARNING: no GPU\n", "an ordinary program log"),
        (b"Traceback (most recent call last):\n  ...\n", "an ordinary program log"),
        (
            b"W0321 17:39:16.973000 1 torch/fx/x.py:4449] [0/0] z5 is not in var_ranges\n",
            "lines of the compiler, but none with a recompilation",
        ),
        (b'  File "/lib/torch/_dynamo/guards.py", line 2, in f\n', "paste the text up to the exception"),
        (
            b'  File "/lib/torch/_dynamo/a.py", line 2, in f\n    g()\n  File "/srv/a.py", line 3, in g\ntorch.OutOfMemoryError: CUDA\n',
            "that ends in an exception of another kind",
        ),
        (b'[rank0]:   File "/lib/torch/_functorch/a.py", line 2, in f\n[rank0]: KeyError: 3\n', "an exception of another kind"),
        (
            b'**Exception Type:** torch.OutOfMemoryError\n## Stack\n\n  File "/lib/torch/_dynamo/eval_frame.py", line 2, in f\n    g()\n',
            "an exception of another kind",
        ),
        (b'  File "/lib/torch/_dynamo/eval_frame.py", line 2, in f\n\nValueError: of another one\n', "paste the text up to the exception"),
        (b"'sm_120' is not a recognized processor for this target (ignoring processor)\nLLVM ERROR: Cannot select\n", "update Triton"),
        (b"ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\n", "TRITON_PTXAS_PATH"),
        (b"E: triton.runtime.errors.OutOfResources: out of resource: shared memory\n", "paste the traceback, too"),
        (b"[torch.onnx] Obtain model graph for `M(...)` with `torch.export.export`... no\n", "paste the exception that it raised"),
        (b"We hit `CacheLimitExceeded` twice.\n", "mentions the recompile limit in a sentence"),
        (b"A tool: f runs eagerly from here. (FailOnRecompileLimitHit)\n", "mentions the recompile limit in a sentence"),
        (
            b"so:\n```\n2. Data dependent error.\n    When exporting, we were unable to evaluate the value of `u0`.\n",
            "that draft_export writes",
        ),
        (
            b"1. Constraint violation error.\n    The specified input dynamic_shapes spec was found to be incorrect.\n",
            "that draft_export writes",
        ),
        (
            b"[INFO] Step 2: done compiler function f\n[INFO] Summary of dimension constraints:\n[INFO] The following dimensions\n",
            "which dims the code fixes",
        ),
        (b"WARNING:jax._src.dispatch:182: Finished XLA compilation of jit(f) in 0.2 sec\n", "the output of JAX, TensorFlow or PyTorch/XLA"),
        (b"WARNING:tensorflow:5 out of the last 5 calls to <f> triggered tf.function retracing.\n", "the output of JAX, TensorFlow"),
        (b"pt-xla-profiler: Compilation Analysis\n", "the output of JAX, TensorFlow or PyTorch/XLA"),
        (b'  File "torch/_dynamo/guards.py", line 2, in f\n', "paste the text up to the exception"),
        (b"File /lib/torch/_dynamo/eval_frame.py:337, in g(*args)\n", "paste the text up to the exception"),
        (b"/lib/torch/_dynamo/variables/builtin.py in g(tx)\n--> 843     rv = h(tx)\n", "paste the text up to the exception"),
        (
            b'  File "/lib/torch/_inductor/utils.py", line 2006, in run\n    return model(new)\n  File "/tmp/c.py", line 35, in call\n'
            b"    assert_size_stride(primals_1, (256, 256), (256, 1))\n    ~~~~^^^\nAssertionError: expected siz",
            "other sizes or strides than the code was compiled for",
        ),
        (b"ValueError: Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)\n", "on the CPU"),
        (b'ValueError("type fp8e4nv not supported in this architecture.\n', "this GPU lacks the type of float8"),
        (
            b"[WARNING] torch.compile failed for the VAE: cannot import name 'check' from 'torch._inductor.kernel.mm' (mm.py)\n",
            "install versions that belong together",
        ),
        (
            b"torch/utils/_sympy/interp.py:176] [0/2] failed while executing pow_by_natural([VR2, int_oo], VR[-1, -1]])\n",
            "a warning about arithmetic on symbolic sizes",
        ),
        (b"CalledProcessError: Command '['D:\\\\triton\\\\tcc.exe', 'C:\\\\cuda_utils.c',\n", "the C compiler that it runs"),
        (b"- Error\n```\nGraph Break Reason: Attempted to call it\n...\n", "the reason of a graph break alone"),
        (
            b"[2024-01-03 11:21:04,838] [0/0] torch.fx.experimental.symbolic_shapes: [DEBUG] Data dependent variable 'i1' allocated at:\n"
            b'  File "/lib/torch/_dynamo/eval_frame.py", line 328, in _fn\n',
            "paste the error about them",
        ),
        (b"You can suppress this exception and fall back to eager by setting:\n", "the end of an error of the compiler"),
        (b"Graph Count: 1\nGraph Break Count: 0\nOp Count: 0\nBreak Reasons:\n", "which found no graph breaks"),
        (
            b"Dynamo detected a call to a `functools.lru_cache`-wrapped one.",
            "it needs no action unless the function",
        ),
        (
            b"Online softmax is disabled on the fly since Inductor decides to\n",
            "leaves out an optimization of softmax",
        ),
        (b"It ends with: Detected 6 tensor(s) in the cudagraph pool not tracked as outputs.\n", "an error of CUDA graphs"),
        (b"just some words\n", "plain text"),
    ],
)
def test_a_file_that_is_not_a_trace_is_refused_with_what_it_looks_like(tmp_path: Path, content: bytes, words: str) -> None:
    message = refusal(put(tmp_path, content, "what.log"))
    assert message.startswith("what.log: not a torch.compile trace (")
    assert words in message
    assert "TORCH_TRACE=" in message


def vllm_log(*lines: str) -> bytes:
    return "".join(f"(EngineCore_DP0 pid=7) INFO 11-27 15:02:41 [backends.py:1187] {line}\n" for line in lines).encode()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            (
                "Dynamo bytecode transform time: 10.28 s",
                "Compiling a graph for compile range (1, 2048) takes 38.11 s",
                "Compiling a graph for compile range (8, 8) takes 8.54 s",
                "torch.compile took 57.12 s in total",
            ),
            "Dynamo took 10.3 s, 2 graphs compiled (the longest 38.1 s, for compile range (1, 2048)), 57.1 s in total",
        ),
        (
            (
                "Compiling a graph for general shape takes 29.37 s",
                "torch.compile and initial profiling/warmup run together took 37.2 s in total",
            ),
            "1 graph compiled (29.4 s, for general shape), 37.2 s in total",
        ),
        (("Directly load the compiled graph(s) for shape None from the cache, took 5.123 s",), "1 graph loaded from the cache"),
        (("Directly load the 0-th graph for shape None from inductor via handle ('fp', 'a.py')",), "1 graph loaded from the cache"),
        (("store the 1-th graph for shape None from inductor via handle ('f7', '~/.cache/b.py')",), "1 graph stored in the cache"),
        (
            ("[backbone] Compiling model again due to a load failure from /srv/cache/model, reason: no attribute 'finalize'",),
            "a part compiled again because it could not be loaded (no attribute 'finalize')",
        ),
        (("Directly load AOT compilation from path /srv/cache/model",), "1 part of the model loaded ready-made"),
        (("vLLM's torch.compile cache is disabled.",), "vLLM's cache disabled"),
    ],
)
def test_the_log_of_vllm_is_summed_up(tmp_path: Path, lines: tuple[str, ...], words: str) -> None:
    message = refusal(put(tmp_path, vllm_log(*lines), "vllm.log"))
    assert f"(the log of vLLM: {words}; it has neither the graphs" in message
    assert message.endswith("TORCH_TRACE=/tmp/trace in front of the command that starts vLLM")


def test_an_empty_file_is_refused_with_the_likely_reason(tmp_path: Path) -> None:
    assert refusal(put(tmp_path, b"", "a.log")).startswith("a.log: the file is empty: the process compiled nothing")


def test_a_rank_that_is_not_a_trace_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    put(tmp_path, name=RANK.format(0, "aaaaaaaa"))
    put(tmp_path, b"no trace\n", RANK.format(1, "bbbbbbbb"))
    trace = load(tmp_path)
    (problem,) = [problem for problem in trace.problems if problem.code == "foreign-file"]
    assert (problem.file, problem.severity) == (RANK.format(1, "bbbbbbbb"), DATA_LOSS)
    assert [account.balances for account in trace.accounts] == [True, True]
    assert len(trace.compiles) == 2
