"""Shapes of manifests: what is stored of them, and that a shape is checked like its manifest."""

from __future__ import annotations

import json

import pytest

from gangboard.decode.manifests import Document, read_manifests
from gangboard.plugins import registry
from gangboard.plugins.manifest_shapes import shape_of
from tests.owners.expansion import context, expand

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


@pytest.mark.parametrize("text", [TEXT.split("---")[0], JOBSET])
def test_a_shape_makes_the_same_pods_as_its_manifest(text: str) -> None:
    (document,) = read_manifests(text)
    given = context("podgroups.scheduling.k8s.io/v1beta1", dependencies_met=True)
    whole = expand(dict(document.manifest), given).pods
    assert whole
    assert expand(dict(shape_of(document).manifest), given).pods == whole
