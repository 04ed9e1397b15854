"""A real API server accepts every object, and its pods under pod security `restricted`.

ServiceMonitor, PrometheusRule and HTTPRoute are of CRDs that are not there: `test_rendering` reads them, no server does.
"""

from __future__ import annotations

import pytest

from tests.chart.helm import ALL, Manifest, pod_template, rendered
from tests.controlplane.client import ApiError
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces

pytestmark = [pytest.mark.controlplane, pytest.mark.usefixtures("helm_is_built")]

NOT_SERVED = {"ServiceMonitor", "PrometheusRule", "HTTPRoute"}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


def pod_of(template: Manifest, namespace: str, number: int) -> Manifest:
    metadata = {**template["metadata"], "name": f"pod-{number}", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def test_every_object_and_pod_is_accepted(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    client, name = controlplane_137.client, namespace(controlplane_137)
    client.patch("v1", "Namespace", name, {"metadata": {"labels": RESTRICTED}})
    objects, pods = 0, 0
    for case, values in ALL.items():
        for manifest in rendered(values, name):
            if manifest["kind"] in NOT_SERVED:
                continue
            try:
                client.create(manifest, dry_run=True)
            except ApiError as error:
                assert error.reason == "AlreadyExists", (case, manifest["metadata"], error)
            objects += 1
            template = pod_template(manifest)
            if template is not None:
                client.create(pod_of(template, name, pods), dry_run=True)
                pods += 1
    assert objects > 150
    assert pods >= 30
    # The level is in force: a pod like ours that may become root is refused.
    template = next(found for one in rendered(ALL["full"], name) if (found := pod_template(one)))
    del template["spec"]["securityContext"]["runAsNonRoot"]
    with pytest.raises(ApiError, match='violates PodSecurity "restricted:latest"'):
        client.create(pod_of(template, name, pods), dry_run=True)
