"""What PyTorch writes over and over and nobody reads while a trace is loaded: its settings, 35 kB of 40 in metrics, and its own stacks."""

import orjson

# Keys whose value is a JSON object as a string. No quote in it stands bare, so it ends at the first brace with a quote behind.
_DYNAMO = b'"dynamo_config": "'
_KEYS = (b'"inductor_config": "', b'"functorch_config": "', _DYNAMO)
_END = b'}"'
# They change rarely, and a text that never comes again must not be kept.
_MOST = 8
# Counted from the end, a key stands about where it stood before, and looking for it in all of a header takes as long as decoding.
_NEAR = 512


class Repeats:
    """Headers without the settings that stood in one before, which makes them quick to decode. Dynamo's stay the first time: they are read,
    those of the others never.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, list[bytes]] = {key: [] for key in _KEYS}
        self._last: dict[bytes, int] = dict.fromkeys(_KEYS, 0)

    def without(self, header: bytes) -> bytes:
        """The header with "" for settings that are known; it decodes, and fails to decode, as the whole one would."""
        for key, known in self._known.items():
            about = len(header) - self._last[key]
            at = header.find(key, max(0, about - _NEAR), max(0, about + _NEAR))
            if at < 0:
                at = header.find(key)
            if at < 0:
                continue
            self._last[key] = len(header) - at
            text = next((text for text in known if header.startswith(text, at)), b"")
            if not text and len(known) < _MOST:
                text = self._learned(header[at : header.find(_END, at) + len(_END)], known)
                text = b"" if key == _DYNAMO else text
            if text:
                header = b"".join((header[:at], key, b'"', header[at + len(text) :]))
        return header

    def _learned(self, text: bytes, known: list[bytes]) -> bytes:
        """A text that is one key with one valid string, from now on; b"" for any other, which is left where it stands."""
        try:
            found = orjson.loads(b"{" + text + b"}")
        except orjson.JSONDecodeError:
            return b""
        if len(found) != 1 or not isinstance(next(iter(found.values())), str):
            return b""
        known.append(text)
        return text


# A stack, and what stands behind its last frame: the next key of the body, or the end of the body and the next key of the record.
_STACK, _NEXT, _LAST = b'"stack": [{', b'}], "', b'}]}, "'


def without_stack(header: bytes) -> bytes:
    """The header with [] for PyTorch's own stack, nine tenths of a record about a symbol; as it is where that cannot be told.

    A quote that a letter follows begins a key or a string, as what follows the end of one is no letter; so what stands before it is no part
    of a string. A stack that holds more than frames is cut off too early, and what is left of the header cannot be decoded.
    """
    begin = header.find(_STACK)
    if begin < 0:
        return header
    end = header.find(_NEXT, begin)
    while end >= 0 and not header[end + len(_NEXT) : end + len(_NEXT) + 1].isalpha():
        end = header.find(_NEXT, end + 1)
    if end < 0:
        end = header.rfind(_LAST, begin)
        if end < 0 or not header[end + len(_LAST) : end + len(_LAST) + 1].isalpha():
            return header
    return b"".join((header[: begin + len(_STACK) - 1], header[end + 1 :]))
