"""The output of `print_rbac`, applied to a real control plane by an admin, and both accounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import yaml

from gangboard.actions.permissions.manifests import yaml_text
from gangboard.kube.service_accounts import ACTOR, NAMESPACE, READER
from gangboard.policy.lever_permissions import PermissionOptions
from gangboard.polling.actor_trial import ActorTrial, try_actor
from gangboard.polling.cluster_trial import kubeconfig_access
from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.cluster import ControlPlane

DENIED = "ValidatingAdmissionPolicy 'gangboard-actor-"


@dataclass
class Installed:
    """A control plane with our accounts."""

    plane: ControlPlane
    admin: Client
    reader: Client
    actor: Client
    made: list[Json] = field(default_factory=list)


@contextmanager
def installed(plane: ControlPlane, options: PermissionOptions) -> Iterator[Installed]:
    """Apply it, wait until roles and limits are in force, and delete the created objects at the
    end."""
    admin = plane.client
    created: list[Json] = []
    try:
        for manifest in yaml.safe_load_all(yaml_text(options)):
            if manifest:
                created += _apply(admin, manifest)
        wait(lambda: _serves_holds(admin), what="Holds to be served")
        reader, actor = (_client(plane, account) for account in (READER, ACTOR))
        installation = Installed(plane, admin, reader, actor, created)
        _wait_in_force(installation, options)
        yield installation
    finally:
        for manifest in reversed(created):
            if manifest["kind"] == "Namespace":
                continue  # deleting it takes long, and an empty namespace does no harm
            meta = manifest["metadata"]
            key = (manifest["apiVersion"], manifest["kind"], meta["name"], meta.get("namespace"))
            admin.delete(*key)
            if manifest["kind"] == "CustomResourceDefinition":
                admin.wait_gone(*key)


def trial_of_actor(
    plane: ControlPlane,
    namespaces: Sequence[str] = (),
    wanted: PermissionOptions = PermissionOptions(),  # noqa: B008  # immutable
) -> ActorTrial:
    """Ask the API server with the actor's token which levers it may use, as `set_actor` does."""
    kubeconfig = plane.kubeconfig_for(plane.service_account_token(NAMESPACE, ACTOR), name="actor")
    access = kubeconfig_access(kubeconfig.read_text(), context=None)
    return try_actor(access, wanted, namespaces)


def _apply(admin: Client, manifest: Json) -> list[Json]:
    """Create it, or leave an existing object. Return it if it was created."""
    try:
        return [admin.create(manifest)]
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        return []


def _serves_holds(admin: Client) -> bool:
    return any(
        group["name"] == "gangboard.dev" for group in admin.request("GET", "/apis")["groups"]
    )


def _client(plane: ControlPlane, account: str) -> Client:
    return plane.client_for(plane.service_account_token(NAMESPACE, account))


def _wait_in_force(installation: Installed, options: PermissionOptions) -> None:
    """Policies and roles reach the API server a moment after they are stored."""
    names = [
        policy["metadata"]["name"]
        for policy in installation.made
        if policy["kind"] == "ValidatingAdmissionPolicy"
    ]
    for name in names:
        # The controller manager has checked it. No warning means that every expression is valid.
        status = wait(
            lambda name=name: installation.admin.get(  # type: ignore[misc]
                "admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name
            ).get("status"),
            what=f"{name} to be checked",
        )
        assert status.get("typeChecking", {}) == {}, (name, status)
    namespace = options.namespaces[0] if options.namespaces else "default"
    hold = {
        "apiVersion": "gangboard.dev/v1alpha1",
        "kind": "Hold",
        "metadata": {"name": "probe", "namespace": namespace},
        "spec": {"jobName": "probe", "ownerUID": "probe"},
    }
    wait(lambda: DENIED in _response(installation.actor, hold), what="the limits to be in force")


def _response(actor: Client, obj: Json) -> str:
    try:
        actor.create(obj, dry_run=True)
    except ApiError as error:
        return error.message
    return ""
