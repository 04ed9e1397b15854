"""Helpers that decode JSON of the API and the captures of real control planes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from gangboard.decode.list_watch_decoder import build_model, read_page
from gangboard.decode.problems import DecodeProblem
from gangboard.domain.api_resource import Resource

Json = dict[str, Any]
CAPTURES = Path(__file__).parents[1] / "captures"

# How the API server converts core v1 events (pkg/apis/events/v1/conversion.go).
_EVENT_FIELDS = {
    "message": "note",
    "involvedObject": "regarding",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}


def with_identity(obj: Json, name: str = "x", namespace: str = "team-a") -> Json:
    """Return the object with the metadata that every stored object has."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "7"}
    return {**obj, "metadata": {**metadata, **obj.get("metadata", {})}}


def list_body(objects: Iterable[Json], version: str = "100", more: str = "") -> bytes:
    """Return the body of a list as the API server sends it."""
    metadata = {"resourceVersion": version, **({"continue": more} if more else {})}
    return json.dumps({"kind": "List", "metadata": metadata, "items": list(objects)}).encode()


def read(resource: Resource, obj: Json, version: str = "") -> tuple[Any, DecodeProblem | None]:
    """Read one object through a page, as a poll does; the object itself must be decodable."""
    page = read_page(list_body([obj]), resource)
    assert page.problems == []
    return build_model(resource, page.objects[0], version or resource.versions[0])


def model(resource: Resource, obj: Json, version: str = "") -> Any:
    """Read one object that must give no problem."""
    built, problem = read(resource, obj, version)
    assert problem is None, problem
    return built


def captures(state: str = "*", profile: str = "*") -> list[Path]:
    """Return the files of captured states, such as 1.37/job-running.json."""
    return sorted(CAPTURES.glob(f"{profile}/{state}.json"))


def captured(file: Path, resource: Resource) -> list[Any]:
    """Return all models of a resource in a captured state, in every version that it has there."""
    result = []
    for version in resource.versions:
        objects = _objects(file, resource, version)
        result += [model(resource, obj, version) for obj in objects]
    return result


@lru_cache(maxsize=1)
def _content(file: Path) -> dict[str, list[Json]]:
    content: dict[str, list[Json]] = json.loads(file.read_text())
    return content


def _objects(file: Path, resource: Resource, version: str) -> list[Json]:
    content = _content(file)
    root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
    objects = content.get(f"{root}/{resource.plural}", [])
    if resource.key == "events.events.k8s.io" and not objects:
        return [_converted(event) for event in content.get("/api/v1/events", [])]
    return objects


def _converted(event: Json) -> Json:
    return {_EVENT_FIELDS.get(key, key): value for key, value in event.items()}
