"""TrainJobs and their runtimes to create on a control plane."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.objects import PodOptions, pod_template

TRAINER = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
INITIALIZER = "dataset-initializer"


def runtime(
    name: str,
    *,
    node: PodOptions | None = None,
    initializer: PodOptions | None = None,
    beside: Mapping[str, PodOptions] | None = None,
    trains: bool = True,
    restarts: int | None = None,
    **spec: Any,
) -> Json:
    """Return a ClusterTrainingRuntime of one node.

    With `initializer` the nodes wait until that is complete; `beside` are further parts, of one pod each. `trains=False` leaves out the label by which the
    Trainer knows the part that it deals nodes to.
    """
    node_job = _part("node", "trainer" if trains else "", node or {})
    parts = [node_job]
    if initializer is not None:
        node_job["dependsOn"] = [{"name": INITIALIZER, "status": "Complete"}]
        parts.insert(0, _part(INITIALIZER, INITIALIZER, initializer))
    parts += [_part(part, "", pods) for part, pods in (beside or {}).items()]
    template: Json = {"replicatedJobs": parts}
    if restarts is not None:
        template["failurePolicy"] = {"maxRestarts": restarts}
    return {
        "apiVersion": TRAINER,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": template}, **spec},
    }


def _part(name: str, step: str, pods: PodOptions) -> Json:
    template = pod_template(pods)
    template["spec"]["containers"][0]["name"] = name  # the Trainer finds it by that
    labels = {STEP: step} if step else {}
    job = {"backoffLimit": 0, "template": template}
    return {"name": name, "template": {"metadata": {"labels": labels}, "spec": job}}


def trainjob(
    name: str,
    namespace: str,
    runtime: str,
    *,
    nodes: int | None = None,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a TrainJob made from that ClusterTrainingRuntime; without `nodes` it leaves their number to it."""
    trainer = {} if nodes is None else {"trainer": {"numNodes": nodes}}
    return {
        "apiVersion": TRAINER,
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels or {})},
        "spec": {"runtimeRef": {"name": runtime}, **trainer, **spec},
    }


UNKNOWN_RUNTIME = r"must be created before the TrainJob is created|runtime '[^']+' not found"
"""Messages of Trainer's and Kueue's webhooks about a runtime they do not know, or not yet.

The API server asks both at once, and returns the first refusal.
"""


def create_when_taken(client: Client, created: Json) -> None:
    """Create a TrainJob as soon as the webhooks know of its runtime, which was made just now."""

    def is_made() -> bool:
        try:
            client.create(created)
        except ApiError as error:
            if re.search(UNKNOWN_RUNTIME, error.message) is None:
                raise
            return False
        return True

    wait(is_made, what=f"TrainJob {created['metadata']['name']} to be taken")
