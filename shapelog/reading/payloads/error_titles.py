"""The message of an error → one line that names what failed, without the advice in it."""

import re
from collections.abc import Iterator

from shapelog.reading.payloads.python_tracebacks import argument_text
from shapelog.text import cut

# Advice inside the one-line texts of older versions, and of errors that have no hints of their own.
_INLINE_HINT = re.compile(
    r"(?:^|; |\. +|, (?-i:(?=Please )))"
    r"((?:to enable, set|to avoid graph breaks caused by"
    r"|please use|consider (?:using|annotating)|if you're using mark_dynamic)\b.*?)(?=\.(?:\s|$)|$)",
    re.I | re.M,
)
_ABOUT_MARKS = "if you're using mark_dynamic"
_BUG = "INTERNAL ASSERT FAILED"
FLOAT_RESTART = "a float could not stay dynamic, so its value became a constant"
# Restarts that PyTorch records as a class, without words.
_RESTART_CLASS = re.compile(r"<class 'torch\._dynamo\.exc\.(\w+)'>")
_RESTARTS = {
    "AutogradGradRestartAnalysis": "torch.autograd.grad consumed part of the graph that is returned",
    "CompileCollectiveRestartAnalysis": "the ranks agreed on what is dynamic (compiler collectives)",
    "RequiresGradRestartAnalysis": "requires_grad_() was called on an intermediate tensor that is returned",
    "SpeculationRestartAnalysis": "a graph break was found later in the code",
    "TensorifyScalarRestartAnalysis": FLOAT_RESTART,
    "UnspecializeRestartAnalysis": "an nn.Module changed while its code was traced",
}
# What avoids a restart, by its reason; the others belong to how Dynamo works, or to a graph break.
RESTART_REMEDIES = {
    _RESTARTS["AutogradGradRestartAnalysis"]: "do not return what torch.autograd.grad consumes",
    _RESTARTS["RequiresGradRestartAnalysis"]: "call requires_grad_() on tensors before they are passed to compiled code",
    _RESTARTS["UnspecializeRestartAnalysis"]: "change modules outside compiled code",
}
# ``builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False``, as versions before 2.8 write it, perhaps cut.
_BUILTIN = re.compile(r"builtin: (\w+) \[(?:<class '.*|.*\] (?:True|False))")
# A branch, and a call of a builtin, as torch 2.7 and older name them.
_BRANCH = re.compile(r"generic_jump(?: TensorVariable\(\))?")
_CALL = re.compile(r"call_function BuiltinVariable\((\w{1,80})\) \[(?:(?:Constant|Tensor)Variable\(\w*\)(?:, |(?=\])))*\] \{\}")
# The same of an object of the user's, or of a method of one.
_CALL_OF_OBJECT = re.compile(r"call_(?:function|method) UserDefinedObjectVariable\((\w{1,80})\)(?: (\w{1,80}) [\[(].*| \[.*)?")
# An operation that failed on fake tensors, and below it why, as ``torch._dynamo.utils.get_fake_value`` wrote it until torch 2.6:
# ``Failed running call_function <built-in function matmul>(*(FakeTensor(...), ...), **{}):``.
_FAILED_OPERATION = re.compile(r"Failed running call_\w+ (?:<(?:built-in )?[a-z]+ ([\w.]+)[^>]*>|([\w.]+))\(.*\):")
# The same where somebody joined these lines.
_FAILED_ON_ONE_LINE = re.compile(_FAILED_OPERATION.pattern.replace(r"\(.*\):", r"\(\*\(.*\), \*\*\{[^{}]*\}\):") + r"\s+(\S.*)")
# Tensors of torch.func and DTensors are written over several lines; the last one ends the call.
_CALL_BEGINS, _CALL_ENDS, _MOST_LINES = re.compile(r"Failed running call_\w+ "), re.compile(r"\*\*\{.*\}\):"), 200
_CALLED = re.compile(r"call_\w+ (?:<(?:(?:built-in )?[a-z]+|Wrapped \w+ <original) ([\w.]+)[^>]*>>?|([\w.]+))\(")
# The same since torch 2.7, from 2.9 on as an explanation.
FAILED_ON_FAKE_TENSORS = re.compile(r"Dynamo failed to run FX node with fake tensors: (?:(call_\w+ .*): |\.\.\. )got (\w+)\((.*?)\)?", re.S)
_BELOW_FAKE_TENSORS = re.compile(r"Dynamo failed to run FX node with fake tensors:")
_CALLED_ALONE = re.compile(r"call_\w+ (.*\))(: .*)?\s*$")
_RAISED_BY = re.compile(r"backend='([^'\n]{1,80})' raised:\s+(?=\S)")
VIOLATED = "Constraints violated"
# An operator that takes functions, ``cond`` or ``while_loop``, and behind it why the graph of one of these would break.
_UNCAPTURED = re.compile(r"(\w{1,80}) doesn't work unless it is captured completely with torch\.compile\. Got (?=\S)")
# A program that Inductor or Triton ran, with more arguments than a sentence has room for.
_COMMAND = re.compile(r"(\bCommand '\['[^'\n]{1,300}',)(?: '[^'\n]*',?){3,}(?:(\]' (?:returned|died)\b)| '[^'\n]*$)")
TRITON_STOPPED, LINE_CUT_OFF = "Triton cannot compile", "which is cut off here"
_OF_TRITON = re.compile(r"(?:triton\.)?(?:compiler\.)?(?:errors\.)?CompilationError: at (?P<line>\d{1,6}):\d{1,6}:\s*$")
# The kernel below it; where Inductor gives these no names of their own, all are called the same.
_KERNEL, _LONGEST_KERNEL = re.compile(r"def (?!triton_\()(\w{1,400})\("), 80
# ``torch._inductor.exc.CppCompileError``; gcc, clang, MSVC and linkers write errors in this way.
UNCOMPILED_CPP, _OUTPUT = "C++ compile error", "Output:"
_CPP_ERROR = re.compile(r"\bld: (?:cannot find |library )\S.*|\b(?:fatal )?error(?: [A-Z]{1,4}\d{4})?: \S.*")
# ``compile_mps_shader`` in ``torch/_inductor/runtime/runtime_utils.py``: the source of a kernel, and below it what Metal found.
METAL_STOPPED = "Metal cannot compile a kernel"
_OF_METAL = re.compile(r"(?P<before>.*?)SyntaxError: failed to compile(?: #? ?include <.*)?")
_METAL_ERROR = re.compile(r"(?:.* )?with program_source:\d{1,9}:\d{1,9}: (?:fatal )?error: (.*)")
# ``assert_size_stride`` in ``torch/csrc/dynamo/guards.cpp``: what a tensor has, and what the code expects.
_OTHER_LAYOUT = re.compile(
    r"expected size (?P<size>\d{1,18})==(?P<of_size>\d{1,18}), stride (?P<stride>\d{1,18})==(?P<of_stride>\d{1,18}) at dim=(?P<dim>\d{1,3})"
)
_OF_OPERATOR, _MOST_DIMS = re.compile(r"Error in op: ([\w.:]{1,200})"), 20
OUTSIDE_OF_RANGE = " outside of the range"
_OUTSIDE = re.compile(r"(\d{1,18}) not in range \[(-?\d{1,18}), (\w{1,18})\]")
# The title of such an error, and the error where somebody left out the explanation in front of it.
_ON_FAKE_TENSOR, _GOT = (
    "RuntimeError when making fake tensor call",
    re.compile(r"[.\u2026\s]{0,9}got (\w{1,80}(?:Error|Exception))\((.*)\)\s*$"),
)
DATA_DEPENDENT = "data-dependent expression"
UNDECIDED_GUARD = re.compile(r"\bGuardOnDataDependentSymNode: |^Could not guard on ")
# What is asked of a value that only the data has; behind it, the same once more and the symbols.
_ASKED = re.compile(
    r"(?P<what>\bCould not [\w ]{1,60} data-dependent expression )(?P<expression>.*?)"
    r"(?:\.? {0,9}\(unhinted: (?P<unhinted>.*?)\)(?:\.? {0,9}\(Size-like symbols: .*|[. ]*$)"
    r"|\.? {0,9}\((?:unhinted|Size-like symbols): .*|$)"
)
# The same as torch 2.0 and 2.1 wrote it.
_COULD_NOT_GUARD = f"Could not guard on {DATA_DEPENDENT} "
_OLD_ASKED = re.compile(
    r"It appears that you're trying to get a value out of symbolic int/float whose value is data-dependent .*"
    r"The expression we were trying to evaluate is (?P<expression>.*?)(?: \(unhinted: (?P<unhinted>.*?)\))?\.(?:\s|$)"
)


