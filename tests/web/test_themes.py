"""Limits on themes and widths, which allow one visit of a page to cover them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

STATIC = Path(settings.BASE_DIR, "static")
STYLES = sorted((STATIC / "css").rglob("*.css"))
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))
TEMPLATES = sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))


@pytest.mark.parametrize("style", STYLES, ids=lambda path: path.name)
def test_a_theme_changes_colours_only(style: Path) -> None:
    """`light-dark()` takes only two colours. A rule for one theme could change any property."""
    text = style.read_text(encoding="utf-8")
    assert "prefers-color-scheme" not in text
    for body in re.findall(r"data-theme[^{]*{([^}]*)}", text):
        assert re.fullmatch(r"\s*color-scheme: (?:light|dark);\s*", body), body


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_no_template_depends_on_the_theme_or_the_width(template: Path) -> None:
    text = template.read_text(encoding="utf-8")
    assert not re.search(r"prefers-color-scheme|\smedia=|srcset|data-theme=", text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_do_not_read_the_page_width(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    matches = re.findall(
        r"(?:inner|outer|client|offset|scroll)Width|ResizeObserver|[\"']resize", text
    )
    matches += re.findall(r"matchMedia\((?!\"\(prefers-color-scheme: dark\)\"\))", text)
    assert matches == []
