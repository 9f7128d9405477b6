"""A recompile, explained."""

from typing import NamedTuple

from shapelog.display import in_notebook
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind
from shapelog.recompiles.causes import Cause
from shapelog.rules import Verdict, any_blocks_marking
from shapelog.text import one_line


class Recompile(NamedTuple):
    """A compile that was not its frame's first, compared with the nearest earlier entry (None if the trace has none).

    ``served_by`` is the earlier compile whose graph would serve this call if the axes were marked, None unless the verdict is MARKING.
    ``unexplained_because`` is what the trace lacks when the cause is not known, ``why_not_markable`` why marking what varies would not
    remove this one, and ``blocking_rule`` the code of the rule whose remedy holds there.
    """

    compile: Compile
    frame: Frame
    nearest: Compile | None
    causes: tuple[Cause, ...]
    consequences: tuple[str, ...]
    entries_checked: int
    verdict: Verdict
    served_by: Compile | None = None
    unexplained_because: str = ""
    why_not_markable: str = ""
    blocking_rule: str = ""

    @property
    def size_related(self) -> bool:
        return any(cause.size_related for cause in self.causes)

    @property
    def causes_by_need(self) -> tuple[Cause, ...]:
        """The causes; of a justified one, what a mark, then what code could remove comes last, as that alone saves nothing.

        The sizes of what a list holds come after its length: other items are there.
        """
        if self.verdict is not Verdict.JUSTIFIED:
            return self.causes
        of_items = self.sizes_of_items
        return tuple(sorted(self.causes, key=lambda cause: (cause in of_items, *_rank_by_need(cause))))

    @property
    def sizes_of_items(self) -> frozenset[Cause]:
        """The causes that are sizes of what a list, tuple or dict holds that has another length now."""
        changed = [cause.source for cause in self.causes if cause.prop.kind is Kind.LENGTH]
        sizes = (cause for cause in self.causes if cause.size_related) if changed else ()
        return frozenset(cause for cause in sizes if any(cause.source.is_below(source) for source in changed))

    def __repr__(self) -> str:
        return f"<Recompile {self.compile.label} of {one_line(self.frame.title)}: {' '.join(self.codes)}, {self.verdict.value}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def is_against_unknown(self) -> bool:
        """Whether it is known from PyTorch's own words alone, because the entries they name are not in the trace."""
        return self.nearest is None and bool(self.why_not_markable)

    @property
    def is_after_failure(self) -> bool:
        """Whether no earlier compile of the code left an entry, so that it was tried again rather than compiled again."""
        return not self.entries_checked and not self.is_against_unknown

    @property
    def codes(self) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(code for cause in self.causes for code in cause.codes))
        return found or ("SL399",)


def _rank_by_need(cause: Cause) -> tuple[int, bool]:
    """0 for what needs a graph of its own, 1 for what a mark would remove, 2 for what code could remove; sizes after other things."""
    if cause.needs_own_graph or any_blocks_marking(cause.codes):
        return 0, cause.size_related
    return {Verdict.MARKING: 1, Verdict.CODE: 2}.get(cause.verdict, 0), cause.size_related
