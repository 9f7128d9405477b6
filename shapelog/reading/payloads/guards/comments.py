"""The comment of a guard: the line of code that it comes from, as ``code  # file:line in function``."""

import re
from typing import NamedTuple

_COMMENT = re.compile(r"(?<!\s)\s+# ")
# People who shorten a log leave out the function.
_WHERE = re.compile(r"^(?P<file>[^\s()]+\.py|<[^>]*>):(?P<line>\d{1,18})(?: in (?P<name>\S+)|$)")
_NOT_USER_CODE = ("_dynamo/", "_functorch/", "torch/_dynamo/", "torch/_functorch/")
_LOCATION = re.compile(
    r"# (?P<file>[^\s#]{1,400}):(?P<line>\d{1,9}) in (?P<name>[^\s#]{1,200})"
    r"(?: \((?P<note>(?:[^()]|\([^()]{0,400}\)){0,600})\))?(?= and |\s*$)"
)
# Of a bound that no line of the user's asked for, in front of the line that asked for the other one.
_OF_PYTORCH = re.compile(r"^\([^()\s]{1,400}:\d{1,9} in [^()\s]{1,200}\) and ")
_FIRST_USE = "first use of this value"


class UserLine(NamedTuple):
    """A line of user code. In the comment of a guard, PyTorch shortens the file, so it is not absolute."""

    file: str
    line: int
    name: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def quoted(self) -> str:
        """The place and, where it is known, the code."""
        return f"{self}: {self.code}" if self.code else str(self)


def place_of(comment: str) -> UserLine | None:
    """The user's line in a guard comment ``code  # file:line in function``, the first outside the compiler if it names several."""
    for part in re.split(r"(?:^|\s)# | and ", comment):
        match = _WHERE.match(part.strip())
        if match and not match["file"].startswith(_NOT_USER_CODE):
            code = comment.split("  # ")[0].strip() if "  # " in comment else ""
            return UserLine(match["file"], int(match["line"]), match["name"] or "", _OF_PYTORCH.sub("", code).removeprefix("# "))
    return None


def places_of(comment: str) -> tuple[UserLine, ...]:
    """The user's lines in the comment of a guard on a range that several lines asked for, in the order of its bounds: lower, upper.

    A line that merely used the value first, in the words of PyTorch, is left out where another one is named; () where there is but one.
    """
    found: list[tuple[UserLine, bool]] = []
    start = 0
    matches = list(_LOCATION.finditer(comment))
    for match in matches if len(matches) > 1 else ():
        code = comment[start : match.start()].removeprefix(" and ").strip().removeprefix("# ")
        start = match.end()
        if not match["file"].startswith(_NOT_USER_CODE):
            found.append((UserLine(match["file"], int(match["line"]), match["name"], code), _FIRST_USE in (match["note"] or "")))
    lines = tuple(dict.fromkeys(line for line, _ in found))
    return tuple(dict.fromkeys(line for line, is_first_use in found if not is_first_use)) or lines


def split_comment(text: str) -> tuple[str, str]:
    """(guard, comment) of a leaf. A ``#`` inside a string constant of the guard does not start a comment."""
    first = text.find(" # ")
    if first < 0:
        return text.rstrip(), ""
    if not text.count("'", 0, first) % 2 and not text.count('"', 0, first) % 2:
        return text[:first].rstrip(), text[first + 3 :].strip()
    single = double = done = 0
    for match in _COMMENT.finditer(text):
        single += text.count("'", done, match.start())
        double += text.count('"', done, match.start())
        done = match.start()
        if not (single % 2 or double % 2) or (single % 2 and double and not double % 2):
            return text[:done].rstrip(), text[match.end() :].strip()
    return text.rstrip(), ""


def without_hint(code: str) -> str:
    """A guard without its ``(HINT: ...)``, which some versions write after the comment, some after the guard itself."""
    at = code.find("(HINT: ")
    return code[:at].rstrip() if at >= 0 and code.rstrip().endswith(")") else code
