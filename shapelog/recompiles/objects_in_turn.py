"""Several objects that a program uses in turn, such as the optimizers of several models: each needs a graph of its own."""

from collections.abc import Iterator, Mapping
from itertools import chain

from shapelog.grouping import grouped
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict

_OTHER_OBJECT = "SL308"
_TENSORS = frozenset(("torch.Tensor", "torch.nn.parameter.Parameter"))
_EACH = (
    "accept one graph for each of these objects, which the program uses in turn; if that reaches the recompile limit, raise it above their "
    "number"
)

# An object in a process: the rank, the process and its id.
_Object = tuple[int | None, int, str]


def with_objects_in_turn(by_frame: Mapping[Frame, tuple[Recompile, ...]]) -> dict[Frame, tuple[Recompile, ...]]:
    """The same recompiles; those for another object are justified where that object was there in more than one call.

    It is there in several calls if one frame was compiled for it more than once, for something else that changed, and nothing shows that
    it was deallocated in between, after which another one may have its id.
    """
    used = {known for frame, found in by_frame.items() for known in _used_again(frame, found)}
    return {frame: tuple(_in_turn(item, used) for item in found) for frame, found in by_frame.items()} if used else dict(by_frame)


def _used_again(frame: Frame, found: tuple[Recompile, ...]) -> Iterator[_Object]:
    """The objects for which a frame was compiled more than once."""
    asked = dict.fromkeys((cause.source, cause.prop) for item in found for cause in item.causes if _is_of_object(cause))
    for key in asked:
        with_id = ((compile, compile.guards.facts.get(key)) for compile in frame.entries if compile.guards)
        for number, pairs in grouped(with_id, lambda pair: pair[1]).items():
            later = chain.from_iterable(compile.reasons for compile, _ in pairs[1:])
            if number is not None and pairs[1:] and not any(reason.prop.kind is Kind.LIFETIME for reason in later):
                yield frame.rank, frame.process, str(number)


def _is_of_object(cause: Cause) -> bool:
    return cause.codes[0] == _OTHER_OBJECT and cause.prop.kind is Kind.ID and cause.before not in _TENSORS


def _in_turn(item: Recompile, used: set[_Object]) -> Recompile:
    facts = item.compile.guards.facts if item.compile.guards else {}
    place = item.frame.rank, item.frame.process
    causes = tuple(
        cause._replace(own_verdict=Verdict.JUSTIFIED, own_remedy=_EACH)
        if _is_of_object(cause) and (*place, str(facts.get((cause.source, cause.prop)))) in used
        else cause
        for cause in item.causes
    )
    if causes == item.causes:
        return item
    is_code_no_more = item.verdict is Verdict.CODE and all(cause.verdict is not Verdict.CODE for cause in causes)
    return item._replace(causes=causes, verdict=Verdict.JUSTIFIED if is_code_no_more else item.verdict)
