"""A failure whose exception the text has lost, or that is known by its words or by its stack alone."""

import re

from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION
from shapelog.reading.payloads.cuda_graphs import cuda_graph_message
from shapelog.reading.payloads.python_tracebacks import exception_chain, user_stack
from shapelog.reading.payloads.source_names import is_torch
from shapelog.reading.text_logs.failures.failure_text import IN_STACK, LONGEST_LINE, LONGEST_PRINTED, OF_KERNEL, SHAPE_ENV, FailureText
from shapelog.reading.text_logs.failures.raised import end_of_quote
from shapelog.reading.text_logs.failures.stacks import innermost_code, raised_in_compiler
from shapelog.reading.text_logs.failures.violations import ANY_TYPE, VIOLATION, violated_constraints
from shapelog.reading.text_logs.lines.exception_names import ABOUT_COMPILER, NO_CONFIGS, REFUSED_INPUT
from shapelog.reading.text_logs.lines.joined import with_whole_operation
from shapelog.reading.text_logs.lines.signs import USER_STACK
from shapelog.reading.text_logs.message_kinds import BELOW_STACK, CHAINS, LIMIT_EXCEEDED, UNDECIDED
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode
from shapelog.text import cut

GUARD_ERROR = re.compile(
    r"Error while creating guard:\s*(?:$|\n\s*Name: (?P<name>[^\n]*))"
    r"(?:\n(?:[^\n]*\n){0,3}?\s*(?:Create Function: (?P<kind>\w+)|Source: (?P<sizes>shape_env)\b))?"
)
# What PyTorch logs with a stack where it goes on (``symbolic_shapes.py``).
_ASSUMED = re.compile(r"\bdue to data dependency, it was assumed to be ")
NOT_CONVERTED = re.compile(  # before 2.0, there is no "line"
    r"WON'?T CONVERT (?P<name><[^<>\n]{1,200}>|\S{1,400}) (?P<file>.{0,1000}?(?= line \d)|\S{1,1000}(?= {1,80}\d{1,9}[ \t]{0,200}$))"
    r" {1,80}(?:line )?(?P<line>\d{1,9})",
    re.M,
)
_STACK_LINE = re.compile(r"\s*(?:File \"|\^|~)")
# A traceback, which may end before its exception, and a frame of the compiler in it.
_CUT_STACK = re.compile(r"\s*Traceback \(most recent call last\):\n[ \t]")
_OF_COMPILER = re.compile(r"File \"[^\"\n]*[\\/]torch[\\/]_(?:dynamo|inductor|functorch)[\\/]")
_ENDS_WITH_NOTE = re.compile(rf"^{BELOW_STACK}", re.M)
_LOWERING = "Error from lowering"
_OF_TRITON = re.compile(r"^(?:triton\.[\w.]{1,80}\.)?(\w{1,80}(?:Error|Exception|Resources): .*)", re.M | re.S)
# What is known by PyTorch's own words for it.
_IN_OWN_WORDS = {
    "GuardOnDataDependentSymNode": re.compile(
        r"(?:Tried to use data-dependent value [^\n]{0,2000})?"
        r"Could not (?:guard on|extract specialized integer from) data-dependent expression .*",
        re.S,
    ),
    "FailOnRecompileLimitHit": re.compile(LIMIT_EXCEEDED, re.M),
    "AssertionError": re.compile(
        r"Guard failed on the same frame it was created[^\n]*(?:\n\s*Guard fail reason: [^\n]*)?"
        r"|(?:(?<=AssertionError: )Guard check failed:|Guard check failed:(?=\s+\d{1,9}/\d))(?:\s+\d{1,9}/\d{1,9}:)?\s+\S[^\n]*"
    ),
    "TritonMissing": re.compile(r"Cannot find a working triton installation[^\n]*"),
    "GPUTooOldForTriton": re.compile(r"Found [^\n]{1,200} which is too old to be supported by the triton GPU compiler[^\n]*"),
    # Triton's or Metal's, about a kernel that Inductor made
    "InductorError": re.compile(
        rf"^\s*{NO_CONFIGS}"
        r"|SyntaxError: failed to compile[ \t]*\n\s*#? ?include <c10/metal/.*|\bwith program_source:\d{1,9}:\d{1,9}: (?:fatal )?error: .*"
        r"|CompilationError: at \d{1,6}:\d{1,6}:[ \t]*\n(?:[^\n]*\n){0,3}?[ \t]*def triton_.*",
        re.S,
    ),
    "RuntimeError": re.compile(REFUSED_INPUT),
    "Unsupported": re.compile(r"Operator does not support running with fake tensors\b.*", re.S),
    "TorchRuntimeError": re.compile(r"Dynamo failed to run FX node with fake tensors:\s+(?:call_\w|\.{3} got \w).*", re.S),
}
# A condition that has no hint depends on the data.
_WRAPPER = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]external_utils\.py$")
_UNDECIDED = re.compile(rf"\s*{re.escape(UNDECIDED)}(?P<expression>[^\n]{{1,2000}}?), None[,)]")
_IS_CONDITION = re.compile(r"[<>=]|^(?:Eq|Ne|And|Or|Not)\(")
# What PyTorch warns of before it raises the same (``symbolic_shapes.py``); code of its own may catch that.
_WARNED = re.compile(r"failed during evaluate_expr\((?P<expression>[^\n]{1,2000}?), hint=None,")
# What max-autotune logs with a stack of a kernel that it leaves out, and below it that it does.
_OF_LEFT_OUT_KERNEL = re.compile(r"\bNo valid triton configs\.[^\n]*\n+Runtime error during autotuning:")
# The class of any exception, perhaps behind words of the program's own.
CLASS = re.compile(r"\b[A-Z]\w{0,80}(?:Error|Exception): ")
CHAIN = re.compile(rf"^{CHAINS.pattern}", re.M)
_ABOUT_COMPILER = re.compile(ABOUT_COMPILER, re.M)
# How torch.onnx ends its message about an export (torch 2.5 and later): with the exception that it met.
MET_BY_ONNX = re.compile(r"^#{1,3} Exception summary\n+<class '(?:\w{1,80}\.){0,8}(?P<kind>\w{1,80})'>: (?P<message>[^\n]*)", re.M)


