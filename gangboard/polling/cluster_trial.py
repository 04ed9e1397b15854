"""Access to a cluster from credentials, and whether what they allow is enough to watch it."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gangboard.cluster_networks import cluster_destinations
from gangboard.kube.connection import Connection
from gangboard.kube.credential_files import load_document, read_small_file
from gangboard.kube.credentials import (
    Credentials,
    certificate_expiry,
    in_cluster,
    read_kubeconfig,
    token_expiry,
)
from gangboard.kube.discovery import Discovery, discover, path_for
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.kubeconfig import NamedFiles
from gangboard.kube.tokens import check_token
from gangboard.polling.cluster_cache import resources

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


_OF_ONE_KIND = frozenset({KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND})
"""Errors of a list that concern one kind, not the whole cluster."""
CONNECT_DEADLINE = 3.0
ANSWER_DEADLINE = 10.0
"""Seconds for one request. A person waits for the result."""
TRIAL_SECONDS = 25.0
"""After these no other kind is tried."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The answer of a cluster."""

    server_version: str
    """Empty where the account may not ask."""
    uid: str
    """uid of its namespace `kube-system`; empty where the account may not get it."""
    readable: tuple[str, ...]
    """Keys of the kinds that are served and that the account may list."""
    unreadable: tuple[str, ...]
    """Keys of the other kinds that are served."""

    @property
    def sentence(self) -> str:
        """`answers, v1.37.2, may read 16 of 16 kinds`."""
        version = f", {self.server_version}" if self.server_version else ""
        readable = len(self.readable)
        served = readable + len(self.unreadable)
        missing = f"; not {', '.join(self.unreadable)}" if self.unreadable else ""
        return f"answers{version}, may read {readable} of {served} kinds{missing}"

    @property
    def identity_problem(self) -> str:
        """Why a second name for the cluster would not be noticed; empty where it would."""
        if self.uid:
            return ""
        return (
            "The uid of the namespace kube-system could not be read, so gangboard cannot tell whether this "
            "cluster has another name already."
        )


def try_cluster(access: Access) -> Trial:
    """Read discovery and one object of each kind from a cluster. Raises KubeError where it does not answer."""
    give_up_at = time.monotonic() + TRIAL_SECONDS
    credentials = Credentials.from_document(access.document)
    with Connection(
        credentials,
        connect_deadline=CONNECT_DEADLINE,
        total_deadline=ANSWER_DEADLINE,
        destinations=cluster_destinations(),
    ) as connection:
        found = discover(connection, groups={one.group for one in resources()})
        readable: list[str] = []
        unreadable: list[str] = []
        for key, path in _served(found):
            if time.monotonic() > give_up_at:
                raise KubeError(
                    KubeErrorCode.TIMEOUT,
                    f"{connection.host} did not answer for all kinds within {TRIAL_SECONDS:g} s.",
                )
            (readable if _may_list(connection, path) else unreadable).append(key)
    return Trial(found.server_version, found.cluster_uid, tuple(readable), tuple(unreadable))


def _served(found: Discovery) -> list[tuple[str, str]]:
    """Return key and path of the kinds that are served in a version that gangboard reads."""
    return [
        (one.key, path_for(one.group, version, one.plural))
        for one in resources()
        if (version := _version(found, one.group, one.plural, one.versions))
    ]


def _version(found: Discovery, group: str, plural: str, versions: tuple[str, ...]) -> str:
    served = {one.version for one in found.resources.get((group, plural), ())}
    return next((one for one in versions if one in served), "")


def _may_list(connection: Connection, path: str) -> bool:
    try:
        connection.get(path, {"limit": "1"})
    except KubeError as error:
        if error.code in _OF_ONE_KIND:
            return False
        raise
    return True
