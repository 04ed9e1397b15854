"""Runs a trial that an admin has started on a page or by the API."""

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

_trial_slot = threading.BoundedSemaphore(1)
"""Limits a process to one trial at a time, so that a hanging cluster takes one thread and delays no poll."""


def run_trial(trial_id: str) -> bool:
    """Run a trial and store its result. Return False if it is left for later or for another worker."""
    if not _trial_slot.acquire(blocking=False):
        return False
    try:
        claimed = claim_trial(trial_id)
        if claimed is None:
            return False
        try:
            result = _result(claimed)
        except Exception as defect:  # the edge of a task: recorded and logged
            log.exception("trial ended in a defect", trial=trial_id)
            result = TrialResult(
                "defect",
                f"A defect of gangboard ended the trial ({type(defect).__name__}). The log of the poll"
                " worker has the details.",
            )
        return finish_trial(trial_id, claimed.claimed_at, result)
    finally:
        _trial_slot.release()


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
    """Return why these credentials cannot belong to the cluster, by the server address alone."""
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
    """Contact the cluster. If it does not answer, the credentials can be saved nevertheless."""
    shared: dict[str, Any] = {
        "contexts": contexts,
        "context": access.context,
        "document": access.document,
        "server": access.server,
        "expires_at": access.expires_at,
    }
    try:
        answer = (
            _try_actor(claimed, access)
            if claimed.purpose == "actor"
            else _try_reader(claimed, access)
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


def _try_reader(claimed: ClaimedTrial, access: Access) -> dict[str, Any]:
    """Return the result for a reader, as `manage.py add_cluster` prints it."""
    trial = try_cluster(access)
    sentence = f"Cluster {claimed.name} {trial.sentence}."
    return {
        "sentence": f"{sentence} {trial.identity_problem}".strip(),
        "server_version": trial.server_version,
        "uid": trial.uid,
        "readable": trial.readable,
        "unreadable": trial.unreadable,
    }


def _try_actor(claimed: ClaimedTrial, access: Access) -> dict[str, Any]:
    """Return the result for an actor, as `manage.py set_actor` prints it."""
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
    """Return why the cluster that answered is the wrong one."""
    try:
        clusters.refuse_second_name(claimed.name, uid)
        clusters.refuse_other_cluster(claimed.name, uid)
    except ClusterError as error:
        return error
    return None


def _sentence(error: ClusterError) -> str:
    return f"{sentence_case(str(error))}."
