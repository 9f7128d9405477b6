"""Markdown as GitHub renders it: by its own parser, and then by what it looks for in the text that comes out."""

import re
from html.parser import HTMLParser

from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options

# Mentions, issues, emoji, formulas, commits, and what is no link only because it was kept apart. GitHub and GitLab leave code alone.
_FOUND = re.compile(
    r"@\w|[#!%~]\d|\b(?:GH|JIRA)-\d|:[a-z+][\w+-]*:|\$|://|www\.|\[\[|\{\+.*\+\}|(?<![0-9a-z])[0-9a-f]{7,}(?![0-9a-z])", re.IGNORECASE
)
_OURS = frozenset(["p", "ul", "li", "code", "pre", "h2", "h3", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "strong"])
_HOME = "https://github.com/shapelog/shapelog/blob/main/docs/rules.md#sl"
# Pages of PyTorch about graph breaks and failures, which its messages name.
_PYTORCH = ("https://meta-pytorch.github.io/compile-graph-break-site/gb/", "https://pytorch.org/docs/", "https://docs.pytorch.org/docs/")


class Page(HTMLParser):
    """What Markdown became. ``live`` is what is more than text and layout: foreign elements and attributes, links, and what GitHub finds.

    ``text`` is all text, ``code`` the part of it in code, ``tags`` the number of each element.
    """

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.live: list[str] = []
        self.text, self.code = "", ""
        self.tags: dict[str, int] = {}
        self._depth = 0
        options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES  # HTML is shown, as it would be to the filter of GitHub
        self.feed(github_flavored_markdown_to_html(markdown, options=options))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self._depth += tag == "code"
        known = dict(attrs)
        is_ours = tag in _OURS and known.keys() <= {"align", "lang"}
        if not is_ours and not (tag == "a" and known.keys() == {"href"} and str(known["href"]).startswith((_HOME, *_PYTORCH))):
            self.live.append(f"<{tag} {known}>")

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._depth:
            self.code += data
        else:
            self.live += _FOUND.findall(data)

    def handle_decl(self, decl: str) -> None:
        self.live.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.live.append(f"<?{data}>")
