"""Where a compilation failed, and what to do about it."""

import re

from shapelog.model.compile import Compile
from shapelog.reading.payloads.compiler_messages import DISABLED, LOST_EXCEPTION, LOST_REASON, NO_MESSAGE, CompilerMessage
from shapelog.reading.payloads.constraint_violations import HAS_OWN_GRAPH, MUST_EQUAL, OF_UNKNOWN_CONDITION, REQUIRES, TREATED_APART
from shapelog.reading.payloads.error_titles import LINE_CUT_OFF, METAL_STOPPED, OUTSIDE_OF_RANGE, TRITON_STOPPED, UNCOMPILED_CPP
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.became_dynamic import EarlierSymbols
from shapelog.recompiles.int_usage import RANGE_PARTS, Use, spelled, use_in, uses_whole_range
from shapelog.report.details.cache_remedies import remedy_of_reason
from shapelog.report.details.call_remedies import of_call, of_error
from shapelog.report.details.raising_calls import RaisingCall, declares_amiss, raising_call
from shapelog.report.details.uncompiled_calls import LEFT_TO_PYTHON
from shapelog.text import enumerated, file_name

_ON_FAKE_TENSORS, _TRACING = "Dynamo (running an operation on fake tensors)", "Dynamo (tracing the code)"
_OF_OPERATOR = "Dynamo (tracing an operator that takes functions)"
THE_BACKEND = "the backend"
# What a traceback passes through, latest stage first.
_STAGES = (
    ("torch/_inductor/codegen", "code generation"),
    ("torch/_inductor", "Inductor"),
    ("torch/_functorch", "AOTAutograd"),
    ("torch/_dynamo/guards.py", "guards"),
    ("torch/_dynamo", "Dynamo"),
    ("torch/_dynamo/repro/", THE_BACKEND),  # around each call of a backend
    ("torch/_dynamo/backends/", THE_BACKEND),
)
_OF_ANY_BACKEND = "BackendCompilerFailed"
_TYPES = {
    **dict.fromkeys(LEFT_TO_PYTHON, _TRACING),
    _OF_ANY_BACKEND: THE_BACKEND,
    "ConstraintViolationError": "",
    "TorchRuntimeError": _ON_FAKE_TENSORS,
    "UncapturedHigherOrderOpError": _OF_OPERATOR,
    "InternalTorchDynamoError": "Dynamo (internal error)",
    "InductorError": "Inductor",
    "LoweringException": "Inductor",
}
_DECLARED = "declare it as Dim.AUTO or with this size, or change the line that requires a fixed size"
_LARGER_EXAMPLE = "export with an example input whose size is 2 or more there, as sizes 0 and 1 are always fixed"
_DECLARED_AUTO = "declare it as Dim.AUTO, or change the line that requires this"
_MARKED_MAYBE_ALONE = "use torch._dynamo.maybe_mark_dynamic"
_MARKED_MAYBE = f"{_MARKED_MAYBE_ALONE}, or change the line that requires this"
_LIKE_INPUTS = (
    "give dynamic_shapes the structure of the inputs: a dict with the names of the arguments, or a tuple of them in their order, and a "
    "list, tuple or dict for each one that holds tensors; None for what is no tensor"
)
_FIXED_TO_ONE = re.compile(r"\bfixes (?:it|them) to [01]$")
_SAME_DIM = "declare both as the same Dim, or as Dim.AUTO, or change the line that requires this"
_DECLARED_RANGE = "declare this range, or Dim.AUTO, or change the line that requires it"
_DECLARED_EACH = "declare each with the range or size that the code allows, or as Dim.AUTO, or change the lines that require this"
# Both ends have to be there: a range that is open is suggested where it lacks one.
_DECLARED_SPAN = re.compile(r"in the specified range (?P<least>\d{1,18}) <= (?P<name>\w{1,80}) <= (?P<most>\d{1,18})\b")
_SUGGESTED_DIM = re.compile(r"^\s*(?P<name>\w{1,80}) = Dim\('\w{1,80}', min=(?P<least>\d{1,18}), max=(?P<most>\d{1,18})\)", re.M)
_DECLARE_A_PART = (
    "PyTorch suggests the range that is declared already: declare a multiple that the code accepts, such as 2 * Dim or 4 * Dim, pad the "
    "input to one, or change the line that requires it"
)
_WIDER_RANGE = "mark or declare a range with this size in it, or bring the input to a size within the range"
_MARKED_RANGE = "mark this range, or change the line that requires it"
SHOWN_BY = 'which TORCH_LOGS="+dynamic" shows'
_OF_DATA = "assert what always holds of {what} with torch._check, use torch.cond if both branches are needed, or move the line out"
_INTEGER_OF_DATA = (
    "keep {what} in a tensor (no .item(), int() or tolist() before this operation), or compute it before the compiled code and pass it as "
    "an int: here its value is needed, and an assertion does not give it"
)
_NEEDS_INTEGER = "Could not extract specialized integer"
_SYMBOL_OF_DATA, _ORIGIN_OF = re.compile(r"\bu\d{1,9}\b"), 'TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL="{}" shows where {} comes from'
_CREATE_BEFORE = "create the module before the compiled call, or accept that its __init__ runs in eager mode"
_SIZE_OF_DATA = (
    "set torch._dynamo.config.capture_dynamic_output_shape_ops = True, or rewrite the line without an output whose size depends on the "
    "data, as torch.where in place of a boolean mask"
)
_MORE_OF_TEXT = "add the log lines up to the exception: they name the error"
_NAMES_GUARD = "add the rest of this message: it names the guard that rejects the very call that it was made for"
_WITHOUT_CONDITIONS = re.compile(r"Constraints violated[.!]*")
_CONDITIONS = "add the rest of this message: it names each size, and what the code does with it"
_MORE_OF_DYNAMO = 'run it with TORCH_LOGS="+dynamo", which shows the operation that failed and why'
# Where a text log lacks the reason of a graph break.
NAMES_REASON = "add the other log lines of this graph break: they name its reason"
_OUTPUT_OF_COMPILER = "add the log lines that follow, with what the C++ compiler printed: its first error names what to do"
_OF_METAL = (
    'update PyTorch, which made this kernel; until then, compile this code with backend="aot_eager", or wrap it in torch.compiler.disable'
)
_OWN_ERROR = (
    "check this before the compiled call and raise there: a function that raises while it is compiled runs in eager mode from then on"
)
_CONSTANT = "move this line out of the compiled code, or compile with dynamic=False, which keeps {what} constant (one graph per value)"
_FORBIDDEN = re.compile(r"Attempt to trace forbidden callable <function (\w+)")
_BEFORE_THE_CALL = "call {function} before the compiled code is called, not in it"
_STRICT_CACHE = re.compile(r"\bBypass(?:AOTAutograd|FxGraph)Cache\b")
_CACHED = "{remedy}, or compile without torch._functorch.config.strict_autograd_cache, which makes this an error"
_MAKE_CACHEABLE = "remove what PyTorch names"
_BUG = "report this bug to PyTorch; until then, keep what the guard names from changing, or wrap this code in torch.compiler.disable"
_LOOK_AT_ARGUMENTS = (
    "check the inputs of this operation (types, shapes, dtypes, devices): most often it fails without torch.compile, too; "
    "a custom operator needs a fake implementation"
)
# A method of tensors that the code calls on an array of NumPy.
_OF_ARRAY = re.compile(r"'ndarray' object has no attribute '\w+'")
_TO_TENSOR = "convert this NumPy array to a tensor, as with torch.as_tensor, before a method of tensors is called on it"
# What a kernel or a fake implementation in C++ without symbolic sizes raises.
_WITHOUT_SYMBOLS = re.compile(r"Cannot call \w+\(\) on tensor with symbolic sizes/strides")
_STATIC_SIZES = (
    "this operator does not take symbolic sizes: compile this code with dynamic=False, or wrap the operation in a function with "
    "torch.compiler.disable"
)
# Compiled autograd makes sizes that varied symbolic whatever the settings (torch 2.13).
_PLAIN_AUTOGRAD = (
    "this operator does not take symbolic sizes: run this backward pass without compiled autograd, or with sizes that stay the same"
)
# Where Dynamo stops in the graph of a backward pass, which no line of a user is in.
OF_CAPTURED_GRAPH = "run this backward pass without compiled autograd: the line is of the graph that it made, not of your code"
_LEAVE_OUT = "rewrite the line where Dynamo stops, or, without fullgraph=True, wrap it in a function with torch.compiler.disable"
# Of an operator such as ``cond``, which needs the whole graph of each function that it takes; until torch 2.8, what breaks one may be in
# another exception alone.
_IN_ONE_GRAPH = (
    "rewrite the line where Dynamo stops: the functions that this operator takes have to be one graph each, so that "
    "torch.compiler.disable does not help in them"
)
_BROKEN_ABOVE = "Scroll up to find out what causes the graph break"
_LOOK_ABOVE = (
    "look for the exception that PyTorch raised before this one: it names what breaks the graph of a function that the operator takes"
)
# A break that somebody wants there; the hint that goes with it is not in a text that is cut off.
_ALLOW_BREAK = "compile without fullgraph=True, or remove torch.compiler.disable from the function that is called"
_LEAVE_OUT_LOOP = (
    "rewrite the line where Dynamo stops, or, without fullgraph=True, wrap the whole loop around it in a function with "
    "torch.compiler.disable"
)
_OTHER_BACKEND = (
    'this is an error in the compiler: update PyTorch, compile this code with backend="{}", or wrap it in torch.compiler.disable'
)
# A size, as the compiler names it in an error.
_SYMBOL = re.compile(r"\bs\d{1,9}\b")
# The same among the arguments of the operator that Inductor stopped at, ``args[1]: s0 >= 1043``.
_SYMBOL_IN_ARGUMENT = re.compile(r"^\s*args\[\d{1,3}\]: (?!TensorBox)[^\n]{0,200}?\bs\d{1,9}\b", re.M)
_WITHOUT_SYMBOL = (
    "this is an error in the compiler, with a size that is symbolic: update PyTorch, compile this code with dynamic=False (one graph per "
    "size), or wrap it in torch.compiler.disable"
)
_LEAVE_TO_PYTHON = "Dynamo calls this an error of its own: update PyTorch, or wrap the code that it stops at in torch.compiler.disable"
# A frame of an installed package. What sympy and others that torch is built on raise here is an error of torch.
_OF_PACKAGE = re.compile(r'File "[^"\n]*[\\/](?:site|dist)-packages[\\/](\w+)[\\/]([^"\n]*)", line (\d{1,9})')
_UNDER_TORCH = frozenset(("functorch", "jinja2", "mpmath", "networkx", "numpy", "sympy", "torch", "torchgen", "triton"))
_UPDATE_PACKAGE = "{0} raises this while Dynamo compiles ({1}): use a version of {0} that fits this PyTorch, or run without it"
_OF_NAMED_BACKEND = "the backend {} raises this: fix or update it, use another one, or wrap this code in torch.compiler.disable"
# The one that DDPOptimizer puts around a backend is named after its method.
_OF_DDP = "compile_fn"
_WHOLE_GRAPH = (
    "if this is code under DistributedDataParallel, PyTorch's DDPOptimizer splits the graph: set "
    "torch._dynamo.config.optimize_ddp = False, which leaves it whole, or update PyTorch; if compile_fn is a backend of your own, fix it"
)
_NAMED = re.compile(r"backend='(?!inductor'|aot_eager|eager')([^'\n]{1,80})' raised:")
# What an error asks for: a setting of the compiler or of the environment. Others only show more, or hide the error.
_SETTING = re.compile(
    r"\btorch\._\w{1,40}\.config\.(?!suppress_errors)\w{1,80}(?:\.\w{1,80})? ?= ?\w{1,40}"
    r"|\b(?!TORCH_LOGS|TORCHDYNAMO_VERBOSE)[A-Z][A-Z\d]{0,30}_[A-Z\d_]{1,60}=:?\w(?:[\w:/-]|\.(?=\w)){0,80}"
)
_SET = "set {}, which the error names"
# In front of a setting in a sentence, where that is what stands in the way.
_IN_THE_WAY = re.compile(r"\b(?:[Cc]annot|[Nn]ot (?:be )?(?:supported|allowed|compatible)|not support|incompatible|conflicts?)\b")
_TOO_LARGE = re.compile(r"\bout of resource\b")
_SMALLER_KERNEL = (
    "a kernel needs more registers or shared memory (not the GPU's own memory) than a multiprocessor of this GPU has: update PyTorch and "
    'Triton, compile this code with backend="aot_eager", or wrap it in torch.compiler.disable'
)
# Kernels that Inductor makes from a template, whose blocks have sizes that a caller of flex_attention may choose.
_OF_TEMPLATE = re.compile(r"\btriton_(?:tem_|flex_)")
_SMALLER_BLOCKS = (
    "the kernel needs more shared memory (not the GPU's own memory) than a multiprocessor of this GPU has: if it is that of "
    'flex_attention, pass smaller blocks or fewer stages, kernel_options={"BLOCK_M": 32, "BLOCK_N": 32, "num_stages": 1}; otherwise '
    'update PyTorch and Triton, or compile this code with backend="aot_eager"'
)
_MORE_OF_KERNEL = "add the rest of this message: it has the line, a caret below it, and the reason"
_OTHER_TRITON = (
    "update PyTorch and Triton; if the line casts to or from a type that this GPU lacks, such as fp8, use another dtype; or compile "
    'this code with backend="aot_eager", or wrap it in torch.compiler.disable'
)
_LACKS_DTYPE = re.compile(r"\b(fp8e\w{1,10}|float8_\w{1,20}) (?:data type is )?not supported (?:on|in) ")
_OTHER_DTYPE = "this GPU has no {}: use a dtype that it has, such as bfloat16, for these weights or values, or leave this code uncompiled"
_BY_COMPILER = (
    "look at what {} printed above this error, or run its command: most often a header is missing, such as Python.h of Python's "
    "development package, or libcuda.so of the GPU's driver"
)
# What Inductor needs on the machine, and cannot find.
_NOT_INSTALLED = (
    (re.compile(r"Compiler: (\S+) is not found"), "install the C++ compiler {} or put it on PATH, or name another one in CXX"),
    (
        re.compile(
            r"CalledProcessError: Command '?\[?'?(?:[^'\n]{0,400}[\\/])?"
            r"((?:[\w-]+-)?(?:[gt]?cc|[gc]\+\+|clang(?:\+\+)?|cl)(?:-\d+)?(?:\.exe|\.EXE)?)'"
        ),
        _BY_COMPILER,
    ),
    (re.compile(r"Failed to find C compiler"), "install a C compiler, which Triton calls, or name one in CC"),
    (
        re.compile(r"FileNotFoundError: .*: '((?:[\w-]+-)?(?:g?cc|[gc]\+\+|clang(?:\+\+)?|icp?x|nvcc|hipcc)(?:-\d+)?)'"),
        "install the compiler {} or put it on PATH",
    ),
    (
        re.compile(r"libcuda\.so cannot found"),
        "let the linker find libcuda.so of the GPU's driver, which Triton needs: /sbin/ldconfig, or a link with this name",
    ),
    (
        re.compile(r"OSError: \[Errno (?:5|28|30|122)\]"),
        "this is an error of the disk, not of the code: look at the one with the caches, or name a directory on another one in "
        "TORCHINDUCTOR_CACHE_DIR",
    ),
    (
        re.compile(r"PermissionError: \[(?:Errno (?:1|13)|WinError (?:5|32))\].*(?:torchinductor_|[\\/]\.(?:triton|cache)[\\/])"),
        "name a directory in TORCHINDUCTOR_CACHE_DIR (or TRITON_CACHE_DIR) in which this user may write",
    ),
    (
        re.compile(r"FileExistsError: .*(?:torchinductor_|[\\/]\.(?:triton|cache)[\\/])"),
        "update PyTorch, which replaces such a file in newer versions, or name a directory that no other process writes to in "
        "TORCHINDUCTOR_CACHE_DIR",
    ),
    (
        re.compile(r"PermissionError: \[WinError 5\] [^'\n]*$"),  # of a file, Windows would name it
        "Windows did not start a program that this needs, most often the C compiler: name the program itself in CC, not its folder",
    ),
    (
        re.compile(r"(?:Cannot open include file|fatal error): '?([\w./+-]+)'?(?:: No such file|' file not found)"),
        "install what the header {} belongs to, or run from a prompt where the C++ compiler finds it (on Windows, that of Visual Studio)",
    ),
    (
        re.compile(
            r"(?:symbol not found in flat namespace '_{0,3}|undefined symbol: _{0,2}|Library not loaded: \S*)(kmpc_\w|GOMP_\w|lib[gi]?omp)"
        ),
        "install OpenMP (libomp or libgomp), which the compiled C++ code needs, where the loader finds it",
    ),
    (re.compile(r"\bld: cannot find (-l\S+)"), "install the library that the linker does not find ({}), or put it on LIBRARY_PATH"),
    (
        re.compile(r"Cannot find a working triton installation"),
        "install Triton for this version of PyTorch and this GPU (on Windows, the package triton-windows), or compile this code with "
        'backend="aot_eager"',
    ),
    (
        re.compile(
            r"cannot import name '?\w+'? from '?(triton)\b|No module named '(triton)[.']|module 'triton(?:\.[\w.]+)?' has no attribute '"
            r"|'(?:CompiledKernel|JITFunction|ASTSource|AttrsDescriptor)' (?:object )?has no attribute '"
        ),
        'install the version of Triton that belongs to this version of PyTorch, or compile this code with backend="aot_eager"',
    ),
    (
        re.compile(r"(?:Unsupported device type: |\bDevice (?=\w+ not supported))(\w+)"),
        "use a backend that supports the device {}, or update what adds this device to PyTorch",
    ),
    (
        re.compile(r"too old to be supported by the triton GPU compiler"),
        'compile this code with backend="aot_eager", leave it uncompiled, or use a GPU that Triton supports',
    ),
    (
        re.compile(r"FileNotFoundError: [^'\n]{0,200}'[A-Za-z]:(?:\\\\?(?!\\)|[^'\\\n]){258,}"),
        "name a directory with a shorter path in TORCHINDUCTOR_CACHE_DIR: this path is longer than the 259 characters that Windows allows",
    ),
    (
        re.compile(r"FileNotFoundError: .*[\\/]torchinductor_"),
        "keep the cache directory of Inductor while the program runs, or name one that nothing else deletes in TORCHINDUCTOR_CACHE_DIR",
    ),
    (
        re.compile(r"\bbackend='(\w+)' raised:\s+(?:ImportError|ModuleNotFoundError): (?!cannot import name)"),
        "install what the backend {} needs, which the error names, or use another backend",
    ),
    (re.compile(r"\brequires (jinja2)\b"), "install {}, which the templates of Inductor need"),
    (re.compile(r"\bduring CUDA graph capture\b"), "call this code once before the capture, so that it is compiled by then"),
    (re.compile(r"\bNo module named '((?!torch\b)[\w.]+)'"), "install the module {}, which the error asks for"),
)
# The guards on sizes, without the exception.
# A guard that could not be made, without the exception that follows; and one that rejects its own call, without that guard.
_GUARD_ALONE = re.compile(r"\(SHAPE_ENV\)$|^error while creating a guard\b[^:]*$")
_REJECTS_OWN_CALL = re.compile(r"^(?:\w+: )?Guard failed on the same frame\b")
# An exception of Python's that the traced line raised, ``a, b = 1``.
_OBSERVED = re.compile(r"Observed exception: \w+(?:Error|Exception)\b")
_OBSERVED_UNNAMED, _IN_EAGER_TOO_HINT = "Observed exception", "Dynamo has detected that tracing the code will result in an error"
IN_EAGER_TOO = "most likely this line raises without torch.compile as well: fix it, or what it is given"
_OF_BACKEND = frozenset((THE_BACKEND, "code generation", "Inductor", "AOTAutograd"))
_AOT_EAGER = re.compile(r"backend='aot_eager|Backend compiler `aot_eager")
_BREAK_OF_BACKEND = "Backend compiler exception"


