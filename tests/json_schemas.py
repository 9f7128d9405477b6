"""The schemas in the package: what they are, and what of some JSON does not agree with them."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import shapelog

SCHEMA = Path(shapelog.__file__).parent / "schema"


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMA / f"{name}.schema.json").read_text(encoding="utf-8"))
    return found


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema(name))


def faults(name: str, data: object) -> list[str]:
    """Where the data disagrees with the schema of that name, and how."""
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in _validator(name).iter_errors(data)]
