"""What the site is made of besides the documents: one page for each rule, an index of them, and links that lead outside of docs/.

MkDocs calls these functions (``hooks`` in mkdocs.yml). On GitHub, docs/rules.md is one long document; here, each rule has a page.
"""

import re
from collections.abc import Iterator
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from shapelog.reporters import Options
from shapelog.reporters.rules_markdown import render_rule, render_rules
from shapelog.rule_docs import HOME, Entry, entries
from shapelog.rules import RULES

_RULE_LINK = re.compile(r"\]\((?:rules\.md)?#(sl\d{3})\)")
_MENTIONED = re.compile(r"(```.*?^```|`[^`\n]*`)|(?<![\[\w])(SL\d{3})\b(?! [a-z-]+\n)", re.M | re.S)
# A link to a file that is not a page, such as ../benchmarks/README.md or examples/compile-health/README.md.
_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


@event_priority(100)  # before the plugin that lists all pages for agents
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the rules."""
    for entry in entries():
        page = File.generated(config, f"rules/{entry.rule.code}.md", content=_rule_page(entry))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri == "rules.md":
        markdown = _index()
    linked = _RULE_LINK.sub(lambda found: f"](rules/{found[1].upper()}.md)", markdown)
    return _LINK.sub(lambda found: _outside(found, page, files), linked)


def on_post_template(output: str, template_name: str, config: MkDocsConfig) -> str:
    return _named(output)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    return _named(output)


def _named(html: str) -> str:
    """The theme gives the dialog of its search no name, by which a screen reader announces it."""
    return html.replace('data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"')


def _rule_page(entry: Entry) -> str:
    """The page of a rule, with links to the other rules that it mentions."""
    text = render_rule(entry, Options()).decode().replace("\n### ", "\n## ").replace("## ", "# ", 1)
    body = _MENTIONED.sub(lambda found: found[1] or _other(found[2], entry.rule.code), text)
    return f"---\ntitle: {entry.rule.code} {entry.rule.name}\n---\n\n{body}\n[All rules](../rules.md)\n"


def _other(code: str, own: str) -> str:
    return f"[{code}]({code}.md)" if code in RULES and code != own else code


def _index() -> str:
    """The beginning of docs/rules.md: what rules are, and the list of them."""
    return "\n".join(_until_texts(render_rules(entries(), Options()).decode()))


def _until_texts(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.startswith("## "):
            return
        yield line


def _outside(found: re.Match[str], page: Page, files: Files) -> str:
    """A link to a file of the repository that the site does not hold leads to the repository."""
    target, anchor = found[1], found[2] or ""
    folder = page.file.src_uri.rpartition("/")[0]
    inside = normpath(f"{folder}/{target}" if folder else target)
    file = files.get_file_from_path(inside)
    if file is not None and not file.inclusion.is_excluded():
        return found[0]
    return f"]({HOME}/blob/main/{normpath(f'docs/{inside}')}{anchor})"
