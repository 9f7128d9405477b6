"""What the log of vLLM has on its compilations: vLLM prints how long they took, and neither their graphs nor their guards."""

import re
from collections.abc import Iterator

from shapelog.text import one_line, plural, seconds

_SECONDS = rb"(\d{1,9}(?:\.\d{1,6})?) s\b"
_DYNAMO = re.compile(rb"Dynamo bytecode transform time: " + _SECONDS)
# In older versions: "for general shape", "for dynamic shape", "for shape 8".
_COMPILED = re.compile(rb"Compiling a graph for ([^\n]{1,60}?) takes " + _SECONDS)
_LOADED = re.compile(rb"Directly load the (?:compiled graph\(s\)|\S{1,20} graph) for [^\n]{1,60}? from (?:the cache|\w{1,40} via handle)")
_STORED = re.compile(rb"\bstore the \S{1,20} graph for [^\n]{1,60}? from \w{1,40} via handle")
_READY_MADE = re.compile(rb"Directly load AOT compilation from path")
_FAILED = re.compile(rb"Compiling model again due to a load failure from [^\n]{1,400}?, reason: ([^\n]{1,200})")
_DISABLED = re.compile(rb"vLLM's torch\.compile cache is disabled")
_TOTAL = re.compile(rb"torch\.compile (?:and initial profiling/warmup run together )?(?:takes|took) " + _SECONDS + rb" in total")


def vllm_log_words(head: bytes) -> str:
    """What vLLM compiled and loaded, and how long it took, by the lines of its log; "" for another text."""
    return ", ".join(_words(head))


def _words(head: bytes) -> Iterator[str]:
    """Of several processes that print the same, the longest times."""
    if times := _times(_DYNAMO, head):
        yield f"Dynamo took {seconds(max(times))}"
    if compiled := [(float(found[2]), found[1].decode("utf-8", "replace")) for found in _COMPILED.finditer(head)]:
        spent, what = max(compiled)
        longest = f"the longest {seconds(spent)}" if len(compiled) > 1 else seconds(spent)
        yield f"{plural(len(compiled), 'graph')} compiled ({longest}, for {one_line(what)})"
    if stored := len(_STORED.findall(head)):
        yield f"{plural(stored, 'graph')} stored in the cache"
    if loaded := len(_LOADED.findall(head)):
        yield f"{plural(loaded, 'graph')} loaded from the cache"
    if ready := len(_READY_MADE.findall(head)):
        yield f"{plural(ready, 'part')} of the model loaded ready-made"
    if failed := _FAILED.search(head):
        yield f"a part compiled again because it could not be loaded ({one_line(failed[1].decode('utf-8', 'replace')).strip()})"
    if _DISABLED.search(head):
        yield "vLLM's cache disabled"
    if times := _times(_TOTAL, head):
        yield f"{seconds(max(times))} in total"


def _times(pattern: re.Pattern[bytes], head: bytes) -> list[float]:
    return [float(found[1]) for found in pattern.finditer(head)]
