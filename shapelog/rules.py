"""The rule catalogue: what each code means, whether it is about sizes, and what helps. Codes are never reused."""

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


class Rule(NamedTuple):
    """One kind of axis or problem. ``verdict`` is what a recompile with this cause alone comes to; the remedy is one sentence."""

    code: str
    name: str
    remedy: str
    size_related: bool
    verdict: Verdict


def _rule(code: str, name: str, verdict: Verdict, remedy: str, size_related: bool = False) -> Rule:
    return Rule(code, name, remedy, size_related, verdict)


_MARK, _CODE, _FINE = Verdict.MARKING, Verdict.CODE, Verdict.JUSTIFIED

_ALL = (
    _rule("SL101", "size-varies", _MARK, "mark this dim dynamic: one compile serves all sizes", True),
    _rule("SL102", "int-varies", _MARK, "list it as a dynamic source (mark_dynamic does not work on ints)", True),
    _rule(
        "SL103", "duck-shape", _MARK, "mark one of the two dims dynamic, or set torch.fx.experimental._config.use_duck_shape = False", True
    ),
    _rule(
        "SL104",
        "zero-one-size",
        _FINE,
        "sizes 0 and 1 always get a graph of their own, unless the dim is unbacked (torch._dynamo.decorators.mark_unbacked); "
        "or warm up with another size",
        True,
    ),
    _rule(
        "SL105",
        "stride-varies",
        _CODE,
        "call .contiguous() or use one memory layout; where the stride follows from a slice, mark the sliced dim dynamic",
        True,
    ),
    _rule(
        "SL106",
        "parameter-shape-varies",
        _MARK,
        "parameters are static by default: list this one as a dynamic source, or accept one graph for each width",
        True,
    ),
    _rule(
        "SL107", "rank-varies", _FINE, "nothing marks the number of dims: unsqueeze or flatten to one rank, or accept one graph for each"
    ),
    _rule(
        "SL201", "size-specialized", _FINE, "the code needs the exact value: rewrite that line, or accept one graph for each value", True
    ),
    _rule(
        "SL202",
        "size-specialized-by-framework",
        _FINE,
        "a library or backend pinned the value: try mark_unbacked, or accept one graph for each value",
        True,
    ),
    _rule("SL203", "marked-dynamic-conflict", _CODE, "use maybe_mark_dynamic, or change the line that pins the size", True),
    _rule("SL204", "branch-on-size", _FINE, "a branch on the size splits the graphs: as many graphs as branches taken is the floor", True),
    _rule("SL301", "dtype-varies", _CODE, "warm up with the dtype that you serve, and keep one dtype for each compiled function"),
    _rule("SL302", "requires-grad-varies", _CODE, "call it with the same requires_grad each time (detach(), or no_grad around everything)"),
    _rule(
        "SL303",
        "dispatch-keys-vary",
        _CODE,
        "the tensor is of another kind (inference mode, subclass, view of one): warm up under the same mode as you serve",
    ),
    _rule(
        "SL304", "device-varies", _CODE, "move inputs to one device before the call; where several are used, each needs a graph of its own"
    ),
    _rule(
        "SL305",
        "grad-mode-varies",
        _CODE,
        "warm up in the mode that you serve; where training and evaluation both run, two graphs are needed",
    ),
    _rule("SL306", "autocast-varies", _CODE, "enter autocast before the first call and keep it as it is"),
    _rule("SL307", "global-state-varies", _CODE, "set this once, before the first compiled call"),
    _rule("SL308", "object-identity-varies", _CODE, "reuse one object: create it once, outside of the call"),
    _rule("SL309", "function-recreated", _CODE, "define the function once (not in the loop, not as a new lambda or closure per call)"),
    _rule("SL310", "type-varies", _CODE, "pass one type, or compile one function for each"),
    _rule(
        "SL311",
        "constant-varies",
        _FINE,
        "a graph for each value is justified where the code branches on it; else move it out of the compiled code",
    ),
    _rule("SL312", "float-varies", _CODE, "wrap it in a tensor (torch.tensor(value)): no list makes this float dynamic"),
    _rule("SL313", "container-length-varies", _CODE, "keep the length fixed, pad it, or compile what works on one item"),
    _rule("SL314", "dict-keys-vary", _CODE, "keep the set of keys fixed, or compile the code behind it"),
    _rule(
        "SL315",
        "module-int-varies",
        _MARK,
        "list it as a dynamic source, set torch._dynamo.config.allow_unspec_int_on_nn_module = True, or keep the counter outside",
        True,
    ),
    _rule(
        "SL316", "training-flag-varies", _FINE, "train() and eval() need a graph each; set the mode before the first call if one is enough"
    ),
    _rule("SL317", "aliasing-varies", _CODE, "pass tensors that are distinct (or the same) each time; clone() where one is passed twice"),
    _rule("SL318", "backend-changed", _CODE, "pass one and the same backend function or object to every torch.compile of this code"),
    _rule("SL319", "object-died", _CODE, "keep the object alive as long as the compiled function is used"),
    _rule("SL320", "object-state-varies", _CODE, "set the same attributes in __init__, or pass what changes as an argument"),
    _rule("SL321", "dim-marking-varies", _CODE, "mark the tensor before the first call as well, and in the same way each time"),
    _rule("SL322", "none-or-value", _FINE, "two graphs are justified where the code branches on None; else pass a value each time"),
    _rule("SL399", "unexplained", Verdict.UNEXPLAINED, "record with TORCH_LOGS=recompiles_verbose as well: it names every failed guard"),
    _rule("SL401", "recompile-limit-hit", Verdict.LIMIT, "remove what makes it recompile, or raise torch._dynamo.config.recompile_limit"),
    _rule(
        "SL402",
        "limit-near",
        _CODE,
        "remove what makes it recompile, or raise torch._dynamo.config.recompile_limit, before this code runs eagerly",
    ),
    _rule("SL403", "compile-failed", Verdict.FAILED, "see the error; until then this code runs eagerly or raises"),
    _rule("SL501", "graph-break", _CODE, "move the line that breaks the graph out of the compiled code, or write it with tensors"),
    _rule("SL502", "analysis-restart", _FINE, "one restart is normal; where it costs much, its reason tells what to pass in another way"),
    _rule(
        "SL701",
        "rank-divergence",
        _CODE,
        "give every rank the same sizes and branches, or mark what varies dynamic on all of them: a rank that waits can hang the job",
    ),
    _rule(
        "SL702",
        "cross-rank-size",
        _MARK,
        "mark it dynamic on every rank, or set torch._dynamo.config.enable_compiler_collectives = True (torch 2.6 and later)",
        True,
    ),
    _rule(
        "SL703", "collective-mismatch", _CODE, "let every rank run the same collectives in the same order: this hangs or corrupts the job"
    ),
    _rule("SL801", "budget-exceeded", Verdict.BUDGET, "remove the causes that are listed with it, or raise the budget if it is too tight"),
    _rule("SL901", "trace-cut-off", Verdict.TRACE, "the last compile may lack its graph, guards or times"),
    _rule("SL902", "payload-damaged", Verdict.TRACE, "what this payload says (a graph, guards, reasons) is used with care, or missing"),
    _rule("SL903", "record-unreadable", Verdict.TRACE, "the compile it belongs to may lack a fact, so its cause may be incomplete"),
    _rule("SL904", "unknown-kind", Verdict.TRACE, "a newer torch than shapelog knows: the record is counted, not used"),
    _rule("SL905", "mixed-processes", Verdict.TRACE, "several processes wrote one file; where they cannot be told apart, compiles may mix"),
    _rule("SL906", "records-outside-compiles", Verdict.TRACE, "they belong to no compile id, so they explain no recompile"),
    _rule("SL907", "foreign-file", Verdict.TRACE, "what is named here is not in the report"),
    _rule("SL908", "analysis-failed", Verdict.TRACE, "a part of the report is missing; the rest stands (--debug raises the error)"),
)

