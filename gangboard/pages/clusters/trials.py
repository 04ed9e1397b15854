"""Trials of credentials, and changes of clusters by admins, for the pages and the API."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from gangboard.pages.clusters.trial_rows import ClusterTrialRow, TriedKindRow, TriedLeverRow
from gangboard.pages.clusters.trial_steps import actor_steps, trial_steps
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.kubectl import KubectlCommand
from gangboard.store import cluster_trials, clusters
from gangboard.store.access import Viewer
from gangboard.store.cluster_trials import find_trial
from gangboard.store.models import Cluster, ClusterTrial


@dataclass(frozen=True, slots=True)
class ManagedCluster:
    """A cluster on the page that changes it."""

    name: str
    server: str
    has_actor: bool
    read_only: bool


def runs_in_pod() -> bool:
    """Return whether gangboard runs in a pod, so that a poll worker can use its own service account."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def read_trial(trial_id: str, *, viewer: Viewer) -> ClusterTrialRow | None:
    """Return a trial of the viewer, or None if the viewer has no such trial (1 query)."""
    trial = find_trial(user_id=viewer.user_id, trial_id=trial_id) if viewer.is_admin else None
    return None if trial is None else trial_row(trial)


def read_managed(name: str, *, viewer: Viewer) -> ManagedCluster | None:
    """Return a cluster that the viewer may change (1 query)."""
    cluster = Cluster.objects.filter(name=name).first() if viewer.is_admin else None
    if cluster is None:
        return None
    return ManagedCluster(
        cluster.name, cluster.server, cluster.actor_credentials is not None, cluster.read_only
    )


def begin_trial(
    *,
    viewer: Viewer,
    name: str,
    purpose: str = "add",
    kubeconfig: str = "",
    context: str = "",
    in_cluster: bool = False,
) -> ClusterTrialRow:
    """Begin a trial, in which a poll worker tries a kubeconfig or its own account. Raises ClusterError."""
    if bool(kubeconfig.strip()) == in_cluster:
        raise clusters.ClusterError("give a kubeconfig, or choose this cluster")
    if in_cluster and context:
        raise clusters.ClusterError("a context needs a kubeconfig; this cluster has none")
    return trial_row(
        cluster_trials.begin_trial(
            user_id=viewer.user_id,
            purpose=purpose,
            name=name,
            kubeconfig=kubeconfig,
            context=context,
            in_cluster=in_cluster,
        )
    )


def try_context(*, viewer: Viewer, trial_id: str, context: str) -> ClusterTrialRow:
    """Try the same kubeconfig with another context. Raises ClusterError."""
    return trial_row(
        cluster_trials.begin_with_context(
            user_id=viewer.user_id, trial_id=trial_id, context=context
        )
    )


def save_trial(*, viewer: Viewer, trial_id: str, anyway: bool) -> ClusterTrialRow:
    """Save the credentials of a trial of the viewer. Raises ClusterError."""
    return trial_row(
        cluster_trials.save_trial(
            user_id=viewer.user_id,
            trial_id=trial_id,
            by=viewer.name,
            source=viewer.address,
            anyway=anyway,
        )
    )


def set_read_only(*, viewer: Viewer, name: str, on: bool) -> None:
    """Stop or allow actions on a cluster. Raises ClusterError."""
    clusters.set_read_only(name=name, on=on, by=viewer.name, source=viewer.address)


def remove_cluster(*, viewer: Viewer, name: str, typed: str) -> None:
    """Stop watching a cluster. Raises ClusterError if `typed` is not its name."""
    if typed != name:
        raise clusters.ClusterError(f"type the name {name} to remove the cluster")
    clusters.remove_cluster(name=name, by=viewer.name, source=viewer.address)


def trial_row(trial: ClusterTrial) -> ClusterTrialRow:
    """Return the row of a trial, without secrets."""
    kubectl_context = trial.context or (_known_context(trial.name) if trial.levers else "")
    steps = _steps(trial, kubectl_context)
    kinds = [TriedKindRow(key, True) for key in trial.readable]
    kinds += [TriedKindRow(key, False) for key in trial.unreadable]
    return ClusterTrialRow(
        id=trial.pk,
        purpose=trial.purpose,
        cluster=trial.name,
        state=trial.state,
        code=trial.code or None,
        message=printable(trial.sentence) or None,
        commands=_script(trial) or tuple(step.text for step in steps),
        server=printable(trial.server) or None,
        server_version=printable(trial.server_version) or None,
        kinds=tuple(sorted(kinds, key=lambda row: (row.readable, row.kind))),
        levers=tuple(_lever_row(lever) for lever in trial.levers),
        context=printable(trial.context) or None,
        contexts=tuple(trial.contexts),
        may_save=trial.access is not None,
        credentials_expire_at=trial.credentials_expire_at,
        created_at=trial.created_at,
        expires_at=trial.expires_at,
        steps=steps,
    )


def _script(trial: ClusterTrial) -> tuple[str, ...]:
    """Return the commands of the error, without `add_cluster`, which the page replaces."""
    return tuple(text for text in trial.commands if not text.startswith("manage.py add_cluster"))


def _lever_row(lever: dict[str, Any]) -> TriedLeverRow:
    return TriedLeverRow(
        lever=lever["lever"],
        title=lever["title"],
        usable=not lever["missing"],
        namespaces=tuple(lever["namespaces"]),
        missing=tuple(f"{verb} {resource}" for verb, resource in lever["missing"]),
    )


def _known_context(name: str) -> str:
    """Return the kubectl context of the cluster from its kubeconfig, or an empty string (1 query)."""
    return Cluster.objects.filter(name=name).values_list("context", flat=True).first() or ""


def _steps(trial: ClusterTrial, context: str) -> tuple[KubectlCommand, ...]:
    if trial.state not in ("answered", "failed"):
        return ()
    if trial.commands:
        return ()
    if trial.purpose == "actor" and not trial.code:
        lacks_rights = any(lever["missing"] and not lever["namespaces"] for lever in trial.levers)
        return actor_steps(trial.name, context, needs_rights=lacks_rights)
    return trial_steps(
        code=trial.code,
        server=trial.server,
        context=context,
        unreadable=trial.unreadable,
        uid_known=bool(trial.uid),
    )
