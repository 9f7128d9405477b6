"""Which argument of a call a source of the compiled code is: ``L['x'].cache`` → the expression that is passed for x, and ``.cache``."""

import ast
import inspect
import re
from typing import NamedTuple

from shapelog.advice.mark_dynamic_code import expression, is_plain
from shapelog.fix.names import Names, is_still
from shapelog.fix.source_files import CannotPlaceError
from shapelog.model.frame import Frame

_LOCAL = re.compile(r"^L\['(\w+)'\]")
_GLOBAL = re.compile(r"^G\['(\w+)'\]")
_FIRST_ITEM = re.compile(r"^\[(?:(\d{1,18})|'(\w+)')\]")
_KINDS = inspect.Parameter
# Of a wrapper of torch or another library: whatever it is called with.
_ANYTHING = ast.parse("lambda *args, **kwargs: 0", mode="eval").body


class Callee(NamedTuple):
    """Compiled code called ``name``: its definition and the module of that, None where it lies in a library, its class, if any.

    ``names`` are those that it may be called by.
    """

    name: str
    definition: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None
    module: ast.Module | None
    owner: ast.ClassDef | None
    names: frozenset[str]


class Argument(NamedTuple):
    """What a call passes, or the object that it calls, and what of it is meant: ``.cache``, "" for all of it.

    Of a global variable there is no ``node``: ``rest`` is all of it. ``is_item``: the node is a mapping passed with ``**``, and
    ``rest`` begins with the key, which another mapping at the same place may lack.
    """

    node: ast.expr | None
    rest: str
    is_item: bool = False

    @property
    def is_still(self) -> bool:
        return self.node is None or is_still(self.node)


