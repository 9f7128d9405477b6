"""Names that try to be something else, a trace in which one is everywhere, and what shapelog makes of it in every format."""

import json
import random
from collections.abc import Iterator

import make
from payload_text import equals_match, guard_tree, size_mismatch, tensor_match

import shapelog
from shapelog.advice.advise import advise
from shapelog.check.alerts import collect_alerts
from shapelog.check.check import check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.check.repository_paths import Repository
from shapelog.model.trace import Trace
from shapelog.report.compare import compare
from shapelog.report.explain_compile import explain_compile
from shapelog.reporters import Options, formats, renderer

# What other programs look for: links, references, markup, commands, quotes and expansions,
_WORDS = r"""
https://evil.example/x http://[::1]/ ftp://x.y/z //evil.example www.evil.example WWW.evil.example evil.example mailto:a@evil.example
xmpp:a@evil.example a@evil.example javascript:alert(1) data:text/html,x file:///etc/passwd smb://x
@octocat @org/team #1 org/repo#12 GH-1 gh-7 JIRA-12 !1 %1 ~1 &1 $1 ^alert#1 [issue:1] [[page]] [TOC] %{x} :smile: :+1:
0123456 0123456789abcdef0123456789abcdef01234567 org/repo@0123456789abcdef0123456789abcdef01234567
` `` ``` ~~~ ~~ ~ * ** _ __ | || \ \| > < <!-- --> <? <![CDATA[ ]]> &lt; &#60; &amp
[x](javascript:alert(1)) ![x](//evil.example/a.png) [x][y] [y]:
[^1] [^1]: [ ] [x] {+x+} {-x-} [-x-] $x$ $$x$$ $`x`$ \(x\) <b> </code> </details> <script>alert(1)</script> <img/src=x>
<https://evil.example> <a@evil.example> ::error::x ::set-output ::stop-commands::t ##[error]x ##[group]
%0A %0D %25 /close ${{x}} {{7*7}} {0} {}
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
    *("\x9b", "\x1c", "\u2028", "\u2029", "\n# x", "\n- [ ] x", "\n> x", "\n---\n", "\n    x", "\n\n<b>", "\n::error::x", "\n```\n"),
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
        f"{frame + 2}/0", make.tensor(8, 16), guards="", fail_type=name, fail_reason=name, restart_reasons=[name], **spelled
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


def outputs(trace: Trace) -> dict[str, bytes]:
    """What each format of each result is, by ``result format``."""
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
    }
    options = Options(width=200, verbose=True, limit=0, embed="all")
    return {f"{name} {form}": renderer(name, form)(found, options) for name, found in results.items() for form in formats(name)}  # type: ignore[arg-type]
