"""Which levers of a cluster are ready, what is known of each, and the one command for the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.queue import QueueEntry
from gangboard.domain.shell import roles_command
from gangboard.domain.text import sentence
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


@dataclass(frozen=True, slots=True)
class LeverRow:
    """One lever of one cluster."""

    lever: str
    label: str
    ready: bool
    """It may be pulled now. A Hold is proved each time before anything is changed."""
    face: Face
    sentence: str
    proved_at: datetime | None = None
    """When it was last seen to hold; None for levers that nobody undoes, and where it never was."""
    refuted_at: datetime | None = None
    """When its last proof failed, if none has held since."""


@dataclass(frozen=True, slots=True)
class LeverBoard:
    """All levers of one cluster."""

    rows: tuple[LeverRow, ...]
    sentence: str
    """Why none of them may be pulled, or empty."""
    command: str
    """The one command that makes the next lever ready, or empty."""


def lever_board(levers: ClusterLevers, not_served: Collection[str]) -> LeverBoard:
    """Say what one cluster allows. `not_served` are keys of resources that it does not serve."""
    shut = _shut(levers)
    rows = tuple(_rows(levers, not_served, shut))
    return LeverBoard(rows, shut, _command(levers, not_served))


def _shut(levers: ClusterLevers) -> str:
    """Return why nothing at all may be sent, or empty."""
    if levers.read_only:
        return sentence(levers.read_only)
    return "" if levers.has_actor else "It has no actor: gangboard may only read it."


def _command(levers: ClusterLevers, not_served: Collection[str]) -> str:
    """Return the one command for the next step. What is off because somebody chose so is not one."""
    # Where no such policy is served there is nothing to apply: the cluster must change first.
    wrong = levers.hold in (PolicyState.MISSING, PolicyState.CHANGED)
    if wrong and _POLICIES not in not_served:
        return roles_command(levers.cluster, levers.context)
    if not levers.has_actor:
        return f"manage.py set_actor {quote(levers.cluster)} --kubeconfig FILE"
    return ""


def _rows(levers: ClusterLevers, not_served: Collection[str], shut: str) -> Iterator[LeverRow]:
    """Yield the levers of what is served: of whole owners, then those on one Job as they are tried."""
    kinds = [kind for kind in registry.owner_kinds() if kind.resource.key not in not_served]
    of_whole = {key for kind in kinds for key in kind.levers}
    entries = {one for one in registry.queue_resources(QueueEntry) if one.key not in not_served}
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
    found = lever.readiness(levers, kinds, shut)
    return LeverRow(
        lever=lever.key,
        label=lever.title,
        ready=found.usable,
        face=_FACES[found.readiness],
        sentence=printable(found.sentence),
        proved_at=found.proved_at,
        refuted_at=found.refuted_at,
    )
