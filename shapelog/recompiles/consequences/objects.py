"""What follows where an object, a function or a class is another one, or is gone."""

import re

from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.classification.result import code_of
from shapelog.recompiles.classification.shown_objects import KINDS_OF_FUNCTIONS
from shapelog.recompiles.consequences.changes import ARGUMENTS, OBJECT_KINDS, Changes, replaces
from shapelog.recompiles.evidence.violation import Violation

_CONTENTS = frozenset((Kind.LENGTH, Kind.KEYS))
# What a member of an enum is made of, and the name that a function or a class was defined with.
_BY_DEFINITION = ("._value_", "._name_", ".__name__", ".__qualname__")
_FIRST_OF_ALL = "L['args'][0]"
_OWN_VARIABLES = (".__closure__", ".__defaults__", ".__kwdefaults__")


def below_replaced_object(item: Violation, changes: Changes) -> bool:
    """What another object has of its own; another instance of the same class may have other items in its containers, too."""
    owners = [changes.replaced[owner] for owner in changes.replaced_objects.of(item.source)]
    if item.prop.kind in _CONTENTS:
        return any(owner.prop.kind is Kind.ID and owner is not item for owner in owners)
    if item.prop.kind not in OBJECT_KINDS and not item.source.endswith(_BY_DEFINITION):
        return False
    return any(owner is not item for owner in owners)


def of_another_class(item: Violation, changes: Changes) -> bool:
    """What is looked up in the class of an object that is of another one: ``type(x).mode``."""
    return any(f"type({owner})" in item.source for owner in changes.of_other_types.of(item.source))


def variable_of_another_function(item: Violation, changes: Changes) -> bool:
    """Another function has variables of its own in its closure, and its own defaults: what has the same number there is another one."""
    return any(item.source.startswith(_OWN_VARIABLES, len(function)) for function in changes.functions.of(item.source))


def belongs_to_another_class(item: Violation, changes: Changes) -> bool:
    """A method that classes share, as ``__call__(self, *args, **kwargs)`` of Module is: the method of another class that it calls is
    another function, and takes other arguments.
    """
    if not changes.class_changed:
        return False
    return _is_arguments(item) or (item.prop.kind is Kind.ID and item.source.endswith(".__code__"))


def passed_to_another_function(item: Violation, changes: Changes) -> bool:
    """The arguments of a wrapper, on the line that passes them on to a function which is another one: ``fn(*args, **kwargs)``.

    Where their number is another one, so is the number of items that one of them has. Another function takes arguments of other types,
    but for a method, which another class has another one of, and with other numbers of dimensions.
    """
    owner = next((Source(arguments) for arguments in ARGUMENTS if item.source.startswith(f"{arguments}[")), None)
    if owner is None:
        return _is_arguments(item) and _passes_on(code_of(item), item.source.display_name, changes)
    if item.prop.kind in _CONTENTS and any(passed_to_another_function(other, changes) for other in changes.arguments):
        return True
    if not (replaces(item) or item.prop.kind is Kind.RANK) or (
        item.source == _FIRST_OF_ALL and all("." in str(known) for known in (item.expected, item.actual))
    ):
        return False
    return any(_passes_on(code_of(other), owner.display_name, changes) for other in (*changes.of(Kind.ID), *changes.of(Kind.TYPE)))


def _passes_on(line: str, arguments: str, changes: Changes) -> bool:
    """Whether a line calls a function that is another one with all arguments of the wrapper."""
    codes = [other.source for other in changes.of(Kind.ID) if other.source.endswith(".__code__")]
    codes += [other.source for other in changes.of(Kind.TYPE) if KINDS_OF_FUNCTIONS.keys() & {str(other.expected), str(other.actual)}]
    called = (re.escape(code.display_name.removesuffix(".__code__")) for code in codes)
    return any(re.search(rf"(?<![\w.]){name}\([^()]*\*{arguments}\b", line) for name in called)


def _is_arguments(item: Violation) -> bool:
    """Whether it is the number or the names of the arguments of a function that takes any."""
    return item.source in ARGUMENTS and item.prop.kind in (Kind.LENGTH, Kind.KEYS, Kind.HAS)


def passed_to_another_callee(item: Violation, changes: Changes) -> bool:
    """What Dynamo's own wrapper passes on to another function or module, and what that has of its own."""
    return bool(changes.callee) and bool(item.source) and item.source not in (changes.callee, f"{changes.callee}.__code__")


def added_with_switch(item: Violation, changes: Changes) -> bool:
    """An attribute that came or went with a switch of its name: ``gradient_checkpointing_enable()`` sets it on a model and its layers."""
    return item.prop.kind is Kind.HAS_ATTRIBUTE and item.prop.name in changes.switched


def object_was_collected(item: Violation, changes: Changes) -> bool:
    """The identity of anything, once a named object that the entry belongs to is gone."""
    if item.prop.kind not in (Kind.ID, Kind.TYPE) or not changes.has(Kind.LIFETIME) or _is_another_than_collected(item, changes):
        return False
    return any(known.source for known in changes.of(Kind.LIFETIME))


def below_collected_object(item: Violation, changes: Changes) -> bool:
    if item.prop.kind is Kind.LIFETIME or _is_another_than_collected(item, changes):
        return False
    return any(changes.collected.of(item.source))


def collected_object_of_another_type(item: Violation, changes: Changes) -> bool:
    """The end of an object where that of the call is of another type: the entry would not be for it either, were the other alive."""
    if item.prop.kind is not Kind.LIFETIME:
        return False
    return any(other.source == item.source for other in changes.of(Kind.TYPE))


def _is_another_than_collected(item: Violation, changes: Changes) -> bool:
    """Whether it is that the object in the place of one that is gone is of another type."""
    if item.prop.kind is not Kind.TYPE:
        return False
    return any(other.source == item.source for other in changes.of(Kind.LIFETIME))
