"""Shapes of manifests: what is stored of them, and that a shape is checked like its manifest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gangboard.decode.manifests import Document, read_manifests
from gangboard.owners.trainjob.runtime import RUNTIMES
from gangboard.plugins import registry
from gangboard.plugins.manifest_shapes import shape_of
from tests.decode.reading import Json, captures, model
from tests.owners.created_manifests import CREATED
from tests.owners.expansion import context, expand
from tests.owners.refused_manifests import CASES as REFUSED
from tests.owners.refused_manifests import Case

SECRETS = ("s3cr3t", "rm -rf", "python:3", "bGV0", "p4ss", "https://hook")
TEXT = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {app: a, team: b}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "p4ss", note: "https://hook"}
  managedFields: [{manager: p4ss}]
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template:
    metadata: {labels: {app: a}, annotations: {note: p4ss}}
    spec:
      nodeSelector: {pool: a100}
      tolerations: [{key: team, operator: Exists}]
      volumes: [{name: key, secret: {secretName: s3cr3t}}]
      containers:
      - name: main
        image: python:3
        command: [sh, -c, rm -rf]
        args: [s3cr3t]
        env: [{name: TOKEN, value: s3cr3t}]
        envFrom: [{secretRef: {name: s3cr3t}}]
        lifecycle: {preStop: {exec: {command: [rm -rf]}}}
        resources: {limits: {nvidia.com/gpu: 4}}
status: {active: 3, message: p4ss}
---
apiVersion: v1
kind: Secret
metadata: {name: key, annotations: {a: p4ss}}
data: {key: bGV0}
stringData: {key: s3cr3t}
"""


def test_a_shape_has_no_secrets() -> None:
    stored = json.dumps([shape_of(document).manifest for document in read_manifests(TEXT)])
    assert not [secret for secret in SECRETS if secret in stored]
    for kept in ("a100", "nvidia.com/gpu", "Indexed", '"team": "b"', "Exists", "Secret"):
        assert kept in stored


def test_an_unknown_kind_keeps_only_its_name() -> None:
    _, secret = map(shape_of, read_manifests(TEXT))
    assert secret.manifest == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}


def test_annotations_that_plugins_read_are_kept() -> None:
    marks = {mark.key: "ring" for mark in registry.group_marks() if not mark.is_label}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "annotations": marks}}
    assert marks
    assert shape_of(Document(1, pod)).manifest["metadata"]["annotations"] == marks


JOBSET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: run, annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
spec:
  startupPolicy: {startupPolicyOrder: InOrder}
  coordinator: {replicatedJob: driver, jobIndex: 0, podIndex: 0}
  network: {enableDNSHostnames: true, subdomain: ring}
  replicatedJobs:
  - name: driver
    template: {spec: {template: {spec: {containers: [{name: c, ports: [{containerPort: 80, hostPort: 80}]}]}}}}
  - name: workers
    replicas: 2
    template:
      metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}}
      spec:
        parallelism: 2
        completions: 2
        completionMode: Indexed
        template:
          metadata: {labels: {a: b}}
          spec:
            topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]
            affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: gpu, operator: In, values: [a]}]}]}}}
            containers: [{name: c, resources: {requests: {cpu: 1}}}]
"""


@pytest.mark.parametrize("name", CREATED)
def test_a_shape_of_each_kind_makes_the_same_objects(name: str) -> None:
    case = CREATED[name]
    stored = [{**obj, "metadata": {**obj["metadata"], "uid": "u"}} for obj in case.before]
    given = context(
        "podgroups.scheduling.k8s.io/v1beta1",
        blueprints=[model(RUNTIMES[0], obj) for obj in stored],
        dependencies_met=True,
    )
    shape = shape_of(Document(1, case.manifest))
    whole, reduced = expand(case.manifest, given), expand(dict(shape.manifest), given)
    assert without_hashes(map(read_any, reduced.objects)) == without_hashes(
        map(read_any, whole.objects)
    )
    for runtime in stored:
        identity = {"metadata": runtime["metadata"]}
        short = {**shape_of(Document(1, runtime)).manifest, **identity}
        assert model(RUNTIMES[0], short) == model(RUNTIMES[0], runtime)


def without_hashes(models: Iterable[Any]) -> list[str]:
    """Return the values without the hashes of templates in names, which depend on fields that are left out."""
    return [re.sub(r"\b[0-9a-f]{8,}\b", "", repr(item)) for item in models]


def read_any(obj: Json) -> Any:
    """Return a decoded object."""
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = next(
        resource
        for resource in (registry.pods(), *registry.resources())
        if (resource.group, resource.kind) == (group, obj["kind"])
    )
    return model(resource, obj, version)


@pytest.mark.parametrize("file", captures(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_shape_is_decoded_like_its_object(file: Path) -> None:
    """Real objects without their status, because manifests have none."""
    content = json.loads(file.read_text())
    for resource in (registry.pods(), *registry.resources()):
        for version in resource.versions:
            root = f"/apis/{resource.group}/{version}" if resource.group else f"/api/{version}"
            for obj in content.get(f"{root}/{resource.plural}", []):
                manifest = written(
                    obj, root.removeprefix("/apis/").removeprefix("/api/"), resource.kind
                )
                shape = shape_of(Document(1, manifest)).manifest
                identity = {**shape["metadata"], "uid": "u"}
                assert model(resource, {**shape, "metadata": identity}, version) == model(
                    resource,
                    {**manifest, "metadata": {**manifest["metadata"], "uid": "u"}},
                    version,
                )


def written(obj: Json, api_version: str, kind: str) -> Json:
    """Return an object of a cluster as a manifest."""
    kept = ("name", "namespace", "labels", "annotations")
    metadata = {name: obj["metadata"][name] for name in kept if name in obj["metadata"]}
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return {**manifest, "spec": obj["spec"]} if "spec" in obj else manifest


@pytest.mark.parametrize("text", [TEXT.split("---")[0], JOBSET])
def test_a_shape_makes_the_same_pods_as_its_manifest(text: str) -> None:
    (document,) = read_manifests(text)
    given = context("podgroups.scheduling.k8s.io/v1beta1", dependencies_met=True)
    whole = expand(dict(document.manifest), given).pods
    assert whole
    assert expand(dict(shape_of(document).manifest), given).pods == whole


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_shape_has_the_faults_of_its_manifest(case: Case) -> None:
    given = context("podgroups.scheduling.k8s.io/v1beta1")
    shape = shape_of(Document(1, case.manifest)).manifest
    assert list(registry.faults_of(shape, given)) == list(registry.faults_of(case.manifest, given))
