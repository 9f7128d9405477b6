"""Names that try to be something else, a trace in which one is everywhere, and what shapelog makes of it in every format."""

import ast
import base64
import json
import os
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Collection, Iterator
from html.parser import HTMLParser
from tempfile import TemporaryDirectory

import ci
import make
from github_markdown import Page
from jsonschema import Draft7Validator
from payload_text import equals_match, guard_tree, size_mismatch, tensor_match

import shapelog
from shapelog.advice.advise import advise
from shapelog.advice.paste_formats import VARIABLE
from shapelog.check.check import check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.model.trace import Trace
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.compare import compare
from shapelog.report.explain_compile import explain_compile
from shapelog.report.next_steps import advised_run
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.text import UNSAFE

# What other programs look for: links, references, markup, commands, quotes and expansions,
_WORDS = r"""
https://evil.example/x http://[::1]/ ftp://x.y/z //evil.example www.evil.example WWW.evil.example evil.example mailto:a@evil.example
xmpp:a@evil.example a@evil.example javascript:alert(1) data:text/html,x file:///etc/passwd smb://x
@octocat @org/team #1 org/repo#12 GH-1 gh-7 JIRA-12 !1 %1 ~1 &1 $1 ^alert#1 [issue:1] [[page]] [TOC] %{x} :smile: :+1:
0123456 0123456789abcdef0123456789abcdef01234567 org/repo@0123456789abcdef0123456789abcdef01234567
` `` ``` ~~~ ~~ ~ * ** _ __ | || \ \| > < <!-- --> <? <![CDATA[ ]]> &lt; &#60; &amp
[x](javascript:alert(1)) ![x](//evil.example/a.png) [x][y] [y]:
[^1] [^1]: [ ] [x] {+x+} {-x-} [-x-] $x$ $$x$$ $`x`$ \(x\) <marquee> </code> </details> <script>alert(1)</script> <img/src=x>
<https://evil.example> <a@evil.example> ::error::x ::set-output ::stop-commands::t ##[error]x ##[group]
%0A %0D %25 /close ${{x}} {{7*7}} {0} {} 1) 1. + -
$(touch$IFS.own) `touch$IFS.own` ${HOME} $HOME ' " '' "" !! !x ; ;touch$IFS.own; && || & # = * ? ~ (x) {a,b} %s ^a^b
''' \"\"\" \N{DASH} \x41 ), __import__('os') lambda:0 (x:=1) class None -1
"""
# control characters and line ends, and characters that are not seen or unusual.
_UNPRINTABLE = (
    *(
        "\n",
        "\r",
        "\r\n",
        "\t",
        "\v",
        "\f",
        "\0",
        "\x1b[31m",
        "\x1b]0;x\x07",
        "\x1b[200~",
        "\x1b[201~",
        "\x03",
        "\x04",
        "\x16",
        "\x7f",
        "\x85",
    ),
    *("\x9b", "\x1c", "\u2028", "\u2029", "\n# x", "\n- [ ] x", "\n> x", "\n---\n", "\n    x", "\n\n<marquee>", "\n::error::x", "\n```\n"),
    *("\ntouch .own\n", "\rtouch .own\r"),
)
_UNSEEN = (
    *("\u202e", "\u2066", "\u200b", "\u200d", "\xad", "\u034f", "\u115f", "\u3164", "\uffa0", "\u2800", "\ufe0f", "\ufeff", "\U000e0041"),
    *("\U000e0100", "\U0001d173", "\ud800", "\udfff", "\ufffe", "\uffff", "\xa0", "\u3000", "é", "变", "e\u0301"),
)
PIECES = (*_WORDS.split(), "`" * 90, "`" * 300, "#" * 300, *_UNPRINTABLE, *_UNSEEN, *"abfxz_.-/:+ ")


def names(number: int, seed: int = 1) -> Iterator[str]:
    """``number`` names: each piece by itself and inside of a name, then several in a row. The same seed gives the same names."""
    draw = random.Random(seed)
    pieces = iter((*PIECES, *(f"f_{piece}_x" for piece in PIECES)))
    for _ in range(number):
        yield next(pieces, "") or "".join(draw.choices(PIECES, k=draw.randrange(2, 6)))


