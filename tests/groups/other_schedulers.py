"""Gangs of PodGroups that the stock scheduler does not read, judged as the poll does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.domain.event import Event
from gangboard.domain.group import Group
from gangboard.domain.node import Node
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.quota import Queue, QueueTree
from gangboard.domain.verdict import Verdict
from tests.domain_objects import NOW, Made, a_pod
from tests.gangs import assemble


def member(group: Group, name: str, scheduler: str, **fields: Any) -> Pod:
    """A pod that names a group of another API, and whose scheduler reads that."""
    kind = f"{group.meta.ref.kind}.{group.meta.ref.group}"
    value = {"scheduler_name": scheduler, "other_scheduler": True, "group_kind": kind, **fields}
    return a_pod(name, group=group, **value)


def verdict_of(
    root: Owner | Group, *objects: Made, queues: Iterable[Queue] = (), **known: Any
) -> Verdict:
    """The verdict on a gang; `queues` are those that its groups name."""
    nodes = {obj.meta.ref.name: obj for obj in objects if isinstance(obj, Node)}
    fields = {"gang_api_version": "v1beta1", "queues": QueueTree(queues), "nodes": nodes, **known}
    events = [obj for obj in objects if isinstance(obj, Event)]
    rest = [obj for obj in objects if not isinstance(obj, Event | Node)]
    return assess(assemble(root, rest, now=NOW, events=events, **fields))
