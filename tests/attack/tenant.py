"""A tenant with one namespace of a simulated cluster: its objects, and their verdicts."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import urllib3
import yaml

from tests.controlplane.client import Client
from tests.installation import Installation

Json = dict[str, Any]
CLUSTER = "sim-east"
SEEN_SECONDS = 20.0
"""Seconds within which the poller has seen a write. It takes less than a second."""


@contextlib.contextmanager
def api_server(board: Installation) -> Iterator[Client]:
    """Open the API server of the simulated cluster."""
    (path,) = board.folder.rglob(f"{CLUSTER}-admin.kubeconfig")
    config = yaml.safe_load(path.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = board.folder / "attacked-ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    client = Client(cluster["server"], ca=authority, token=user["token"])
    try:
        yield client
    finally:
        client.close()


@contextlib.contextmanager
def written(client: Client, namespace: str, *objects: Json) -> Iterator[None]:
    """Have a namespace with these objects there meanwhile."""
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    try:
        for obj in objects:
            client.create(obj)
        yield
    finally:
        for obj in objects:
            client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"], namespace)
        client.delete("v1", "Namespace", namespace)


def make_viewer(board: Installation, name: str, namespace: str) -> str:
    """Make a viewer of one namespace; return a token of theirs."""
    scope = ("--cluster", CLUSTER, "--namespace", namespace)
    board.manage("create_user", name, "--role", "viewer", *scope)
    return board.manage("create_token", name).splitlines()[-1]


def read(board: Installation, path: str, token: str) -> str:
    """Return an answer of the API as text."""
    headers = {"Authorization": f"Bearer {token}"}
    with urllib3.PoolManager(retries=False, headers=headers) as pool:
        answer = pool.request("GET", f"{board.url}/api/v1/{path}", timeout=10)
    assert answer.status == 200, (path, answer.status)
    return answer.data.decode()


def read_rows(board: Installation, path: str, token: str, count: int) -> list[Json]:
    """Return the rows of a list once there are so many of them."""
    return wait_for(lambda: json.loads(read(board, path, token))["results"], count)


def wait_for(read: Callable[[], list[Json]], count: int) -> list[Json]:
    """Return the result of `read` once it has that many objects. Raises AssertionError."""
    give_up_at = time.monotonic() + SEEN_SECONDS
    while len(gangs := read()) < count:
        assert time.monotonic() < give_up_at, f"{len(gangs)} of {count} seen: {gangs}"
        time.sleep(0.1)
    return gangs


def hold(namespace: str, name: str, *, job: str, owner: str) -> Json:
    """Return a Hold on a Job of the owner with that uid."""
    return {
        "apiVersion": "gangboard.dev/v1alpha1",
        "kind": "Hold",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"jobName": job, "ownerUID": owner, "by": "mallory", "reason": "attack"},
    }


def job(namespace: str, name: str, *, owner: Json) -> Json:
    """Return a suspended Job that names this object as its controller, under another name."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": "any",
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    containers = [{"name": "main", "image": "none"}]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"namespace": namespace, "name": name, "ownerReferences": [reference]},
        "spec": {
            "suspend": True,
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
        },
    }
