"""Watched clusters: adding, changing credentials, removing."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from gangboard.store.actions import READ_ONLY
from gangboard.store.audit import audit
from gangboard.store.models import Cluster, Gang, Lease, ResourceState, Switch
from gangboard.store.secrets import seal

# RFC 1123 label, as Kubernetes requires it for the name of a namespace.
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


RESERVED = frozenset({"trials"})
"""Words that URLs of the API use in place of a cluster name."""


class ClusterError(ValueError):
    """A refused change. The text is one sentence for the requester."""

    def __init__(self, sentence: str, code: str = "") -> None:
        super().__init__(sentence)
        self.code = code
        """`same-cluster`, `other-cluster` or `other-server`; else empty."""


def check_dns_label(name: str, subject: str) -> None:
    """Raise ClusterError unless `name` is a DNS label. `what` names the object in the sentence."""
    if _DNS_LABEL.fullmatch(name) is None:
        raise ClusterError(
            f"{name!r} cannot be the name of {subject}: 1 to 63 lower-case letters, digits and "
            "hyphens, beginning and ending with a letter or digit"
        )


def check_cluster_name(name: str) -> None:
    """Raise ClusterError unless `name` can be the name of a cluster."""
    check_dns_label(name, "a cluster")
    if name in RESERVED:
        raise ClusterError(f"{name!r} cannot be the name of a cluster: the API uses this word")


def cluster_names() -> list[str]:
    """Return the names of all watched clusters, sorted."""
    return list(Cluster.objects.values_list("name", flat=True))


def find_cluster(*, name: str) -> Cluster:
    """Return the cluster with this name. Raises ClusterError, which lists the existing names."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        known = ", ".join(cluster_names()) or "none"
        raise ClusterError(f"there is no cluster {name!r}; the clusters are: {known}")
    return cluster


def gang_namespaces(cluster: Cluster, *, most: int) -> list[str]:
    """Return at most `most` namespaces that have gangs (1 query). For commands and workers, so without a viewer."""
    gangs = Gang.objects.filter(cluster=cluster).order_by("namespace")
    return list(gangs.values_list("namespace", flat=True).distinct()[:most])


def refuse_second_name(name: str, uid: str) -> None:
    """Raise ClusterError if another cluster has this uid. An empty uid matches none."""
    namesake = Cluster.objects.exclude(name=name).filter(system_uid=uid).first() if uid else None
    if namesake is not None:
        raise ClusterError(
            f"cluster {namesake.name} is this cluster already: both have the same kube-system namespace "
            f"(uid {uid})",
            "same-cluster",
        )


def refuse_other_server(name: str, server: str) -> None:
    """Raise ClusterError if the cluster of this name has another address. That is more often a mistake than a
    move."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is not None and cluster.server != server:
        raise ClusterError(
            f"cluster {name} is at {cluster.server} and the new credentials are for {server}; "
            f"choose another name, or run manage.py remove_cluster {name} first",
            "other-server",
        )


def refuse_other_address(cluster: Cluster, server: str) -> None:
    """Raise ClusterError if the actor's address differs from the polled one."""
    if server != cluster.server:
        raise ClusterError(
            f"cluster {cluster.name} is at {cluster.server} and the actor's kubeconfig says {server}; "
            "both identities must name the same address",
            "other-server",
        )


def refuse_other_cluster(name: str, uid: str) -> None:
    """Raise ClusterError if the answering cluster is not the known one, because two clusters must not be merged."""
    known = Cluster.objects.filter(name=name).values_list("system_uid", flat=True).first()
    if known and uid and known != uid:
        raise ClusterError(
            f"another cluster answers than the one that was added as {name}: its kube-system namespace has "
            f"another uid; choose another name, or run manage.py remove_cluster {name} first",
            "other-cluster",
        )


def add_cluster(
    *,
    name: str,
    document: dict[str, Any],
    server: str,
    expires_at: datetime | None = None,
    by: str = "gangboard",
    uid: str = "",
    context: str = "",
    source: str = "",
) -> Cluster:
    """Start watching a cluster.

    `document` is the document of `kube.credentials`; it is stored encrypted. `server` is the address to show.
    `expires_at` is the expiry of the credentials, if known. The audit names `by`, the author, and `source`,
    the author's address. `uid` is the uid of the namespace `kube-system`, if known. `context` is the name of
    the cluster in the person's kubectl. Raises ClusterError, also for a cluster that is watched under another
    name.
    """
    check_cluster_name(name)
    refuse_second_name(name, uid)
    try:
        with transaction.atomic():
            cluster = Cluster.objects.create(
                name=name,
                server=server,
                credentials=seal(document),
                credentials_expire_at=expires_at,
                system_uid=uid,
                context=context,
            )
            _audit_change(
                "cluster-added", f"Cluster {name} at {server} is watched.", by, cluster, source
            )
            return cluster
    except IntegrityError as error:
        refuse_second_name(name, uid)  # Another admin added it a moment ago.
        raise ClusterError(
            f"there is a cluster {name!r} already; remove it first or choose another name"
        ) from error


