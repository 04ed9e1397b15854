"""Access to a cluster, and a trial of whether its credentials are enough to watch the cluster."""

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
"""Characters. A longer name is no use in a command to copy."""


@dataclass(frozen=True, slots=True, repr=False)
class Access:
    """How to reach one cluster: the arguments of store.clusters.add_cluster besides the name."""

    document: dict[str, Any]
    server: str
    expires_at: datetime | None
    cluster_name: str = ""
    """A name for the cluster, derived from the context. Empty for a pod's own account."""
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
    """Read one context of a kubeconfig, by default the current one. The cluster is not contacted.

    - `files`: see `read_kubeconfig`.
    - `keep_context`: the person's kubectl knows the context by this name, although they did not choose it.
    - `from_page`: a person entered the text on a page, so `GANGBOARD_CLUSTER_NETWORKS` limits the address.

    Raises kube's CredentialError.
    """
    credentials = read_kubeconfig(text, context=context, files=files)
    context_name = str(context or load_document(text)["current-context"])
    shown_context = context_name if keep_context or context else ""
    return _access(
        replace(credentials, origin=FROM_PAGE) if from_page else credentials,
        cluster_name=_cluster_name(context_name),
        context=shown_context if len(shown_context) <= LONGEST_CONTEXT else "",
    )


def in_cluster_access() -> Access:
    """Return the access of this pod's service account. Raises kube's CredentialError outside a pod."""
    return _access(in_cluster())


def mounted_access(folder: Path) -> Access:
    """Return the access of a service account of this pod's cluster whose token Secret is mounted in a folder.

    The token itself is stored, so that only the pod that runs the command has to mount the Secret. Raises kube's
    CredentialError.
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
    """Return the earliest expiry of the credentials. A token file is renewed in place and does not count."""
    expiries: list[datetime | None] = []
    if credentials.client_certificate_pem is not None:
        expiries.append(certificate_expiry(credentials.client_certificate_pem))
    if credentials.token is not None and credentials.token_file is None:
        expiries.append(token_expiry(credentials.token))
    return min((expiry for expiry in expiries if expiry is not None), default=None)


_ONE_KIND_ERRORS = frozenset({KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND})
"""Errors of a list that concern one kind, not the whole cluster."""
CONNECT_DEADLINE = 3.0
ANSWER_DEADLINE = 10.0
"""Seconds for one request. A person waits for the result."""
TRIAL_SECONDS = 25.0
"""Seconds after which the trial fails."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial."""

    server_version: str
    """Empty if the account may not read it."""
    uid: str
    """uid of its namespace `kube-system`. Empty if the account may not read it."""
    readable: tuple[str, ...]
    """Keys of the served kinds that the account may list."""
    unreadable: tuple[str, ...]
    """Keys of the other served kinds."""

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
        """Why a second name for the cluster would not be detected. Empty if it would."""
        if self.uid:
            return ""
        return "The uid of the namespace kube-system could not be read, so gangboard cannot tell whether this cluster already has another name."


def try_cluster(access: Access) -> Trial:
    """Read discovery and one object of each kind. Raises KubeError if the cluster does not answer."""
    give_up_at = time.monotonic() + TRIAL_SECONDS
    credentials = Credentials.from_document(access.document)
    with Connection(
        credentials,
        connect_deadline=CONNECT_DEADLINE,
        total_deadline=ANSWER_DEADLINE,
        destinations=cluster_destinations(),
    ) as connection:
        discovery = discover(connection, groups={resource.group for resource in resources()})
        readable: list[str] = []
        unreadable: list[str] = []
        for key, path in _served(discovery):
            if time.monotonic() > give_up_at:
                raise KubeError(
                    KubeErrorCode.TIMEOUT,
                    f"{connection.host} did not answer for all kinds within {TRIAL_SECONDS:g} s.",
                )
            (readable if _may_list(connection, path) else unreadable).append(key)
    return Trial(
        discovery.server_version, discovery.cluster_uid, tuple(readable), tuple(unreadable)
    )


def _served(discovery: Discovery) -> list[tuple[str, str]]:
    """Return key and path of the kinds that are served in a version that gangboard reads."""
    return [
        (resource.key, path_for(resource.group, version, resource.plural))
        for resource in resources()
        if (version := _version(discovery, resource.group, resource.plural, resource.versions))
    ]


def _version(discovery: Discovery, group: str, plural: str, versions: tuple[str, ...]) -> str:
    served = {item.version for item in discovery.resources.get((group, plural), ())}
    return next((item for item in versions if item in served), "")


def _may_list(connection: Connection, path: str) -> bool:
    try:
        connection.get(path, {"limit": "1"})
    except KubeError as error:
        if error.code in _ONE_KIND_ERRORS:
            return False
        raise
    return True
