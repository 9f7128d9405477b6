"""Types and objects as sentences name them."""

import re

from shapelog.recompiles.classification.result import short_type
from shapelog.recompiles.evidence.violation import THE_CLASS

KINDS_OF_FUNCTIONS = {
    "function": "a Python function",
    "builtin_function_or_method": "a built-in function",
    "method": "a method",
    "functools.partial": "a functools.partial",
}
ENUM = re.compile(r"<(?:enum|flag) '")
# As torch 2.10 writes a member: ``<Mode.A: 1>``.
MEMBER = re.compile(r"<([A-Za-z_]\w*)\.[A-Za-z_][\w.|]*: .+>", re.S)
# A class deep in a package, whose path hides its name.
_IN_PACKAGE = re.compile(r"(?:[a-z_]\w*\.){3,}([A-Z]\w*)")


def shown_object(text: str) -> str:
    """``the class numpy.float32`` → ``the class float32``, ``function`` → ``a Python function``, ``<enum 'Mode'>`` → ``a member of the enum
    Mode``, ``lib.losses.arc_face.ArcFace`` → ``ArcFace``; anything else as it is.
    """
    if text.startswith(THE_CLASS):
        return THE_CLASS + short_type(text.removeprefix(THE_CLASS))
    if ENUM.match(text):
        return f"a member of the enum {short_type(text)}"
    if member := MEMBER.fullmatch(text):
        return f"a member of the enum {member[1]}"
    if in_package := _IN_PACKAGE.fullmatch(text):
        return in_package[1]
    return KINDS_OF_FUNCTIONS.get(text, text)
