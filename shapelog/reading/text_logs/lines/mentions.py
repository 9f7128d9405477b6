"""Whether a person only mentions in a sentence what PyTorch prints on a line of its own: in a discussion, documentation, a changelog."""

import re

# The mark that ends a quotation, by the one in front of it; a page may have replaced one of the two.
CLOSING = {"'": "'", '"': '"', "\u201c": '\u201d"', "\u2018": "\u2019'", "`": "`"}
# A word of a sentence in front of a place, with one blank between, and perhaps a mark of Markdown; a logging level, or the file
# of a logger, is no such word.
_AFTER_WORD = re.compile(r"(?:[^\W\d_]|[,;])(?: ?[\"'`*_(\u201c\u2018]{1,4}| )$")
_AFTER_LOGGER = re.compile(r"(?:\b(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)|[\\/]\w{1,80}\.py) ?$")
# In front of what somebody met, whatever they say of it behind that: ``Symptom: `...`, on each step``.
_OF_EVENT = re.compile(
    r"^\W{0,8}(?:symptoms?|errors?|problem|issue|bug|observed|actual|failure|crash|\u73b0\u8c61|\u73fe\u8c61|\u75c7\u72b6|\u62a5\u9519|\u9519\u8bef"
    r"|\u95ee\u9898|\u30a8\u30e9\u30fc)\W{0,4}[:\uff1a]\W{0,5}$",
    re.I,
)
_WORDS_FOLLOW = re.compile(r"[\"'`*_)\u2019\u201d]*(?:[.,;:!?]?[ \t]+|[\uff0c\u3002\uff1b])[`*_]{0,4}[^\W\d_]{2}")
# Within how many characters a quotation ends.
_LONGEST = 400


def follows_words(line: str, begin: int) -> bool:
    """Whether what begins at a place of a line comes after words of a sentence."""
    before = line[max(0, begin - 80) : begin]
    return _AFTER_WORD.search(before) is not None and _AFTER_LOGGER.search(before) is None


def precedes_words(text: str, end: int) -> bool:
    """Whether a sentence goes on where something ends, on the same line."""
    return _WORDS_FOLLOW.match(text, end) is not None


def is_in_sentence(text: str, begin: int) -> bool:
    """Whether what begins at a place comes after words of a sentence, or is a quotation after which one goes on."""
    start = text.rfind("\n", 0, begin) + 1
    if _OF_EVENT.match(text[start:begin]):
        return False
    if follows_words(text[start:begin], begin - start):
        return True
    marks = CLOSING.get(text[begin - 1], "") if begin > start else ""
    below = text.find("\n", begin)
    stop = text.find("\n", below + 1) if below >= 0 else -1  # a quotation may be wrapped once
    ends = [text.find(mark, begin, min(begin + _LONGEST, stop if stop >= 0 else len(text))) for mark in marks]
    return any(end >= 0 and precedes_words(text, end + 1) for end in ends)
