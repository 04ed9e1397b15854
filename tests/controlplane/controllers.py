"""Objects a controller needs in the API besides its process: CRDs, webhook configurations, a Secret."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.controlplane.build import manifests
from tests.controlplane.certificates import KueueCertificates
from tests.controlplane.client import Json
from tests.controlplane.processes import HOST, KUEUE_NAMESPACE, Layout


@dataclass(frozen=True)
class Controller:
    """Objects of a controller: `crds` and `others` before it starts, `webhooks` after.

    The API server calls the webhooks as soon as `is_defaulted` holds for its answer to a
    dry-run creation of `probe`, or as soon as it refuses that with the text `refusal`. No `probe`: no webhooks.

    """

    process: str
    crds: list[Json]
    others: list[Json] = field(default_factory=list)
    webhooks: list[Json] = field(default_factory=list)
    probe: Json | None = None
    is_defaulted: Callable[[Json], bool] = bool
    refusal: str = ""


def controllers(layout: Layout) -> list[Controller]:
    """Return the objects the profile's controllers need."""
    created = [_jobset(layout)]
    if layout.kueue_certificates:
        created.append(_kueue(layout, layout.kueue_certificates))
    if layout.profile.lws:
        created.append(_lws(layout))
    if layout.profile.trainer:
        created.append(_trainer(layout))
    if layout.profile.kubeflow:
        created += [
            _without_webhooks(layout, name) for name in ("training-operator", "mpi-operator")
        ]
    if layout.profile.kuberay:
        created.append(_kuberay())
    return created


def _without_webhooks(layout: Layout, name: str) -> Controller:
    crds, _ = _from_manifests(name, layout.url, layout.certificates.ca)
    return Controller(name, crds)


def _jobset(layout: Layout) -> Controller:
    url = f"https://{HOST}:{layout.ports.jobset_webhook}"
    crds, webhooks = _from_manifests("jobset", url, layout.certificates.ca)
    _only_pods_with("jobset.sigs.k8s.io/jobset-name", webhooks)
    template = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
    probe: Json = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "webhook-probe", "namespace": "default"},
        "spec": {"replicatedJobs": [{"name": "j", "template": {"spec": {"template": template}}}]},
    }
    return Controller(
        "jobset", crds, [], webhooks, probe, lambda answer: "network" in answer["spec"]
    )


def _lws(layout: Layout) -> Controller:
    url = f"https://{HOST}:{layout.ports.lws_webhook}"
    crds, webhooks = _from_manifests("lws", url, layout.certificates.ca)
    _only_pods_with("leaderworkerset.sigs.k8s.io/name", webhooks)
    template = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
    probe: Json = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "webhook-probe", "namespace": "default"},
        "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template}},
    }
    return Controller(
        "lws", crds, [], webhooks, probe, lambda answer: "networkConfig" in answer["spec"]
    )


def _trainer(layout: Layout) -> Controller:
    url = f"https://{HOST}:{layout.ports.trainer_webhook}"
    crds, webhooks = _from_manifests("trainer", url, layout.certificates.ca)
    pods = {"spec": {"containers": [{"name": "not-node", "image": "x"}]}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    job = {"name": "node", "template": {"metadata": {"labels": labels}, "spec": {"template": pods}}}
    probe: Json = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "webhook-probe"},
        "spec": {"template": {"spec": {"replicatedJobs": [job]}}},
    }
    # It sets no defaults of a runtime; of this one it says that a container is missing.
    return Controller(
        "trainer", crds, [], webhooks, probe, lambda _: False, refusal="denied the request"
    )


def _kuberay() -> Controller:
    """Return its CRDs. It has no webhooks, so requests about them are answered immediately."""
    crds, webhooks = _from_manifests("kuberay", "", Path())
    pods = {"spec": {"containers": [{"name": "ray", "image": "x"}]}}
    probe: Json = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"headGroupSpec": {"rayStartParams": {}, "template": pods}},
    }
    return Controller("kuberay", crds, [], webhooks, probe, lambda _: True)


# Kueue gives these its authority by itself and wants their conversion to be its own.
_CONVERTED = ("localqueues", "clusterqueues", "workloads", "cohorts", "multikueueclusters")


