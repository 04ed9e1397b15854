"""Trials of clusters: an admin begins one, a poll worker runs it, and the admin saves it.

The web process may not connect to clusters, so it stores the pasted credentials here, encrypted. They are
deleted once they are saved, and after ten minutes in any case.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.store import clusters
from gangboard.store.bulk_statements import delete_in_batches
from gangboard.store.clusters import ClusterError
from gangboard.store.models import ClusterTrial
from gangboard.store.secrets import SecretUnreadableError, seal, unseal

PURPOSES = ("add", "renew", "actor")
STATES = ("waiting", "running", "answered", "failed", "saved")
LONGEST_KUBECONFIG = 48 * 1024
"""Characters. Encoded by a browser they fit into the largest request body."""
LIFETIME = timedelta(minutes=10)
LOST_AFTER = timedelta(seconds=90)
"""A worker that holds a trial for longer has died, and another worker takes the trial."""
MOST_TRIALS = 20
"""Maximum number of trials of one person within LIFETIME."""


@dataclass(frozen=True, slots=True, repr=False)
class ClaimedTrial:
    """A trial that this worker has claimed."""

    id: str
    purpose: str
    name: str
    kubeconfig: str
    context: str
    in_cluster: bool
    claimed_at: datetime


@dataclass(frozen=True, slots=True, repr=False)
class TrialResult:
    """The findings of a worker. Without a `document` the trial cannot be saved."""

    code: str = ""
    sentence: str = ""
    commands: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    context: str = ""
    document: dict[str, Any] | None = None
    server: str = ""
    server_version: str = ""
    uid: str = ""
    readable: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    levers: tuple[dict[str, Any], ...] = ()
    """See `models.ClusterTrial.levers`."""
    expires_at: datetime | None = field(default=None)


def begin_trial(
    *,
    user_id: int,
    purpose: str,
    name: str,
    kubeconfig: str = "",
    context: str = "",
    in_cluster: bool = False,
) -> ClusterTrial:
    """Create a trial for a poll worker. Raises ClusterError for an unusable name."""
    clusters.check_cluster_name(name)
    if purpose != "add":
        clusters.find_cluster(name=name)
    elif name in clusters.cluster_names():
        raise ClusterError(f"there is a cluster {name!r} already; choose another name")
    now = timezone.now()
    if ClusterTrial.objects.filter(user_id=user_id, expires_at__gt=now).count() >= MOST_TRIALS:
        raise ClusterError(f"you have started {MOST_TRIALS} tests within 10 minutes; wait a little")
    return ClusterTrial.objects.create(
        id=uuid.uuid4().hex,
        user_id=user_id,
        purpose=purpose,
        name=name,
        source=seal({"kubeconfig": kubeconfig, "in_cluster": in_cluster}),
        context=context,
        created_at=now,
        expires_at=now + LIFETIME,
    )


def begin_with_context(*, user_id: int, trial_id: str, context: str) -> ClusterTrial:
    """Try the same kubeconfig with another of its contexts. Raises ClusterError."""
    earlier = find_trial(user_id=user_id, trial_id=trial_id)
    if earlier is None or earlier.source is None:
        raise ClusterError("this test has expired; paste the kubeconfig again")
    source = _decrypt(earlier.source)
    return begin_trial(
        user_id=user_id,
        purpose=earlier.purpose,
        name=earlier.name,
        kubeconfig=source["kubeconfig"],
        context=context,
    )


def find_trial(*, user_id: int, trial_id: str) -> ClusterTrial | None:
    """Return a current trial of this person, else None."""
    return _current_trials().filter(pk=trial_id, user_id=user_id).first()


def due_trials() -> list[str]:
    """Return the ids of trials that no living worker has claimed."""
    return list(_current_trials().filter(_is_due(timezone.now())).values_list("pk", flat=True)[:20])


def claim_trial(trial_id: str) -> ClaimedTrial | None:
    """Claim a trial. Return None if another worker has it, or if no key decrypts it."""
    now = timezone.now()
    mine = _current_trials().filter(_is_due(now), pk=trial_id)
    if not mine.update(state="running", claimed_at=now):
        return None
    trial = ClusterTrial.objects.filter(pk=trial_id, claimed_at=now).first()
    if trial is None or trial.source is None:
        return None
    try:
        source = unseal(bytes(trial.source))
    except SecretUnreadableError as error:
        finish_trial(trial_id, now, TrialResult("credentials", f"{error}.".capitalize()))
        return None
    return ClaimedTrial(
        trial.pk,
        trial.purpose,
        trial.name,
        source["kubeconfig"],
        trial.context,
        source["in_cluster"],
        now,
    )


def finish_trial(trial_id: str, claimed_at: datetime, result: TrialResult) -> bool:
    """Save the result. Return False if another worker claimed the trial meanwhile."""
    document = result.document
    changed = ClusterTrial.objects.filter(pk=trial_id, state="running", claimed_at=claimed_at)
    return bool(
        changed.update(
            state="failed" if result.code else "answered",
            code=result.code,
            sentence=result.sentence,
            commands=list(result.commands),
            contexts=list(result.contexts),
            context=result.context,
            access=None if document is None else seal(document),
            server=result.server[:500],
            server_version=result.server_version[:64],
            uid=result.uid,
            readable=list(result.readable),
            unreadable=list(result.unreadable),
            levers=list(result.levers),
            credentials_expire_at=result.expires_at,
        )
    )


def save_trial(
    *, user_id: int, trial_id: str, by: str, source: str = "", anyway: bool = False
) -> ClusterTrial:
    """Add the cluster, or use its new credentials or actor from now on. Raises ClusterError.

    The audit names `by`, the author, and `source`, the author's address. `anyway` also saves a cluster that
    did not answer. A second call has no effect.
    """
    with transaction.atomic():
        trial = _current_trials().select_for_update().filter(pk=trial_id, user_id=user_id).first()
        if trial is None:
            raise ClusterError("this test has expired; test the connection again")
        if trial.state == "saved":
            return trial
        refuse_to_save(trial, anyway=anyway)
        _save(trial, by, source)
        trial.state, trial.source, trial.access = "saved", None, None
        trial.save(update_fields=["state", "source", "access"])
        return trial


def refuse_to_save(trial: ClusterTrial, *, anyway: bool) -> None:
    """Raise ClusterError unless the trial has a result that can be saved."""
    if trial.state in ("waiting", "running"):
        raise ClusterError("the test has not ended yet; wait for the result")
    if trial.access is None:
        raise ClusterError("this test has no result that can be saved", trial.code)
    if trial.state == "failed" and not anyway:
        raise ClusterError("the cluster did not answer; save it anyway or try again", trial.code)


def delete_old_trials() -> None:
    """Delete expired trials with their credentials."""
    delete_in_batches(ClusterTrial.objects.filter(expires_at__lte=timezone.now()))


def _save(trial: ClusterTrial, by: str, source: str) -> None:
    document = _decrypt(trial.access)
    known: dict[str, Any] = {
        "name": trial.name,
        "document": document,
        "server": trial.server,
        "expires_at": trial.credentials_expire_at,
        "by": by,
        "source": source,
    }
    if trial.purpose == "actor":
        clusters.set_actor(**known)
        return
    identity: dict[str, Any] = {"uid": trial.uid, "context": trial.context}
    if trial.purpose == "add":
        clusters.add_cluster(**known, **identity)
        return
    clusters.refuse_other_server(trial.name, trial.server)
    clusters.refuse_other_cluster(trial.name, trial.uid)
    clusters.replace_credentials(**known, **identity)


def _decrypt(sealed: Any) -> dict[str, Any]:
    try:
        return unseal(bytes(sealed))
    except SecretUnreadableError as error:
        raise ClusterError(str(error)) from error


def _current_trials() -> QuerySet[ClusterTrial]:
    return ClusterTrial.objects.filter(expires_at__gt=timezone.now())


def _is_due(now: datetime) -> Q:
    return Q(state="waiting") | Q(state="running", claimed_at__lt=now - LOST_AFTER)
