"""Read docker-compose.yml and the Dockerfile as `docker compose` does.

Covers the forms that these two files use. Any other form raises `UnknownFormError`, so a new form
is noticed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?:(?P<form>:-|:\?)(?P<rest>[^{}$]*))?\}|)")
_CONDITIONS = {"service_healthy", "service_completed_successfully"}
_KNOWN = {
    *("image", "build", "init", "restart", "read_only", "tmpfs", "cap_drop", "security_opt"),
    *("mem_limit", "pids_limit", "ulimits", "volumes", "environment", "env_file", "command"),
    *("user", "ports", "depends_on", "healthcheck", "logging", "networks"),
}


class UnknownFormError(Exception):
    """The file has a form that this reader does not know."""


@dataclass(frozen=True)
class Image:
    """Settings that the Dockerfile gives to each container of the image."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    copied: tuple[str, ...]
    """Files and folders of the repository."""
    workdir: str


@dataclass(frozen=True)
class Service:
    """One service, with everything filled in."""

    name: str
    image: str
    command: tuple[str, ...]
    """Empty if a third-party image decides."""
    environment: Mapping[str, str]
    health: tuple[str, ...]
    """Command of the health check, empty if there is none."""
    waits_for: Mapping[str, str] = field(default_factory=dict)
    """Other service → condition."""
    address: str = ""
    """Fixed address in the network."""
    is_ours: bool = False


def interpolate(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with `$$`, `${NAME}`, `${NAME:-default}` and `${NAME:?sentence}` filled in."""

    def fill(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        name = match["name"]
        if name is None:
            raise UnknownFormError(f"a form of $ that is not known: {text}")
        value = variables.get(name, "")
        if match["form"] == ":-":
            return value or match["rest"]
        if match["form"] == ":?" and not value:
            raise UnknownFormError(f"{name}: {match['rest']}")
        return value

    return _VARIABLE.sub(fill, text)


def read_dotenv(path: Path) -> dict[str, str]:
    """Return the variables of a .env file: a line NAME=value each, comments and empty lines besides."""
    lines = path.read_text().splitlines() if path.exists() else []
    told = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
    if any("=" not in line or re.search(r"['\"$]", line) for line in told):
        raise UnknownFormError(f"{path.name}: only NAME=value without quotes and $ is known")
    return {
        name.strip(): value.strip()
        for name, _, value in (assignment.partition("=") for assignment in told)
    }


def read_image(dockerfile: Path) -> Image:
    """Return the instructions of the last stage of the Dockerfile."""
    lines = dockerfile.read_text().replace("\\\n", " ").splitlines()
    last = max(number for number, line in enumerate(lines) if line.startswith("FROM "))
    copied: list[str] = []
    environment: dict[str, str] = {}
    command: list[str] = []
    workdir = ""
    for instruction, _, rest in (line.partition(" ") for line in lines[last:]):
        if instruction == "COPY" and not rest.startswith("--from"):
            copied += shlex.split(rest)[:-1]
        elif instruction == "ENV":
            pairs = (pair.partition("=") for pair in shlex.split(rest))
            environment |= {name: value for name, _, value in pairs}
        elif instruction == "CMD":
            command = json.loads(rest)
        elif instruction == "WORKDIR":
            workdir = rest.strip()
    return Image(tuple(command), environment, tuple(copied), workdir)


def read_document(path: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return the whole file with anchors and merges resolved and variables filled in."""
    document: dict[str, Any] = _filled(yaml.safe_load(path.read_text()), variables)
    return document


def read_services(folder: Path, variables: Mapping[str, str]) -> dict[str, Service]:
    """Return all services by name. `variables`: those of .env."""
    document = read_document(folder / "docker-compose.yml", variables)
    image = read_image(folder / "Dockerfile")
    built = {body["image"] for body in document["services"].values() if "build" in body}
    return {
        name: _service(name, body, image, variables, is_ours=body["image"] in built)
        for name, body in document["services"].items()
    }


def in_order(services: Mapping[str, Service]) -> list[Service]:
    """Return the services so that each comes after those that it waits for."""
    order: list[Service] = []
    remaining = dict(services)
    while remaining:
        started = {service.name for service in order}
        ready = [
            candidate for candidate in remaining.values() if set(candidate.waits_for) <= started
        ]
        if not ready:
            raise UnknownFormError(f"{', '.join(remaining)} wait for each other")
        order += ready
        for service in ready:
            del remaining[service.name]
    return order


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return interpolate(value, variables)
    if isinstance(value, dict):
        return {key: _filled(inner, variables) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, variables) for inner in value]
    return value


def _service(
    name: str, body: Mapping[str, Any], image: Image, variables: Mapping[str, str], *, is_ours: bool
) -> Service:
    if unknown := set(body) - _KNOWN:
        raise UnknownFormError(f"{name}: {', '.join(sorted(unknown))}")
    environment = {
        **(image.environment if is_ours else {}),
        **_of_env_files(name, body.get("env_file", []), variables),
        **{key: _text(name, value) for key, value in body.get("environment", {}).items()},
    }
    waits_for = {
        dependency: lines["condition"] for dependency, lines in body.get("depends_on", {}).items()
    }
    if unknown := set(waits_for.values()) - _CONDITIONS:
        raise UnknownFormError(f"{name}: depends_on {', '.join(unknown)}")
    command = tuple(body.get("command", image.command if is_ours else ()))
    return Service(
        name,
        body["image"],
        command,
        environment,
        _health(name, body.get("healthcheck", {}).get("test", [])),
        waits_for,
        body.get("networks", {}).get("default", {}).get("ipv4_address", ""),
        is_ours,
    )


def _of_env_files(
    name: str, files: Sequence[Mapping[str, Any]], variables: Mapping[str, str]
) -> Mapping[str, str]:
    if any(file != {"path": ".env", "required": False} for file in files):
        raise UnknownFormError(f"{name}: env_file {files}")
    return variables if files else {}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise UnknownFormError(f"{name}: a variable that is no text: {value!r}")
    return value


def _health(name: str, test: Sequence[str]) -> tuple[str, ...]:
    match test:
        case []:
            return ()
        case ["CMD", *argv]:
            return tuple(argv)
        case ["CMD-SHELL", line]:
            return ("sh", "-c", line)
    raise UnknownFormError(f"{name}: health check {test}")
