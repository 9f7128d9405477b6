"""The line that calls compiled code: from the records that have it, and none where PyTorch left it out of the stack."""

import make
from recorded import report_of

from shapelog.model.compile import Outcome
from shapelog.model.frame import Frame


def frame_of(trace: str, name: str) -> Frame:
    return next(frame for frame in report_of(trace).trace.frames if frame.name == name)


def test_a_stack_of_a_newer_torch_lacks_the_line_that_calls_a_function() -> None:
    block = frame_of("lab/autocast_toggle.log.gz", "block")
    assert [(item.name, item.code) for item in block.compiles[0].stack.frames[-2:]] == [("<module>", "main()"), ("block", "")]
    assert [block.caller(compile) for compile in block.compiles] == [None, None, None]
    assert block.called_at is None


def test_a_stack_of_an_older_torch_has_it() -> None:
    called = frame_of("real/2.6/l_failures.log.gz", "bf").called_at
    assert called is not None
    assert (called.name, called.line) == ("step", 10)


def test_the_line_is_that_of_an_entry_with_the_same_stack_whose_symbols_have_it() -> None:
    frame = frame_of("lab/beam_step_tuples.log.gz", "gather")
    first = frame.compiles[0]
    assert not first.recorded_callers
    assert (called := frame.caller(first)) is not None
    assert (called.line, called.code) == (21, 'state = gather(state, expand(state["scores"], state["h"] @ w, k))')


def test_what_was_still_being_compiled_has_the_version_of_its_file() -> None:
    """Its metrics, which have the version, are written at the end."""
    made = make.trace(make.compile("0/0", make.tensor(8), pytorch_version="2.13.0"), make.dynamo_start("g", 7, id="1/0"))
    unfinished = make.load(made).frames[1]
    assert [compile.outcome for compile in unfinished.compiles] == [Outcome.UNFINISHED]
    assert unfinished.compiles[0].stack.frames[0].code == "f(x)"
    assert unfinished.called_at is None


def test_a_stack_that_ends_at_the_wrapper_of_torch_compiler_disable_lacks_the_line_of_the_function_that_it_calls() -> None:
    def called(wrapper: str) -> str:
        stack = [{"line": 20, "name": "main", "filename": 1, "loc": "f(x)"}, {"line": 202, "name": "wrapper", "filename": wrapper}]
        start = make.record("dynamo_start", {"stack": [*stack, {"line": 5, "name": "f", "filename": 0}]}, id="0/0")
        (frame,) = make.load(make.trace(start, make.compile("0/0", make.tensor(8), is_started=False, pytorch_version="2.13.0"))).frames
        return frame.called_at.code if frame.called_at else ""

    assert called("/lib/torch/_dynamo/external_utils.py") == ""
    assert called("/lib/torch/nn/modules/module.py") == "f(x)"


def test_what_a_library_calls_itself_is_within_it() -> None:
    """``generate()`` calls the model; a training loop is the user's own."""
    assert [frame_of(f"lab/{name}.log.gz", "wrapper").is_within_library for name in ("hf_llama_generate", "hf_bert_train")] == [True, False]
    assert not frame_of("lab/beam_step_tuples.log.gz", "gather").is_within_library


def test_a_line_of_thousands_of_digits_in_a_name_is_no_line() -> None:
    name = f"torch_dynamo_resume_in_f_at_{'1' * 5000}"
    (frame,) = make.report(make.trace(make.static_sizes(8, 3, name=name))).trace.frames
    assert frame.function[-1] == name
