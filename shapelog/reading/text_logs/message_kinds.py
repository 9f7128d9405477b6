"""Which kind of message a line begins, by its artifact or its words, and which lines go on with it."""

import re
from enum import Enum

from shapelog.reading.payloads.cuda_graphs import goes_on_about_sizes
from shapelog.reading.text_logs.lines.exception_names import (
    ABOUT_COMPILER,
    ANY_OF_MODULES,
    NAMES,
    NO_CONFIGS,
    OF_DYNAMO_ALONE,
    OF_TEST,
    QUALIFIED,
    REFUSED_INPUT,
)
from shapelog.reading.text_logs.lines.log_lines import Head
from shapelog.reading.text_logs.lines.mentions import is_in_sentence
from shapelog.reading.text_logs.lines.signs import USER_STACK
from shapelog.reading.text_logs.messages.logged_warnings import ASSERTED, PRINTED, is_of_compiler


class MessageKind(Enum):
    """What a message is about. ``SYMBOLS``, ``START`` and ``OTHER`` are messages of one line."""

    RECOMPILES = "recompilations and their reasons"
    GUARDS = "the guards of an entry"
    GRAPH = "a graph"
    AOT_GRAPH = "a graph after AOTAutograd"
    BREAK = "a graph break"
    LIMIT = "the warning at the recompile limit"
    FAILURE = "a traceback"
    METRICS = "the metrics of compiles"
    STATE = "a state of profile-guided optimization"
    BARE_REASON = "a recompile reason alone"
    EXPLANATION = "the output of torch._dynamo.explain"
    PROFILE = "the report of a CompileProfiler"
    INDUCTOR = "a message of Inductor about CUDA graphs or speed"
    WARNING = "a warning of the compiler about no single compile"
    CAPTURE = "a backward pass that compiled autograd captures again"
    SYMBOLS = "symbolic sizes"
    START = "the beginning of a compile"
    START_AND_STACK = "the beginning of a compile and the stack of the call"
    OTHER = "anything else"


