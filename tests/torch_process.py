"""Programs under torch.compile, each in a process of its own that begins with torch imported: a fork of a server that has run nothing."""

import multiprocessing
import os
import runpy
import traceback
from pathlib import Path

SERVER = multiprocessing.get_context("forkserver")
# The imports take longer than most programs.
SERVER.set_forkserver_preload(["torch._dynamo", "torch._functorch.aot_autograd", "shapelog"])


def run(program: Path, trace: Path, sources: str = "") -> str:
    """What the file ``program`` prints, run in its directory and recorded in the directory ``trace``.

    ``sources`` has the place of ``TORCH_COMPILE_DYNAMIC_SOURCES``, which PyTorch reads when it is imported. The test fails with the
    output and the traceback of a program that fails.
    """
    printed = program.with_suffix(".txt")
    process = SERVER.Process(target=_run, args=(program, trace, sources, printed))
    process.start()
    process.join(120)
    process.kill()
    output = printed.read_text(encoding="utf-8")
    assert process.exitcode == 0, output
    return output


def _run(program: Path, trace: Path, sources: str, printed: Path) -> None:
    with printed.open("w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    import torch

    import shapelog

    os.chdir(program.parent)
    torch.set_num_threads(1)
    torch.compiler.config.dynamic_sources = sources
    torch._dynamo.config.automatic_dynamic_local_pgo = False
    try:
        with shapelog.record(trace):
            runpy.run_path(str(program), run_name="__main__")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
