"""Settings of PyTorch that its hints name for graph breaks and failures, as the next steps of a report have them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.fix.source_files import CannotPlaceError
from shapelog.report.steps.step import NextStep, Saving, StepKind
from shapelog.text import plural

_OF_DYNAMO = "torch._dynamo.config."
# Between a setting and what has to be known before it is set.
_COMMENT = "  # "
_ASSIGNMENT = re.compile(r"^torch\._dynamo\.config\.(\w+) = (True|False)$")
# Those that only let Dynamo trace more (torch/_dynamo/config.py). Others change speed, results or what is checked: the user has to decide.
_TRACE_MORE = frozenset(
    (
        "allow_unspec_int_on_nn_module",
        "capture_dynamic_output_shape_ops",
        "capture_scalar_outputs",
        "enable_trace_contextlib",
        "enable_trace_load_build_class",
        "enable_trace_unittest",
        "trace_numpy",
    )
)


class FixSetting(NamedTuple):
    """A setting that would remove graph breaks or failures. ``id`` is ``S1``, ``reason`` why it cannot be placed, "" where it is."""

    id: str
    text: str
    step: NextStep
    reason: str = ""

    @property
    def name(self) -> str:
        """``capture_scalar_outputs = True``."""
        return self.text.removeprefix(_OF_DYNAMO).partition(_COMMENT)[0]

    @property
    def option(self) -> str:
        return self.name.partition(" ")[0]

    @property
    def condition(self) -> str:
        """What has to be known before it is set, which follows it as a comment; "" for most."""
        return self.text.partition(_COMMENT)[2]

    @property
    def saving(self) -> Saving:
        return self.step.saving

    @property
    def removes(self) -> str:
        """``1 graph break``, ``2 failures``: as many as there are places of them."""
        return plural(max(1, len(self.step.places)), "failure" if self.step.kind is StepKind.FAILURE else "graph break")

    def check(self) -> None:
        """Raises CannotPlaceError for a setting that does more than let Dynamo trace."""
        if ".add(" in self.name:
            raise CannotPlaceError("the call then writes its line later, or not at all: add it yourself where that does no harm")
        if self.condition:
            raise CannotPlaceError(f"{self.condition}, so set it yourself")
        found = _ASSIGNMENT.match(self.text)
        if not found or found[1] not in _TRACE_MORE or found[2] != "True":
            raise CannotPlaceError("it changes more than what is traced, so read PyTorch's hint before you set it")


def settings_of(steps: tuple[NextStep, ...]) -> Iterator[FixSetting]:
    """Each setting once, of the most worthwhile step that names it, with the condition that any step has for it."""
    interruptions = (step for step in steps if step.kind in (StepKind.GRAPH_BREAK, StepKind.FAILURE))
    named = [(line, step) for step in interruptions for line in step.text if line.startswith(_OF_DYNAMO)]  # not what it imports
    with_condition = {line.partition(_COMMENT)[0]: line for line, _ in reversed(named) if _COMMENT in line}
    texts: dict[str, NextStep] = {}
    for line, step in named:
        texts.setdefault(with_condition.get(line, line), step)
    for number, (text, step) in enumerate(texts.items(), 1):
        yield FixSetting(f"S{number}", text, step)
