"""Objects of autoscalers from the cluster to the sentence of the gangs that wait, and back from the store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.facts import provisioning
from gangboard.polling import poll
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import WatchedObject
from simulator import Simulator
from simulator.resources import Resource
from tests.polling.conftest import Watching
from tests.polling.test_pending_gangs import put_waiting_job

Watch = Callable[..., Watching]
Json = dict[str, Any]

API, NAME = "karpenter.sh/v1", "gpu-x7k2p"
SERVED = Resource("karpenter.sh", ("v1",), "nodeclaims", "NodeClaim", namespaced=False, custom=True)

REQUESTS = Resource(
    "autoscaling.x-k8s.io", ("v1",), "provisioningrequests", "ProvisioningRequest", custom=True
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report a missing claim at once."""
    monkeypatch.setattr(provisioning, "SETTLING", timedelta(0))


def put_claim(simulator: Simulator, *done: str) -> None:
    steps = ("Launched", "Registered", "Initialized")
    conditions = [{"type": step, "status": "True" if step in done else "Unknown"} for step in steps]
    claim = {
        "apiVersion": API,
        "kind": "NodeClaim",
        "metadata": {"name": NAME, "uid": "uid-claim", "labels": {"karpenter.sh/nodepool": "gpu"}},
        "spec": {},
        "status": {"conditions": conditions},
    }
    simulator.objects.put(claim)


def put_event(simulator: Simulator, reason: str, note: str, about: Json) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": reason.lower(), "namespace": about.get("namespace", "default")},
        "reason": reason,
        "note": note,
        "type": "Normal",
        "regarding": about,
        "reportingController": "karpenter",
        "deprecatedFirstTimestamp": now,
        "deprecatedLastTimestamp": now,
    }
    simulator.objects.put(event)


def nominate(simulator: Simulator) -> None:
    pod = {"kind": "Pod", "namespace": "default", "name": "waits-0", "uid": "uid-waits-0"}
    put_event(simulator, "Nominated", f"Pod should schedule on: nodeclaim/{NAME}", pod)


def give_up(simulator: Simulator) -> None:
    """Report why there is no such machine, and delete the claim."""
    claim = {"apiVersion": API, "kind": "NodeClaim", "name": NAME, "uid": "uid-claim"}
    note = f"NodeClaim {NAME} event: all requested instance types were unavailable"
    put_event(simulator, "InsufficientCapacityError", note, claim)
    simulator.objects.delete(API, "NodeClaim", NAME)


def said(watching: Watching, label: str = "") -> list[str]:
    """Return code and message of the gang, or its evidence with a label."""
    gang = watching.gang("waits")
    if not label:
        return [gang.code, gang.message]
    finding = unpack_detail(bytes(gang.detail)).findings[0]
    return [item.value for item in finding.evidence if item.label == label]


def cache_of(watching: Watching) -> ClusterCache:
    return poll._caches[watching.cluster.pk]


def test_a_claim_is_shown_until_its_deletion_and_the_reason_stays(watch: Watch) -> None:
    watching = watch(extra=(SERVED,))
    simulator = watching.simulator
    put_waiting_job(simulator)
    put_claim(simulator)
    nominate(simulator)
    watching.settle()
    assert said(watching)[0] == "waiting-for-nodes"
    assert f"NodeClaim {NAME} is not launched yet" in said(watching)[1]

    put_claim(simulator, "Launched")
    watching.settle()
    assert "its node has not registered yet" in said(watching)[1]

    give_up(simulator)
    watching.settle()
    assert said(watching)[0] == "no-matching-node"
    (message,) = said(watching, f"NodeClaim {NAME}")
    assert message.startswith("is gone")
    assert "all requested instance types were unavailable" in message

    watching.forget()
    window = watching.settle()
    assert said(watching, f"NodeClaim {NAME}") == [message]
    assert window.writer.written == 0


def test_a_claim_is_dropped_when_no_pod_waits_for_it(watch: Watch) -> None:
    watching = watch(extra=(SERVED,))
    simulator = watching.simulator
    put_waiting_job(simulator)
    put_claim(simulator)
    nominate(simulator)
    watching.settle()
    give_up(simulator)
    watching.settle()
    assert WatchedObject.objects.filter(name="insufficientcapacityerror").exists()
    simulator.objects.delete("v1", "Pod", "waits-0", "default")
    watching.settle()
    assert not WatchedObject.objects.filter(name="insufficientcapacityerror").exists()
    tracker = cache_of(watching).autoscaling
    indexes = (tracker._claims, tracker._pods, tracker._named, tracker._uids, tracker._names)
    assert not any(indexes)


def test_events_count_if_claims_are_not_served(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    nominate(watching.simulator)
    watching.once()
    assert watching.state(NODE_CLAIM.key).state == "not-served"
    assert said(watching)[0] == "waiting-for-nodes"
    assert said(watching, "NodeClaims") == []


def test_forbidden_claims_make_no_gang_unknown_and_count_once_they_are_readable(
    watch: Watch,
) -> None:
    watching = watch(extra=(SERVED,))
    fault = watching.simulator.faults.forbidden(resource="nodeclaims")
    put_waiting_job(watching.simulator)
    nominate(watching.simulator)
    watching.settle(failing=[NODE_CLAIM.key])
    assert watching.state(NODE_CLAIM.key).state == "forbidden"
    assert said(watching)[0] == "waiting-for-nodes"
    assert said(watching, "NodeClaims") == [
        "forbidden: only Karpenter's events tell whether a node comes"
    ]
    watching.simulator.faults.remove(fault)
    watching.windows_until(lambda: watching.state(NODE_CLAIM.key).state == "ok")
    # The only change for the gang is that its claim is now known to be missing.
    assert said(watching)[0] == "no-matching-node"


def put_request(simulator: Simulator, *done: str) -> None:
    simulator.objects.put(
        {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": {"name": "big", "namespace": "default", "uid": "uid-big"},
            "spec": {"provisioningClassName": "queued-provisioning.gke.io"},
            "status": {"conditions": [{"type": step, "status": "True"} for step in done]},
        }
    )


def consume(simulator: Simulator, request: str) -> None:
    def annotate(pod: Json) -> None:
        key = "autoscaling.x-k8s.io/consume-provisioning-request"
        pod["metadata"]["annotations"] = {key: request}

    simulator.objects.update("v1", "Pod", "waits-0", annotate, "default")


def test_a_request_touches_the_gangs_whose_pods_consume_it(watch: Watch) -> None:
    watching = watch(extra=(REQUESTS,))
    simulator = watching.simulator
    put_waiting_job(simulator)
    consume(simulator, "big")
    put_request(simulator, "Accepted")
    watching.settle()
    assert said(watching)[0] == "waiting-for-nodes"
    assert "ProvisioningRequest big is accepted" in said(watching)[1]

    watching.forget()
    put_request(simulator, "Accepted", "Failed")
    watching.settle()
    assert said(watching)[0] == "no-matching-node"
    assert said(watching, "ProvisioningRequest big") == ["has failed"]

    simulator.objects.delete("autoscaling.x-k8s.io/v1", "ProvisioningRequest", "big", "default")
    watching.settle()
    assert said(watching, "ProvisioningRequest big")[0].startswith("does not exist")

    consume(simulator, "another")
    put_request(simulator, "Accepted")
    watching.settle()
    assert said(watching, "ProvisioningRequest another")[0].startswith("does not exist")
    simulator.objects.delete("v1", "Pod", "waits-0", "default")
    watching.settle()
    tracker = cache_of(watching).autoscaling
    assert not any((tracker._consumers, tracker._consumed))
