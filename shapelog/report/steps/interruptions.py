"""Steps against graph breaks, restarts and failures."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shapelog.advice.compile_seconds import Seconds
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import UNNAMED_CODE
from shapelog.reading.payloads.compiler_messages import LOST_EXCEPTION, LOST_REASON
from shapelog.reading.payloads.error_titles import raised_by
from shapelog.reading.payloads.source_names import is_library, is_torch
from shapelog.report.alerts.alert import Alert, Occurrence
from shapelog.report.details.failure_remedies import IN_EAGER_TOO, is_in_captured_graph
from shapelog.report.details.logging_calls import lines_for_logging
from shapelog.report.details.raising_calls import RaisingCall, raising_call
from shapelog.report.details.restarts import restart_remedy
from shapelog.report.details.uncompiled_calls import Eager, fates
from shapelog.report.steps.step import Confidence, NextStep, Saving, StepKind, StepSources, middle, step_of, subject_of_alerts
from shapelog.rules import RULES, AlertKind
from shapelog.text import file_name, sentence_end, shorten

# ``torch._dynamo.config.trace_numpy = True``, `` `torch._dynamo.config.trace_numpy` to `True` ``; one hint lacks the ``config``.
# A setting that comes with a condition is for the reader of the hint to decide on: it may change what the program computes.
_SENTENCE, _CONDITION = re.compile(r"(?<=\.)\s+"), "If "
SETTING = re.compile(r"torch\._dynamo\.(?:config\.)?(\w+)(?: ?= ?|`? to `?(?=True|False))(\w+)")
# With this one, Dynamo traces each time step of an RNN (``allow_rnn`` in ``torch/_dynamo/config.py``).
_UNROLLING = "torch._dynamo.config.allow_rnn = True"
# With this one, a size that depends on data is a symbol without a value.
_SIZE_OF_DATA = "torch._dynamo.config.capture_dynamic_output_shape_ops = True"
# With this one, so are numbers in tensors; code often takes those of a list as dims or sizes.
_NUMBERS_OF_DATA, _AS_LIST, _AS_NUMBER = "torch._dynamo.config.capture_scalar_outputs = True", ".tolist()", ".item("
_AS_TRUTH = re.compile(r"\bbool\(")
# ``PendingUnbackedSymbolNotFound`` (torch 2.13), where a dense batch was made with such sizes, and a mask broke the graph after that.
_BREAKS_AGAIN = "the graph also breaks after this, at a size that depends on the data, and PyTorch may raise an error there"
# An operator that was passed a tensor where it takes a number. Of 21 that break the graph, 5 raise an ``InternalTorchDynamoError`` with
# that setting, such as ``torch.nn.functional.pad``; what ``.item()`` returns can be passed to all of these (torch 2.13).
_TAKES_A_NUMBER = "Data dependent operator"
_AT_ADDRESS = re.compile(r" at 0x[0-9a-f]{1,16}(?=>)")
# A title that is longer than this ends with its first sentence.
_LONG_TITLE = 120
_SHORTEST_SENTENCE = 20
_CONFLICT = RULES["SL203"]
_FIRST_CALL = (
    "if only the first call comes here, as where a library installs hooks, make one call in eager mode before those of compiled code"
)
# Of an error in a title.
_LONGEST_ERROR = 80


def graph_break_step(run: StepSources, found: Sequence[Alert]) -> NextStep:
    """Without the break, what it cost goes away, but the code that goes on after it, and what ran by itself, is part of the rest.

    Code that failed to compile at the line of the break compiles without it.
    """
    failed = [alert for alert in found if AlertKind.FAILURE in alert.kinds]
    alerts = [alert for alert in found if alert not in failed]
    codes = dict.fromkeys((*run.resumed.after(alerts), *run.resumed.within(alerts)))
    resumed = [item for code in codes for item in run.found.compiles(code)]
    taken = {item.compile: item.seconds for alert in alerts for item in alert.occurrences}
    saved = Seconds(0.0, math.fsum((taken | {item.compile: item.seconds for item in resumed}).values()))
    refused = sum(item.weight for item in resumed if item.compile.outcome is Outcome.LIMIT)
    raised = sum(item.weight for item in resumed if item.compile.raised_at_limit)
    gone = sum(item.weight for item in resumed if item.compile.outcome is Outcome.COMPILED)
    saving = Saving(0, gone, saved, refused=refused, raised=raised, eager=(Eager.LIMIT,) if raised < refused else ())
    if failed:
        fate = _saved_failures(failed)
        saving = replace(fate, most=gone, seconds=saved, refused=refused, raised=raised + fate.raised, eager=(*fate.eager, *saving.eager))
    first = next((alert for alert in alerts if alert.code not in codes), alerts[0])  # the others break only because this one does
    line = _line_of_library(first)
    own = f"{file_name(first.source_line.file)}:{first.source_line.line}" if first.source_line else ""
    generated = _generated_code(first)
    where_of = f" in library code ({line})" if line not in ("", own) else f" in generated code ({generated})" if generated else ""
    what = f"{_title_of(first)}{where_of}"
    places = {alert.source_line for alert in alerts}
    which = "the graph break" if len(places) == 1 else f"{len(places)} graph breaks"
    where = f" in {first.title}" if len({alert.title for alert in alerts}) == 1 or len(places) == 1 else ""
    keeps = f", which {'keeps' if len(places) == 1 else 'keep'} {subject_of_alerts(failed)} from compiling" if failed else ""
    stake = max(middle(saved), _seconds_in_vain(run, failed))
    title = f"Remove {which}{where}{keeps}: {what}"
    confidence, settings = _cure(alerts)
    own_breaks = frozenset(alerts)
    later = (alert for code in codes for alert in run.breaks.get(code, ()) if alert not in own_breaks)
    if _NUMBERS_OF_DATA in settings and confidence.level != "low" and any(_SIZE_OF_DATA in _cure([alert])[1] for alert in later):
        confidence = Confidence("low", _BREAKS_AGAIN)
        settings = tuple(f"{text}  # {_BREAKS_AGAIN}" if text == _NUMBERS_OF_DATA else text for text in settings)
    if _is_in_captured_graph(first):
        passes, graphs = ("this backward pass", "its graph") if len(places) == 1 else ("these backward passes", "their graphs")
        title = f"Run {passes} without compiled autograd, or accept {which} in {graphs}{keeps}: {_title_of(first)}"
    elif generated and not settings:
        confidence = Confidence("low", "code that a library generates while the program runs has no line to change")
    saving = replace(saving, is_unsure=bool(settings) and confidence.level == "low")
    step = step_of(kind=StepKind.GRAPH_BREAK, title=title, alerts=found, saving=saving, stake=stake, confidence=confidence, text=settings)
    is_set_up = not settings and bool(_line_of_library(first)) and _is_in_first_call(alerts)
    first_call = (_FIRST_CALL,) if is_set_up else ()
    hints = (*first_call, *dict.fromkeys(_hints(alerts)))  # what a failure has besides is no way to remove the break
    return replace(step, hints=hints, remedy="" if hints else _remedy(first, title))


def _is_in_first_call(alerts: Sequence[Alert]) -> bool:
    """Whether the first compile of each function is the only one whose graph breaks there, and some were compiled again.

    So it is where a library sets up in the first call what it needs in all: transformers installs hooks then, under a lock.
    """
    own = {item.frame: item.compile for alert in alerts for item in alert.occurrences}
    number = sum(len(alert.occurrences) for alert in alerts)
    is_first = all(compile is frame.compiles[0] for frame, compile in own.items())
    return len(own) == number and is_first and any(len(frame.entries) > 1 for frame in own)


def _title_of(alert: Alert) -> str:
    """What PyTorch met; of a long text the first sentence."""
    return _begun(raised_by(alert.messages[0].title)[1] if alert.messages else alert.axis or alert.sentence)


def _begun(text: str) -> str:
    """Of a long text the first sentence, without the period."""
    end = sentence_end(text, _SHORTEST_SENTENCE) if len(text) > _LONG_TITLE else -1
    return text[: end if text.endswith("..", 0, end) else end - 1] if end > 0 else text


def _hints(alerts: Sequence[Alert]) -> Iterator[str]:
    return (hint for alert in alerts for message in alert.messages for hint in message.specific_hints)


def _cure(alerts: Sequence[Alert]) -> tuple[Confidence, tuple[str, ...]]:
    """How sure PyTorch's hints make a step, and the settings that they name."""
    hints = list(_hints(alerts))
    sentences = (sentence for hint in hints for sentence in _SENTENCE.split(hint) if not sentence.startswith(_CONDITION))
    named = (f"torch._dynamo.config.{name} = {value}" for sentence in sentences for name, value in SETTING.findall(sentence))
    settings = tuple(dict.fromkeys((*named, *_logging_lines(alerts))))
    if _UNROLLING in settings:
        longer = "it unrolls the loop over time steps, which may take longer to compile"
        return Confidence("low", longer), tuple(f"{text}  # {longer}" if text == _UNROLLING else text for text in settings)
    if _NUMBERS_OF_DATA in settings and any(map(_reads_a_number, alerts)):
        error = "an operator that is passed the tensor rather than its .item() may raise an error then"
        return Confidence("low", error), tuple(f"{text}  # {error}" if text == _NUMBERS_OF_DATA else text for text in settings)
    if _SIZE_OF_DATA in settings:
        return Confidence("low", "code that branches on the size, which is not known then, breaks the graph again"), settings
    if _NUMBERS_OF_DATA in settings and any(_AS_LIST in alert.snippet for alert in alerts):
        return Confidence("low", "code that needs the numbers in the list, which are not known then, breaks the graph again"), settings
    if _NUMBERS_OF_DATA in settings and any(map(_reads_a_truth_value, alerts)):
        return Confidence("low", "code that branches on the truth value, which is not known then, breaks the graph again"), settings
    if not hints and all(alert.rule is _CONFLICT for alert in alerts):
        return Confidence("medium", "this mark or declaration is known to raise the error"), settings
    return Confidence(*(("medium", "PyTorch names a remedy") if hints else ("low", "PyTorch itself names no remedy"))), settings


