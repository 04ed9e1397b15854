"""docker-compose.yml and the Dockerfile name only what exists: they cannot be run everywhere."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

from gangboard import env
from gangboard.actions.tasks import PROVE_QUEUE
from gangboard.celery import app
from gangboard.database_limits import HEARTBEATS
from gangboard.serving.bodies import BODY_SECONDS, LARGEST_BODY
from gangboard.serving.command import WEB_SERVER

ROOT = Path(settings.BASE_DIR)
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    services: dict[str, Any] = document["services"]
    return services


def default_command() -> list[str]:
    found = re.search(r"^CMD (\[.*\])$", DOCKERFILE.replace("\\\n", ""), re.MULTILINE)
    assert found is not None
    command: list[str] = json.loads(found.group(1))
    return command


def own(services: dict[str, Any]) -> dict[str, Any]:
    return {name: body for name, body in services.items() if body["image"] == "gangboard"}


def test_the_services_of_the_design_are_there(services: dict[str, Any]) -> None:
    assert {"web", "poll", "act", "prove", "beat", "redis", "postgres"} <= set(services)


def test_every_command_names_what_exists(services: dict[str, Any]) -> None:
    for name, body in own(services).items():
        command = body.get("command", default_command())
        match command:
            case ["python", "manage.py", subcommand, *_]:
                assert subcommand in get_commands(), name
            case ["celery", "-A", "gangboard.celery", "worker", "--queues", queue, *_]:
                routed = {
                    str(entry["options"]["queue"]) for entry in app.conf.beat_schedule.values()
                }
                assert queue in routed | {PROVE_QUEUE}, name
            case ["celery", "-A", "gangboard.celery", "beat", "--schedule", path]:
                assert path.startswith("/state/")
            case ["granian", *arguments]:
                assert tuple(arguments[: len(WEB_SERVER)]) == WEB_SERVER
            case _:
                pytest.fail(f"{name}: {command}")


def test_every_variable_is_one_that_is_read(services: dict[str, Any]) -> None:
    known = {variable.name for variable in env.variables()}
    for body in own(services).values():
        assert set(body["environment"]) <= known


def test_secrets_are_not_written_into_the_file(services: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert "POSTGRES_PASSWORD:?" in text
    assert "REDIS_PASSWORD:?" in text
    for body in services.values():
        for name, value in body.get("environment", {}).items():
            if "PASSWORD" in name or "URL" in name:
                assert value.startswith("${") or ":${" in value, name


def test_everything_that_runs_for_long_has_a_health_check(services: dict[str, Any]) -> None:
    for name, body in services.items():
        assert ("healthcheck" in body) == (body["restart"] != "no"), name


def test_what_is_waited_for_exists(services: dict[str, Any]) -> None:
    for body in services.values():
        for other, wanted in body.get("depends_on", {}).items():
            if wanted["condition"] == "service_healthy":
                assert "healthcheck" in services[other]
            else:
                assert services[other]["restart"] == "no"


def test_volumes_are_declared(services: dict[str, Any]) -> None:
    document = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    used = {volume.partition(":")[0] for body in services.values() for volume in body["volumes"]}
    files = {one for one in used if one.startswith("./")}
    assert used - files == set(document["volumes"])
    assert all((ROOT / file).is_file() for file in files)


def test_the_image_copies_what_exists_and_the_builder_is_sent_it() -> None:
    sent = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    copied = set()
    for line in DOCKERFILE.splitlines():
        if line.startswith("COPY") and "--from" not in line:
            copied |= set(shlex.split(line)[1:-1])
    assert copied == sent
    for name in copied:
        assert (ROOT / name).exists(), name


def test_the_image_installs_locked_files_and_does_not_run_as_root() -> None:
    assert "--require-hashes" in DOCKERFILE
    assert "index" not in DOCKERFILE
    assert re.search(r"^USER (?!0|root)", DOCKERFILE, re.MULTILINE)
    assert default_command()[0] == "granian"


def test_every_image_of_somebody_else_is_named_by_digest(services: dict[str, Any]) -> None:
    foreign = [body["image"] for body in services.values() if body["image"] != "gangboard"]
    foreign += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(foreign) == 5
    for image in foreign:
        assert re.fullmatch(r"[a-z/-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}", image), image


def test_every_service_is_confined(services: dict[str, Any]) -> None:
    for name, body in services.items():
        assert body["read_only"], name
        assert body["cap_drop"] == ["ALL"], name
        assert body["security_opt"] == ["no-new-privileges:true"], name
        assert re.fullmatch(r"\d+[mg]", body["mem_limit"]), name
        assert body["pids_limit"] > 0, name
        assert "/tmp" in {place.partition(":")[0] for place in body["tmpfs"]}, name
        for place in body["tmpfs"]:
            assert re.search(r":size=\d+m\b", place), f"{name}: {place}"


def test_the_web_server_may_have_all_its_threads_and_connections(services: dict[str, Any]) -> None:
    web = services["web"]
    connections = int(WEB_SERVER[WEB_SERVER.index("--backpressure") + 1])
    asgi = (ROOT / "gangboard/asgi.py").read_text()
    threads = sum(map(int, re.findall(r"^[A-Z]+_THREADS = (\d+)", asgi, re.MULTILINE)))
    files = int(re.findall(r"OPEN_FILES = ([\d_]+)", asgi)[0])
    assert web["pids_limit"] > threads + 100
    assert connections + 1_000 < files <= web["ulimits"]["nofile"]


def test_all_processes_fit_into_the_connections_that_postgresql_gives_by_default(
    services: dict[str, Any],
) -> None:
    """Two web processes and three poll workers, as docs/settings.md adds them up."""
    threads = {"poll": app.conf.worker_concurrency}
    for name in ("act", "prove"):
        command = services[name]["command"]
        threads[name] = int(command[command.index("--concurrency") + 1])
    workers = {name: number + HEARTBEATS for name, number in threads.items()}
    assert workers == {"poll": 11, "act": 19, "prove": 5}
    beat = 1
    together = 2 * settings.DATABASE_CONNECTIONS + 3 * workers["poll"]
    together += workers["act"] + workers["prove"] + beat
    assert together == 90
    assert together <= 100 - 3, "PostgreSQL keeps three for superusers"


def test_only_the_proxy_is_reached_from_outside_and_from_this_server_alone(
    services: dict[str, Any],
) -> None:
    published = {name: body["ports"] for name, body in services.items() if "ports" in body}
    assert published == {"proxy": ["127.0.0.1:8000:8080"]}


def test_the_proxy_has_the_limits_of_the_web_server() -> None:
    configuration = (ROOT / "nginx.conf").read_text()
    assert f"client_max_body_size {LARGEST_BODY // 1024}k;" in configuration
    # Held in memory: its folder for bodies is a small tmpfs.
    assert f"client_body_buffer_size {LARGEST_BODY // 1024}k;" in configuration
    assert f"client_body_timeout {BODY_SECONDS:g}s;" in configuration
    assert "proxy_max_temp_file_size 0;" in configuration
    assert "proxy_request_buffering off" not in configuration
