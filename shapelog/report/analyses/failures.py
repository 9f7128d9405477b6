"""Which compiles failed, and at which stage?"""

import re
from collections.abc import Iterable, Iterator

from shapelog.advice.remedies import FORBIDDEN_WITHOUT_REASON, Remedies
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.compiler_messages import DISABLED, LOST_EXCEPTION, CompilerMessage, compiler_message
from shapelog.reading.payloads.cuda_graphs import CudaGraphEvent, CudaGraphMessage, cuda_graph_message
from shapelog.reading.payloads.error_titles import raised_by
from shapelog.reading.payloads.recompile_reasons import CHECK_FAILED
from shapelog.reading.payloads.source_names import Source, is_dynamo, is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.became_dynamic import EarlierSymbols
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.report.details.failure_remedies import SHOWN_BY, THE_BACKEND, is_own_init, own_remedy, stage, suggests_what_is_declared
from shapelog.report.details.raising_calls import RaisingCall, raising_call
from shapelog.report.results import Finding, Location, Table, location_of
from shapelog.rules import RULES
from shapelog.text import file_name

_FAILED, _OF_BACKWARD, _CONFLICT = RULES["SL403"], RULES["SL405"], RULES["SL203"]
_ALL_DIMS = "all"
_ABANDONED = "look for an exception at this call in the output of the program"
_UNFINISHED = "let the process finish; if it hangs or is killed here, look at its own log and at the memory that compiling takes"
_CUT = frozenset(RULES["SL901"].problems)
_ENDED = "was still being compiled when the trace ended: the process exited or was killed"
_ENDED_OR_CUT, _IN_PART = f"{_ENDED}, or a file is cut off", f"read the whole file if this is a part of it; otherwise {_UNFINISHED}"
_LEFT = "never finished compiling: the attempt was abandoned, and the trace does not have the reason"
_MORE_OF_TEXT = "add the log lines up to the exception"
# Where PyTorch only suggests to declare that size.
_DECLARED_BUT_FIXED = re.compile(r" declared as dynamic, but the code fixes ")
_WITH_FUNCTION = (RaisingCall.COMPILED_CODE, RaisingCall.EXPORT)
# Where a text has an exception without the user's lines.
_LACKS_STACK = 'the line is not in this text: add the traceback, with what is below "from user code:"'
# The same where it has the line itself, but not where that is.
_CODE_ALONE = re.compile(r"^from user code:[ \t]*\n[ \t]+(?!File \")(\S[^\n]{0,200})", re.M)
# A frame as people shorten it: ``app/models/net.py:444 layer(x)``.
_SHORT_PLACE = re.compile(r"^[ \t]*([\w./\\-]{1,300}\.py:\d{1,7})\b", re.M)
# What Dynamo met before the error that it raised, as within a context manager (torch 2.7 and 2.8).
_MET_FIRST = re.compile(r"exc\.Unsupported: (?P<text>(?:(?!\nTraceback ).)*?)\n+The above exception was the direct cause of ", re.S)
# The beginning of one more line of the stack, with which the text ends.
_CUT_STACK = re.compile(r"\n {1,8}(?:Fi?l?|File(?: \"[^\"\n]*)?|File \"[^\"\n]*\",?[^\"\n]{0,12})\s*\Z")
_ENDS_HERE = "the traceback ends here in this text: the line that fails is further down"


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    of_backward: list[Finding] = []
    for rank in explained.trace.ranks:
        last = max((compile.order for frame in rank.frames for compile in frame.compiles), default=-1)
        for frame in rank.frames:
            earlier, has_code = EarlierSymbols(), any(item.outcome is Outcome.COMPILED for item in frame.compiles)
            recompiles = {item.compile: item for item in explained.of_frame(frame)}
            for compile in frame.compiles:
                if compile.is_forbidden:
                    yield _forbidden(explained, frame, compile, recompiles.get(compile))
                elif compile.outcome is Outcome.FAILED:
                    yield _failure(frame, compile, earlier, has_code, is_text=explained.trace.is_text)
                elif compile.outcome is Outcome.COMPILED and compile.error:
                    of_backward.append(_of_backward(frame, compile))
                elif compile.did_not_finish:
                    is_cut = any(problem.code in _CUT for problem in explained.trace.problems)
                    ended = (_ENDED_OR_CUT, _IN_PART) if is_cut else (_ENDED, _UNFINISHED)
                    how, remedy = ended if compile.order == last else (_LEFT, _ABANDONED)
                    sentence, place = f"{frame.title_of([compile])} {how}", location_of(frame)
                    yield Finding(_FAILED, sentence, compile.label, place, frame=frame, own_remedy=remedy)
                earlier.add(compile)
    yield from of_backward  # calls are compiled in spite of these