def in_words(line: str) -> str:
    """A line of PyTorch's in which it wrote a class of its own, or the types of its own variables, in words; any other line as it is."""
    if known := _RESTART_CLASS.fullmatch(line):
        return _RESTARTS.get(known[1], known[1])
    if _BRANCH.fullmatch(line.strip()):
        return "a branch on the value of a tensor (generic_jump)"
    if called := _CALL.fullmatch(line.strip()):
        return f"a call of {called[1]}()"
    if called := _CALL_OF_OBJECT.fullmatch(line.strip()):
        return f"a call of {called[1]}.{called[2]}()" if called[2] else f"a call of an object of the class {called[1]}"
    builtin = _BUILTIN.fullmatch(line)
    return f"Dynamo cannot trace the builtin {builtin[1]}" if builtin else line


def raised_by(title: str) -> tuple[str, str]:
    """The backend that raised an error, and the error without its name; "" and the title itself where it names none."""
    found = _RAISED_BY.match(title)
    return (found[1], title[found.end() :]) if found else ("", title)


def _with_call_on_one_line(lines: list[str]) -> list[str]:
    """The same lines, the call of an operation that failed on one of them."""
    if not _CALL_BEGINS.match(lines[0]) or _CALL_ENDS.search(lines[0]):
        return lines
    end = next((number for number, line in enumerate(lines[:_MOST_LINES]) if _CALL_ENDS.search(line)), 0)
    return [" ".join(lines[: end + 1]), *lines[end + 1 :]]


