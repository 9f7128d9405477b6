"""Containers that changed: keys, members, lengths, ranges."""

import re

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import LENGTH, Kind
from shapelog.reading.payloads.source_names import Source, display_text, is_library, is_torch
from shapelog.recompiles.classification.library_calls import is_made_by_library, is_passed_by_library
from shapelog.recompiles.classification.result import (
    Classification,
    Classifier,
    are_of_two_models,
    code_of,
    compute_with_other_numbers,
    have_other_graphs,
    is_in_state,
    line_of,
    made_outside,
    short_type,
    takes_another_way,
)
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.int_usage import is_tested, passes_on, spelled
from shapelog.rules import Verdict
from shapelog.text import file_name, some, with_article

_KINDS_OF_CALLS = "accept one graph for each kind of call: each passes tensors that the other does not"
_EACH_CASE = "accept one graph for each case: the code behaves differently depending on which keys there are"
_EACH_LENGTH = "accept one graph for each case: the code behaves differently depending on how many items there are"
# What compiled autograd calls for hooks and for functions with a backward pass of their own.
_OF_NODES = "accept one graph for each length: compiled autograd calls this function of PyTorch for hooks and nodes of several kinds"
_OF_GRADIENTS = "accept one graph for each length: autograd passes a hook, or a backward pass, as many gradients as the node has"
_OF_A_SIZE = "accept one graph for each number of dimensions, which a torch.Size has an item for: it cannot be dynamic"
_SIZE = "torch.Size"
_OF_A_SHAPE = "accept one graph for each number of dimensions: the items are the sizes of a tensor, and that number cannot be dynamic"
# A call that takes a list with an item for each dim, or all items of it.
_TAKES_SHAPE = (
    r"(?:(?:\btorch\.(?:zeros|ones|empty|full|rand|randn)|\bmake_tensor|\.(?:new_(?:zeros|ones|empty|full)|view|reshape|expand|permute|repeat"
    r"|tile|broadcast_to|as_strided))\(|\btorch\.(?:reshape|permute|tile|broadcast_to|as_strided)\(\w{1,80}, |\.as_strided\(\w{1,80}, )"
    r"(?:\(?\*|tuple\(|list\()?"
)
_SAME_NUMBER = "pass the same number of these in every call, or accept one graph for each number: the code passes them on as arguments"
_AS_ONE_TENSOR = "pass the floats as one tensor or array, whose size can be dynamic"
_MOST_DIMS = 5
_MADE_BY_LIBRARY = "accept one graph for each length: library code makes this list, and the line that calls it passes nothing"
_PASSED_ON = "accept one graph for each set of arguments: library code calls this function with several"
_EACH_SET = "accept one graph for each set of arguments that functools.partial fixes: the function computes something else with each"
_OF_PARTIAL = ".keywords"
_SAME_ARGUMENTS = "pass the same arguments in every call, or accept one graph for each set of them"
_OWN_KEYS = (
    "the code itself adds keys to this dict: add them before the first compiled call (one call without torch.compile may do that), "
    "or return the values and store them outside"
)
_OWN_ITEMS = "the code itself adds items: return them, and add them outside"
_ITEMS_OF_LIBRARY = "accept the extra graph: library code adds the items ({})"
# A call on a list that makes it longer; after a graph break, it is the resumed code that makes it.
_ADDS = r"\.(?:append|extend|insert)\("
_KEYWORD_ARGUMENTS = "L['kwargs']"
_AN_ITERATOR = "_iterator"
# A line that branches on the number of items of one list, ``if len(found) == 0:``, ``if not found:``.
_ASKS_FOR_NUMBER = re.compile(
    r"(?:if|elif|while|assert) (?:not )?(?:(?:bool|len)\([A-Za-z_]\w{0,80}\)|[A-Za-z_]\w{0,80})(?: ?(?:[<>]|[<>=!]=) ?\d{1,9})?:?"
)
_SETS_ITEM = re.compile(r"\[[^\[\]:]+\]\s*[-+*/%&|^@]{0,2}=(?!=)")
_MOST_KEYS = 3
_NUMBER_OF_ITEMS = "pass the number of items as an int, which can be dynamic, in place of len() inside"
_NUMBER_AND_ITEMS = "pass the number of items and the items that are used as separate arguments; ints can be dynamic"
_ONE_ORDER = "insert the keys in the same order every time"
_SETS, _SAME_MEMBERS = frozenset(("set", "frozenset")), "always pass a set with the same members, or accept one graph for each case"
_CLASS_DICT, _MODULE_PART = (
    re.compile(r"dict\((?P<owner>.*)\.__dict__\)"),
    re.compile(r"(?P<owner>.*)\._(?P<part>module|parameter|buffer)s"),
)
_OTHER_PARTS = (
    "modules of a different structure need their own graphs: raise the recompile limit above their number, or compile each by itself"
)
_WITH_AND_WITHOUT = (
    "modules with and without it need separate graphs; if one module gains or loses it, do that before the first compiled call"
)
# The guard of torch 2.0 to 2.3 on a dict whose keys are parameters.
_PARAMETERS = "___dict_param_key_ids("
_OTHER_PARAMETERS = "use one optimizer with the same parameters, or call torch._dynamo.reset() before another one takes its first step"
# What ``torch.optim.Optimizer.state`` holds for a parameter.
_STATE = re.compile(r"\.state\[key \d+\]$")
_FIRST_STEP = "take one step before the first compiled call, or accept the extra graph: an optimizer makes its state in its first step"
# Most begin with zero, others do not: ``step_size`` of Rprop, ``eta`` and ``mu`` of ASGD, ``mu_product`` of NAdam.
_KEPT_STATE = (
    "keep the state after the first compiled step: to start anew, copy the values that its tensors began with into them, with copy_(), "
    "rather than clear it"
)
_GROUPS, _SAME_GROUPS = ".param_groups", "add all groups of parameters to the optimizer before its first compiled step"
_DEFAULTS, _SAME_DEFAULTS = ".__defaults__", "set the defaults of the function once, before the first call"
_ADDED_PARAMETERS = "add its parameters before the first compiled call"
_HOOKS = re.compile(r"\._([a-z_]*hook)s(?:_with_kwargs|_always_called)?$")
_SAME_HOOKS = "register the hooks before the first call, and keep them"
# PyTorch counts the hooks of all modules together, so those of another module have other numbers; torch 2.13 does not compare them.
_HOOKS_OF_EACH = f"{_SAME_HOOKS}; where each module has its own, update to torch 2.13, or accept one graph for each module"


