"""Texts that PyTorch writes again word for word in the metrics of every compile: its settings, 35 kB of 40."""

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
