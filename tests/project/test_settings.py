"""Every setting of docs/settings.md: invalid values stop the start with an error that names it."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings

from gangboard import env
from gangboard.env import SettingError
from gangboard.prometheus_sources import PrometheusSource

ROOT = Path(settings.BASE_DIR)
REFUSED = [
    ("DATABASE_URL", "mysql://db/gangs"),
    ("DATABASE_URL", "sqlite:///"),
    ("DATABASE_URL", "sqlite:////proc/x/gangs.sqlite3"),
    ("DATABASE_URL", "sqlite:////dev/null"),
    ("DATABASE_URL", ""),
    ("DATABASE_URL_FILE", "/nowhere"),
    ("GANGBOARD_ACCESS_LOG", "maybe"),
    ("GANGBOARD_AUDIT_LOG", "maybe"),
    ("GANGBOARD_CLUSTER_NETWORKS", "10.0.0.0/33"),
    ("GANGBOARD_CONTACT", "x" * 401),
    ("GANGBOARD_DEBUG", "maybe"),
    ("GANGBOARD_ENCRYPTION_KEY", "abc"),
    ("GANGBOARD_ENCRYPTION_KEY", " "),
    ("GANGBOARD_ENCRYPTION_KEY", f"{'A' * 43}=,abc"),
    ("GANGBOARD_ENCRYPTION_KEY_FILE", "/dev/null"),
    ("GANGBOARD_HISTORY_DAYS", "0"),
    ("GANGBOARD_HISTORY_DAYS", "nan"),
    ("GANGBOARD_HOSTS", "https://gangs.example.com"),
    ("GANGBOARD_HOSTS", "gangs.example.com:8000"),
    ("GANGBOARD_HOSTS", "::1"),
    ("GANGBOARD_HTTPS", "2"),
    ("GANGBOARD_LABEL_COLUMNS", "team,,app"),
    ("GANGBOARD_IDLE_AFTER", "0"),
    ("GANGBOARD_IDLE_PERCENT", "101"),
    ("GANGBOARD_LOCAL_SIGN_IN", "password, sso"),
    ("GANGBOARD_LOCAL_SIGN_IN", "none"),
    ("GANGBOARD_CORDON", "maybe"),
    ("GANGBOARD_LOGS", "maybe"),
    ("GANGBOARD_LOG_JSON", "maybe"),
    ("GANGBOARD_LOG_LEVEL", "loud"),
    ("GANGBOARD_METRICS_NAMESPACES", "-1"),
    ("GANGBOARD_METRICS_NAMESPACES", "1001"),
    ("GANGBOARD_METRICS_NETWORKS", "10.0.0.0/33"),
    ("GANGBOARD_METRICS_TOKEN", "two words"),
    ("GANGBOARD_METRICS_TOKEN_FILE", "/nowhere"),
    ("GANGBOARD_NOTIFY_NETWORKS", "10.0.0.0/33"),
    ("GANGBOARD_OIDC_CLIENT_ID", "two words"),
    ("GANGBOARD_OIDC_CLIENT_SECRET", "two words"),
    ("GANGBOARD_OIDC_CLIENT_SECRET_FILE", "/nowhere"),
    ("GANGBOARD_OIDC_GROUPS_CLAIM", "two words"),
    ("GANGBOARD_OIDC_ISSUER", "http://id.example.com"),
    ("GANGBOARD_OIDC_ISSUER", "id.example.com"),
    ("GANGBOARD_OIDC_ISSUER", "https://id.example.com"),  # without GANGBOARD_OIDC_CLIENT_ID
    ("GANGBOARD_OIDC_NAME", "x" * 401),
    ("GANGBOARD_OIDC_NAME_CLAIM", "two words"),
    ("GANGBOARD_OIDC_SCOPES", "profile"),
    ("GANGBOARD_ORIGINS", "gangs.example.com"),
    ("GANGBOARD_ORIGINS", "https://gangs.example.com/"),
    ("GANGBOARD_POLL_SLOTS", "2.7"),
    ("GANGBOARD_POLL_SLOTS", "65"),
    ("GANGBOARD_POLL_WINDOW", "many"),
    ("GANGBOARD_PROXY_GROUPS_HEADER", "X_Groups"),
    ("GANGBOARD_PROXY_USER_HEADER", "X_User"),
    ("GANGBOARD_PROXY_USER_HEADER", "X-User"),  # without GANGBOARD_TRUSTED_PROXIES
    ("GANGBOARD_REPAIR_INTERVAL", "1"),
    ("GANGBOARD_SECRET_KEY", "x"),
    ("GANGBOARD_SECRET_KEY", " "),
    ("GANGBOARD_SECRET_KEY", "x" * 64),
    ("GANGBOARD_SECRET_KEY_FILE", "/dev/null"),
    ("GANGBOARD_SESSION_IDLE", "13"),
    ("GANGBOARD_STATE", "/dev/null"),
    ("GANGBOARD_STATE", "/dev/null/x"),
    ("GANGBOARD_STATE", "/proc/x"),
    ("GANGBOARD_SUBMITTER_ANNOTATION", "two words"),
    ("GANGBOARD_SUBMITTER_LABEL", "example.com/"),
    ("GANGBOARD_TOPOLOGY_LABELS", "rack, two words"),
    ("GANGBOARD_TOPOLOGY_LABELS", "/rack"),
    ("GANGBOARD_TRUSTED_PROXIES", "proxy.example.com"),
    ("GANGBOARD_DATABASE_CONNECTIONS", "2.5"),
    ("GANGBOARD_DATABASE_CONNECTIONS", "0"),
    ("GANGBOARD_URL", "nonsense"),
    ("GANGBOARD_PROMETHEUS_CA", "x" * 401),
    ("GANGBOARD_PROMETHEUS_INTERVAL", "0.5"),
    ("GANGBOARD_PROMETHEUS_QUERY", "x" * 401),
    ("GANGBOARD_PROMETHEUS_SOURCES", "https://prometheus.example.com"),
    ("GANGBOARD_PROMETHEUS_TOKEN", "two words"),
    ("GANGBOARD_STRAGGLER_AFTER", "0"),
    ("GANGBOARD_STRAGGLER_PERCENT", "-1"),
    ("GANGBOARD_URL", "https://gangs.example.com/?x=1"),
    ("GANGBOARD_USAGE_DAYS", "0"),
    ("GANGBOARD_WAITERS", "1e3"),
    ("REDIS_URL", "http://redis"),
    ("REDIS_URL_FILE", "/nowhere"),
]
TAKEN = [
    ("GANGBOARD_DEBUG", "", "DEBUG", False),
    ("GANGBOARD_HOSTS", "Gangs.Example.com, .corp, [fd00::1]", "ALLOWED_HOSTS",
     ["gangs.example.com", ".corp", "[fd00::1]"]),
    ("GANGBOARD_HOSTS", "", "ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"]),
    ("GANGBOARD_LABEL_COLUMNS", "team, example.com/Tier", "LABEL_COLUMNS",
     ("team", "example.com/Tier")),
    ("GANGBOARD_LOCAL_SIGN_IN", "Password", "LOCAL_SIGN_IN", ("password",)),
    ("GANGBOARD_LOG_LEVEL", "debug", "LOG_LEVEL", "DEBUG"),
    ("GANGBOARD_OIDC_CLIENT_SECRET", "s3cret", "OIDC_CLIENT_SECRET", "s3cret"),
    ("GANGBOARD_OIDC_SCOPES", "openid, Groups.Read", "OIDC_SCOPES", ("openid", "Groups.Read")),
    ("GANGBOARD_ORIGINS", "https://Gangs.example.com:8443", "CSRF_TRUSTED_ORIGINS",
     ["https://gangs.example.com:8443"]),
    ("GANGBOARD_POLL_SLOTS", "", "POLL_SLOTS", 8),
    ("GANGBOARD_POLL_WINDOW", "2.5", "POLL_WINDOW", 2.5),
    ("GANGBOARD_PROMETHEUS_SOURCES", "east=https://p.example.com/", "PROMETHEUS_SOURCES",
     {"east": PrometheusSource(url="https://p.example.com")}),
    ("GANGBOARD_IDLE_AFTER", "2", "IDLE_AFTER", 120),
    ("GANGBOARD_SECRET_KEY", f"{'new-0' * 8} {'old-1' * 8}", "SECRET_KEY_FALLBACKS", ["old-1" * 8]),
    ("GANGBOARD_SESSION_IDLE", "0.5", "SESSION_IDLE", 1800),
    ("GANGBOARD_SUBMITTER_LABEL", "example.com/User", "SUBMITTER_LABEL", "example.com/User"),
    ("GANGBOARD_TOPOLOGY_LABELS", "rack, example.com/Pod-Set", "TOPOLOGY_LABELS",
     ("rack", "example.com/Pod-Set")),
    ("GANGBOARD_URL", "https://gangs.example.com/board/", "PUBLIC_URL", "https://gangs.example.com/board"),
]  # fmt: skip


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Read all settings anew, with this one set."""
    monkeypatch.setattr(env, "_read", dict(env._read))
    monkeypatch.setattr(env, "_files", dict(env._files))
    # Settings of local files, independent of the tested value.
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    for name in [name for name in os.environ if name.startswith("GANGBOARD_") or "_URL" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GANGBOARD_STATE", str(tmp_path / "state"))

    def run(name: str, value: str) -> dict[str, Any]:
        monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "gangboard/settings.py"))

    return run


