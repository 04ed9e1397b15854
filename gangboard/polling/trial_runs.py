"""Runs a trial that an admin has begun on a page or by the API: reads the kubeconfig, asks the cluster."""

from __future__ import annotations

import threading
from typing import Any

from gangboard.domain.text import sentence_case
from gangboard.kube.errors import CredentialError, KubeError, KubeErrorCode, clean_text
from gangboard.kube.kubeconfig import context_names
from gangboard.logs import get_logger
from gangboard.polling.actor_trial import try_actor_of
from gangboard.polling.cluster_trial import (
    Access,
    in_cluster_access,
    kubeconfig_access,
    try_cluster,
)
from gangboard.store import clusters
from gangboard.store.cluster_trials import ClaimedTrial, TrialResult, claim_trial, finish_trial
from gangboard.store.clusters import ClusterError

log = get_logger(__name__)

_lane = threading.BoundedSemaphore(1)
"""One trial at a time in a process: a cluster that hangs takes one thread, and no poll waits for it."""


def run_trial(trial_id: str) -> bool:
    """Run a trial and keep its result; return False where it is left for later or for another worker."""
    if not _lane.acquire(blocking=False):
        return False
    try:
        claimed = claim_trial(trial_id)
        if claimed is None:
            return False
        try:
            result = _result(claimed)
        except Exception as defect:  # the edge of a task: recorded and said
            log.exception("trial ended in a defect", trial=trial_id)
            result = TrialResult(
                "defect",
                f"A defect of gangboard ended the trial ({type(defect).__name__}). The log of the poll"
                " worker has the details.",
            )
        return finish_trial(trial_id, claimed.claimed_at, result)
    finally:
        _lane.release()


def _result(claimed: ClaimedTrial) -> TrialResult:
    contexts = () if claimed.in_cluster else context_names(claimed.kubeconfig)
    try:
        access = _access(claimed)
    except CredentialError as error:
        return TrialResult(
            error.code,
            clean_text(str(error.args[0])),
            commands=error.commands,
            contexts=contexts,
            context=claimed.context,
        )
    refused = _refused_access(claimed, access)
    if refused is not None:
        return TrialResult(
            refused.code or "other-server",
            _sentence(refused),
            contexts=contexts,
            context=claimed.context,
        )
    return _answer(claimed, access, contexts)


def _access(claimed: ClaimedTrial) -> Access:
    if claimed.in_cluster:
        return in_cluster_access()
    return kubeconfig_access(claimed.kubeconfig, context=claimed.context or None, from_page=True)


def _refused_access(claimed: ClaimedTrial, access: Access) -> ClusterError | None:
    """Return why these credentials cannot be those of the cluster, without asking it."""
    if claimed.purpose == "add":
        return None
    try:
        if claimed.purpose == "actor":
            clusters.refuse_other_address(clusters.find_cluster(name=claimed.name), access.server)
        else:
            clusters.refuse_other_server(claimed.name, access.server)
    except ClusterError as error:
        return error
    return None


def _answer(claimed: ClaimedTrial, access: Access, contexts: tuple[str, ...]) -> TrialResult:
    """Ask the cluster. Where it does not answer, the credentials can be saved all the same."""
    shared: dict[str, Any] = {
        "contexts": contexts,
        "context": access.context,
        "document": access.document,
        "server": access.server,
        "expires_at": access.expires_at,
    }
    try:
        answer = (
            _ask_actor(claimed, access) if claimed.purpose == "actor" else _ask(claimed, access)
        )
    except KubeError as error:
        if error.code == KubeErrorCode.FORBIDDEN_ADDRESS:
            shared["document"] = None
        return TrialResult(error.code, error.sentence, **shared)
    refused = _refused_identity(claimed, answer["uid"])
    if refused is not None:
        shared["document"] = None
        answer |= {"code": refused.code, "sentence": _sentence(refused)}
    return TrialResult(**shared, **answer)


def _ask(claimed: ClaimedTrial, access: Access) -> dict[str, Any]:
    """Return what the cluster answered to a reader, as `manage.py add_cluster` prints it."""
    trial = try_cluster(access)
    sentence = f"Cluster {claimed.name} {trial.sentence}."
    return {
        "sentence": f"{sentence} {trial.identity_problem}".strip(),
        "server_version": trial.server_version,
        "uid": trial.uid,
        "readable": trial.readable,
        "unreadable": trial.unreadable,
    }


def _ask_actor(claimed: ClaimedTrial, access: Access) -> dict[str, Any]:
    """Return what the cluster answered to an actor, as `manage.py set_actor` prints it."""
    trial = try_actor_of(clusters.find_cluster(name=claimed.name), access)
    return {
        "sentence": f"Cluster {claimed.name} {trial.sentence}.",
        "server_version": trial.server_version,
        "uid": trial.uid,
        "levers": tuple(
            {
                "lever": lever.lever,
                "title": lever.title,
                "missing": [[right.verb, right.resource] for right in lever.missing],
                "namespaces": list(lever.namespaces),
            }
            for lever in trial.levers
        ),
    }


def _refused_identity(claimed: ClaimedTrial, uid: str) -> ClusterError | None:
    """Return why the cluster that answered is not the one that is meant."""
    try:
        clusters.refuse_second_name(claimed.name, uid)
        clusters.refuse_other_cluster(claimed.name, uid)
    except ClusterError as error:
        return error
    return None


def _sentence(error: ClusterError) -> str:
    return f"{sentence_case(str(error))}."
