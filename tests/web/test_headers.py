"""Headers that make injected markup harmless, and templates that keep to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tests.personas import Person
from tests.web.conftest import World

TEMPLATES = sorted(Path(settings.BASE_DIR, "templates").rglob("*.html"))
SCRIPTS = sorted(Path(settings.BASE_DIR, "static", "js").rglob("*.js"))
VENDORED = sorted(Path(settings.BASE_DIR, "static", "vendor").rglob("*.js"))


@pytest.mark.parametrize(
    "path", ["/", "/groups/", "/clusters/", "/no-such-page/", "/sign-out/", "/sign-in/"]
)
def test_every_answer_has_the_policy(owner: Person, path: str) -> None:
    response = owner.client.get(path)
    policy = response["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "unsafe" not in policy
    assert "no-store" in response["Cache-Control"].split(", ")
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_server_error_has_the_policy(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("gangboard.pages.board.views.read_board", fail)
    client = Client(raise_request_exception=False)
    client.force_login(owner.user)
    response = client.get("/")
    assert response.status_code == 500
    assert "default-src 'self'" in response["Content-Security-Policy"]
    assert "gangboard failed to answer" in response.content.decode()


def test_pages_have_no_inline_script_style_or_handler(owner: Person, world: World) -> None:
    for path in ("/", f"/gangs/{world.gang.id}/", "/groups/", "/clusters/", "/sign-in/"):
        page = owner.client.get(path, follow=True).content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=|hx-on|javascript:", page), path
        for script in re.findall(r"<script[^>]*>", page):
            assert 'src="/static/' in script, script


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
class TestTemplates:
    def test_templates_only_print_and_loop(self, template: Path) -> None:
        for tag in re.findall(r"{%\s*(?:el)?if .*?%}", template.read_text(encoding="utf-8")):
            assert not re.search(r"==|!=|\bin\s+[\"']", tag), tag

    def test_templates_trust_no_text(self, template: Path) -> None:
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|safe|autoescape|mark_safe|hx-on|js:", text)

    def test_templates_begin_with_their_context(self, template: Path) -> None:
        assert template.read_text(encoding="utf-8").startswith("{# ")

    def test_templates_are_short(self, template: Path) -> None:
        assert len(template.read_text(encoding="utf-8").splitlines()) <= 120


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_write_no_markup(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)


@pytest.mark.parametrize("script", VENDORED, ids=lambda path: path.name)
def test_vendored_scripts_write_no_markup(script: Path) -> None:
    """idiomorph calls two ways to morph `innerHTML` and `outerHTML`; it never assigns to them."""
    text = script.read_text(encoding="utf-8")
    assert not re.search(r"(?:inner|outer)HTML\s*=[^=]|insertAdjacentHTML|\.write\(|eval\(", text)


def test_htmx_has_its_safe_settings(owner: Person) -> None:
    page = owner.client.get("/").content.decode()
    for setting in (
        '"allowEval": false',
        '"allowScriptTags": false',
        '"includeIndicatorStyles": false',
        '"selfRequestsOnly": true',
        '"historyCacheSize": 0',
    ):
        assert setting in page
