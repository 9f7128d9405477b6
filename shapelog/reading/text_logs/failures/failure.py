"""The failure in a text: a traceback, what is left of one, or the exception as somebody quotes it."""

import re
from collections.abc import Iterable

from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION, compiler_message
from shapelog.reading.payloads.python_tracebacks import exception_chain, observed_exception
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.text_logs.failures.failure_text import IN_STACK, FailureText
from shapelog.reading.text_logs.failures.nameless import (
    CHAIN,
    CLASS,
    GUARD_ERROR,
    MET_BY_ONNX,
    NOT_CONVERTED,
    cause,
    compiled_code,
    nameless_failure,
    unconverted,
)
from shapelog.reading.text_logs.failures.raised import Raised, raised_in
from shapelog.reading.text_logs.failures.stacks import frames_in, innermost_code
from shapelog.reading.text_logs.failures.violations import (
    ANY_TYPE,
    INTERNAL,
    VIOLATED,
    VIOLATED_ALONE,
    VIOLATION,
    as_violation,
    violated_constraints,
)
from shapelog.reading.text_logs.lines.exception_names import is_cut_name
from shapelog.reading.text_logs.lines.joined import joined_parts, with_whole_operation, with_whole_sentences
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.message_kinds import CHAINS
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE
from shapelog.reading.text_logs.messages.recompile_text import recompiled_code

# The end of an exception's message, which any program's may have by chance, and of Dynamo's own.
_OF_ANY_PROGRAM = ("Unsupported", "UserError")
_OF_DYNAMO = re.compile(
    r"\w+Variable\b|\bcall_(?:function|method|module)\b|^from user code:|TORCH_LOGS|TORCHDYNAMO|torch[/\\](?:_dynamo|_?export)\b", re.M
)
_EXPLANATION = re.compile(
    r"^(?P<message>(?: ?\S[^\n]*\n)?[ \t]*Explanation: .*?)^\s*from user code:"
    r"(?P<code>[ \t]*\n[ \t]+(?!File \")\S[^\n]*)?",
    re.M | re.S,
)
_MARGIN = re.compile(r"^[ \t]*(?=  Explanation: )", re.M)
# In front of each line of a rank, where somebody joined these.
_RANK_OF_LINE = re.compile(r" \[rank\d{1,6}\]: ")
# An error of which only the class is there, or not even that, and the statement of a stack that asserted something.
_LEFT_OUT = re.compile(r"(?:^|(?<=raised:)\s*)(?:(?P<name>[A-Z]\w{0,80}(?:Error|Exception)):?[ \t]*)?(?:\.{3}|…)?[ \t]*$")
# Below it, the call, and what to do; or the operator that was lowered.
_END_OF_ERROR = re.compile(r"(\n\n|\n(?=[ \t]{1,9}target: ))")
_ASSERTED = re.compile(r"^ {4,}(assert [^\n]{1,200}?)\s*$", re.M)
# One with a value alone, and the statement at the end of its stack.
_VALUE_ALONE = re.compile(r"(?:^|(?<=raised:)\s*)AssertionError: [^A-Za-z\n]{1,200}$")
_ASSERTED_LAST = re.compile(r"\n {4,}(assert [^\n]{1,200}?)[ \t]*\n[ \t~^\n]*\Z")
# An operation whose arguments a text cuts, and with them the error.
_OF_OPERATION, _CUT_CALL = "TorchRuntimeError", re.compile(r"Dynamo failed to run FX node with fake tensors: call_\w+ (?:(?!: got ).)*")
# The statement that raised, at the end of a stack: an internal error of older versions does not name the class.
_RAISES = re.compile(rf"\n {{4,}}raise (?!{INTERNAL}|{_OF_OPERATION})(\w{{1,80}}(?:Error|Exception))\([^\n]*\n[ \t~^\n]*\Z")
# A warning of Python's, which may come in the middle of a traceback.
_WARNING = re.compile(r"\S.{0,400}\.py:\d{1,9}: [A-Z]\w{0,60}Warning: ")
# An exception of the traced code, for which Dynamo raises another one unless the code handles it.
_OBSERVED = "Observed"
# What symbolic shapes raise about a value that only the data decide.
_OF_DATA = "GuardOnDataDependentSymNode"
# What torch.onnx raises where torch.export failed.
_OF_ONNX = "TorchExportError"
# How IPython heads a stack, below which the exception follows.
_IPYTHON = re.compile(r" {2,200}Traceback \(most recent call last\)")


