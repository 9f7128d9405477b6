"""A fix as a unified diff that ``patch -p0`` and ``git apply`` take, with what it is for in comments and behind line numbers."""

import os
from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.cells import cell_len

from shapelog.advice.paste_formats import cost_of, effect_of
from shapelog.fix.patches import Fix, Placed
from shapelog.fix.settings import FixSetting
from shapelog.report.steps.step import saving_words
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import escape_controls, one_line, plural, some, taking

# How many compile ids a line names.
_MOST_IDS = 8
# How many suggestions the header of a hunk names.
_MOST_NAMES = 2
_STYLES = {"@@": "36", "+": "32", "-": "31", "#": "2", "I": "1", "=": "1"}


def render_fix(fix: Fix, options: Options) -> bytes:
    """The comments in UTF-8, the lines of a file in its encoding; nothing where there is nothing to change."""
    has_color = options.color if options.color is not None else options.is_terminal and "NO_COLOR" not in os.environ
    width = TextPage(options).width
    found = [f"{line}\n".encode() for text in comments(fix) for line in _comment(text, width)]
    headings = {item.suggestion.id: _short(fix, item) for item in fix.placed} | {item.id: _short_setting(item) for item in fix.settings}
    names = {id: heading.partition(":")[0] for id, heading in headings.items()}
    for patch in fix.patches:
        encoding = patch.file.encoding.removesuffix("-sig")
        for line in patch.diff(lambda ids: headings[ids[0]] if len(ids) == 1 else some([names[id] for id in ids], _MOST_NAMES)):
            found.append((escape_controls(line) if options.is_terminal else line).encode(encoding, "replace"))
    return b"".join(map(_colored, found)) if has_color else b"".join(found)


def comments(fix: Fix) -> Iterator[str]:
    """What the patch does and what it leaves out, in lines of any length."""
    if not fix.is_any_placed and not fix.is_any_left:
        return
    placed = len(fix.placed) + sum(not item.reason for item in fix.settings)
    number = len(fix.placed) + len(fix.not_placed) + len(fix.settings)
    yield f"{placed} of {plural(number, 'suggestion')} placed, in {plural(len(fix.patches), 'file')}"
    if fix.placed and not fix.not_placed:
        effect = effect_of(fix.advice) or f"{cost_of(fix.advice.before)} become {cost_of(fix.advice.after)} (estimated)"
        yield f"the marks alone: {effect}" if fix.settings else effect
    for item in fix.placed:
        how = "list of dynamic sources" if item.is_listed else "before the call"
        yield f"{_short(fix, item)}, {how} ({_places(fix, item.suggestion.id)})"
        if item.is_listed and item.because:
            yield f"   why not before the call: {item.because}"
    for setting in fix.settings:
        if not setting.reason:
            yield f"{_short_setting(setting)}, after the imports ({_places(fix, setting.id)})"
            yield f"   why: {setting.step.title}"
    left_out: dict[str, list[str]] = {}
    for left in fix.not_placed:
        left_out.setdefault(left.reason, []).append(f"{left.suggestion.id} {left.suggestion.name}")
    for setting in fix.settings:
        if setting.reason:
            left_out.setdefault(setting.reason, []).append(f"{setting.id} {setting.name}")
    for reason, names in left_out.items():
        yield f"not placed: {some(names, _MOST_IDS)}: {reason}"


def _places(fix: Fix, id: str) -> str:
    return some([f"{patch.file.name}:{line}" for patch in fix.patches for line in patch.lines_of(id)], _MOST_IDS)


def _short_setting(item: FixSetting) -> str:
    """``S1 capture_scalar_outputs = True: removes 1 graph break; may save 1 compilation (up to 0.30 s)``."""
    saved = saving_words(item.saving)
    return one_line(f"{item.id} {item.name}: removes {item.removes}{f'; {saved}' if saved else ''}")


def _short(fix: Fix, item: Placed) -> str:
    """``A1 tokens: removes 0/1 0/2 (16.9 s)``, or ``needed for`` them where other suggestions are, too."""
    verb = "needed for" if fix.advice.needs_others(item.suggestion) else "removes"
    gone = f"{verb} {some(item.suggestion.gone, _MOST_IDS, ' ')}{taking(item.suggestion.seconds)}" if item.suggestion.gone else ""
    return one_line(f"{item.suggestion.id} {item.suggestion.name}: {gone or 'saves no compilation alone'}")


def _comment(text: str, width: int) -> Sequence[str]:
    text = one_line(text)
    indent = text[: len(text) - len(text.lstrip())]
    lines = [text] if cell_len(text) + 2 <= width else wrap(text, width - 2, subsequent_indent=f"{indent}    ", break_on_hyphens=False)
    return [f"# {line}" for line in lines]


def _colored(line: bytes) -> bytes:
    """With the escape codes of its kind; the end of the line is behind them."""
    start = line[:2].decode(errors="replace")
    code = _STYLES.get(start) or _STYLES.get(start[:1])
    body = line.rstrip(b"\r\n")
    return b"\x1b[%sm%s\x1b[0m%s" % (code.encode(), body, line[len(body) :]) if code and body else line
