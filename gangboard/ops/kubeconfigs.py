"""From a kubeconfig file to what the store keeps of a cluster."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from gangboard import env
from gangboard.kube.credentials import (
    Credentials,
    certificate_expiry,
    in_cluster,
    read_kubeconfig,
    token_expiry,
)
from gangboard.kube.errors import CredentialError
from gangboard.kube.files import read_small_file, small_text
from gangboard.kube.kubeconfig import NamedFiles
from gangboard.kube.safe_yaml import load_document
from gangboard.kube.tokens import check_token
from gangboard.store import clusters

STANDARD_INPUT = Path("-")
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
    """Name of the kubeconfig context. Empty for a pod's own account and for standard input."""


def read_access(path: Path, *, context: str | None = None, token_file: bool = False) -> Access:
    """Read one context of a kubeconfig, the current one by default. Raises kube's CredentialError.

    `path` `-` is standard input; a kubeconfig from there may name no files. `token_file`: whether it
    may name a file whose text is sent as token. The cluster is not contacted.
    """
    files = None
    if path != STANDARD_INPUT:
        private = (settings.STATE_DIR, *env.secret_files())
        files = NamedFiles(path.parent, private=private, token_file=token_file)
    text = _text(path)
    credentials = read_kubeconfig(text, context=context, files=files)
    chosen = str(context or load_document(text)["current-context"])
    kept = chosen if path != STANDARD_INPUT or context else ""
    return _access(
        credentials,
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


def _text(path: Path) -> str:
    if path != STANDARD_INPUT:
        return read_small_file(path, "The kubeconfig")
    if sys.stdin is None or sys.stdin.isatty():
        raise CredentialError(
            "No kubeconfig on standard input, which is a terminal: write `< FILE` after the command."
        )
    text = small_text(sys.stdin.buffer, "The kubeconfig on standard input")
    if not text.strip():
        raise CredentialError("The kubeconfig on standard input is empty.")
    return text


def _cluster_name(context: str) -> str:
    """Return `prod-1` for `arn:aws:eks:eu-west-1:1:cluster/Prod_1`."""
    name = re.sub(r"[^a-z0-9]+", "-", context.rpartition("/")[2].lower()).strip("-")
    return name[:63].rstrip("-") or "cluster"


def save_access(name: str, access: Access, *, by: str = "gangboard", uid: str = "") -> bool:
    """Watch the cluster in this way from now on; return whether it is new.

    `by` is who did it, for the audit, `uid` that of the namespace `kube-system`, if it is known. Raises
    ClusterError, also for a cluster that has a name already.
    """
    new = name not in clusters.cluster_names()
    save = clusters.add_cluster if new else clusters.replace_credentials
    save(
        name=name,
        document=access.document,
        server=access.server,
        expires_at=access.expires_at,
        by=by,
        uid=uid,
        context=access.context,
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