def cause(text: str) -> str:
    """The last exception of a chain that has a message."""
    return next((f"{item.type}: {item.message}" for item in reversed(exception_chain(text)) if item.message), "")


def compiled_code(text: str) -> LoggedCode:
    """The function that Dynamo compiled: the outermost of the user's stack, below the one that Dynamo itself puts around a library's."""
    stack = user_stack(text)
    if len(stack) > 1 and _WRAPPER.search(stack[0].file):
        stack = stack[1:]
    return LoggedCode(stack[0].name, stack[0].file, stack[0].line) if stack else UNKNOWN_CODE


def nameless_failure(text: str, is_logged: bool) -> FailureText | None:
    """A failure whose exception the text has lost, or never had."""
    if _ASSUMED.search(text) or _OF_LEFT_OUT_KERNEL.search(text):
        return None
    if violation := violated_constraints(text):
        return FailureText(VIOLATION, violation, UNKNOWN_CODE, text)
    for kind, words in _IN_OWN_WORDS.items():
        if found := words.search(text):
            end = end_of_quote(text, found.start(), found.start())
            code = compiled_code(text)
            caller = UNKNOWN_CODE if code.name else innermost_code(text.split("\n"))
            message = with_whole_operation(text[found.start() : min(found.end(), end)].strip())
            return FailureText(kind, message, code, text, caller)
    other = cause(text)
    if not other and (undecided := _UNDECIDED.match(text)):
        return _undecided(undecided, text)
    if guard := GUARD_ERROR.search(text):
        return FailureText(ANY_TYPE, _guard_error(guard, other), UNKNOWN_CODE, text)
    if named := NOT_CONVERTED.search(text):
        return FailureText(ANY_TYPE, other or LOST_EXCEPTION, unconverted(named), text)
    if is_logged and text.lstrip().startswith(_LOWERING):
        return FailureText("LoweringException", other or LOST_EXCEPTION, UNKNOWN_CODE, text)
    if is_logged and text.lstrip().startswith(OF_KERNEL):
        raised = _OF_TRITON.search(text)
        return FailureText(ANY_TYPE, raised[1].strip() if raised else LOST_EXCEPTION, UNKNOWN_CODE, text)
    if user_stack(text):
        return FailureText(ANY_TYPE, _printed_above(text) or LOST_EXCEPTION, compiled_code(text), text)
    if _ENDS_WITH_NOTE.search(text) and (caller := innermost_code(text.split("\n"), is_torch)).name:
        return FailureText(ANY_TYPE, LOST_EXCEPTION, UNKNOWN_CODE, f"{USER_STACK}\n{text}", caller)
    if not is_logged and cuda_graph_message(text) is None and (own := _of_any_class(text) or _cause_of_cut(text)):
        return own
    is_cut = not other and _CUT_STACK.match(text) is not None and _OF_COMPILER.search(text) is not None
    is_rest = is_cut or _STACK_LINE.match(text) or CHAINS.match(text)
    return FailureText(ANY_TYPE, other or LOST_EXCEPTION, UNKNOWN_CODE, text) if is_logged and is_rest else None


