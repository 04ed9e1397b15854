"""The levers of a cluster, whether each is ready, and the command that makes the next one ready."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.queue import QueueEntry
from gangboard.domain.shell import rbac_command
from gangboard.domain.text import sentence
from gangboard.pages.core.rows import shown
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever, Readiness
from gangboard.readmodels.printable import printable
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
        "Proved", "Last proof that held; null for levers that need none.", default=None
    )
    refuted_at: datetime | None = shown(
        "Refuted", "Last proof that failed, if none held since.", default=None
    )


@dataclass(frozen=True, slots=True)
class LeverBoard:
    """All levers of one cluster."""

    rows: tuple[LeverRow, ...]
    sentence: str
    """Why no lever may be used, or empty."""
    command: str
    """The command that makes the next lever ready, or empty."""


def lever_board(levers: ClusterLevers, not_served: Collection[str]) -> LeverBoard:
    """Return the levers of a cluster. `not_served` are keys of resources that it does not serve."""
    shut = _shut(levers)
    rows = tuple(_rows(levers, not_served, shut))
    return LeverBoard(rows, shut, _command(levers, not_served))


def _shut(levers: ClusterLevers) -> str:
    """Return why nothing at all may be sent, or empty."""
    if levers.read_only:
        return sentence(levers.read_only)
    return "" if levers.has_actor else "It has no actor: gangboard may only read it."


def _command(levers: ClusterLevers, not_served: Collection[str]) -> str:
    """Return the command for the next step. A lever that a person has switched off is no step."""
    # Where no such policy is served there is nothing to apply: the cluster must change first.
    wrong = levers.hold in (PolicyState.MISSING, PolicyState.CHANGED)
    if wrong and _POLICIES not in not_served:
        return rbac_command(levers.cluster, levers.context)
    if not levers.has_actor:
        return f"manage.py set_actor {quote(levers.cluster)} --kubeconfig FILE"
    return ""


def _rows(levers: ClusterLevers, not_served: Collection[str], shut: str) -> Iterator[LeverRow]:
    """Yield the levers of what is served: of whole owners, then those on one Job as they are tried."""
    kinds = [kind for kind in registry.owner_kinds() if kind.resource.key not in not_served]
    of_whole = {key for kind in kinds for key in kind.levers}
    entries = {
        resource
        for resource in registry.queue_resources(QueueEntry)
        if resource.key not in not_served
    }
    of_queues = {
        system.lever.key
        for system in registry.queue_systems()
        if system.lever is not None and entries & set(system.resources)
    }
    for lever in registry.levers():
        if lever.key in of_whole | of_queues:
            yield _row(lever, levers, "", shut)
    for lever in registry.levers():
        labels = [kind.label for kind in kinds if lever.key in kind.child_levers]
        if labels and lever.key not in of_whole:
            yield _row(lever, levers, " and ".join(labels), shut)


def _row(lever: Lever, levers: ClusterLevers, kinds: str, shut: str) -> LeverRow:
    readiness = lever.readiness(levers, kinds, shut)
    return LeverRow(
        lever=lever.key,
        label=lever.title,
        ready=readiness.usable,
        face=_FACES[readiness.readiness],
        sentence=printable(readiness.sentence),
        proved_at=readiness.proved_at,
        refuted_at=readiness.refuted_at,
    )
