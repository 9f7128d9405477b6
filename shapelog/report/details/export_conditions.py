"""Conditions on symbols, as the code of their user would write them: ``Eq(u0, 4)`` that was False is ``n != 4``."""

import re
from collections.abc import Mapping

from shapelog.model.exports import Export, user_line
from shapelog.reading.export_records import Assumed
from shapelog.reading.payloads.guards.expressions import split_items
from shapelog.reading.records import Symbol

_CALL = re.compile(r"^(Eq|Ne)\((.*)\)$", re.S)
_MOD = re.compile(r"\bMod\(([^(),]+), ([^(),]+)\)")
_RELATIONS = (" >= ", " <= ", " == ", " != ", " > ", " < ")
_OPPOSITE = {">=": "<", "<": ">=", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}
_SYMBOL = re.compile(r"\b(?:s|u|zf|zuf)\d+\b")
_SIZE = re.compile(r"^(.*)\.size\(\)\[(\d{1,18})\]$", re.S)
_READ = re.compile(r"^(\w+)\s*(?::[^=]+)?=(?!=).*\.(?:item|tolist)\(\)\s*$")
_FLAT = "L['flat_args']["
_ASKED = re.compile(r"\b(\w+)\.(?:size\((\d{1,3})\)|shape\[(\d{1,3})\])")
_SHAPE = re.compile(r"^Tensor\(shape: torch\.Size\(\[(.*?)\]\)")


def symbols_in(expression: str) -> tuple[str, ...]:
    """The symbols that an expression names, each once."""
    return tuple(dict.fromkeys(_SYMBOL.findall(expression)))


def condition(expression: str, holds: bool = True) -> str:
    """What is true of a relation that holds or does not, in Python; "" for what is no relation of two terms."""
    call = _CALL.match(expression)
    if call:
        terms = _terms(call[2])
        relation = "==" if call[1] == "Eq" else "!="
    else:
        found = next((sign for sign in _RELATIONS if expression.count(sign) == 1), "")
        terms, relation = expression.split(found) if found else [], found.strip()
    if len(terms) != 2 or relation not in _OPPOSITE:
        return ""
    left, right = (_MOD.sub(lambda found: f"{_factor(found[1])} % {_factor(found[2])}", term.strip()) for term in terms)
    return f"{left} {relation if holds else _OPPOSITE[relation]} {right}"


def _factor(text: str) -> str:
    """A term next to ``%``: a name or a number as it is, a sum or a product in parentheses."""
    return text if text.isidentifier() or text.isdecimal() else f"({text})"


def _terms(text: str) -> list[str]:
    """The arguments of a call, separated by the commas that stand in no parentheses."""
    found, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return found


def in_names(expression: str, names: Mapping[str, str]) -> str:
    """An expression with the names that symbols have in the code."""
    return _SYMBOL.sub(lambda match: names.get(match[0], match[0]), expression)


def source_name(source: str) -> str:
    """``x.shape[0]`` for ``x.size()[0]``."""
    return _SIZE.sub(r"\1.shape[\2]", source)


def names_of(export: Export) -> dict[str, str]:
    """The name in the code of each symbol that has one: an input's size, or a variable that was read from a tensor."""
    names: dict[str, str] = {}
    for symbol in export.symbols:
        line = None if symbol.source else user_line(symbol.user_stack.frames)
        read = _READ.match(line.code.strip()) if line else None
        if symbol.source:
            names[symbol.name] = _name_in_code(export, symbol) or source_name(symbol.source.display_name)
        elif read:
            names[symbol.name] = read[1]
    return names


def _name_in_code(export: Export, symbol: Symbol) -> str:
    """``x.shape[0]`` by the lines that ask for it, for an input that a strict export calls ``flat_args[0]``; "" for any other."""
    part = symbol.source.tensor_part
    if not symbol.source.startswith(_FLAT) or part is None:
        return ""
    stacks = [(item.user_stack, item.stack) for item in export.guards if symbol.name in symbols_in(item.expression)]
    stacks += [(item.user_stack, item.stack) for item in export.specializations if item.symbol == symbol.name]
    lines = (user_line(own.frames) or user_line(other.frames) for own, other in stacks)
    asked = {(found[1], int(found[2] or found[3])) for line in lines if line for found in _ASKED.finditer(line.code)}
    names = {name for name, dim in asked if dim == part.dim}
    return f"{names.pop()}.shape[{part.dim}]" if len(names) == 1 else ""


def in_variables(assumed: Assumed, names: Mapping[str, str]) -> str:
    """The expression of an assumption with the variables of its line, where they hold what it is about; else with ``names``."""
    text, held = assumed.expression, dict[str, str]()
    for variable, value in assumed.values:
        shape = _SHAPE.match(value)
        sizes = split_items(shape[1]) if shape else (value,)
        parts = [(size, f"{variable}.shape[{dim}]" if shape else variable) for dim, size in enumerate(sizes)]
        held |= {size: name for size, name in parts if symbols_in(size) and size not in held}
    for value in sorted(held, key=len, reverse=True):
        text = _whole(value).sub(lambda _, name=held[value]: name, text)  # type: ignore[misc]
    return in_names(text, names) if not assumed.values else text


def _whole(value: str) -> re.Pattern[str]:
    """Where a text is that is no part of a longer name."""
    return re.compile(rf"(?<!\w){re.escape(value)}(?!\w)")