_BY_ARTIFACT = {
    "recompiles": MessageKind.RECOMPILES,
    "recompiles_verbose": MessageKind.RECOMPILES,
    "guards": MessageKind.GUARDS,
    "graph_code": MessageKind.GRAPH,
    "aot_graphs": MessageKind.AOT_GRAPH,
    "graph_breaks": MessageKind.BREAK,
    "cudagraphs": MessageKind.INDUCTOR,
    "perf_hints": MessageKind.INDUCTOR,
}
# Artifacts that nothing is taken from: what Dynamo traces, and code.
_OF_NOTHING = frozenset(("trace_bytecode", "trace_source", "trace_call", "bytecode", "output_code", "kernel_code"))
_SYMBOLIC_WORDS = (
    "create_symbol ",
    "create_unbacked_",
    "eval ",
    "set_replacement ",
    "_update_var_to_range ",
    "track_symint ",
    "create_env",
    "runtime_assert ",
    "could not evaluate ",
    "automatic dynamic ",
)
_STARTS_WITH_STACK = "torchdynamo start compiling "
_STARTS = ("Step 1: torchdynamo start tracing ", "torchdynamo start tracing ")
# Of a traceback that PyTorch logs, whose beginning is not in the log.
_IN_STACK = re.compile(r'\s+File ".*", line \d+, in ')
# What ties the exceptions of a chain together.
CHAINS = re.compile(r"\s*(?:The above exception was the direct cause|During handling of the above exception)")
# Symbolic shapes could not decide a condition; the traceback follows (``recording.py``).
UNDECIDED = "failed while running evaluate_expr(*("
# Frequent lines that nothing is taken from, and kinds of messages of one line.
_IGNORED = ("Skipping guard ", "lru_cache_stats ", "produce_guards", "marking ", "eval_")
# Below the title of a graph break, or the first line left of an exception.
_EXPLAINS = re.compile(r"\s*Explanation: \S")
_REASON = re.compile(r"\s*(?:Graph Break )?Reason: \S")
# A break, where the one before it may be right above; and what has the title of one below it, behind an empty line (torch 2.9 and later).
_BREAKS_AT = re.compile(r"\s*Graph [Bb]reak(?: \([^()]*\))? in user code at ")
_HAS_TITLE_BELOW = re.compile(r"\s*(?:Graph Break Reason: .*:\s*$|\*\*\* While handling this graph break)")
# What somebody may have made an item of a list, or have other words in front of; a sentence of theirs ends with a sign.
_TITLE = re.compile(r" ?(?:.{0,400}(?:: |\] ))?(?:[-*] )?([A-Z]\S* [^:;\u3000-\uffff]{2,150}[^\s.:;,!?])\s*$")
# The first line left of an old graph break, which PyTorch logs without an artifact.
_SETTING = re.compile(r"\s*torch\._dynamo\.config\.capture_\w+ ?= ?True\s*$")
# In the middle of the warning about an exception of the backend, which breaks the graph.
EXECUTING = re.compile(r"\s*While executing %(?P<node>\w{1,80}) ")
# What torch 2.7 and later raise at the recompile limit, where the whole function has to be compiled.
LIMIT_EXCEEDED = (
    r"^[ \t]*Dynamo recompile limit exceeded\s*$|^[ \t]*(?:Explanation: )?Dynamo attempted to recompile the code object too many times\b"
    r"|(?:^\s*|[\"'`])(?:accumulated_)?(?:recompile|cache_size)_limit reached with (?:fullgraph|one_graph)=True"
    r"|(?<=[:\uff1a] )(?:accumulated_)?(?:recompile|cache_size)_limit reached\s*$"
)
# What PyTorch's exceptions are known by where their class is not there: a sentence with what it is about.
_OWN_WORDS = (
    r"Could not (?:guard on|extract specialized integer from) data-dependent expression "
    r"(?=\(|-?\d|[A-Z]\w{0,20}\(|\w?[uzs]\d|True|False)|Guard failed on the same frame it was created"
    r"|Operator does not support running with fake tensors\b"
    r"|Guard check failed: \d{1,9}/\d{1,9}:|AssertionError: Guard check failed:"
    r"|Cannot find a working triton installation|\bwhich is too old to be supported by the triton GPU compiler"
    r"|^\s*(?:\w{1,40}\.){0,4}CompilationError: at \d{1,6}:\d{1,6}:\s*$"
    r"|(?:^[^\w\n]{0,40}|[:(\uff1a\uff08][ \"'`*\u201c\u300c]{0,4})You marked \S.{0,200} as dynamic\b"
    r"|Dynamo failed to run FX node with fake tensors:(?: (?:call_\w|\.{3} got \w)|\s*$)"
    rf"|{REFUSED_INPUT}|^\s*{NO_CONFIGS}|{LIMIT_EXCEEDED}"
    r"|^\s*SyntaxError: failed to compile\s*$|^\s*with program_source:\d{1,9}:\d{1,9}: (?:fatal )?error: "
)
# Below the user's stack: the end of the message about a value of the data, and of any other exception.
BELOW_STACK = (
    r"\s*(?:For C\+\+ stack trace, run with|Set TORCHDYNAMO_VERBOSE=1 for the internal stack"
    r'|Set TORCH_LOGS="\+dynamo" and TORCHDYNAMO_VERBOSE=1 for)\b'
)
# The explanation of a graph break alone, as a person quotes it.
QUOTED_BREAK = (
    r"(?:^\W{0,8}|[\"'`\u201c\u300c]|^[^\n]{0,80}\bExplanation: )"
    r"Dynamo does not know how to trace (?:the builtin|builtin operator|method) `[^`\n{]{1,200}`"
    r"(?: of class `[^`\n{]{1,200}`)?"
)
# The heading above the traceback of a backward graph, which is compiled ahead of its use.
OF_BACKWARD = re.compile(r"\s*failed to eagerly compile backwards for dynamic\b")
# One condition of those that are violated, as PyTorch writes it below their heading.
_CONDITION = r"Not all values of (?:.* are valid because |\S{1,200} = .{1,400} in the specified range .{0,200}satisfy the generated guard )"
# What an exception of another program has in front of the message of PyTorch's.
BEHIND_ANOTHER = r"[ \t]*[\w.]{0,80}(?:Error|Exception): [^\n]{0,200}: "
_IN_OWN_WORDS = re.compile(rf"{_OWN_WORDS}|{_CONDITION}")
# In front of a guard that somebody has as an item of a list, in quotes or behind a colon: by itself, a guard may be one that holds,
# and so is one behind its kind in a tree of guards.
_AT_ITEM = r"(?:^\s*(?:[-*\u2022]|\d{1,3}[.)])\s+[`\"']{0,2}|^\s*[`\"']{1,3}|(?<![A-Z_][A-Z])[:\uff1a] ?[`\"'*]{0,3})"
QUOTED_GUARD = (
    rf"(?:^\W*|{_AT_ITEM}|[\"'`(\u201c\u300c])"
    r"(?=GLOBAL_STATE changed: [a-z]|KeyError on [LG]\[|expected type of '[^\n]{1,300}? to be a tensor type)"
    rf"|{_AT_ITEM}(?=___check_(?:global_state|obj_id|type_id)\(|[\w.\[\]'()<>=!+*/% -]{{1,300}} # "
    r"(?:duck sizing added this equality because|[^\n]{1,400}\(user code shown is first use of this value--))"
)
# What begins a message, in the order in which it is tried; and what may follow on lines that have no head.
_BEGINS: tuple[tuple[MessageKind, re.Pattern[str]], ...] = (
    (MessageKind.METRICS, re.compile(r"\bCompilationMetrics\(\w{1,40}=")),
    (
        MessageKind.LIMIT,
        re.compile(
            r"dynamo hit(?: config\.\w| recompilation|\s*$)|^\s*function: '?.*'? \(.*:\d+\)\s*$|^\s*last reason: "
            r"|`last reason: (?:\d{1,9}/\d{1,9}: |tensor '|GLOBAL_STATE |___\w|[LG]\[)"
        ),
    ),
    (
        MessageKind.FAILURE,
        re.compile(
            r"Traceback \(most recent call last\)|WON'?T CONVERT |Error while creating guard|\bException Type\W{1,8}\w[\w.]{1,80}\W{0,8}$"
            r"|^\s*(?:Error from lowering|Triton compilation failed: \w)"
            rf"|^(?:\s*|{BEHIND_ANOTHER})Constraints violated \("
            rf"|{_OWN_WORDS}"
            rf"|^\s*(?:\w+ +)?(?:{ANY_OF_MODULES}|{NAMES})(?:: |:?$)"
            rf"|{QUALIFIED}(?:(?:'>)?: \S|'> [A-Z]\w+ | (?:> )?\w{{0,40}}Error: |\W{{0,8}}$)"
            r"|\bUnsupported: .{0,200}(?:Variable\b|\bcall_\w)"
            rf"|\b{OF_DYNAMO_ALONE}(?:: | > \w{{0,40}}Error: )\S"
            rf"|backend='[^']{{1,80}}' raised:|{_CONDITION}|^\s*\w*Error: Failed running call_\w"
            rf"|{ABOUT_COMPILER}|^{OF_BACKWARD.pattern}|^{_EXPLAINS.pattern}|^\s*from user code:\s*$|^{BELOW_STACK}"
        ),
    ),
    (
        MessageKind.EXPLANATION,
        re.compile(
            r"^\s*(?:Graph Break Count: \d+\s*$|Dynamo produced \d+ graphs?,? ?with \d+ graph break|ExplainOutput\(graphs=)"
            r"|\breason=['\"].*, user_stack=\[<FrameSummary file |^\s*Break Reason \d+:"
        ),
    ),
    (MessageKind.CAPTURE, re.compile(r"Cache miss due to (?:new autograd node|dynamic shapes|\d+ changed tensor)")),
    (MessageKind.PROFILE, re.compile(r"^\s*(?:Torchdynamo Profiler Report\s*$|Function +Recompiles +Recompile Reasons)")),
    (
        MessageKind.RECOMPILES,
        re.compile(
            r"Recompiling function [^\s{%]|Detected recompile when torch\.compile stance"
            r"|^\W*triggered by the following guard failure(?:s|\(s\))?:|^\W*guard \d{1,9} failures?:\s*$"
        ),
    ),
    (
        MessageKind.BREAK,
        re.compile(
            r"^\s*Graph break from `|^\s*Backend compiler failed with a fake tensor exception at\s*$"
            rf"|UserWarning: (?:Graph break due to unsupported|Dynamo does not know how to trace)|{QUOTED_BREAK}"
            r"|^\s*Graph [Bb]reak(?: \([^()]*\))?(?: in user code at |: from user code at:|: .* from user code at)"
        ),
    ),
    (
        MessageKind.BARE_REASON,
        re.compile(
            r"GuardFail\(reason=|GuardManager check failed"
            r"|\.py:\d{1,9}`? *\| *`?(?:tensor '|GLOBAL_STATE |(?:\w[\w ]{0,20}[ (]'?)?[LG]\[|___\w)"
            r"|(?:^\W*(?:\d{1,9}/\d{1,9}\W{1,5})?|[|\t]\s*`?|: [\"'`]?)\d{1,9}/\d{1,9}: \S"
            r"|^\W{0,8}\d{1,9}/\d{1,9}\W{0,6}\|.*`"
            r"|^\W*tensor '.+?' (?:size|strides?|rank|dtype|requires_grad|dispatch key set|Tensor device index) mismatch"
            r"|\btensor '\S{1,400}?' (?:size|strides?|rank) mismatch.{0,30} expected "
            rf"|{QUOTED_GUARD}"
        ),
    ),
    (MessageKind.GUARDS, re.compile(r"^\s*(?:TREE_GUARD_MANAGER:|GUARDS:\s*$|(?:\| )*\+- \w|[A-Z_]+: check_tensor\()")),
    (MessageKind.STATE, re.compile(r"^\s*(?:hash\(\w+\))?\S.*:\d{1,9}:[\w<>.]+:\s*$")),
    (
        MessageKind.INDUCTOR,
        re.compile(
            r"skipping cudagraphs? (?:due to|because) |cudagraph partition (?:due to|into) "
            r"|CUDAGraph supports dynamic shapes by\b|Re-recording (?:function[= ])?\w"
            r"|We have observed \d{1,9} distinct sizes\. Please"
            r"|\brecording cudagraph tree for (?:symint key )?[\d(]|accessing (?:gradient )?tensor output of CUDAGraphs "
            r"|Unable to hit fast path of CUDAGraphs because |^\s*(?:\w+Error: )?static input data pointer changed",
            re.I,
        ),
    ),
    (
        MessageKind.SYMBOLS,
        re.compile(
            r"^\s*(?:create_symbol|create_unbacked_\w+|(?:eval|runtime_assert) .* \[guard added\]|could not evaluate|set_replacement"
            r"|_update_var_to_range|track_symint|create_env|automatic dynamic \S)"
        ),
    ),
    (MessageKind.WARNING, re.compile(f"{PRINTED}|{ASSERTED}")),
)
_ANY_BEGIN = re.compile(
    r"Recompiling function |Detected recompile|ing guard failure|guard \d|CompilationMetrics\(|torch\._dynamo|dynamo hit|Error: |Hit: "
    r"|LimitExceeded|limit exceeded|many times,|limit reached(?: with |\s*$)"
    r"|Constraints violated|DependentSymNode: |while creating guard|torch\._subclasses|xpected input at|program_source"
    r"|from lowering|eagerly comp|Triton comp|LoweringExc|from user code:|C\+\+ stack|DYNAMO_VERBOSE=1"
    r"|Warning: |: block: \[|Backend compiler failed|WON'?T CONVERT "
    r"|Exception Type|^\s*function: |\d/\d{1,9}: |^\W{0,8}\d{1,9}/\d{1,9}\W{0,6}\||\.py:\d{1,9}`? *\| |^\s*last reason: |Traceback \("
    r"|`last reason: "
    r"|Graph [Bb]reak|GuardFail\(|tensor '|TREE_GUARD|GUARDS:|\+- |check_tensor\("
    r"|:\d{1,9}:[\w<>.]+:\s*$|Dynamo produced|ExplainOutput|<FrameSummary |Break Reason |Unsupported: |Explanation: |Recompile Reasons"
    r"|GLOBAL_STATE |KeyError on |expected type of '|___check_|duck sizing added|shown is first use"
    r"|raised:|valid because|generated guard|triton inst|triton GPU|valid triton"
    r"|data-dependent exp|You marked |uard failed on|run FX node|with fake tensors|[a-z]Error:$|check failed|Cache miss due to"
    r"|[Cc]udagraph|CUDAGraph|Re-recording |pointer changed|Profiler Report|how to trace|torch\._inductor|torch\.fx"
    r"|create_|set_repl|_update_var|track_sym|guard added|automatic dyn"
)
_HEADS_GUARDS = re.compile(r"\s*(?:TREE_GUARD_MANAGER|GUARDS):")
_CONTINUES = {
    MessageKind.RECOMPILES: re.compile(
        r"\s*(?:triggered by|guard \d+ fail|- |User stack trace|\^|~)|\s*File \"| {4,}\S|\S+\d\s*$|\s*\w[^.]{0,60}$"
        r"|\s*(?:# )?\S{1,400}\.py:\d{1,9} in \w"
    ),
    MessageKind.LIMIT: re.compile(
        r"\s*(?:config\.|function: |(?:last )?reasons?:|To log all|[Tt]o diagnose|See http|- )| {3,}\S|\S+ (?:==|is) "
        r"|\s*(?:mismatch[. ]|at index |index \d|expected |actual )|\d{1,18}(?:\. expected |, actual |\.?\s*$)"
        r"|\S+ rank mismatch"
    ),
    MessageKind.EXPLANATION: re.compile(
        r"\s|$|Op Count|Break [Rr]easons|\d+\. |Reason: |User Stack:|<FrameSummary"
        r"|Explanation: |Hint: |Developer debug context: |For more details "
    ),
    MessageKind.PROFILE: re.compile(r""),
    MessageKind.METRICS: re.compile(r"\s+\S"),
    MessageKind.BARE_REASON: re.compile(  # others below it, in a list or on the lines that it was wrapped to
        r"\W{0,8}(?:[LG]\[['\"]|len\([LG]\[|___\w{1,40}\()|\s*(?:at index |index \d|expected |actual |DispatchKeySet\(|\d{1,18}\.? ?)"
    ),
    MessageKind.CAPTURE: re.compile(r"(?!)"),
    MessageKind.BREAK: re.compile(
        r"\s*(?:(?:Graph Break )?Reason:|User code traceback|Explanation|Hint|Developer|For more|If it is an? )|\s+\S|\s*$"
        r"|or:\s*$|to include these operations in the captured graph"
        r"|\*\*\* While handling this graph break|Stack variable source attribution:"
    ),
    MessageKind.GUARDS: re.compile(
        r"\s*(?:(?:\| )*\+- |\| |(?:[A-Z_]+: )?check_tensor\(|RootGuardManager|Guard latency|$|___\w+\(|(?:not )?(?:hasattr|len|list|str)\("
        r"|(?:not )?[LG]\[|-?\d{1,18} <=? [LG]\[|utils_device\.|\w[\w.]{0,200}\.size\(\)\[)"
    ),
    MessageKind.INDUCTOR: re.compile(r"\s*File \"| {3,}\S|\s*$|input name: |\s*Found from\b"),
    MessageKind.STATE: re.compile(
        r"\s*\S.*: (?:tensor size=|scalar |fully dynamic|auto unset|unusual)|\s*(?:hash\(\w+\))?\S.*:\d{1,9}:[\w<>.]+:\s*$"
        r"|PGO detected"
    ),
}
_FAILURE_GOES_ON = re.compile(
    r"\s|$|from user code|Set TORCH|You can suppress|Explanation|Hint|Developer|For (?:more|extended|C\+\+)|FX node"
    r"|The above exception|The error above occurred|During handling|Traceback \("
    r"|Reason:|triggered by|Recompiling function|due to:|torch(?:dynamo)?\.|E  |\w+: |Caused by|User [Ss]tack|If you suspect"
    r"|Potential framework code|ATTENTION: |Maybe you need to add guard_size_oblivious\b|(?:\w{1,80}\.){0,8}\w*Error"
    r"|- (?:Not all values|You marked|The values|The constraints)|\W{0,8}Exception Message\W|\W{0,8}Stack Trace\W{0,8}$|import torch"
    r"|#{1,3} Exception summary|<class '|(?:consider using )?data-dependent |The following call raised this error:|To fix the error, insert"
    r"|Runtime error during autotuning:"
    r"|Name=\S|Guard fail reason: |last reason: |Suggested fixes:|\(\d{1,18}\)"
)
# Between the heading of a stack and the exception, IPython has lines that are not indented.
_OF_IPYTHON = re.compile(
    r"-{1,}> ?\d|-{20,}$|File \S.*:\d|(?:Cell )?In ?\[\d|Cell In|Input In|<ipython-input|\d{1,4} frames$|\S{1,400}\.py in \S+\("
)
_CLASS = re.compile(r"\b[A-Z]\w{0,80}(?:Error|Exception|Unsupported|Failed|Interrupt): ")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]{0,200}: ")
_ERROR = re.compile(r"\W{0,8}(?:E\s+)?[A-Za-z_][\w.]{0,200}:(?:\s|$)")
_OF_TEST = re.compile(OF_TEST)
_RULE = re.compile(r"[=_-]{5}")
_STACK_HEADING = re.compile(r"\W{0,8}Stack Trace\W{0,8}$")
_LISTS_GUARDS = re.compile(r"\s*Failed on the following precompiled guards")
_AFTER_BLANK = {
    MessageKind.RECOMPILES: re.compile(rf"\s*(?:triggered by|guard \d+ fail|- )|{_LISTS_GUARDS.pattern}"),
    MessageKind.LIMIT: re.compile(r"\s*(?:config\.|function: |(?:last )?reasons?:|To log all|[Tt]o diagnose)"),
}
_COMPILED_GUARD = re.compile(
    r"\s*(?:TREE_GUARD_MANAGER|(?:\| )*\+- |\| |GuardDebugInfo\(|result=|verbose_code_parts=|num_guards_executed=|user_stack=|\)?\s*$)"
)
_FIRST_WORDS = {MessageKind.RECOMPILES: "ompil", MessageKind.LIMIT: "dynamo hit"}
_EXPLAINED = (MessageKind.BREAK, MessageKind.EXPLANATION)
_WITH_REASONS = (MessageKind.RECOMPILES, MessageKind.LIMIT, MessageKind.PROFILE)
_BELOW_FAILURE = re.compile(rf"{BELOW_STACK}|You can suppress this exception")
# The levels of messages that are logged without being asked for.
_WARNINGS = frozenset("WEC")
# Where PyTorch logs what it warns of once, on behalf of the compiler and of others.
_ONCE = "torch/_logging/_internal"
# How much of a line is looked at.
_LOOKED_AT = 4_000