RULES = {rule.code: rule for rule in _ALL}

# Before torch 2.8 there is no list of dynamic sources.
_WITHOUT_SOURCES = {
    "SL102": "torch before 2.8 has no list of dynamic sources: pass it as a tensor, or accept the one recompile after which it is dynamic",
    "SL106": "torch before 2.8 has no list of dynamic sources: set torch._dynamo.config.force_parameter_static_shapes = False",
    "SL315": "torch before 2.8 has no list of dynamic sources: keep the counter outside of the module, or make it a tensor",
}


def remedy_for(rule: Rule, lists_sources: bool) -> str:
    """What helps in the torch version at hand; ``lists_sources`` is False before 2.8."""
    return rule.remedy if lists_sources else _WITHOUT_SOURCES.get(rule.code, rule.remedy)


# What is wrong with a trace, by the code of the problem that says it.
_OF_PROBLEM = {
    "cut-off": "SL901",
    "damaged-archive": "SL901",
    "checksum-mismatch": "SL902",
    "missing-payload": "SL902",
    "oversized-payload": "SL902",
    "unannounced-payload": "SL902",
    "bad-json": "SL903",
    "bad-prefix": "SL903",
    "bad-record": "SL903",
    "bad-size": "SL903",
    "missing-record": "SL903",
    "more-problems": "SL903",
    "unknown-kind": "SL904",
    "mixed-processes": "SL905",
    "overlapping-compiles": "SL905",
    "outside-compiles": "SL906",
    "foreign-file": "SL907",
    "unreadable-file": "SL907",
    "left-out": "SL907",
    "many-members": "SL907",
    "named-twice": "SL907",
    "nested-archive": "SL907",
    "analysis-failed": "SL908",
}


def problem_rule(code: str) -> Rule:
    """The rule of a problem; SL903 for any kind of record that cannot be read."""
    return RULES[_OF_PROBLEM.get(code, "SL903")]