def title_of(lines: list[str]) -> str:
    """The first line, with the second where that is the error itself."""
    if not lines:
        return ""
    lines = _with_call_on_one_line(lines)
    if uncaptured := _UNCAPTURED.match(lines[0]):
        return f"{uncaptured[1]} cannot be captured: {title_of([lines[0][uncaptured.end() :], *lines[1:]])}"
    if lines[0].startswith(VIOLATED) and len(lines) > 1:
        return f"{lines[0].split('!')[0]}: {lines[1].removeprefix('- ')}"
    if kernel := _uncompiled_kernel(lines) or _uncompiled_source(lines) or _uncompiled_metal(lines):
        return kernel
    if other_layout := _other_layout(lines):
        return other_layout
    if lines[0].endswith("raised:") and len(lines) > 1:
        asked = _ASKED.search(lines[1])
        raised = f"{lines[1][: asked.start()]}{_asked(lines[1])}" if asked else lines[1]
        return _COMMAND.sub(r"\1 …\2", _with_next(f"{lines[0]} {raised}", lines[2:]))
    if outside := _OUTSIDE.fullmatch(lines[0].rstrip(".")):
        return f"a size of {outside[1]} is{OUTSIDE_OF_RANGE} that is marked or declared, {outside[2]} to {outside[3]}"
    operation = _FAILED_OPERATION.fullmatch(lines[0]) or _FAILED_ON_ONE_LINE.fullmatch(lines[0])
    error = (*operation.groups()[2:], *lines[1:])[:1] if operation else ()
    if operation and error:
        return f"{operation[1] or operation[2]} failed: {_asked(error[0])}"
    on_fake_tensors = FAILED_ON_FAKE_TENSORS.fullmatch(lines[0])
    called = _CALLED.match(on_fake_tensors[1] or "") if on_fake_tensors else None
    if on_fake_tensors:
        what = f"{called[1] or called[2]} failed: " if called else ""
        return f"{what}{on_fake_tensors[2]}: {argument_text(on_fake_tensors[3])}"
    if _BELOW_FAKE_TENSORS.fullmatch(lines[0]) and len(lines) > 1:  # what Dynamo was doing is the stage
        called = _CALLED_ALONE.match(lines[1])
        return f"{called[1]} failed{called[2] or ''}" if called else lines[1]
    if lines[0] == _ON_FAKE_TENSOR and (got := next(filter(None, map(_GOT.match, lines[1:2])), None)):
        return f"{got[1]}: {argument_text(got[2])}"
    line = _COMMAND.sub(r"\1 …\2", _asked(_unquoted(lines[0])))
    advice = _INLINE_HINT.match(line)
    # What was met comes first, also where the text begins with advice.
    return line[advice.end() :].lstrip(". ") or line if advice else in_words(_with_next(_without_advice(line), lines[1:]))


def _without_advice(line: str) -> str:
    """A line without the sentences in it that are advice, which is given as such."""
    rest = _INLINE_HINT.sub("", line)
    return rest.rstrip(". ") if rest != line else line


def _unquoted(line: str) -> str:
    """A line without the quotes around all of it, which are not those of its first and its last word."""
    mark, inner = line[:1], line[1:-1]
    if mark not in ("'", '"') or line == mark or line[-1] != mark:
        return line
    other = inner.find(mark)
    return line if other > 0 and inner[other - 1] not in " ([{=,:" else inner


