"""Texts that the page carries compressed: packed while the rest of the page is made, each once, within a budget."""

import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition, Thread

# Packed bytes; as base64 text a third more.
LIMIT = 2_500_000
# Bytes of one text.
LONGEST = 2_000_000
# Of pages of frames, guards and graphs 3 makes 10 % more bytes than 5 in 60 % of its time.
_LEVEL = 3

_Work = tuple[int, Callable[[], bytes]]


class Store:
    """Packs texts in the order in which they were added, as raw deflate streams, which browsers unpack.

    The first one that does not fit into what is left of ``limit`` packed bytes is left out, and so are all after it: what is kept
    depends on the order alone, not on which thread was faster. With a limit of 0 everything is kept, and nothing is cut. Ids
    begin with ``prefix``.
    """

    def __init__(self, limit: int = LIMIT, longest: int = LONGEST, prefix: str = "z") -> None:
        self.prefix = prefix
        self.limit = limit
        self.longest = longest if limit else 0
        self._numbers: dict[str, int] = {}
        self._waiting: deque[_Work] = deque()
        self._in_hand: _Work | None = None
        self._changed = Condition()
        self._is_closing = False
        self._thread: Thread | None = None
        # What was packed out of turn, by number; and what is kept, where the place in the list is the number.
        self._early: dict[int, bytes] = {}
        self._kept: list[bytes] = []
        self._size = 0
        self._is_full = False
        self._is_over = False

    def add(self, key: str, make: Callable[[], bytes]) -> str:
        """The id of the chunk that will hold the text, one for all texts of that key; "" once ``packed`` has found the store full.

        ``make`` gives the bytes, taken for UTF-8. It is called later and in another thread, so it may only read.
        """
        if key not in self._numbers and not self._is_over:
            number = self._numbers[key] = len(self._numbers)
            with self._changed:
                self._waiting.append((number, make))
                self._changed.notify()
            self._start()
        return self.chunk_of(key) if self._is_over else f"{self.prefix}{self._numbers[key]}"

    def packed(self) -> frozenset[str]:
        """The ids of the chunks that are kept. Waits until all are packed, and helps."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        while work := self._take():
            self._pack(*work)
        if self._thread is not None:
            self._thread.join()
        if self._in_hand is not None:  # the thread ended with an error, which comes again here
            self._pack(*self._in_hand)
        self._thread, self._in_hand, self._is_closing, self._is_over = None, None, False, self._is_full
        return frozenset(f"{self.prefix}{number}" for number in range(len(self._kept)))

    def chunk_of(self, key: str) -> str:
        """The id of the chunk that holds the text of that key, "" where none does. Complete after ``packed``."""
        number = self._numbers.get(key)
        return "" if number is None or number >= len(self._kept) else f"{self.prefix}{number}"

    def chunks(self) -> Iterator[tuple[str, str]]:
        """Id and base64 text of each chunk that is kept, in order."""
        self.packed()
        for number, packed in enumerate(self._kept):
            yield f"{self.prefix}{number}", b64encode(packed).decode()

    def _start(self) -> None:
        if self._thread is not None:
            return
        thread = Thread(target=self._run, name="shapelog-store", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return  # where no thread can be had, all is packed in the end
        self._thread = thread

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                self._in_hand = self._waiting.popleft()
            self._pack(*self._in_hand)
            self._in_hand = None

    def _take(self) -> _Work | None:
        with self._changed:
            return self._waiting.popleft() if self._waiting else None

    def _pack(self, number: int, make: Callable[[], bytes]) -> None:
        if self._is_full:
            return  # only those before this one can have filled it
        # Without the two bytes of a zlib header and the checksum it is a raw stream; zlib lets other threads run meanwhile.
        packed = zlib.compress(_text(make(), self.longest), _LEVEL)[2:-4]
        with self._changed:
            self._early[number] = packed
            self._settle()

    def _settle(self) -> None:
        while not self._is_full and (packed := self._early.pop(len(self._kept), None)) is not None:
            self._is_full = bool(self.limit) and self._size + len(packed) > self.limit
            if not self._is_full:
                self._kept.append(packed)
                self._size += len(packed)


def _text(raw: bytes, longest: int) -> bytes:
    """Valid UTF-8; what is longer ends with a line that says how much is missing. A ``longest`` of 0 is none."""
    if not longest or len(raw) <= longest:
        return _utf8(raw)
    end = raw.rfind(b"\n", longest // 2, longest)
    if end < 0:
        end = longest
        while end > longest - 3 and raw[end] & 0xC0 == 0x80:  # inside a character
            end -= 1
    left_out = f"\n[{len(raw) - end:,} of {len(raw):,} bytes are left out here; they are in the trace]"
    return _utf8(raw[:end]) + left_out.encode()


def _utf8(raw: bytes) -> bytes:
    return raw if raw.isascii() else raw.decode("utf-8", "replace").encode()
