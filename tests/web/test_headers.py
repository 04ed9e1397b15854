"""Headers that make injected markup harmless, and templates that keep to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tests.personas import Person
from tests.web.conftest import World


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


def texts(folder: str, pattern: str) -> dict[str, str]:
    """Return the files of a folder that match a pattern: path → text."""
    root = Path(settings.BASE_DIR, folder)
    files = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in root.rglob(pattern)
    }
    assert files
    return files


TEMPLATES = texts("templates", "*.html")


def names_with(pattern: str, files: dict[str, str]) -> list[str]:
    """Return the names of the files with a match."""
    return [name for name, text in files.items() if re.search(pattern, text)]


def test_templates_only_print_and_loop() -> None:
    tags = [
        f"{name}: {tag}"
        for name, text in TEMPLATES.items()
        for tag in re.findall(r"{%\s*(?:el)?if .*?%}", text)
        if re.search(r"==|!=|\bin\s+[\"']", tag)
    ]
    assert tags == []


def test_templates_trust_no_text() -> None:
    assert names_with(r"\|safe|autoescape|mark_safe|hx-on|js:", TEMPLATES) == []


def test_templates_begin_with_their_context() -> None:
    assert [name for name, text in TEMPLATES.items() if not text.startswith("{# ")] == []


def test_templates_are_short() -> None:
    assert [name for name, text in TEMPLATES.items() if len(text.splitlines()) > 120] == []


def test_scripts_write_no_markup() -> None:
    pattern = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
    assert names_with(pattern, texts("static/js", "*.js")) == []


def test_vendored_scripts_write_no_markup() -> None:
    """idiomorph calls two ways to morph `innerHTML` and `outerHTML`; it never assigns to them."""
    pattern = r"(?:inner|outer)HTML\s*=[^=]|insertAdjacentHTML|\.write\(|eval\("
    assert names_with(pattern, texts("static/vendor", "*.js")) == []


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