def _cause_of_cut(text: str) -> FailureText | None:
    """The failure whose last exception a text cuts off, and that another one caused, which is there; None where no compiler raised it."""
    last = re.split(rf"^{CHAINS.pattern}", text, flags=re.M)[-1]
    known = exception_chain(text) if last != text and _OF_COMPILER.search(last) else ()
    return FailureText(known[-1].type, known[-1].message, compiled_code(text), text) if known and not exception_chain(last) else None


def warned_failure(text: str) -> FailureText | None:
    """The failure that a warning of PyTorch's is about, where the text may have lost the exception; None for any other warning."""
    undecided = _WARNED.match(text)
    return _undecided(undecided, text) if undecided else None


def _undecided(found: re.Match[str], text: str) -> FailureText:
    """A condition that has no hint, or a number."""
    what = "guard on" if _IS_CONDITION.search(found["expression"]) else "extract specialized integer from"
    message = f"Could not {what} data-dependent expression {found['expression']}"
    return FailureText("GuardOnDataDependentSymNode", message, UNKNOWN_CODE, text)


def _of_any_class(text: str) -> FailureText | None:
    """An exception that the compiler or compiled code raised, by its stack, or that is about the compiler by its words."""
    chain = list(CHAIN.finditer(text))
    begins, ends = [0, *(found.end() for found in chain)], [*(found.start() for found in chain), len(text)]
    for begin, end in reversed(list(zip(begins, ends, strict=True))):
        part = text[begin:end].rstrip()
        if inside := raised_in_compiler(part):
            message = _without_long_line(_whole_message(part, inside.type) or inside.message)
            caller = innermost_code(part[_last_heading(part) :].split("\n"))
            return FailureText(inside.type, message, UNKNOWN_CODE, text[:end].rstrip(), caller)
    about = next(reversed(list(_ABOUT_COMPILER.finditer(text))), None)
    if about is None:
        return None
    if met := MET_BY_ONNX.search(text, about.end()):
        return FailureText(about["kind"], f"{met['kind']}: {met['message'].strip()}", UNKNOWN_CODE, text, innermost_code(text.split("\n")))
    end = min(_end_of_words(text, about.end()), end_of_quote(text, about.start("kind"), about.end()))
    message = text[about.start("about") : end].strip()
    return FailureText(about["kind"], message, UNKNOWN_CODE, text, innermost_code(text.split("\n")))


def _without_long_line(message: str) -> str:
    """A message whose first line is no long list, such as that of all settings."""
    first, end, rest = message.partition("\n")
    return f"{cut(first, LONGEST_LINE)}{end}{rest}"


def _last_heading(text: str) -> int:
    return max(text.rfind("Traceback (most recent call last)"), 0)


def _end_of_words(text: str, begin: int) -> int:
    """Where a chain goes on, else the end."""
    found = CHAIN.search(text, begin)
    return found.start() if found else len(text)


def _whole_message(text: str, kind: str) -> str:
    """The message of the last exception of a class, on as many lines as it has."""
    found = list(re.finditer(rf"^(?:\w{{1,80}}\.){{0,8}}{re.escape(kind)}:(?: |$)", text, re.M))
    return text[found[-1].end() :].strip() if found else ""


def _printed_above(text: str) -> str:
    """What a program printed of an exception above the user's stack, without its class or behind words of its own."""
    message = text[:LONGEST_PRINTED].partition(f"\n{USER_STACK}")[0]
    named = CLASS.search(message)
    if USER_STACK in message or (named is None and IN_STACK.search(message)):
        return ""
    return message[named.start() if named else 0 :].strip()


def _guard_error(found: re.Match[str], exception: str) -> str:
    """What could not be guarded, and the exception where the text has it."""
    name, kind = (found["name"] or "").strip("'\""), found["sizes"].upper() if found["sizes"] else found["kind"]
    of = f" of {name}" if name else ""
    what = f"{SHAPE_ENV if kind == 'SHAPE_ENV' else f'error while creating a guard{of}'}{f' ({kind})' if kind else ''}"
    return f"{what}: {exception or (LOST_EXCEPTION if found['name'] is None else '')}".removesuffix(": ")


def unconverted(found: re.Match[str]) -> LoggedCode:
    return LoggedCode(found["name"], found["file"], int(found["line"]))