def trace_with(*names: str) -> bytes:
    """For each name three functions: a size varies in one, a constant in the other, and one fails. Nothing has another name."""
    config = {"dynamo_config": "{}", "compiler_config": json.dumps({"dynamic_sources": "".join(names)})}
    return make.trace(*(_functions(3 * number, name) for number, name in enumerate(names)), make.metrics(f"{3 * len(names)}/0", **config))


def _functions(frame: int, name: str) -> bytes:
    spelled = {"name": name, "file": f"/srv/app/{name}.py"}
    text = name.encode("utf-8", "replace").decode()  # payloads are UTF-8
    sized, constant = f"L['d'][{name!r}]", f"L['{text}']"
    made = make.compile(
        f"{frame + 2}/0",
        make.tensor(8, 16),
        guards="",
        fail_type=name,
        fail_reason=name,
        restart_reasons=[name],
        start_time=1.7e9 + frame,
        **spelled,
    )
    for again, size in enumerate((8, 3)):
        inputs = make.tensor(size, 16, source=sized)
        guards = guard_tree(tensor_match(sized, (size, 16))).encode("utf-8", "replace").decode()
        why = [size_mismatch(f"{frame}/0", 8, size)] if again else []
        made += make.compile(f"{frame}/{again}", inputs, reasons=why, guards=guards, **spelled)
        why = [f"{frame + 1}/0: {constant} == {text!r}"] if again else []
        guards = guard_tree(tensor_match("L['x']", (8, 16)), equals_match(constant, f"{text}{again}", "str"))
        made += make.compile(f"{frame + 1}/{again}", make.tensor(8, 16), reasons=why, guards=guards, line=40, **spelled)
    where = f"Graph break in user code at {text}.py:6\nReason: {text}\n"
    return made + make.artifact("dynamo_graph_break_reason", where, id=f"{frame}/0")


def outputs(trace: Trace, left_out: Collection[str] = ()) -> dict[str, bytes]:
    """What each format of each result is, by ``result format``, without those that are ``left_out``."""
    report = shapelog.analyze(trace)
    alerts = collect_alerts(report, Repository("/nowhere/at/all", ("/srv",)))
    budgets = Policy(budgets=(Budget(Metric.RECOMPILES, 0), Budget(Metric.COMPILES, 0, "*")))
    label = trace.compiles[min(1, len(trace.compiles) - 1)].label
    results = {
        "report": report,
        "overview": without_policy(alerts),
        "check": check(alerts, budgets),
        "comparison": compare(report, shapelog.analyze(make.load(make.small_trace()))),
        "explanation": explain_compile(trace, label),
        "advice": advise(report.explained),
        "advised run": advised_run(report, advise(report.explained)),
    }
    options = Options(width=200, verbose=True, limit=0, embed="all")
    return {
        where: renderer(name, form)(found, options)  # type: ignore[arg-type]
        for name, found in results.items()
        for form in formats(name)  # type: ignore[arg-type]
        if (where := f"{name} {form}") not in left_out
    }


# What of it is more than text.

READ = ("terminal", "markdown", "github", "html", "env", "shell", "python")
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "fish")
_COMMAND = re.compile(r"\s*::(?!(?:error|warning|notice) (?:file=[^,:]*,line=\d+,)?title=[^,:]*::|group::|endgroup::$)")
_FOREIGN = {"img", "marquee", "iframe", "object", "embed", "base", "form", "link", "video", "audio", "frame", "applet"}


def flaws(found: dict[str, bytes]) -> Iterator[str]:
    """What a parser, a browser or a shell would do with these formats that is not meant; nothing where all is as promised."""
    for where, output in found.items():
        form = where.rpartition(" ")[2]
        text = unpacked(output.decode()) if form == "html" else output.decode()
        if form in READ and (hidden := set(UNSAFE.findall(text))):
            yield f"{where}: hidden characters {hidden!a}"
        yield from (f"{where}: {flaw}" for flaw in _CHECKS.get(form, _nothing)(text))