def _reads_a_number(alert: Alert) -> bool:
    """Whether an operator, rather than the code, reads the number in a tensor."""
    title = alert.messages[0].title if alert.messages else ""
    return title == _TAKES_A_NUMBER and not any(name in alert.snippet for name in (_AS_NUMBER, _AS_LIST))


def _reads_a_truth_value(alert: Alert) -> bool:
    """Whether the innermost line at which the graph breaks turns a tensor into a bool."""
    return any(message.stack and _AS_TRUTH.search(message.stack[-1].code) for message in alert.messages)


def _logging_lines(alerts: Sequence[Alert]) -> Iterator[str]:
    return (line for alert in alerts for message in alert.messages for line in lines_for_logging(message, alert.snippet))


def remedy_of_restart(alert: Alert) -> str:
    return restart_remedy(alert.axis, (item.compile for item in alert.occurrences))


def restart_step(run: StepSources, alerts: Sequence[Alert]) -> NextStep:
    """Without the restart, the analysis runs once; what it took is the most that goes away."""
    saved = Seconds(0.0, math.fsum(alert.seconds for alert in alerts))
    title = f"{subject_of_alerts(alerts)}: {remedy_of_restart(alerts[0])}, to avoid a second analysis ({alerts[0].axis})"
    return step_of(
        kind=StepKind.RESTART,
        title=title,
        alerts=alerts,
        saving=Saving(seconds=saved),
        stake=middle(saved),
        confidence=Confidence("low", "a restart may be needed"),
    )


