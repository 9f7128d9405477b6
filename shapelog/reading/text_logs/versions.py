"""Which versions of PyTorch write what a log holds. The facts are those of the sources of torch 2.0 to 2.13."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.recompile_reasons import parse, split_entry

_INVALIDATED = "Cache line invalidated because "


class Versions(NamedTuple):
    """The minor versions of torch 2 that write something: from ``oldest`` to ``newest``, None where there is no end."""

    oldest: int | None = None
    newest: int | None = None

    def __str__(self) -> str:
        """``2.7 or newer``, ``2.4 or older``, ``2.5 or 2.6``, ``2.7 to 2.9``; "" for any version."""
        if self.oldest is None:
            return "" if self.newest is None else f"2.{self.newest} or older"
        if self.newest is None:
            return f"2.{self.oldest} or newer"
        if self.oldest == self.newest:
            return f"2.{self.oldest}"
        return f"2.{self.oldest} {'or' if self.newest - self.oldest == 1 else 'to'} 2.{self.newest}"


CODE_STATE = Versions(6)
SUGGESTION = Versions(8)
# A guard on a local variable without ``L[...]``.
_NAMES_LOCAL = re.compile(r"(?:len\()?(?!___|[LG]\[|GLOBAL_STATE)[a-z_]\w{0,80}[.\[\w'\]()]{0,200} [=<>!]=? ")
# Lines that begin with a date in brackets and name the logger.
DATED = Versions(None, 2)
# Reasons without the ids of entries; people leave them out, too.
WITHOUT_IDS = Versions(None, 4)
# Reasons with the ids of entries, and ``L[...]``.
WITH_SOURCES_AND_IDS = Versions(5, 6)
OLDEST_WITH_TRACE = 4
# In the tree of guards.
_IN_GUARDS = (("framelocals_idx", Versions(7)), ("DIMENSION_DYNAMIC_MARKING_GUARD", Versions(13)))
# In the warning at the recompile limit and in its exceptions.
_IN_TEXT = (
    (re.compile(r"\btorchdynamo hit "), Versions(None, 0)),
    (re.compile(r"(?:\b|accumulated_)cache_size_limit (?:\(|reached)"), Versions(None, 6)),
    (re.compile(r"config\.(?:accumulated_)?recompile_limit|\brecompile_limit reached"), Versions(7)),
    (re.compile(r"reached with one_graph=True"), Versions(7, 8)),
    (re.compile(r"reached with fullgraph=True"), Versions(9, 10)),
    (re.compile(r"Dynamo recompile limit exceeded|code object too many times|Hard failure due to\b"), Versions(11)),
    (re.compile(r"^\s*reasons: ", re.M), Versions(None, 1)),
    (re.compile(r"^\s*last reason: ", re.M), Versions(2)),
    (re.compile(r"torch\.compiler_troubleshooting\.html"), Versions(4, 9)),
    (re.compile(r"docs/main/compile/programming_model\.recompilation"), Versions(10, 10)),
    (re.compile(r"user_guide/torch_compiler/compile/programming_model"), Versions(11)),
)


# What ``torch.utils.collect_env``, pip and the environment commands of other libraries print, which people paste with their logs. In a
# sentence, only a copy of ``torch.__version__`` has what it was built for behind it.
_STATED = re.compile(
    r"\s*(?:(?:[-*+]|#{1,6}) )?(?:\[(?:pip3?|conda)\] )?[*_]{0,2}"
    r"(?:(?:[Pp]y)?[Tt]orch [Vv]ersion *(?:\(GPU\?\))?[*_]{0,2} *[:=] *|torch(?:==| +))2\.(\d{1,2})\.\d"
    r"|.{0,80}\b(?:[Pp]y)?[Tt]orch[ :=*`]{1,5}2\.(?P<built>\d{1,2})\.\d{1,3}\+(?:cu|cpu|rocm|xpu)(?!.{0,200}\W2\.\d{1,2}\.\d)"
)


def stated_in(line: str) -> Versions | None:
    """The version that a line names, None where it names none."""
    found = _STATED.match(line)
    minor = int(found[1] or found["built"]) if found else None
    return None if minor is None else Versions(minor, minor)


def of_guards(tree: str) -> Iterator[Versions]:
    """Of the tree of guards of one entry."""
    return (versions for sign, versions in _IN_GUARDS if sign in tree)


def of_text(text: str) -> Iterator[Versions]:
    """Of a warning at the recompile limit, or of an exception."""
    return (versions for pattern, versions in _IN_TEXT if pattern.search(text))


def of_reasons(reasons: Iterable[str]) -> Iterator[Versions]:
    """Of recompile reasons: the entries that they are about have ids from 2.5 on, local variables no ``L[...]`` from 2.7 on, nor in 2.0."""
    for reason in reasons:
        if not split_entry(reason)[0]:
            if "L['" in reason:
                yield Versions(None, 6)
            is_without_scope = _NAMES_LOCAL.match(reason) is not None  # as 2.0 and 2.7 write it: somebody left out the id
            if "L['" in reason or not (reason.startswith("tensor '") or is_without_scope):
                yield WITHOUT_IDS
        elif _INVALIDATED in reason:  # written in C++, with sources in full
            yield Versions(5)
        elif "L['" in reason.partition("  # ")[0]:
            yield WITH_SOURCES_AND_IDS
        else:
            yield Versions(7 if parse(reason).source else 5)
        if ", type=<class '" in reason:
            yield Versions(10)
        if "User stack trace:" in reason:
            yield Versions(11)


def common(signs: Iterable[Versions]) -> Versions:
    """Those that write all of it; any version where none does, as in a log of several.

    What all the rest shows counts more than that ids are left out, and the name of the limit more than how reasons name a tensor.
    """
    known = list(signs)
    rest = [item for item in known if item != WITHOUT_IDS]
    # Builds between 2.6 and 2.7 have the setting of the one, and the sources of the other.
    without_sources = [item for item in known if item not in (WITHOUT_IDS, WITH_SOURCES_AND_IDS)]
    return next((found for each in (known, rest, without_sources) if (found := _common(each)) != Versions()), Versions())


def _common(known: Sequence[Versions]) -> Versions:
    oldest = max((item.oldest for item in known if item.oldest is not None), default=None)
    newest = min((item.newest for item in known if item.newest is not None), default=None)
    return Versions() if oldest is not None and newest is not None and oldest > newest else Versions(oldest, newest)