def callee_in(frame: Frame, names: Names) -> Callee:
    """The definition of a frame's code in its file. Raises CannotPlaceError where it is not there."""
    found = [node for node in ast.walk(names.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == frame.name]
    for node in found:
        if min([node.lineno, *(item.lineno for item in node.decorator_list)]) == frame.line:
            parent = names.parents.get(node)
            owner = parent if isinstance(parent, ast.ClassDef) else None
            named = callee_names(frame) | {owner.name} if owner else callee_names(frame)
            return Callee(frame.name, node, names.tree, owner, named)
    if frame.name == "<lambda>":
        raise CannotPlaceError("the compiled code is a lambda")
    raise CannotPlaceError(f"{frame.name} is no longer defined where it was when the trace was recorded (line {frame.line})")


def parameter_name(source: str) -> str:
    """What the code calls an argument: ``x`` of ``L['x']``, and ``input_ids`` of ``L['kwargs']['input_ids']``."""
    root = _LOCAL.match(source)
    name, rest = (root[1], source[root.end() :]) if root else ("argument", "")
    item = _FIRST_ITEM.match(rest)
    return name if name not in ("args", "kwargs") or not item else item[2] or "argument"


def callee_names(frame: Frame) -> frozenset[str]:
    """``forward`` and the class that the trace knows: what a call may name."""
    owner, _, method = frame.title.rpartition(".")
    return frozenset((frame.name, *([owner.rpartition(".")[2]] if owner and method == frame.name else [])))


def argument_for(source: str, callee: Callee, call: ast.Call, names: Names) -> Argument:
    """Raises CannotPlaceError for a source that has no name where the call is."""
    root = _LOCAL.match(source)
    if not root:
        return Argument(None, _global(source, callee, call, names))
    name, rest = root[1], source[root.end() :]
    given: object = _given(name, callee, call, names)
    mapping = _mapping(call)
    if isinstance(given, tuple | dict):
        item = _FIRST_ITEM.match(rest)
        key = None if item is None else int(item[1]) if item[1] else item[2]
        inside = dict(enumerate(given)) if isinstance(given, tuple) else given
        if item and key in inside:
            given, rest = inside[key], rest[item.end() :]
        elif mapping and isinstance(given, dict) and isinstance(key, str):
            given = mapping
        else:
            raise CannotPlaceError(f"the call does not pass {expression(source)}")
    elif given is None and mapping:
        given, rest = mapping, f"['{name}']{rest}"
    if not isinstance(given, ast.expr):
        raise CannotPlaceError(f"the call does not pass {name}")
    shown = expression(f"L['{name}']{rest}").removeprefix(name)
    if not is_plain(name + shown):
        raise CannotPlaceError("it has no name in the program")
    return Argument(given, shown, given is mapping)


def _given(name: str, callee: Callee, call: ast.Call, names: Names) -> object:
    """What the call passes for a parameter, None where it does not show that; for ``self`` the object that is called."""
    if callee.definition is None and name not in ("self", "args", "kwargs"):
        by_name = next((item.value for item in call.keywords if item.arg == name), None)
        if by_name is None and not _mapping(call):
            raise CannotPlaceError(f"{name} is not passed by its name, and the code that takes it is in a library")
        return by_name
    given = bind(callee, call).get(name)
    return _called_object(callee, call, names) if given is None and name == "self" else given


def _mapping(call: ast.Call) -> ast.expr | None:
    """What the call passes with ``**``."""
    return next((item.value for item in call.keywords if item.arg is None), None)


def _called_object(callee: Callee, call: ast.Call, names: Names) -> ast.expr:
    """``net`` of ``net(x)`` and of ``net.forward(x)``. Raises CannotPlaceError where the call does not show it."""
    called = call.func
    if isinstance(called, ast.Attribute) and called.attr == callee.name:
        called = called.value
    elif names.behind(called) not in callee.names - {callee.name}:
        raise CannotPlaceError("the call does not name the object that has it")
    if not is_still(called):
        raise CannotPlaceError("the call does not name the object that has it")
    return called


def _global(source: str, callee: Callee, call: ast.Call, names: Names) -> str:
    """A global variable of the module that the code is in, by its name there."""
    root = _GLOBAL.match(source)
    if not root:
        raise CannotPlaceError("it is not an argument of the compiled code")
    if callee.module is not names.tree or not names.is_global(call, root[1]):
        raise CannotPlaceError("it is a global variable that has no name where the call is")
    text = expression(source)
    if not is_plain(text):
        raise CannotPlaceError("it has no name in the program")
    return text


def binds(callee: Callee, call: ast.Call) -> bool:
    """Whether the call fits the parameters of the code."""
    try:
        bind(callee, call)
    except CannotPlaceError:
        return False
    return True


def passes(source: str, callee: Callee, call: ast.Call, names: Names) -> bool:
    """Whether the call shows what it passes for the source."""
    try:
        argument_for(source, callee, call, names)
    except CannotPlaceError:
        return False
    return True


def bind(callee: Callee, call: ast.Call) -> dict[str, object]:
    """Parameter → the expression that the call passes for it; a tuple or a dict of them for ``*args`` and ``**kwargs``.

    Those that a mapping holds, passed with ``**``, are left out. Raises CannotPlaceError where the call does not fit, or does not show
    what it passes.
    """
    mappings = sum(item.arg is None for item in call.keywords)
    if mappings > 1 or any(isinstance(item, ast.Starred) for item in call.args):
        raise CannotPlaceError("the call passes its arguments with *, or with several **")
    signature = _signature(callee, call)
    try:
        fit = signature.bind_partial if mappings else signature.bind
        found = fit(*call.args, **{item.arg: item.value for item in call.keywords if item.arg})
    except TypeError as error:
        raise CannotPlaceError("the call does not fit the parameters of the compiled code") from error
    takes_any = next((item.name for item in signature.parameters.values() if item.kind is _KINDS.VAR_KEYWORD), "")
    return {**({takes_any: {}} if mappings and takes_any else {}), **found.arguments}


def _signature(callee: Callee, call: ast.Call) -> inspect.Signature:
    definition = callee.definition or _ANYTHING
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    given = definition.args
    positional = [*given.posonlyargs, *given.args]
    optional = len(positional) - len(given.defaults)
    parameters = [
        _KINDS(
            item.arg,
            _KINDS.POSITIONAL_ONLY if number < len(given.posonlyargs) else _KINDS.POSITIONAL_OR_KEYWORD,
            default=None if number >= optional else _KINDS.empty,
        )
        for number, item in enumerate(positional)
    ]
    if callee.owner and not _is_static(callee) and not _names_class(callee.owner, call):
        parameters = parameters[1:]
    if given.vararg:
        parameters.append(_KINDS(given.vararg.arg, _KINDS.VAR_POSITIONAL))
    parameters += [
        _KINDS(item.arg, _KINDS.KEYWORD_ONLY, default=_KINDS.empty if default is None else None)
        for item, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg:
        parameters.append(_KINDS(given.kwarg.arg, _KINDS.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _is_static(callee: Callee) -> bool:
    decorators = getattr(callee.definition, "decorator_list", [])
    return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in decorators)


def _names_class(owner: ast.ClassDef, call: ast.Call) -> bool:
    """Whether it is ``Net.forward(net, x)``, which passes the object, too."""
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == owner.name
