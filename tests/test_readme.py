"""The README is short, and holds what .ci/run and the index of packages need of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["use", "test"])
def test_the_commands_that_ci_types_follow_their_marker(name: str) -> None:
    (commands,) = re.findall(rf"^<!-- commands: {name} -->\n```bash\n(.*?)^```$", README, re.M | re.S)
    assert commands.startswith("python3 -m venv .venv && ")


def test_it_shows_an_answer_and_fits_on_a_few_screens() -> None:
    assert "Next steps" in README
    assert README.count("\n") < 100


def test_its_pictures_are_there_and_small() -> None:
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', README)
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < 300_000 for picture in pictures)