def _kueue(layout: Layout, certificates: KueueCertificates) -> Controller:
    url = f"https://{HOST}:{layout.ports.kueue_webhook}"
    authority = certificates.authority.certificate
    crds, webhooks = _from_manifests("kueue", url, authority)
    # It only applies the status of its Workloads (pkg/workload/patching), so the lists of their pods
    # are not needed. Both versions stay: tests read both.
    crds = [_with_pods_unread(crd) for crd in crds]
    for crd in crds:
        if crd["spec"]["names"]["plural"] in _CONVERTED:
            conversion = {
                "clientConfig": _client_config(f"{url}/convert", authority),
                "conversionReviewVersions": ["v1"],
            }
            crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": conversion}
    for configuration in webhooks:
        # The rest is for kinds that are not served here. Pods and their owners are handed to it where a test asks.
        for hook in configuration["webhooks"]:
            if _groups(hook) & _GROUPS_OF_PODS:
                hook["namespaceSelector"] = {"matchLabels": TAKES_PODS}
        configuration["webhooks"] = [
            hook
            for hook in configuration["webhooks"]
            if _groups(hook) & (_KUEUE_GROUPS | _GROUPS_OF_PODS)
        ]
    metadata = {"name": "webhook-probe"}
    version = "kueue.x-k8s.io/v1beta2"
    probe: Json = {"apiVersion": version, "kind": "ResourceFlavor", "metadata": metadata}
    return Controller(
        "kueue",
        crds,
        [_kueue_namespace(), _kueue_secret(certificates)],
        webhooks,
        probe,
        lambda answer: bool(answer["metadata"].get("finalizers")),
    )


TAKES_PODS = {"test.gangboard.dev/kueue-takes-pods": "yes"}
"""Label of a namespace whose pods, StatefulSets and Deployments Kueue sees as they are made."""
_GROUPS_OF_PODS = {"", "apps"}
_KUEUE_GROUPS = {
    "kueue.x-k8s.io",
    "batch",
    "jobset.x-k8s.io",
    "kubeflow.org",
    "ray.io",
    "trainer.kubeflow.org",
}


def _kueue_namespace() -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUEUE_NAMESPACE}}


def _kueue_secret(certificates: KueueCertificates) -> Json:
    files = {
        "ca.crt": certificates.authority.certificate,
        "ca.key": certificates.authority.key,
        "tls.crt": certificates.webhook.certificate,
        "tls.key": certificates.webhook.key,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "kueue-webhook-server-cert", "namespace": KUEUE_NAMESPACE},
        "data": {name: _inlined(file) for name, file in files.items()},
    }


def _from_manifests(module: str, url: str, authority: Path) -> tuple[list[Json], list[Json]]:
    """Return the module's CRDs, and its webhook configurations pointed at the process here."""
    crds, webhooks = [], []
    for file in manifests(module):
        # The C loader: Kueue's Workload alone is 1.4 MB, half a minute for the other one.
        for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
            if not document:
                continue
            if document["kind"] == "CustomResourceDefinition":
                crd = _undescribed(document)
                crds.append(_without_pods(crd) if module in _UPDATERS else crd)
            else:
                webhooks.append(document)
                metadata = document["metadata"]
                metadata["name"] = f"{module}-{metadata['name']}"
    for hook in _hooks(webhooks):
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = _client_config(f"{url}{path}", authority)
    return crds, webhooks


def _undescribed(schema: Any) -> Any:
    """Return a CRD without the descriptions of its fields, three quarters of its bytes.

    An API server reads and writes each CRD many times until it is served, which with many of them is most
    of the processor time of its start.
    """
    if isinstance(schema, list):
        return [_undescribed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A field that is called so has a schema, not a text.
    return {
        name: _undescribed(value)
        for name, value in schema.items()
        if not (name == "description" and isinstance(value, str))
    }


_UPDATERS = ("kuberay", "training-operator", "mpi-operator")
"""Controllers that write whole objects: those that apply some fields need to know the lists among them."""


def _without_pods(crd: Json) -> Json:
    """Return a CRD in its storage version, without the schema of pod fields.

    These have each field of a pod for each role, which is nearly all of their bytes and half of the processor
    time of the start of a control plane with Kueue. The controller that creates the pods validates the fields.

    """
    stored = [version for version in crd["spec"]["versions"] if version["storage"]]
    return {**crd, "spec": {**crd["spec"], "versions": _with_pods_unread(stored)}}


def _with_pods_unread(schema: Any) -> Any:
    """Return a schema that takes the specs of pods as they come."""
    if isinstance(schema, list):
        return [_with_pods_unread(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties", {})
    if "containers" in fields and "nodeSelector" in fields:
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {name: _with_pods_unread(value) for name, value in schema.items()}


def _only_pods_with(label: str, webhooks: list[Json]) -> None:
    """Limit webhooks about pods as the controller's own installation does: others must not wait for it."""
    for hook in _hooks(webhooks):
        if "pods" in _resources(hook):
            hook["objectSelector"] = {"matchExpressions": [{"key": label, "operator": "Exists"}]}


def _client_config(url: str, authority: Path) -> Json:
    return {"url": url, "caBundle": _inlined(authority)}


def _hooks(configurations: list[Json]) -> Iterator[Json]:
    for configuration in configurations:
        yield from configuration["webhooks"]


def _resources(hook: Json) -> set[str]:
    return {resource for rule in hook["rules"] for resource in rule["resources"]}


def _groups(hook: Json) -> set[str]:
    return {group for rule in hook["rules"] for group in rule["apiGroups"]}


def _inlined(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
