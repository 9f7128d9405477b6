"""Web servers, read with the standard library: the response to a URL, and the files that the page of a directory links to."""

import base64
import urllib.error
import urllib.request
from contextlib import closing
from html.parser import HTMLParser
from http.client import HTTPResponse
from typing import cast
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit

from shapelog import __version__

# Redirects lead to no other scheme: there is no handler for one.
_HANDLERS = (
    urllib.request.ProxyHandler,
    urllib.request.HTTPHandler,
    urllib.request.HTTPSHandler,
    urllib.request.HTTPRedirectHandler,
    urllib.request.HTTPDefaultErrorHandler,
    urllib.request.HTTPErrorProcessor,
    urllib.request.UnknownHandler,
)
# Characters of a URL that are sent as they are, as is a % that two digits follow already.
_SAFE = "%/:=&?~#+!$,;'@()*[]"
# The page of a directory of 100,000 files has some 10 MB.
_LONGEST_PAGE = 32 << 20


def open_url(url: str, timeout: float) -> HTTPResponse:
    """The response of a web server; ``timeout`` is how many seconds it may send nothing, now and later.

    A password in the URL goes to its host alone. Raises OSError, HTTPException or ValueError where there is none.
    """
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(
        urlunsplit((parts.scheme, host, quote(parts.path, _SAFE), quote(parts.query, _SAFE), "")),
        headers={"User-Agent": f"shapelog/{__version__}"},
    )
    if user:
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(unquote(user).encode()).decode()}")
    opener = urllib.request.OpenerDirector()
    for handler in _HANDLERS:
        opener.add_handler(handler())
    return cast(HTTPResponse, opener.open(request, timeout=timeout))


def exists(url: str, timeout: float) -> bool:
    """Whether a web server has something there. Raises what ``open_url`` raises where it gives no answer."""
    try:
        open_url(url, timeout).close()
    except urllib.error.HTTPError:
        return False
    return True


def linked_files(url: str, timeout: float) -> list[str]:
    """The URLs of the files in a directory, whose URL ends in a slash; links to anywhere else are left out.

    Raises what ``open_url`` raises.
    """
    with closing(open_url(url, timeout)) as page:
        links = _Links()
        links.feed(page.read(_LONGEST_PAGE).decode("utf-8", "replace"))
    return [file for file in dict.fromkeys(_resolved(url, link) for link in links.found) if _is_directly_in(url, file)]


def _resolved(base: str, link: str) -> str:
    try:
        return urljoin(base, link.strip()).partition("#")[0]
    except ValueError:  # an invalid address
        return ""


def _is_directly_in(directory: str, url: str) -> bool:
    name = url.removeprefix(directory).partition("?")[0]
    return url.startswith(directory) and bool(name) and "/" not in name


class _Links(HTMLParser):
    """Where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]
