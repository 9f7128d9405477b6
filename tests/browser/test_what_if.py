"""Suggestions are ticked on and off: figures, functions, the text to paste and the address follow."""

from itertools import combinations

import make
import pytest
from recorded import advice_of

from browser import traces
from browser.conftest import Visit
from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python, as_shell, as_short_shell

expect = pytest.importorskip("playwright.sync_api").expect

DEMO = advice_of("real/demo.log.gz")


def part_of(chosen: tuple[int, ...]) -> Advice:
    return DEMO._replace(suggestions=tuple(DEMO.suggestions[place] for place in chosen))


@pytest.mark.parametrize("chosen", [part for size in range(4) for part in combinations(range(3), size)], ids=str)
def test_the_page_shows_what_the_replay_gives_for_each_combination(chosen: tuple[int, ...], visit: Visit) -> None:
    page = visit("demo", "advice")
    panel = page.locator("#what-if")
    for place in range(3):
        panel.get_by_role("checkbox").nth(place).set_checked(place in chosen)
    cost = DEMO.replayed.cost_in_this_run(frozenset(mark for place in chosen for mark in DEMO.suggestions[place].marks))
    expect(panel.locator("#wi-compiles")).to_have_text(
        f"{cost.compiles}–{cost.compiles + cost.spread}" if cost.spread else str(cost.compiles)
    )
    is_open = cost.spread and cost.limit_hits < DEMO.before.limit_hits
    expect(panel.locator("#wi-limit")).to_have_text(f"{cost.limit_hits}–{DEMO.before.limit_hits}" if is_open else str(cost.limit_hits))
    expect(panel.locator("#wi-seconds")).to_have_text(str(cost.seconds))
    shown = panel.locator(".paste pre")
    panel.get_by_role("radio", name="Shell").check()
    expect(shown).to_have_text(as_shell(part_of(chosen)) or "# nothing is ticked", use_inner_text=True)
    panel.get_by_role("radio", name="Python").check()
    assert shown.text_content() == (as_python(part_of(chosen)) or "# nothing is ticked")
    panel.get_by_role("radio", name="Bare value").check()
    assert shown.text_content() == (part_of(chosen).env or "# nothing is ticked")


def test_each_function_has_its_own_figures(visit: Visit) -> None:
    page = visit("demo", "advice")
    row = page.locator("#what-if tr").filter(has_text="MovingAverage")
    expect(row.locator(".total")).to_have_text("1")
    page.locator("#what-if").get_by_role("checkbox", name="self.step").uncheck()
    expect(row.locator(".total")).to_have_text("8 + 1 refused")
    expect(page.locator("#what-if li").filter(has_text="self.step").locator(".effect")).to_have_text(
        "would save 7 and avoid 1 refused call"
    )
    expect(page.get_by_role("status").filter(has_text="compilations")).to_have_count(1)


def test_a_box_may_stand_for_several_suggestions(visit: Visit) -> None:
    page = visit("many suggestions", "advice")
    panel = page.locator("#what-if")
    expect(panel.get_by_role("checkbox")).to_have_count(12)
    panel.get_by_role("checkbox", name="k0", exact=False).first.uncheck()
    panel.get_by_role("checkbox", name="together with A13 and A14").uncheck()
    expect(panel.locator("#wi-compiles")).to_have_text("5")
    expect(panel.locator("li").filter(has_text="together with").locator(".effect")).to_have_text("would save 3")
    panel.get_by_role("radio", name="Bare value").check()
    assert len((panel.locator(".paste pre").text_content() or "").split(",")) == 10


def test_the_layers_of_a_cache_have_one_box_and_one_entry(visit: Visit) -> None:
    page = visit("growing cache", "advice")
    panel = page.locator("#what-if")
    shown = panel.locator(".paste pre")
    expect(panel.get_by_role("checkbox")).to_have_count(2)
    expect(panel.get_by_role("checkbox", name="cache.layers[*].keys")).to_be_checked()
    advice = make.report(traces.growing_cache()).advice
    assert advice is not None
    expect(shown).to_have_text(as_short_shell(advice), use_inner_text=True)
    panel.get_by_role("checkbox", name="cache.layers[*].keys").uncheck()
    expect(shown).to_have_text("export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['ids']:2\"", use_inner_text=True)
    expect(panel.locator("#wi-compiles")).to_have_text("2")


def test_the_buttons_tick_all_and_none(visit: Visit) -> None:
    page = visit("demo", "advice")
    page.get_by_role("button", name="None").click()
    expect(page.locator("#what-if").get_by_role("checkbox", checked=True)).to_have_count(0)
    expect(page.locator("#wi-compiles")).to_have_text("19")
    assert page.evaluate("location.hash") == "#advice?off=all"
    page.get_by_role("button", name="All").click()
    expect(page.locator("#what-if").get_by_role("checkbox", checked=True)).to_have_count(3)
    assert page.evaluate("location.hash") == "#advice"


def test_a_reload_and_a_copied_link_show_the_same_ticks(visit: Visit) -> None:
    page = visit("demo", "advice")
    page.locator("#what-if").get_by_role("checkbox", name="tokens").uncheck()
    page.get_by_role("radio", name="Python").check()
    assert page.evaluate("location.hash") == "#advice?off=A1&format=python"
    shown = page.locator("#what-if").inner_text()
    page.reload()
    expect(page.locator("#advice")).to_be_visible()
    assert page.locator("#what-if").inner_text() == shown
    other = visit("demo", "advice?off=A1&format=python")
    assert other.locator("#what-if").inner_text() == shown


def test_ticks_survive_a_look_at_another_view(visit: Visit) -> None:
    page = visit("demo", "advice?off=A2")
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    assert page.evaluate("location.hash") == "#overview"
    page.get_by_role("navigation").get_by_role("link", name="Advice").click()
    expect(page.locator("#what-if").get_by_role("checkbox", name="self.step")).not_to_be_checked()
    assert page.evaluate("location.hash") == "#advice?off=A2"


def test_an_address_with_nonsense_is_as_good_as_none(visit: Visit) -> None:
    page = visit("demo", "advice?off=A99&format=nonsense&other=1")
    expect(page.locator("#what-if").get_by_role("checkbox", checked=True)).to_have_count(3)
    expect(page.get_by_role("radio", name="Shell")).to_be_checked()


def test_without_a_script_all_suggestions_are_applied(visit: Visit) -> None:
    page = visit("demo", "advice", java_script_enabled=False)
    expect(page.locator("#what-if").get_by_role("checkbox")).to_have_count(0)
    expect(page.locator("#wi-seconds")).to_have_text(str(DEMO.saved_seconds.left_of(DEMO.before.seconds.least)))
    expect(page.locator("#what-if pre")).to_have_text(as_shell(DEMO))
