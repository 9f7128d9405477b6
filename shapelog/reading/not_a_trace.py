"""The error message for a file that is not a trace."""

import re

from shapelog.reading.vllm_log import vllm_log_words

HOW_TO_RECORD = "record one with: TORCH_TRACE=/tmp/trace python your_script.py"
# How much of a file is looked at.
LOOKED_AT = 1 << 16
_NOTHING_IN_THEM = "lines of the compiler, but none with a recompilation, graph break or error"
_OF_ANOTHER_KIND = "a traceback through the compiler or compiled code that ends in an exception of another kind"
_ORDINARY = "an ordinary program log"
_BEGIN_OR_END = "lines with which compilations begin or end, without what each is for; TORCH_LOGS=recompiles shows why there were several"
_KINDS = (
    (
        rb"(?i)\A\s*<(?:!doctype|html)",
        "an HTML page; pass the log that tlparse read, or the directory it wrote (raw.log there is that log)",
    ),
    (rb'\A\{"string_table":', "the raw.jsonl of tlparse, which lacks the payloads; pass the raw.log next to it, which is the whole trace"),
    (rb"\A(?:BZh|\xfd7zXZ|7z\xbc\xaf|Rar!)", "an unsupported compression format; unpack it first, or compress it with gzip"),
    (rb"\A(?:\x7fELF|\x89PNG|%PDF)", "a binary file"),
    (
        rb"(?m)^\W{0,9}Graph Break Reason: \w",
        "the reason of a graph break alone; paste the lines around it, which name the function and the line",
    ),
    (
        rb"dynamo hit\s+config\.\w{0,40}limit|`(?:config\.)?(?:recompile|cache_size)_limit \(\d{1,9}\)`"
        rb"|(?:FailOn(?:Recompile|Cache)LimitHit|RecompileLimitExceeded): \w"
        rb"|[`'\"(](?:FailOn(?:Recompile|Cache)LimitHit|(?:Recompile|Cache)LimitExceeded)[`'\")]",
        "a text that mentions the recompile limit in a sentence; paste the warning itself, with its lines function: and last reason:, "
        "or the traceback",
    ),
    (
        rb"(?m)^\W{0,9}Graph Break Count: 0\b",
        "the output of torch._dynamo.explain, which found no graph breaks; it has nothing about recompilations",
    ),
    (
        rb"(?m)^\W{0,9}(?:\d{1,3}\. )?"
        rb"(?:Guard Added|(?:Data dependent|Constraint violation) error|(?:Missing|Mismatched) fake kernel)\.\s*$",
        "the report of torch.export.draft_export, which has each problem with its line and what to do; pass the trace that draft_export "
        "writes into TORCH_DTRACE, or into a folder export_USER of the temporary directory",
    ),
    (
        rb"Summary of dimension constraints:|The following dimensions have been specialized and CANNOT be dynamic",
        "the summary that torch.export printed until torch 2.2: it lists which dims the code fixes, and which may be dynamic",
    ),
    (
        rb"\bptxas fatal {1,9}: Value '\w{1,40}' is not defined for option 'gpu-name'",
        "an error of Triton's: its ptxas is older than this GPU; update Triton, or name a newer ptxas in TRITON_PTXAS_PATH",
    ),
    (
        rb"'sm_\d{2,3}a?' is not a recognized processor for this target",
        "an error of Triton's: its LLVM is older than this GPU; update Triton, with the PyTorch that belongs to it",
    ),
    (
        rb"(?s)\bRuntime error during autotuning: .{1,4000}?\bIgnoring this choice\.",
        "kernels that max-autotune left out because they do not run on this GPU; it uses the others, so that this needs no action",
    ),
    (
        rb"Pointer argument \(at \d{1,4}\) cannot be accessed from Triton \(cpu tensor\?\)",
        "an error of Triton's: a kernel was called with a tensor that is on the CPU, or that this GPU cannot reach; move it to the GPU, or "
        "update Triton, with the PyTorch that belongs to it",
    ),
    (
        rb"\btype fp8e\w{1,10} not supported in this architecture",
        "an error of Triton's: this GPU lacks the type of float8 that the error names (fp8e4nv needs an NVIDIA GPU of compute capability "
        "8.9 or higher); use a dtype that it has, such as bfloat16",
    ),
    (
        rb"(?:ImportError: |failed[^\n]{0,80}: )cannot import name '\w{1,80}' from '(?:torch\._(?:dynamo|inductor|functorch)|triton)\b",
        "a package imports a part of the compiler that this version of PyTorch or Triton does not have; install versions that belong "
        "together. If the program goes on, its code is not compiled",
    ),
    (
        rb"torch[\\/]utils[\\/]_sympy[\\/]\w{1,40}\.py:\d{1,6}\][^\n]{0,80}\bfailed while executing \w",
        "a warning about arithmetic on symbolic sizes that PyTorch could not evaluate; by itself it is no failure. TORCH_LOGS=recompiles "
        "shows why a function is compiled again",
    ),
    (
        rb"CalledProcessError: Command [^\n]{1,2000}[\\/]triton[\\/]",
        "an error of Triton's: the C compiler that it runs at its first use failed; run this command, which prints why, or paste what is "
        "above the error",
    ),
    (
        rb"\btriton\.(?:runtime|compiler)\.errors\.\w",
        "an error of Triton's, without what called it; paste the traceback, too, which shows whether compiled code did",
    ),
    (
        rb"\[torch\.onnx\] (?:Obtain model graph|Run decomposition|Translate the graph)\b",
        "the progress of torch.onnx.export, which has the steps that failed, but not why; paste the exception that it raised, too",
    ),
    (
        rb"\bassert_size_stride\([^\n]*\)[ \t]*\n(?:[ \t^~]*\n)?[ \t]*AssertionError: ",
        "an error of compiled code at run time: a tensor has other sizes or strides than the code was compiled for; "
        "it has nothing about recompilations",
    ),
    (
        rb'(?m)^(?:\[rank\d+\]: ?)?[ \t]{0,8}File "[^"\n]{1,400}[\\/]torch[\\/]_(?:dynamo|inductor|functorch)[\\/][^"\n]{1,200}", line'
        rb"(?:[^\n]*\n(?!\s*\n)){1,400}?(?:\[rank\d+\]: ?)?"
        rb"(?:[A-Za-z_][\w.]{0,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Interrupt)(?:: |\s*$)",
        _OF_ANOTHER_KIND,
    ),
    (
        rb"(?s)\bException Type\W{1,8}[\w.]{1,80}\s.{1,20000}?[\\/]torch[\\/]_(?:dynamo|inductor|functorch)[\\/]",
        _OF_ANOTHER_KIND,
    ),
    (
        rb"Data dependent variable '\w{1,40}' allocated at:",
        "where values that only the data decide were made, with their stacks; paste the error about them",
    ),
    (
        # The stack below such a line is that of the call.
        rb"(?s)\A(?!.*Traceback \(most recent call last\)).*\btorchdynamo start (?:compiling|tracing) \S",
        _BEGIN_OR_END,
    ),
    (
        rb'File "(?:[^"\n]{1,400}[\\/])?torch[\\/](?:_dynamo|_inductor|_functorch|fx)[\\/][^"\n]{1,200}", line \d'
        rb"|[\\/]torch[\\/](?:_dynamo|_inductor|_functorch|fx)[\\/][\w\\/]{1,100}\.py(?::\d+,? in \w| in \w{1,100}\()",
        "a traceback that passes through the compiler, without the exception that ends it; paste the text up to the exception",
    ),
    (
        rb"You can suppress this exception and fall back to eager",
        "the end of an error of the compiler, without the exception; paste what is above it, too",
    ),
    (
        rb"flex_attention called without torch\.compile",
        "a warning that flex_attention runs without torch.compile, as it does when the recompile limit is hit, which has its own warning",
    ),
    (
        rb"Dynamo detected a call to a `functools\.lru_cache`",
        "a warning that Dynamo traces what a functools.lru_cache wraps; it needs no action unless the function depends on more than its "
        "arguments",
    ),
    (
        rb"in the cudagraph pool not tracked as outputs",
        "an error of CUDA graphs: the compiled code keeps tensors that it does not return, as where it assigns to .data of a parameter; "
        "write into it with copy_(), or compile without CUDA graphs",
    ),
    (
        rb"Online softmax is disabled on the fly",
        "a warning that Inductor leaves out an optimization of softmax; it has nothing about recompilations and needs no action",
    ),
    (
        rb"(?i)(?:fx graph|AOTAutograd) cache (?:hit|miss|bypass)\w{0,4} (?:for key|on key|counter)\b"
        rb"|Bypassing (?:FX Graph Cache|autograd cache|cache lookup)\b",
        "lines about the caches of compiled code: whether a graph was found in them; they do not show why a function was compiled. "
        "TORCH_LOGS=recompiles does",
    ),
    (
        rb"automatic dynamic (?:size|int|stride|\S{1,200} (?:size|stride|val|dim)\b)|marking \S{1,400} as dynamic \(from automatic dynamic",
        "lines about what becomes dynamic, of the first compilation of a function or without the sizes; TORCH_LOGS=recompiles,dynamic has "
        "what changed, and where",
    ),
    (
        rb"(?i)torchdynamo skipping frame \w|skipping frame because there is a graph break in a for/while loop"
        rb"|\bskipping: \S{1,200} \(reason: [^\n]{1,200}, file: ",
        "lines about code that Dynamo skips and leaves uncompiled; TORCH_LOGS=graph_breaks shows what it met there",
    ),
    (
        rb"\bAUTOTUNE \w{1,100}\(|Process AUTOTUNE benchmarking takes ",
        "times of kernels that max-autotune compared; they have nothing about recompilations",
    ),
    (
        rb"TorchDynamo attempted to trace the following frames|TorchDynamo compilation metrics:|(?m:^\W{0,9}Function, Runtimes \(s\))",
        "the summary that PyTorch prints at exit: frames and the seconds of each phase over all of them; it has no single compilation",
    ),
    (rb"Step [123]: torch(?:dynamo|inductor)\b|Step 2: (?:calling|done) compiler function", _BEGIN_OR_END),
    (rb"\[__(?:recompiles|guards|graph_code|graph_breaks)|torch/_dynamo/\S+ \[\d+/\d+\]", f"TORCH_LOGS output: {_NOTHING_IN_THEM}"),
    (rb"\btorch[./](?:_dynamo|_inductor|_functorch|fx)[./]\w|___check_\w+\(", _NOTHING_IN_THEM),
    (
        rb"\bjax\.(?:_src|errors)\.|\bjax\._src\b|tf\.function retracing|\bXLA service 0x|\btensorflow/compiler/|\bpt-xla-profiler: ",
        "the output of JAX, TensorFlow or PyTorch/XLA, which have compilers of their own",
    ),
    (rb'\A\s*[\[{]\s*"?(?:traceEvents|schemaVersion|ph|name)"', "JSON, such as a profiler trace"),
    (rb"(?m)\ATraceback |^(?:INFO|WARNING|ERROR)\b", _ORDINARY),
)


def describe_non_trace(head: bytes, is_stream: bool = False) -> str:
    """Why a file, or standard input, without a single trace record is refused: what its first bytes look like, and how to record one."""
    if not head and is_stream:
        return "nothing came in; PyTorch writes its logs to standard error: put 2>&1 in front of the pipe"
    if not head:
        return f"the file is empty: the process compiled nothing, or TORCH_TRACE was set after torch was imported; {HOW_TO_RECORD}"
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, head)), None)
    if kind in (None, _ORDINARY) and (words := vllm_log_words(head)):
        what = f"the log of vLLM: {words}; it has neither the graphs nor why they were compiled"
        return f"not a torch.compile trace ({what}). Record one with: TORCH_TRACE=/tmp/trace in front of the command that starts vLLM"
    if kind is None:
        kind = "a binary file" if b"\0" in head else "plain text without torch.compile messages"
    return f"not a torch.compile trace ({kind}). {HOW_TO_RECORD[0].upper()}{HOW_TO_RECORD[1:]}"
