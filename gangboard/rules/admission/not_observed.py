"""`not-observed`: a resource that the verdict needs is forbidden, failing or undecodable.

What could not be looked at is never counted as zero and never called healthy, so this comes
before all other reasons. A resource that the cluster does not serve is not one of them. A run in
another cluster is not observed here either.
"""

from __future__ import annotations

from gangboard.domain.health import Health, Stage
from gangboard.domain.text import names, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.domain.watch_state import WatchState
from gangboard.facts.cluster_view import Unobserved
from gangboard.facts.findings import gang_finding
from gangboard.facts.gang import Gang
from gangboard.facts.unobserved import found_elsewhere
from gangboard.plugins.rule import GangRule


def _why(unobserved: Unobserved) -> str:
    """Return the sentence about one resource; it names the resource in any case."""
    if not unobserved.sentence:
        return f"{unobserved.resource} cannot be looked at: {unobserved.state}."
    if unobserved.resource in unobserved.sentence:
        return sentence(unobserved.sentence)
    return sentence(f"{unobserved.resource} ({unobserved.state}): {unobserved.sentence}")


def find(gang: Gang) -> Finding | None:
    """Return a finding when anything needed could not be looked at."""
    if not gang.unobserved:
        return found_elsewhere(RULE, gang)
    first, *others = gang.unobserved
    message = _why(first)
    if others:
        also = names(f"{unobserved.resource} ({unobserved.state})" for unobserved in others)
        message = f"{message} Not looked at either: {also}."
    forbidden = [
        unobserved.resource
        for unobserved in gang.unobserved
        if unobserved.state == WatchState.FORBIDDEN
    ]
    advice = f"Let gangboard list and watch {names(forbidden)}; print_rbac prints the role."
    return gang_finding(
        RULE,
        Health.UNKNOWN,
        message,
        advice=(advice,) if forbidden else (),
        evidence=tuple(
            Evidence(unobserved.resource, unobserved.state) for unobserved in gang.unobserved
        ),
    )


RULE = GangRule("not-observed", Stage.ADMISSION, "Not observed", 10, find)
