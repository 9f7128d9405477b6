"""Settings that are not at PyTorch's defaults."""

import json

import make
from recorded import report_of

from shapelog.model.trace import Trace
from shapelog.report.details.default_settings import DEFAULTS, first_settings, non_default_settings
from shapelog.report.report import analyze
from shapelog.reporters import Options, renderer


def configured(**configs: object) -> bytes:
    """A run whose metrics hold the settings of ``dynamo_config=``, ``inductor_config=`` and so on."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in configs.items()}
    return make.trace(make.compile("0/0", make.tensor(8, 16), **texts), make.compile("0/1", make.tensor(3, 16), dynamo_config="{}"))


def loaded(**configs: object) -> Trace:
    return make.load(configured(**configs))


def test_settings_at_their_defaults_and_unknown_ones_are_left_out() -> None:
    trace = loaded(
        dynamo_config={"recompile_limit": 64, "specialize_int": False, "no_such_setting": 1},
        inductor_config={"max_autotune": True},
        compiler_config={"dynamic_sources": "L['x']", "job_id": None},
    )
    assert [(item.name, item.value, item.default) for item in non_default_settings(trace)] == [
        ("torch._dynamo.config.recompile_limit", 64, 8),
        ("torch._inductor.config.max_autotune", True, False),
        ("torch.compiler.config.dynamic_sources", "L['x']", ""),
    ]


def test_the_old_name_of_a_setting_is_the_same_setting() -> None:
    (found,) = non_default_settings(loaded(dynamo_config={"cache_size_limit": 3}))
    assert (found.name, found.value) == ("torch._dynamo.config.recompile_limit", 3)


def test_settings_that_cannot_be_read_are_none() -> None:
    for text in ("", "{", "[1]", "null"):
        assert non_default_settings(loaded(dynamo_config=text)) == ()


def test_a_setting_of_some_ranks_names_them() -> None:
    data = [configured(dynamo_config={"recompile_limit": 64, "suppress_errors": rank == 1}) for rank in range(3)]
    report = analyze(make.load_ranks(*data))
    table = report.table("settings")
    assert table
    assert [column.name for column in table.columns] == ["setting", "default", "ranks", "value"]
    assert table.rows == (
        ("torch._dynamo.config.recompile_limit", "8", "all", "64"),
        ("torch._dynamo.config.suppress_errors", "false", "rank 1", "true"),
    )


def test_programs_that_set_nothing_have_nothing_to_show() -> None:
    assert report_of("lab/batch_varies.log.gz").table("settings") is None


def test_every_recorded_default_is_known_to_torch() -> None:
    (rank,) = report_of("lab/one_first.log.gz").trace.ranks
    assert DEFAULTS.keys() - first_settings(rank).keys() == {"torch.compiler.config.static_sources"}  # torch 2.15 alone has it


def test_the_terminal_and_the_page_show_them() -> None:
    report = analyze(loaded(dynamo_config={"suppress_errors": True}))
    for format in ("terminal", "html"):
        text = renderer("report", format)(report, Options(verbose=True)).decode()
        assert "torch._dynamo.config.suppress_errors" in text
