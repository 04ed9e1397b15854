"""What an admin changes: for the pages and for the API."""

from __future__ import annotations

from gangboard.pages.add_cluster.queries import trial_row
from gangboard.pages.add_cluster.rows import ClusterTrialRow
from gangboard.store import cluster_trials, clusters
from gangboard.store.access import Viewer


def begin_trial(
    *,
    viewer: Viewer,
    name: str,
    purpose: str = "add",
    kubeconfig: str = "",
    context: str = "",
    in_cluster: bool = False,
) -> ClusterTrialRow:
    """Let a poll worker try a kubeconfig, or its pod's own account. Raises ClusterError."""
    if bool(kubeconfig.strip()) == in_cluster:
        raise clusters.ClusterError("give a kubeconfig, or choose this cluster")
    if in_cluster and context:
        raise clusters.ClusterError("a context chooses from a kubeconfig; this cluster has none")
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
    """Save what a trial of the viewer has tried. Raises ClusterError."""
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
    """Stop watching a cluster. Raises ClusterError unless its name was typed."""
    if typed != name:
        raise clusters.ClusterError(f"type the name {name} to remove the cluster")
    clusters.remove_cluster(name=name, by=viewer.name, source=viewer.address)
