"""Kubeconfigs of commands: reading them, saving their access, and printing the result of a trial."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

from gangboard import env
from gangboard.kube.credential_files import read_small_file, small_text
from gangboard.kube.errors import CredentialError, KubeError
from gangboard.kube.kubeconfig import NamedFiles
from gangboard.pages.clusters.trial_steps import actor_steps, trial_steps
from gangboard.polling.actor_trial import ActorTrial
from gangboard.polling.cluster_trial import Access, kubeconfig_access
from gangboard.readmodels.kubectl import KubectlCommand
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
    text = _read_text(path)
    keep_context = path != STANDARD_INPUT
    return kubeconfig_access(text, context=context, files=files, keep_context=keep_context)


def _read_text(path: Path) -> str:
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


def step_lines(steps: Iterable[KubectlCommand]) -> Iterator[str]:
    """Yield each step: its meaning, then its command."""
    for step in steps:
        yield f"{step.meaning}\n    {step.text}"


def actor_lines(name: str, context: str, trial: ActorTrial) -> Iterator[str]:
    """Yield the result of an actor's trial. `context` is the name of the cluster in the person's kubectl."""
    yield f"Cluster {name} {trial.sentence}."
    yield from step_lines(actor_steps(name, context, needs_rights=trial.needs_rights))


def unreachable_lines(name: str, access: Access, error: KubeError) -> Iterator[str]:
    """Yield why the cluster did not answer the actor."""
    yield (
        f"Cluster {name} does not answer the actor now: {error.sentence} gangboard keeps these credentials."
    )
    yield from step_lines(
        trial_steps(
            code=error.code,
            server=access.server,
            context=access.context,
            unreadable=(),
            uid_known=True,
        )
    )
