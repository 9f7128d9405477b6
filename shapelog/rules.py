"""The rule catalogue: what each code means, the remedy, and how its findings are shown. Codes are never reused."""

import re
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
    UNFINISHED = "not finished"
    TRACE = "a fault of the trace"
    BUDGET = "over a budget"

    @property
    def words(self) -> str:
        """As a report for people names it."""
        return _VERDICT_WORDS.get(self, self.value)

    @property
    def is_beyond_marks(self) -> bool:
        """Whether something can be done or accepted, but marks do not remove the recompile."""
        return self in (Verdict.CODE, Verdict.JUSTIFIED)

    @property
    def short(self) -> str:
        """The same where there is little room."""
        return "refused" if self is Verdict.LIMIT else self.value


_VERDICT_WORDS = {
    Verdict.MARKING: "avoidable by marking inputs as dynamic",
    Verdict.LIMIT: "refused: recompile limit reached",
    Verdict.SKIPPED: "produced no code",
    Verdict.UNFINISHED: "did not finish",
    Verdict.TRACE: "a problem with the trace",
    Verdict.BUDGET: "budget exceeded",
}


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
    SKIPPED = "skipped"
    BREAK = "break"
    RESTART = "restart"
    RANK = "rank"
    BUDGET = "budget"

    @property
    def level(self) -> Level:
        """That of an alert of this kind alone."""
        if self in (AlertKind.LIMIT, AlertKind.FAILURE, AlertKind.BUDGET):
            return Level.ERROR
        return Level.WARNING if self in (AlertKind.AVOIDABLE, AlertKind.LIMIT_NEAR, AlertKind.SKIPPED, AlertKind.RANK) else Level.NOTE


class Section(Enum):
    """The heading under which reports list the findings of a rule."""

    LIMITS = "Limits"
    FAILURES = "Failures"
    EXPORTS = "Exports"
    RANKS = "Ranks"
    OTHER = "Other findings"


