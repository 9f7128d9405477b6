"""The lines that let Dynamo move or ignore the calls of ``print``, ``warnings.warn`` and loggers at which it stopped."""

import re
from collections.abc import Iterator

from shapelog.reading.payloads.compiler_messages import CompilerMessage

# The set of functions that a hint of PyTorch names. It gives this hint about any builtin, so that only what writes a line counts.
_SET = re.compile(r"torch\._dynamo\.config\.(reorderable_logging_functions|ignore_logg\w+)")
_FUNCTION = re.compile(r"(?<=`)(?:print|_warnings\.warn|warnings\.warn)(?=`)")
_METHOD = re.compile(r"\.(debug|info|warning|warn|error|exception|critical|log)\(")
_ARGUMENT_TYPES = re.compile(r"argument types \[([^\]]*)\]")
_MOVABLE = frozenset(("Tensor", "Parameter", "str", "int", "float", "bool", "complex", "NoneType", "dtype", "device"))


def lines_for_logging(message: CompilerMessage, code: str) -> Iterator[str]:
    """What to type before the code is compiled; nothing for any other call. ``code`` is the line that makes the call."""
    named = next(filter(None, map(_SET.search, message.specific_hints)), None)
    if named is None:
        return
    if named[1].startswith("ignore"):
        method = _METHOD.search(code)
        if method:
            yield from ("import logging", f"{named[0]}.add(logging.Logger.{method[1]})")
    elif (call := _FUNCTION.search(message.explanation)) and _may_move(message.explanation):
        function = call[0].lstrip("_")
        yield from (*(("import warnings",) if "." in function else ()), f"{named[0]}.add({function})")


def _may_move(explanation: str) -> bool:
    """Whether Dynamo can move a call with these arguments to the end of the graph: only with tensors and constants, and no container."""
    types = _ARGUMENT_TYPES.search(explanation)
    return types is None or _MOVABLE.issuperset(re.findall(r"'([^']*)'", types[1]))
