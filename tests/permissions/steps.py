"""Requests of levers, built from objects of an API server and sent like the engine's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec

from gangboard.decode.list_watch_decoder import build_model
from gangboard.domain.action import ClusterLevers, Step, Verb
from gangboard.domain.owner import Owner
from gangboard.plugins import registry
from gangboard.policy.decision import DesiredAction
from tests.controlplane.client import Client, Json

DESIRED = DesiredAction(
    Verb.SUSPEND,
    ClusterLevers(),
    datetime(2029, 12, 31, tzinfo=UTC),
    by="ada",
    reason="test",
    until=datetime(2030, 1, 1, tzinfo=UTC),
    action="act-1",
)


def read(obj: Json) -> Owner:
    """Return an object of an API server in words of the domain."""
    kind = next(kind for kind in registry.owner_kinds() if kind.resource.kind == obj["kind"])
    wire = msgspec.json.decode(msgspec.json.encode(obj), type=kind.resource.wire)
    model, problem = build_model(kind.resource, wire, obj["apiVersion"].rpartition("/")[2])
    assert isinstance(model, Owner), problem
    return model


def send(client: Client, step: Step) -> Json:
    """Send a step as the engine does: the body as it is."""
    types = {
        "POST": ("POST", "application/json"),
        "PATCH": ("PATCH", "application/json-patch+json"),
        "MERGE": ("PATCH", "application/merge-patch+json"),
    }
    method, content_type = types[step.method]
    query: dict[str, Any] = {"dryRun": "All"} if step.dry_run else {}
    body = json.loads(step.patch)
    return client.request(method, step.path, body, content_type=content_type, query=query)
