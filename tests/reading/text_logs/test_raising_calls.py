"""An error of any class is one of compiled code by the stack that it has; that of other code is not."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.report.report import Report, analyze
from shapelog.report.results import Location
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

TORCH = "/opt/lib/python3.11/site-packages/torch"
USER = ("/srv/model.py", "forward", "y = self.fc(x)")
MODULE = (f"{TORCH}/nn/modules/module.py", "_call_impl", "return forward_call(*args, **kwargs)")
WRAPPER = (f"{TORCH}/_dynamo/eval_frame.py", "compile_wrapper", "return fn(*args, **kwargs)")
CONVERTS = (f"{TORCH}/_dynamo/convert_frame.py", "__call__", "result = self._inner_convert(")
RUNS = (f"{TORCH}/_functorch/_aot_autograd/runtime_wrappers.py", "runtime_wrapper", "all_outs = call_func_at_runtime_with_args(")
COMPILES = (f"{TORCH}/_inductor/compile_fx.py", "_compile_fx_inner", "compiled = fx_codegen_and_compile(")
TUNES = (f"{TORCH}/_inductor/codegen/wrapper.py", "generate_and_run_autotune_block", "exec(tuning_code, scope)")
GENERATED = ("/tmp/torchinductor_me/ab/cab.py", "call", "assert_size_stride(arg0_1, (8, 64), (64, 1))")
EXPORTS = (f"{TORCH}/export/__init__.py", "export", "raise e")
LOADS = (f"{TORCH}/export/__init__.py", "load", "ep = deserialize(artifact, expected_opset_version)")
SCHEMA = (f"{TORCH}/_export/serde/serialize.py", "deserialize", "raise SerializeError(")
CHECKS = (f"{TORCH}/_export/utils.py", "_check_input_constraints_for_graph", "raise RuntimeError(")
ENTRY = (f"{TORCH}/__init__.py", "compile", "return torch._dynamo.optimize(")
MODES = (f"{TORCH}/_inductor/__init__.py", "list_mode_options", "raise RuntimeError(")
ASSERTS = (f"{TORCH}/__init__.py", "_assert", "raise AssertionError(message)")
LINEAR = (f"{TORCH}/nn/modules/linear.py", "forward", "return F.linear(input, self.weight, self.bias)")
Stack = tuple[tuple[str, str, str], ...]


def traceback(stack: Stack, error: str) -> str:
    frames = (("/srv/train.py", "<module>", "main()"), *stack)
    return "Traceback (most recent call last):\n" + "".join(f'  File "{f}", line 9, in {n}\n    {c}\n' for f, n, c in frames) + f"{error}\n"


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


@pytest.mark.parametrize(
    ("stack", "error", "begins", "help"),
    [
        (
            (MODULE, WRAPPER, RUNS),
            "RuntimeError: torch.compile with aot_autograd does not currently support double backward",
            "compiled code raised an error when it ran: torch.compile with",
            "take second derivatives",
        ),
        (
            (MODULE, WRAPPER, RUNS, GENERATED),
            "AssertionError: expected size 16==8, stride 64==64 at dim=0\nUse torch.library.opcheck to test your custom op.",
            "compiled code raised an error when it ran: a tensor has size 16 instead of 8 in dim 0",
            "torch.library.opcheck",
        ),
        (
            (MODULE, WRAPPER, RUNS, GENERATED),
            "AssertionError: expected size 256==256, stride 2880==3072 at dim=0; expected size 2880==3072, stride 1==1 at dim=1\n"
            "Error in op: torch.ops.vllm.moe_forward.default\nThis error most often comes from a incorrect fake (aka meta) kernel.",
            "compiled code raised an error when it ran: what vllm.moe_forward returned has stride 2880 instead of 3072 in dim 0 and",
            "correct the fake implementation of this operator",
        ),
        (
            (LOADS, SCHEMA),
            "RuntimeError: Serialized version 9 does not match our current schema version 8.",
            "torch.export.load failed: Serialized version 9",
            "the same version of PyTorch",
        ),
        (
            ((f"{TORCH}/_dynamo/eval_frame.py", "compile_wrapper", "raise RuntimeError(msg)"),),
            "RuntimeError: torch.compile with fullgraph=True found no compiled frames. Skipped frames:\n"
            "  - f (/srv/model.py:2): non-infra torch dispatch mode present\n  - g (/srv/model.py:7): frame is in a list",
            "torch.compile failed: torch.compile with fullgraph=True found no compiled frames. Skipped frames: f (/srv/model.py:2)",
            "a dispatch mode around the call",
        ),
        (
            (RUNS,),
            "RuntimeError: the backward graph needs this: set torch._functorch.config.donated_buffer=False to disable it.",
            "compiled code raised an error when it ran: ",
            "set torch._functorch.config.donated_buffer=False",
        ),
        (
            (RUNS, (f"/srv/caches/hm/chm{'a' * 49}.py", "call", "cpp_fused(arg0_1)")),
            "RuntimeError: kernel, /srv/caches/fp/c.main.cpp:23, index out of bounds: 0 <= tmp7 < 4L",
            "compiled code raised an error when it ran: kernel",
            "an index that is out of range",
        ),
        (
            (MODULE, (f"{TORCH}/_dynamo/external_utils.py", "inner", "return func(*args, **kwargs)"), ("<string>", "_", ""), ASSERTS),
            "AssertionError: Guard failed: x.size()[0] <= 6",
            "an exported program refused its inputs: Guard failed: x.size()[0] <= 6",
            "pass inputs like those of the export",
        ),
        ((RUNS, COMPILES), "RuntimeError: no schedule", "a function not named in the log failed to compile in Inductor: ", "this is an"),
        (
            (TUNES, (f"{TORCH}/_inductor/runtime/triton_heuristics.py", "run", "return launcher(")),
            "RuntimeError: Triton Error [CUDA]: invalid argument",
            "a function not named in the log failed to compile in Inductor: Triton Error",
            "this is an error in the compiler",
        ),
        ((WRAPPER, CONVERTS), "AssertionError: Mixing fake modes NYI", "a function not named in the log failed to compile in Dynamo", ""),
        ((EXPORTS,), "RuntimeError: Constant c is mutated in the forward method.", "torch.export failed: Constant c", "a buffer"),
        ((MODULE, CHECKS), "RuntimeError: Expected input to be equal to 8", "an exported program refused its inputs: ", "dynamic_shapes"),
        ((ENTRY, MODES), "RuntimeError: Unrecognized mode=fast, should be one of: default", "torch.compile failed: Unrecognized", "names"),
    ],
)
def test_the_call_that_raised_is_known_by_the_stack(stack: Stack, error: str, begins: str, help: str, tmp_path: Path) -> None:
    (finding,) = report_of(traceback(stack, error), tmp_path).findings
    assert finding.rule.code == "SL403"
    assert finding.sentence.startswith(begins)
    assert help in finding.remedy
    assert finding.place == Location("/srv/train.py", 9)


@pytest.mark.parametrize(
    ("stack", "error"),
    [
        ((MODULE, LINEAR), "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 9x3)"),
        ((MODULE, WRAPPER, USER, MODULE, LINEAR), "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 9x3)"),
        ((MODULE, WRAPPER), "TypeError: Net.forward() missing 1 required positional argument: 'mask'"),
        ((MODULE, WRAPPER, CONVERTS), "KeyboardInterrupt"),
        (
            ((f"{TORCH}/_functorch/vmap.py", "vmap_impl", "return _flat_vmap("),),
            "ValueError: vmap: Expected all tensors to have the same size",
        ),
        (((f"{TORCH}/__init__.py", "<module>", "from torch._C import *"),), "ImportError: libcudnn.so.9: cannot open shared object file"),
    ],
)
def test_an_error_of_other_code_is_none_of_the_compiler(stack: Stack, error: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match=r"not a torch\.compile trace"):
        report_of(traceback(stack, error), tmp_path)


def test_a_call_that_failed_is_not_counted_as_a_compilation(tmp_path: Path) -> None:
    report = report_of(traceback((RUNS,), "RuntimeError: no"), tmp_path)
    assert "1 call failed" in render(report, Options()).decode()
    report = report_of(traceback((CONVERTS,), "RuntimeError: no"), tmp_path)
    assert "1 compilation failed" in render(report, Options()).decode()


@pytest.mark.parametrize(
    ("text", "begins", "help"),
    [
        ("RuntimeError: Detected that you are using FX to symbolically trace a dynamo-optimized function.", "Detected that", "_orig_mod"),
        ("E   RuntimeError: torch.compile with aot_autograd does not currently support double backward", "torch.compile with", "second"),
        (
            "RuntimeError: this stays on: set torch._functorch.config.donated_buffer=False",
            "this stays",
            "set torch._functorch.config.donated",
        ),
    ],
)
def test_without_a_stack_of_python_an_error_is_known_by_its_words(text: str, begins: str, help: str, tmp_path: Path) -> None:
    (finding,) = report_of(f"{text}\n", tmp_path).findings
    assert finding.sentence.startswith(f"torch.compile or torch.export raised an error: {begins}")
    assert help in finding.remedy


@pytest.mark.parametrize("front", ["", "> `", "`", '> "'])
def test_an_error_about_the_compiler_may_be_quoted_in_the_middle_of_a_text(front: str, tmp_path: Path) -> None:
    error = "RuntimeError: Worker failed with error 'torch.compile with fullgraph=True found no compiled frames', see above."
    (finding,) = report_of(f"The job raises:\n\n{front}{error}{front[-1:]}\n\nIt passes on 2.11.\n", tmp_path).findings
    assert finding.sentence == f"torch.compile failed: {error.removeprefix('RuntimeError: ')}"
    assert "torch.compiler.disable" in finding.remedy


def test_what_dynamo_skipped_may_be_on_a_line_of_its_own(tmp_path: Path) -> None:
    text = "RuntimeError: torch.compile with fullgraph=True found no compiled frames.\nSkipped frames: ... Dynamo tracing is disabled\n"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith("compiled frames. Skipped frames: ... Dynamo tracing is disabled")


def test_the_call_that_raised_is_known_by_a_stack_of_ipython(tmp_path: Path) -> None:
    text = (
        "ValueError                    Traceback (most recent call last)\nCell In[5], line 3\n----> 3 f(x)\n\n"
        f"File {TORCH}/_dynamo/convert_frame.py:9, in wrapped(f)\n----> 9 raise ValueError()\n\nValueError: odd\n"
    )
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith("failed to compile in Dynamo: odd")


@pytest.mark.parametrize(
    ("text", "begins", "help"),
    [
        (
            "AssertionError: expected size 16==8, stride 1==1 at dim=0",
            "compiled code raised an error when it ran: a tensor has size 16 instead of 8 in dim 0",
            "opcheck",
        ),
        (
            "RuntimeError: Expected input at *args[0].shape[0] to be equal to 4, but got 5",
            "an exported program refused its inputs: Expected input",
            "dynamic_shapes",
        ),
        (
            "```RuntimeError: Expected input x.shape[0] = 5 to be of the form 2*s1, where s1 is an integer```",
            "an exported program refused its inputs: Expected input x.shape[0] = 5",
            "dynamic_shapes",
        ),
        (
            "AssertionError: Guard failed: x.size()[0] // 5 != 1",
            "an exported program refused its inputs: Guard failed: x.size()[0] // 5 != 1",
            "dynamic_shapes",
        ),
        (
            "Error: input_handles[0]: unmatched dim value at 0, expected: 8, but got: 4,\n"
            'Traceback (most recent call last):\n  File "/srv/run.py", line 9, in <module>\n    runner.run([x])\n'
            "RuntimeError: run_func_( container_handle_ ) API call failed at model_container_runner.cpp, line 145",
            "an exported program refused its inputs: input_handles[0]: unmatched dim value",
            "dynamic_shapes",
        ),
    ],
)
@pytest.mark.parametrize("above", ["", "epoch 1\n" * 6_000])
def test_what_a_check_of_inputs_writes_is_known_without_a_stack(text: str, begins: str, help: str, above: str, tmp_path: Path) -> None:
    (finding,) = report_of(f"{above}{text}\n", tmp_path).findings
    assert finding.sentence.startswith(begins)
    assert help in finding.remedy


@pytest.mark.parametrize(
    "words", ["The above exception was the direct cause of the following exception", "During handling of the above exception"]
)
def test_an_exception_that_others_follow_keeps_its_words_and_place(words: str, tmp_path: Path) -> None:
    words += "" if words.startswith("The") else ", another exception occurred"
    text = (
        traceback((RUNS,), "RuntimeError: no") + f"\n{words}:\n\n" + traceback((("/srv/run.py", "run", "f()"),), "RuntimeError: it stopped")
    )
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence == "compiled code raised an error when it ran: no"
    assert finding.place == Location("/srv/train.py", 9)


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: cannot import name 'x' from 'torch._dynamo'\n",
        "I read that RuntimeError: torch.compile failed for somebody.\n",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied\n",
    ],
)
def test_words_that_are_no_error_of_the_compiler_are_none(text: str, tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match=r"not a torch\.compile trace"):
        report_of(text, tmp_path)


def test_a_list_of_all_settings_is_cut(tmp_path: Path) -> None:
    error = f"RuntimeError: Unexpected optimization option a, known options are {['triton.cudagraphs'] * 200}"
    (finding,) = report_of(traceback((ENTRY,), error), tmp_path).findings
    assert len(finding.sentence) < 700


def test_an_export_that_failed_names_the_function_of_the_user(tmp_path: Path) -> None:
    error = (
        "torch._dynamo.exc.UserError: Data-dependent branching\n\nfrom user code:\n"
        + '   File "/srv/m.py", line 3, in forward\n    if x > 0:'
    )
    (finding,) = report_of(traceback((EXPORTS,), error), tmp_path).findings
    assert finding.sentence == "torch.export failed in forward: Data-dependent branching"


def test_a_setting_that_stands_in_the_way_is_not_to_be_set(tmp_path: Path) -> None:
    error = "RuntimeError: Cannot precompile with torch._inductor.config.force_disable_caches=True; caching is required."
    (finding,) = report_of(traceback((ENTRY,), error), tmp_path).findings
    assert "force_disable_caches" not in finding.remedy


def test_an_input_that_an_exported_program_refuses_needs_no_class(tmp_path: Path) -> None:
    text = ">> FAIL: Exported:  Expected input at *args[0].shape[0] to be equal to 1, but got 3\nError: mat1 and mat2 (3x1 and 2x1)\n"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence == "an exported program refused its inputs: Expected input at *args[0].shape[0] to be equal to 1, but got 3"


@pytest.mark.parametrize("separator", ["/", "\\"])
def test_the_part_of_the_compiler_is_known_by_paths_of_windows_as_well(separator: str, tmp_path: Path) -> None:
    file = separator.join(("C:", "lib", "torch", "_inductor", "codegen", "simd.py"))
    stack = f'  File "{file}", line 9, in codegen\n    f()\n'
    error = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nValueError: odd\n"
    (finding,) = report_of(f"Traceback (most recent call last):\n{stack}{error}", tmp_path).findings
    assert "failed to compile in code generation" in finding.sentence


@pytest.mark.parametrize(
    ("files", "where"),
    [
        (("_dynamo/output_graph.py", "_dynamo/repro/after_dynamo.py"), " in the backend"),
        (("_dynamo/repro/after_dynamo.py", "_inductor/compile_fx.py"), " in Inductor"),
        (("_dynamo/repro/after_dynamo.py", "_dynamo/convert_frame.py"), ""),  # what is missing may lead into a later stage
    ],
)
def test_a_stack_that_ends_where_a_backend_is_called_is_of_the_backend(files: tuple[str, ...], where: str, tmp_path: Path) -> None:
    head = r"W0916 19:14:38.825000 9120 Lib\site-packages\torch\_dynamo\convert_frame.py:1280] "
    stack = "".join(f'{head}  File "{TORCH}/{file}", line 9, in f\n{head}    g()\n' for file in files)
    (finding,) = report_of(stack.replace("/", "\\"), tmp_path).findings
    assert finding.sentence.endswith(f"failed to compile{where}: the exception is missing from the log")


def test_a_declared_dim_that_the_code_of_a_function_fixes_stops_an_export(tmp_path: Path) -> None:
    fixed = "  - You marked batch as dynamic but your code specialized it to be a constant (6).\n"
    stack = 'from user code:\n   File "/srv/model.py", line 8, in forward\n    return x.view(6, -1)\n'
    path = tmp_path / "run.txt"
    path.write_text(f"torch._dynamo.exc.UserError: Constraints violated (batch)!\n{fixed}\n{stack}", encoding="utf-8")
    (found,) = [item for item in analyze(load(path)).findings if item.rule.code == "SL203"]
    assert found.sentence.startswith("torch.export failed in forward: batch is declared as dynamic, but the code fixes it to 6")
