"""Sizes that a graph makes a tensor of, and takes out of it again."""

import pytest

from shapelog.reading.payloads.sizes_as_tensors import SizeAsTensor, sizes_as_tensors

DIV = "torch.div(512, 256, rounding_mode = 'trunc')"
MADE = f'div: "i64[][]cpu" = {DIV}'
FOUND = [SizeAsTensor((512, 256), DIV)]


@pytest.mark.parametrize(
    "statements",
    [
        (MADE, 'y: "f32[4, 2, 256][512, 256, 1]cpu" = x.view(4, div, 256);  x = div = None'),
        (
            MADE,
            'count: "i64[][]cpu" = div - 1;  div = None',
            'add: "i64[][]cpu" = count + 1;  count = None',
            'y: "f32[16, 2][2, 1]cpu" = x.new_zeros((16, add));  x = add = None',
        ),
        (MADE, 'y: "f32[2][1]cpu" = torch.zeros(div)', 'z: "f32[2][1]cpu" = torch.ones(div);  div = None'),
    ],
)
def test_a_quotient_of_sizes_that_is_a_size_itself(statements: tuple[str, ...]) -> None:
    assert list(sizes_as_tensors(statements)) == FOUND


@pytest.mark.parametrize(
    "statements",
    [
        (MADE, 'y: "f32[4, 512][512, 1]cpu" = x * div;  x = div = None'),
        (MADE, 'y: "f32[4, 512][512, 1]cpu" = torch.where(mask, div, 0);  mask = div = None'),
        ('div: "i64[][]cpu" = torch.div(lengths, 256);  lengths = None', 'y: "f32[4, 2][2, 1]cpu" = x.view(4, div);  x = div = None'),
        ('rows: "i64[512][1]cpu" = torch.arange(512)', 'y: "f32[4, 2][2, 1]cpu" = x.view(4, rows);  x = rows = None'),
        ('y: "f32[4, 2, 256][512, 256, 1]cpu" = x.view(4, div, 256);  x = div = None', MADE),
    ],
)
def test_a_tensor_that_is_no_size_of_another_or_is_made_of_data(statements: tuple[str, ...]) -> None:
    assert list(sizes_as_tensors(statements)) == []
