"""Violations that only follow from others: what lies below a replaced object, a stride that follows from a size, ..."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.properties import Kind
from shapelog.recompiles.consequences import guards, objects, sizes, states
from shapelog.recompiles.consequences.changes import Changes
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts


class Consequence(NamedTuple):
    """A violation that follows from others, and the name of the rule that recognizes it."""

    violation: Violation
    because: str


def separate(violations: Sequence[Violation], entry: CompileFacts, call: CompileFacts) -> tuple[list[Violation], list[Consequence]]:
    """What changed by itself, and what follows from that. What only follows from itself changed."""
    if len(violations) == 1:
        return list(violations), []
    changes = Changes(violations, entry, call)
    own: list[Violation] = []
    following: list[Consequence] = []
    for item in violations:
        because = next((name for name, follows in CONSEQUENCES.items() if follows(item, changes)), "")
        if because:
            following.append(Consequence(item, because))
        else:
            own.append(item)
    return (own, following) if own else ([item.violation for item in following], [])


def not_named_by_pytorch(item: Violation, changes: Changes) -> bool:
    """PyTorch could not name what failed, and the facts do."""
    return item.prop.kind is Kind.UNKNOWN and len(changes.violations) > 1


CONSEQUENCES: dict[str, Callable[[Violation, Changes], bool]] = {
    follows.__name__: follows
    for follows in (
        objects.below_replaced_object,
        objects.of_another_class,
        objects.variable_of_another_function,
        objects.belongs_to_another_class,
        objects.passed_to_another_function,
        objects.passed_to_another_callee,
        sizes.rank_changed,
        sizes.strides_follow_resized_tensor,
        sizes.stride_of_one_in_a_resized_tensor,
        sizes.in_container_of_other_length,
        sizes.product_of_other_items,
        sizes.length_of_another_value,
        guards.constant_in_guard_changed,
        guards.simplified_by_a_static_size,
        guards.met_by_equal_sizes,
        guards.length_that_fits_a_size,
        states.dtype_follows_default,
        states.set_by_default_device,
        objects.object_was_collected,
        objects.below_collected_object,
        objects.collected_object_of_another_type,
        not_named_by_pytorch,
        states.computed_under_other_grad_mode,
        states.gradient_of_a_parameter,
        states.metadata_with_requires_grad,
        states.changed_by_inference_mode,
        states.changed_by_transform,
        states.changed_by_tracing,
        states.dispatch_keys_of_autocast,
        states.set_by_entering_autocast,
        sizes.stride_follows_size,
        sizes.stride_of_a_single_element,
        sizes.offsets_of_other_rows,
        states.dispatch_keys_of_device,
        objects.added_with_switch,
    )
}