def stage(compile: Compile) -> str:
    """The part of the compiler that gave up, "" where nothing shows that."""
    text, kind = compile.error.replace("\\", "/"), compile.metrics.fail_type
    if compile.metrics.fail_reason.startswith(_BREAK_OF_BACKEND):  # without fullgraph, Dynamo makes a graph break of it
        kind = _OF_ANY_BACKEND
    if kind in _TYPES and kind != _OF_ANY_BACKEND:
        return _TYPES[kind]
    stages = _STAGES[:3] if kind == _OF_ANY_BACKEND else _STAGES
    deepest = max(((text.rfind(path), len(path), name) for path, name in stages if path in text), default=(-1, 0, ""))
    if deepest[2] == "Dynamo" and compile.failure.title == LOST_EXCEPTION:
        return ""  # what is missing of the stack may lead into a later stage
    return deepest[2] or _TYPES.get(kind, "")


def own_remedy(
    compile: Compile,
    message: CompilerMessage,
    contradicts_mark: bool,
    is_text: bool,
    line: StackFrame | None,
    earlier: EarlierSymbols | None,
) -> str:
    """What to do about a failure, "" for what its rule recommends.

    ``contradicts_mark``: the code contradicts a mark or a declaration. ``line`` is where Dynamo stopped. ``earlier`` is what was symbolic
    in the compiles before this one, None where no call of this code was compiled.
    """
    return (
        (_left_out(compile, message) if is_text else "")
        or _about_dtype(compile, message)
        or _what_to_do(message, compile.metrics.fail_reason, contradicts_mark)
        or _about_exceptions(compile)
        or (_keep_constant(compile, earlier, line) if earlier is not None else "")
        or (IN_EAGER_TOO if not contradicts_mark and message.stack and _raises_in_eager_mode(message) else "")
        or ("" if contradicts_mark else _by_stage(compile, message, line))
    )