def failure_step(run: StepSources, alerts: Sequence[Alert]) -> NextStep:
    """Where the error is fixed, the code runs compiled."""
    error, _, words = _own_error(alerts[0]).partition(": ")
    subject = subject_of_alerts(alerts)
    title = f"{'Fix the error' if subject == UNNAMED_CODE else f'Fix the compile error in {subject}'}: {_title_of(alerts[0])}"
    confidence, settings = _cure(alerts)
    if _is_in_captured_graph(alerts[0]):
        title = f"{_title_of(alerts[0])} in the graph of a backward pass keeps {subject} from compiling: run it without compiled autograd"
    elif not settings and (line := _line_of_library(alerts[0])):
        is_in_loop = any(message.is_in_loop for alert in alerts for message in alert.messages)
        is_export = all(raising_call(item.compile) is RaisingCall.EXPORT for item in _failures(alerts))
        stops = "stops torch.export" if is_export else f"keeps {subject} from compiling"
        title = f"{_title_of(alerts[0])} in library code ({line}) {stops}: change the code that leads there"
        if not is_export:
            title += (
                " (torch.compiler.disable helps only around the whole loop)" if is_in_loop else ", or wrap it in torch.compiler.disable"
            )
    elif not settings and (inner := _innermost_code(alerts)):
        at = f"{inner.code.title} ({file_name(inner.code.first.file)}:{inner.code.first.line})"
        subject = subject_of_alerts([alert for alert in alerts if alert is not inner])
        title = f"Fix the compile error in {at}, which keeps {subject} from compiling: {_title_of(inner)}"
        if inner.code.first.is_library:
            title = f"{_title_of(inner)} in library code, {at}, keeps {subject} from compiling: change the code that leads there"
            title += ", or wrap it in torch.compiler.disable"
    where = "" if subject == UNNAMED_CODE else f" in {subject}"
    if _title_of(alerts[0]).endswith(LOST_EXCEPTION):
        title = f"Find and fix the error{where}: its exception is missing from the log"
    elif _title_of(alerts[0]) == LOST_REASON:
        title = f"Find and fix the graph break{where}: the log does not have its reason"
    if error:
        title = f"Fix the {error}{'' if subject == UNNAMED_CODE else f' in {subject}'}{f': {_begun(words)}' if words else ''}"
    is_bug = any(message.is_bug for message in alerts[0].messages[:1])
    if is_bug or all(item.compile.is_forbidden for item in _failures(alerts)):
        title = f"{subject}: {alerts[0].remedy.text}"
    step = step_of(
        kind=StepKind.FAILURE,
        title=title,
        alerts=alerts,
        saving=replace(_saved_failures(alerts), is_unsure=bool(settings) and confidence.level == "low"),
        stake=_seconds_in_vain(run, alerts),
        confidence=confidence,
        text=settings,
    )
    return replace(step, remedy="" if step.hints else _remedy(alerts[0], title))


