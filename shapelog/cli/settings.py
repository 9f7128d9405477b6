"""Settings: ``[tool.shapelog]`` of pyproject.toml or a shapelog.toml, under ``SHAPELOG_*`` of the environment, under the command line."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from shapelog.cli.small_file import read_small_file
from shapelog.errors import ShapelogError
from shapelog.reading.compression import parse_size
from shapelog.text import LARGEST_NUMBER, as_typed

PREFIX = "SHAPELOG_"
_FILES = ("shapelog.toml", "pyproject.toml")
_SECTION = re.compile(r"(?m)^[ \t]*\[[ \t]*tool[ \t]*\.[ \t]*[\"']?shapelog\b")
# Python converts no longer number from text.
_LONG_NUMBER = re.compile(r"[\d_]{1000,}")
_FLAGS = {**dict.fromkeys(("1", "true", "yes", "on"), True), **dict.fromkeys(("0", "false", "no", "off"), False)}


class Key(NamedTuple):
    """One setting: how a value of a file is read, how the text of an environment variable is read, and what they accept, in words.

    Both raise ValueError or LookupError for anything else. ``is_path`` is set where a relative path in a file starts at that file.
    ``check`` raises ShapelogError for a value of the right kind that means nothing.
    """

    from_file: Callable[[Any], Any]
    from_text: Callable[[str], Any]
    expected: str
    is_path: bool = False
    check: Callable[[Any], object] = bool


def _number(*types: type, least: int = 0) -> Callable[[Any], Any]:
    """Reads a number of these types, which becomes one of the last; true and false are not numbers."""

    def read(value: Any) -> Any:
        if type(value) not in types or not least <= value <= LARGEST_NUMBER:
            raise ValueError(value)
        return types[-1](value)

    return read


def _positive(value: Any) -> Any:
    if not _seconds(value):
        raise ValueError(value)
    return _seconds(value)


def _instance(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(value)
        return value

    return read


_whole, _seconds, _columns, _text, _flag = _number(int), _number(int, float), _number(int, least=40), _instance(str), _instance(bool)


def split(text: str) -> tuple[str, ...]:
    """The entries of a list that is written with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _texts(value: Any) -> tuple[str, ...]:
    return split(value) if isinstance(value, str) else tuple(part for item in _instance(list)(value) for part in split(_text(item)))


def _path(value: Any) -> str:
    if "\0" in _text(value):
        raise ValueError(value)
    return str(value)


def _paths(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(_text, _instance(list)(value)))


def _size(value: Any) -> int:
    return parse_size(value) if isinstance(value, str) else int(_whole(value))


def _choice(*known: str) -> Key:
    def one(value: Any) -> str:
        if value not in known:
            raise ValueError(value)
        return str(value)

    return Key(one, one, f"one of {', '.join(known)}")


def _per_frame(number: Callable[[Any], Any]) -> Callable[[Any], tuple[str, ...]]:
    """Reads a number for every frame, or a table of patterns and numbers, into what the command line takes."""

    def read(value: Any) -> tuple[str, ...]:
        if isinstance(value, dict):
            return tuple(f"{name}={number(most)}" for name, most in value.items())
        return (str(number(value)),)

    return read


def _check_kinds(names: tuple[str, ...]) -> None:
    from shapelog.check.policy import kinds_of

    kinds_of(names)


def _check_codes(option: str) -> Callable[[tuple[str, ...]], None]:
    def check(names: tuple[str, ...]) -> None:
        from shapelog.check.policy import codes_of

        codes_of(option, names)

    return check


def _check_directory(path: str) -> None:
    if path and not os.path.isdir(path):
        raise ShapelogError(f"source-root {path}: no such directory")


_COUNT = Key(_whole, lambda text: _whole(int(text)), "a whole number from 0 to 10^15")
_SECONDS = Key(_seconds, lambda text: _seconds(float(text)), "a number of seconds from 0 to 10^15")
_LIST = Key(_texts, split, "a list, or one string with commas")
_FLAG = Key(_flag, lambda text: _FLAGS[text.lower()], "true or false")
_COUNTS = Key(_per_frame(_whole), split, 'a whole number, or a table such as {"Net.forward" = 2, "*" = 1}')
KEYS: Mapping[str, Key] = {
    "baseline": Key(_path, _text, "the path of a file", is_path=True),
    "color": _choice("auto", "always", "never"),
    "embed": _choice("none", "fit", "recompiled", "all"),
    "exit-zero": _FLAG,
    "fail-on": _LIST._replace(check=_check_kinds),
    "ignore": _LIST._replace(check=_check_codes("ignore")),
    "limit": _COUNT,
    "max-avoidable-seconds": _SECONDS,
    "max-avoidable-seconds-per-frame": Key(_per_frame(_seconds), split, 'seconds, or a table such as {"Net.forward" = 2.5, "*" = 1}'),
    "max-compiles": _COUNT,
    "max-compiles-per-frame": _COUNTS,
    "max-recompiles": _COUNT,
    "max-recompiles-per-frame": _COUNTS,
    "max-unpacked": Key(_size, parse_size, "a number of bytes, or a size such as 500M or 100G"),
    "no-source": _FLAG,
    "select": _LIST._replace(check=_check_codes("select")),
    "source-root": Key(_path, _text, "the path of a directory", is_path=True, check=_check_directory),
    "strict": _FLAG,
    "strip-prefix": Key(_paths, lambda text: tuple(text.split(os.pathsep)), "a path, or a list of paths"),
    "timeout": Key(_positive, lambda text: _positive(float(text)), "a number of seconds greater than 0"),
    "width": Key(_columns, lambda text: _columns(int(text)), "a number of columns from 40 to 10^15"),
}


