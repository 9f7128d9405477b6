"""pytest holds the model to it, too: pytest --shapelog (here switched on in pyproject.toml)."""

import pytest
import torch

from model import Classifier, confidence
from serve import REQUESTS


@pytest.mark.no_recompiles(reset=True)
def test_requests_of_all_kinds_need_one_graph() -> None:
    model = torch.compile(Classifier().eval())
    with torch.inference_mode():
        for batch, length in REQUESTS:
            assert model(torch.randint(1000, (batch, length))).shape == (batch, 4)


@pytest.mark.no_recompiles(reset=True)
def test_confidence_never_recompiles() -> None:
    sure = torch.compile(confidence)
    assert sure(torch.tensor([9.0, 0.0, 0.0, 0.0])) > sure(torch.zeros(4))