def _with_next(line: str, lines: list[str]) -> str:
    """A line, with the one below it where it ends with a colon, or where that has the functions that Dynamo skipped."""
    return f"{line} {lines[0].removeprefix('- ')}" if lines and (line.endswith(":") or lines[0].startswith("Skipped frames:")) else line


def _uncompiled_kernel(lines: list[str]) -> str:
    """The line of a generated kernel that Triton stopped at, which is the one above the caret; its number alone where a text cuts the
    message before that. "" for any other error.
    """
    heading = next(((at, found) for at, line in enumerate(lines[:2]) if (found := _OF_TRITON.search(line))), None)
    if heading is None:
        return ""
    at, found = heading
    caret = next((number for number in range(at + 2, len(lines)) if lines[number] == "^"), 0)
    before = " ".join((*lines[:at], lines[at][: found.start()].strip())).strip()
    named = next((name for line in lines[at + 1 : caret or None] if (name := _KERNEL.match(line))), None)
    kernel = f"the kernel {cut(named[1], _LONGEST_KERNEL)}" if named else "a kernel"
    if not caret:
        return f"{before} {TRITON_STOPPED} {kernel}: it stopped at line {found['line']}, {LINE_CUT_OFF}".strip()
    error = f": {lines[caret + 1]}" if caret + 1 < len(lines) else ""
    return f"{before} {TRITON_STOPPED} `{lines[caret - 1]}`, line {found['line']} of {kernel}{error}".strip()


def _uncompiled_source(lines: list[str]) -> str:
    """That Inductor's C++ could not be compiled, with the first error that the compiler printed; "" for any other message."""
    heading = next((at for at, line in enumerate(lines[:2]) if line.endswith(UNCOMPILED_CPP)), None)
    if heading is None:
        return ""
    output = lines[(lines.index(_OUTPUT) if _OUTPUT in lines else heading) + 1 :]
    error = next((found[0] for line in output if (found := _CPP_ERROR.search(line))), "")
    return f"{' '.join(lines[: heading + 1])}: {error.removeprefix('error: ')}" if error else ""


def _uncompiled_metal(lines: list[str]) -> str:
    """That a kernel for Metal could not be compiled, with the first error where that is there; "" for any other message."""
    heading = next((found for line in lines[:2] if (found := _OF_METAL.fullmatch(line))), None)
    error = next((found[1] for line in lines if (found := _METAL_ERROR.fullmatch(line))), "")
    if not heading and not error:
        return ""
    before = " ".join((*lines[: lines.index(heading.string)], heading["before"].strip())) if heading else ""
    return f"{before} {METAL_STOPPED}{f': {error}' if error else ''}".strip()


def _other_layout(lines: list[str]) -> str:
    """What a tensor has in place of what the code was compiled for, dim by dim, and of which operator it is; "" for any other message."""
    found = list(_OTHER_LAYOUT.finditer(" ".join(lines[:_MOST_DIMS])))
    if not found or found[0].start() > 0:
        return ""
    operator = next((named[1] for line in lines if (named := _OF_OPERATOR.match(line))), "")
    parts = [
        f"{what} {item[what]} instead of {item[f'of_{what}']} in dim {item['dim']}"
        for item in found
        for what in ("size", "stride")
        if item[what] != item[f"of_{what}"]
    ]
    whose = f"what {operator.removeprefix('torch.ops.').removesuffix('.default')} returned has" if operator else "a tensor has"
    return f"{whose} {' and '.join(dict.fromkeys(parts))}" if parts else ""


def _asked(line: str) -> str:
    """What was asked of a value of the data, without the advice above it and the notes below; any other line as it is.

    Where it is given as it came out for an example, which is True or False, the expression is in the notes.
    """
    found = _ASKED.search(line) or _OLD_ASKED.search(line)
    if not found:
        return line
    expression = found["expression"].strip()
    if expression in ("True", "False"):
        expression = found["unhinted"] or expression
    return f"{found.groupdict().get('what', _COULD_NOT_GUARD)}{expression}"


def inline_hints(text: str) -> Iterator[str]:
    """The advice in a text that has no hints of its own, each as a sentence; what is wrong in PyTorch itself has none for its users.

    Nor has a mark that the code contradicts: the remedy of its rule is the same in more detail.
    """
    for found in _INLINE_HINT.finditer(text) if _BUG not in text else ():
        words = found[1].strip().removesuffix("')").removeprefix("to enable, ")
        if not words.lower().startswith(_ABOUT_MARKS):
            yield words[:1].upper() + words[1:]
