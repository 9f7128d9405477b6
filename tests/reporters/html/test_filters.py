"""Code in colors: what is kept of one text never shows for another."""

import pytest

from shapelog.reporters.html.filters import Coder
from shapelog.reporters.html.side_by_side import side_by_side


def test_a_diff_is_not_taken_for_one_that_is_gone() -> None:
    coder = Coder()
    gone = [side_by_side([f"x{number}"], [f"y{number}"]) for number in range(100)]
    for diff in gone:
        coder.rows(diff)
    del gone, diff
    kept = [side_by_side([f"a{number}"], [f"b{number}"]) for number in range(100)]
    assert all(f"a{number}" in coder.rows(diff) for number, diff in enumerate(kept))


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("if x1 > 2.5:", '<span class="hk">if</span> x1 &gt; <span class="hn">2.5</span>:'),
        ("iffy = notself", "iffy = notself"),
        (
            "self.f('a<b') # \"c\"",
            '<span class="hk">self</span>.f(<span class="hs">&#x27;a&lt;b&#x27;</span>) <span class="hc"># &quot;c&quot;</span>',
        ),
        ("x = 'open", "x = &#x27;open"),
        (r"'\'' + \"", r'<span class="hs">&#x27;\&#x27;&#x27;</span> + \&quot;'),
    ],
)
def test_keywords_numbers_texts_and_comments_have_colors(code: str, shown: str) -> None:
    assert Coder().line(code) == shown
