"""A real API server accepts every object, and its pods under pod security `restricted`."""

from __future__ import annotations

from copy import deepcopy

import pytest

from tests.chart.helm import ALL, Manifest, pod_template, rendered
from tests.controlplane.client import ApiError, Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.usefixtures("helm_is_built", "charted_kinds"),
]

OF_OPERATORS = {"ServiceMonitor", "PrometheusRule", "HTTPRoute"}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def pod_of(workload: Manifest, namespace: str, number: int) -> Manifest:
    """Return a pod as the workload's controller makes it."""
    template = deepcopy(pod_template(workload)) or {}
    for claim in workload["spec"].get("volumeClaimTemplates", ()):
        name = claim["metadata"]["name"]
        source = {"persistentVolumeClaim": {"claimName": name}}
        template["spec"]["volumes"].append({"name": name, **source})
    metadata = {**template["metadata"], "name": f"pod-{number}", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def accepted(client: Client, manifest: Manifest, case: str) -> None:
    """Create an object without storing it. One that other tests have made is accepted as well."""
    try:
        client.create(manifest, dry_run=True)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise AssertionError(f"{case}: {manifest['metadata']['name']}: {error}") from error


def test_every_object_and_pod_is_accepted(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    client, name = controlplane_137.client, namespace(controlplane_137)
    client.patch("v1", "Namespace", name, {"metadata": {"labels": RESTRICTED}})
    objects, pods = 0, 0
    kinds: set[str] = set()
    for case, values in ALL.items():
        for manifest in rendered(values, name):
            accepted(client, manifest, case)
            kinds.add(manifest["kind"])
            objects += 1
            if pod_template(manifest) is not None:
                client.create(pod_of(manifest, name, pods), dry_run=True)
                pods += 1
    assert objects > 150
    assert pods >= 30
    assert kinds >= OF_OPERATORS
    # Their own CRDs are in force and refuse invalid objects.
    monitor = next(obj for obj in rendered(ALL["full"], name) if obj["kind"] == "ServiceMonitor")
    del monitor["spec"]["selector"]
    with pytest.raises(ApiError, match=r"spec\.selector: Required value"):
        client.create(monitor, dry_run=True)
    # The level is in force: a pod like ours that may become root is refused.
    workload = next(obj for obj in rendered(ALL["full"], name) if pod_template(obj))
    pod = pod_of(workload, name, pods)
    del pod["spec"]["securityContext"]["runAsNonRoot"]
    with pytest.raises(ApiError, match='violates PodSecurity "restricted:latest"'):
        client.create(pod, dry_run=True)
