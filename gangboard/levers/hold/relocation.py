"""`hold-exclusion`: one Job under another owner, restarted without a place while a Hold keeps it suspended.

The template of a Job can change only while the Job is suspended and its pods are gone. Without the Hold, the
controller resumes the Job before that. The exclusion is in place before the Hold goes, because the
controller resumes the Job within 10 ms of that (observed).
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.action import ClusterLevers, Step, StepKind
from gangboard.domain.hold import HOLD_EXCLUSION_LEVER
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.levers.hold.confirmation_texts import cluster_warnings, proof_sentence
from gangboard.levers.hold.readiness import ProofTexts, installation_refusal, readiness_under_hold
from gangboard.levers.hold.requests import create_hold, created_holds, delete_created_hold
from gangboard.plugins.lever import Bounds, CreatedResource, Lever, LeverState
from gangboard.policy.decision import PROVED_SECONDS, Decision, DesiredAction, PlanRefusal
from gangboard.policy.exclusions import (
    REQUIRED_FIELD,
    describe_exclusions,
    exclude_step,
    exclusion_bounds,
)
from gangboard.policy.requests import prove, restart_job, suspend_job, wait_stopped

_PROOF_TEXTS = ProofTexts(
    ready="The Hold is ready, and templates can change.",
    unproved="The Hold is ready. No template was changed here yet.",
    refuted="The API server refused the last change of a template: apply print_rbac again.",
)


class HoldExclusion(Lever):
    """A Hold, the exclusion in the template of the Job, and the release."""

    key = HOLD_EXCLUSION_LEVER
    position = 25
    label = "Hold and node exclusion"
    title = "Relocate one Job"
    done = "Relocated"
    applied = "Restarted"
    state = "away"
    writes = REQUIRED_FIELD
    lasts = False

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision:
        """Return the Hold, the suspend, the exclusion and the release of a child Job."""
        before, after = describe_exclusions(subject, desired.exclusion)
        return Decision(
            lambda: _steps(gang, subject, desired),
            before={"exclusion": before},
            after={"exclusion": after},
            watch_seconds=PROVED_SECONDS,
            reactions=(proof_sentence(desired.levers),),
            warnings=cluster_warnings(desired.levers),
        )

    def readiness(self, levers: ClusterLevers, kinds: str, closed_reason: str) -> LeverState:
        """Return whether the Hold is ready, and whether the API server accepted the last change of a template."""
        return readiness_under_hold(
            levers,
            closed_reason,
            proved_at=levers.exclusion_proved_at,
            refuted_at=levers.exclusion_refuted_at,
            texts=_PROOF_TEXTS,
        )

    def unavailable(self, levers: ClusterLevers) -> PlanRefusal | None:
        """Refuse a cluster whose Hold is known to be missing or changed."""
        return installation_refusal(levers)

    def bounds(self, kind: str, topology_keys: Sequence[str]) -> Bounds:  # Lever's
        """Allow exclusions in required node affinity terms."""
        return exclusion_bounds(topology_keys)

    def created_resource(self, parents: Sequence[tuple[str, str]]) -> CreatedResource:
        """Return the resource Hold, with the conditions of lever `hold`."""
        return created_holds(parents)


def _steps(gang: Gang, job: Owner, desired: DesiredAction) -> tuple[Step, ...]:
    return (
        create_hold(gang, job, desired),
        prove(StepKind.PROVE_HOLD, gang, job, "is turned back"),
        suspend_job(gang, job, desired.action, suspend=True),
        wait_stopped(gang, job),
        exclude_step(gang, job, desired.action, desired.exclusion),
        delete_created_hold(gang, job, desired),
        prove(StepKind.PROVE_RELEASE, gang, job, "is let through"),
        restart_job(gang, job, desired.action),
    )
