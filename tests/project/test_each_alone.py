"""gangboard works without each file of a kind, grouping API or admission system, and with each alone.

The input is captured objects of real control planes plus an object of every kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gangboard.actions.permissions.manifests import manifests
from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.action import ClusterLevers, PolicyState, Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.queue import QueueEntry
from gangboard.kube.service_accounts import ACTOR
from gangboard.plugins import registry
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.policy.plan import all_offers
from tests.decode.reading import Json, captured, model
from tests.domain_objects import NOW, a_jobset, a_role, facts_of
from tests.gangs import a_gang, assemble
from tests.policy.builders import an_entry
from tests.project.lone_members import MEMBERS, members

CAPTURES = Path(__file__).resolve().parents[1] / "captures/1.37"
STATES = ("jobset-running", "job-running", "group-running", "jobset-suspended")
READY = ClusterLevers(cluster="east", has_actor=True, hold=PolicyState.INSTALLED)
LINKED = (Owner, Pod, Group, Hold, QueueEntry)
KUEUE = "gangboard.queues.kueue"


@cache
def every_resource() -> dict[str, tuple[Resource, ...]]:
    """Module → the resources of its member, with all members there."""
    result: dict[str, tuple[Resource, ...]] = {}
    for name in MEMBERS:
        with members(lambda module, name=name: module == name):  # type: ignore[misc]
            result[name] = registry.resources()
    return result


def keys(resources: Iterable[Resource]) -> list[str]:
    return [resource.key for resource in resources]


def _one_of(resource: Resource) -> Json:
    """Return an unreconciled object of any kind."""
    name = f"a-{resource.plural}"
    metadata = {
        "name": name,
        "namespace": "mixed",
        "uid": f"uid-{resource.key}",
        "resourceVersion": "7",
        "creationTimestamp": "2026-11-20T00:00:00Z",
    }
    return {"metadata": {**metadata, "generation": 1}}


def objects_of(state: str) -> list[Any]:
    """Return the decoded captured state and extra objects, using the registered members."""
    results = [
        item
        for resource in (POD, *registry.resources())
        for item in captured(CAPTURES / f"{state}.json", resource)
    ]
    return results + [model(resource, _one_of(resource)) for resource in registry.resources()]


@dataclass(frozen=True)
class Assessment:
    """The assessment of one gang."""

    code: str
    health: Health
    kinds: frozenset[tuple[str, str]]
    """API group and kind of everything in it."""
    pods: int


def assess_all(objects: Iterable[Any]) -> dict[str, Assessment]:
    """Return the assessment of each gang by `kind name`, with the buttons of each owner."""
    known = {item.meta.ref.uid: item for item in objects}
    graph = OwnershipGraph()
    for item in known.values():
        if isinstance(item, LINKED):
            graph.put(item)
    result = {}
    created = [item.meta.created_at for item in known.values() if item.meta.created_at]
    now = max(created, default=NOW) + timedelta(seconds=5)
    for root in graph.roots():
        uids = graph.members(root)
        gang = assemble(
            known[root],
            [known[uid] for uid in uids if uid != root],
            now=now,
            foreign_pods=[known[uid] for uid in graph.foreign_pods(root)],
            gang_api_version="v1beta1",
        )
        ref, finding = known[root].meta.ref, assess(gang).finding
        kinds = frozenset((known[uid].meta.ref.group, known[uid].meta.ref.kind) for uid in uids)
        pods = sum(isinstance(known[uid], Pod) for uid in uids)
        result[f"{ref.kind}.{ref.group} {ref.name}"] = Assessment(
            finding.code, finding.health, kinds, pods
        )
        if isinstance(known[root], Owner):
            assert all_offers(gang, READY, now)
    return result


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("left_out", MEMBERS)
def test_other_kinds_are_unchanged_without_one_member(left_out: str, state: str) -> None:
    complete = assess_all(objects_of(state))
    own = {(resource.group, resource.kind) for resource in every_resource()[left_out]}
    with members(lambda module: module != left_out):
        rest = assess_all(objects_of(state))
        json.dumps(manifests(PermissionOptions()))
    # Every object is counted exactly once.
    assert sum(item.pods for item in rest.values()) == sum(item.pods for item in complete.values())
    untouched = {name: item for name, item in complete.items() if not item.kinds & own}
    assert {name: rest.get(name) for name in untouched} == untouched
    assert not any(item.kinds & own for item in rest.values())


@pytest.mark.parametrize("name", MEMBERS)
def test_one_member_alone_is_enough(name: str) -> None:
    with members(lambda module: module == name):
        assert keys(registry.resources()) == keys(every_resource()[name])
        for state in STATES:
            result = assess_all(objects_of(state))
            pods = len(captured(CAPTURES / f"{state}.json", POD))
            assert sum(manifest.pods for manifest in result.values()) == pods
            for kind in registry.owner_kinds():
                single = kind.stands_alone and not (kind.makes_gangs or kind.needs_group)
                name = f"{kind.resource.kind}.{kind.resource.group} a-{kind.resource.plural}"
                assert (name in result) is single
        roles = [
            manifest
            for manifest in manifests(PermissionOptions())
            if manifest["kind"] == "ClusterRole" and manifest["metadata"]["name"] == ACTOR
        ]
        patched = {
            plural
            for rule in roles[0]["rules"]
            if "patch" in rule["verbs"]
            for plural in rule["resources"]
        }
        # Those of which a lever writes a field: others ask by an object of its own.
        writing = {
            lever.key for lever in registry.levers() if lever.written_field(("spec", "suspend"))
        }
        levered = {
            kind.resource.plural for kind in registry.owner_kinds() if writing & set(kind.levers)
        }
        assert patched - {"workloads"} == levered


def test_a_queued_jobset_without_kueue_is_held_by_an_unread_queue() -> None:
    queued = a_jobset("run", a_role("w", jobs=2, pods=2), suspended=True, queue="gpu-lq")
    with members(lambda module: module != KUEUE):
        verdict = assess(facts_of(queued, queue_systems=()))
        suspend, resume = all_offers(a_gang(owner=queued), READY, NOW)[queued.meta.ref.uid]
    assert (verdict.finding.code, verdict.finding.health) == ("queue-evaluating", Health.UNKNOWN)
    assert (
        verdict.finding.message
        == "JobSet run is held by queue gpu-lq, which gangboard does not read."
    )
    for plan in (suspend, resume):
        assert plan.why_not == (
            "JobSet run is in queue gpu-lq, which gangboard does not read: it may undo this."
        ), plan.verb
    with_kueue = assess(
        facts_of(queued, an_entry("run", admitted=False), queue_visibility="served")
    )
    assert with_kueue.finding.health is Health.WAITING


def test_an_unqueued_jobset_without_kueue_is_suspended() -> None:
    jobset = a_jobset("run", a_role("w", jobs=2, pods=2))
    with members(lambda module: module != KUEUE):
        plans = all_offers(a_gang(owner=jobset), READY, NOW)[jobset.meta.ref.uid]
    assert [(plan.verb, plan.lever) for plan in plans if plan.allowed] == [
        (Verb.SUSPEND, "suspend")
    ]
