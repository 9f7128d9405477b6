"""Messages of Inductor about CUDA graphs, in the words of several versions."""

import pytest

from shapelog.reading.payloads.cuda_graphs import CudaGraphEvent, CudaGraphMessage, cuda_graph_message
from shapelog.reading.records import StackFrame

MUTATED = """skipping cudagraphs due to mutated inputs (2 instances). Found from :
   File "/app/serve.py", line 10, in step
    x = self.attend(q)
   File "/app/serve.py", line 17, in attend
    cache[pos] = k"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MUTATED,
            CudaGraphMessage(
                CudaGraphEvent.SKIPPED,
                "mutated inputs (2 instances)",
                place=StackFrame("/app/serve.py", 17, "attend", "cache[pos] = k"),
            ),
        ),
        ("skipping cudagraphs due to ['non-cuda device in graph']", CudaGraphMessage(CudaGraphEvent.SKIPPED, "non-cuda device in graph")),
        (
            "skipping cudagraph due to function 3 exceeding max re-recording limit (=128) on cudagraph node 1 due to CheckInvariant.",
            CudaGraphMessage(
                CudaGraphEvent.SKIPPED,
                "exceeding max re-recording limit (=128) on cudagraph node 1 due to CheckInvariant",
                "function 3",
            ),
        ),
        (
            "Re-recording function=forward, mode=FORWARD, reason=static input data pointer changed.",
            CudaGraphMessage(CudaGraphEvent.RECORDED_AGAIN, "static input data pointer changed", "forward"),
        ),
        (
            "CUDAGraph supports dynamic shapes by recording a new graph for each distinct input size. Recording too many CUDAGraphs may "
            "lead to extra overhead. We have observed 9 distinct sizes. Please consider",
            CudaGraphMessage(CudaGraphEvent.MANY_SIZES, "each input size needs a CUDA graph of its own", sizes=9),
        ),
        ("Using FallbackKernel: aten.sort.values_stable", None),
    ],
)
def test_a_message_has_its_event_reason_and_line(text: str, message: CudaGraphMessage | None) -> None:
    assert cuda_graph_message(text) == message


@pytest.mark.parametrize(("before", "between"), [(" ", "\n"), ("\n ", "\n"), (" ", "\\n")])
def test_the_stack_of_an_output_may_begin_on_the_next_line_or_have_escapes(before: str, between: str) -> None:
    stack = between.join(('File "/srv/a.py", line 5, in step', "    f(x)", '  File "/srv/b.py", line 7, in f', "    return x @ x"))
    text = "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace:"
    found = cuda_graph_message(f"{text}{before}{stack}. To prevent")
    assert found is not None
    assert found.place is not None
    assert (found.place.file, found.place.line, found.place.name, found.place.code) == ("/srv/b.py", 7, "f", "return x @ x")


def test_pending_backwards_keep_cuda_graphs_from_being_used() -> None:
    found = cuda_graph_message("UserWarning: Unable to hit fast path of CUDAGraphs because of pending, uninvoked backwards. Consider")
    assert found is not None
    assert (found.event, found.reason) == (CudaGraphEvent.SKIPPED, "pending, uninvoked backwards")


def test_static_inputs_that_moved_are_a_reason_of_their_own() -> None:
    text = (
        "static input data pointer changed.\ninput name: primals_2. data pointer changed from 140 to 141. "
        'input stack trace:   File "/srv/a.py", line 18, in forward\n    return self.static + x\n'
        '  File "/srv/a.py", line 16, in forward\n    return self.linear(x)\n\ninput name: primals_3. data pointer changed from 1 to 2. '
        'input stack trace:   File "/srv/a.py", line 25, in forward\n'
    )
    found = cuda_graph_message(text)
    assert found is not None
    assert (found.event, found.reason) == (CudaGraphEvent.MOVED, "static input data pointer changed (primals_2 and primals_3 at a.py:25)")
    assert found.place is not None
    assert (found.place.line, found.place.code) == (16, "return self.linear(x)")


def test_the_stack_of_an_overwritten_output_may_have_a_frame_without_its_code() -> None:
    text = (
        "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent run. Stack trace: "
        'File "/srv/a.py", line 13, in forward\n\n  File "/srv/a.py", line 7, in forward\n    y = 1.0 / x. To prevent it, clone it.'
    )
    found = cuda_graph_message(text)
    assert found is not None
    assert found.place is not None
    assert (found.place.line, found.place.code) == (7, "y = 1.0 / x")
