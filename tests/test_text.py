"""Text for people: without control characters, in limited width, with counted nouns, readable times and ranges of ranks."""

import re
from collections.abc import Callable, Sequence

import pytest
from rich.cells import cell_len

from shapelog.text import (
    around_difference,
    as_sentence,
    as_typed,
    beginning,
    cut,
    escape_controls,
    file_name,
    file_size,
    is_visible,
    one_line,
    plural,
    plural_noun,
    rank_list,
    seconds,
    seconds_as_printed,
    seconds_from_to,
    seconds_in_column,
    sentence_end,
    shorten,
    some,
    some_in_width,
    start_of,
    visible,
    whole_times,
    with_article,
    without_addresses,
)

# Default_Ignorable_Code_Point as DerivedCoreProperties.txt of Unicode 17.0 has it; and two that are blank, though they are no space.
INVISIBLE = (
    *(
        (0xAD, 0xAD),
        (0x34F, 0x34F),
        (0x61C, 0x61C),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180D),
        (0x180E, 0x180E),
        (0x180F, 0x180F),
    ),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2064), (0x2065, 0x2065), (0x2066, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
    *((0x2800, 0x2800), (0x1D159, 0x1D159)),
)


@pytest.mark.parametrize("code", [*range(0x20), *range(0x7F, 0xA0), 0x200B, 0x200E, 0x2028, 0x202E, 0x2066, 0x2069, 0xFEFF, 0xD800])
def test_control_characters_are_shown_as_escapes(code: int) -> None:
    shown = one_line(f"a{chr(code)}b")
    assert shown.isprintable()
    assert (shown[0], shown[-1]) == ("a", "b")
    assert len(shown) > 2


@pytest.mark.parametrize("shown", [one_line, escape_controls, visible])
def test_no_character_is_invisible(shown: Callable[[str], str]) -> None:
    for first, last in INVISIBLE:
        for code in range(first, last + 1):
            assert shown(f"a{chr(code)}b") == (
                f"a\\x{code:02x}b" if code < 256 else f"a\\u{code:04x}b" if code < 1 << 16 else f"a\\U{code:08x}b"
            )
            assert not is_visible(chr(code))


def test_a_text_to_copy_is_one_line_of_characters_that_are_seen() -> None:
    assert is_visible("L['naïve ☃ 模型']:0")
    assert not any(map(is_visible, ("a\n", "a\tb", "\x1b[m", "x\u3164", "\ud800", "\ufe0f")))
    assert visible("a\n\tb\u3164 é") == r"a\x0a\x09b\u3164 é"


def test_line_breaks_and_tabs_become_one_space() -> None:
    assert one_line("def f():\n\t    return x") == "def f(): return x"


def test_plain_text_in_any_script_is_unchanged() -> None:
    for text in ("L['x'].size()[0]", "naïve ☃ 模型 עברית", "[bold]x[/bold] :smile: {0} %s"):
        assert one_line(text) == text


@pytest.mark.parametrize("text", ["a" * 50, "模型" * 25, "模a型b" * 12])
@pytest.mark.parametrize("width", [5, 6, 7, 12, 13, 49])
def test_long_text_loses_its_middle(text: str, width: int) -> None:
    short = shorten(text, width)
    assert width - 2 <= cell_len(short) <= width
    head, mark, tail = short.partition("…")
    assert mark
    assert text.startswith(head)
    assert text.endswith(tail)


def test_a_list_that_is_too_long_ends_with_the_number_of_the_rest() -> None:
    assert some(["a", "b", "c"], 2) == "a, b and 1 more"
    assert some(["a", "b"], 2, " ") == "a b"


def test_a_remedy_becomes_a_sentence() -> None:
    assert as_sentence("pass one type") == as_sentence("Pass one type.") == "Pass one type."
    assert as_sentence("train() and eval() each need a graph") == "train() and eval() each need a graph."


