"""The rule catalogue: what each code means, what helps, and how its findings are shown. Codes are never reused."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple


class Verdict(Enum):
    """What can be done about a recompile."""

    MARKING = "avoidable by marking"
    CODE = "avoidable by a code change"
    JUSTIFIED = "justified"
    UNEXPLAINED = "unexplained"
    FAILED = "failed"
    LIMIT = "over the limit"
    SKIPPED = "left without code"
    TRACE = "a fault of the trace"
    BUDGET = "over a budget"

    @property
    def words(self) -> str:
        """As a report for people names it."""
        return "avoidable by marking inputs as dynamic" if self is Verdict.MARKING else self.value


class Level(Enum):
    """How bad, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class AlertKind(Enum):
    """What ``--fail-on`` can name; an alert may be of several kinds."""

    AVOIDABLE = "avoidable"
    MARKING = "marking"
    SIZE = "size"
    NON_SIZE = "non-size"
    RECOMPILE = "recompile"
    UNEXPLAINED = "unexplained"
    LIMIT = "limit"
    LIMIT_NEAR = "limit-near"
    FAILURE = "failure"
    BREAK = "break"
    RESTART = "restart"
    RANK = "rank"
    BUDGET = "budget"

    @property
    def level(self) -> Level:
        """That of an alert of this kind alone."""
        if self in (AlertKind.LIMIT, AlertKind.FAILURE, AlertKind.BUDGET):
            return Level.ERROR
        return Level.WARNING if self in (AlertKind.AVOIDABLE, AlertKind.LIMIT_NEAR, AlertKind.RANK) else Level.NOTE


class Section(Enum):
    """The heading under which reports list the findings of a rule."""

    LIMITS = "Limits"
    FAILURES = "Failures"
    RANKS = "Ranks"
    OTHER = "Other findings"


class Rule(NamedTuple):
    """One kind of cause, finding or problem. Only the first four fields are required.

    ``verdict`` is that of a recompile with this cause alone; ``remedy`` is one sentence, ``remedy_without_sources`` the one that holds
    before torch 2.8, which has no list of dynamic sources ("" where it is the same). Marking something dynamic removes ``markable`` causes,
    and does not help where another cause ``blocks_marking``.

    A finding of the rule is listed in ``section``; ``level`` is how bad it is. ``alert_kind`` is what it is to ``shapelog check``: without
    one a check fails on it only if ``--select`` names the rule. ``problems`` are the codes of the problems of a trace that it is about.
    """

    code: str
    name: str
    verdict: Verdict
    remedy: str
    size_related: bool = False
    markable: bool = False
    blocks_marking: bool = False
    remedy_without_sources: str = ""
    section: Section = Section.OTHER
    level: Level = Level.WARNING
    alert_kind: AlertKind | None = None
    problems: tuple[str, ...] = ()


_MARK, _CODE, _FINE = Verdict.MARKING, Verdict.CODE, Verdict.JUSTIFIED
_NO_LIST = "torch before 2.8 has no list of dynamic sources: "