def is_in_captured_graph(compile: Compile, line: StackFrame | None) -> bool:
    """Whether a line is of the graph of a backward pass that compiled autograd made."""
    return compile.id.autograd is not None and line is not None and line.file.startswith("<eval_with_key>")


def _raises_in_eager_mode(message: CompilerMessage) -> bool:
    """Whether the traced line raised an exception of Python's, or one that is not named and that PyTorch expects without it as well."""
    is_expected = any(hint.startswith(_IN_EAGER_TOO_HINT) for hint in message.hints)
    return bool(_OBSERVED.match(message.title)) or (message.title == _OBSERVED_UNNAMED and is_expected)


def _left_out(compile: Compile, message: CompilerMessage) -> str:
    """What a text lacks of a failure, and how to get it."""
    if message.title.endswith(UNCOMPILED_CPP):
        return _OUTPUT_OF_COMPILER
    if METAL_STOPPED in message.title:
        return _OF_METAL
    if message.title == LOST_REASON:
        return NAMES_REASON
    if _WITHOUT_CONDITIONS.fullmatch(message.title) or message.title.endswith(OF_UNKNOWN_CONDITION):
        return _CONDITIONS if raising_call(compile) is RaisingCall.EXPORT else f"{_CONDITIONS}; or {_MARKED_MAYBE_ALONE}"
    return _MORE_OF_DYNAMO if message.title == NO_MESSAGE else ""


