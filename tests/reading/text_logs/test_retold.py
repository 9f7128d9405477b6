"""Messages as people write them down: with the prefix of a logger, shortened, in a table, on other lines."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.text_logs.lines.leads import without_loggers
from shapelog.report.report import Report, analyze
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

LIMIT = (
    "torch._dynamo hit config.cache_size_limit (8)",
    "   function: 'f' (burst.py:5)",
    "   last reason: L['alpha'] == 0.0     # return torch.sin(x) * alpha",
)


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


def shown(text: str, folder: Path) -> str:
    return " ".join(render(report_of(text, folder), Options()).decode().split())


@pytest.mark.parametrize(
    "prefix",
    [
        "WARNING ",
        "W ",
        "WARNING:torch._dynamo.convert_frame:",
        "2024-01-02 10:00:00,123 - torch._dynamo.convert_frame - WARNING - ",
        "[2024-01-02 10:00:00,123][torch._dynamo.convert_frame][WARNING] - ",
        "10:00:00 WARNING ",
        "(EngineCore_0 pid=123) WARNING ",
    ],
)
@pytest.mark.parametrize("is_stripped", [False, True], ids=["indented", "stripped"])
def test_what_a_logger_wrote_in_front_of_each_line_of_the_limit(prefix: str, is_stripped: bool, tmp_path: Path) -> None:
    lines = [f"{prefix}{line.strip() if is_stripped else line}" for line in LIMIT]
    (found,) = report_of("\n".join(["epoch 1: 0.5", *lines, "epoch 2: 0.4", ""]), tmp_path).findings
    assert found.sentence.startswith("f hit the recompile limit")
    assert found.sentence.endswith("the last reason: the float alpha was 0.0 and has changed")
    assert str(found.place) == "burst.py:5"


def test_ranks_in_front_of_the_prefix_are_kept() -> None:
    lines = "\n".join(f"[rank{rank}]: {{}}{line.strip()}" for rank in (0, 1) for line in LIMIT)
    assert without_loggers(lines.format(*["WARNING "] * 6).encode()) == lines.format(*[""] * 6).encode()


def test_the_place_of_a_function_on_a_line_of_its_own(tmp_path: Path) -> None:
    text = "\n".join((LIMIT[0], "   function: 'f'", "    (models/burst.py:5)", LIMIT[2]))
    (found,) = report_of(text, tmp_path).findings
    assert str(found.place) == "models/burst.py:5"


def test_a_reason_on_the_line_of_the_function(tmp_path: Path) -> None:
    text = "Recompiling function attend ... tensor 'key' size mismatch at index 2. expected 2560, actual 1024\n"
    assert "attend was recompiled once: dim 2 of key changed from 2560 to 1024" in shown(text, tmp_path)


def test_a_file_without_the_number_of_its_line(tmp_path: Path) -> None:
    text = "Recompiling function f in model.py:XX\n    triggered by the following guard failure(s):\n    - 0/0: L['k'] == 2\n"
    assert "--> model.py = " in shown(text, tmp_path)


def test_a_reason_without_its_first_word(tmp_path: Path) -> None:
    text = "0/0: mask rank mismatch. expected 2, actual 4\n"
    assert "the number of dimensions of mask changed from 2 to 4" in shown(text, tmp_path)


def test_a_row_of_a_table_with_words_around_its_guard(tmp_path: Path) -> None:
    text = (
        "| Frame | Trigger |\n|---|---|\n"
        "| `[0/1]` | `tensor 'x' size mismatch at index 0. expected 8, actual 4` | more tokens |\n"
        "| **`[0/2]`** | **`embeds is None` guard failed** at `model.py:11` | the first image |\n"
        "| `[0/3]` | `not ___dict_contains(...)` guard on `G['cache']` | shortened |\n"
    )
    found = report_of(text, tmp_path).explained.recompiles
    assert [(item.compile.shown_label, item.codes[0]) for item in found] == [("0/1", "SL101"), ("0/2", "SL322")]


def test_reasons_alone_with_the_id_of_another_function_are_of_one_that_is_not_named(tmp_path: Path) -> None:
    text = (
        "Recompiling function poly in /srv/run.py:9\n    triggered by the following guard failure(s):\n"
        "    - 0/1: G['step'] == 1\n    - 0/0: G['step'] == 0\n\nand of net:\n\n"
        "- 0/1: 2 <= x.size()[0]  # return x @ x.T  # run.py:22 in net\n"
    )
    found = report_of(text, tmp_path).explained.recompiles
    assert found[0].frame.name == "poly"
    assert found[1].frame is not found[0].frame
    assert "compile ids restarted" not in shown(text, tmp_path)


def test_guards_that_somebody_shortened_or_wrapped(tmp_path: Path) -> None:
    text = (
        "TREE_GUARD_MANAGER:\n+- RootGuardManager\n"
        "| +- GuardManager: source=L['x']\n"
        "| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, DispatchKeySet(CUDA, BackendSelect),\n"
        "| |                  torch.float32, device=0, requires_grad=False, size=[16, 8], stride=[8, 1])\n"
        "| +- GuardManager: source=L['w']\n"
        "| | +- TENSOR_MATCH: check_tensor(L['w'], ..., device=0, requires_grad=True, size=[8, 4], stride=[4, 1])\n"
    )
    words = shown(text, tmp_path)
    assert "x: float32 [16, 8] on cuda:0" in words
    assert "w: tensor [8, 4]" in words


def test_builds_between_two_versions_have_the_setting_that_they_print(tmp_path: Path) -> None:
    text = LIMIT[0].replace("cache_size_limit", "recompile_limit") + "\n    function: 'f' (a.py:3)\n    last reason: 0/0: L['k'] == 3\n"
    assert load_version(text, tmp_path) == "2.7 or newer"
    assert "raise torch._dynamo.config.recompile_limit" in shown(text, tmp_path)


def load_version(text: str, folder: Path) -> str:
    return str(report_of(text, folder).trace.version_guess)


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("___check_obj_id(foreach, 7698112)", "pass the same value in every call: by its address it may be None, True or False"),
        ("___check_obj_id(L['fn'], 140230516318016)", "create the object once, outside the call, and reuse it"),
        (
            "0/7: GLOBAL_STATE changed: grad_mode autocast(cuda)_enabled ",
            "run every call in the same grad mode and under the same autocast",
        ),
        (
            "0/0: tensor 'L['self']._modules['lin']._parameters['weight']' dispatch key set mismatch. expected DispatchKeySet(CPU), "
            "actual DispatchKeySet(CUDA)",
            "move the module to its device before the first call",
        ),
    ],
)
def test_what_to_do_about_the_last_reason(reason: str, remedy: str, tmp_path: Path) -> None:
    assert remedy in shown("\n".join((*LIMIT[:2], f"   last reason: {reason}", "")), tmp_path)


def test_an_int_of_a_module_may_be_the_number_of_a_layer(tmp_path: Path) -> None:
    text = "\n".join((LIMIT[0], "   function: 'forward' (gpt2.py:5)", "   last reason: 11/0: L['self'].layer_idx == 0", ""))
    assert "config.cache_size_limit above the number of modules, where each has its own value" in shown(text, tmp_path)


def test_a_mark_of_an_int_on_modules_is_doubted_where_a_late_entry_needs_it(tmp_path: Path) -> None:
    text = "\n".join((LIMIT[0], "   function: 'forward' (gpt2.py:5)", "   last reason: 11/7: L['self'].layer_idx == 7", ""))
    assert "where the code takes an item of a list with self.layer_idx, a mark changes nothing" in " ".join(shown(text, tmp_path).split())


@pytest.mark.parametrize("wrap", [" ", "\n"])
def test_a_last_reason_in_a_span_of_code_is_that_of_a_limit(wrap: str, tmp_path: Path) -> None:
    reason = f"tensor 'kwargs['attention_mask']' dtype{wrap}mismatch. expected Long, actual Bool"
    text = f"The arm hit\n`config.recompile_limit (8)` with `last reason: {reason}`, and the other arm broke inside\n"
    words = " ".join(shown(text, tmp_path).split())
    assert "the last reason: the dtype of kwargs['attention_mask'] changed from int64 to bool" in words


def test_a_dtype_whose_values_are_left_out_is_the_reason_all_the_same(tmp_path: Path) -> None:
    text = "\n".join((*LIMIT[:2], "   last reason: tensor 'outputs' dtype mismatch", ""))
    assert "the last reason: the dtype of outputs changed" in " ".join(shown(text, tmp_path).split())


def test_what_runs_eagerly_is_open_where_the_version_is(tmp_path: Path) -> None:
    words = " ".join(shown("[1/8] last reason: tensor 'x' size mismatch at index 0. expected 512, actual 4096\n", tmp_path).split())
    assert (
        "any call that misses the cache now runs in eager mode, or raises an error under fullgraph=True (before torch 2.6, every call)"
        in words
    )


def test_a_last_reason_that_goes_on_below_keeps_both_parts(tmp_path: Path) -> None:
    text = "\n".join(
        (f"   {LIMIT[0]}", f"   {LIMIT[1]}", "      last reason: 0/7: self._modules['a']", "                        .count == 12", "")
    )
    assert "the last reason: the int self.a.count was 12 and has changed" in shown(text, tmp_path)


@pytest.mark.parametrize("which", ["", "accumulated_"])
@pytest.mark.parametrize(
    "words",
    [
        "torch._dynamo.exc.FailOnRecompileLimitHit: {}recompile_limit reached with fullgraph=True",
        "Dynamo recompile limit exceeded\n  Explanation: Dynamo attempted to recompile the code object too many times, exceeding the "
        "{}recompile_limit cache size limit (currently set to 8).\n  Developer debug context: Limit type: {}recompile_limit\n",
        "  Explanation: Dynamo attempted to recompile the code object too many times, exceeding the {}recompile_limit cache size limit "
        "(currently set to 8).\n",
        "torch._dynamo.exc.Unsupported: Dynamo attempted to recompile the code object too many times, exceeding the {}recompile_limit "
        "cache size limit (currently set to 8).",
        "Other prompts raise `{}recompile_limit reached with fullgraph=True`.",
    ],
    ids=["exception", "block", "explanation", "of another class", "in a sentence"],
)
def test_the_words_for_a_limit_at_which_the_call_raised(words: str, which: str, tmp_path: Path) -> None:
    (found,) = report_of(words.format(which, which) + "\n", tmp_path).findings
    kind = "accumulated recompile limit" if which else "recompile limit"
    assert found.sentence == f"a function not named in the log hit the {kind}; the call raised an error"
    assert found.remedy.endswith(f"raise torch._dynamo.config.{which}recompile_limit")


def test_a_sentence_with_the_limit_a_function_and_a_reason_in_quotes(tmp_path: Path) -> None:
    text = (
        "One block hit it: `torch._dynamo hit config.recompile_limit (32)` on `Block.forward`\n"
        "(`causal_model.py:1811`), reason `KeyError on cache['q']`. The dict is made anew.\n\nIn other news, `L['x'] == 3` holds.\n"
    )
    (found,) = report_of(text, tmp_path).findings
    assert found.sentence.startswith("forward hit the recompile limit; any call")
    assert found.sentence.endswith("the last reason: cache no longer contains 'q'")
    assert str(found.place) == "causal_model.py:1811"


@pytest.mark.parametrize(
    ("setting", "version", "then"),
    [
        ("cache_size_limit", "\nPyTorch version: 2.4.1", "all calls of it now run in eager mode"),
        ("recompile_limit", "", "any call that misses the cache now runs in eager mode, or raises an error under fullgraph=True;"),
        (
            "cache_size_limit",
            "",
            "runs in eager mode, or raises an error under fullgraph=True (before torch 2.6, every call);",
        ),
    ],
)
def test_older_versions_do_not_use_the_cached_graphs_any_more(setting: str, version: str, then: str, tmp_path: Path) -> None:
    text = f"torch._dynamo hit config.{setting} (8)\n   function: 'f' (a.py:3)\n   last reason: 0/0: L['k'] == 2\n{version}\n"
    assert then in shown(text, tmp_path)


def test_a_value_on_the_stack_takes_no_mark_in_code(tmp_path: Path) -> None:
    text = "\n".join((*LIMIT[:2], "   last reason: tensor 'L['___stack0']' size mismatch at index 1. expected 627, actual 606", ""))
    assert "help: remove the graph break that makes this value an input, or mark the input that it is computed from" in shown(
        text, tmp_path
    )


def test_what_has_two_values_does_not_fill_the_cache_alone(tmp_path: Path) -> None:
    text = "\n".join((*LIMIT[:2], "   last reason: 0/7: GLOBAL_STATE changed: grad_mode ", ""))
    assert "help: warm up in the grad mode used in production; find the other causes with TORCH_LOGS=recompiles; or raise" in shown(
        text, tmp_path
    )


def test_an_id_that_the_text_does_not_have_is_in_no_table(tmp_path: Path) -> None:
    symbols = "create_symbol s53 = 64 for L['mask'].size()[1] [16, 400]\neval Eq(s53, 64) [guard added] (_ops.py:910 in decompose)\n"
    words = shown(f"{symbols}set_replacement s53 = 64 (range_refined_to_singleton) VR[64, 64]\n", tmp_path)
    assert "mask.size()[1] 64 _ops.py:910 in decompose (framework) by a guard" in words
    assert "0/0" not in words


@pytest.mark.parametrize("mark", ["`", "``"])
@pytest.mark.parametrize(
    "hit", ["hit\n{0}config.recompile_limit (8){0} on its own", "logged {0}torch._dynamo hit config.recompile_limit (8){0}"]
)
@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("___stack2 == 1.047181248664856", "the float ___stack2 was 1.047181248664856 and has changed"),
        ("self.layer_idx == 8", "the int self.layer_idx was 8 and has changed"),
        ("GLOBAL_STATE changed: grad_mode", "grad mode changed after this was compiled"),
    ],
)
def test_a_limit_and_its_reason_in_spans_of_code_end_where_these_do(
    mark: str, hit: str, reason: str, sentence: str, tmp_path: Path
) -> None:
    text = f"The frame {hit.format(mark)} with\n{mark}last reason: {reason}{mark}, after which Dynamo\ngives up.\n"
    words = shown(text, tmp_path)
    assert f"the last reason: {sentence} = " in words
    assert "torch 2.7 or newer" in words


def test_a_reason_at_the_end_of_a_sentence_has_no_period(tmp_path: Path) -> None:
    text = "torch._dynamo hit config.recompile_limit (8) with last reason: self.layer_idx == 8.\n"
    assert "the int self.layer_idx was 8 and has changed" in shown(text, tmp_path)


def test_a_function_in_a_span_of_code_has_no_mark_in_its_name(tmp_path: Path) -> None:
    text = "- `Recompiling function norm`: 8 times\n- `torch._dynamo hit config.recompile_limit (8)`\n"
    assert "norm was recompiled once" in shown(text, tmp_path)


def test_a_place_behind_the_words_of_a_break(tmp_path: Path) -> None:
    text = (
        "Recompiling function forward in user code at file.py:80\n   triggered by the following guard failure(s):\n"
        "   - tensor 'x' size mismatch at index 0. expected 32, actual 64\n"
    )
    assert "--> file.py:80" in shown(text, tmp_path)


def test_a_sentence_about_the_limit_without_a_reason_is_named_as_one(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("`VisionBlock.forward` (`model.py:498`) hit\n`recompile_limit (8)` by itself.\n", encoding="utf-8")
    with pytest.raises(ShapelogError, match="mentions the recompile limit in a sentence"):
        load(path)


def test_parts_of_code_between_cuda_graphs_are_read_without_a_prefix(tmp_path: Path) -> None:
    text = "```\ncudagraph partition due to non gpu ops\ncudagraph partition into 2 partitions\n```\n"
    table = report_of(text, tmp_path).table("performance_hints")
    assert table is not None
    assert [row[0] for row in table.rows] == ["cudagraph partition due to non gpu ops", "cudagraph partition into 2 partitions"]