def settings(file: str | None = None, start: str = ".", environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Option → value by the names that commands give their options, of the nearest file from ``start`` upwards and the environment.

    ``file`` names another one; "" means none. Raises ShapelogError for a file that cannot be read, for an unknown key, and for a value of
    the wrong kind.
    """
    path = _find_file(Path(start)) if file is None else Path(file) if file else None
    found = _file_settings(path, is_named=bool(file)) if path else {}
    found.update(_environment_settings(environment))
    return {name.replace("-", "_"): value for name, value in found.items()}


def _find_file(start: Path) -> Path | None:
    try:
        here = start.resolve()
    except OSError:  # the current directory was removed
        return None
    for folder in (here, *here.parents):
        for name in _FILES:
            path = folder / name
            if os.path.isfile(path) and (name == "shapelog.toml" or _has_section(path)):
                return path
    return None


def _has_section(path: Path) -> bool:
    """Whether a pyproject.toml has settings for shapelog; one that does not mention it is not even parsed."""
    try:
        if b"shapelog" not in read_small_file(path):
            return False
        tool = _parse(path)[1].get("tool")
        return isinstance(tool, dict) and "shapelog" in tool
    except OSError:
        return False
    except ShapelogError:  # invalid TOML with such a section is reported, not skipped
        return bool(_SECTION.search(read_small_file(path).decode("utf-8", "replace")))


def _file_settings(path: Path, is_named: bool) -> dict[str, Any]:
    text, data = _parse(path)
    name = _relative(path)
    if is_named and not text.strip() and not path.samefile(os.devnull):
        raise ShapelogError(f"{name}: no settings: this file is empty (use --config {os.devnull} for no settings)")
    section = data.get("tool", {}).get("shapelog") if isinstance(data.get("tool"), dict) else None
    if section is None:
        section = {} if path.name == "pyproject.toml" else data
    if not isinstance(section, dict):
        raise ShapelogError(f"{name}: tool.shapelog is not a table")
    found: dict[str, Any] = {}
    for key, value in section.items():
        known = key.replace("_", "-")
        where = f"{name}{_line_suffix(text, key)}"
        if known not in KEYS:
            hint = "; settings for all commands go directly in [tool.shapelog]" if isinstance(value, dict) else _hint(known)
            raise ShapelogError(f"{where}: unknown key {key!r}{hint}")
        try:
            found[known] = KEYS[known].from_file(value)
        except (ValueError, TypeError) as error:
            raise ShapelogError(f"{where}: {key} = {_shown(value)}: expected {KEYS[known].expected}") from error
        if KEYS[known].is_path and found[known]:
            found[known] = _relative(path.resolve().parent / found[known])
        _check(known, found[known], where)
    return found


def _check(key: str, value: Any, where: str) -> None:
    """Raises ShapelogError, with the place of the setting, for a value that means nothing."""
    try:
        KEYS[key].check(value)
    except ShapelogError as error:
        raise ShapelogError(f"{where}: {str(error).removeprefix('--')}") from error


def _shown(value: Any) -> str:
    try:
        return as_typed(repr(value))
    except ValueError:  # an int of thousands of digits
        return "a number of thousands of digits"


def _parse(path: Path) -> tuple[str, dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        text = read_small_file(path).decode("utf-8-sig")
        return text, tomllib.loads(text)
    except OSError as error:
        raise ShapelogError(f"{path}: cannot read the settings: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ShapelogError(f"{path}: the settings are not UTF-8 (byte {error.start})") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ShapelogError(f"{path}: not valid TOML: {error}") from error
    except ValueError as error:
        number = _LONG_NUMBER.search(text)
        line = f":{text.count(chr(10), 0, number.start()) + 1}" if number else ""
        raise ShapelogError(f"{path}{line}: a number has too many digits") from error


def _relative(path: Path) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # on another drive
        return str(path)


def _line_suffix(text: str, key: str) -> str:
    """``:12`` where line 12 of the file begins with this key, in the section of shapelog if possible; "" where none does."""
    section = _SECTION.search(text)
    own = re.compile(rf"(?m)^[ \t]*\[?[ \t]*(?:tool\.shapelog\.)?[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]")
    found = (own.search(text, section.end()) if section else None) or own.search(text)
    return f":{text.count(chr(10), 0, found.start()) + 1}" if found else ""


def _environment_settings(environment: Mapping[str, str]) -> dict[str, Any]:
    """Empty variables count as unset: CI systems set those of inputs that are not given."""
    found: dict[str, Any] = {}
    for variable, text in sorted(environment.items()):
        if not variable.startswith(PREFIX) or not text:
            continue
        key = variable[len(PREFIX) :].lower().replace("_", "-")
        if key not in KEYS:
            raise ShapelogError(f"{variable} in the environment: no such setting{_hint(key, _variable)}")
        try:
            found[key] = KEYS[key].from_text(text)
        except (ValueError, LookupError) as error:
            raise ShapelogError(f"{variable}={text} in the environment: expected {KEYS[key].expected}") from error
        _check(key, found[key], f"{variable} in the environment")
    return found


def _variable(key: str) -> str:
    return PREFIX + key.upper().replace("-", "_")


def _hint(key: str, spell: Callable[[str], str] = str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, KEYS, n=1, cutoff=0.5)
    return f"; did you mean {spell(close[0])}?" if close else f"; settings: {', '.join(map(spell, KEYS))}"
