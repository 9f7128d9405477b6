"""Functions that are passed, and differ from those that code was compiled for."""

import re

from shapelog.reading.payloads.properties import LENGTH, TENSOR, VALUE, Kind
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.recompiles.classification.result import Classification, have_other_graphs
from shapelog.recompiles.classification.shown_objects import KINDS_OF_FUNCTIONS, shown_object
from shapelog.recompiles.evidence.violation import THE_CLASS, Described, Known, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.passed_functions import functions_in, functions_that_broke, operator_of
from shapelog.rules import Verdict

EACH_FUNCTION = "pass fewer functions, or accept one graph for each"
# What functions that are written in different places, and their sizes, differ in.
_OF_FUNCTIONS = frozenset((Kind.ID, Kind.CLOSURE))
# Where library code passes all its arguments on to it, as what a decorator makes does.
_FUNCTION_IN_LIBRARY = "accept one graph for each function that this library code calls"
_DECORATED = "accept one graph for each function that this code is put around, and raise the recompile limit above their number"
_ALL_ARGUMENTS, _ONE_OF_ALL = Source("L['args']"), re.compile(r"L\['args'\]\[\d+\]")
_NEVER_SHARED = "functions written in different places never share one"
_ONE_FUNCTION = f"define the function once and pass that in every call, or accept one graph for each: {_NEVER_SHARED}"
_SET_FUNCTION_ONCE = "set the function once, before the first compiled call, or accept one graph for each"


def for_functions(source: Source) -> str:
    """What to do about another function: one that is looked up in a module or a class is not passed."""
    return _SET_FUNCTION_ONCE if source.startswith(("G[", "type(")) else EACH_FUNCTION


def other_function(source: Source, name: str, code: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another code object: a function passed on purpose, where the graphs show other places in the user's code, else one made anew.

    ``code`` is the line of the guard.
    """
    was, now = (functions_in(known, has_methods=".__func__" in source) for known in (entry, call))
    before, after = was - now, now - was
    if not before and not after:
        before, after = functions_that_broke(name, entry, call)
    in_library = is_library(call.code_file or entry.code_file)  # of a refused call none is recorded
    passes_all = f"{name}(*args, **kwargs)" in code
    is_wrapped = in_library and passes_all
    takes_others = passes_all and _have_other_arguments(entry, call)
    if before and after:  # one that is made anew has the same code
        sentence = f"{name} changed to a function with different code"
        if len(before) == len(after) == 1 and all(function for function, _ in before | after):
            ((first, at),), ((second, there),) = before, after
            sentence = f"{name} changed from the function {first} ({at}) to {second} ({there})"
        remedy = _FUNCTION_IN_LIBRARY if is_wrapped else for_functions(source)
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=remedy)
    if len(before | after) == 1 and entry.compile.graph and call.compile.graph:
        ((function, place),) = before | after
        known = f"the function {function} ({place})"
        other = operator_of(name, call, entry) if before else operator_of(name, entry, call)
        sentence = f"{name} changed {'from' if before else 'to'} {known}; the other one left no operation"
        if other:
            sentence = f"{name} changed from {known if before else other} to {other if before else known}"
        if not function:
            sentence = f"{name} changed to a function with different code"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=for_functions(source))
    if have_other_graphs(entry, call) and _differ_in_functions_alone(entry, call):
        sentence = f"{name} changed to a function with different code"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=for_functions(source))
    if names := _other_names(source, entry, call):
        sentence = f"{name} changed from the function {names[0]} to {names[1]}"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=for_functions(source))
    sentence = f"{name} is a different function: its code object changed"
    if takes_others or (is_wrapped and call.tree is None):  # a refused call, which nothing shows to have a function that was made anew
        remedy = _FUNCTION_IN_LIBRARY if in_library else _DECORATED
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=remedy)
    # A lambda that each call makes anew has one code object; of a text, nothing shows that a file or a cell was run again.
    is_unknown = entry.tree is None and call.tree is None
    return Classification(("SL309",), sentence, remedy=f"{EACH_FUNCTION}: {_NEVER_SHARED}" if is_unknown else _ONE_FUNCTION)


def _other_names(source: Source, entry: CompileFacts, call: CompileFacts) -> tuple[str, str] | None:
    """The names that the code reads of two functions, where they are not the same: one that is made anew has its own again."""
    key = Source(f"{source.removesuffix('.__code__')}.__name__"), VALUE
    was, now = (str(known.facts.get(key, "")).strip("'\"") for known in (entry, call))
    return (was, now) if was and now and was != now else None


def _have_other_arguments(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether what a function passes on with ``*args`` has another length or other types: another function takes others."""
    before, after = (_kinds_of_arguments(known) for known in (entry, call))
    return any(before[source] != after[source] for source in before.keys() & after.keys())


def _kinds_of_arguments(known: CompileFacts) -> dict[Source, object]:
    """The number of all arguments, and the types of those that have a guard."""
    found: dict[Source, object] = {source: kind for source, kind in known.types.items() if _ONE_OF_ALL.fullmatch(source)}
    for (source, prop), value in known.facts.items():
        if prop == LENGTH and source == _ALL_ARGUMENTS:
            found[source] = value
        elif prop == TENSOR and _ONE_OF_ALL.fullmatch(source):
            found[source] = TENSOR
    return found


def _differ_in_functions_alone(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether nothing but identities and sizes is known to differ: what the graphs do not have in common is of the functions."""
    differ = (key[1] for key, value in entry.facts.items() if call.facts.get(key, value) != value)
    return all(prop.kind in _OF_FUNCTIONS or prop.is_of_dim for prop in differ)


def another_callable(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A function where something of another type is passed otherwise: with one type for both, each would still need its own graph."""
    was, now = _callable(item.expected, entry, call), _callable(item.actual, call, entry)
    sentence = f"{name} changed from {was} to {now}" if now else f"{name} is no longer {was}"
    return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=for_functions(item.source))


def _callable(known: Known, own: CompileFacts, other: CompileFacts) -> str:
    """What one of two calls has, with the name of a Python function where only its graph has code of one; "" where it is not recorded."""
    text = str(known)
    functions = functions_in(own) - functions_in(other) if text == "function" else set()
    if len(functions) == 1 and all(function for function, _ in functions):
        ((function, place),) = functions
        return f"the function {function} ({place})"
    is_named = isinstance(known, Described) or text.startswith(THE_CLASS)
    return KINDS_OF_FUNCTIONS.get(text) or (shown_object(text) if is_named else f"type {text}")
