"""The product, started as the chart starts it, watches the cluster by its service account and holds a Job."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from cryptography.fernet import Fernet

from tests.chart.helm import REFERENCES, Manifest, pod_template, rendered
from tests.chart.pods import Pods
from tests.controlplane.client import Client, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.objects import jobset

pytestmark = [
    pytest.mark.controlplane,
    pytest.mark.slow,
    pytest.mark.usefixtures("helm_is_built"),
]

VALUES = {
    **REFERENCES,
    "url": "http://localhost:8000",
    "trustedProxies": [],
    "cluster": {"name": "prod"},
    # Helm asks no cluster here.
    "actor": {"enabled": True, "holdBinding": "always"},
}
WORKERS = ("poll", "act", "prove")
"""Without notify, because these tests send no message, and `tests/production` runs the same
command."""
PATIENCE = 120.0
NOT_STARTED = {"Deployment", "Job", "Secret"}
"""Processes take the place of the first two. No controller of this plane fills the Secret with a token."""


@pytest.fixture
def installed(controlplane_137: ControlPlane, namespace: Namespaces) -> Iterator[list[Manifest]]:
    """All objects of the chart in a namespace, removed at the end."""
    client, name = controlplane_137.client, namespace(controlplane_137)
    objects = rendered(VALUES, name)
    try:
        client.create_all(obj for obj in objects if obj["kind"] not in NOT_STARTED)
        wait(lambda: _serves_holds(client), what="Holds to be served")
        yield objects
    finally:
        for obj in reversed(objects):
            if obj["kind"] not in NOT_STARTED:
                meta = obj["metadata"]
                client.delete(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
                if obj["kind"] == "CustomResourceDefinition":
                    client.wait_gone(obj["apiVersion"], obj["kind"], meta["name"])


def _serves_holds(client: Client) -> bool:
    groups = client.request("GET", "/apis")["groups"]
    return any(group["name"] == "gangboard.dev" for group in groups)


def account_files(plane: ControlPlane, namespace: str, account: str) -> dict[str, str]:
    """Return the files that a kubelet mounts for a service account."""
    cluster = yaml.safe_load(plane.kubeconfig.read_text())["clusters"][0]["cluster"]
    return {
        "token": plane.service_account_token(namespace, account),
        "ca.crt": base64.b64decode(cluster["certificate-authority-data"]).decode(),
        "namespace": namespace,
    }


def send(pods: Pods, token: str, path: str, body: dict[str, Any] | None = None) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    headers |= {"Idempotency-Key": "held-once"} if body else {}
    data = json.dumps(body).encode() if body else None
    url = f"http://127.0.0.1:{pods.port}/api/v1/{path}"
    request = urllib.request.Request(url, data, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def test_the_installed_chart_watches_its_own_cluster_and_holds_a_job(
    controlplane_137: ControlPlane,
    installed: list[Manifest],
    redis_url: str,
    empty_postgres_database: str,
) -> None:
    plane, name = controlplane_137, installed[0]["metadata"]["namespace"]
    reader = account_files(plane, name, "gangboard-reader")
    address = urlsplit(plane.url)
    secrets = {
        "keys": {
            "secret_key": "0123456789abcdef" * 4,
            "encryption_key": Fernet.generate_key().decode(),
        },
        "postgres": {"url": empty_postgres_database},
        "redis": {"url": redis_url},
        "gangboard-actor": account_files(plane, name, "gangboard-actor"),
    }
    workloads = [obj for obj in installed if pod_template(obj)]
    server = address.hostname or "", address.port or 443
    plane.client.create(jobset("run", name, jobs={"w": {"replicas": 2, "pods": 1}}))
    with (
        closing(Pods(workloads, secrets, {"gangboard-reader": reader}, server)) as pods,
        plane.awake(),
    ):
        pods.run("migrate")
        for process in ("web", *WORKERS, "beat"):
            pods.start(process)
        with ThreadPoolExecutor() as pool:
            user = "python manage.py create_user ada --role admin >&2 && "
            command = ["sh", "-c", f"{user}python manage.py create_token ada --act"]
            token_printed = pool.submit(pods.run, "web", command)
            added = pool.submit(pods.run, "add-cluster")
        pods.wait_for("web", "readinessProbe")
        token = token_printed.result().strip()
        assert "is watched from now on" in added.result()
        assert "gangboard may act on cluster prod from now on." in added.result()

        def gang() -> Any:
            listed = send(pods, token, f"gangs/?namespace={name}&kind=JobSet")["results"]
            return send(pods, token, f"gangs/{listed[0]['id']}/") if listed else None

        jobs = wait(lambda: (gang() or {}).get("jobs"), timeout=PATIENCE, what="the gang")
        target = {
            "cluster": "prod",
            "api_group": "batch",
            "kind": "Job",
            "namespace": name,
            **{key: jobs[0][key] for key in ("name", "uid")},
        }
        body = {"verb": "suspend", "target": target, "reason": "a node is repaired"}
        action = send(pods, token, "actions/", body)["id"]
        ended = wait(
            lambda: (state := send(pods, token, f"actions/{action}/"))["finished_at"] and state,
            timeout=PATIENCE,
            what="the action",
        )
        assert ended["state"] == "verified", (ended, pods.log("act"))
        assert plane.client.get("batch/v1", "Job", jobs[0]["name"], name)["spec"]["suspend"] is True
        # All workers have the same probe. It is a Python of its own each time, so it is tried on one that works.
        pods.wait_for("act", "startupProbe")
