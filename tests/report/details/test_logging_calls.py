"""The line to type for a call at which Dynamo stopped although it only writes a line."""

import make
import pytest

from shapelog.report.next_steps import next_steps


@pytest.mark.parametrize(
    ("explanation", "hint", "code", "text"),
    [
        ("`print`", "a logging function (e.g. `print`)", "print(x)", ("{}.add(print)",)),
        ("`_warnings.warn`", "a logging function (e.g. `_warnings.warn`)", "warn(x)", ("import warnings", "{}.add(warnings.warn)")),
        ("`print` with argument types ['str', 'Tensor']", "a logging function (e.g. `print`)", "print(x)", ("{}.add(print)",)),
        ("`print` with argument types ['str', 'tuple']", "a logging function (e.g. `print`)", "print(x)", ()),
        ("`len`", "a logging function (e.g. `print`)", "len(x)", ()),
    ],
)
def test_a_call_that_only_logs_comes_with_the_line_that_lets_dynamo_move_it(
    explanation: str, hint: str, code: str, text: tuple[str, ...]
) -> None:
    setting = "torch._dynamo.config.reorderable_logging_functions"
    reason = f"No\n  Explanation: Dynamo cannot trace {explanation}.\n  Hint: If you call {hint}, add it to `{setting}`.\n"
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards="", fail_type="Unsupported", fail_reason=reason))
    (step,) = next_steps(make.alerts_of(made))
    assert step.text == tuple(line.format(setting) for line in text)


def test_a_logger_is_ignored_by_the_method_that_the_line_calls() -> None:
    reason = "No\n  Explanation: No.\n  Hint: Add the logging method to `torch._dynamo.config.ignore_logging_functions`.\n"
    reason += '\nfrom user code:\n  File "/srv/app/model.py", line 6, in f\n    log.info(x)\n'
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards="", fail_type="Unsupported", fail_reason=reason))
    (step,) = next_steps(make.alerts_of(made))
    assert step.text == ("import logging", "torch._dynamo.config.ignore_logging_functions.add(logging.Logger.info)")


@pytest.mark.parametrize(("kind", "is_moved"), [("constant.ConstantVariable", True), ("tensor.SymNodeVariable", False)])
def test_a_call_with_a_symbolic_int_is_not_moved(kind: str, is_moved: bool) -> None:
    setting = "torch._dynamo.config.reorderable_logging_functions"
    reason = "No\n  Explanation: Dynamo cannot trace `print` with argument types ['int'].\n"
    reason += f"  Hint: Avoid calling `print`.\n  Hint: If you call a logging function (e.g. `print`), add it to `{setting}`.\n"
    reason += f"\n  Developer debug context: builtin print [<class 'torch._dynamo.variables.{kind}'>] False\n"
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards="", fail_type="Unsupported", fail_reason=reason))
    (step,) = next_steps(make.alerts_of(made))
    assert step.text == ((f"{setting}.add(print)",) if is_moved else ())
    assert any(setting in hint for hint in step.hints) is is_moved