def keys(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Other keys of a dict, or the same ones in another order."""
    if hooks := _HOOKS.search(item.source):  # kept by numbers, of which each hook has its own
        return _other_hook(item, hooks)
    if item.reason and _PARAMETERS in item.reason.code:
        return Classification(("SL314",), f"the dict {name} has other parameters as keys than before", remedy=_OTHER_PARAMETERS)
    before, after = (known.keys_by_dict.get(item.source, []) for known in (entry, call))
    if before != after and sorted(before) == sorted(after):
        return Classification(("SL314",), f"the keys of the dict {name} are in a different order", remedy=_ONE_ORDER)
    if part := _MODULE_PART.fullmatch(item.source):
        sentence = f"{display_text(part['owner'])} has {part['part']}s of other names than before"
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_PARTS)
    if _SETS.intersection((entry.types.get(item.source), call.types.get(item.source))):
        return Classification(("SL314",), f"the members of the set {name} changed", verdict=Verdict.JUSTIFIED, remedy=_SAME_MEMBERS)
    return _of_dict(item, f"the keys of the dict {name} changed", entry, call)


def is_of_hooks(source: str) -> bool:
    """Whether a container is that of the hooks of a module."""
    return _HOOKS.search(source) is not None


def _other_hook(item: Violation, hooks: re.Match[str]) -> Classification:
    owner, what = display_text(item.source[: hooks.start()]), hooks[1].replace("_", " ").strip()
    is_by_number = item.prop.kind is Kind.HAS
    gone = f": no. {item.prop.name} is not there" if is_by_number and str(item.expected) == "True" else ""
    remedy = _HOOKS_OF_EACH if is_by_number else _SAME_HOOKS
    return Classification(("SL320",), f"{owner} has another {what} than before{gone}", remedy=remedy)


def _of_dict(item: Violation, sentence: str, entry: CompileFacts, call: CompileFacts, remedy: str = "") -> Classification:
    """Other keys of a dict.

    Each kind of call needs its own graph where the graphs differ, and tensors went and others came in their place or a line asks for keys.
    """
    if _is_passed_on(item, entry, call):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_PASSED_ON)
    had, has = ({tensor.source for tensor in known.compile.inputs if tensor.source.is_below(item.source)} for known in (entry, call))
    if not remedy and had - has and has - had and have_other_graphs(entry, call):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_KINDS_OF_CALLS)
    is_of_key = item.prop.kind is Kind.HAS
    is_other = compute_with_other_numbers(entry, call, on_same_tensors=is_of_key) and is_tested(code_of(item), spelled(item.source))
    if not remedy and (is_other or takes_another_way(item, entry, call)):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_EACH_CASE)
    if not remedy and item.source.endswith(_OF_PARTIAL) and have_other_graphs(entry, call):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_EACH_SET)
    if not remedy and item.source == _KEYWORD_ARGUMENTS and (is_of_key or _passes_on(item)):  # made anew for each call
        return Classification(("SL314",), sentence, remedy=_SAME_ARGUMENTS)
    adds_keys = _changes_it_itself(item, entry, call) or _is_used_as_dict(code_of(item), item.source.display_name)
    return Classification(("SL314",), sentence, remedy=remedy or (_OWN_KEYS if adds_keys else ""))


def _is_passed_on(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether a function of a library passes it on for a library."""
    return _passes_on(item) and is_passed_by_library(item, entry, call)


def _passes_on(item: Violation) -> bool:
    """Whether it is ``args`` or ``kwargs`` of a function that passes all on, as what a decorator makes does."""
    return re.search(rf"\*{re.escape(item.source.display_name)}\b", code_of(item)) is not None


def has(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another set of members, keys, parameters or attributes of a class."""
    was_there, key = str(item.expected) == "True", item.prop.name.strip("'")
    if owner := _CLASS_DICT.fullmatch(item.source):
        now = "no longer has" if was_there else "now has"
        return Classification(("SL320",), f"{display_text(owner['owner'])} {now} the attribute {key}")
    if hooks := _HOOKS.search(item.source):
        return _other_hook(item, hooks)
    if owner := _MODULE_PART.fullmatch(item.source):  # often of another module of the same class
        now, then = ("has no", "had it") if was_there else ("has the", "did not")
        sentence = f"{display_text(owner['owner'])} {now} {owner['part']} {key}, and the one that this was compiled for {then}"
        return Classification(("SL320",), sentence, remedy=_WITH_AND_WITHOUT)
    sentence = f"{name} {'no longer' if was_there else 'now'} contains {item.prop.name}"
    if _SETS.intersection((entry.types.get(item.source), call.types.get(item.source))):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_SAME_MEMBERS)
    before, after = (known.guarded((item.source, LENGTH)) for known in (entry, call))
    if before is not None and after is not None and before != after:
        counted = item._replace(expected=before, actual=after)
        named = _named_keys(counted, entry, call)
        number = f"the dict {name} {_counted(counted, 'key')}{named}"
        sentence = number if named else f"{sentence}, and has {after} keys in place of {before}"
    elif before is not None and (named := _named_keys(item._replace(expected=before, actual=before), entry, call)):
        sentence = f"the dict {name} has other keys{named}"
    return _of_dict(item, sentence, entry, call)


def _is_used_as_dict(code: str, name: str) -> bool:
    """Whether a line sets a key of a container, which a list could not get longer by."""
    last = re.escape(name.rpartition(".")[2])
    return re.search(rf"(?<!\w){last}\[(?!-?\d+\]|[^\[\]]*:)[^\[\]]+\] = ", code) is not None


def range_object(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    before, after = str(item.expected), str(item.actual)
    how = f" from range{before} to range{after}" if before and after else f" (was range{before})" if before else ""
    return Classification(("SL313",), f"the range {name} changed{how}")


def length(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another number of items, keys, hooks, defaults or the like."""
    if part := _part_of_owner(item, name):
        return part
    holder = _added_to(item.source, entry, call)
    if holder:
        sentence = f"{holder.display_name} ({with_article(short_type(entry.types[holder]))}) {_counted(item, 'key')}"
        return Classification(("SL314",), sentence, remedy=_ADDED_PARAMETERS)
    if _is_dict(item, name, entry):
        is_new_state = str(item.expected) == "0" and _STATE.search(name)
        is_kept_state = is_in_state(item.source, entry) and str(item.expected) != "0"
        sentence = f"the dict {name} {_counted(item, 'key')}{_named_keys(item, entry, call)}"
        return _of_dict(item, sentence, entry, call, _FIRST_STEP if is_new_state else _KEPT_STATE if is_kept_state else "")
    return _of_list(item, name, entry, call)


def _counted(item: Violation, unit: str) -> str:
    """``had 3 items and now has 4``."""
    before, after = str(item.expected), str(item.actual)
    now = after or ("some" if before == "0" else "a different number")
    return f"had {'no' if before == '0' else before} {unit}{'' if before == '1' else 's'} and now has {now}"


def _is_dict(item: Violation, name: str, entry: CompileFacts) -> bool:
    tree, kind = entry.tree, entry.types.get(item.source, "")
    if tree and not kind and (item.source, LENGTH) not in tree.facts and item.reason is None:
        return True  # its length is inferred from its guarded keys
    guard = tree.by_key.get((item.source, LENGTH)) if tree else None
    if "dict" in kind.lower() or (guard is not None and guard.kind == "DICT_LENGTH"):
        return True
    return _is_used_as_dict(code_of(item), name) or (item.reason is not None and "!=" in item.reason.code)


def _part_of_owner(item: Violation, name: str) -> Classification | None:
    """Hooks, defaults, groups and parts, which a module, a function or an optimizer has; None for other containers."""
    hooks = _HOOKS.search(item.source)
    if hooks:
        sentence = f"{display_text(item.source[: hooks.start()])} {_counted(item, hooks[1].replace('_', ' ').strip())}"
        return Classification(("SL320",), sentence, remedy=_SAME_HOOKS)
    if item.source.endswith(_DEFAULTS):
        function = display_text(item.source.removesuffix(_DEFAULTS))
        return Classification(("SL313",), f"{function} {_counted(item, 'default')}", remedy=_SAME_DEFAULTS)
    if item.source.endswith(_GROUPS):  # of an optimizer
        return Classification(("SL313",), f"{name} {_counted(item, 'item')}", remedy=_SAME_GROUPS)
    part = _MODULE_PART.fullmatch(item.source)
    if part:
        sentence = f"{display_text(part['owner'])} {_counted(item, part['part'])}"
        return Classification(("SL313",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_PARTS)
    return None


def _of_list(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another number of items of a list or tuple, or of a container whose type is not known."""
    sentence = f"{name} {_counted(item, 'item')}"
    justified = _why_each_length(item, entry, call)
    if justified:
        return Classification(("SL313",), sentence, verdict=Verdict.JUSTIFIED, remedy=justified)
    if not _has_tensors(item, entry, call) and (remedy := made_outside(item.source, (line_of(item),))):
        return Classification(("SL313",), sentence, remedy=remedy)
    place = line_of(item)
    remedy = _of_items(item, name, entry, call)
    if remedy == _OWN_ITEMS and place and is_library(place.file):
        where = f"{file_name(place.file)}:{place.line}"
        return Classification(("SL313",), sentence, verdict=Verdict.JUSTIFIED, remedy=_ITEMS_OF_LIBRARY.format(where))
    remedy = remedy or (_AS_ONE_TENSOR if _has_many_floats(item, entry, call) else "")
    if not remedy and is_made_by_library(item, entry, call):
        return Classification(("SL313",), sentence, verdict=Verdict.JUSTIFIED, remedy=_MADE_BY_LIBRARY)
    if not remedy and passes_on(code_of(item), spelled(item.source)):
        verdict = Verdict.JUSTIFIED if have_other_graphs(entry, call) else None
        return Classification(("SL313",), sentence, verdict=verdict, remedy=_SAME_NUMBER)
    is_counted = remedy in (_NUMBER_OF_ITEMS, _NUMBER_AND_ITEMS)
    is_asked = is_counted or _is_asked_whether_empty(item, name) or _is_asked_below(item, entry)
    if takes_another_way(item, entry, call) or (is_asked and have_other_graphs(entry, call)):
        return Classification(("SL313",), sentence, verdict=Verdict.JUSTIFIED, remedy=_EACH_LENGTH)
    return Classification(("SL313",), sentence, remedy=remedy)


def _why_each_length(item: Violation, entry: CompileFacts, call: CompileFacts) -> str:
    """Why each length needs a graph of its own, as its remedy has it; "" where nothing shows that."""
    if call.is_in_backward and is_torch(call.code_file):
        return _OF_NODES
    is_passed = item.source.is_argument and not _changes_it_itself(item, entry, call)
    if call.is_in_backward and is_passed and _has_tensors(item, entry, call):
        return _OF_GRADIENTS
    if _is_passed_on(item, entry, call):
        return _PASSED_ON
    if are_of_two_models(entry, call):
        return _OTHER_PARTS
    if entry.types.get(item.source) == _SIZE:
        return _OF_A_SIZE
    return _OF_A_SHAPE if _is_shape(code_of(item), item.source) else ""


def _is_shape(code: str, source: Source) -> bool:
    """Whether a line passes a list as the shape of a tensor: ``torch.zeros(shape)``, ``x.view(*shape)``.

    One that a graph break left on the stack may have any name there.
    """
    name = r"[A-Za-z_]\w*(?=\)|, \w+=)" if source.is_on_stack else re.escape(source.display_name)
    return re.search(rf"{_TAKES_SHAPE}{name}(?![\w.(\[])", code) is not None


def _named_keys(item: Violation, entry: CompileFacts, call: CompileFacts) -> str:
    """Which keys a dict gained and lost, such as `` (new: 'mask')``; "" where the guards do not name all of its keys."""
    had, has = (known.tree.guarded_keys.get(item.source, set()) if known.tree else set() for known in (entry, call))
    if (str(len(had)), str(len(has))) != (str(item.expected), str(item.actual)):
        return ""
    parts = [f"{word}: {some(sorted(found), _MOST_KEYS)}" for word, found in (("new", has - had), ("gone", had - has)) if found]
    return f" ({'; '.join(parts)})" if parts else ""


def _added_to(source: Source, entry: CompileFacts, call: CompileFacts) -> Source | None:
    """The module that has a private attribute, as ``torch.nn.ParameterDict`` has its keys, and got a parameter; None for others."""
    holder, _, attribute = source.rpartition(".")
    if not attribute.startswith("_") or Source(holder) not in entry.types:
        return None
    is_added = any(tensor.source.is_below(f"{holder}._parameters") for tensor in call.tensors_not_in(entry))
    return Source(holder) if is_added else None


def _of_items(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> str:
    """What to do about another number of items, where the code changes it or asks for nothing else; "" for any other."""
    last = re.escape(name.rpartition(".")[2])
    before, after = integer(str(item.expected)), integer(str(item.actual))
    is_shorter = before is not None and after is not None and after < before  # adding items does not make a list shorter
    if not is_shorter and (_adds_items(item, entry, call) or re.search(rf"(?<!\w){last}{_ADDS}", code_of(item))):
        return _OWN_ITEMS
    counted = re.search(rf"\blen\([\w.]*(?<!\w){last}\)", code_of(item))
    if not counted or _has_tensors(item, entry, call):
        return ""
    takes_items = re.search(rf"(?<!\w){last}\[", code_of(item))
    return _NUMBER_AND_ITEMS if takes_items else _NUMBER_OF_ITEMS


def _is_asked_whether_empty(item: Violation, name: str) -> bool:
    """Whether a line asks for nothing else of a list that was or is empty; what is done about it may lie outside of that line."""
    last = re.escape(name.rpartition(".")[2])
    return (
        "0" in (str(item.expected), str(item.actual))
        and re.search(rf"(?:\bbool\(|\bnot )[\w.]*(?<!\w){last}\b(?!\[)", code_of(item)) is not None
    )


def _is_asked_below(item: Violation, entry: CompileFacts) -> bool:
    """Whether the guard comes from a line of a function that the code calls, which has its own name for the list, and asks for its length.

    It is the line that first read the list, so it asks for no other one.
    """
    place = line_of(item)
    is_below = place is not None and place.name not in ("", entry.compile.metrics.code_name)
    return place is not None and is_below and _ASKS_FOR_NUMBER.fullmatch(place.code.partition("  #")[0].strip()) is not None


def _has_tensors(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    return any(tensor.source.is_below(item.source) for known in (entry, call) for tensor in known.compile.inputs)


def _has_many_floats(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether it is a list of floats with more items than a tensor has dimensions: numbers to compute with."""
    first = Source(f"{item.source}[0]")
    is_of_floats = any(known.types.get(first) == "float" or first.canonical in known.symbolic_floats for known in (entry, call))
    return is_of_floats and max(integer(str(number)) or 0 for number in (item.expected, item.actual)) > _MOST_DIMS


def _changes_it_itself(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether the compiled code changes the container that its caller passed."""
    return any(item.source in known.compile.changed_objects for known in (entry, call))


def _adds_items(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether the compiled code may make a list longer: it changes it, and not only by other values for items that it has.

    What changes of an iterator is how many items it has given.
    """
    if entry.types.get(item.source, "").endswith(_AN_ITERATOR):
        return False
    lines = (known.compile.changed_objects.get(item.source) for known in (entry, call))
    return any(not own or not all(map(_SETS_ITEM.search, own)) for own in lines if own is not None)


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.HAS: has,
    Kind.LENGTH: length,
    Kind.RANGE: range_object,
    Kind.KEYS: keys,
}