def suggests_what_is_declared(reason: str) -> bool:
    """Whether every fix that PyTorch suggests for the sizes of an export is the range that the same message has as the declared one."""
    declared = {found["name"]: (found["least"], found["most"]) for found in _DECLARED_SPAN.finditer(reason)}
    suggested = {found["name"]: (found["least"], found["most"]) for found in _SUGGESTED_DIM.finditer(reason)}
    return bool(suggested) and all(declared.get(name) == span for name, span in suggested.items())


def _about_contradicted_mark(message: CompilerMessage) -> str:
    """About a mark or a declaration that the code contradicts; "" for what the rule recommends."""
    if OUTSIDE_OF_RANGE in message.title:
        return _WIDER_RANGE
    is_declared = " declared " in message.title
    if any(words in message.title for words in (" but the code only allows ", HAS_OWN_GRAPH, TREATED_APART)):
        if " but the code fixes " in message.title:
            return _DECLARED_EACH if is_declared else _MARKED_MAYBE
        return _DECLARED_RANGE if is_declared else _MARKED_RANGE
    if REQUIRES in message.title:
        return _DECLARED_AUTO if is_declared else _MARKED_MAYBE
    if message.title.startswith(MUST_EQUAL):
        return _SAME_DIM
    if is_declared and _FIXED_TO_ONE.search(message.title):
        return f"{_LARGER_EXAMPLE}; otherwise {_DECLARED}"
    return (_DECLARED.replace("it", "them", 1) if " are declared " in message.title else _DECLARED) if is_declared else ""


