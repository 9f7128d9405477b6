"""Facts of a call, compared with what an earlier entry checks → violations: every fact in which the call does not satisfy the entry.

A guard that only one of two trees has shows nothing: the value on the other side is not known, and often the guard is only there
because the code took another path.
"""

from collections.abc import Iterator, Sequence

from shapelog.reading.payloads.properties import INFERENCE_MODE, Kind, Property
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.evidence.guards import against_guards
from shapelog.recompiles.evidence.inputs import against_inputs
from shapelog.recompiles.evidence.newly_symbolic import newly_symbolic
from shapelog.recompiles.evidence.reasons import from_reason, holds_for
from shapelog.recompiles.evidence.violation import IDENTITY, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts


def violations(
    entry: CompileFacts, call: CompileFacts, reasons: Sequence[Reason], of_others: Sequence[Reason] = ()
) -> tuple[Violation, ...]:
    """Every fact in which a call is known not to satisfy the guards of an entry, the failures that PyTorch named (``reasons``) first.

    ``of_others`` are those that it named of other entries, which show the objects, dtypes and dispatch keys of a call that left no guards.
    """
    named = [from_reason(entry, call, reason) for reason in reasons]
    shared = [from_reason(entry, call, reason)._replace(reason=None) for reason in of_others if holds_for(entry, reason)]
    named += {item.key: item for item in shared if all(item.key != known.key for known in named)}.values()
    found = list(against_guards(entry, entry.tree, call) if entry.tree else against_inputs(entry, call))
    found += newly_symbolic(entry, call)
    named, found = _with_marked_tensor(named, found)
    named = [_with_values(item, found) for item in named]
    state = next((item.reason for item in named if item.prop.kind is Kind.GLOBAL_STATE), None)
    if state is not None and any(item.is_global_state for item in found):  # the tree has both values of each field
        named = [item for item in named if item.prop.kind is not Kind.GLOBAL_STATE]
        found = [item._replace(reason=state) if item.is_global_state and _is_named_in(state, item.prop) else item for item in found]
    known = {item.key for item in named}
    identified = {item.source for item in named if item.prop.kind in IDENTITY}
    new = [item for item in found if item.key not in known and not (item.prop.kind in IDENTITY and item.source in identified)]
    return (*_inference_mode(entry, call, named), *named, *{item.key: item for item in new}.values())


def _with_values(item: Violation, found: Sequence[Violation]) -> Violation:
    """An object that PyTorch names by its address alone (2.8 and older), as the guards of both calls have it."""
    if item.reason is None or item.reason.family != "id" or item.reason.actual:
        return item
    return next(
        (other._replace(reason=item.reason) for other in found if other.source == item.source and other.prop.kind in IDENTITY), item
    )


def _with_marked_tensor(named: list[Violation], found: list[Violation]) -> tuple[list[Violation], list[Violation]]:
    """A marking that PyTorch names without its tensor, as the guards have it."""
    reason = next((item.reason for item in named if item.prop.kind is Kind.MARKING and not item.source), None)
    if reason is None or not any(item.prop.kind is Kind.MARKING for item in found):
        return named, found
    rest = [item for item in named if item.prop.kind is not Kind.MARKING or item.source]
    return rest, [item._replace(reason=reason) if item.prop.kind is Kind.MARKING else item for item in found]


def _inference_mode(entry: CompileFacts, call: CompileFacts, named: Sequence[Violation]) -> Iterator[Violation]:
    """Inference mode that was entered or left. PyTorch names a tensor whose dispatch keys changed with it, or grad mode."""
    before, after = (known.facts.get((Source(), INFERENCE_MODE)) for known in (entry, call))
    if before is None or after is None or before == after:
        return
    kinds = (Kind.DISPATCH_KEYS, Kind.GLOBAL_STATE)
    reason = next((item.reason for item in named if item.prop.kind in kinds), None)
    yield Violation(Source(), INFERENCE_MODE, before, after, reason.comment if reason else "", reason=reason)


def _is_named_in(reason: Reason, field: Property) -> bool:
    """Whether PyTorch's list of what changed names a field of the global state: ``grad_mode autocast(cpu)_enabled``."""
    name = Kind.AUTOCAST.value if field.kind is Kind.AUTOCAST else field.name
    return any(word.startswith(name) or name.startswith(word) for word in reason.expected.split())
