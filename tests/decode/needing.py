"""Pods as the API server sends them, and their decoded constraints."""

from __future__ import annotations

from typing import Any

from gangboard.decode.pods import POD
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints
from tests.decode.reading import Json, model, with_identity

ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SELECTOR: Json = {"matchLabels": {"app": "train"}}


def pod(namespace: str = "team-a", labels: Json | None = None, **spec: Any) -> Pod:
    metadata = {"labels": labels, "namespace": namespace}
    built: Pod = model(POD, with_identity({"metadata": metadata, "spec": spec}))
    return built


def needs(**spec: Any) -> PodConstraints:
    return pod(**spec).needs


def by_host(selector: Json | None = SELECTOR, **extra: Any) -> Json:
    return {"topologyKey": HOSTNAME, "labelSelector": selector, **extra}
