"""Which levers of a cluster are ready, what is known of each, and the one command for the next."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from shlex import quote

from gangboard.domain.action import ClusterLevers, Lever, PolicyState
from gangboard.domain.reading.wording import sentence
from gangboard.readmodels.printable import printable
from gangboard.readmodels.state_labels import Face

_KUEUE = "workloads.kueue.x-k8s.io"
_JOBSETS = "jobsets.jobset.x-k8s.io"
_POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
_LABELS = {
    Lever.SUSPEND: "Suspend a whole owner",
    Lever.KUEUE: "Deactivate in Kueue",
    Lever.NATIVE: "Suspend one Job, natively",
    Lever.HOLD: "Hold one Job",
    Lever.PARALLELISM: "Pause one Job",
}
_READY = Face("ready", "Ready", "✓", "running")
_UNPROVED = Face("unproved", "Unproved", "◌", "starting")
_REFUTED = Face("refuted", "Not in force", "✕", "failed")
_OFF = Face("off", "Off", "–", "unknown")
_MISSING = Face("missing", "Missing", "■", "blocked")


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
    name = quote(levers.cluster)
    # Where no such policy is served there is nothing to apply: the cluster must change first.
    wrong = levers.hold in (PolicyState.MISSING, PolicyState.CHANGED)
    if wrong and _POLICIES not in not_served:
        return f"manage.py print_rbac --cluster {name} | kubectl apply -f -"
    if not levers.has_actor:
        return f"manage.py set_actor {name} --kubeconfig FILE"
    return ""


def _rows(levers: ClusterLevers, not_served: Collection[str], shut: str) -> Iterator[LeverRow]:
    """Yield the levers, those on one Job in the order in which they are tried."""
    whole = "spec.suspend of an owner that no queue manages and nobody else suspends."
    yield _plain(Lever.SUSPEND, whole, shut)
    if _KUEUE not in not_served:
        yield _plain(Lever.KUEUE, "spec.active of the Workloads of an owner in a queue.", shut)
    if _JOBSETS in not_served:
        return
    yield _native(levers, shut)
    yield _hold(levers, shut)
    paused = "spec.parallelism 0, where there is no better way; the old value is kept."
    if levers.parallelism:
        yield _plain(Lever.PARALLELISM, paused, shut)
    else:
        off = f"Switched off (manage.py set_lever {quote(levers.cluster)} parallelism on)."
        yield _row(Lever.PARALLELISM, _OFF, off)


def _plain(lever: Lever, what: str, shut: str) -> LeverRow:
    return _row(lever, _OFF if shut else _READY, what, ready=not shut)


def _native(levers: ClusterLevers, shut: str) -> LeverRow:
    """Return what is known of JobSets that ask for Independent: a claim until it was seen."""
    build = f"this build of JobSet ({printable(levers.build[:12])})" if levers.build else "JobSet"
    if not levers.native_honoured:
        return _row(
            Lever.NATIVE,
            _UNPROVED,
            f"For JobSets that ask for Independent: {build} was not seen to honour it.",
        )
    said = f"For JobSets that ask for Independent: {build} was seen to honour it."
    return _row(Lever.NATIVE, _OFF if shut else _READY, said, ready=not shut)


def _hold(levers: ClusterLevers, shut: str) -> LeverRow:
    said = printable(levers.hold_sentence)
    said = sentence(said[:1].upper() + said[1:])
    if levers.hold in (PolicyState.MISSING, PolicyState.CHANGED):
        return _row(Lever.HOLD, _MISSING, said, levers)
    if levers.hold_refuted_at is not None:
        return _row(Lever.HOLD, _REFUTED, "Installed; not in force at the last proof.", levers)
    if levers.hold is PolicyState.NOT_SEEN:
        proved = levers.hold_proved_at is not None
        face = _READY if proved else _UNPROVED
        return _row(Lever.HOLD, face, said, levers, ready=proved and not shut)
    if levers.hold_proved_at is None:
        unproved = "Installed, unproved: it is proved each time before a Job is suspended."
        return _row(Lever.HOLD, _UNPROVED, _and(unproved, said), levers, ready=not shut)
    return _row(Lever.HOLD, _READY, _and("Installed and proved.", said), levers, ready=not shut)


def _and(first: str, second: str) -> str:
    return f"{first} {second}" if second else first


def _row(
    lever: Lever,
    face: Face,
    said: str,
    proofs: ClusterLevers | None = None,
    *,
    ready: bool = False,
) -> LeverRow:
    return LeverRow(
        lever=lever.value,
        label=_LABELS[lever],
        ready=ready,
        face=face,
        sentence=said,
        proved_at=proofs.hold_proved_at if proofs else None,
        refuted_at=proofs.hold_refuted_at if proofs else None,
    )
