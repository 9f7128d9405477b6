"""Backends that are made anew for each torch.compile of the same code: none of its entries serves another call, whatever is marked.

PyTorch names a changed backend only where every guard of the entry holds; elsewhere the guard that failed hides it.
"""

from collections.abc import Iterable, Sequence

from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.recompile_reasons import Reason, backend_named
from shapelog.recompiles.causes import Cause, Differences, EntryDifference


def new_backend_each_time(frame: Frame, differences: Differences) -> Cause | None:
    """The cause that holds against every earlier entry of a frame whose calls come with a backend object of their own, else None."""
    for compile in frame.compiles:
        for reason in compile.reasons:
            if reason.prop.kind is Kind.BACKEND and _is_made_anew(reason):
                entry = next((item for item in frame.compiles if item.label.partition("#")[0] == reason.entry), None)
                causes = differences.between(entry, compile).causes if entry else ()
                return next((cause for cause in causes if cause.prop.kind is Kind.BACKEND), None)
    return None


def has_backends(frame: Frame) -> bool:
    """Whether a reason names a change of backend. Which of them other calls came with is not recorded."""
    return any(reason.prop.kind is Kind.BACKEND for compile in frame.compiles for reason in compile.reasons)


def _is_made_anew(reason: Reason) -> bool:
    """Whether two backends are objects of one kind or functions of one name, which PyTorch writes with and without their addresses."""
    before, after = backend_named(reason.expected), backend_named(reason.actual)
    return bool(before.compiler) and not before.is_inductor and before == after


def with_backend(found: Iterable[EntryDifference], backend: Cause | None) -> Sequence[EntryDifference]:
    """The same differences with the backend among the causes of each, where the calls of the frame come with one of their own."""
    if backend is None:
        return tuple(found)
    unnamed = backend._replace(named_by_pytorch=False, before="", after="")
    return tuple(
        item if any(cause.prop.kind is Kind.BACKEND for cause in item.causes) else item._replace(causes=(*item.causes, unnamed))
        for item in found
    )
