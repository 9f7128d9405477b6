"""What a finding about a restart has: its seconds, the floats that became constants, and what made them dynamic."""

import json
from typing import Any

import make
import pytest
from make import alerts_of, tensor, trace
from make import compile as compiled
from recorded import report_of

from shapelog.report.alerts.alert import Alert

FLOAT = "<class 'torch._dynamo.exc.TensorifyScalarRestartAnalysis'>"
EPS = "L['self'].norm1.eps", "L['self'].norm2.eps", "L['scale']", "L['bias']"
NORMAL = "one restart is normal; if "


def restarted(reason: str = FLOAT, is_static: bool = True, sources: tuple[str, ...] = EPS, **more: Any) -> Alert:
    pinned = [{"symbol": f"zf{number}", "sources": [source], "value": "0.5"} for number, source in enumerate(sources)]
    pinned.append({"symbol": "s0", "sources": ["L['x'].size()[0]"], "value": "8"})
    config = json.dumps({"assume_static_by_default": is_static})
    fields = {"restart_reasons": [reason], "dynamo_time_before_restart_s": 0.5, "dynamo_config": config, **more}
    (alert,) = alerts_of(trace(compiled("0/0", tensor(8, 16), specializations=pinned, **fields))).alerts
    return alert


def test_the_seconds_before_it_and_the_floats_that_became_constants_are_named() -> None:
    found = restarted()
    assert (
        found.sentence
        == "Dynamo restarted its analysis of f (once, 0.50 s): a float could not stay dynamic, so its value became a constant"
    )
    assert found.notes == ("floats that became constants: self.norm1.eps, self.norm2.eps, scale and 1 more",)


def test_what_the_trace_does_not_have_is_left_out() -> None:
    assert restarted(sources=()).notes == ()
    assert restarted("speculation diverged").notes == ()
    assert restarted(dynamo_time_before_restart_s=None).sentence.startswith("Dynamo restarted its analysis of f (once): ")


@pytest.mark.parametrize(
    ("reason", "is_static", "help"),
    [
        (FLOAT, True, "restarts are expensive, their reasons show what to change"),
        (
            FLOAT,
            False,
            "it is expensive, call torch.compile without dynamic=True, which makes floats dynamic from the start, and mark the sizes ",
        ),
        (
            "<class 'torch._dynamo.exc.RequiresGradRestartAnalysis'>",
            False,
            "it is expensive, call requires_grad_() on tensors before they are passed to compiled code",
        ),
    ],
)
def test_dynamic_true_is_named_where_it_made_the_floats_dynamic(reason: str, is_static: bool, help: str) -> None:
    assert restarted(reason, is_static).remedy.text.startswith(NORMAL + help)


def test_settings_that_are_not_recorded_make_no_difference() -> None:
    assert restarted(dynamo_config=None).remedy.text.startswith(f"{NORMAL}restarts")


def test_a_recorded_restart_has_its_float() -> None:
    found = make.collect_alerts(report_of("lab/float_arg_specialised.log.gz"), make.Repository("nowhere", ())).alerts
    (alert,) = (item for item in found if item.rule.code == "SL502")
    assert (alert.notes, alert.seconds > 0.1) == (("floats that became constants: max_norm",), True)