def of_errors(findings: Iterable[Finding]) -> dict[tuple[Frame, str], str]:
    """What to do about each compile that failed, by its frame and label."""
    return {(item.frame, item.compile): item.remedy for item in findings if item.rule is _FAILED and item.frame}


def _forbidden(explained: Explanations, frame: Frame, compile: Compile, item: Recompile | None) -> Finding:
    """A recompile that the program forbids: what keeps the code from compiling is what varied."""
    causes = item.causes if item else ()
    changed = f": {'; '.join(cause.sentence for cause in causes)}" if causes else ""
    remedy = Remedies(explained.trace.version).of_recompile(item).text if item and causes else FORBIDDEN_WITHOUT_REASON
    by = "the stance fail_on_recompile" if "fail_on_recompile" in compile.metrics.fail_reason else "error_on_recompile"
    title = frame.title_of([compile])
    is_ahead = CHECK_FAILED in compile.metrics.fail_reason
    forbidden = f"{title} needed a recompilation, which the program forbids ({by})"
    rejected = f"a call of {title} raised an error, as it does not meet the guards of code that was compiled ahead of time"
    return Finding(
        rule=_FAILED,
        sentence=f"{rejected if is_ahead else forbidden}{changed}",
        compile=compile.label,
        place=location_of(frame),
        details=(("type", compile.metrics.fail_type),),
        frame=frame,
        own_remedy=remedy,
        notes=(item.why_not_markable,) if item and item.blocking_rule else (),
    )


def _of_backward(frame: Frame, compile: Compile) -> Finding:
    """With symbolic sizes, PyTorch compiles the backward graph ahead of its use. A backward pass raises an error in that."""
    error = compiler_message(compile.failure.title).title if compile.exceptions else LOST_EXCEPTION
    return Finding(
        rule=_OF_BACKWARD,
        sentence=f"the backward graph of {frame.title_of([compile])} failed to compile ahead of its use: {error}",
        compile=compile.label,
        place=location_of(frame),
        frame=frame,
        message=CompilerMessage(f"the backward graph: {error}"),
        own_remedy="" if compile.exceptions else f"{_MORE_OF_TEXT}; {_OF_BACKWARD.remedy}",
        exceptions=compile.exceptions,
    )


def _failure(frame: Frame, compile: Compile, earlier: EarlierSymbols, has_code: bool, is_text: bool) -> Finding:
    """``has_code``: whether some call of this frame was compiled."""
    metrics = compile.metrics
    contradicts_mark = "ConstraintViolation" in metrics.fail_type or "Constraints violated" in metrics.fail_reason
    rule = _CONFLICT if contradicts_mark else _FAILED
    overwritten = _overwritten(compile)
    message = _message(compile, contradicts_mark, earlier)
    if overwritten is not None:
        message = message._replace(title=message.title.partition(" Stack trace: ")[0])
    line = _line_below(message) or (overwritten.place if overwritten else None)
    raising = raising_call(compile)
    where, error = _where_and_what("" if contradicts_mark or raising else stage(compile), message.title)
    how = "was not recompiled" if metrics.fail_type == "RecompileError" else " in ".join(filter(None, ("failed to compile", where)))
    subject = frame.title_of([compile]) if frame.name else ""
    what_failed = raising.named(subject) if raising and (raising in _WITH_FUNCTION or not frame.name) else ""
    remedy = own_remedy(
        compile, message, contradicts_mark=contradicts_mark, is_text=is_text, line=line, earlier=earlier if has_code else None
    )
    if is_text and contradicts_mark and not line and not compile.specializations:
        advised = remedy or rule.remedy
        remedy = f"{advised}, {SHOWN_BY}" if "change the line" in advised else remedy
    place = _place(frame, compile, line)
    lacks_stack = is_text and where.startswith("Dynamo (") and not place and not error.endswith(LOST_EXCEPTION)
    return Finding(
        rule=rule,
        sentence=f"{what_failed or f'{frame.title_of([compile])} {how}'}: {error}",
        compile=compile.label,
        place=place,
        details=(("type", metrics.fail_type),),
        frame=frame,
        message=message,
        own_remedy=RULES["SL508"].remedy if overwritten else remedy,
        exceptions=compile.exceptions,
        notes=(
            *_became_dynamic(compile, earlier),
            *_made_at(overwritten, line),
            *_outermost(message, line, place),
            *(_lacking(metrics.fail_reason) if lacks_stack else ()),
            *((_ENDS_HERE,) if is_text and line and _CUT_STACK.search(metrics.fail_reason) else ()),
        ),
    )


