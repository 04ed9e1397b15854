"""Checks of docker-compose.yml, the Dockerfile and nginx.conf. `tests/production` runs them."""

import os
import re
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from gangboard import env
from gangboard.celery import app
from gangboard.database_limits import HEARTBEATS
from gangboard.plugins import registry
from gangboard.serving.request import BODY_SECONDS, LARGEST_MANIFESTS
from gangboard.serving.web_server import WEB_SERVER
from tests.production.compose import (
    UnknownFormError,
    interpolate,
    read_document,
    read_dotenv,
    read_image,
    read_services,
)
from tests.production.site import PASSWORDS

ROOT = Path(settings.BASE_DIR)
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = "gangboard:"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return read_document(ROOT / "docker-compose.yml", PASSWORDS)


@pytest.fixture(scope="module")
def services(document: dict[str, Any]) -> dict[str, Any]:
    services: dict[str, Any] = document["services"]
    return services


def test_compose_variables_are_interpolated() -> None:
    variables = {"A": "1", "EMPTY": ""}
    text = "$$A ${A} ${EMPTY:-2} ${NONE:-3} ${A:?no A} ${NONE}"
    assert interpolate(text, variables) == "$A 1 2 3 1 "
    for unknown in ("$A", "${A-1}", "${A:+1}", "${A:-${B}}", "${NONE:?write it}"):
        with pytest.raises(UnknownFormError):
            interpolate(unknown, variables)


def test_a_dotenv_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    assert read_dotenv(file) == {}
    file.write_text("# keys\n\nA=1\nB = x=y\n")
    assert read_dotenv(file) == {"A": "1", "B": "x=y"}
    file.write_text("A='1'\n")
    with pytest.raises(UnknownFormError):
        read_dotenv(file)


def test_every_setting_of_the_dotenv_file_reaches_every_process() -> None:
    names = {variable.name for variable in env.variables()}
    # The file decides these itself: addresses in its network, the folder of its volume.
    decided = {"DATABASE_URL", "REDIS_URL", "GANGBOARD_STATE", "GANGBOARD_HOSTS"}
    dotenv = {name: f"value-of-{name}" for name in names}
    ours = [item for item in read_services(ROOT, {**PASSWORDS, **dotenv}).values() if item.is_ours]
    assert sorted(service.name for service in ours) == [
        *("act", "beat", "migrate", "notify", "poll", "prove", "web")
    ]
    for service in ours:
        values = {name: service.environment.get(name) for name in names - decided}
        assert values == {name: dotenv[name] for name in names - decided}, service.name
        assert service.environment["GANGBOARD_HOSTS"] == "value-of-GANGBOARD_HOSTS,127.0.0.1"


def test_the_proxy_passes_only_the_used_headers() -> None:
    passed = re.findall(r"^ +proxy_set_header (\S+)", (ROOT / "nginx.conf").read_text(), re.M)
    assert "proxy_pass_request_headers off;" in (ROOT / "nginx.conf").read_text()
    answers = {"Retry-After", "WWW-Authenticate"}
    files = [
        file
        for room in ("api", "pages", "serving", "web")
        for file in (ROOT / "gangboard" / room).rglob("*.py")
    ]
    read = {
        name
        for file in files
        for name in re.findall(r'headers(?:\.get\(|\[)"([\w-]+)"', file.read_text())
    }
    assert len(read) > 6
    assert read - answers - set(passed) == set()
    # The proxy passes no header with a user name, because the web server trusts this proxy.
    assert [name for name in passed if re.search("user|group|email|forwarded", name, re.I)] == [
        "X-Forwarded-For",
        "X-Forwarded-Proto",
        "User-Agent",
    ]


def test_the_compose_file_sets_known_settings(services: dict[str, Any]) -> None:
    known = {variable.name for variable in env.variables()}
    for body in services.values():
        if body["image"].startswith(OURS):
            assert set(body["environment"]) <= known


def test_secrets_are_not_written_into_the_file() -> None:
    with pytest.raises(UnknownFormError, match="write POSTGRES_PASSWORD into"):
        read_services(ROOT, {"REDIS_PASSWORD": "r"})
    with pytest.raises(UnknownFormError, match="write REDIS_PASSWORD into"):
        read_services(ROOT, {"POSTGRES_PASSWORD": "p"})


def test_the_password_of_redis_is_in_no_command_line(services: dict[str, Any]) -> None:
    values, _, arguments = services["redis"]["command"][-1].partition("exec redis-server")
    assert "$REDIS_PASSWORD" in values
    assert "$" not in arguments


def test_long_running_services_have_health_checks(services: dict[str, Any]) -> None:
    for name, body in services.items():
        assert ("healthcheck" in body) == (body["restart"] != "no"), name


def test_postgres_is_ready_when_it_answers_by_tcp(services: dict[str, Any]) -> None:
    # The entry point of the image runs a temporary server that answers on the socket alone.
    assert "--host 127.0.0.1" in services["postgres"]["healthcheck"]["test"][1]


def test_logs_are_bounded(services: dict[str, Any]) -> None:
    for name, body in services.items():
        options = body["logging"]["options"]
        megabytes = int(options["max-size"].removesuffix("m")) * int(options["max-file"])
        assert 0 < megabytes <= 50, name


