"""What a text leaves open about a recompile limit that was hit, and what is known of PyTorch's own code."""

from collections.abc import Iterator
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.records import DEFAULT_LIMIT
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.reuse.refused_calls import entry_number, is_known_by_limit, is_of_oldest_alone
from shapelog.report.details.limit_remedies import MANY, OF_MODULE, found_no_entry, is_one_of_few

_INT, _PARAMETER = "SL102", "SL106"
_ALL_REASONS = 'TORCH_LOGS="recompiles"'
_REASON_BELOW = "the last reason is in the log lines below this warning, which are not in this text"
_NO_ENTRY = (
    "PyTorch found no cache entry whose guards failed: entries are dropped when an object that they refer to is freed, "
    "so the code may refer to a new one each time"
)
# What torch.compile wraps modules and library functions in.
_WRAPPERS = "torch/_dynamo/external_utils.py"
_SHARED = (
    "this is PyTorch's own wrapper: all models that are compiled in one process share its cache and its limit; "
    "torch._dynamo.reset() between two models empties it"
)


def limit_notes(explained: Explanations, frame: Frame, hit: Compile, is_by_itself: bool) -> Iterator[str]:
    """The notes of a refused call; ``is_by_itself``: no other rank has the reasons of this frame."""
    if found_no_entry(hit):
        yield _NO_ENTRY
    if not explained.trace.is_text:
        return
    if frame.file.replace("\\", "/").endswith(_WRAPPERS):
        yield _SHARED
    if hit.metrics.lost_reasons and is_by_itself:
        yield _REASON_BELOW
    found = explained.of_frame(frame)
    if len(found) == 1 and found[0].causes:
        only = _OnlyReason(frame, hit, found[0], found[0].causes[0])
        if doubt := next(filter(None, (find(only) for find in _DOUBTS)), ""):
            yield doubt


class _OnlyReason(NamedTuple):
    """The one recompilation that a text has of a frame, for which the limit was hit, and what it is blamed on."""

    frame: Frame
    hit: Compile
    recompile: Recompile
    cause: Cause

    @property
    def graphs(self) -> int:
        """How many graphs the cache held."""
        return self.hit.id.compile

    @property
    def entries(self) -> set[str]:
        """The ids of the entries that have a reason."""
        return {reason.entry for reason in self.hit.reasons}

    @property
    def may_become_symbolic(self) -> bool:
        """Whether nothing but the number of graphs speaks against it, where the text shows which entry the reason is of."""
        is_known = self.hit.metrics.assumes_entries or self.frame.entries
        acts = (self.cause.is_size or self.cause.is_int) and not self.cause.own_verdict
        return acts and len(self.entries) <= 1 and not is_known and self.graphs >= MANY


def _has_few_values(only: _OnlyReason) -> str:
    if not is_one_of_few(only.cause) or only.frame.entries or only.graphs <= MANY:
        return ""
    return f"this alone does not make {only.graphs} graphs: {_ALL_REASONS} prints why the others were not reused"


def _has_few_shapes(only: _OnlyReason) -> str:
    if _PARAMETER not in only.cause.codes or only.frame.entries or only.graphs <= DEFAULT_LIMIT:
        return ""
    return f"a model has parameters of a few shapes, not of {only.graphs}: {_ALL_REASONS} prints what else made the other graphs"


def _may_choose_an_item(only: _OnlyReason) -> str:
    is_stated = is_of_oldest_alone(only.hit)  # by the remedy
    if only.cause.rule.code != OF_MODULE or only.frame.entries or only.recompile.blocking_rule or is_stated:
        return ""
    where = f"where the code takes an item of a list with {only.cause.subject}"
    return f"{where}, a mark changes nothing: raise the limit above the number of modules"


def _is_static_in_a_late_entry(only: _OnlyReason) -> str:
    if only.cause.rule.code != _INT or not is_known_by_limit(only.frame) or len(only.entries) != 1:
        return ""
    entry = only.entries.pop()
    if entry_number(entry) < MANY:
        return ""
    return (
        f"a mark alone may not help: {entry} came after {entry_number(entry)} other graphs and is still static, as under dynamic=False, "
        f"where the code needs the exact value, or where other ints vary too; {_ALL_REASONS} shows which"
    )


def _needs_exact_size(only: _OnlyReason) -> str:
    is_plain = only.cause.is_size and not only.cause.own_verdict
    if not is_plain or not only.hit.metrics.assumes_entries or only.frame.entries or only.graphs < DEFAULT_LIMIT:
        return ""
    return (
        f"a size that varies makes {only.graphs} graphs only if the code needs its exact value, or under dynamic=False: "
        f"{_ALL_REASONS} prints why the other graphs were not reused"
    )


def _is_not_markable(only: _OnlyReason) -> str:
    return only.recompile.why_not_markable if only.may_become_symbolic and only.recompile.blocking_rule else ""


def _is_of_the_oldest(only: _OnlyReason) -> str:
    # that of each module may differ
    if not only.may_become_symbolic or not is_of_oldest_alone(only.hit) or only.cause.rule.code == OF_MODULE:
        return ""
    first = f"the first of {only.graphs} cached graphs"
    return (
        f"this is why {f'{only.entries.pop()}, {first},' if only.hit.shown_label else first} was not reused; what changed is symbolic in "
        f"later ones, unless automatic dynamic shapes are off or the code needs its exact value: {_ALL_REASONS} prints why those were not "
        "reused"
    )


# Why the one reason may not be all of it. The first that holds is the note.
_DOUBTS = (
    _has_few_values,
    _has_few_shapes,
    _may_choose_an_item,
    _is_static_in_a_late_entry,
    _needs_exact_size,
    _is_not_markable,
    _is_of_the_oldest,
)
