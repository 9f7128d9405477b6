"""The advice in a terminal: the line to paste, what it saves, what it will not fix, and nothing that could harm the terminal."""

import json
import re
from pathlib import Path

import make
import pytest
from make import compile as compiled
from make import dynamic_size, int_values, record, refused, static_sizes, tensor, trace
from odd_sources import SOURCES
from payload_text import code_comment, guard_tree, tensor_match
from recorded import RECORDED, advice_of

from shapelog import load
from shapelog.advice.advise import Advice, advise
from shapelog.advice.paste_formats import as_shell
from shapelog.model.ids import TorchVersion
from shapelog.recompiles.explain import explain_trace
from shapelog.reporters import Options, formats, renderer
from shapelog.reporters.terminal.advice import render_advised_run

V26 = TorchVersion(2, 6)
HOSTILE = "f\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\u2066"


def shown(advice: Advice, width: int = 100, **more: object) -> str:
    return render_advised_run(make.advised(advice), Options(width=width, **more)).decode()


def section(page: str, title: str) -> str:
    """The part of a page from one heading to the next blank line."""
    return page[page.index(f"\n{title}") :].partition("\n\n")[0].strip()


def test_the_first_lines_are_what_it_saves_and_the_line_to_paste() -> None:
    first, blank, second, *_ = shown(make.advice(trace(static_sizes(10, 12, 14)))).splitlines()
    assert first == "Mark 1 input as dynamic: 2 of 3 compilations go away (saves up to 2.00 s of 3.00 s)"
    assert (blank, second) == ("", "  export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\"")


@pytest.mark.slow
def test_a_suggestion_for_hundreds_of_functions_names_a_few_and_json_all() -> None:
    many = make.advice(trace(*(static_sizes(10, 12, frame=number, name=f"layer_{number}", line=number + 1) for number in range(300))))
    text = section(shown(many), "Suggestions")
    assert "layer_5 (frame 5) and 294 more, called at main.py:20" in " ".join(text.split())
    assert len(text.splitlines()) < 10
    assert len(json.loads(renderer("advised run", "json")(make.advised(many), Options()))["suggestions"][0]["frames"]) == 300
    assert "layer_299 (frame 299)" in shown(many, limit=0)


@pytest.mark.parametrize("version", ["2.13.0", "2.6.0"])
def test_no_sentence_names_hundreds_of_functions_or_sources(version: str) -> None:
    frames = [static_sizes(10, 12, 1, frame=number, name=f"g{number}", source=f"L['x{number}']") for number in range(60)]
    reason = "{}/0: tensor 'x' dtype mismatch. expected Float, actual Double"
    frames += [
        int_values(3, 4, frame=number, name=f"f{number}") + refused(f"{number}/2", reason.format(number)) for number in range(60, 120)
    ]
    advice = make.advice(trace(*frames, version=version))
    sentences = [
        *advice.caveats,
        *(item.subject for item in advice.alternatives),
        *(text for item in advice.suggestions for text in item.python),
    ]
    assert any(re.search(r"\bg0, .* and \d+ more", text) for text in sentences)
    assert [text for text in sentences if len(text) > 600] == []


def test_lines_to_paste_and_sources_are_listed_up_to_the_limit() -> None:
    inputs = [tuple(tensor(size + index, 8, source=f"L['x{index}']") for index in range(90)) for size in (10, 12)]
    made = trace(*(compiled(f"0/{number}", *item) for number, item in enumerate(inputs)))
    old = shown(make.advice(made, V26))
    assert old.count("torch._dynamo.mark_dynamic(") == 6
    assert "… 84 more lines, shown with --limit 0" in old
    assert shown(make.advice(made, V26), limit=0).count("torch._dynamo.mark_dynamic(") == 90
    new = shown(make.advice(made))
    assert max(map(len, new.splitlines())) < 2010
    assert re.search(r"a line of \d{4} characters, shown with --limit 0", new)