def test_text_that_fits_is_unchanged() -> None:
    assert shorten("模型", 4) == "模型"
    assert shorten("abcdef", 6) == "abcdef"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.00 s"),
        (0.024, "0.02 s"),
        (1.4, "1.40 s"),
        (9.876, "9.88 s"),
        (12.34, "12.3 s"),
        (59.4, "59.4 s"),
        (59.6, "1 min"),
        (108.4, "1 min 48 s"),
    ],
)
def test_seconds_up_to_a_minute_have_three_digits(value: float, shown: str) -> None:
    assert seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (119.6, "2 min"),
        (125.4, "2 min 5 s"),
        (2174.0, "36 min 14 s"),
        (3599.7, "1 h"),
        (7325.0, "2 h 2 min"),
        (86399.0, "23 h 59 min"),
        (90000.0, "1 d 1 h"),
    ],
)
def test_long_times_are_in_minutes_hours_and_days(value: float, shown: str) -> None:
    assert seconds(value) == seconds_in_column(value) == shown


def test_a_change_of_times_names_one_unit_once() -> None:
    assert seconds_from_to(1.62, 0.75) == "1.62 → 0.75 s"
    assert seconds_from_to(1.62, 2174) == "1.62 s → 36 min 14 s"
    assert seconds_from_to(2174, 1.62) == "36 min 14 s → 1.62 s"


def test_a_column_of_seconds_names_no_unit_for_short_times() -> None:
    assert (seconds_in_column(0.5), seconds_in_column(119.4)) == ("0.50", "119.40")


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "entry", "1 entry"),
        (2, "entry", "2 entries"),
        (0, "rank", "0 ranks"),
        (3, "process", "3 processes"),
        (1, "process", "1 process"),
        (2, "more axis", "2 more axes"),
    ],
)
def test_nouns_have_an_english_plural(number: int, noun: str, text: str) -> None:
    assert plural(number, noun) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([3], "rank 3"),
        ([1, 0], "ranks 0 and 1"),
        ([0, 1, 2, 5], "ranks 0-2 and 5"),
        ([0, 1, 2, 5, 7, 8], "ranks 0-2, 5, 7 and 8"),
        (range(0, 64, 2), "ranks 0, 2, 4, 6, 8, 10, 12 and 25 more"),
        ([], "ranks none"),
    ],
)
def test_ranks_are_listed_as_ranges(numbers: Sequence[int], text: str) -> None:
    assert rank_list(numbers) == text


@pytest.mark.parametrize("text", ["a" * 50, "模型" * 25])
@pytest.mark.parametrize("most", [5, 12, 49])
def test_long_text_is_cut_to_a_number_of_characters(text: str, most: int) -> None:
    short = cut(text, most)
    assert len(short) == most
    head, _, tail = short.partition("…")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert cut(text[:most], most) == text[:most]


def test_of_a_long_text_the_beginning_is_kept_whole() -> None:
    assert [beginning("abcd", most) for most in (3, 4, 5)] == ["abc…", "abcd", "abcd"]
    assert as_typed("9" * 101) == "9" * 100 + "..."
    assert as_typed("9" * 100) == "9" * 100


def test_a_noun_can_be_used_without_its_number() -> None:
    assert [plural_noun(number, "dim") for number in (0, 1, 2)] == ["dims", "dim", "dims"]


def test_the_file_name_of_a_path_of_either_kind() -> None:
    assert [file_name(path) for path in ("/srv/demo.py", "C:\\srv\\demo.py", "demo.py")] == ["demo.py"] * 3
    assert file_name("<eval_with_key>.3 from /srv/demo.py:20 in forward") == "<eval_with_key>.3"


def test_addresses_and_long_ids_are_removed() -> None:
    assert without_addresses("<f at 0x7f00aB>, id 140234567890, size 1024") == "<f at $>, id $, size 1024"


@pytest.mark.parametrize(("size", "text"), [(1, "1 byte"), (812, "812 bytes"), (4200, "4.2 kB"), (257_000_000, "257.0 MB")])
def test_file_sizes_have_a_unit(size: int, text: str) -> None:
    assert file_size(size) == text


@pytest.mark.parametrize(
    ("text", "least", "most", "end"),
    [
        ("A logger (e.g. `print`. Or warn) is. Add it.", 0, None, 36),
        ("Use it, e.g. here. Then go on.", 0, None, 18),
        ("One. Two. Three.", 0, 10, 9),
        ("One. Two. Three.", 5, None, 9),
        ("No end in torch.nn.Module", 0, None, -1),
    ],
)
def test_a_sentence_ends_at_a_full_stop_outside_of_brackets_and_abbreviations(text: str, least: int, most: int | None, end: int) -> None:
    assert sentence_end(text, least, most) == end


