"""Kueue's side of a test: queues, and the Workload that Kueue made for an owner.

queue = queues(plane, where, {"cpu": "4"})
client.create(jobset("run", where, labels=in_queue(queue), jobs={...}))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.conditions import is_true

KUEUE = "kueue.x-k8s.io/v1beta2"
_FLAVOR = "default"


def resource_flavor(name: str = _FLAVOR, *, node_labels: Mapping[str, str] | None = None) -> Json:
    """Return a ResourceFlavor; `node_labels` limit it to some nodes."""
    spec = {"nodeLabels": dict(node_labels)} if node_labels else {}
    return {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def cluster_queue(
    name: str,
    quota: Mapping[str, str],
    *,
    flavor: str = _FLAVOR,
    spec: Json | None = None,
) -> Json:
    """Return a ClusterQueue for all namespaces: `cluster_queue("cq", {"cpu": "8"})`.

    A Workload that requests a resource outside `quota` is never admitted. `spec` goes over the
    rest, for example {"stopPolicy": "Hold"}.

    """
    resources = [{"name": key, "nominalQuota": value} for key, value in quota.items()]
    flavors = [{"name": flavor, "resources": resources}]
    created = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": list(quota), "flavors": flavors}],
    }
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": created | (spec or {}),
    }


def cohort(name: str, *, parent: str = "") -> Json:
    """Return a Cohort, below another one if that is given."""
    spec = {"parentName": parent} if parent else {}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def local_queue(name: str, namespace: str, *, cluster_queue: str) -> Json:
    """Return a LocalQueue of that ClusterQueue."""
    metadata = {"name": name, "namespace": namespace}
    spec = {"clusterQueue": cluster_queue}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def in_queue(queue: str) -> dict[str, str]:
    """Return the label that hands a Job or JobSet to Kueue: `jobset(..., labels=in_queue("q"))`."""
    return {"kueue.x-k8s.io/queue-name": queue}


def make_queue(
    client: Client, namespace: str, quota: Mapping[str, str], *, name: str = "queue"
) -> str:
    """Create a ClusterQueue `<namespace>-<name>` and its LocalQueue `name`. Return the latter.

    They share one ResourceFlavor, and admit from now on. A test uses the fixture `queues`, which
    deletes the cluster-wide objects.

    """
    shared = cluster_queue_name(namespace, name)
    client.create_all(
        [
            resource_flavor(),
            cluster_queue(shared, quota),
            local_queue(name, namespace, cluster_queue=shared),
        ]
    )
    client.wait_for(KUEUE, "LocalQueue", name, namespace, until=lambda o: is_true(o, "Active"))
    return name


def cluster_queue_name(namespace: str, name: str) -> str:
    """Return what `make_queue` calls the ClusterQueue."""
    return f"{namespace}-{name}"


def kueue_workload(client: Client, owner: Json) -> Json | None:
    """Return the Workload that Kueue made for this Job or JobSet, if there is one by now."""
    selector = f"kueue.x-k8s.io/job-uid={owner['metadata']['uid']}"
    result = client.list(KUEUE, "Workload", owner["metadata"]["namespace"], labels=selector)
    return result[0] if result else None


def wait_kueue_workload(
    client: Client, owner: Json, *, until: Callable[[Json], object], timeout: float = 30.0
) -> Json:
    """Return the owner's Workload once `until` holds for it. Raises `WaitError`."""
    return wait(
        lambda: _if(until, kueue_workload(client, owner)),
        timeout=timeout,
        what=f"Kueue's Workload of {owner['metadata']['name']}",
        seen=lambda: (kueue_workload(client, owner) or {}).get("status"),
    )


def set_active(client: Client, workload: Json, active: bool) -> None:
    """Do to a Workload what `kueuectl stop workload` and `resume workload` do."""
    nodes = workload["metadata"]
    patch = {"spec": {"active": active}}
    client.patch(KUEUE, "Workload", nodes["name"], patch, nodes["namespace"])


def _if(until: Callable[[Json], object], result: Json | None) -> Json | None:
    return result if result is not None and until(result) else None