@pytest.mark.parametrize(("name", "value"), REFUSED)
def test_an_invalid_value_is_refused_by_name(read: Any, name: str, value: str) -> None:
    with pytest.raises(SettingError) as caught:
        read(name, value)
    sentence = str(caught.value)
    assert name.removesuffix("_FILE") in sentence
    assert len(sentence.splitlines()) == 1
    if name.startswith("GANGBOARD_SECRET") and len(value) > 1:
        assert value not in sentence


@pytest.mark.parametrize(("name", "value", "setting", "expected"), TAKEN)
def test_a_valid_value_is_accepted(
    read: Any, name: str, value: str, setting: str, expected: object
) -> None:
    assert read(name, value)[setting] == expected


@pytest.mark.parametrize("folder", ["/", "shared"])
def test_a_folder_of_another_user_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    """Taking the rights of others away would end the machine."""
    changed: list[Path] = []
    monkeypatch.setattr(env, "_read", {})
    monkeypatch.setattr(env, "restrict_to_owner", changed.append)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    monkeypatch.setenv("GANGBOARD_STATE", str(tmp_path / folder))
    with pytest.raises(SettingError, match=r"GANGBOARD_STATE is .* which others use"):
        env.read_folder("GANGBOARD_STATE", tmp_path, "")
    assert changed == []


