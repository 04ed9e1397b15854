"""Behaviour of the Job controller while a Job moves."""

from __future__ import annotations

from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import JobConduct


class MovedJob(JobConduct):
    """The Job controller, for Jobs with an owner and for Jobs without."""

    def relocation_reactions(self, gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
        """Return that the deadline of the Job is counted from its new start (observed, relocate.md §2)."""
        if job.deadline_seconds is None:
            return ()
        return (f"Its activeDeadlineSeconds of {job.deadline_seconds:,} s starts anew.",)
