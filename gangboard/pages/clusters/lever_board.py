"""The levers of a cluster, their readiness, and the command that enables the next one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.queue import QueueEntry
from gangboard.domain.shell import rbac_command
from gangboard.domain.text import sentence
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever, Readiness
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.state_labels import Face

_POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
_FACES = {
    Readiness.READY: Face("ready", "Ready", "✓", "running"),
    Readiness.UNPROVED: Face("unproved", "Not tested yet", "◌", "starting"),
    Readiness.REFUTED: Face("refuted", "Failed its test", "✕", "failed"),
    Readiness.OFF: Face("off", "Off", "–", "unknown"),
    Readiness.MISSING: Face("missing", "Not installed", "■", "blocked"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeverRow:
    """One way to stop something on this cluster, and whether it may be used now."""

    lever: str = shown("Lever", "A key of a lever, such as suspend or hold.")
    label: str
    ready: bool = shown("Ready", "A Hold is proved each time before it is used.")
    face: Face
    sentence: str = shown("Message")
    proved_at: datetime | None = shown(
        "Proved", "Last successful test. Null for levers that need none.", default=None
    )
    refuted_at: datetime | None = shown(
        "Refuted", "Last failed test, if none has succeeded since.", default=None
    )


@dataclass(frozen=True, slots=True)
class LeverBoard:
    """All levers of one cluster."""

    rows: tuple[LeverRow, ...]
    sentence: str
    """Why no lever may be used, or empty."""
    command: str
    """The command that enables the next lever, or empty."""


def lever_board(levers: ClusterLevers, not_served: Collection[str]) -> LeverBoard:
    """Return the levers of a cluster. `not_served` are keys of resources that it does not serve."""
    closed = _closed_sentence(levers)
    rows = tuple(_rows(levers, not_served, closed))
    return LeverBoard(rows, closed, _next_command(levers, not_served))


def _closed_sentence(levers: ClusterLevers) -> str:
    """Return why gangboard may not write to the cluster, or an empty string."""
    if levers.read_only:
        return sentence(levers.read_only)
    return (
        "" if levers.has_actor else "gangboard has no actor here, so it can only read this cluster."
    )


def _next_command(levers: ClusterLevers, not_served: Collection[str]) -> str:
    """Return the command of the next step. Levers that a person has switched off are ignored."""
    # Without the API of these policies the command would fail, and the cluster must change first.
    needs_policy = levers.hold in (PolicyState.MISSING, PolicyState.CHANGED)
    if needs_policy and _POLICIES not in not_served:
        return rbac_command(levers.cluster, levers.context)
    if not levers.has_actor:
        return f"manage.py set_actor {quote(levers.cluster)} --kubeconfig FILE"
    return ""


def _rows(levers: ClusterLevers, not_served: Collection[str], closed: str) -> Iterator[LeverRow]:
    """Yield the levers of the served kinds: levers of owners, then levers of single Jobs, by preference."""
    kinds = [kind for kind in registry.owner_kinds() if kind.resource.key not in not_served]
    owner_levers = {key for kind in kinds for key in (*kind.levers, *kind.relocation_levers)}
    entries = {
        resource
        for resource in registry.queue_resources(QueueEntry)
        if resource.key not in not_served
    }
    queue_levers = {
        lever.key
        for system in registry.queue_systems()
        if entries & set(system.resources)
        for lever in system.levers
    }
    for lever in registry.levers():
        if lever.key in owner_levers | queue_levers:
            yield _row(lever, levers, "", closed)
    for lever in registry.levers():
        labels = [
            kind.label
            for kind in kinds
            if lever.key in (*kind.child_levers, *kind.child_relocation_levers)
        ]
        if labels and lever.key not in owner_levers:
            yield _row(lever, levers, " and ".join(labels), closed)


def _row(lever: Lever, levers: ClusterLevers, kinds: str, closed: str) -> LeverRow:
    readiness = lever.readiness(levers, kinds, closed)
    return LeverRow(
        lever=lever.key,
        label=lever.title,
        ready=readiness.usable,
        face=_FACES[readiness.readiness],
        sentence=printable(readiness.sentence),
        proved_at=readiness.proved_at,
        refuted_at=readiness.refuted_at,
    )
