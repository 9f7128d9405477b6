"""What to do where a compile cache was not used, or did not have what it could have had.

The reasons are the messages of torch/_inductor/codecache.py and torch/_functorch/_aot_autograd/autograd_cache.py (torch 2.6 to 2.13).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from shapelog.model.cache_uses import CacheUse
from shapelog.reading.payloads.cache_keys import BYPASS, MISS, NOT_SAVED, KeyDifference
from shapelog.rules import RULES, Rule

_BYPASSED, _NOT_SAVED, _OTHER_SETTINGS = RULES["SL505"], RULES["SL506"], RULES["SL507"]
_PASSES = "torch._inductor.custom_graph_pass"


class CacheProblem(NamedTuple):
    """Why compiled code was not taken from a cache, or will not be.

    ``remedy`` and ``text``, what to type, are "" and () where nothing is known that helps. ``is_sure`` where it has no other effect,
    ``is_everywhere`` where each lookup of the run has the same problem.
    """

    rule: Rule
    reason: str
    remedy: str = ""
    text: tuple[str, ...] = ()
    is_sure: bool = True
    is_everywhere: bool = False


class _Remedy(NamedTuple):
    sentence: str
    text: tuple[str, ...] = ()
    is_sure: bool = True


def cache_problem(use: CacheUse) -> CacheProblem | None:
    """What is wrong with a use of a cache; None for a hit, and for a miss with another graph."""
    if use.event.result in (BYPASS, NOT_SAVED):
        return CacheProblem(_BYPASSED if use.event.result == BYPASS else _NOT_SAVED, use.event.reason, *_remedy(use.event.reason))
    if use.event.result != MISS:
        return None
    # What a custom pass returns must not change within a process; other parts may, with the graph.
    passes = tuple(item for item in use.differences if _CUSTOM.search(item.name) and None not in (item.before, item.after))
    if passes or (use.differences and use.has_same_graph):
        differing = use._replace(differences=passes or use.differences).differing
        return CacheProblem(_OTHER_SETTINGS, differing, *_key_remedy(use.differences), is_everywhere=bool(passes))
    return None


def remedy_of_reason(reason: str) -> str:
    """What to do about a reason to bypass a cache, in one sentence; "" where nothing is known that helps."""
    return _remedy(reason).sentence


def _remedy(reason: str) -> _Remedy:
    return next((make(found) for pattern, make in _REASONS if (found := re.search(pattern, reason))), _Remedy(""))


def _key_remedy(differences: tuple[KeyDifference, ...]) -> _Remedy:
    """How keys that differ in settings or versions become the same."""
    names = [item.name for item in differences]
    own = next((found for name in names if (found := _CUSTOM.search(name))), None)
    if own:
        return _Remedy(
            f"return the same uuid() from {own[1]} in each process: a hash of its code, without a process id, time, path or address",
            (f"def uuid(self): return {_PASSES}.get_hash_for_files((__file__,))",),
        )
    setting = next((found for name in names if (found := _SETTING.fullmatch(name))), None)
    if setting:
        module = _MODULES[setting[1]]
        return _Remedy(f"give {module}.{setting[2]} the same value each time, unless this code needs both", is_sure=False)
    if any(name.startswith(("system_info", "torch_version")) for name in names):
        return _Remedy("share a cache only among machines with the same PyTorch, Triton, CUDA and kind of GPU", is_sure=False)
    return _Remedy("")


# Components of a key: what a custom pass returns as its uuid, and the value of a setting.
_CUSTOM = re.compile(r"(\w*custom\w*(?:pass|partitioner)\w*|_fuse_ddp_communication_passes)")
_SETTING = re.compile(r"(inductor_config|autograd_config|dynamo_config)\[(\w+)\]")
_MODULES = {
    "inductor_config": "torch._inductor.config",
    "autograd_config": "torch._functorch.config",
    "dynamo_config": "torch._dynamo.config",
}


def _custom_pass(found: re.Match[str]) -> _Remedy:
    kind = "CustomSchedulerPass" if "fusion" in found[1] else "CustomGraphPass"
    name = found[1].replace("_", " ").strip().removesuffix(" pass")
    return _Remedy(
        f"derive the {name} pass from {_PASSES}.{kind}, with a uuid() that changes only with its code",
        (f"def uuid(self): return {_PASSES}.get_hash_for_files((__file__,))",),
    )


def _function(found: re.Match[str]) -> _Remedy:
    """A function, or a higher-order operator, that PyTorch does not know to give the same result for the same graph."""
    module, name = found.groups()
    if name == "FunctionCtx":
        return _allowed_functions(found)
    if module == "torch.ops.higher_order":
        return _operator(found)
    operator = "" if module.startswith("torch.") else ", or make it a torch.library.custom_op"  # of the user's own
    return _Remedy(
        f"declare {name} as cacheable if it always does the same for the same inputs (with another value whenever it changes){operator}",
        (_cacheable(f"{module}.{name}"),),
        is_sure=False,
    )


def _operator(found: re.Match[str]) -> _Remedy:
    name = found.groups()[-1]
    if name == "autograd_function_apply":
        return _allowed_functions(found)
    return _Remedy(
        f"declare the operator {name} as cacheable if the functions that it calls read nothing but their inputs",
        (_cacheable(f"torch.ops.higher_order.{name}"),),
        is_sure=False,
    )


def _cacheable(name: str) -> str:
    return f'torch._inductor.config.unsafe_marked_cacheable_functions["{name}"] = "1"'


def _allowed_functions(_: re.Match[str]) -> _Remedy:
    return _Remedy(
        "allow the cache to store your autograd functions if they depend on nothing but their inputs",
        ("torch._functorch.config.autograd_cache_allow_custom_autograd_functions = True",),
        is_sure=False,
    )


def _estimator(found: re.Match[str]) -> _Remedy:
    return _Remedy(f"give {found[1]} a uuid() that changes only with its code, and derive it from the class that PyTorch has for it")


def _picklable(found: re.Match[str]) -> _Remedy:
    what = found[1] if found.groups() and found[1] else "what the graph holds"
    return _Remedy(f"make {what} picklable: define its class and functions at the top level of a module, without locks, files or lambdas")


def _of(sentence: str, *text: str, is_sure: bool = True) -> Callable[[re.Match[str]], _Remedy]:
    return lambda _: _Remedy(sentence, text, is_sure)


# The first pattern that is found in a reason decides; one that none is found in has no remedy.
_REASONS: tuple[tuple[str, Callable[[re.Match[str]], _Remedy]], ...] = (
    (r"Unsupported ([\w ]*custom pass|_pre_fusion_custom_pass|_post_fusion_custom_pass|_fuse_ddp_communication_pass)", _custom_pass),
    (r"Function module: ([\w.<>]+),\s*Function name: ([\w.<>]+)", _function),
    (r"Can't cache HigherOrderOperator: (\w+)", _operator),
    (
        r"SAC context_fn does not have a cache_hash",
        _of(
            "give the context_fn of the selective checkpoint a cache_hash that changes only with its policy",
            'context_fn.cache_hash = "my policy, version 1"',
        ),
    ),
    (
        r"FX graph cache is not enabled",
        _of("enable the FX graph cache, which the AOTAutograd cache needs", "TORCHINDUCTOR_FX_GRAPH_CACHE=1"),
    ),
    (
        r"[Ff]rozen constants|freezing enabled",
        _of(
            "compile without freezing where starting fast matters more than running fast",
            "torch._inductor.config.freezing = False",
            is_sure=False,
        ),
    ),
    (
        r"[Rr]untime constant folding",
        _of(
            "compile without folding constants at run time",
            "torch._inductor.config.aot_inductor.use_runtime_constant_folding = False",
            is_sure=False,
        ),
    ),
    (r"requires triton 3\.2", _of("install a newer Triton", "pip install -U triton")),
    (r"((?:Custom(?:RuntimeEstimator|KnapsackSolver))|activation_memory_budget_\w+)\b.*(?:uuid|raw callable)", _estimator),
    (r"unpicklable type ([\w.<>]+)", _picklable),
    (r"<class '([\w.<>]+)'> was not found", _picklable),
    (r"Can't (?:get|pickle) local object '([\w.<>]+)'", _picklable),
    (r"[Cc]annot pickle '([\w.<>]+)' object", _picklable),
    (r"[Ff]ailed to pickle|Can't pickle", _picklable),
)
