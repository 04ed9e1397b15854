"""Makes gangboard's two identities in a cluster exactly as an admin does: by `manage.py print_rbac`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import yaml

from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER
from tests.acting.scene import wait
from tests.controlplane.client import ApiError, Client, Json
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation

HOLD_KINDS = {
    "CustomResourceDefinition",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
}


def install(
    installation: Installation, plane: ControlPlane, cluster: str, *, holds: bool = True
) -> Path:
    """Apply what `print_rbac --cluster` prints and set the actor; return the actor's kubeconfig.

    Without `holds` the Hold resource and its policy are left out.
    """
    # The output depends on the resources that the cluster serves.
    wait(lambda: _is_read(installation, cluster), what=f"gangboard to have read {cluster}")
    printed = installation.manage("print_rbac", "--cluster", cluster)
    # An admin waits for 40 s between the two. Here no other test writes to Jobs meanwhile.
    printed += installation.manage("print_rbac", "--cluster", cluster, "--hold")
    objects = [obj for obj in yaml.safe_load_all(printed) if obj]
    selected = [obj for obj in objects if holds or obj["kind"] not in HOLD_KINDS]
    apply(plane.client, selected)
    if holds:
        wait(lambda: hold_is_served(plane.client), what="the Hold resource to be served")
    file = kubeconfig(plane, ACTOR)
    installation.manage("set_actor", cluster, "--kubeconfig", str(file))
    if holds:
        wait(lambda: _sees_hold(installation, cluster), what="gangboard to see the Hold")
    return file


def remove(installation: Installation, plane: ControlPlane, cluster: str) -> None:
    """Delete all objects. The control plane is shared, and other tests bring their own accounts."""
    printed = installation.manage("print_rbac", "--cluster", cluster)
    printed += installation.manage("print_rbac", "--cluster", cluster, "--hold")
    for obj in reversed([obj for obj in yaml.safe_load_all(printed) if obj]):
        meta = obj["metadata"]
        key = (obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
        # Deleting a namespace takes long, and an empty one does no harm. 404: the object was left
        # out here.
        if obj["kind"] != "Namespace":
            with suppress(ApiError):
                plane.client.delete(*key)
        if obj["kind"] == "CustomResourceDefinition":
            plane.client.wait_gone(*key)


def _is_read(installation: Installation, cluster: str) -> bool:
    return installation.get(f"clusters/{cluster}/")["listed_at"] is not None


def _sees_hold(installation: Installation, cluster: str) -> bool:
    levers = {lever["lever"]: lever for lever in installation.get(f"clusters/{cluster}/")["levers"]}
    return bool(levers["hold"]["ready"])


def allow_parallelism(installation: Installation, plane: ControlPlane, cluster: str) -> None:
    """Switch the lever on, and apply the resulting policies of the actor. The Hold is not
    installed."""
    installation.manage("set_lever", cluster, "parallelism", "on")
    printed = installation.manage("print_rbac", "--cluster", cluster)
    objects = [obj for obj in yaml.safe_load_all(printed) if obj]
    apply(plane.client, [obj for obj in objects if obj["kind"] not in HOLD_KINDS])
    # An API server begins to judge by a new policy a moment after it has taken it.
    time.sleep(3)


def apply(client: Client, objects: Sequence[Json]) -> None:
    """Create or merge the objects; a custom resource is waited for before the next."""
    for obj in objects:
        client.create_all([obj])


def hold_is_served(client: Client) -> bool:
    """Return whether the API server serves Holds."""
    groups = client.request("GET", "/apis")["groups"]
    return any(group["name"] == "gangboard.dev" for group in groups)


def kubeconfig(plane: ControlPlane, account: str) -> Path:
    """Write a kubeconfig with a bound token of one of our service accounts, like print_rbac
    does."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = plane.client.request("POST", path, body)["status"]["token"]
    base = yaml.safe_load(plane.kubeconfig.read_text())
    base["users"] = [{"name": base["users"][0]["name"], "user": {"token": token}}]
    file = plane.folder / f"{account}.kubeconfig"
    file.write_text(json.dumps(base))
    return file


def reader(plane: ControlPlane) -> Path:
    """Write the reader's kubeconfig."""
    return kubeconfig(plane, READER)
