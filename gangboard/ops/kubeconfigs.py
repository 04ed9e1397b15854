"""Kubeconfigs of commands: reading them, and saving their access."""

from __future__ import annotations

import sys
from pathlib import Path

from django.conf import settings

from gangboard import env
from gangboard.kube.credential_files import read_small_file, small_text
from gangboard.kube.errors import CredentialError
from gangboard.kube.kubeconfig import NamedFiles
from gangboard.polling.cluster_trial import Access, kubeconfig_access
from gangboard.store import clusters

STANDARD_INPUT = Path("-")


def read_access(path: Path, *, context: str | None = None, token_file: bool = False) -> Access:
    """Read one context of a kubeconfig, the current one by default. Raises kube's CredentialError.

    The `path` `-` is standard input, whose kubeconfig may name no files. `token_file` allows a file whose
    text is sent as a token. The cluster is not contacted.
    """
    files = None
    if path != STANDARD_INPUT:
        private = (settings.STATE_DIR, *env.secret_files())
        files = NamedFiles(path.parent, private=private, token_file=token_file)
    text = _text(path)
    keep_context = path != STANDARD_INPUT
    return kubeconfig_access(text, context=context, files=files, keep_context=keep_context)


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


def save_access(name: str, access: Access, *, by: str = "gangboard", uid: str = "") -> bool:
    """Use this access for a cluster from now on. Return whether the cluster is new.

    `by` is the author for the audit, `uid` that of the namespace `kube-system`, if known. Raises
    ClusterError, also for a cluster that is watched under another name.
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
    """Let gangboard act on a watched cluster with this access. Return whether that is new.

    `by` is the author for the audit. Raises ClusterError.
    """
    return clusters.set_actor(
        name=name,
        document=access.document,
        server=access.server,
        expires_at=access.expires_at,
        by=by,
    )


def expiry_sentence(access: Access, what: str = "These credentials") -> str:
    """Return the expiry of the credentials as text; empty if unknown."""
    if access.expires_at is None:
        return ""
    return f"{what} expire at {access.expires_at:%Y-%m-%d %H:%M} UTC."
