"""Names that try to be something else come through every format as what they are: text that is seen and does nothing."""

import make
import pytest
from hostile_names import PIECES, READ, flaws, names, outputs, shell_flaws, trace_with

pytestmark = pytest.mark.slow

# benchmarks/hostile_names.py takes as many as one wants, and a browser.
NAMES = tuple(names(len(PIECES) + 40))
# The page with a verdict is that of the report but for its head: it takes fewer names.
_WITH_VERDICT = "check html"


def test_they_are_text_that_is_seen_in_every_format_and_a_shell_takes_back_the_value() -> None:
    few = outputs(make.load(trace_with(*NAMES[::8])))
    rendered = outputs(make.load(trace_with(*NAMES)), left_out=(_WITH_VERDICT,)) | {_WITH_VERDICT: few[_WITH_VERDICT]}
    forms = {where.rpartition(" ")[2]: output for where, output in rendered.items()}
    assert forms.keys() >= set(READ)
    assert all(len(output) > 200 for output in rendered.values())
    assert list(flaws(rendered)) == []
    line, value = (rendered[f"advice {form}"].decode().removesuffix("\n") for form in ("shell", "env"))
    assert list(shell_flaws(line, value)) == []