def _remedy(alert: Alert, title: str) -> str:
    """What is recommended for this very alert rather than for all of its rule; "" where the title of its step has that."""
    text = alert.remedy.text
    return "" if text in (alert.rule.remedy, IN_EAGER_TOO) or text in title else text


def _innermost_code(alerts: Sequence[Alert]) -> Alert | None:
    """Of code that failed in the same words, each called by the code before, the last one, which has the error; None for any other.

    A function that failed runs in Python, and what it calls is compiled by itself. ``alerts`` have no line at which Dynamo stopped.
    """
    found = alerts[0]
    for alert in alerts[1:]:
        if any(_is_called_by(inner.compile, outer.compile) for inner in alert.occurrences[:1] for outer in found.occurrences[:1]):
            found = alert
    has_line = any(message.stack for alert in alerts for message in alert.messages)
    return found if found is not alerts[0] and not has_line and _title_of(found) == _title_of(alerts[0]) else None


def _is_called_by(inner: Compile, outer: Compile) -> bool:
    """Whether the stack of one compile goes on from the code of another, which is the last line of its own stack."""
    calls, below = outer.stack.frames[:-1], inner.stack.frames[len(outer.stack.frames) - 1 :]
    is_same_call = all((one.file, one.line) == (other.file, other.line) for one, other in zip(calls, inner.stack.frames, strict=False))
    codes = [(line.file, line.name) for line in (*outer.stack.frames[-1:], *below[:1])]
    return is_same_call and len(below) > 1 and len(codes) > 1 and codes[0] == codes[1]


