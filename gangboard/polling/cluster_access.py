"""How to reach one cluster: from a kubeconfig or a pod's own account to what the store keeps of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gangboard.kube.credentials import (
    Credentials,
    certificate_expiry,
    in_cluster,
    read_kubeconfig,
    token_expiry,
)
from gangboard.kube.files import read_small_file
from gangboard.kube.kubeconfig import NamedFiles
from gangboard.kube.safe_yaml import load_document
from gangboard.kube.tokens import check_token

FROM_PAGE = "page"
LONGEST_CONTEXT = 253
"""Characters: a longer name is no use in a command to copy."""


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to reach one cluster: the arguments of store.clusters.add_cluster besides the name."""

    document: dict[str, Any]
    server: str
    expires_at: datetime | None
    cluster_name: str = ""
    """A name for the cluster, made of the context's; empty for a pod's own account."""
    context: str = ""
    """Name of the kubeconfig context. Empty for a pod's own account and for text without a file."""


def kubeconfig_access(
    text: str,
    *,
    context: str | None,
    files: NamedFiles | None = None,
    keep_context: bool = False,
    from_page: bool = False,
) -> Access:
    """Read one context of a kubeconfig, the current one by default. Raises kube's CredentialError.

    `files`: see `read_kubeconfig`. `keep_context`: whether the person's kubectl knows the context by this
    name although they did not choose it. `from_page`: whether a person gave it on a page, so that
    `GANGBOARD_CLUSTER_NETWORKS` limits where it leads. The cluster is not contacted.
    """
    credentials = read_kubeconfig(text, context=context, files=files)
    chosen = str(context or load_document(text)["current-context"])
    kept = chosen if keep_context or context else ""
    return _access(
        replace(credentials, origin=FROM_PAGE) if from_page else credentials,
        cluster_name=_cluster_name(chosen),
        context=kept if len(kept) <= LONGEST_CONTEXT else "",
    )


def in_cluster_access() -> Access:
    """Return the access of this pod's service account. Raises kube's CredentialError outside a pod."""
    return _access(in_cluster())


def mounted_access(folder: Path) -> Access:
    """Return the access of a service account of this pod's cluster whose token Secret is mounted in a folder.

    The token itself is kept, so that only the pod that runs the command has to mount the Secret. Raises
    kube's CredentialError.
    """
    mounted = in_cluster(folder)
    token = check_token(read_small_file(folder / "token", "The token file"), "The token")
    return _access(replace(mounted, token=token, token_file=None))


def _access(credentials: Credentials, *, cluster_name: str = "", context: str = "") -> Access:
    return Access(
        credentials.to_document(), credentials.server, _expiry(credentials), cluster_name, context
    )


def _cluster_name(context: str) -> str:
    """Return `prod-1` for `arn:aws:eks:eu-west-1:1:cluster/Prod_1`."""
    name = re.sub(r"[^a-z0-9]+", "-", context.rpartition("/")[2].lower()).strip("-")
    return name[:63].rstrip("-") or "cluster"


def _expiry(credentials: Credentials) -> datetime | None:
    """Return when the first of what is needed ends; a token that is renewed in place does not count."""
    ends: list[datetime | None] = []
    if credentials.client_certificate_pem is not None:
        ends.append(certificate_expiry(credentials.client_certificate_pem))
    if credentials.token is not None and credentials.token_file is None:
        ends.append(token_expiry(credentials.token))
    return min((end for end in ends if end is not None), default=None)