def _what_to_do(message: CompilerMessage, reason: str, contradicts_mark: bool) -> str:
    """About a mark or a declaration that the code contradicts, a bug of PyTorch, a value that only the data decide, a function that may
    not be traced, a cache that may not be bypassed, and an exception that the text has lost; "" for what the rule recommends.
    """
    if message.is_bug:
        return _BUG
    if contradicts_mark and suggests_what_is_declared(reason):
        return _DECLARE_A_PART
    if contradicts_mark and message.title != LOST_EXCEPTION:
        return _about_contradicted_mark(message)
    if declares_amiss(reason):
        return _LIKE_INPUTS
    if message.depends_on_data:
        return _about_data(message)
    if is_own_init(message):
        return _CREATE_BEFORE
    if message.is_raised_by_code:
        return _OWN_ERROR
    return _by_words(message, reason)


def _about_data(message: CompilerMessage) -> str:
    """About a value that only the data decide; how to find its line where the message has none of the user's."""
    symbols = sorted(set(_SYMBOL_OF_DATA.findall(message.title)))
    needed = _INTEGER_OF_DATA if _NEEDS_INTEGER in message.title else _OF_DATA
    remedy = needed.format(what=enumerated(symbols) or "this value")
    has_own_line = any(not is_library(line.file) for line in message.stack)
    return remedy if has_own_line or not symbols else f"{remedy}; {_ORIGIN_OF.format(symbols[0], symbols[0])}"