def failure(lines: Iterable[str], is_logged: bool = False) -> FailureText | None:
    """The failure in a traceback, or in what is left of one; None where no compiler raised it.

    What PyTorch itself logs (``is_logged``) is a failure, even if the log ends before the exception.
    """
    lines = [part for line in with_whole_sentences(list(lines)) if not _WARNING.match(line) for part in joined_parts(line)]
    text = "\n".join(lines)
    raised = [found for found in raised_in(text) if found.type not in _OF_ANY_PROGRAM or _OF_DYNAMO.search(text)]
    if not raised and (explained := _EXPLANATION.search(text)):  # from Explanation on, the message of an exception
        below = f"\n\nfrom user code:{explained['code']}" if explained["code"] else ""
        message = with_whole_operation(_without_margin(explained["message"]).rstrip()) + below
        return FailureText("Unsupported", message, compiled_code(text), text)
    if not raised:
        return nameless_failure(text, is_logged)
    if len(raised) > 1 and raised[-1].type == _OF_DATA and text[: raised[-1].start].rstrip().endswith("raised:"):
        raised.pop()  # of a backend
    last = raised[-1]
    message = _without_closing(_RANK_OF_LINE.sub(" ", _without_indent(text, last)))
    message = _completed(with_whole_operation(message), text, last.start) if message else cause(text) or violated_constraints(text)
    if message.endswith("raised:") or (not message and _IPYTHON.match(text, last.start + len(last.type))):
        message = f"{message} {LOST_EXCEPTION}".strip()
    kind = last.type.rpartition(".")[2]
    message = _as_raised(kind, observed_exception(kind, message), text[: last.start])
    is_met = (met := MET_BY_ONNX.search(text)) is not None and met.start("kind") <= last.begin <= met.end()
    if is_met and _OF_ONNX in text and not VIOLATED.match(message):
        kind = _OF_ONNX
    if kind.startswith(_OBSERVED) and _ends_in_chain(text, last.start):
        message = f"{message} in the code that is traced; {LOST_EXCEPTION}"
    if last.begin == len(text) and not message and is_cut_name(kind):
        kind, message, text = ANY_TYPE, LOST_EXCEPTION, text[: last.start]
    if named := NOT_CONVERTED.search(text):
        code = unconverted(named)
    else:
        recompiled = recompiled_code(message)
        code = recompiled if recompiled.name else compiled_code(text)
    begin = text.find("Traceback (most recent call last):")
    if 0 <= raised[0].start < begin and any(map(CHAINS.match, text[raised[0].start : begin].split("\n"))):
        begin = raised[0].start  # its cause, without a stack
    is_known = code.name or compiler_message(message).stack or _is_cut_below(text, last.start)
    caller = UNKNOWN_CODE if is_known else innermost_code(lines)
    if kind == VIOLATION and (alone := VIOLATED_ALONE.match(message)):
        message = as_violation(alone)
    whole = text[max(begin, 0) :] if exception_chain(text) else text
    is_mentioned, is_announced = is_in_sentence(text, last.start), GUARD_ERROR.search(text) is not None
    return FailureText(
        type=kind, message=message, code=code, text=whole, caller=caller, is_mentioned=is_mentioned, is_announced=is_announced
    )


def _as_raised(kind: str, message: str, above: str) -> str:
    """A message with the class of the exception that the text above it has, where PyTorch or a person left that out."""
    if kind == _OF_DATA and message and not message.startswith("Could not "):
        return f"{kind}: {message}"  # as a person repeats it
    if kind == INTERNAL and (raising := _RAISES.search(above)) and message and not CLASS.match(message):
        return f"{raising[1]}: {message}"
    if kind == _OF_OPERATION and _CUT_CALL.fullmatch(message) and (raising := _RAISES.search(above)):
        return f"{message}: got {raising[1]}(...)"
    return message


def failure_of_backward(lines: Iterable[str]) -> FailureText:
    """That of a backward graph, whatever raised it and as far as it is there: nothing else is logged with it."""
    text = "\n".join(line for line in lines if not _WARNING.match(line))
    return FailureText(ANY_TYPE, cause(text) or LOST_EXCEPTION, UNKNOWN_CODE, text)


def _completed(message: str, text: str, begin: int) -> str:
    """A message that a person left out, or that Python has none of, with what else of the text has it: the line right above, the same
    class with its message, or the statement that asserted, which is added to a value alone, too.
    """
    own, end, rest = (*_END_OF_ERROR.split(message, maxsplit=1), "", "")[:3]
    if _VALUE_ALONE.search(own) and (asserts := _ASSERTED_LAST.search(text[:begin])):
        return f"{own} ({asserts[1]}){end}{rest}"
    left_out = _LEFT_OUT.search(own) if own else None
    if not left_out:
        return message
    above = text[:begin].rstrip().rpartition("\n")[2].strip()
    name = left_out["name"] or ""
    named = re.search(rf"\b{name}: (?P<all>[^\s`.…][^\n`]*)", text) if name else None
    if named:
        error = f"{name}: {named['all'].strip()}"
    elif name == "AssertionError":
        asserted = _ASSERTED.findall(text[:begin])
        error = f"{name}: {asserted[-1]}" if asserted else name
    else:
        error = name or (above if CLASS.match(above) else "")
    return f"{own[: left_out.start()].rstrip()} {error}".strip() + end + rest


def _without_indent(text: str, raised: Raised) -> str:
    """The message of an exception, without what indents all of it, as in a report of pytest."""
    before = text[text.rfind("\n", 0, raised.start) + 1 : raised.start]
    message = text[raised.begin : raised.end].strip()
    return message if not before or before.strip() else re.sub(rf"\n[ \t]{{1,{len(before)}}}", "\n", message)


def _without_margin(message: str) -> str:
    """The parts of a message without what a program indents all of them by, below a line of its own."""
    margin = _MARGIN.search(message)
    return re.sub(rf"^[ \t]{{1,{len(margin[0])}}}", "", message, flags=re.M) if margin and margin[0] else message


def _without_closing(message: str) -> str:
    """A message of one line without the mark that ends a quotation of more than that line, or begins one that the text cuts."""
    if message.startswith("'") and "'" not in message[1:] and "\n" not in message:
        return message[1:].strip()
    return message[:-1] if message.endswith('"') and message.count('"') % 2 and "\n" not in message else message


def _is_cut_below(text: str, begin: int) -> bool:
    """Whether the only stack is below an exception, as reports have it, and ends in the program before it comes to the compiler."""
    frames = frames_in(text[begin:].split("\n")) if IN_STACK.search(text[:begin]) is None else []
    return bool(frames) and not is_library(frames[-1].file)


def _ends_in_chain(text: str, begin: int) -> bool:
    """Whether another exception followed one, which the text has lost."""
    chained = CHAIN.search(text, begin)
    return chained is not None and not CLASS.search(text, chained.end())