_ALL = (
    Rule("SL101", "size-varies", _MARK, "mark this dim dynamic: one compile serves all sizes", size_related=True, markable=True),
    Rule(
        "SL102",
        "int-varies",
        _MARK,
        "list it as a dynamic source (mark_dynamic does not work on ints)",
        size_related=True,
        markable=True,
        remedy_without_sources=_NO_LIST + "pass it as a tensor, or accept the one recompile after which it is dynamic",
    ),
    Rule(
        "SL103",
        "duck-shape",
        _MARK,
        "mark one of the two dims dynamic, or set torch.fx.experimental._config.use_duck_shape = False",
        size_related=True,
        markable=True,
    ),
    Rule(
        "SL104",
        "zero-one-size",
        _FINE,
        "sizes 0 and 1 always get a graph of their own, unless the dim is unbacked "
        "(torch._dynamo.decorators.mark_unbacked); or warm up with another size",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL105",
        "stride-varies",
        _CODE,
        "call .contiguous() or use one memory layout; where the stride follows from a slice, mark the sliced dim dynamic",
        size_related=True,
        markable=True,
    ),
    Rule(
        "SL106",
        "parameter-shape-varies",
        _MARK,
        "parameters are static by default: list this one as a dynamic source, or accept one graph for each width",
        size_related=True,
        markable=True,
        remedy_without_sources=_NO_LIST + "set torch._dynamo.config.force_parameter_static_shapes = False",
    ),
    Rule("SL107", "rank-varies", _FINE, "nothing marks the number of dims: unsqueeze or flatten to one rank, or accept one graph for each"),
    Rule(
        "SL201",
        "size-specialized",
        _FINE,
        "the code needs the exact value: rewrite that line, or accept one graph for each value",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL202",
        "size-specialized-by-framework",
        _FINE,
        "a library or backend pinned the value: for a size try mark_unbacked; else accept one graph for each value",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL203",
        "marked-dynamic-conflict",
        _CODE,
        "use maybe_mark_dynamic, or change the line that pins the size",
        size_related=True,
        section=Section.FAILURES,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL204",
        "branch-on-size",
        _FINE,
        "a branch on the size splits the graphs: as many graphs as branches taken is the floor",
        size_related=True,
        blocks_marking=True,
    ),
    Rule("SL301", "dtype-varies", _CODE, "warm up with the dtype that you serve, and keep one dtype for each compiled function"),
    Rule("SL302", "requires-grad-varies", _CODE, "call it with the same requires_grad each time (detach(), or no_grad around everything)"),
    Rule(
        "SL303",
        "dispatch-keys-vary",
        _CODE,
        "the tensor is of another kind (inference mode, subclass, view of one): warm up under the same mode as you serve",
    ),
    Rule(
        "SL304", "device-varies", _CODE, "move inputs to one device before the call; where several are used, each needs a graph of its own"
    ),
    Rule(
        "SL305",
        "grad-mode-varies",
        _CODE,
        "warm up in the mode that you serve; where training and evaluation both run, two graphs are needed",
    ),
    Rule("SL306", "autocast-varies", _CODE, "enter autocast before the first call and keep it as it is"),
    Rule("SL307", "global-state-varies", _CODE, "set this once, before the first compiled call"),
    Rule("SL308", "object-identity-varies", _CODE, "reuse one object: create it once, outside of the call"),
    Rule("SL309", "function-recreated", _CODE, "define the function once (not in the loop, not as a new lambda or closure per call)"),
    Rule("SL310", "type-varies", _CODE, "pass one type, or compile one function for each"),
    Rule(
        "SL311",
        "constant-varies",
        _FINE,
        "a graph for each value is justified where the code branches on it; else move it out of the compiled code",
    ),
    Rule("SL312", "float-varies", _CODE, "wrap it in a tensor (torch.tensor(value)): no list makes this float dynamic"),
    Rule("SL313", "container-length-varies", _CODE, "keep the length fixed, pad it, or compile what works on one item"),
    Rule("SL314", "dict-keys-vary", _CODE, "keep the set of keys fixed, or compile the code behind it"),
    Rule(
        "SL315",
        "module-int-varies",
        _MARK,
        "list it as a dynamic source, set torch._dynamo.config.allow_unspec_int_on_nn_module = True, or keep the counter outside",
        size_related=True,
        markable=True,
        remedy_without_sources=_NO_LIST + "keep the counter outside of the module, or make it a tensor",
    ),
    Rule(
        "SL316", "training-flag-varies", _FINE, "train() and eval() need a graph each; set the mode before the first call if one is enough"
    ),
    Rule("SL317", "aliasing-varies", _CODE, "pass tensors that are distinct (or the same) each time; clone() where one is passed twice"),
    Rule("SL318", "backend-changed", _CODE, "pass one and the same backend function or object to every torch.compile of this code"),
    Rule("SL319", "object-died", _CODE, "keep the object alive as long as the compiled function is used"),
    Rule("SL320", "object-state-varies", _CODE, "set the same attributes in __init__, or pass what changes as an argument"),
    Rule("SL321", "dim-marking-varies", _CODE, "mark the tensor before the first call as well, and in the same way each time"),
    Rule("SL322", "none-or-value", _FINE, "two graphs are justified where the code branches on None; else pass a value each time"),
    Rule(
        "SL323",
        "other-compiled-object",
        _FINE,
        "compile the code once and share the compiled object, if the copies are meant to be one; entries that were dropped come back once",
    ),
    Rule("SL399", "unexplained", Verdict.UNEXPLAINED, "record with TORCH_LOGS=recompiles_verbose as well: it names every failed guard"),
    Rule(
        "SL401",
        "recompile-limit-hit",
        Verdict.LIMIT,
        "remove what makes it recompile, or raise torch._dynamo.config.recompile_limit",
        section=Section.LIMITS,
        level=Level.ERROR,
        alert_kind=AlertKind.LIMIT,
    ),
    Rule(
        "SL402",
        "limit-near",
        _CODE,
        "remove what makes it recompile, or raise torch._dynamo.config.recompile_limit, before this code runs eagerly",
        section=Section.LIMITS,
        alert_kind=AlertKind.LIMIT_NEAR,
    ),
    Rule(
        "SL403",
        "compile-failed",
        Verdict.FAILED,
        "fix what the error names; until then this code runs in eager mode, or raises",
        section=Section.FAILURES,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL501",
        "graph-break",
        _CODE,
        "move the line that breaks the graph out of the compiled code, or write it with tensors",
        alert_kind=AlertKind.BREAK,
    ),
    Rule(
        "SL502",
        "analysis-restart",
        _FINE,
        "one restart is normal; where it costs much, its reason tells what to pass in another way",
        alert_kind=AlertKind.RESTART,
    ),
    Rule(
        "SL701",
        "rank-divergence",
        _CODE,
        "give every rank the same sizes and branches, or mark what varies dynamic on all of them: a rank that waits can hang the job",
        section=Section.RANKS,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL702",
        "cross-rank-size",
        _MARK,
        "mark it dynamic on every rank, or set torch._dynamo.config.enable_compiler_collectives = True (torch 2.6 and later)",
        size_related=True,
        section=Section.RANKS,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL703",
        "collective-mismatch",
        _CODE,
        "let every rank run the same collectives in the same order: this hangs or corrupts the job",
        section=Section.RANKS,
        level=Level.ERROR,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL801",
        "budget-exceeded",
        Verdict.BUDGET,
        "remove the causes that are listed with it, or raise the budget if it is too tight",
        level=Level.ERROR,
        alert_kind=AlertKind.BUDGET,
    ),
    Rule(
        "SL901",
        "trace-cut-off",
        Verdict.TRACE,
        "the last compile may lack its graph, guards or times",
        problems=("cut-off", "damaged-archive"),
    ),
    Rule(
        "SL902",
        "payload-damaged",
        Verdict.TRACE,
        "what this payload says (a graph, guards, reasons) is used with care, or missing",
        problems=("checksum-mismatch", "missing-payload", "oversized-payload", "unannounced-payload"),
    ),
    Rule(
        "SL903",
        "record-unreadable",
        Verdict.TRACE,
        "the compile it belongs to may lack a fact, so its cause may be incomplete",
        problems=("bad-json", "bad-prefix", "bad-record", "bad-size", "missing-record", "more-problems"),
    ),
    Rule(
        "SL904",
        "unknown-kind",
        Verdict.TRACE,
        "a newer torch than shapelog knows: the record is counted, not used",
        problems=("unknown-kind",),
    ),
    Rule(
        "SL905",
        "mixed-processes",
        Verdict.TRACE,
        "several processes wrote one file; where they cannot be told apart, compiles may mix",
        problems=("mixed-processes", "overlapping-compiles"),
    ),
    Rule(
        "SL906",
        "records-outside-compiles",
        Verdict.TRACE,
        "they belong to no compile id, so they explain no recompile",
        problems=("outside-compiles",),
    ),
    Rule(
        "SL907",
        "foreign-file",
        Verdict.TRACE,
        "what is named here is not in the report",
        problems=("foreign-file", "unreadable-file", "left-out", "many-members", "named-twice", "nested-archive"),
    ),
    Rule(
        "SL908",
        "analysis-failed",
        Verdict.TRACE,
        "a part of the report is missing; the rest stands (--debug raises the error)",
        problems=("analysis-failed",),
    ),
    Rule(
        "SL909",
        "many-entries",
        Verdict.TRACE,
        "an entry that is nearer may not have been looked at: a cause may be less simple than stated, and a suggestion may be missing",
        problems=("many-entries",),
    ),
)

RULES = {rule.code: rule for rule in _ALL}
# The rule of a recompile of which no cause is known.
UNEXPLAINED = RULES["SL399"]
_BY_PROBLEM = {problem: rule for rule in _ALL for problem in rule.problems}


def remedy_for(rule: Rule, supports_dynamic_sources: bool) -> str:
    """What helps in the torch version at hand; ``supports_dynamic_sources`` is False before 2.8."""
    return rule.remedy if supports_dynamic_sources else rule.remedy_without_sources or rule.remedy


class Remedy(NamedTuple):
    """What helps against a cause: what its rule recommends, or ``own`` where more is known of the cause."""

    rule: Rule
    own: str = ""

    def text(self, supports_dynamic_sources: bool) -> str:
        """In one sentence, for the torch version at hand."""
        return self.own or remedy_for(self.rule, supports_dynamic_sources)


def any_blocks_marking(codes: Iterable[str]) -> bool:
    """Whether the rule of one of these codes keeps a mark from removing the recompile."""
    return any(RULES[code].blocks_marking for code in codes)


def problem_rule(code: str) -> Rule:
    """The rule of a problem; SL903 for any kind of record that cannot be read."""
    return _BY_PROBLEM.get(code) or RULES["SL903"]
