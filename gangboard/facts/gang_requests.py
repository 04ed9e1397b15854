"""Who asks for a gang of the pods of a Job: it itself, or its owner for its role or for all."""

from __future__ import annotations

from gangboard.domain.owner import GangRequest, Owner


def request_for(owner: Owner, job: Owner) -> tuple[GangRequest, Owner] | None:
    """Return what is asked for the pods of a Job of the owner, and which of the two asks; None for nothing.

    Where the owner asks for its roles apart, what it asks for another one is not about this Job.
    """
    if job.gang_request is not None:
        return job.gang_request, job
    by_role = [role for role in owner.roles if role.gang_request is not None]
    if by_role:
        own = next((role.gang_request for role in by_role if role.name == job.role_name), None)
        return None if own is None else (own, owner)
    return None if owner.gang_request is None else (owner.gang_request, owner)


def asks_for_gang(owner: Owner, job: Owner) -> Owner | None:
    """Return which of the two asks for a gang of the pods of the Job; None when neither does."""
    found = request_for(owner, job)
    return found[1] if found is not None and found[0].policy == "gang" else None