def test_a_prebuilt_image_can_be_used(document: dict[str, Any]) -> None:
    message = read_document(ROOT / "docker-compose.yml", {**PASSWORDS, "IMAGE_TAG": "0.1"})
    images = {body["image"] for body in message["services"].values()}
    assert "gangboard:0.1" in images
    assert "gangboard:latest" not in images
    assert document["services"]["web"]["image"] == "gangboard:latest"


def test_volumes_are_declared(document: dict[str, Any]) -> None:
    bodies = document["services"].values()
    used = {volume.partition(":")[0] for body in bodies for volume in body["volumes"]}
    assert {item for item in used if not item.startswith("./")} == set(document["volumes"])


def test_the_build_context_has_the_copied_files() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line[:1] == "!"}
    assert {*read_image(ROOT / "Dockerfile").copied, "requirements/runtime.txt"} == sent


def test_manage_py_is_executable() -> None:
    assert os.access(ROOT / "manage.py", os.X_OK)


def test_the_image_installs_locked_files_and_does_not_run_as_root() -> None:
    assert "--require-hashes" in DOCKERFILE
    assert "index" not in DOCKERFILE
    assert re.search(r"^USER (?!0|root)", DOCKERFILE, re.MULTILINE)


def test_the_web_server_has_the_usual_command() -> None:
    program, *arguments = read_image(ROOT / "Dockerfile").command
    assert program == "granian"
    assert tuple(arguments[: len(WEB_SERVER)]) == WEB_SERVER


def test_third_party_images_are_pinned_by_digest(services: dict[str, Any]) -> None:
    images = [body["image"] for body in services.values()]
    foreign = [image for image in images if not image.startswith(OURS)]
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


def test_the_web_server_limits_allow_its_threads_and_connections(services: dict[str, Any]) -> None:
    web = services["web"]
    connections = int(WEB_SERVER[WEB_SERVER.index("--backpressure") + 1])
    asgi = (ROOT / "gangboard/asgi.py").read_text()
    threads = sum(map(int, re.findall(r"^[A-Z]+_THREADS = (\d+)", asgi, re.MULTILINE)))
    files = int(re.findall(r"OPEN_FILES = ([\d_]+)", asgi)[0])
    assert web["pids_limit"] > threads + 100
    assert connections + 1_000 < files <= web["ulimits"]["nofile"]


def test_all_processes_fit_into_the_default_postgresql_connections(
    services: dict[str, Any],
) -> None:
    """Two web processes and three poll workers, as docs/settings.md adds them up."""
    threads = {"poll": app.conf.worker_concurrency}
    for name in ("act", "prove", "notify"):
        command = services[name]["command"]
        threads[name] = int(command[command.index("--concurrency") + 1])
    workers = {name: number + HEARTBEATS for name, number in threads.items()}
    assert workers == {"poll": 12, "act": 19, "prove": 5, "notify": 3}
    beat = 1
    together = 2 * settings.DATABASE_CONNECTIONS + 3 * workers["poll"]
    together += workers["act"] + workers["prove"] + workers["notify"] + beat
    assert together == 96
    assert together <= 100 - 3, "PostgreSQL keeps three for superusers"


def test_a_poll_worker_limits_allow_the_threads_of_its_slots(services: dict[str, Any]) -> None:
    # A list or watch has a thread, and so has its connection.
    resources = len(list(registry.resources()))
    code = (ROOT / "gangboard/settings.py").read_text()
    (most,) = re.findall(r'"GANGBOARD_POLL_SLOTS", 8, .*most=(\d+)', code)
    assert services["poll"]["pids_limit"] > int(most) * 2 * resources + 100


def test_the_proxy_stays_within_its_limits_on_every_server(services: dict[str, Any]) -> None:
    configuration = (ROOT / "nginx.conf").read_text()
    (workers,) = re.findall(r"^worker_processes (\w+);", configuration, re.MULTILINE)
    assert int(workers) < services["proxy"]["pids_limit"] / 10


def test_web_trusts_only_the_proxy(document: dict[str, Any]) -> None:
    (network,) = document["networks"]["default"]["ipam"]["config"]
    proxy = document["services"]["proxy"]["networks"]["default"]["ipv4_address"]
    trusted_proxies = document["services"]["web"]["environment"]["GANGBOARD_TRUSTED_PROXIES"]
    assert trusted_proxies == proxy
    assert proxy != network["gateway"]
    # No other container is given that address.
    assert ip_address(proxy) not in ip_network(network["ip_range"])


def test_only_the_proxy_is_published_on_localhost(
    services: dict[str, Any],
) -> None:
    published = {name: body["ports"] for name, body in services.items() if "ports" in body}
    assert published == {"proxy": ["127.0.0.1:8000:8080"]}


def test_the_proxy_has_the_limits_of_the_web_server() -> None:
    configuration = (ROOT / "nginx.conf").read_text()
    assert f"client_max_body_size {LARGEST_MANIFESTS // 1024}k;" in configuration
    # Held in memory: its folder for bodies is a small tmpfs.
    assert f"client_body_buffer_size {LARGEST_MANIFESTS // 1024}k;" in configuration
    assert f"client_body_timeout {BODY_SECONDS:g}s;" in configuration
    assert "proxy_max_temp_file_size 0;" in configuration
    assert "proxy_request_buffering off" not in configuration