class Rule(NamedTuple):
    """One kind of cause, finding or problem. Only the first four fields are required.

    ``verdict`` is that of a recompile with this cause alone; ``remedy`` is one sentence, ``remedy_without_sources`` the one that holds
    before torch 2.7, which has no list of dynamic sources ("" where it is the same). Marking something dynamic removes ``markable`` causes,
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
_NEEDS = " (TORCH_COMPILE_DYNAMIC_SOURCES needs torch 2.7)"

_ALL = (
    Rule(
        "SL101",
        "size-varies",
        _MARK,
        "mark this dimension as dynamic so that one graph handles every size",
        size_related=True,
        markable=True,
    ),
    Rule(
        "SL102",
        "int-varies",
        _MARK,
        "add the int to TORCH_COMPILE_DYNAMIC_SOURCES (mark_dynamic only works on tensors)",
        size_related=True,
        markable=True,
        remedy_without_sources="pass a tensor instead of the int, or use torch 2.7 or newer (TORCH_COMPILE_DYNAMIC_SOURCES accepts ints)",
    ),
    Rule(
        "SL103",
        "duck-shape",
        _MARK,
        "mark one of the two dimensions as dynamic, or set torch.fx.experimental._config.use_duck_shape = False",
        size_related=True,
        markable=True,
    ),
    Rule(
        "SL104",
        "zero-one-size",
        _FINE,
        "if only the warm-up has a size of 0 or 1, warm up with 2 or more; otherwise accept the extra graph (PyTorch always specializes on "
        "0 and 1); torch._dynamo.decorators.mark_unbacked avoids that graph, but only where no code branches on the size",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL105",
        "stride-varies",
        _CODE,
        "call .contiguous() or use one memory format; if the tensor is a slice, mark the sliced dimension as dynamic",
        size_related=True,
        markable=True,
    ),
    Rule(
        "SL106",
        "parameter-shape-varies",
        _MARK,
        "parameters are static by default: add this one to TORCH_COMPILE_DYNAMIC_SOURCES, or accept one graph per shape",
        size_related=True,
        markable=True,
        remedy_without_sources="set torch._dynamo.config.force_parameter_static_shapes = False" + _NEEDS,
    ),
    Rule(
        "SL107",
        "rank-varies",
        _FINE,
        "the number of dimensions cannot be dynamic: unsqueeze or flatten inputs to the same number, or accept one graph per number",
    ),
    Rule(
        "SL201",
        "size-specialized",
        _FINE,
        "rewrite the line that needs the exact value, or accept one graph per value",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL202",
        "size-specialized-by-framework",
        _FINE,
        "a library or backend specialized on the value: accept one graph per value, or pad to a few sizes",
        size_related=True,
        blocks_marking=True,
    ),
    Rule(
        "SL203",
        "marked-dynamic-conflict",
        _CODE,
        "use torch._dynamo.maybe_mark_dynamic, or change the line that requires a fixed size",
        size_related=True,
        section=Section.FAILURES,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL204",
        "branch-on-size",
        _FINE,
        "accept one graph per branch (of your code or of a PyTorch operation): marking does not merge the graphs of different branches",
        size_related=True,
        blocks_marking=True,
    ),
    Rule("SL301", "dtype-varies", _CODE, "warm up with the dtype used in production, and use one dtype per compiled function"),
    Rule(
        "SL302",
        "requires-grad-varies",
        _CODE,
        "give the tensor the same requires_grad in every call: detach() it where no gradient has to flow back through it, or call "
        "requires_grad_() on it before the first call",
    ),
    Rule(
        "SL303",
        "dispatch-keys-vary",
        _CODE,
        "warm up in the same mode and with the same kind of tensor (inference mode, tensor subclass, view) as in production",
    ),
    Rule(
        "SL304", "device-varies", _CODE, "move inputs to one device before the call; if several devices are used, each needs its own graph"
    ),
    Rule(
        "SL305",
        "grad-mode-varies",
        _CODE,
        "warm up in the grad mode used in production, or accept one graph for training and one for inference",
    ),
    Rule("SL306", "autocast-varies", _CODE, "enter torch.autocast before the first call, and use the same setting in every call"),
    Rule(
        "SL307",
        "global-state-varies",
        _CODE,
        "set the global state once, before the first compiled call: the default dtype or device, determinism, or threads",
    ),
    Rule("SL308", "object-identity-varies", _CODE, "create the object once, outside the call, and reuse it"),
    Rule("SL309", "function-recreated", _CODE, "define the function once, not in a loop or as a new lambda or closure per call"),
    Rule("SL310", "type-varies", _CODE, "always pass the same type, or compile one function per type"),
    Rule(
        "SL311",
        "constant-varies",
        _FINE,
        "accept one graph per value if the code branches on it; otherwise move the value out of the compiled function",
    ),
    Rule(
        "SL312",
        "float-varies",
        _CODE,
        "pass the float as a tensor, torch.tensor(value), or store it as one: no mark makes a float dynamic",
        remedy_without_sources="pass the float as a tensor, torch.tensor(value), or store it as one",
    ),
    Rule("SL313", "container-length-varies", _CODE, "keep the length fixed, pad to a fixed length, or compile the code for a single item"),
    Rule("SL314", "dict-keys-vary", _CODE, "keep the same keys in every call, or pass only the values that are used"),
    Rule(
        "SL315",
        "module-int-varies",
        _MARK,
        "keep the int out of the module, set torch._dynamo.config.allow_unspec_int_on_nn_module = True, or add it to "
        "TORCH_COMPILE_DYNAMIC_SOURCES",
        size_related=True,
        markable=True,
        remedy_without_sources="keep the int out of the module, or make it a tensor" + _NEEDS,
    ),
    Rule(
        "SL316", "training-flag-varies", _FINE, "train() and eval() each need a graph; set the mode before the first call if one is enough"
    ),
    Rule(
        "SL317",
        "aliasing-varies",
        _CODE,
        "pass tensors that are always distinct or always the same; clone() a tensor that is passed twice and only read",
    ),
    Rule("SL318", "backend-changed", _CODE, "pass the same backend function or object to every torch.compile call for this code"),
    Rule("SL319", "object-died", _CODE, "create the object once, and keep it alive as long as the compiled function is in use"),
    Rule("SL320", "object-state-varies", _CODE, "set all attributes in __init__, or pass what changes as an argument"),
    Rule("SL321", "dim-marking-varies", _CODE, "mark the tensor before the first call too, and in the same way every time"),
    Rule(
        "SL322",
        "none-or-value",
        _FINE,
        "accept two graphs if the code branches on None; otherwise provide a value from the first call on",
    ),
    Rule(
        "SL323",
        "other-compiled-object",
        _FINE,
        "if one cache is enough, compile the code once and share the compiled object; dropped entries are recompiled only once",
    ),
    Rule(
        "SL324",
        "autograd-graph-varies",
        _CODE,
        "run the same operations, hooks and losses in every step, or accept one captured backward pass per variant",
    ),
    Rule(
        "SL399",
        "unexplained",
        Verdict.UNEXPLAINED,
        "record again with TORCH_LOGS=recompiles_verbose, which lists all conditions on sizes that failed",
    ),
    Rule(
        "SL401",
        "recompile-limit-hit",
        Verdict.LIMIT,
        "remove the causes of the recompilations, or raise torch._dynamo.config.recompile_limit",
        section=Section.LIMITS,
        level=Level.ERROR,
        alert_kind=AlertKind.LIMIT,
    ),
    Rule(
        "SL402",
        "limit-near",
        _CODE,
        "remove the causes of the recompilations, or raise torch._dynamo.config.recompile_limit, before this code runs in eager mode",
        section=Section.LIMITS,
        alert_kind=AlertKind.LIMIT_NEAR,
    ),
    Rule(
        "SL403",
        "compile-failed",
        Verdict.FAILED,
        "fix this error; until then the code runs in eager mode or raises",
        section=Section.FAILURES,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL404",
        "nothing-to-compile",
        _CODE,
        "set torch._dynamo.config.allow_empty_graphs = True or avoid the call",
        section=Section.FAILURES,
        alert_kind=AlertKind.SKIPPED,
    ),
    Rule(
        "SL405",
        "backward-failed",
        Verdict.FAILED,
        "a backward pass raises this error: fix it, or call the code under torch.no_grad() if it needs none",
        section=Section.FAILURES,
    ),
    Rule(
        "SL501",
        "graph-break",
        _CODE,
        "move the line that breaks the graph out of the compiled code, or rewrite it with tensor operations",
        alert_kind=AlertKind.BREAK,
    ),
    Rule(
        "SL502",
        "analysis-restart",
        _FINE,
        "one restart is normal; if restarts are expensive, their reasons show what to change",
        alert_kind=AlertKind.RESTART,
    ),
    Rule(
        "SL503",
        "cuda-graph-skipped",
        _CODE,
        "remove what the message names, or compile this function without CUDA graphs if the cost of launching kernels does not matter",
        level=Level.NOTE,
    ),
    Rule(
        "SL504",
        "cuda-graph-recorded-again",
        _CODE,
        "pad inputs to a few sizes, or disable CUDA graphs where sizes are dynamic",
    ),
    Rule(
        "SL505",
        "cache-bypassed",
        _CODE,
        "remove what PyTorch names if later runs should load this code from the compile cache; otherwise each process compiles it again",
        level=Level.NOTE,
    ),
    Rule(
        "SL506",
        "cache-entry-not-saved",
        _CODE,
        "make what PyTorch names picklable, so that later runs can load this code from the compile cache",
        level=Level.NOTE,
    ),
    Rule(
        "SL507",
        "cache-key-differs",
        _CODE,
        "use the same settings, passes and versions for the same graph, so that its entry in the compile cache is found",
        level=Level.NOTE,
    ),
    Rule(
        "SL508",
        "cuda-graph-output-overwritten",
        _CODE,
        "clone() outputs that are kept outside of compiled code, or call torch.compiler.cudagraph_mark_step_begin() once before all calls "
        "whose outputs are kept together",
        level=Level.ERROR,
    ),
    Rule(
        "SL601",
        "export-failed",
        Verdict.FAILED,
        "fix the line at which the export stopped; torch.export.draft_export with the same arguments lists every other problem in one run",
        section=Section.EXPORTS,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL602",
        "export-depends-on-data",
        Verdict.FAILED,
        "assert what always holds with torch._check, use torch.cond if both branches are needed, or keep this line out of the model",
        section=Section.EXPORTS,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL603",
        "export-assumption",
        _CODE,
        "write the assumption into the model with torch._check if it always holds; otherwise the exported program raises or is wrong",
        section=Section.EXPORTS,
    ),
    Rule(
        "SL604",
        "missing-fake-kernel",
        _CODE,
        "register a fake kernel, which computes the shape, dtype and device of the result without data",
        section=Section.EXPORTS,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL605",
        "mismatched-fake-kernel",
        _CODE,
        "make the fake kernel return the same shape, dtype and device as the real one",
        section=Section.EXPORTS,
        level=Level.ERROR,
        alert_kind=AlertKind.FAILURE,
    ),
    Rule(
        "SL606",
        "export-dim-specialized",
        _CODE,
        "rewrite the line that needs this exact size, or declare the dimension as static or Dim.AUTO",
        size_related=True,
        section=Section.EXPORTS,
    ),
    Rule(
        "SL607",
        "export-dim-constrained",
        _CODE,
        "declare what the code accepts (Dim with min= and max=, a multiple such as 4 * Dim, or Dim.AUTO), or rewrite the line",
        size_related=True,
        section=Section.EXPORTS,
    ),
    Rule(
        "SL701",
        "rank-divergence",
        _CODE,
        "give every rank the same sizes and branches, or mark what varies as dynamic on all ranks; otherwise one rank may block on a "
        "collective while another is still compiling",
        section=Section.RANKS,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL702",
        "cross-rank-size",
        _MARK,
        "mark the size as dynamic on every rank, or, where each rank has an accelerator, set "
        "torch._dynamo.config.enable_compiler_collectives = True (torch 2.6 or later)",
        size_related=True,
        section=Section.RANKS,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL703",
        "collective-mismatch",
        _CODE,
        "run the same collectives in the same order on every rank; otherwise the job hangs or exchanges the wrong data",
        section=Section.RANKS,
        level=Level.ERROR,
        alert_kind=AlertKind.RANK,
    ),
    Rule(
        "SL801",
        "budget-exceeded",
        Verdict.BUDGET,
        "remove the causes listed with it, or raise the budget if it is too tight",
        level=Level.ERROR,
        alert_kind=AlertKind.BUDGET,
    ),
    Rule(
        "SL901",
        "trace-cut-off",
        Verdict.TRACE,
        "the last compilation may lack its graph, guards or times",
        problems=("cut-off", "damaged-archive"),
    ),
    Rule(
        "SL902",
        "payload-damaged",
        Verdict.TRACE,
        "this payload (a graph, guards or reasons) is used with care, or left out",
        problems=("checksum-mismatch", "missing-payload", "oversized-payload", "unannounced-payload"),
    ),
    Rule(
        "SL903",
        "record-unreadable",
        Verdict.TRACE,
        "the compilation of the record may lack a fact, so its cause may be incomplete",
        problems=("bad-json", "bad-prefix", "bad-record", "bad-size", "missing-record", "more-problems"),
    ),
    Rule(
        "SL904",
        "unknown-kind",
        Verdict.TRACE,
        "written by a newer torch than shapelog knows: the record is counted but not used",
        problems=("unknown-kind",),
    ),
    Rule(
        "SL905",
        "mixed-processes",
        Verdict.TRACE,
        "several processes or threads wrote to one file; where their records cannot be separated, compilations may be mixed up",
        problems=("mixed-processes", "overlapping-compiles"),
    ),
    Rule(
        "SL906",
        "records-outside-compiles",
        Verdict.TRACE,
        "these records belong to no compile id, so they explain no recompilation",
        problems=("outside-compiles",),
    ),
    Rule(
        "SL907",
        "foreign-file",
        Verdict.TRACE,
        "what is listed here is not part of the report",
        problems=("foreign-file", "unreadable-file", "left-out", "many-members", "named-twice", "nested-archive"),
    ),
    Rule(
        "SL908",
        "analysis-failed",
        Verdict.TRACE,
        "a part of the report is missing; the rest is complete; --debug shows the error",
        problems=("analysis-failed",),
    ),
    Rule(
        "SL909",
        "many-entries",
        Verdict.TRACE,
        "a nearer cache entry may have been missed, so a cause may look more complicated than it is, and a suggestion may be missing",
        problems=("many-entries",),
    ),
)

RULES = {rule.code: rule for rule in _ALL}
# The rule of a recompile of which no cause is known.
UNEXPLAINED = RULES["SL399"]
_BY_PROBLEM = {problem: rule for rule in _ALL for problem in rule.problems}


def remedy_for(rule: Rule, supports_dynamic_sources: bool) -> str:
    """The remedy for the torch version at hand; ``supports_dynamic_sources`` is False before 2.7."""
    return rule.remedy if supports_dynamic_sources else rule.remedy_without_sources or rule.remedy


_ACCEPTING = re.compile(r",? or accept [^;]*$|^(?:otherwise )?accept [^;]*?, or ")


class Remedy(NamedTuple):
    """What to do, in one sentence, and the rule that it comes from."""

    rule: Rule
    text: str

    @property
    def change(self) -> str:
        """What to change, without the alternative to accept more graphs; "" where nothing else is left."""
        parts = (_ACCEPTING.sub("", part) for part in self.text.split("; "))
        return "; ".join(part.removeprefix("otherwise ") for part in parts if not part.startswith(("accept ", "otherwise accept ")))


def any_blocks_marking(codes: Iterable[str]) -> bool:
    """Whether the rule of one of these codes keeps a mark from removing the recompile."""
    return any(RULES[code].blocks_marking for code in codes)


def problem_rule(code: str) -> Rule:
    """The rule of a problem; SL903 for any kind of record that cannot be read."""
    return _BY_PROBLEM.get(code) or RULES["SL903"]
