"""The filters of the page's templates."""

from pathlib import Path

import pytest
from jinja2 import Environment

import shapelog
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.filters import page_environment
from shapelog.reporters.html.page_context import page_context

DEMO = Path(__file__).parents[3] / "fixtures" / "real" / "demo.log.gz"


@pytest.fixture(scope="module")
def report() -> shapelog.report.report.Report:
    return shapelog.analyze(shapelog.load(DEMO))


@pytest.fixture(scope="module")
def templates(report: shapelog.report.report.Report) -> Environment:
    return page_environment(page_context(collect_alerts(report, Repository()), Options()))


@pytest.fixture(scope="module")
def without_source(report: shapelog.report.report.Report) -> Environment:
    return page_environment(page_context(collect_alerts(report, Repository()), Options(with_source=False)))


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("'a size varied'|sentence", "A size varied."),
        ("'a size varied'|sentence(false)", "a size varied."),
        ("'Why?'|sentence", "Why?"),
        ("'Net._run_all[0]'|breakable", "Net<wbr>._run_<wbr>all<wbr>[0]"),
        ("'<lambda>'|breakable", "&lt;lambda&gt;"),
        ("''|sentence", ""),
        ("'train() was called'|sentence", "train() was called."),
        ("(0, 1, 2, 3)|rank_list", "ranks 0–3"),
        ("none|cell", ""),
        ("1.234|cell", "1.23"),
        ("12|cell", "12"),
        ("'a\nb'|cell", "a b"),
        ("12.5|percent", "12.5%"),
        ("100.0|percent", "100%"),
        ("0.004|percent", "0%"),
        ("2|plural('entry')", "2 entries"),
        ("('x' * 2010)|shortened", f"{'x' * 1000}\n… 10 characters left out …\n{'x' * 1000}"),
        ("('x' * 2010)|pytorch_text", f"{'x' * 1000}\n… 10 characters left out …\n{'x' * 1000}"),
        ("source_line('', 3)", ""),
    ],
)
def test_filters_make_values_readable(expression: str, shown: str, templates: Environment) -> None:
    assert templates.from_string(f"{{{{ {expression} }}}}").render() == shown


def test_every_value_is_printable_and_not_endless(templates: Environment) -> None:
    value = templates.from_string("{{ value }}")
    assert value.render(value="a\u202eb") == r"a\u202eb"
    assert value.render(value="x" * 30_000) == "x" * 30_000
    assert len(value.render(value="x" * 50_000)) < 30_100


def test_a_place_has_its_directory_and_code_only_where_they_may_be_shown(templates: Environment, without_source: Environment) -> None:
    text = "{{ source_line('/srv/app/model.py', 12, 'forward', 'return x') }}"
    name = '<span class="dim">in forward</span>'
    code = '<code class="line"><span class="hk">return</span> x</code>'
    place = '<span class="place" title="/srv/app/model.py:12">model.py:12</span>'
    assert templates.from_string(text).render() == f"{place} {name} {code}"
    assert without_source.from_string(text).render() == f'<span class="place">model.py:12</span> {name}'