def test_limit_hits_are_counted_in_the_first_line() -> None:
    made = trace(
        static_sizes(10, 12),
        refused("0/2", *(f"0/{number}: tensor 'x' size mismatch at index 0. expected 10, actual 20" for number in (1, 0))),
    )
    headline = " ".join(shown(make.advice(made)).split("\n\n")[0].split())
    assert headline.startswith("Mark 1 input as dynamic: ")
    assert "and the recorded calls no longer reach the recompile limit (saves up to 1.00 s of 2.00 s" in headline


def test_an_empty_list_comes_with_the_reason_and_nothing_else() -> None:
    assert (
        shown(make.advice(trace(static_sizes(10)))) == "Nothing to mark as dynamic: nothing recompiled (every frame was compiled once).\n"
    )
    page = shown(make.advice(trace(static_sizes(10, 1))), 120)
    assert page.startswith("Nothing to mark as dynamic: no mark would remove any of the recompilations; the reason is listed for each.\n")
    assert "Suggestions" not in page
    assert "export" not in page


def test_a_suggestion_shows_what_it_removes_its_confidence_and_its_place() -> None:
    page = shown(make.advice(trace(static_sizes(10), dynamic_size("0/1", 12, "L['x'].size()[0] <= 64"))))
    assert section(page, "Suggestions").splitlines() == [
        "Suggestions",
        "  A1  removes 1 compilation (1.00 s)  high confidence  SL101",
        "      x  dim 0  x.size[0] was 10, 12",
        "      in f (frame 0), called at main.py:20  f(x)",
        "      ! A dynamic graph covers a limited range: x.size()[0] <= 64",
    ]


def test_an_int_and_several_dims_are_called_so() -> None:
    assert "      k  int  k was 3, 4" in shown(make.advice(trace(int_values(3, 4))))
    made = trace(compiled("0/0", tensor(10, 8)), compiled("0/1", tensor(12, 9)))
    assert "      x  dims 0, 1  x.size[0] was 10, 12; x.size[1] was 8, 9" in shown(make.advice(made))


def test_sources_that_only_help_together_are_shown_together() -> None:
    made = trace()
    for number, size in enumerate((10, 12)):
        made += compiled(f"0/{number}", tensor(size, 8), tensor(size, 8, source="L['y']"))
    lines = section(shown(make.advice(made)), "Suggestions").splitlines()[1:]
    assert lines[0] == "  A1-A2  together they remove 1 compilation (1.00 s)  medium confidence  SL101"
    assert [line.split()[0] for line in lines[1:3]] == ["x", "y"]


def test_verbose_shows_what_is_removed_and_the_lines_for_the_code() -> None:
    short, verbose = (shown(make.advice(trace(static_sizes(10, 12))), verbose=is_verbose) for is_verbose in (False, True))
    for line in ("removes 0/1; the graphs match", "torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen"):
        assert line not in short
        assert line in verbose
    narrow = shown(make.advice(trace(static_sizes(10, 12))), 50, verbose=True)
    assert "      torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen; add min= and max= only if no other sizes occur\n" in narrow


def test_without_a_list_the_lines_for_the_code_are_the_advice() -> None:
    page = shown(make.advice(trace(static_sizes(10, 12)), V26), 120)
    assert "  torch before 2.7 does not read a list of dynamic sources; --format python prints mark_dynamic calls\n" in page
    assert "      torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen" in page
    assert "export" not in page


def test_what_was_left_out_has_its_reason_and_remedy() -> None:
    heading, source, remedy = section(
        shown(make.advice(trace(int_values(3, 4, comment=code_comment(7, "n = f'{k}'")))), 200), "Left out"
    ).splitlines()
    assert heading == "Left out  would save compilations but do harm"
    assert source.startswith("  k: f formats k into a string at model.py:7 (n = f'{k}'): ")
    assert remedy == "    → build the string outside the compiled code, or pass k as a tensor"