def _by_words(message: CompilerMessage, reason: str) -> str:
    """What the words of an error show that the rule does not know; "" for what it recommends."""
    for words, missing in _NOT_INSTALLED:
        if found := words.search(message.title):
            return missing.format(*found.groups())
    if known := of_error(f"{message.title} {message.explanation} {reason}"):
        return known
    if _GUARD_ALONE.search(message.title):
        return _MORE_OF_TEXT
    if _REJECTS_OWN_CALL.match(message.title):
        return _NAMES_GUARD
    if TRITON_STOPPED in message.title:
        return f"{_MORE_OF_KERNEL}; otherwise {_OTHER_TRITON}" if LINE_CUT_OFF in message.title else _OTHER_TRITON
    if _TOO_LARGE.search(reason):
        return _SMALLER_BLOCKS if _OF_TEMPLATE.search(reason) else _SMALLER_KERNEL
    if forbidden := _FORBIDDEN.search(message.title):
        return _BEFORE_THE_CALL.format(function=forbidden[1])
    if _STRICT_CACHE.search(message.title):
        return _CACHED.format(remedy=remedy_of_reason(reason) or _MAKE_CACHEABLE)
    return _MORE_OF_TEXT if message.title.endswith(LOST_EXCEPTION) else ""


def _about_dtype(compile: Compile, message: CompilerMessage) -> str:
    """About a type of float8 that the GPU lacks, as the error or one of those below it has it."""
    found = _LACKS_DTYPE.search(" ".join((message.title, *(item.message for item in compile.exceptions))))
    return _OTHER_DTYPE.format(found[1]) if found else ""


