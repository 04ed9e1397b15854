"""The installation of docker-compose.yml: it starts, acts, survives the death of each process, and an upgrade."""

from __future__ import annotations

import gzip
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.live.figures import tell
from tests.live.poll_worker import wait_until
from tests.production.clients import Client, Load
from tests.production.conftest import FORGED
from tests.production.documentation import documented
from tests.production.site import PASSWORDS, ROOT, Site

pytestmark = [pytest.mark.production, pytest.mark.slow]

NAMESPACE, JOBSET = "team-ads", "ctr-ranker"
PATIENCE = 60.0
FINAL_SECONDS = 60.0
CALLS = 300
OUTAGE_SECONDS = 3.0
AWAY = {502, 503, 504}
OURS = ("web", "poll", "act", "prove", "notify", "beat")
STRANGER = "203.0.113.9"

IMPORT_ALL = """
import importlib, pkgutil
import django
django.setup()
import gangboard
names = [module.name for module in pkgutil.walk_packages(gangboard.__path__, "gangboard.")
         if not module.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


def test_every_module_imports_with_the_packages_of_the_image(
    environment: Path, tmp_path: Path
) -> None:
    variables = {"DJANGO_SETTINGS_MODULE": "gangboard.settings", "GANGBOARD_STATE": str(tmp_path)}
    argv = [str(environment / "bin" / "python"), "-c", IMPORT_ALL]
    done = subprocess.run(
        argv, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    files = [file for file in (ROOT / "gangboard").rglob("*.py") if file.stem != "__main__"]
    packages = sum(file.stem == "__init__" for file in files)
    # The package itself is imported first.
    assert int(done.stdout) == len(files) - 1, packages


def test_every_health_check_passes(site: Site) -> None:
    checked = [name for name, service in site.services.items() if service.health]
    assert sorted(checked) == [
        *("act", "beat", "notify", "poll", "postgres", "prove", "proxy", "redis", "web")
    ]
    for name in checked:
        site.wait_healthy(name)


def gang_of(client: Client) -> dict[str, Any] | None:
    listed = client.get(f"gangs/?namespace={NAMESPACE}&kind=JobSet&q={JOBSET}")["results"]
    return next((gang for gang in listed if gang["name"] == JOBSET), None)


def hold(client: Client, job: str) -> dict[str, Any]:
    """Suspend a Job of the JobSet through the proxy; return the action when it is final."""
    wait_until(lambda: gang_of(client) is not None, PATIENCE, "the gang")
    gang = gang_of(client)
    assert gang is not None
    jobs = client.get(f"gangs/{gang['id']}/")["jobs"]
    job_row = next(row for row in jobs if row["name"] == job)
    target = {
        "cluster": "prod",
        "api_group": "batch",
        "kind": "Job",
        "namespace": NAMESPACE,
        **{key: job_row[key] for key in ("name", "uid", "generation")},
    }
    body = {"verb": "suspend", "target": target, "reason": "a node is repaired"}
    headers = {"Idempotency-Key": f"hold-{job}", "X-Forwarded-For": STRANGER}
    answer = client.send("POST", "/api/v1/actions/", body, headers)
    assert answer.status == 202, answer
    action = f"actions/{answer.json()['id']}/"
    wait_until(lambda: bool(client.get(action)["finished_at"]), FINAL_SECONDS, "the action")
    ended: dict[str, Any] = client.get(action)
    return ended


def test_a_job_is_held_through_the_proxy(client: Client) -> None:
    ended = hold(client, "ctr-ranker-workers-0")
    assert ended["state"] == "verified", ended


def test_clients_cannot_choose_the_audited_address(site: Site, client: Client) -> None:
    address = site.address("postgres")
    with psycopg.connect(
        f"postgresql://gangboard:{PASSWORDS['POSTGRES_PASSWORD']}@{address}/gangboard",
        connect_timeout=5,
    ) as connection:
        query = "SELECT DISTINCT source FROM store_auditentry WHERE source <> ''"
        assert connection.execute(query).fetchall() == [(site.network.gateway,)]


def test_external_headers_cannot_sign_a_user_in(site: Site, client: Client) -> None:
    forged = {"Authorization": "", FORGED: "mallory", "X-Forwarded-For": STRANGER}
    for name in (FORGED, FORGED.lower(), FORGED.replace("-", "_")):
        all_headers = {**forged, name: "mallory"}
        answer = client.send("GET", "/", headers=all_headers)
        assert (answer.status, answer.headers["location"]) == (302, "/sign-in/")
        assert client.send("GET", "/api/v1/gangs/", headers=all_headers).status == 401
    # The setting is on: the same header signs in where it comes from the trusted proxy itself.
    from_proxy = {FORGED: "grace", "Host": "localhost", "X-Forwarded-For": site.network.gateway}
    answer = client.send_as("proxy", "web", 8000, "/", from_proxy)
    assert answer.status == 200
    assert "grace" in answer.body.decode()


def test_responses_are_compressed_and_name_no_server(client: Client) -> None:
    headers = {"Accept-Encoding": "gzip"}
    # A poll between the two requests does not change the schema.
    plain = client.send("GET", "/api/v1/schema/")
    small = client.send("GET", "/api/v1/schema/", headers=headers)
    assert small.headers["content-encoding"] == "gzip"
    assert small.headers["server"] == "nginx"
    assert gzip.decompress(small.body) == plain.body
    assert len(small.body) < len(plain.body) / 3
    for path in ("/sign-in/", "/static/css/board.css", "/static/js/live.js"):
        answer = client.send("GET", path, headers={**headers, "Accept": "text/html"})
        assert answer.headers.get("content-encoding") == "gzip", path


def test_concurrent_calls_cause_no_500(client: Client) -> None:
    statuses = Counter(client.burst("/api/v1/groups/", CALLS))
    tell(f"{CALLS} calls at once: {dict(statuses)}")
    assert statuses.total() == CALLS
    assert statuses[500] == 0
    assert statuses[200] > 0
    assert client.send("GET", "/api/v1/groups/").status == 200


def test_web_can_move_to_another_address_under_load(site: Site, client: Client) -> None:
    page = client.open_page(
        "/clusters/", client.cookie(documented(site, "manage.py create_user").split()[-1])
    )
    sheet = "/static/css/board.css"
    modified = {"If-Modified-Since": client.send("GET", sheet).headers["last-modified"]}
    before = site.address("web")
    requests = {"/api/v1/gangs/?limit=1": {}, sheet: modified, "/healthz": {}}
    with page, Load(client, requests) as load:
        # The page waits for news now, for up to 25 s.
        time.sleep(1.0)
        site.end("web", signal.SIGTERM)
        site.create("web")
        site.wait_healthy("web")
        healthy_at = time.monotonic()
        time.sleep(1.0)
    assert site.address("web") != before
    statuses = Counter(status for _, status in load.answers)
    away = [when for when, status in load.answers if status in AWAY]
    outage = max(away) - min(away) if away else 0.0
    late = max(away) - healthy_at if away else 0.0
    tell(
        f"web recreated: {dict(statuses)}, away for {outage:.1f} s, until {late:+.1f} s of healthy"
    )
    assert set(statuses) <= {200, 304} | AWAY
    assert {200, 304} <= set(statuses)
    assert outage < OUTAGE_SECONDS


def test_databases_and_proxy_survive_kill_and_recreation(site: Site, client: Client) -> None:
    for name in ("redis", "postgres", "proxy"):
        site.kill(name)
        site.create(name)
        site.wait_healthy(name)
    assert gang_of(client) is not None


def test_a_backup_is_restored_after_every_process_is_recreated(site: Site, client: Client) -> None:
    files: dict[str, bytes] = {}
    documented(site, "pg_dump", files)
    documented(site, "tar -C /state -c", files)
    before = documented(site, "manage.py verify_audit")
    site.run("web", ["python", "manage.py", "create_user", "eve", "--role", "admin"])
    for name in OURS:
        site.kill(name)
    for key in ("secret_key", "encryption_key"):
        (site.folder / "state" / key).unlink()
    documented(site, "pg_restore", files)
    documented(site, "tar -C /state -x", files)
    for name in OURS:
        site.create(name)
    for name in OURS:
        site.wait_healthy(name)
    assert documented(site, "manage.py verify_audit") == before
    ended = hold(client, "ctr-ranker-workers-1")
    assert ended["state"] == "verified", ended
