"""State of the Hold in a cluster, for the levers that use it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.shell import rbac_command
from gangboard.domain.text import sentence
from gangboard.plugins.lever import LeverState, Readiness
from gangboard.policy.decision import PlanRefusal

_LOWERED_WORDS = ("The ", "A ", "An ", "No ", "It ", "Its ", "This ")
"""First words that get a small letter inside a sentence."""


def hold_readiness(levers: ClusterLevers, closed_reason: str) -> LeverState:
    """Return whether the Hold is installed, and its last proof.

    `closed_reason` says why gangboard may not write in the cluster, and is empty if it may.
    """
    text = sentence(levers.hold_sentence[:1].upper() + levers.hold_sentence[1:])
    readiness, text, usable = _readiness(levers, text)
    return LeverState(
        readiness,
        text,
        usable and not closed_reason,
        levers.hold_proved_at,
        levers.hold_refuted_at,
    )


@dataclass(frozen=True, slots=True)
class ProofTexts:
    """Sentences about the last use of a lever that also needs the Hold."""

    ready: str
    unproved: str
    refuted: str


def readiness_under_hold(
    levers: ClusterLevers,
    closed_reason: str,
    *,
    proved_at: datetime | None,
    refuted_at: datetime | None,
    texts: ProofTexts,
) -> LeverState:
    """Return the state of a lever that needs the Hold and a proof of its own."""
    state = hold_readiness(levers, closed_reason)
    if not state.usable:
        return state
    if refuted_at is not None:
        return LeverState(Readiness.REFUTED, texts.refuted, True, proved_at, refuted_at)
    if proved_at is None:
        return LeverState(Readiness.UNPROVED, texts.unproved, True)
    return LeverState(Readiness.READY, texts.ready, True, proved_at)


def installation_refusal(levers: ClusterLevers) -> PlanRefusal | None:
    """Return why the Hold of a cluster cannot be used (half a sentence), or None."""
    needs, text = rbac_command(levers.cluster, levers.context), _clause(levers.hold_sentence)
    if levers.hold is PolicyState.MISSING:
        return PlanRefusal(text or "the Hold is not installed here", needs)
    if levers.hold is PolicyState.CHANGED:
        text = text or "the policy of the Hold was changed and is not trusted"
        return PlanRefusal(text, needs)
    return None


def _clause(text: str) -> str:
    """Return a sentence as a part of another one: with a small first letter, unless it begins with a name."""
    bare = text.strip().rstrip(".")
    return bare[:1].lower() + bare[1:] if bare.startswith(_LOWERED_WORDS) else bare


def _readiness(levers: ClusterLevers, text: str) -> tuple[Readiness, str, bool]:
    if levers.hold in (PolicyState.MISSING, PolicyState.CHANGED):
        return Readiness.MISSING, text, False
    if levers.hold_refuted_at is not None:
        return Readiness.REFUTED, "Installed; not in force at the last proof.", False
    if levers.hold is PolicyState.NOT_SEEN:
        proved = levers.hold_proved_at is not None
        return Readiness.READY if proved else Readiness.UNPROVED, text, proved
    if levers.hold_proved_at is None:
        unproved = "Installed, unproved: it is proved each time before a Job is suspended."
        return Readiness.UNPROVED, f"{unproved} {text}".strip(), True
    return Readiness.READY, f"Installed and proved. {text}".strip(), True