def test_what_remains_is_shown_with_rule_sentence_and_remedy() -> None:
    made = trace(
        static_sizes(10, 12),
        compiled("0/2", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64")), seconds=2.5),
    )
    assert section(shown(make.advice(made)), "What marking will not fix").splitlines() == [
        "What marking will not fix  1 recompilation, 2.50 s",
        "  f  x.dtype  SL301 dtype-varies  1 recompilation 2.50 s",
        "    the dtype of x changed from float32 to float64",
        "    → warm up with the dtype used in production, and use one dtype per compiled function",
    ]


def test_a_remedy_for_several_functions_is_shown_once() -> None:
    made = trace()
    for frame, seconds in enumerate((0.5, 1.5)):
        made += compiled(f"{frame}/0", tensor(10, 8), guards=guard_tree(tensor_match()), name=f"f{frame}")
        other = guard_tree(tensor_match(dtype="float64"))
        made += compiled(f"{frame}/1", tensor(10, 8, dtype="torch.float64"), guards=other, name=f"f{frame}", seconds=seconds)
    assert section(shown(make.advice(made)), "What marking will not fix").splitlines() == [
        "What marking will not fix  2 recompilations, 2.00 s",
        "  SL301 dtype-varies  2 recompilations 2.00 s",
        "    → warm up with the dtype used in production, and use one dtype per compiled function",
        "    f1  x.dtype  1 recompilation 1.50 s",
        "      the dtype of x changed from float32 to float64",
        "    f0  x.dtype  1 recompilation 0.50 s",
        "      the dtype of x changed from float32 to float64",
    ]


def test_the_tools_of_this_torch_are_shown_with_lines_to_paste() -> None:
    tools = section(shown(advice_of("lab/one_first.log.gz")), "Alternatives")
    assert tools.startswith("Alternatives  in torch 2.13\n  unbacked source  x.size[0]\n")
    assert "      torch.compiler.config.unbacked_sources = \"L['x']:0\"  # or TORCH_COMPILE_UNBACKED_SOURCES\n" in tools


def test_of_long_code_the_first_lines_are_shown() -> None:
    made = trace()
    for frame in range(7):
        made += static_sizes(10, 1, frame=frame, name=f"f{frame}", source=f"L['x{frame}']")
    advice = make.advice(made)
    longest = max(advice.alternatives, key=lambda item: len(item.lines))
    left = len(longest.lines) - 5
    assert left > 1
    short, verbose = (shown(advice, 200, verbose=is_verbose) for is_verbose in (False, True))
    assert f"      … {left} more lines, shown with --verbose\n" in short
    assert [line for line in longest.lines if f"      {line}\n" in short] == list(longest.lines[:5])
    assert [line for line in longest.lines if f"      {line}\n" in verbose] == list(longest.lines)


def test_pytorch_has_another_list_and_why() -> None:
    page = shown(advice_of("real/2.13/batch_varies.pgo_cold.log.gz"))
    assert "L['x']: PGO lists it, shapelog lists L['x']:0\n    PGO lists the whole tensor; dim 1 does not need to be dynamic\n" in page


def many(count: int) -> bytes:
    made = trace()
    for frame in range(count):
        made += static_sizes(10, 12, frame=frame, name=f"f{frame}", source=f"L['x{frame}']")
        made += compiled(
            f"{frame}/2", tensor(10, 8, dtype="torch.float64"), guards=guard_tree(tensor_match(dtype="float64")), name=f"f{frame}"
        )
    return made


def test_the_limit_cuts_each_list_and_shows_how_much_is_left() -> None:
    advice = make.advice(many(4))
    page = shown(advice, limit=1)
    assert "… 3 more suggestions, shown with --limit 0" in page
    assert "… 3 more places, shown with --limit 0" in page
    assert "--limit 0" not in shown(advice, limit=0)


def test_a_list_that_is_too_long_for_a_screen_is_left_to_the_other_formats() -> None:
    made = trace()
    for number, size in enumerate((10, 12)):
        made += compiled(f"0/{number}", *(tensor(size, 8, source=f"L['a_rather_long_name_of_tensor_{index}']") for index in range(60)))
    advice = make.advice(made)
    page = shown(advice)
    assert "  60 entries: run shapelog suggest-dynamic with --format shell, env, or python to print them\n" in page
    assert "export" not in page
    assert renderer("advice", "env")(advice, Options()).decode().strip() == advice.env


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("name", RECORDED[::4])
def test_lines_keep_to_the_width_but_for_those_to_be_copied(name: str, width: int) -> None:
    copied = ("export ", "torch.", "from torch.", "TORCH_", "L[", "G[", "# ")
    lines = shown(advice_of(name), width, verbose=True, limit=0).splitlines()
    assert [line for line in lines if len(line) > width and not line.strip().startswith(copied)] == []


@pytest.mark.parametrize("source", [source for source in SOURCES if source])
def test_the_line_to_paste_is_whole_whatever_the_name(source: str) -> None:
    advice = make.advice(trace(static_sizes(10, 12, source=source)))
    assert advice.env
    assert f"\n  {as_shell(advice)}\n" in shown(advice, 60)


@pytest.mark.parametrize("version", [None, V26])
@pytest.mark.parametrize("form", ["terminal", *formats("advice")])
def test_names_of_a_trace_cannot_harm_the_terminal(form: str, version: TorchVersion | None) -> None:
    made = trace()
    made += record("str", [f"/srv/{HOSTILE}.py", 0])
    source = f"L['{HOSTILE}']"
    made += static_sizes(10, 12, 1, name=HOSTILE, source=source, reasons=(f"0/0: {HOSTILE}",))
    made += int_values(
        3, 4, frame=1, name=f"g{HOSTILE}", source=f"G['{HOSTILE}']", comment=code_comment(7, f"name = f'{{{HOSTILE}}}'", HOSTILE)
    )
    advice = make.advice(made, version)
    for color in (False, True):
        options = Options(verbose=True, color=color)
        is_terminal = form == "terminal"
        rendered = (
            renderer("advised run", form)(make.advised(advice), options) if is_terminal else renderer("advice", form)(advice, options)
        )
        page = re.sub(r"\x1b\[[\d;]*m", "", rendered.decode())
        assert "owned" in page or (form in ("env", "shell") and version is V26)
        assert [character for character in page if not character.isprintable() and character != "\n"] == []


def test_marks_that_were_set_by_something_hostile_cannot_harm_it_either() -> None:
    advice = make.advice(trace(static_sizes(10, 12)))._replace(caveats=(HOSTILE,))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown(advice))


@pytest.mark.parametrize(("trace", "is_explained"), [("lab/dict_tuple_keys.log.gz", True), ("lab/dict_keys.log.gz", False)])
def test_an_entry_that_is_a_regular_expression_is_called_one(trace: str, is_explained: bool) -> None:
    text = shown(advice_of(trace), 80)
    assert ("\n  entries with backslashes are regular expressions: keep them as they are\n" in text) is is_explained


LOG = """V0711 09:01:22.000000 2 torch/_dynamo/guards.py:2] [1/1] [__recompiles] Recompiling function f in /srv/a.py:7
V0711 09:01:22.000000 2 torch/_dynamo/guards.py:2] [1/1] [__recompiles]     triggered by the following guard failure(s):
V0711 09:01:22.000000 2 torch/_dynamo/guards.py:2] [1/1] [__recompiles]     - 1/0: tensor 'x' size mismatch at index 0. expected 4, actual 7
"""


def test_what_a_text_log_leaves_out_is_below_the_advice(tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(LOG, encoding="utf-8")
    page = shown(advise(explain_trace(load(tmp_path / "run.txt"))))
    assert " ".join(page.split()).endswith(
        "but no times, guards or graphs. To record everything: TORCH_TRACE=/tmp/trace python your_script.py"
    )
