"""Where the templates are."""

from pathlib import Path

import pytest

from shapelog import resources


def test_a_checkout_has_the_templates_next_to_the_package() -> None:
    assert (resources.template_dir() / "report.html.j2").is_file()


def test_the_templates_of_an_installed_package_are_inside_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path)
    assert resources.template_dir() == tmp_path / "templates"
