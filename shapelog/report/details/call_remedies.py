"""What to do about errors of torch.compile and torch.export themselves, of compiled code that runs, and of exported programs.

The wording is that of PyTorch 2.0 to 2.13.
"""

import re

from shapelog.model.compile import Compile
from shapelog.report.details.raising_calls import RaisingCall, raising_call

_WITHOUT = "pass the module as it was before it was compiled, model._orig_mod: this cannot be done with compiled code"
_CLONE = "clone() what compiled code returns or takes before it is written into, or write the result into a new tensor"
_IN_EAGER = (
    'run this once with backend="eager", once with "aot_eager": where it fails as well, the code or its inputs are wrong, else the kernel'
)
_OF_CALL = {
    RaisingCall.COMPILED_CODE: _IN_EAGER,
    RaisingCall.EXPORTED_PROGRAM: "pass inputs like those of the export, or export again with dynamic_shapes for what varies",
    RaisingCall.EXPORT: "fix this error; until then there is no exported program",
    RaisingCall.LOAD: "pass a whole file that torch.export.save wrote, and load it with the same version of PyTorch or a newer one",
    RaisingCall.COMPILE: "fix this call of torch.compile, or what the error names; until then nothing is compiled",
}
# By words of the error.
_OF_ERROR = (
    (  # ``vllm/compilation/backends.py``, and backends made after it
        r"Backend can only be called once",
        "this backend compiles one graph: remove the graph breaks, which make more of them (TORCH_LOGS=graph_breaks shows where)",
    ),
    (r"a dynamo-optimized function|Detected that you are using FX to ", _WITHOUT),
    (r"does not support compiling torch\.jit\.", "compile the module itself in place of the one that torch.jit made of it"),
    (
        r"\bPython \S{1,20} not yet supported|not supported on Python",
        "use a version of Python that this PyTorch compiles for, or update PyTorch",
    ),
    (r"Windows not yet supported", "update PyTorch, or leave the code uncompiled on Windows"),
    (r"Invalid backend: ", "name a backend that torch._dynamo.list_backends() has, or install and import the package that adds this one"),
    (
        r"with fullgraph=True found no compiled frames",
        "look for what keeps Dynamo from this function: a dispatch mode around the call, torch.compiler.disable, TORCH_COMPILE_DISABLE, or "
        "a file that it skips; without fullgraph=True, the function runs in eager mode",
    ),
    (r"Unrecognized mode=|Unexpected optimization option", "use one of the names that the error lists"),
    (r"attempted to set_stance in", "call torch.compiler.set_stance outside of compiled code"),
    (
        r"process pool was terminated abruptly",
        "a process that compiles kernels died, often because memory ran out: run it with TORCHINDUCTOR_COMPILE_THREADS=1, which shows why",
    ),
    (r"No working C\+\+ compiler found", "install a C++ compiler or put it on PATH, or name one in CXX"),
    (
        r"mounted with noexec|failed to map segment from shared object",
        "name a directory in TORCHINDUCTOR_CACHE_DIR from which files may be run: the one with the caches is mounted with noexec",
    ),
    (r"adding ATEN into max_autotune_gemm_backends", "add ATEN to torch._inductor.config.max_autotune_gemm_backends"),
    (
        r"\baten\._(?:transformer_encoder_layer_fwd|native_multi_head_attention)\b",
        "call torch.backends.mha.set_fastpath_enabled(False): the fast path of nn.TransformerEncoderLayer and nn.MultiheadAttention, which "
        "eval() without gradients takes, cannot be compiled",
    ),
    (
        r"found (?:two different|at least two) devices,? |[Ee]xpected all tensors to be on the same device",
        "move these tensors to one device before the call: a buffer or a table that was not moved with the model is on the CPU",
    ),
    (
        r"(?:unsupported operator|with fake tensors): aten\.",
        "leave this operator of PyTorch out of the compiled code: it cannot be traced",
    ),
    (
        r"not yet implemented for compiled autograd",
        "do not use compiled autograd for this backward pass: leave torch._dynamo.config.compiled_autograd off, or make the call outside "
        "of compiled code",
    ),
    (
        r"no fake impl or Meta kernel|[Nn]o fake impl registered|requires a fake implementation",
        "give the custom operator a fake implementation, with torch.library.register_fake",
    ),
    (
        r"[Cc]annot access (?:the )?data pointer of Tensor(?: that doesn't have storage)?",
        "make a custom operator of the code that reads this tensor's memory (torch.library.custom_op), or leave it out of compiled code",
    ),
    (
        r"Please convert all Tensors to FakeTensors first",
        "make this tensor an argument, a parameter or a buffer: Dynamo has not seen where it comes from",
    ),
    (
        r"(?s)expected size \d{1,18}==\d{1,18}, stride \d{1,18}==.{1,4000}\bError in op: torch\.ops\.(?!aten\b|prims\b)",
        "correct the fake implementation of this operator, or the operator: torch.library.opcheck compares what the two return",
    ),
    (
        r"expected size \d{1,18}==\d{1,18}, stride \d{1,18}==\d{1,18}",
        "a tensor has other sizes or strides than the code was compiled for: check the fake implementation of a custom operator with "
        "torch.library.opcheck, and empty the compile cache if runs with other settings share it; otherwise, report this bug to "
        "PyTorch",
    ),
    (
        r"does not currently support (?:double backward|higher order gradients)",
        'take second derivatives of code that is not compiled, or that is compiled with backend="eager"',
    ),
    (
        r"INTERNAL ASSERT FAILED",
        "this is a bug in PyTorch: update it, or report the bug; until then, wrap this code in a function with torch.compiler.disable",
    ),
    (
        r"Cannot set version_counter for inference tensor|Inference tensors (?:do not track version counter|cannot be saved for backward)",
        "call this code under torch.no_grad() in place of torch.inference_mode(), and make the tensors that it takes outside of that mode",
    ),
    (r"modified by an inplace operation", _CLONE),
    (
        r"view was created in no_grad mode|is a view (?:of a leaf )?and (?:its base or another view|is being modified in-?place)",
        "write into this view in the grad mode in which it was made, both inside torch.no_grad() or both outside of it, or write into a "
        "copy: clone()",
    ),
    (
        r"input to the backward that was mutated",
        "clone() what the backward pass takes (the gradients, and what was saved for it) before it is written into",
    ),
    (
        r"CUDA error: an illegal memory access|device-side assert triggered",
        "look for an index out of range: run this with CUDA_LAUNCH_BLOCKING=1, which shows where it fails, and with "
        'backend="aot_eager", which shows whether the code itself does',
    ),
    (r"\bindex out of bounds: ", "look for an index that is out of range: run the code uncompiled, which shows the line"),
    (r"CUDA out of memory", "use smaller inputs or batches; this is no error of the compiler"),
    (
        r"operation not permitted when stream is capturing",
        "compile this code without CUDA graphs, or leave the operation out of it that waits for the GPU",
    ),
    (
        r"in the cudagraph pool (?:not tracked|but not accounted)",
        "the compiled code keeps tensors that it does not return, as where it assigns to .data of a parameter: write into it with copy_(), "
        "or compile without CUDA graphs",
    ),
    (
        r"is not defined for option 'gpu-name'|Unsupported gpu architecture '",
        "update Triton and the CUDA toolkit, whose ptxas or nvcc is older than this GPU, or name a newer ptxas in TRITON_PTXAS_PATH",
    ),
    (
        r"\bPassManager::run failed",
        "change the version of Triton (on Windows, of triton-windows), whose own compiler fails here, or compile this code with "
        'backend="aot_eager"',
    ),
    (
        r"\bunsupported operator: |Operator does not support running with fake tensors",
        "give the operator a fake implementation, with torch.library.register_fake",
    ),
    (r"Must call `torch\._dynamo\.reset\(\)`", "call torch._dynamo.reset() before the same code is compiled with another backend"),
    (
        r"Runtime assertion failed for expression|^u\d{1,9} (?:[<>=]=|[<>]) \d",
        "pass inputs for which this holds, or change what promised it: torch._check, or the sizes that the code was compiled for",
    ),
    (r"Expected `mod` to be an instance of `torch\.nn\.Module`", "put the function into the forward of an nn.Module and export that"),
    (r"Exporting a ScriptModule is not supported", "export the module itself in place of the one that torch.jit made of it"),
    (r"Constant \S{1,200} is mutated in the forward method", "register this tensor as a buffer of its module"),
    (r"target=torch\._dynamo\.utils\.wrapped_item\]", "pass a Python number in place of the NumPy one: int(n) or float(n) before the call"),
    (
        r"not simple sympy type <class 'NoneType'>",
        "pass both min= and max= to mark_dynamic, or neither: PyTorch cannot make a range of one of them",
    ),
    (r"Expecting `args` to be a tuple", "pass the inputs as a tuple, even if there is one: (x,)"),
    (
        r"does not have a meta kernel that supports dynamic output shapes",
        "move this operator out of the compiled code: PyTorch cannot trace it with its setting for sizes that depend on data, either",
    ),
    (
        r"must be bool, not SymBool",
        "pass this argument as True if ... else False with the same condition: the operator takes no symbolic bool",
    ),
    (r"HOP: improper args/kwargs", "pass this operator the arguments that the error names"),
    (r"__metadata_guard__` must ", "define __metadata_guard__ of this tensor subclass as the error states"),
    (
        r"HOP: Unsafe side effect",
        "return this value from the function that the operator takes (the body of torch.cond, what is checkpointed), and assign it outside",
    ),
    (r"Unsupported functorch tracing attempt", "compile the transformed function as a whole, torch.compile(torch.func.grad(f))"),
    (
        r"Getting an inplace view on a graph input is not supported",
        "use the operator without the underscore, x = x.transpose(...), in place of the one that changes its input",
    ),
    (
        r"does not yet handle non-differentiable view input mutations",
        "clone() the input before the call, or do not write into a view of it",
    ),
)
_KNOWN = tuple((re.compile(words), remedy) for words, remedy in _OF_ERROR)
# CUDA graphs keep what they need for each thread apart (``get_obj`` in ``torch/_inductor/cudagraph_trees.py``).
_OTHER_THREAD = "_is_key_in_tls("
_ONE_THREAD = "call this compiled function from the main thread, or compile it without CUDA graphs, which are of one thread"


def of_error(text: str) -> str:
    """What helps against an error with these words, "" for one that is not known."""
    return next((remedy for words, remedy in _KNOWN if words.search(text)), "")


def of_call(compile: Compile) -> str:
    """What helps where no more is known than the call that raised; "" for an error of a compilation."""
    raising = raising_call(compile)
    if raising is RaisingCall.COMPILED_CODE and _OTHER_THREAD in compile.error:
        return _ONE_THREAD
    return _OF_CALL.get(raising, "") if raising else ""
