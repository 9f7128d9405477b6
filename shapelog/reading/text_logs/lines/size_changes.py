"""What became dynamic, as ``torch/_dynamo/pgo.py`` logs it (up to torch 2.5 ``variables/builder.py``): the reasons of recompilations."""

import re

from shapelog.reading.text_logs.lines.log_lines import Head

_PART = r"(?P<part>size|stride|val|dim)"
# Torch 2.6 and later name what changed first: ``automatic dynamic size L['x'] size(0) 5 != 4``.
_CHANGED = re.compile(
    rf"\s*automatic dynamic (?:(?:size|stride|int) )?(?P<source>\S{{1,400}}) {_PART}(?:\((?P<index>\d{{1,3}})\))?"
    r" (?P<new>\S{1,200}|[(\[][^()\[\]]{0,200}[)\]]) != (?P<old>[(\[][^()\[\]]{0,200}[)\]]|\S{1,200})\s*$"
)
_NUMBER = re.compile(r"-?\d{1,18}")


def is_about_change(text: str) -> bool:
    """Whether a line has the words for what becomes dynamic."""
    return text.lstrip().startswith("automatic dynamic ")


def reason_of_change(text: str) -> str:
    """The guard that failed, as PyTorch would write it; "" for a line without the two values."""
    found = _CHANGED.match(text)
    if found is None:
        return ""
    part, source, new, old = found["part"], found["source"], found["new"], found["old"]
    if part == "dim":
        return f"tensor '{source}' rank mismatch. expected {_rank(old)}, actual {_rank(new)}"
    if not (_NUMBER.fullmatch(new) and _NUMBER.fullmatch(old)):
        return ""
    if part == "val":
        return f"{source} == {old}"
    return f"tensor '{source}' {part} mismatch at index {found['index'] or 0}. expected {old}, actual {new}"


def _rank(shape: str) -> str:
    """The number of dims, which older versions write in place of the shape."""
    return str(len(list(filter(str.strip, shape[1:-1].split(","))))) if shape[:1] in "([" else shape


class SizeChanges:
    """The changes of a log, by the compile that met them."""

    def __init__(self) -> None:
        self._reasons: dict[Head, tuple[int, dict[str, None]]] = {}

    def take(self, head: Head, text: str, line: int) -> None:
        """Note one line. The first compilation of a function has such lines about an earlier run, of which it is no recompilation."""
        reason = reason_of_change(text)
        is_first = head.compile.partition("_")[0].endswith("/0")
        if reason and not is_first:
            of = Head(process=head.process, rank=head.rank, compile=head.compile.partition("_")[0])
            self._reasons.setdefault(of, (line, {}))[1][reason] = None

    def recompiles(self) -> list[tuple[Head, int, tuple[str, ...]]]:
        """The head of each compile, its line, and its reasons. Lines without an id are of one compile, as far as is known."""
        return [(head, line, tuple(reasons)) for head, (line, reasons) in self._reasons.items()]