def _about_exceptions(compile: Compile) -> str:
    """About an operator whose output has a size that only the data decide, where the backend met it (a masked assignment, say), and about
    a backend that is a function of the program and raised the error itself.
    """
    if any(item.type == "DynamicOutputShapeException" for item in compile.exceptions):
        return _SIZE_OF_DATA
    is_of_backend = compile.metrics.fail_type == _OF_ANY_BACKEND or compile.metrics.fail_reason.startswith(_BREAK_OF_BACKEND)
    is_own = is_of_backend and stage(compile) == THE_BACKEND
    innermost = [item.stack[-1] for item in compile.exceptions if item.stack] if is_own else []
    own = [line for line in innermost if not is_library(line.file)]
    return f"fix this backend, which raises the error at {file_name(own[0].file)}:{own[0].line}" if own else ""


def _of_package(traceback: str) -> str:
    """About a package that Dynamo calls, such as one that patches it, where the innermost line is of it; "" for any other line."""
    _, _, innermost = traceback.partition("from user code:")[0].rpartition("\n  File ")
    found = _OF_PACKAGE.match(f"File {innermost}")
    if not found or found[1] in _UNDER_TORCH:
        return ""
    return _UPDATE_PACKAGE.format(found[1], f"{file_name(found[2])}:{found[3]}")


