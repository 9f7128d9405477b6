"""Where Dynamo stops at a line that runs in training mode alone."""

from pathlib import Path

import pytest

from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.records import StackFrame
from shapelog.report.details.training_lines import IN_TRAINING_ALONE, with_training_hint

MODEL = """\
class Encoder(Module):
    def forward(self, x):
        for layer in self.layers:
            if self.training:
                p = torch.rand([])
                if p < self.layerdrop:
                    continue
            else:
                if x.sum() > 0:
                    x = -x
            skip = self.training and torch.rand([]) < self.layerdrop
            if not skip or self.synced:
                x = layer(x)
            if self.training and x.max() > 9:
                x = x / 2
            if self.training or x.sum() > 0:
                x = x + 1
            if not self.training:
                x.tolist()
        return x

    def other(self, skip):
        if skip:
            return 0
"""
LINES = MODEL.splitlines()


@pytest.mark.parametrize(
    ("line", "is_in_training"),
    [(6, True), (9, False), (12, True), (14, True), (15, True), (16, False), (19, False), (23, False)],
)
def test_a_hint_comes_first_where_only_training_leads_to_the_line(line: int, is_in_training: bool, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    frame = StackFrame(str(file), line, "forward", LINES[line - 1].strip())
    found = with_training_hint(CompilerMessage("Data-dependent branching", hints=("Use torch.cond.",), stack=(frame,)))
    assert found.hints == ((IN_TRAINING_ALONE, "Use torch.cond.") if is_in_training else ("Use torch.cond.",))


@pytest.mark.parametrize("code", ["if q < self.layerdrop:", ""])
def test_a_file_that_has_another_line_there_shows_nothing(code: str, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(MODEL, encoding="utf-8")
    for frame in (StackFrame(str(file), 6, "forward", code), StackFrame(str(tmp_path / "none.py"), 6, "forward", LINES[5].strip())):
        assert with_training_hint(CompilerMessage("", stack=(frame,))).hints == ()
    assert with_training_hint(CompilerMessage("no stack")).hints == ()
