"""Constraints that are violated, as ``torch/fx/experimental/symbolic_shapes.py`` words them, 2.0 to 2.15."""

import re

from shapelog.reading.text_logs.message_kinds import BEHIND_ANOTHER

VIOLATION, ANY_TYPE, INTERNAL = "ConstraintViolationError", "Error", "InternalTorchDynamoError"
# The heading, and below it one condition on each line; a person may have written on below these, or quote one alone.
_CONDITION = r"(?:Not all values|You marked|The values|The constraints)[^\n]*"
_WRAPPED_CONDITION = (
    r"[ \t]+(?:For more information, run|(?:are )?valid because|because|was inferred|in the specified|satisfy the|as dynamic but)\b"
)
_GUARD_BELOW = r"(?:(?<=satisfy the generated guard)[ \t]*\n(?:[ \t]*\n)?[ \t]+\S[^\n]*)?"
CONDITIONED = re.compile(_CONDITION)
VIOLATED = re.compile(
    rf"^(?:[ \t]*|{BEHIND_ANOTHER})"
    r"(?P<all>Constraints violated\s\([^\n]*"
    rf"(?:\n(?:[ \t]*\n){{0,2}}(?:[ \t]*(?:- )?{_CONDITION}{_GUARD_BELOW}|{_WRAPPED_CONDITION}[^\n]*))*)",
    re.M,
)
VIOLATED_ALONE = re.compile(
    r"Not all values of (?:RelaxedUnspecConstraint\(|\S{1,200} = )[^\n]{0,500}? are valid because [^\n]*"
    r"|Not all values of \S{1,200} = [^\n]{1,200} in the specified range [^\n]{0,200}satisfy the generated guard [^\n]*"
    r"|You marked \S[^\n]{0,200} as dynamic\s{1,9}but\s{1,9}your\s{1,9}code\s{1,9}specialized\s"
    r"(?:[^()]{0,99}\([^()\n]{1,60}\)|it\s{1,9}to\s{1,9}be\s{1,9}a\s{1,9}constant\b)"
    r"(?:\.\s+If\s+you're\s+using\s+mark_dynamic,[^.]{1,200}\.|[^\n]*)"
)
_SUGGESTED = re.compile(r"^Suggested fixes:[ \t]*\n(?:[ \t]+\S[^\n]*(?:\n|$))+", re.M)


def violated_constraints(text: str) -> str:
    """What is violated, and what PyTorch suggests, of an exception whose class is not there; "" for any other text."""
    if violated := VIOLATED.search(text):
        conditions = violated["all"].strip()
    elif alone := _listed_conditions(text):
        conditions = "\n".join(("Constraints violated!", *alone))
    else:
        return ""
    fixes = _SUGGESTED.search(text)
    return f"{conditions}\n{fixes[0].strip()}\n" if fixes else conditions


def _listed_conditions(text: str) -> list[str]:
    """The first condition that is violated, and those right below it, where their heading is not there."""
    listed: list[str] = []
    end = 0
    for found in VIOLATED_ALONE.finditer(text):
        if listed and text[end : found.start()].strip(" \t\n-"):
            break
        listed.append(f"- {' '.join(found[0].split())}")
        end = found.end()
    return listed


def as_violation(condition: re.Match[str]) -> str:
    return f"Constraints violated!\n- {' '.join(condition[0].split())}"
