"""Which function was passed, as far as the graphs of two compiles show it."""

import re

from shapelog.model.compile import COMPREHENSIONS, resumed_by
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.facts.compile_facts import CompileFacts

_CALLED = re.compile(r" = (torch\.[\w.]*)\(")
# The name of a node, as of ``lt_1 = x < 3``, without the number that makes it unique. A placeholder has the name of its source.
_NODE = re.compile(r"^([a-z]\w*?)(?:_\d+)?(?:: \"[^\"]*\")? = (?!L_)")
# A function that Dynamo does not trace (``SkipFunctionVariable.call_function``): the graph breaks at its call.
_SKIPPED = re.compile(r"marked that the function `([\w.<>]+)` in file `([^`]+)` should not be traced")
_CALL = re.compile(r"[\w\])]\(")
_REFLECTED = frozenset(("lt", "le", "gt", "ge"))
_READS_SELF = re.compile(r"(?<![\w.])self\.")


def other_library_function(name: str, entry: CompileFacts, call: CompileFacts) -> str:
    """Which functions of a library were passed, as far as the two graphs show them."""
    before, after = _other_operators(entry, call)
    if {before, after} & _REFLECTED and any(_takes_number_first(name, code) for _, code in _lines(entry) | _lines(call)):
        return f"{name} is a different library function"
    was_called, is_called = (_is_called_on_its_own_line(name, *pair) for pair in ((entry, call), (call, entry)))
    took_one_path = _lines(entry) == _lines(call)
    if before and after and (took_one_path or (was_called and is_called)):
        return f"{name} is a different library function: {before}, now {after}"
    if after and is_called:
        return f"{name} changed to {after} (the earlier function is not recorded)"
    if before and was_called:
        return f"{name} was {before} and is now a different library function"
    return f"{name} is a different library function"


def _takes_number_first(name: str, code: str) -> bool:
    """Whether a line calls a function with a number and then a tensor: ``lt(2, x)``, which is ``x > 2`` in a graph."""
    return re.search(rf"(?<!\w){re.escape(name.rpartition('.')[2])}\(\s*-?[\d.]", code) is not None


def operator_of(name: str, known: CompileFacts, other: CompileFacts) -> str:
    """The operator that only one of two graphs has, on the line that calls the function; "" without one."""
    return _other_operators(known, other)[0] if _is_called_on_its_own_line(name, known, other) else ""


def _is_called_on_its_own_line(name: str, known: CompileFacts, other: CompileFacts) -> bool:
    """Whether a graph comes from a line that calls the function, and the other graph does not."""
    called = re.compile(rf"(?<!\w){re.escape(name.rpartition('.')[2])}\(")
    return any(called.search(code) for _, code in _lines(known) - _lines(other))


def _lines(known: CompileFacts) -> set[tuple[int, str]]:
    """The lines of code that a graph comes from: where they differ, so do the paths through the code."""
    return {(line.line, line.code) for line in known.compile.graph.user_lines} if known.compile.graph else set()


def _other_operators(entry: CompileFacts, call: CompileFacts) -> tuple[str, str]:
    """The operators that only one of two graphs has, "" unless that is one: functions of torch, or else what nodes are named after."""
    graphs = entry.compile.graph, call.compile.graph
    if not all(graphs):
        return "", ""
    found = [{match[1] for text in graph.statements if (match := _CALLED.search(text))} for graph in graphs if graph]
    if not (found[0] - found[1] and found[1] - found[0]):
        found = [
            {match[1] for text in graph.statements if (match := _CALLED.search(text) or _NODE.search(text))} for graph in graphs if graph
        ]
    before, after = found
    gone, new = sorted(before - after), sorted(after - before)
    return gone[0] if len(gone) == 1 else "", new[0] if len(new) == 1 else ""


def functions_in(known: CompileFacts, has_methods: bool = False) -> set[tuple[str, str]]:
    """(name, ``file:first line``) of each function that the graph of a compile has code of, other than its own; the first line is that
    seen in the graph. A method of a library that Python calls by itself, as for ``a.b = c``, is not passed by anybody.

    Comprehensions are of the function around them. The name is "" for a method, which the function that was passed calls, as
    ``functional_call`` calls ``forward``. It has its name where methods are passed (``has_methods``).
    """
    own = known.compile.metrics.code_name
    found: dict[tuple[str, str], int] = {}
    for line in known.compile.graph.user_lines if known.compile.graph else ():
        if line.name in COMPREHENSIONS:
            continue
        if not line.file.startswith("<") and line.name != own and not (line.name.startswith("__") and is_library(line.file)):
            is_method = not has_methods and _READS_SELF.search(line.code) is not None
            found.setdefault(("" if is_method else line.name, line.file), line.line)
    return {(name, f"{file.rsplit('/', 1)[-1]}:{line}") for (name, file), line in found.items()}


def functions_that_broke(name: str, entry: CompileFacts, call: CompileFacts) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """(name, ``file:line``) of the functions in which two graphs broke, called by this name in the code itself; empty for a function of a
    library, unless PyTorch names it (then without a line). Both are empty where one graph did not break there, or where both did in what
    may be one function, made anew.
    """
    before, after = _function_that_broke(name, entry), _function_that_broke(name, call)
    if before is None or after is None or before == after:
        return set(), set()
    if {function for function, _ in before} & {function for function, _ in after} - {"<lambda>"}:
        return set(), set()
    return before, after


def _function_that_broke(name: str, known: CompileFacts) -> set[tuple[str, str]] | None:
    own = known.compile.metrics.code_name
    resumed = resumed_by(own)
    called = re.compile(rf"(?<![\w.]){re.escape(name)}\(")
    for item in known.compile.breaks:
        places = [place for place, frame in enumerate(item.message.stack) if frame.name == (resumed[0] if resumed else own)]
        code = item.message.stack[places[-1]].code if places else ""
        if not called.search(code):
            continue
        below = item.message.stack[places[-1] + 1 :]
        skipped = _SKIPPED.search(item.message.explanation)
        if skipped and not below and len(_CALL.findall(code)) == 1:
            return {(skipped[1].replace(".<locals>", ""), skipped[2].rsplit("/", 1)[-1])}
        return {(frame.name, f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}") for frame in below[:1] if not is_library(frame.file)}
    return None
