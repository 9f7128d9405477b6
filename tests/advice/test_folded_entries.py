"""One expression for entries that differ in an index alone: PyTorch finds the same inputs of this trace by it."""

import make
import pytest

from shapelog.advice.advise import Advice, advise
from shapelog.advice.folded_entries import NamedEntry, folded
from shapelog.advice.marks import Mark, SourceNames, matched
from shapelog.advice.paste_formats import as_short_shell
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.reporters import Options
from shapelog.reporters.terminal.advice import what_to_set
from shapelog.reporters.terminal.text_page import TextPage

V213 = TorchVersion(2, 13)
LAYERS = [f"L['cache'].layers[{number}].keys" for number in range(16)]


def of(*sources: str, dim: int | None = 2) -> list[NamedEntry]:
    return [NamedEntry(source, source if dim is None else f"{source}:{dim}", dim) for source in sources]


def in_short(entries: list[NamedEntry], others: SourceNames) -> tuple[str, ...]:
    found = folded(entries, others)
    return tuple(dict.fromkeys(found.get(entry.spelled, entry.spelled) for entry in entries))


def test_the_layers_of_a_cache_have_one_expression_for_each_dim() -> None:
    listed = [*of("L['ids']", dim=1), *of(*LAYERS), *of(*LAYERS, dim=0)]
    assert in_short(listed, SourceNames([*LAYERS, "L['ids']"])) == (
        "L['ids']:1",
        r"L\['cache'\]\.layers\[\d+\]\.keys$:2",
        r"L\['cache'\]\.layers\[\d+\]\.keys$:0",
    )


def test_before_torch_2_13_an_expression_has_no_dim() -> None:
    assert in_short(of(*LAYERS, dim=None), SourceNames(LAYERS)) == (r"L\['cache'\]\.layers\[\d+\]\.keys$",)


def test_an_index_in_quotes_is_one_too_and_the_one_in_which_most_differ_is_folded() -> None:
    listed = [f"L['self']._modules['{layer}'].kv[{half}]" for layer in range(4) for half in range(2)]
    assert in_short(of(*listed), SourceNames(listed)) == (
        r"L\['self'\]\._modules\['\d+'\]\.kv\[0\]$:2",
        r"L\['self'\]\._modules\['\d+'\]\.kv\[1\]$:2",
    )


@pytest.mark.parametrize(
    ("listed", "others"),
    [
        (LAYERS[:2], []),
        (LAYERS[:3], LAYERS[3:]),  # an input that is not to be marked
        (["L['a']", "L['b']", "L['c']"], []),
        (["L['x'][0].k", "L['x'][1].v", "L['y'][2].k"], []),
    ],
)
def test_entries_stay_as_they_are(listed: list[str], others: list[str]) -> None:
    assert in_short(of(*listed), SourceNames([*listed, *others])) == tuple(entry.spelled for entry in of(*listed))


def growing(*sources: str) -> Advice:
    return advise(make.explain(make.growing(*sources)))


def test_a_long_list_is_shown_in_short_and_written_in_full() -> None:
    advice = growing("L['ids']", *LAYERS)
    marks = [Mark(Source(source), dim) for source in ("L['ids']", *LAYERS) for dim in range(3)]
    assert len(advice.entries) == 17
    assert len(advice.short_entries) == 2
    assert matched(advice.short_entries, marks, V213) == matched(advice.entries, marks, V213) == {mark for mark in marks if mark.dim == 2}
    page = TextPage(Options(width=100))
    what_to_set(page, advice)
    assert page.bytes().decode().split("\n") == [
        r"""  export TORCH_COMPILE_DYNAMIC_SOURCES="L\['cache'\]\.layers\[\d+\]\.keys\$:2,L['ids']:2" """.rstrip(),
        "  2 entries in place of 17, which suggest-dynamic --format env lists; those with backslashes are",
        "    regular expressions: keep them as they are",
        "",
    ]


def test_a_list_that_is_easy_to_read_is_shown_as_it_is() -> None:
    assert growing(*LAYERS[:4]).short_entries == ()
    assert as_short_shell(growing(*LAYERS[:4])) == ""


@pytest.mark.torch
def test_pytorch_finds_the_same_inputs() -> None:
    torch = pytest.importorskip("torch", minversion="2.13")
    from torch._dynamo.variables.builder import is_dynamic_source

    with torch.compiler.config.patch(dynamic_sources=",".join(in_short(of(*LAYERS), SourceNames(LAYERS)))):
        assert all(is_dynamic_source(source, 2) and not is_dynamic_source(source, 0) for source in LAYERS)
        assert not is_dynamic_source("L['cache'].layers[3].keys._base", 2)
