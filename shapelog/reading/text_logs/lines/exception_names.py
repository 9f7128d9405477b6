"""The exceptions of the compiler by their names, as parts of regular expressions: as Python writes them, and as people do."""

_MODULE = r"torch\.(?:_dynamo|_inductor|fx|_subclasses|_functorch|_export)\."
ANY_OF_MODULES = rf"{_MODULE}(?:\w{{1,80}}\.){{0,6}}[A-Z]\w{{0,80}}"
_CLASSES = (
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
    "TorchRuntimeError",
    "Unsupported",
    "UserError",
    "ConstraintViolationError",
    "RecompileError",
    "FailOnRecompileLimitHit",
    "FailOnCacheLimitHit",
    "RecompileLimitExceeded",
    "CacheLimitExceeded",
    "InductorError",
    "LoweringException",
)
# What symbolic shapes raise, with its words or a condition on a value of the data.
_UNDECIDED = r"GuardOnDataDependentSymNode(?=: (?:Could not |\S{0,200}\bu\d))"
NAMES = rf"(?:{'|'.join(_CLASSES)}|{_UNDECIDED})"
# Those that no other program has.
OF_DYNAMO_ALONE = (
    rf"(?:{_UNDECIDED}|BackendCompilerFailed|InternalTorchDynamoError|TorchRuntimeError|FailOnRecompileLimitHit|FailOnCacheLimitHit"
    r"|RecompileLimitExceeded|RecompileError(?=: (?:tensor '|Recompiling function ))"
    r"|InductorError(?=: [A-Z])|LoweringException(?=: [A-Z]\w{0,60}(?:Error|Exception): )"
    r"|ConstraintViolationError(?=: (?:Constraints violated \(|You marked )))"
)
# A class of exceptions with its module, which is one wherever it is.
QUALIFIED = rf"(?<![\w.]){_MODULE}(?:\w{{1,80}}\.){{1,6}}\w{{0,80}}(?:Error|Exception|Failed|Unsupported|Hit|Exceeded|SymNode)"

# What only the checks of compiled code and of exported programs write about their inputs.
_OF_INPUTS = (
    r"expected size \d{1,18}==\d{1,18}, stride \d{1,18}==\d{1,18} at dim=\d|Expected input (?:at )?(?:\*args\[|\S{1,200}\.shape\[\d)"
    r"|input_handles\[\d{1,9}\]: unmatched |Guard failed: [^\n]{1,200}\.size\(\)\[\d"
)
# The same without a class, as a program prints it.
REFUSED_INPUT = r"(?<!Error: )(?<!Exception: )\bExpected input at \*args\[\d[^\n]{0,200} to be [^\n]{1,200}, but got [^\n]*"
# What Triton raised of all configurations of a kernel; a line of a log with its own end is of a choice that Inductor leaves out.
NO_CONFIGS = r"No valid triton configs\. \w{1,80}: [^\n]*[^\s.]\.?(?=\s*$)"
# An exception of any class whose words name the compiler. What cannot be imported is about an installation.
_NAMES_COMPILER = (
    r"torch\.(?:compile|export)\b|torch\._(?:dynamo|inductor|functorch)\b|\bDynamo\b|\bdynamo-optimized\b|\baot_autograd\b"
    r"|\bDetected that you are using FX to\b|\bCompiledFunction|\bFakeTensor|\bTORCHINDUCTOR_|\bcudagraph pool\b"
    r"|\bnot yet implemented for compiled autograd\b"
    r"|\bNo valid triton configs\. "
    rf"|{_OF_INPUTS}"
)
# A test in the summary of pytest, which has its error behind it.
OF_TEST = r"(?:FAILED|ERROR) \S{1,300}::"
ABOUT_COMPILER = (
    rf"^(?:[ \t]*(?:E[ \t]{{1,9}}|[`'\"*]{{1,3}})?|[^\n]{{1,300}}: [`'\"\u201c]|{OF_TEST}[^\n]{{1,300}}? - )"
    r"(?:\w{1,40}\.){0,6}(?P<kind>(?!Import|ModuleNotFound|Attribute)\w{0,60}(?:Error|Exception)): "
    rf"(?!Detected recompile when)(?P<about>[^\n]{{0,600}}?(?:{_NAMES_COMPILER}))"
)


def is_cut_name(name: str) -> bool:
    """Whether a name is no more than the beginning of one, as where a text ends in it."""
    return any(known.startswith(name) and known != name for known in _CLASSES)
