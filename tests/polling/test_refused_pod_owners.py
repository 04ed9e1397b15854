"""Events about a controller that is no member (a StatefulSet) reach the gang of its pods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.polling.conftest import Watching
from tests.rules import texts

Watch = Callable[..., Watching]
Json = dict[str, Any]

MAKER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "ring", "uid": "uid-sts"}


def _manifest(api_version: str, kind: str, name: str, **fields: Any) -> Json:
    meta = {"name": name, "namespace": "default", **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def _pod(name: str) -> Json:
    owners = [{**MAKER, "controller": True}]
    spec = {
        "schedulerName": "default-scheduler",
        "schedulingGroup": {"podGroupName": "ring"},
        "containers": [{"name": "main", "image": "example/train:1"}],
    }
    metadata = {"ownerReferences": owners, "creationTimestamp": "2026-01-01T09:00:00Z"}
    return _manifest("v1", "Pod", name, metadata=metadata, spec=spec, status={"phase": "Pending"})


def _refusal() -> Json:
    return _manifest(
        "events.k8s.io/v1",
        "Event",
        "ring.1",
        type="Warning",
        reason="FailedCreate",
        note=texts.QUOTA,
        regarding={**MAKER, "namespace": "default"},
        eventTime="2099-01-01T09:00:00.000000Z",
        reportingController="statefulset-controller",
    )


def test_a_quota_that_refuses_stateful_set_pods_is_reported(watch: Watch) -> None:
    watching = watch(fleet="empty")
    objects = watching.simulator.objects
    policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    objects.put(_manifest("scheduling.k8s.io/v1beta1", "PodGroup", "ring", spec=policy))
    for name in ("ring-0", "ring-1"):
        objects.put(_pod(name))
    watching.once()
    assert watching.gang("ring").code in ("starting", "below-quorum")
    objects.put(_refusal())
    watching.once()
    assert watching.gang("ring").code == "pod-creation-refused"
    watching.forget()
    watching.once()
    assert watching.gang("ring").code == "pod-creation-refused"
