"""`exclusion`: a Job without an owner, suspended, and resumed with an exclusion in its template.

No controller resumes such a Job, so it needs no Hold. One patch changes the template and resumes the Job.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangboard.domain.action import Step
from gangboard.domain.hold import EXCLUSION_LEVER
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Bounds, Lever
from gangboard.policy.decision import Decision, DesiredAction, watch_seconds
from gangboard.policy.exclusions import (
    REQUIRED_FIELD,
    describe_exclusions,
    exclude_step,
    exclusion_bounds,
)
from gangboard.policy.requests import suspend_job, wait_stopped


class JobExclusion(Lever):
    """The exclusion in the template of a whole Job."""

    key = EXCLUSION_LEVER
    position = 45
    label = "Node exclusion"
    title = "Relocate a Job"
    description = "spec.suspend and the node affinity of a Job that no queue manages and nobody else controls."
    done = "Relocated"
    applied = "Restarted"
    state = "away"
    writes = REQUIRED_FIELD

    def decide(self, gang: Gang, subject: Owner, desired: DesiredAction) -> Decision:
        """Return the suspend, and the patch that excludes the place and resumes the Job."""
        before, after = describe_exclusions(subject, desired.exclusion)
        return Decision(
            lambda: _steps(gang, subject, desired),
            before={"exclusion": before},
            after={"exclusion": after},
            watch_seconds=watch_seconds(subject.grace_seconds),
        )

    def bounds(self, kind: str, topology_keys: Sequence[str]) -> Bounds:  # Lever's
        """Allow exclusions in required node affinity terms."""
        return exclusion_bounds(topology_keys)


def _steps(gang: Gang, job: Owner, desired: DesiredAction) -> tuple[Step, ...]:
    return (
        suspend_job(gang, job, desired.action, suspend=True),
        wait_stopped(gang, job),
        exclude_step(gang, job, desired.action, desired.exclusion, resume=True),
    )