def kind_of(head: Head, text: str) -> MessageKind:
    """The kind of a message with a head, by its artifact or its first line."""
    known = _BY_ARTIFACT.get(head.artifact)
    if known is not None:
        return known
    if head.artifact in _OF_NOTHING:
        return MessageKind.OTHER
    if text.startswith(_SYMBOLIC_WORDS):
        return MessageKind.SYMBOLS
    if text.startswith(_STARTS):
        return MessageKind.START
    if text.startswith(_STARTS_WITH_STACK):
        return MessageKind.START_AND_STACK
    if _SETTING.match(text) or ("_dynamo/exc" in head.place and EXECUTING.match(text)) or is_of_item(head, text):
        return MessageKind.BREAK
    if text.startswith(UNDECIDED) or ("convert_frame" in head.place and (_IN_STACK.match(text) or CHAINS.match(text))):
        return MessageKind.FAILURE
    if text.startswith(_IGNORED):
        return MessageKind.OTHER
    kind = _kind_and_place(text)[0] if _ANY_BEGIN.search(text[:_LOOKED_AT]) else MessageKind.OTHER
    if kind is MessageKind.OTHER and head.level in _WARNINGS and not head.artifact and not is_in_stack(text):
        is_once = head.compile != "" and _ONCE in head.place
        return MessageKind.WARNING if is_once or is_of_compiler(head.place) else kind
    return kind