@pytest.mark.parametrize(
    ("names", "width", "shown"),
    [
        (["alpha", "beta", "gamma"], 40, "alpha, beta, gamma"),
        (["alpha", "beta", "gamma"], 16, "alpha and 2 more"),
        (["alpha", "beta", "gamma"], 17, "alpha and 2 more"),
        (["a" * 30, "beta"], 20, "aaaaa…aaa and 1 more"),
        ([], 20, ""),
    ],
)
def test_names_are_left_out_whole_where_they_do_not_fit(names: list[str], width: int, shown: str) -> None:
    assert some_in_width(names, width) == shown
    assert len(shown) <= width


def test_differences_of_printed_times_are_those_of_what_is_printed() -> None:
    assert f"{seconds_as_printed(37.474) - seconds_as_printed(19.056):.2f}" == "18.41"
    assert [seconds_as_printed(value) for value in (1.234, 125.4, 7322.0)] == [1.23, 125.0, 7320.0]
    assert f"{seconds_as_printed(78.28, in_column=True) - seconds_as_printed(60.51, in_column=True):.2f}" == "17.77"


@pytest.mark.parametrize(
    ("part", "code", "start"),
    [
        ("n", "noise = torch.ones(n, z)", 19),
        ("x", "x = x + 1", 4),
        ("x", "if x == 1:", 3),
        ("x", "x = 1", 0),
        ("x", "y.x + max", 2),
        ("self.step", "self.step += 1", 0),
        ("f(x)", "return f(x)", 7),
        ("", "x", -1),
        ("z", "x", -1),
        ("h", "torch.tanh(x)", -1),
        ("h", "f = torch.com…h, n)", -1),
        ("h", "f = lambda h…)", -1),
        ("h", "f = torch.com…h(h)", 16),
        (".item()", "x.item()", 1),
        ("x", "x, feats = self.stem(x), []", 21),
        ("est", "est, ref = est - est.mean(), ref", 11),
        ("x", "x, y = load()", 0),
        ("b", "self.a[0], *b = f(b)", 18),
    ],
)
def test_a_part_of_a_line_is_where_the_line_uses_it(part: str, code: str, start: int) -> None:
    assert start_of(part, code) == start


@pytest.mark.slow
def test_the_end_of_a_sentence_and_names_in_a_width_are_found_in_long_texts() -> None:
    open_bracket = f"({'a. ' * 200_000}"
    assert (sentence_end(open_bracket), sentence_end(open_bracket, most=len(open_bracket))) == (-1, -1)
    assert sentence_end(f"{open_bracket}) b. c", most=10**6) == len(open_bracket) + 4
    assert some_in_width(["name"] * 100_000, 30) == "name, name and 99998 more"


@pytest.mark.parametrize(("name", "shown"), [("Queue", "a Queue"), ("Adam", "an Adam"), ("LBFGS", "an LBFGS"), ("UNet", "a UNet")])
def test_the_article_fits_how_a_name_begins(name: str, shown: str) -> None:
    assert with_article(name) == shown


@pytest.mark.parametrize("text", ["19 compilations (1 min 7 s), of 5 names", "0.07 s", "from 22.3–30.0 s to 2 d 3 h.", "at least 5 h"])
def test_a_time_is_not_folded(text: str) -> None:
    kept = whole_times(text)
    assert kept.replace("\u00a0", " ") == text
    assert not re.search(r"\d (?:s|min|h|d)\b|(?:min|h|d) \d", kept)
    assert whole_times("5 steps, 3 dims, 2 sizes") == "5 steps, 3 dims, 2 sizes"


@pytest.mark.parametrize(
    ("text", "other", "shown"),
    [
        ("short", "other", "short"),
        ("a" * 20, "", f"{'a' * 9}…"),
        (f"{'a' * 20}bc", f"{'a' * 20}d", "…aaaaaaabc"),
        (f"{'a' * 20}b{'c' * 20}", f"{'a' * 20}d", "…aaabccccc…"),
        ("a" * 20, "a" * 21, "…aaaaaaaaa"),
    ],
)
def test_two_long_texts_are_shown_where_they_differ(text: str, other: str, shown: str) -> None:
    assert around_difference(text, other, 9) == shown
