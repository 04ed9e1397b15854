"""From a kubeconfig file to what the store keeps of a cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gangboard.kube.credentials import (
    Credentials,
    certificate_expiry,
    read_kubeconfig,
    token_expiry,
)
from gangboard.kube.files import read_small_file
from gangboard.kube.safe_yaml import load_document
from gangboard.store import clusters


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to reach one cluster: the arguments of store.clusters.add_cluster besides the name."""

    document: dict[str, Any]
    server: str
    expires_at: datetime | None


def read_access(path: Path, *, context: str | None = None) -> Access:
    """Read one context of a kubeconfig, the current one by default. Raises kube's CredentialError.

    Nothing is asked of the cluster: it may be out of reach just now.
    """
    text = read_small_file(path, "The kubeconfig")
    credentials = read_kubeconfig(text, context=context, directory=path.parent)
    return Access(credentials.to_document(), credentials.server, _expiry(credentials))


def context_name(path: Path) -> str:
    """Return a cluster name made from the current context of a kubeconfig that read_access took.

    `arn:aws:eks:eu-west-1:1:cluster/Prod_1` is `prod-1`.
    """
    document = load_document(read_small_file(path, "The kubeconfig"))
    context = str(document["current-context"])
    name = re.sub(r"[^a-z0-9]+", "-", context.rpartition("/")[2].lower()).strip("-")
    return name[:63].rstrip("-") or "cluster"


def save_access(name: str, access: Access, *, by: str = "gangboard") -> bool:
    """Watch the cluster in this way from now on; return whether it is new.

    `by` is who did it, for the audit. Raises ClusterError.
    """
    new = name not in clusters.cluster_names()
    save = clusters.add_cluster if new else clusters.replace_credentials
    save(
        name=name,
        document=access.document,
        server=access.server,
        expires_at=access.expires_at,
        by=by,
    )
    return new


def save_actor(name: str, access: Access, *, by: str) -> bool:
    """Let gangboard act on a watched cluster with this access; return whether that is new.

    `by` is who did it, for the audit. Raises ClusterError.
    """
    return clusters.set_actor(
        name=name,
        document=access.document,
        server=access.server,
        expires_at=access.expires_at,
        by=by,
    )


def expiry_sentence(access: Access, what: str = "These credentials") -> str:
    """Return when the credentials end, as a command prints it; empty when they do not say."""
    if access.expires_at is None:
        return ""
    return f"{what} expire at {access.expires_at:%Y-%m-%d %H:%M} UTC."


def _expiry(credentials: Credentials) -> datetime | None:
    """Return when the first of what is needed ends; a token that is renewed in place does not count."""
    ends: list[datetime | None] = []
    if credentials.client_certificate_pem is not None:
        ends.append(certificate_expiry(credentials.client_certificate_pem))
    if credentials.token is not None and credentials.token_file is None:
        ends.append(token_expiry(credentials.token))
    return min((end for end in ends if end is not None), default=None)