def skipped_steps(run: StepSources) -> Iterator[NextStep]:
    """Functions that run in eager mode since a call ran no tensor operation; how many calls that makes is not recorded."""
    found = [alert for alert in run.found.alerts if AlertKind.SKIPPED in alert.kinds]
    if found:
        remedy = found[0].remedy.text
        settings = [f"torch._dynamo.config.{name} = {value}" for name, value in SETTING.findall(remedy)]
        saving = Saving(eager=(Eager.ALL,))
        yield step_of(
            kind=StepKind.CODE,
            title=f"Keep {subject_of_alerts(found)} compiled when a call runs no tensor operation",
            alerts=found,
            saving=saving,
            stake=0.0,
            confidence=Confidence("medium", "a call without a tensor operation then has an entry of its own, or is not made"),
            text=settings,
        )


def _failures(alerts: Iterable[Alert]) -> list[Occurrence]:
    return [item for alert in alerts for item in alert.occurrences if item.compile.outcome is Outcome.FAILED]


def _seconds_in_vain(run: StepSources, alerts: Iterable[Alert]) -> float:
    """What compiles took that failed."""
    return math.fsum(run.seconds[compile] for compile in {item.compile for item in _failures(alerts)})


def _saved_failures(alerts: Sequence[Alert]) -> Saving:
    """The calls that no longer fail to compile, and what became of them."""
    failures = _failures(alerts)
    raised, eager = fates((item.frame, item.compile, item.times) for item in failures)
    ranks = {rank for alert in alerts for rank in alert.ranks}
    return Saving(failed=sum(item.times for item in failures), raised=raised, ranks=len(ranks), eager=eager)


def _line_of_library(alert: Alert) -> str:
    """The line of an installed package at which Dynamo stopped, or which called torch's code at which it did, ``modeling_whisper.py:634``;
    "" for any other code.

    There a user changes no line. What torch's own code rejects is most often what it was passed.
    """
    stack = next((message.stack for message in alert.messages if message.stack), ())
    innermost = next((frame for frame in reversed(stack) if not is_torch(frame.file)), None)
    return f"{file_name(innermost.file)}:{innermost.line}" if innermost and is_library(innermost.file) else ""


def _is_in_captured_graph(alert: Alert) -> bool:
    """Whether Dynamo stopped in the graph of a backward pass that compiled autograd made, in which a user changes no line."""
    stack = next((message.stack for message in alert.messages if message.stack), ())
    return bool(stack) and all(is_in_captured_graph(item.compile, stack[-1]) for item in alert.occurrences)


def _generated_code(alert: Alert) -> str:
    """The name of code without a file and without lines, as a decorator makes it, ``<@checked(f)>``; "" for any other code.

    The cells of a notebook have lines.
    """
    stack = next((message.stack for message in alert.messages if message.stack), ())
    is_generated = stack and stack[-1].file.startswith("<") and not stack[-1].code
    return _AT_ADDRESS.sub("", stack[-1].file) if is_generated else ""


def _own_error(alert: Alert) -> str:
    """``KeyError: 'a'``: what the user's code raised while Dynamo traced it; "" where Dynamo stopped for another reason."""
    raised = alert.exceptions[0] if alert.exceptions and alert.exceptions[0].is_observed else None
    if raised is None:
        return next((message.operation_error for message in alert.messages if message.operation_error), "")
    return f"{raised.type}: {shorten(raised.message, _LONGEST_ERROR)}" if raised.message else raised.type
