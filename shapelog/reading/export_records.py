"""The records that ``torch.export`` and ``draft_export`` write, typed. Most of them need ``TORCH_DTRACE`` instead of ``TORCH_TRACE``."""

from typing import NamedTuple

from shapelog.reading.records import Body, Stack, Stacks, local_values, number_in


class Began(NamedTuple):
    """An export that began; written under ``TORCH_DTRACE`` alone, so all else that happens in it is recorded, too."""


def began(body: Body, stacks: Stacks) -> Began:
    return Began()


class Assumed(NamedTuple):
    """An expression over values that only the data decide, taken to be what it was for the example inputs.

    ``values`` are the local variables of the line that it comes from, as (name, value).
    """

    expression: str
    result: str
    user_stack: Stack
    stack: Stack
    node: int = 0
    values: tuple[tuple[str, str], ...] = ()


def assumed(body: Body, stacks: Stacks) -> Assumed:
    return Assumed(
        expression=str(body["expr"]),
        result=str(body["result"]),
        user_stack=stacks("user_stack"),
        stack=stacks("stack"),
        node=number_in(body.get("expr_node_id")),
        values=local_values(body.get("frame_locals")),
    )


class Undecided(NamedTuple):
    """An expression that could not be evaluated, since only the data decide it. PyTorch raises an error, which its caller may catch."""

    expression: str
    stack: Stack
    node: int = 0


def undecided(body: Body, stacks: Stacks) -> Undecided:
    return Undecided(str(body["expr"]), stacks("stack"), number_in(body.get("expr_id")))


class MissingKernel(NamedTuple):
    """A custom operator without a fake kernel, so that the shape of its result was taken from a real run."""

    op: str


def missing_kernel(body: Body, stacks: Stacks) -> MissingKernel:
    return MissingKernel(str(body["op"]))


class MismatchedKernel(NamedTuple):
    """A custom operator whose fake kernel promises something else than the real one returns."""

    op: str
    reason: str


def mismatched_kernel(body: Body, stacks: Stacks) -> MismatchedKernel:
    return MismatchedKernel(str(body["op"]), str(body.get("reason", "")))


class SymbolicExpression(NamedTuple):
    """An expression over symbols: the operation that made it, its arguments as text, and the numbers of those that are expressions."""

    number: int
    method: str
    text: str
    arguments: tuple[str, ...]
    made_of: tuple[int, ...]
    user_stack: Stack


def expression(body: Body, stacks: Stacks) -> SymbolicExpression:
    return SymbolicExpression(
        number=number_in(body["result_id"]),
        method=str(body.get("method", "")),
        text=str(body["result"]),
        arguments=tuple(map(str, body.get("arguments") or ())),
        made_of=tuple(number for number in body.get("argument_ids") or () if type(number) is int),
        user_stack=stacks("user_stack"),
    )


PARSERS = {
    "export": began,
    "expression_created": expression,
    "guard_on_data_dependent_error": undecided,
    "mismatched_fake_kernel": mismatched_kernel,
    "missing_fake_kernel": missing_kernel,
    "propagate_real_tensors": assumed,
    "propagate_real_tensors_provenance": assumed,
}
