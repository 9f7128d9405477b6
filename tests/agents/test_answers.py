"""What agents are answered has names of its own."""

import ast
from pathlib import Path

import shapelog

PACKAGE = Path(shapelog.__file__).parent
ANSWERS = PACKAGE / "agents" / "answers.py"


def classes(path: Path) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ClassDef)}


def test_no_part_of_an_answer_is_called_like_a_class_of_another_module() -> None:
    others = set().union(*(classes(path) for path in PACKAGE.rglob("*.py") if path != ANSWERS))
    assert classes(ANSWERS) & others == set()