def test_every_documented_setting_is_tested(read: Any) -> None:
    paper = (ROOT / "docs/settings.md").read_text()
    named = set(re.findall(r"^\| `(\w+)` \|", paper, re.MULTILINE))
    assert {name.removesuffix("_FILE") for name, _ in REFUSED} == named


def test_configured_keys_need_no_folder(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container without a volume has none."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://db/gangs")
    monkeypatch.setenv("GANGBOARD_STATE", "/proc/x")
    monkeypatch.setenv("GANGBOARD_ENCRYPTION_KEY", Fernet.generate_key().decode())
    read("GANGBOARD_SECRET_KEY", "0123456789abcdef" * 4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("GANGBOARD_POL_SLOTS", "did you mean GANGBOARD_POLL_SLOTS?"),
        ("GANGBOARD_SECRET_KEY_FIEL", "did you mean GANGBOARD_SECRET_KEY_FILE?"),
        ("GANGBOARD_XYZZY", "manage.py print_settings"),
        # Kubernetes sets these for a Service called gangboard, or gangboard-redis.
        ("GANGBOARD_SERVICE_HOST", ""),
        ("GANGBOARD_PORT", ""),
        ("GANGBOARD_PORT_8000_TCP_ADDR", ""),
        ("GANGBOARD_REDIS_SERVICE_PORT_REDIS", ""),
        ("GANGBOARD_METRICS_TOKEN_FILE", ""),
    ],
)
def test_an_unknown_setting_is_reported(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr(os, "environ", {name: "x"})
    sentences = env.unknown_variable_warnings()
    assert len(sentences) == bool(message)
    for sentence in sentences:
        assert sentence.startswith(f"{name} is no setting of gangboard")
        assert message in sentence


PROCESSES = {
    "manage.py": ("manage.py", "migrate"),
    "worker": ("-m", "celery", "-A", "gangboard.celery", "worker", "--queues", "poll"),
    "beat": ("-m", "celery", "-A", "gangboard.celery", "beat"),
    "web": ("-m", "granian", "gangboard.asgi:application", "--interface", "asginl", "--port", "0"),
}


@pytest.mark.parametrize("process", PROCESSES)
def test_each_process_ends_with_the_error(process: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, *PROCESSES[process]],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "GANGBOARD_STATE": str(tmp_path),
            "GANGBOARD_ENCRYPTION_KEY": "abc",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stdout + ended.stderr
    sentences = [line for line in ended.stderr.splitlines() if "cannot go on" in line]
    assert len(sentences) == 1
    assert "GANGBOARD_ENCRYPTION_KEY must be a Fernet key" in sentences[0]
    if process != "web":  # granian says that its worker has ended
        assert ended.stderr.splitlines() == sentences