def replace_credentials(
    *,
    name: str,
    document: dict[str, Any],
    server: str,
    expires_at: datetime | None = None,
    by: str = "gangboard",
    uid: str = "",
    context: str = "",
    source: str = "",
) -> None:
    """Use other credentials or another address for a watched cluster from now on. Raises ClusterError.

    The current holder has a connection made with the old credentials. Its lease is fenced, so that the next
    poll starts anew. Resource versions mean something else at another address, so all objects are read again
    there, and the actor, which belongs to the old address, is removed. `uid` and `context` are as in
    `add_cluster`. At the same address an empty one keeps the stored one.
    """
    refuse_second_name(name, uid)
    with transaction.atomic():
        cluster = find_cluster(name=name)
        moved = cluster.server != server
        cluster.server = server
        cluster.credentials = seal(document)
        cluster.credentials_expire_at = expires_at
        cluster.context = context or ("" if moved else cluster.context)
        cluster.system_uid = uid or ("" if moved else cluster.system_uid)
        changed = ["server", "credentials", "credentials_expire_at", "context", "system_uid"]
        if moved:
            cluster.discovered_at = cluster.actor_credentials = cluster.actor_expires_at = None
            changed += ["discovered_at", "actor_credentials", "actor_expires_at"]
            ResourceState.objects.filter(cluster=cluster).update(
                resource_version="", decoder_version=0
            )
        cluster.save(update_fields=changed)
        Cluster.objects.filter(pk=cluster.pk).update(data_version=F("data_version") + 1)
        Lease.objects.filter(cluster=cluster).update(
            number=F("number") + 1, holder="", expires_at=None
        )
        move_text = f" and is at {server} now; its actor was removed" if moved else ""
        _audit_change(
            "cluster-changed",
            f"Cluster {name} has new credentials{move_text}.",
            by,
            cluster,
            source,
        )


def set_actor(
    *,
    name: str,
    document: dict[str, Any],
    server: str,
    expires_at: datetime | None = None,
    by: str,
    source: str = "",
) -> bool:
    """Let gangboard act on a cluster with this second identity. Return whether it had none before.

    `document` and `expires_at` are as in `add_cluster`, and `by` is the author for the audit. The poll is not
    disturbed, because it uses the other identity. Raises ClusterError, also if `server` differs from the
    polled address: both identities must reach the same cluster.
    """
    with transaction.atomic():
        cluster = find_cluster(name=name)
        refuse_other_address(cluster, server)
        new = cluster.actor_credentials is None
        cluster.actor_credentials = seal(document)
        cluster.actor_expires_at = expires_at
        cluster.save(update_fields=["actor_credentials", "actor_expires_at"])
        change_text = "may act from now on" if new else "has new credentials for its actor"
        _audit_switch(
            cluster, f"Cluster {name}: gangboard {change_text}.", by, "actor", True, source
        )
    return new


def set_parallelism(*, name: str, on: bool, by: str) -> None:
    """Allow or forbid pausing by parallelism 0 on a cluster. Raises ClusterError."""
    with transaction.atomic():
        cluster = find_cluster(name=name)
        cluster.parallelism_lever = on
        cluster.save(update_fields=["parallelism_lever"])
        sentence = f"Cluster {name}: lever parallelism is {_on_or_off(on)}."
        _audit_switch(cluster, sentence, by, "parallelism", on)


def set_read_only(*, name: str | None, on: bool, by: str, source: str = "") -> None:
    """Switch a cluster to read-only, or back. `name` None means all clusters. Raises ClusterError.

    While either switch is on, gangboard sends no change to a cluster, not even the rest of a started action.
    The cleanup of gangboard's own objects continues: an action that ends removes the Hold that it armed, and
    resumes the Job that this Hold suspended. Reads and dry runs go on.
    """
    with transaction.atomic():
        if name is None:
            Switch.objects.update_or_create(
                name=READ_ONLY,
                defaults={"is_on": on, "changed_at": timezone.now(), "changed_by": by},
            )
            sentence = f"gangboard's switch read-only is {_on_or_off(on)}."
            _audit_switch(None, sentence, by, READ_ONLY, on, source)
        else:
            cluster = find_cluster(name=name)
            cluster.read_only = on
            cluster.save(update_fields=["read_only"])
            sentence = f"Cluster {name}: switch read-only is {_on_or_off(on)}."
            _audit_switch(cluster, sentence, by, READ_ONLY, on, source)


def _audit_switch(
    cluster: Cluster | None, sentence: str, by: str, switch: str, on: bool, source: str = ""
) -> None:
    """Record a switch in the audit and notify the pages of the cluster, or of all clusters."""
    moved = Cluster.objects.all() if cluster is None else Cluster.objects.filter(pk=cluster.pk)
    moved.update(data_version=F("data_version") + 1)
    details = {"switch": switch, "on": on}
    audit(
        "switch",
        sentence,
        at=timezone.now(),
        actor=by,
        cluster=cluster,
        source=source,
        details=details,
    )


def _on_or_off(on: bool) -> str:
    return "on" if on else "off"


def _audit_change(event: str, sentence: str, by: str, cluster: Cluster, source: str) -> None:
    """Record a change of a cluster in the audit. Call it last in a transaction."""
    about = f"Cluster/{cluster.name}"
    audit(
        event,
        sentence,
        at=timezone.now(),
        actor=by,
        cluster=cluster,
        object_name=about,
        source=source,
    )


def remove_cluster(*, name: str, by: str = "gangboard", source: str = "") -> None:
    """Stop watching a cluster and delete its data. `source` is as in `add_cluster`. Raises ClusterError."""
    with transaction.atomic():
        find_cluster(name=name).delete()
        audit(
            "cluster-removed",
            f"Cluster {name} is no longer watched; the roles on it have ended.",
            at=timezone.now(),
            actor=by,
            cluster_name=name,
            object_name=f"Cluster/{name}",
            source=source,
        )