def is_of_item(head: Head, text: str) -> bool:
    """Whether a line is in the stack of a warning about ``Tensor.item()``, the only one that its file has."""
    return "_dynamo/variables/tensor" in head.place and _IN_STACK.match(text) is not None


def kind_of_plain(text: str) -> MessageKind:
    """The kind of a message that a line without a head begins; ``OTHER`` for a sentence that mentions a message of Inductor."""
    if not _ANY_BEGIN.search(text[:_LOOKED_AT]):
        return MessageKind.OTHER
    kind, begin = _kind_and_place(text)
    return MessageKind.OTHER if kind is MessageKind.INDUCTOR and is_in_sentence(text, begin) else kind


def _kind_and_place(text: str) -> tuple[MessageKind, int]:
    """The kind by the words of a line, and where these begin."""
    found = ((kind, match.start()) for kind, pattern in _BEGINS if (match := pattern.search(text[:_LOOKED_AT])))
    return next(found, (MessageKind.OTHER, 0))


def titles_break(text: str, below: str) -> bool:
    """Whether a line that is of no kind by itself is the title of a break: what PyTorch explains in the one ``below``."""
    return _EXPLAINS.match(below) is not None and text[:1].strip() != "" and not text.startswith(_IGNORED)


def title_in(text: str, below: str) -> str:
    """The title of an exception without its class and without a head, where PyTorch explains it in the line ``below``; "" for others."""
    title = _TITLE.match(text) if _EXPLAINS.match(below) else None
    return title[1] if title else ""


