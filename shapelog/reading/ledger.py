"""The account of one file: what became of every byte and every record."""

from collections import Counter
from dataclasses import dataclass, field, replace

from shapelog.errors import DATA_LOSS, DEGRADED

_MOST_PROBLEMS = 200


@dataclass(slots=True)
class Ledger:
    """Bytes and records of one file by kind, and everything that could not be used.

    ``records`` counts readable records, ``sizes`` their bytes with payloads; ``unused`` those that the model is not built from, by kind
    or by name of an artifact, ``unknown`` those of a kind that PyTorch is not known to write. ``found`` are problems: offset, code,
    message, count and severity.
    """

    name: str
    size: int = 0
    records: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    unreadable_bytes: int = 0
    unreadable_records: int = 0
    payloads_verified: int = 0
    found: list[tuple[int, str, str, int, str]] = field(default_factory=list)
    dropped_problems: int = 0

    def lose(self, offset: int, code: str, message: str, *, size: int, records: int = 1, severity: str = DATA_LOSS) -> None:
        """Account for ``size`` bytes at ``offset`` that cannot be read, and note why."""
        self.unreadable_bytes += size
        self.unreadable_records += records
        self.add(offset, code, message, records, severity)

    def add(self, offset: int, code: str, message: str, count: int = 1, severity: str = DEGRADED) -> None:
        """Note a problem of the record at ``offset``; the first problems are kept, the others only counted."""
        if len(self.found) < _MOST_PROBLEMS:
            self.found.append((offset, code, message, count, severity))
        else:
            self.dropped_problems += 1

    @property
    def balances(self) -> bool:
        """Whether every byte is accounted for; it always is, once the file was read."""
        return sum(self.sizes.values()) + self.unreadable_bytes == self.size

    def account(self) -> "Ledger":
        """A copy that later reading does not change, its kinds in order of their names, without the problems."""
        records, sizes, unused, unknown = (
            Counter(dict(sorted(counter.items()))) for counter in (self.records, self.sizes, self.unused, self.unknown)
        )
        return replace(self, records=records, sizes=sizes, unused=unused, unknown=unknown, found=[], dropped_problems=0)
