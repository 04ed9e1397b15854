"""Captured states of real control planes, taken through ownership graph, assembly and rules."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from gangboard.decode.events import EVENT
from gangboard.decode.nodes import NODE
from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.event import Event
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.cluster_view import CAPACITY_NOT_READ
from gangboard.placement.usage import Usage
from gangboard.plugins.registry import grouping_apis, owner_kinds
from tests.decode.reading import captured, captures
from tests.gangs import assemble

__all__ = ["captures", "models", "verdicts"]

_OWNERS = [kind.resource for kind in owner_kinds()]
_GROUPS = [resource for api in grouping_apis() for resource in api.resources]
_VERSIONS = {"1.35": "v1alpha1", "1.36": "v1alpha2", "1.37": "v1beta1", "plain": ""}


@cache
def verdicts(file: Path, seconds: float = 1, with_room: bool = False) -> dict[str, Verdict]:
    """Return `Kind/name` → verdict for every gang of a captured state.

    The assessment happens `seconds` after the newest time in its objects. Without `with_room` nodes count as
    unreadable, so the scheduler's texts are the only source about placement.
    """
    objects = {model.meta.ref.uid: model for model in models(file)}
    now = max(_times(objects.values())) + timedelta(seconds=seconds)
    graph = OwnershipGraph()
    for model in objects.values():
        graph.put(model)
    nodes = {model.meta.ref.name: model for model in objects.values() if isinstance(model, Node)}
    room = _room(objects.values()) if with_room else CAPACITY_NOT_READ
    result = {}
    for root in graph.roots():
        members = graph.members(root)
        facts = assemble(
            objects[root],
            [objects[uid] for uid in members if uid != root],
            now=now,
            foreign_pods=[objects[uid] for uid in graph.foreign_pods(root)],
            events=[
                event
                for event in objects.values()
                if isinstance(event, Event) and event.regarding.uid in members
            ],
            nodes=nodes,
            gang_api_version=_VERSIONS[file.parent.name],
            room=room,
        )
        ref = objects[root].meta.ref
        result[f"{ref.kind}/{ref.name}"] = assess(facts)
    return result


def _room(models: Iterable[Any]) -> ClusterCapacity:
    usage = Usage()
    for model in models:
        if isinstance(model, Node):
            usage.put_node(model)
        elif isinstance(model, Pod):
            usage.put_pod(model)
    return usage.capacity()


def models(file: Path) -> list[Any]:
    resources = [POD, NODE, EVENT, *_OWNERS, *_GROUPS]
    result = [model for resource in resources for model in captured(file, resource)]
    return [model for model in result if model is not None]


def _times(models: Any) -> list[datetime]:
    times = []
    for model in models:
        times.append(model.meta.created_at)
        times.append(model.meta.deleting_since)
        conditions = [*getattr(model, "conditions", ())]
        conditions += [getattr(model, word, None) for word in ("ready", "scheduled", "disruption")]
        times += [condition.since for condition in conditions if condition is not None]
        times.append(getattr(model, "last_seen", None))
    return [time for time in times if time is not None]