def goes_on(kind: MessageKind, text: str, begins: MessageKind) -> bool:
    """Whether a line without a head, which by itself would begin a message of the kind ``begins``, goes on with one of another kind."""
    if kind not in _CONTINUES or begins is MessageKind.INDUCTOR or _HEADS_GUARDS.match(text):
        return False
    if kind is MessageKind.INDUCTOR and goes_on_about_sizes(text):
        return True
    is_part = kind in _EXPLAINED and (_EXPLAINS.match(text) or _REASON.match(text) or heads_user_stack(text))
    if begins is MessageKind.OTHER or is_part:
        return _CONTINUES[kind].match(text) is not None
    return begins is kind or (begins is MessageKind.BARE_REASON and kind in _WITH_REASONS)


def begins_break(text: str) -> bool:
    """Whether a line begins a graph break, whatever is above it."""
    return _BREAKS_AT.match(text) is not None


def has_title_below(text: str) -> bool:
    """Whether a line of a graph break is a heading of PyTorch's, so that what was met is in the next line that is not empty."""
    return _HAS_TITLE_BELOW.match(text) is not None


def lists_compiled_guards(text: str) -> bool:
    """Whether a line is the heading above guards that failed for a call while recompiling was forbidden."""
    return _LISTS_GUARDS.match(text) is not None


