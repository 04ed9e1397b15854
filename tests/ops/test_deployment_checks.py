"""An installation that people reach over https: Django's checks and ours, cookies, redirects."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path

import pytest
from django.core.checks import Tags, run_checks
from django.core.checks.registry import registry as django_checks
from pytest_django import Settings

from gangboard.ops.checks import check_registries
from gangboard.plugins import registry
from gangboard.plugins.discovery import RegistryError
from gangboard.plugins.lever import Lever
from tests.ops.test_commands import manage

LOOK = """
import json
from django.conf import settings
from django.test import Client
form = Client(HTTP_X_FORWARDED_PROTO="https").get("/sign-in/", headers={"host": "localhost"})
plain = {path: Client().get(path, headers={"host": "localhost"}) for path in ("/sign-in/", "/healthz")}
print(json.dumps({
    "session": settings.SESSION_COOKIE_NAME,
    "cookies": {name: [bool(one["secure"]), one["path"], one["domain"]]
                for name, one in form.cookies.items()},
    "plain": {path: [one.status_code, one.headers.get("Location", "")]
              for path, one in plain.items()},
}))
"""


def test_django_checks_pass(tmp_path: Path) -> None:
    done = manage(
        "check",
        "--deploy",
        "--fail-level",
        "WARNING",
        GANGBOARD_STATE=str(tmp_path),
        GANGBOARD_HTTPS="on",
    )
    assert done.returncode == 0, done.stderr
    # Both concern other hosts of the domain (see settings.py). No other check is silenced.
    assert "(2 silenced)" in done.stdout


def test_cookies_are_host_only_and_pages_need_tls(tmp_path: Path) -> None:
    done = manage("shell", "-c", LOOK, GANGBOARD_STATE=str(tmp_path), GANGBOARD_HTTPS="on")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["session"] == "__Host-sessionid"
    assert result["cookies"] == {"__Host-csrftoken": [True, "/", ""]}
    assert result["plain"]["/sign-in/"] == [301, "https://localhost/sign-in/"]
    assert result["plain"]["/healthz"] == [200, ""]


@pytest.mark.parametrize(
    ("token", "networks", "expected"),
    [
        ("", (), []),
        ("x" * 32, (), []),
        ("x" * 31, (), ["gangboard.W001"]),
        ("", ("10.0.0.0/8", "::1"), []),
        ("", ("10.0.0.0/8", "::/0"), ["gangboard.W002"]),
        ("x" * 32, ("0.0.0.0/0",), []),
    ],
)
def test_weakly_protected_metrics_are_reported(
    settings: Settings, token: str, networks: tuple[str, ...], expected: list[str]
) -> None:
    settings.METRICS_TOKEN = token
    settings.METRICS_NETWORKS = tuple(ip_network(text) for text in networks)
    warnings = run_checks(tags=[Tags.security], include_deployment_checks=True)
    assert [item.id for item in warnings if str(item.id).startswith("gangboard.")] == expected
    assert not token or token not in str(warnings)


def test_an_incomplete_registry_stops_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_registries() == []

    def half_made() -> tuple[Lever, ...]:
        raise RegistryError("gangboard.levers.half has no subclass of Lever with a key")

    monkeypatch.setattr(registry, "levers", half_made)
    (result,) = check_registries()
    assert result.is_serious()
    assert result.msg == "gangboard.levers.half has no subclass of Lever with a key"
    assert check_registries in django_checks.get_checks()
