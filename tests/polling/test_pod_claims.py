"""Claims in the verdicts of the gangs whose pods name them, and after a restart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.domain.pod_claims import ClaimProblem, UnusableClaim
from gangboard.polling import pod_claims, poll
from gangboard.polling.cluster_cache import ClusterCache
from simulator import Simulator
from simulator.resources import Resource
from tests.polling.conftest import Watching
from tests.polling.test_pending_gangs import put_waiting_job
from tests.rules.texts import CLAIM_HIDDEN

Watch = Callable[..., Watching]
Json = dict[str, Any]

VOLUMES = Resource("", ("v1",), "persistentvolumeclaims", "PersistentVolumeClaim", short=("pvc",))
CLASSES = Resource(
    "storage.k8s.io", ("v1",), "storageclasses", "StorageClass", namespaced=False, has_status=False
)
DEVICES = Resource("resource.k8s.io", ("v1",), "resourceclaims", "ResourceClaim")
ALL = (VOLUMES, CLASSES, DEVICES)

DATA = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
LINKS = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "links"}]}
MISSING = "1 pod needs PersistentVolumeClaim data, which does not exist."
UNBOUND = "1 pod waits for PersistentVolumeClaim data, which is not bound to a volume yet."
NO_LINKS = "1 pod needs ResourceClaim links, which does not exist."


def put_job(simulator: Simulator, spec: Json, *, silent: bool = False, age: int = 60) -> None:
    """Put a Job with one pod for which a 1.37 scheduler reports an error, or no event."""
    put_waiting_job(simulator)

    def change(pod: Json) -> None:
        created_at = datetime.now(UTC) - timedelta(seconds=age)
        pod["metadata"]["creationTimestamp"] = created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        pod["spec"].update(spec)
        pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1m"}}
        pod["status"]["conditions"] = (
            []
            if silent
            else [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "SchedulerError",
                    "message": CLAIM_HIDDEN,
                }
            ]
        )

    simulator.objects.update("v1", "Pod", "waits-0", change, "default")


def put(simulator: Simulator, api: str, kind: str, name: str, **fields: Any) -> None:
    namespace = {} if kind == "StorageClass" else {"namespace": "default"}
    metadata = {"name": name, **namespace, **fields.pop("metadata", {})}
    simulator.objects.put({"apiVersion": api, "kind": kind, "metadata": metadata, **fields})


def put_data(simulator: Simulator, phase: str = "Pending", **spec: Any) -> None:
    put(
        simulator, "v1", "PersistentVolumeClaim", "data",
        metadata={"uid": "uid-data"}, spec=spec, status={"phase": phase},
    )  # fmt: skip


def put_class(simulator: Simulator, mode: str) -> None:
    put(simulator, "storage.k8s.io/v1", "StorageClass", "fast", volumeBindingMode=mode)


def verdict_of(watching: Watching) -> tuple[str, str]:
    gang = watching.gang("waits")
    return gang.code, gang.message


def cache_of(watching: Watching) -> ClusterCache:
    return poll._caches[watching.cluster.pk]


def test_a_claim_is_shown_from_missing_to_bound(watch: Watch) -> None:
    watching = watch(extra=ALL)
    simulator = watching.simulator
    put_job(simulator, DATA)
    watching.settle()
    assert verdict_of(watching) == ("volume-unavailable", MISSING)

    put_data(simulator, storageClassName="fast")
    watching.settle()
    assert verdict_of(watching) == ("volume-unavailable", UNBOUND)

    # The class appears, and waits for the pod: then it is not the claim.
    put_class(simulator, "WaitForFirstConsumer")
    watching.settle()
    assert verdict_of(watching)[0] == "scheduler-error"

    # The claim exists again with its own volume, which is gone.
    watching.forget()
    put_data(simulator, "Lost", storageClassName="fast", volumeName="pv-7")
    watching.settle()
    assert verdict_of(watching)[1].endswith("PersistentVolume pv-7 does not exist.")

    put_data(simulator, "Bound", storageClassName="fast", volumeName="pv-7")
    watching.settle()
    assert verdict_of(watching)[0] == "scheduler-error"

    simulator.objects.delete("v1", "PersistentVolumeClaim", "data", "default")
    watching.settle()
    assert verdict_of(watching) == ("volume-unavailable", MISSING)


def test_a_new_worker_gives_the_same_verdict(watch: Watch) -> None:
    watching = watch(extra=ALL)
    put_class(watching.simulator, "Immediate")
    put_data(watching.simulator, storageClassName="fast")
    put_job(watching.simulator, DATA)
    watching.settle()
    assert verdict_of(watching) == ("volume-unavailable", UNBOUND)
    watching.forget()
    window = watching.settle()
    assert verdict_of(watching) == ("volume-unavailable", UNBOUND)
    assert window.writer.written == 0


def test_a_pod_held_back_for_a_claim_reports_the_missing_claim(watch: Watch) -> None:
    watching = watch(extra=ALL)
    put_job(watching.simulator, LINKS, silent=True)
    watching.settle()
    assert verdict_of(watching) == ("claim-unavailable", NO_LINKS)
    put(watching.simulator, "resource.k8s.io/v1", "ResourceClaim", "links", spec={})
    watching.settle()
    assert verdict_of(watching)[0] == "not-attempted"


def test_a_new_pod_waits_for_its_claim_before_it_is_missing(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The claim is read before the next regular assessment of a starting gang, a minute later.
    monkeypatch.setattr(pod_claims, "SETTLING", timedelta(seconds=40))
    watching = watch(extra=ALL)
    put_job(watching.simulator, LINKS, silent=True, age=0)
    watching.settle()
    assert verdict_of(watching)[0] == "starting"
    cache, now = cache_of(watching), datetime.now(UTC)
    links = ("ResourceClaim", "default", "links")
    assert cache.pod_claims.unusable_claims(["uid-waits-0"], now)[0] == {}
    settled = now + timedelta(seconds=40)
    unusable, recheck = cache.pod_claims.unusable_claims(["uid-waits-0"], settled)
    assert unusable == {links: UnusableClaim(ClaimProblem.MISSING)}
    assert recheck is None
    # The passing of time is the only change.
    assert cache.rechecks.times["uid-waits"] <= settled.timestamp()


def test_a_single_poll_reports_a_missing_claim(watch: Watch) -> None:
    watching = watch(extra=ALL)
    put_job(watching.simulator, DATA)
    watching.once()
    assert verdict_of(watching) == ("volume-unavailable", MISSING)


@pytest.mark.parametrize(
    ("spec", "silent", "plural", "key", "today", "code"),
    [
        (DATA, False, "persistentvolumeclaims", VOLUME_CLAIM.key, "scheduler-error", MISSING),
        (LINKS, True, "resourceclaims", RESOURCE_CLAIM.key, "not-attempted", NO_LINKS),
    ],
)
def test_forbidden_claims_are_not_reported(
    watch: Watch, spec: Json, silent: bool, plural: str, key: str, today: str, code: str
) -> None:
    watching = watch(extra=ALL)
    fault = watching.simulator.faults.forbidden(resource=plural)
    put_job(watching.simulator, spec, silent=silent)
    watching.settle(failing=[key])
    assert watching.state(key).state == "forbidden"
    assert verdict_of(watching)[0] == today
    watching.simulator.faults.remove(fault)
    watching.settle()
    # The only change for the gang is that its claim is now known to be missing.
    assert verdict_of(watching)[1] == code


def test_without_classes_a_claim_of_a_class_may_wait_for_the_pod(watch: Watch) -> None:
    watching = watch(extra=ALL)
    watching.simulator.faults.forbidden(resource="storageclasses")
    put_data(watching.simulator, storageClassName="fast")
    put_job(watching.simulator, DATA)
    watching.settle(failing=[STORAGE_CLASS.key])
    assert verdict_of(watching)[0] == "scheduler-error"
    put_data(watching.simulator, storageClassName="")
    watching.settle(failing=[STORAGE_CLASS.key])
    assert verdict_of(watching) == ("volume-unavailable", UNBOUND)


def test_a_cluster_without_claims_has_no_claim_findings(watch: Watch) -> None:
    watching = watch()
    put_job(watching.simulator, DATA)
    watching.once()
    assert watching.state(VOLUME_CLAIM.key).state == "not-served"
    assert verdict_of(watching)[0] == "scheduler-error"


def test_an_unreadable_claim_may_be_the_missing_claim(watch: Watch) -> None:
    watching = watch(extra=ALL)
    put(watching.simulator, "v1", "PersistentVolumeClaim", "data", spec={"volumeName": 5})
    put_job(watching.simulator, DATA)
    watching.settle()
    assert verdict_of(watching)[0] == "scheduler-error"


def test_pods_that_are_deleted_or_placed_are_dropped(watch: Watch) -> None:
    watching = watch(extra=ALL)
    put_job(watching.simulator, DATA)
    watching.settle()
    claims = cache_of(watching).pod_claims
    assert claims._waiting
    assert claims._named_by

    def place(pod: Json) -> None:
        pod["spec"]["nodeName"] = "n0"

    watching.simulator.objects.update("v1", "Pod", "waits-0", place, "default")
    watching.settle()
    assert not any((claims._waiting, claims._named_by))