def unpacked(page: str) -> str:
    """A page with the parts of it that it holds compressed, but for payloads (z0, z1, ...): its script escapes what it shows of them."""
    parts = re.findall(r'<script type="text/plain" id="[^z]\w*">([^<]*)</script>', page)
    return "\n".join([page, *(zlib.decompress(base64.b64decode(text), -15).decode() for text in parts)])


def _nothing(text: str) -> Iterator[str]:
    yield from ()


def _markdown(text: str) -> Iterator[str]:
    yield from Page(text).live


def _github(text: str) -> Iterator[str]:
    yield from (line for line in re.split("[\r\n\v\f\x85\u2028\u2029]", text) if _COMMAND.match(line) or "##[" in line)


def _junit(text: str) -> Iterator[str]:
    tags = {element.tag for element in ElementTree.fromstring(text.encode()).iter()}
    yield from tags - {"testsuites", "testsuite", "testcase", "failure", "system-out", "system-err"}


def _sarif(text: str) -> Iterator[str]:
    data = json.loads(text)
    yield from (error.message[:200] for error in Draft7Validator(ci.sarif_schema()).iter_errors(data))
    for result in data["runs"][0]["results"]:
        yield from Page(result["message"]["markdown"]).live
        if re.search(r"\]\(", result["message"]["text"]):
            yield f"a link in {result['message']['text'][:200]!r}"


def _gitlab(text: str) -> Iterator[str]:
    known = {"type", "description", "check_name", "content", "categories", "fingerprint", "severity", "location"}
    yield from (f"an issue of {sorted(issue)}" for issue in json.loads(text) if issue.keys() != known)


def _json(text: str) -> Iterator[str]:
    json.loads(text)
    yield from ()


def _jsonl(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").split("\n"):
        yield from _json(line)


def _python(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    yield from (ast.unparse(node) for node in tree.body if not isinstance(node, (ast.Import, ast.Assign, ast.Expr)))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    yield from set(calls) - {"torch._dynamo.mark_dynamic", "torch._dynamo.maybe_mark_dynamic", "','.join"}


def _html(text: str) -> Iterator[str]:
    parser = _Elements()
    parser.feed(text)
    parser.close()
    yield from parser.live


# Places in the page, lines in the editor, and the trace viewers that the page names.
_OWN_LINK = re.compile(
    r"#.*|vscode://file/[\w.%/:~-]+:\d+|https://github\.com/shapelog/shapelog/blob/main/docs/rules\.md#sl\d+|https://ui\.perfetto\.dev"
    r"|https://www\.speedscope\.app",
    re.A | re.S,
)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.live: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _FOREIGN:
            self.live.append(f"<{tag}>")
        for name, value in attrs:
            is_address = name in ("href", "src", "action") and not _OWN_LINK.fullmatch(str(value))
            if name.startswith("on") or name == "style" or is_address:
                self.live.append(f"<{tag} {name}={value}>")


_CHECKS: dict[str, Callable[[str], Iterator[str]]] = {
    "markdown": _markdown,
    "github": _github,
    "junit": _junit,
    "sarif": _sarif,
    "gitlab": _gitlab,
    "json": _json,
    "jsonl": _jsonl,
    "python": _python,
    "html": _html,
}


def shell_flaws(line: str, value: str) -> Iterator[str]:
    """What a shell makes of the line to paste that is not the value, for each shell that is here."""
    for shell in filter(shutil.which, SHELLS):
        with TemporaryDirectory() as folder:
            script = f'{line}\nprintf %s "${VARIABLE}"'
            done = subprocess.run([shell, "-c", script], cwd=folder, capture_output=True, timeout=60)
            if (done.stdout.decode(), done.stderr, os.listdir(folder)) != (value, b"", []):
                yield f"{shell}: {done.stdout!r} {done.stderr!r} {os.listdir(folder)}"
