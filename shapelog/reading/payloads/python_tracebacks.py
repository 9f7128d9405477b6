"""Python tracebacks as PyTorch writes them: the user's lines, the exceptions of a chain, and the line that needed a value of the data."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.reading.payloads.python_code import without_warnings
from shapelog.reading.records import StackFrame

# torch.export writes the last one, with only the innermost line below it.
_STACK_HEADS = (
    "FX node stack trace:",
    "User code traceback:",
    "from user code:",
    "User stack:",
    "User Stack (most recent call last):",
    "The following call raised this error:",
)
# What somebody leaves of a violated constraint may have its stack right below.
_BELOW_CONDITION = re.compile(r"\bto\s{1,9}be\s{1,9}a\s{1,9}constant\s{1,9}\(\d{1,18}\)[^\n]{0,200}\n(?= {1,40}File \")")
# ``torch.fx.Interpreter`` writes it about the operation that raised.
_OF_OPERATION = "Original traceback:"
# At the end of a text, such a number may be the beginning of another one.
_CUT_FRAME = re.compile(r'", line \d{1,9}$')
_STACK_LINE = re.compile(r'^ +File "(.*)"(?:, line (\d{1,9})(?:, in (<[^<>]*>|\S+).*|, ?)?|, in ([\w.<>]+))$')
# The same where somebody left out the file, or what prints it has cut its path.
_OF_CUT_FILE = re.compile(r'^ +File "?([^"]{3,400}?),? line (\d{1,9}), in ([\w.]+|<[^<>]*>)()$')
_CHAINED = re.compile(
    r"\n\n?(?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):\n\n?"
)
# The stack in C++ that an error of PyTorch's own may end with.
CPP_STACK = re.compile(r"\s+Exception raised from \S+ at \S+ \(most recent call first\):.*", re.S)
# An exception of the user's code as Dynamo met it, and its text: ``ObservedKeyError: ConstantVariable(str: 'k')``.
_OBSERVED = re.compile(r"Observed(?!Exception$)(\w+?)(?:Error)+$")
_CONSTANT = re.compile(r"ConstantVariable\(\w+: (.*)\)")
_ONE_CONSTANT = re.compile(r"\[ConstantVariable\(\w+: ((?:(?!ConstantVariable\().)*)\)\]")
# The class of an exception at the end of a stack, where other programs may have written lines of their own.
_NAMES_CLASS = re.compile(r"(?:(?:[^\W\d][\w<>]*\.)+|(?=[A-Z]))[^\W\d]\w*(?::|\s*$)")
# The cause of another exception, whose stack PyTorch leaves out.
_WITHOUT_STACK = re.compile(r"\s*(?:torch\._\w+\.[\w.]{1,200}|Observed\w{1,80}): \S")
_CAUSE = re.compile(
    r"(?:^|(?<=[\w.]))Caused by: (?:(?P<code>[^\n#]{1,400})# |\()"
    r"(?P<file>[^\n:#()]{1,400}):(?P<line>\d{1,9}) in (?P<name>[\w<>]{1,200})",
    re.M,
)
_OF_GENERATED = re.compile(r" \(([^\n:#()]{1,400}):(\d{1,9}) in ([\w<>]{1,200})\)")
_CULPRIT = "Potential framework code culprit (scroll up for full backtrace):"
# PyTorch marks a line to its end: with the colon of a compound statement, and a comment.
_BEYOND_CODE = re.compile(r":?(?:\s+#[^'\"]*)?$")


class RaisedException(NamedTuple):
    """One exception of a chain: its type without the module, the first line of its message, and where it was raised, outermost first.

    ``is_observed`` where the user's code raised it while Dynamo traced that code.
    """

    type: str
    message: str
    stack: tuple[StackFrame, ...]
    is_observed: bool = False


def argument_text(text: str) -> str:
    """What an exception was raised with: the text itself where it is one, without its first quotation mark where it is cut."""
    try:
        with without_warnings():
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text[1:] if text[:1] in ("'", '"') and text.count(text[0]) == 1 else text
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return " ".join(CPP_STACK.sub("", value).split()) if isinstance(value, str) else text


def caused_by(text: str) -> tuple[StackFrame, ...]:
    """The line that needed a value of the data, where symbolic shapes name it in a comment; of generated code, the one that this calls.

    Torch 2.4 and later may have it as the only line of a stack instead.
    """
    if not (found := _CAUSE.search(text)):
        return tuple(stack_lines(text.partition(_CULPRIT)[2].lstrip("\n").split("\n")))[:1]
    stack = (StackFrame(found["file"], int(found["line"]), found["name"], (found["code"] or "").strip()),)
    called = _OF_GENERATED.match(text, found.end()) if found["file"].startswith("<eval_with_key>") else None
    return (*stack, StackFrame(called[1], int(called[2]), called[3])) if called else stack


def user_stack(text: str) -> tuple[StackFrame, ...]:
    """The user's lines below the last heading of a stack, outermost first; () where there is none.

    Where an operation of a graph failed, those below the first heading of its own, which led to that operation.
    """
    begin = max((text.rfind(head) + len(head) for head in _STACK_HEADS if head in text), default=-1)
    if begin < 0 and _OF_OPERATION in text:
        begin = text.find(_OF_OPERATION) + len(_OF_OPERATION)
    if begin < 0 and (below := _BELOW_CONDITION.search(text)):
        begin = below.end()
    return tuple(stack_lines(text[begin:].lstrip("\n").split("\n"))) if begin >= 0 else ()


def stack_lines(lines: list[str]) -> Iterator[StackFrame]:
    """The lines of one stack, up to the first that belongs to none."""
    current: StackFrame | None = None
    code_line = ""
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), 0)
    for at, line in enumerate(lines):
        found = _STACK_LINE.match(line) or _OF_CUT_FILE.match(line)
        if found and at == last > 0 and _CUT_FRAME.search(line):
            break
        if found:
            if current:
                yield current
            current = StackFrame(found[1], int(found[2] or 0), found[3] or found[4] or "")
            code_line = ""
        elif current and line.startswith("    ") and line.strip():
            if not code_line:
                code_line = line
                current = current._replace(code=line.strip())
            elif not line.strip(" ^~"):
                start = len(line) - len(line.lstrip())
                current = current._replace(marked=_BEYOND_CODE.sub("", code_line[start : len(line.rstrip())].strip()))
        elif current or (line.strip() and not line.startswith(" ")):
            break
    if current:
        yield current


def exception_chain(text: str) -> tuple[RaisedException, ...]:
    """The exceptions of a Python traceback, the one that was raised first before those that it caused; () for any other text."""
    parts = _CHAINED.split(text)
    return tuple(filter(None, map(_exception, parts))) if "Traceback (most recent call last):\n" in text else ()


def _exception(text: str) -> RaisedException | None:
    """One of the chain: the first line after the stack that is not indented names it, or the first of all where it has no stack."""
    _, _, rest = text.partition("Traceback (most recent call last):\n")
    if not rest and not _WITHOUT_STACK.match(text):
        return None
    lines = (rest or text).split("\n")
    named = next((line for line in lines if line and not line.startswith(" ")), "")
    if not _NAMES_CLASS.match(named):
        return None
    kind, _, message = named.partition(": ")
    if message.endswith(":"):  # the error itself follows
        message = " ".join((message, next((line.strip() for line in lines[lines.index(named) + 1 :] if line.strip()), "")))
    observed = _OBSERVED.match(kind.rsplit(".", 1)[-1])
    name = f"{observed[1]}Error" if observed else kind.rsplit(".", 1)[-1]
    message = observed_message(name, message.strip()) if observed else message.strip()
    return RaisedException(name, message, tuple(stack_lines(lines)), bool(observed))


def observed_exception(kind: str, message: str) -> str:
    """``KeyError: 'k'`` for an exception of the user's code by the class that Dynamo gives it; the message alone for any other class."""
    observed = _OBSERVED.match(kind)
    first, end, rest = message.partition("\n")
    if not observed:
        return message
    name = f"{observed[1]}Error"
    return ": ".join(filter(None, (name, observed_message(name, first.strip())))) + end + rest


def observed_message(name: str, text: str) -> str:
    """What Python would print behind the name of the exception: the text that it was raised with; of a KeyError the key as code."""
    value = _CONSTANT.fullmatch(text)
    text = value[1] if value else text.removeprefix("raised exception ")
    raised = re.fullmatch(rf"{name}\((.*)\)", text)
    argument = raised[1] if raised else text
    if listed := _ONE_CONSTANT.fullmatch(argument):
        argument = listed[1]
    return argument if name == "KeyError" else argument_text(argument)