def _lacking(reason: str) -> Iterator[str]:
    """What a text lacks about the line at which Dynamo stopped, or where it is, as somebody shortened the stack."""
    if places := _SHORT_PLACE.findall(reason.partition("from user code:")[2]):
        yield f"at {places[-1]}"
        return
    code = _CODE_ALONE.search(reason)
    yield f"at this line, whose file is not in the text: {code[1].rstrip()}" if code else _LACKS_STACK


def _message(compile: Compile, contradicts_mark: bool, earlier: EarlierSymbols) -> CompilerMessage:
    """What PyTorch reported, without hints that do not fit."""
    message = compile.failure
    if contradicts_mark and (too_small := _outside_of_mark(compile, earlier)):
        message = message._replace(title=too_small)
    fits_none = contradicts_mark and (_DECLARED_BUT_FIXED.search(message.title) or suggests_what_is_declared(compile.metrics.fail_reason))
    if is_own_init(message) or fits_none or DISABLED.match(message.title):  # the last one's are about a break
        message = message._replace(hints=())
    elif met_first := _MET_FIRST.search(compile.error):
        message = message._replace(hints=tuple(dict.fromkeys((*compiler_message(met_first["text"]).hints, *message.hints))))
    return message.with_error_first()


def _line_below(message: CompilerMessage) -> StackFrame | None:
    """The innermost line of the user's, else of a library's, at which Dynamo stopped."""
    inside = [line for line in reversed(message.stack) if not is_dynamo(line.file)]
    return next((line for line in inside if not is_library(line.file)), next(iter(inside), None))


def _made_at(overwritten: CudaGraphMessage | None, line: StackFrame | None) -> Iterator[str]:
    """The line that made an output which was overwritten, where that is not the one that reads it."""
    made = overwritten.place if overwritten else None
    if made and line and (made.file, made.line) != (line.file, line.line):
        yield f"the output was made at {file_name(made.file)}:{made.line}{f'  {made.code}' if made.code else ''}"


def _outermost(message: CompilerMessage, line: StackFrame | None, place: Location | None) -> Iterator[str]:
    """The line of the compiled function that leads to the one at which Dynamo stopped, where that is in another file of the user's."""
    first = message.stack[0] if message.stack else None
    if first and line and place and place.file == line.file != first.file and not is_library(first.file):
        file = first.file.replace("\\", "/")
        yield f"reached from {file}:{first.line}{f'  {first.code}' if first.code else ''}"


def _place(frame: Frame, compile: Compile, line: StackFrame | None) -> Location | None:
    """Where it failed: what PyTorch names, unless that is in a library and a line of the user's is known."""
    file, number = compile.metrics.fail_file, compile.metrics.fail_line
    is_inside_library = is_library(file) and line is not None and not is_library(line.file)
    if file and not is_inside_library:
        return Location(file, number)
    return Location(line.file, line.line) if line else location_of(frame)


def _where_and_what(stage: str, title: str) -> tuple[str, str]:
    """The part of the compiler that gave up, and the error; the backend that raised it is named once."""
    backend, error = raised_by(title)
    if not backend or (backend != "inductor" and stage != THE_BACKEND):
        return stage, title
    return f"the backend {backend}" if stage == THE_BACKEND else stage, error


def _overwritten(compile: Compile) -> CudaGraphMessage | None:
    """PyTorch's message where a compile read an output of a CUDA graph that the next run had overwritten; None for any other failure."""
    found = cuda_graph_message(compile.metrics.fail_reason)
    return found if found and found.event is CudaGraphEvent.OVERWRITTEN else None


def _outside_of_mark(compile: Compile, earlier: EarlierSymbols) -> str:
    """That a call passed a size outside of the range that a mark gave; "" where no earlier compile shows such a range.

    Without one, a symbol has no upper end.
    """
    for item in compile.inputs:
        for dim in (known for known in item.marked_dynamic if known < len(item.size)):
            least, most = earlier.ranges.get(Source(f"{item.source}.size()[{dim}]"), (0, item.size[dim]))
            if not least <= item.size[dim] <= most:
                name = f"dim {dim} of {item.source.display_name}"
                return f"{name} is marked with a range of {least} to {most}, but this call passed size {item.size[dim]}"
    return ""


def _became_dynamic(compile: Compile, earlier: EarlierSymbols) -> Iterator[str]:
    """What was a constant in the compiles before this one, which succeeded, or a tensor with another number of dims."""
    resized = set[Source]()
    for event in earlier.newly_dynamic(compile):
        name = event.source.display_name
        if event.dim == _ALL_DIMS:  # the sizes come first, the strides after them
            if event.source not in resized:
                yield f"{name} had another number of dimensions before the failure ({event.cached} → {event.new})"
            resized.add(event.source)
            continue
        what = f"dim {event.dim} of {name}" if event.dim.isdigit() else name
        yield f"{what} became dynamic before the failure ({event.cached} → {event.new})"