def _by_stage(compile: Compile, message: CompilerMessage, line: StackFrame | None) -> str:
    """Where nothing more is known: what avoids an error of this part of the compiler, "" for what the rule recommends."""
    if raising_call(compile):
        named = _named_setting(message.title)
        return _SET.format(named) if named else of_call(compile)
    found = stage(compile)
    if DISABLED.match(message.title):
        return _ALLOW_BREAK
    if is_in_captured_graph(compile, line):
        return OF_CAPTURED_GRAPH
    if found == _OF_OPERATOR:
        return _LOOK_ABOVE if message.title.rstrip(".").endswith(_BROKEN_ABOVE) else _IN_ONE_GRAPH
    if found.startswith("Dynamo (tracing"):
        return _LEAVE_OUT_LOOP if message.is_in_loop else _LEAVE_OUT
    if _WITHOUT_SYMBOLS.search(f"{message.title} {message.explanation}"):
        return _STATIC_SIZES if compile.id.autograd is None else _PLAIN_AUTOGRAD
    if found == _ON_FAKE_TENSORS:
        return _TO_TENSOR if _OF_ARRAY.search(message.title) else _LOOK_AT_ARGUMENTS
    # which backend="aot_eager" runs as well
    is_in_aot = found == "AOTAutograd" or _AOT_EAGER.search(f"{compile.metrics.fail_reason}{compile.error}")
    if found == _TYPES["InternalTorchDynamoError"]:
        return _of_package(compile.error) or _LEAVE_TO_PYTHON
    if found not in _OF_BACKEND:
        return ""
    if named := _named_setting(message.title):
        return _SET.format(named)
    if found == THE_BACKEND and (raising := _NAMED.search(message.title)):
        return _WHOLE_GRAPH if raising[1] == _OF_DDP else _OF_NAMED_BACKEND.format(raising[1])
    if _SYMBOL.search(message.title) or _SYMBOL_IN_ARGUMENT.search(compile.metrics.fail_reason):
        return _WITHOUT_SYMBOL
    return _OTHER_BACKEND.format("eager" if is_in_aot else "aot_eager")


def _named_setting(title: str) -> str:
    """The setting that an error asks for, "" where it names none, or one that it cannot go with."""
    for found in _SETTING.finditer(title):
        sentence = re.split(r"[.;,] ", title[: found.start()])[-1]
        if not _IN_THE_WAY.search(sentence):
            return found[0]
    return ""


def _keep_constant(compile: Compile, earlier: EarlierSymbols, line: StackFrame | None) -> str:
    """About an int that was a constant until then, where the line on which Dynamo stopped needs one; "" for any other line."""
    code = line.code if line else ""
    ints = (event.source for event in earlier.newly_dynamic(compile) if event.dim == "scalar")
    needed = [
        source.display_name for source in ints if use_in(code, spelled(source)) in (Use.FORMATS, Use.FAILS) or _is_of_range(source, code)
    ]
    return _CONSTANT.format(what=enumerated(needed)) if needed else ""


def _is_of_range(source: Source, code: str) -> bool:
    """Whether a line goes over the range that an int is a part of."""
    owner, _, part = source.rpartition(".")
    return part in RANGE_PARTS and uses_whole_range(code, spelled(Source(owner)))


def is_own_init(message: CompilerMessage) -> bool:
    """Whether Dynamo compiled the ``__init__`` of a module by itself, in code that a graph break left to Python, and stopped at the very
    call that it asks for.
    """
    return message.title == "Uninitialized nn.Module" and bool(message.stack) and "super().__init__(" in message.stack[-1].code