def is_compiled_guard(text: str) -> bool:
    """Whether a line below that heading belongs to it: a tree of guards, and what is known of the one that failed."""
    return _COMPILED_GUARD.match(text) is not None


def skips_blank(kind: MessageKind) -> bool:
    """Whether a message may go on after empty lines, which some pages put between lines."""
    return kind in _AFTER_BLANK


def goes_on_after_blank(kind: MessageKind, text: str) -> bool:
    """Whether a line after empty ones goes on with such a message."""
    return kind not in _AFTER_BLANK or _AFTER_BLANK[kind].match(text) is not None


def is_cut_off(kind: MessageKind, text: str) -> bool:
    """Whether the first line that a log has of a message is not the one that begins it."""
    return kind in _FIRST_WORDS and _FIRST_WORDS[kind] not in text


def ends_words(text: str) -> bool:
    """Whether a line ends the words of an exception that may be on several lines: an empty one, or a rule of a report."""
    return not text.strip() or _RULE.match(text) is not None


def ends_stack(text: str) -> bool:
    """Whether a line of a traceback is the exception, below the stack, which is indented."""
    return bool(text.strip()) and not text[:1].isspace() and not _OF_IPYTHON.match(text)


def is_in_own_words(text: str) -> bool:
    """Whether a line is an exception by PyTorch's own words for it, without its class or a stack."""
    return _IN_OWN_WORDS.search(text[:_LOOKED_AT]) is not None


