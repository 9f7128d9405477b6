"""What to do about warnings of the compiler that no rule is about.

The wording is that of PyTorch 2.0 to 2.13.
"""

import re

_HARMLESS = "nothing: the code is compiled all the same"
_SLOWER_CACHE = (
    "nothing, unless it comes in every run: then the next run compiles this again; look at the error and at the directory of the caches"
)
# What helps, by words of the warning.
_REMEDIES = (
    (r"TensorFloat32 tensor cores", "call torch.set_float32_matmul_precision('high') if results may be a little less exact"),
    (
        r"Not enough SMs to use max_autotune_gemm|does not support max_autotune_gemm",
        "nothing: on this GPU, max-autotune uses the usual matmul",
    ),
    (r"global hooks on modules", "call module.compile(), or register the hooks on the modules themselves"),
    (r"pending, uninvoked backwards|still require backward", "run each backward pass before the next forward, or use torch.no_grad()"),
    (r"Online softmax is disabled on the fly|called on non-relation expression", _HARMLESS),
    # ``torch/_inductor/scheduler.py`` of torch 2.8 and 2.9
    (
        r"cudagraph partition due to (?:non gpu|cpu|DeviceCopy)\b",
        "move what runs on the CPU, or a copy to it such as .cpu(), out of the compiled code: it runs between two CUDA graphs",
    ),
    (
        r"cudagraph partition due to dynamic shape",
        "compile for fixed sizes, or pad inputs to a few sizes, where this part has to run in a CUDA graph, too",
    ),
    (r"cudagraph partition due to ", "nothing, unless it is slow: this part of the code runs between two CUDA graphs"),
    (r"The CUDA Graph is empty", "check that the compiled code runs on the GPU, on the device of its inputs"),
    (r"functools\.lru_cache", "remove the cache from code that is compiled if the function has side effects; otherwise nothing"),
    (r"doesn't take boxed arguments", "wrap the compiler in torch._dynamo.backends.common.aot_autograd, or in make_boxed_func"),
    (r"Pred is a Python constant", "pass a boolean tensor as the predicate if both branches are needed"),
    (r"does not support bfloat16 compilation", "use float16 or float32 on this GPU: this code runs in eager mode"),
    (r"Can't find Python\.h", "install the development package of Python (python3-dev)"),
    (r"unable to (?:write to cache|load compiled graph|serialize compiled graph)|get_code_state failed", _SLOWER_CACHE),
    (r"assigned during export", "register the tensor as a buffer, with register_buffer"),
    (
        r"certain side effects happened in the model\.forward",
        "return the value from forward, or make it a buffer: the exported program does not set it",
    ),
    (r"requires gradient\.? but it's not properly registered", "register it as an nn.Parameter"),
    (
        r"No valid triton configs|^out of resource: |benchmarking choice|Failed to benchmark choice|during autotuning"
        r"|autotuning benchmarks failed",
        ("nothing: max-autotune leaves this kernel out and takes another one"),
    ),
    (r"suppressing in case backwards not needed", "fix the error before a backward pass is run"),
    (r"extended beyond their requested parameter capacities", "nothing, unless DDP is slow: then use larger buckets (bucket_cap_mb)"),
    (r"backend ignoring extra kwargs", "remove mode and options: this backend takes none"),
    (
        r"Assertion `index out of bounds",
        ("look for an index that is out of range: run the code uncompiled with CUDA_LAUNCH_BLOCKING=1, which shows the line"),
    ),
    (r"propagate_real_tensors", "nothing in draft_export: check that this holds for all inputs, and assert it with torch._check"),
    (r"assumed to be \w+ with no runtime assertions", "assert what always holds of this value with torch._check"),
    (r"fake registration for .{1,200} is unnecessary", "remove the fake implementation, or nothing"),
    (r"AOTAutograd cache unable to serialize", _SLOWER_CACHE),
    (
        r"dynamo_pgo force disabled",
        "unset TORCHINDUCTOR_FORCE_DISABLE_CACHES, or each process has to find out again which sizes are dynamic",
    ),
    (
        r"Grad strides do not match bucket view strides",
        "nothing, unless DDP is slow: then make the parameters contiguous, as gradients are copied in each step",
    ),
    (r"Guards may run slower on Python ", "update Python to the version that the warning names"),
    (r"explain\(f, \*args, \*\*kwargs\) is deprecated", "call torch._dynamo.explain(f)(*args)"),
    (
        r"failed while attempting to run meta for",
        "check the sizes and dtypes of what this operator is called with: they do not fit, and a graph break or an error follows",
    ),
    (
        r"Detected a package bypass",
        "nothing, unless this code is to be precompiled: it is left out, and with torch._dynamo.config.strict_precompile that is an error",
    ),
    (
        r"Grad tensors .{1,2000} will be copied during cudagraphs execution",
        "call torch._dynamo.mark_static_address on gradients that keep their address, as with zero_grad(set_to_none=False)",
    ),
    (
        r"Failed to reduce inequalities",
        "nothing, unless torch.export goes on to suggest bounds: these are then not reduced",
    ),
    (r"could not determine __code__ for", "nothing: all code was reset in place of this function, and compiles again"),
    (
        r"Profiler function .{1,200} will be ignored",
        "nothing: to see this range in a profile, enter it around the call of the compiled function",
    ),
    (
        r"copying of a large constant took",
        "make a large tensor that the function reads from outside an argument, a parameter or a buffer: it is hashed as a constant",
    ),
    (
        r"Failed during launch \w{1,300} with config",
        "run it with CUDA_LAUNCH_BLOCKING=1, which shows whether this kernel fails or one before it",
    ),
    (
        r"unsafely apply AC to a non-functional graph",
        "nothing, unless activation checkpointing is to save memory here: an operator that writes into its inputs is in the way",
    ),
    (
        r"Error in subprocess",
        "set TORCHINDUCTOR_COMPILE_THREADS=1, which compiles kernels in this process: it shows the error, and takes less memory",
    ),
    (
        r"with fullgraph=True found no compiled frames",
        "look for what keeps Dynamo from this function, such as torch.compiler.disable or a dispatch mode: it runs in eager mode",
    ),
    (r"with real ScriptObject", "register a fake class, with torch._library.register_fake_class"),
    (r"assuming every input is mutated", "nothing, unless CUDA graphs or speed are missed: the kernel could not be analyzed"),
)
_KNOWN = tuple((re.compile(words), remedy) for words, remedy in _REMEDIES)


def remedy_of_warning(text: str) -> str:
    """What helps against a warning, "" for one that is not known."""
    return next((remedy for words, remedy in _KNOWN if words.search(text)), "")
