"""The alternatives to the list of sources that this version of PyTorch has for what varies, and what each costs."""

from collections.abc import Callable, Iterator

from shapelog.advice.alternatives import other_marks, settings
from shapelog.advice.alternatives.alternative import AdviceContext, Alternative
from shapelog.advice.alternatives.declared_shapes_spec import shapes_spec
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.replay import Marks
from shapelog.model.ids import TorchVersion
from shapelog.recompiles.explain import Explanations


def alternatives(explained: Explanations, marks: Marks, remaining: tuple[Remaining, ...], version: TorchVersion) -> tuple[Alternative, ...]:
    """What else this torch version offers for this trace, one of a kind."""
    context = AdviceContext(explained, marks, remaining, version)
    return tuple(found for find in _ALTERNATIVES for found in find(context))


_ALTERNATIVES: tuple[Callable[[AdviceContext], Iterator[Alternative]], ...] = (
    other_marks.conflicts,
    other_marks.unbacked_sources,
    settings.symbols_for_equal_sizes,
    settings.eager_first,
    settings.parameters,
    settings.module_ints,
    settings.profile,
    settings.collectives,
    settings.recompile_limit,
    other_marks.static_sources,
    other_marks.dynamic_arg_dims,
    shapes_spec,
    other_marks.marks_with_a_range,
    other_marks.dynamic_values,
    settings.dynamic_true,
)