def heads_user_stack(text: str) -> bool:
    """Whether a line is the heading of the user's stack, which PyTorch writes below the message of an exception."""
    return text.strip() == USER_STACK


def follows_stack(text: str) -> bool:
    """Whether a line is one that PyTorch writes below the user's stack: an exception as Python writes it, or how to see more of it."""
    return _EXCEPTION.match(text) is not None or re.match(BELOW_STACK, text) is not None


def is_exception(text: str) -> bool:
    """Whether a line names the class of an exception, perhaps behind other words."""
    return _CLASS.search(text[:_LOOKED_AT]) is not None


def is_error(text: str) -> bool:
    """Whether a line is an exception as a backend raised it: its class, and its message where it has one."""
    return _ERROR.match(text) is not None


def is_of_test(text: str) -> bool:
    """Whether a line is that of a test which failed, in the summary of pytest."""
    return _OF_TEST.match(text) is not None


def is_frame(text: str) -> bool:
    """Whether a line of a stack names a file, a line and a function."""
    return _IN_STACK.match(text) is not None


def is_in_stack(text: str) -> bool:
    """Whether a line may be one of a stack: it is indented."""
    return text[:1].isspace() and bool(text.strip())


def ends_failure(text: str) -> bool:
    """Whether a line is one that PyTorch writes at the end of an exception: how to see more of it, or nothing."""
    return _BELOW_FAILURE.match(text) is not None


def heads_traceback(text: str) -> bool:
    """Whether a line is the heading of a traceback of Python's."""
    return text.strip() == "Traceback (most recent call last):"


def heads_other(text: str) -> bool:
    """Whether a line is the first one that PyTorch logs about a recompilation, or of the warning at the recompile limit."""
    return text.startswith(("Recompiling function ", "torch._dynamo hit config."))


def heads_stack(text: str) -> bool:
    """Whether a line is the heading of a stack in a report."""
    return _STACK_HEADING.match(text) is not None


def heads_output(text: str) -> bool:
    """Whether a line is the heading of what Inductor ran or of what that printed, which follows up to an empty line."""
    return text.strip() in ("Command:", "Output:")


def failure_goes_on(text: str) -> bool:
    """Whether a line behind the name of an exception still belongs to it: its message, its cause, PyTorch's hints."""
    return _FAILURE_GOES_ON.match(text) is not None
