"""Real Helm installs, upgrades and rolls back a release in a real cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart.helm import CHART, TRIAL, Values, helm
from tests.controlplane.client import Client, Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.usefixtures("helm_is_built", "charted_kinds"),
]

ADMISSION = "admissionregistration.k8s.io/v1"
CRDS = "apiextensions.k8s.io/v1"
BINDING = (ADMISSION, "MutatingAdmissionPolicyBinding", "gangboard-hold")
HOLDS = (CRDS, "CustomResourceDefinition", "holds.gangboard.dev")
ROUTE = ("gateway.networking.k8s.io/v1", "HTTPRoute", "gangboard")
RULE = ("monitoring.coreos.com/v1", "PrometheusRule", "gangboard")
MONITOR = ("monitoring.coreos.com/v1", "ServiceMonitor", "gangboard")

FIRST: Values = {
    **TRIAL,
    "actor": {"enabled": True},
    "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]},
    "metrics": {
        "existingSecret": "metrics",
        "serviceMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True},
    },
}
SECOND: Values = {
    **FIRST,
    "image": {"repository": "registry.example.com/gangboard", "tag": "v2"},
    "web": {"replicas": 3},
    "networkPolicy": {"messagePorts": [2525]},
    "httpRoute": {"enabled": False},
}


class Release:
    """A release of the chart in a namespace, and its objects in the cluster."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._at = ("--namespace", namespace, "--kubeconfig", str(plane.kubeconfig))
        self._namespace = namespace
        self.client = plane.client

    def run(self, command: str, *arguments: str, values: Values | None = None) -> str:
        return helm(command, "gangboard", *arguments, *self._at, values=values)

    def find(self, api_version: str, kind: str, name: str) -> Json | None:
        return self.client.find(api_version, kind, name, self._namespace)

    def secrets(self) -> dict[str, Any]:
        """Return the values that the chart generated, by the uid of the Secret."""
        secret = self.find("v1", "Secret", "gangboard-trial") or {}
        return {secret["metadata"]["uid"]: secret["data"]}

    def state(self) -> dict[str, Any]:
        """Return what differs between the revisions."""
        web = self.find("apps/v1", "Deployment", "gangboard-web") or {}
        (container,) = web["spec"]["template"]["spec"]["containers"]
        policy = self.find("networking.k8s.io/v1", "NetworkPolicy", "gangboard-notify") or {}
        (rule,) = policy["spec"]["egress"]
        return {
            "replicas": web["spec"]["replicas"],
            "image": container["image"].rpartition(":")[2],
            "ports": [rule_port["port"] for rule_port in rule["ports"]],
            "route": self.find(*ROUTE) is not None,
            "jobs": sorted(
                rule_port["metadata"]["name"]
                for rule_port in self.client.list("batch/v1", "Job", self._namespace)
            ),
        }


@pytest.fixture
def release(controlplane_137: ControlPlane, namespace: Namespaces) -> Iterator[Release]:
    test_release = Release(controlplane_137, namespace(controlplane_137))
    try:
        yield test_release
    finally:
        test_release.run("uninstall", "--ignore-not-found")
        client = test_release.client
        for crd_key in (BINDING, HOLDS):
            client.delete(*crd_key)
        client.wait_gone(*HOLDS)


def age(client: Client, crd: Json) -> None:
    """Let a CRD be served since last year."""
    conditions = [
        {**condition, "lastTransitionTime": "2025-01-01T00:00:00Z"}
        for condition in crd["status"]["conditions"]
    ]
    client.patch_status(*HOLDS, {"conditions": conditions})


def test_a_release_is_upgraded_and_rolled_back(release: Release) -> None:
    output = release.run("install", str(CHART), values=FIRST)
    assert "Holds are not in force yet" in output
    assert release.find(*BINDING) is None
    first = {
        "replicas": 2,
        "image": "v1",
        "ports": [465, 587],
        "route": True,
        "jobs": ["gangboard-migrate-1"],
    }
    assert release.state() == first
    assert release.find(*RULE)
    assert release.find(*MONITOR)
    secrets = release.secrets()
    ((secret,),) = [secrets.values()]
    assert sorted(secret) == [
        *("database_url", "encryption_key", "postgres_password", "redis_password", "redis_url"),
        "secret_key",
    ]

    # A minute later the API server knows Holds.
    age(release.client, release.client.get(*HOLDS))
    output = release.run("upgrade", str(CHART), values=SECOND)
    assert "Holds are not in force yet" not in output
    assert release.state() == {
        "replicas": 3,
        "image": "v2",
        "ports": [2525],
        "route": False,
        "jobs": ["gangboard-migrate-2"],
    }
    assert release.secrets() == secrets
    assert release.find(*BINDING) is not None

    release.run("rollback", "1")
    assert release.state() == {**first, "jobs": ["gangboard-migrate-1"]}
    assert release.secrets() == secrets
    # Holds stay in force, although the first revision had no binding.
    assert release.find(*BINDING) is not None
    history = json.loads(release.run("history", "--output", "json"))
    assert [revision["status"] for revision in history] == ["superseded", "superseded", "deployed"]

    release.run("uninstall")
    assert release.find(ADMISSION, "MutatingAdmissionPolicy", "gangboard-hold") is None
    assert release.find(*HOLDS) is not None
