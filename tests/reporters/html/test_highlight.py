"""Code in colors: whatever a line holds, its text is all there, escaped."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelog.reporters.html.highlight import Highlighter
from shapelog.reporters.html.side_by_side import side_by_side
from shapelog.text import escape_controls

CODE = st.text() | st.text(alphabet="ab1 .,=()[]{}'\"#\\\n\t<>&frub")


def text_of(html: str) -> str:
    return unescape(re.sub(r"</?(?:span|mark)\b[^>]*>", "", html))


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("if x1 > 2.5:", '<span class="hk">if</span> x1 &gt; <span class="hn">2.5</span>:'),
        ("iffy = notself", "iffy = notself"),
        (
            "self.f('a<b') # \"c\"",
            '<span class="hk">self</span>.f(<span class="hs">&#39;a&lt;b&#39;</span>) <span class="hc"># &#34;c&#34;</span>',
        ),
        ("x = 'open", 'x = <span class="hs">&#39;open</span>'),
        ("a not in None", 'a <span class="hk">not</span> <span class="hk">in</span> <span class="hk">None</span>'),
    ],
)
def test_keywords_numbers_strings_and_comments_have_colors(code: str, shown: str) -> None:
    assert Highlighter().line(code) == shown


@given(CODE)
def test_every_character_of_a_line_is_shown(code: str) -> None:
    shown = Highlighter().line(code)
    assert text_of(shown) == escape_controls(code)
    assert set(re.findall(r"<[^>]*>", shown)) <= {f'<span class="{name}">' for name in ("hk", "hs", "hn", "hc")} | {"</span>"}


def test_a_very_long_line_has_no_colors_and_no_end() -> None:
    assert Highlighter().line("if " * 201) == "if " * 201
    assert Highlighter().line("x" * 5000) == "x" * 4000 + "… 1000 characters left out"


def test_what_changed_in_a_line_is_marked_across_tokens() -> None:
    rows = Highlighter().diff_rows(side_by_side(["x = add(y, 'a')"], ["x = add(y, 'b') + 1"])).split("\n")
    assert len(rows) == 1
    left, right = re.findall(r'<td class="text">(.*?)</td>', rows[0])
    assert left == """x = add(y, <span class="hs">&#39;</span><mark><span class="hs">a&#39;</span>)</mark>"""
    assert text_of(re.findall("<mark>(.*)</mark>", right)[0]) == "b') + 1"


def test_a_line_of_one_text_alone_leaves_the_other_side_empty() -> None:
    rows = Highlighter().diff_rows(side_by_side(["a", "b"], ["a", "b", "c"])).split("\n")
    assert rows[-1] == '<tr class="new"><td class="no"></td><td class="none"></td><td class="no">3</td><td class="text">c</td></tr>'


def test_a_string_that_spans_lines_is_colored_in_each_of_them() -> None:
    lines = Highlighter().lines(["def f():", '    """for', '    while"""', "    pass"])
    assert lines == [
        '<span class="hk">def</span> f():',
        '    <span class="hs">&#34;&#34;&#34;for</span>',
        '<span class="hs">    while&#34;&#34;&#34;</span>',
        '    <span class="hk">pass</span>',
    ]


@given(st.lists(CODE.map(lambda text: text.replace("\n", " ")), min_size=1, max_size=5))
def test_lines_that_follow_each_other_keep_every_character(codes: list[str]) -> None:
    assert [text_of(line) for line in Highlighter().lines(codes)] == [escape_controls(code) for code in codes]


def test_the_part_that_a_line_is_about_is_marked() -> None:
    highlighter = Highlighter()
    assert highlighter.marked("k = int(x)", "int(x)") == "k = <mark>int(x)</mark>"
    assert highlighter.marked("k = int(x)", "float") == highlighter.marked("k = int(x)", "") == "k = int(x)"
