"""Clusters that are watched: adding, changing their credentials, removing."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F

from gangboard.store.models import Cluster, Lease, ResourceState
from gangboard.store.secrets import seal

# RFC 1123 label: what Kubernetes allows as the name of a namespace.
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ClusterError(ValueError):
    """What was asked for cannot be done. The text is one sentence for the person who asked."""


def check_dns_label(name: str, what: str) -> None:
    """Raise ClusterError unless `name` is a DNS label; `what` begins the sentence."""
    if _DNS_LABEL.fullmatch(name) is None:
        raise ClusterError(
            f"{name!r} cannot be the name of {what}: 1 to 63 lower-case letters, digits and "
            "hyphens, beginning and ending with a letter or digit"
        )


def cluster_names() -> list[str]:
    """Return the names of all clusters that are watched, in order."""
    return list(Cluster.objects.values_list("name", flat=True))


def find_cluster(*, name: str) -> Cluster:
    """Return the cluster of that name; raises ClusterError that lists the names there are."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        known = ", ".join(cluster_names()) or "none"
        raise ClusterError(f"there is no cluster {name!r}; the clusters are: {known}")
    return cluster


def add_cluster(
    *, name: str, document: dict[str, Any], server: str, expires_at: datetime | None = None
) -> Cluster:
    """Start to watch a cluster.

    `document` is what kube.credentials needs to connect; it is encrypted here. `server` is the
    address to show, `expires_at` when the credentials end, if they say so. Raises ClusterError.
    """
    check_dns_label(name, "a cluster")
    try:
        with transaction.atomic():
            return Cluster.objects.create(
                name=name,
                server=server,
                credentials=seal(document),
                credentials_expire_at=expires_at,
            )
    except IntegrityError as error:
        raise ClusterError(
            f"there is a cluster {name!r} already; remove it first or choose another name"
        ) from error


def replace_credentials(
    *, name: str, document: dict[str, Any], server: str, expires_at: datetime | None = None
) -> None:
    """Reach a watched cluster in another way from now on. Raises ClusterError.

    Whoever polls it holds a connection made with the old credentials: it is fenced off, so that
    the next poll begins anew. At another address resource versions mean something else, so
    everything is listed again there.
    """
    with transaction.atomic():
        cluster = find_cluster(name=name)
        moved = cluster.server != server
        cluster.server = server
        cluster.credentials = seal(document)
        cluster.credentials_expire_at = expires_at
        changed = ["server", "credentials", "credentials_expire_at"]
        if moved:
            cluster.discovered_at = None
            changed.append("discovered_at")
            ResourceState.objects.filter(cluster=cluster).update(resource_version="")
        cluster.save(update_fields=changed)
        Cluster.objects.filter(pk=cluster.pk).update(data_version=F("data_version") + 1)
        Lease.objects.filter(cluster=cluster).update(
            number=F("number") + 1, holder="", expires_at=None
        )


def remove_cluster(*, name: str) -> None:
    """Stop watching a cluster and delete everything known about it. Raises ClusterError."""
    with transaction.atomic():
        find_cluster(name=name).delete()
