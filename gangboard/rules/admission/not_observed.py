"""`not-observed`: a resource that the verdict needs is forbidden, failing or undecodable.

What could not be looked at is never counted as zero and never called healthy, so this comes
before all other reasons. A resource that the cluster does not serve is not one of them.
"""

from __future__ import annotations

from gangboard.domain.facts import Blind, GangFacts
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import gang_finding
from gangboard.domain.reading.wording import names, sentence
from gangboard.domain.registry import GangRule
from gangboard.domain.verdict import Evidence, Finding


def _why(blind: Blind) -> str:
    """Return the sentence about one resource; it names the resource in any case."""
    if not blind.sentence:
        return f"{blind.resource} cannot be looked at: {blind.state}."
    if blind.resource in blind.sentence:
        return sentence(blind.sentence)
    return sentence(f"{blind.resource} ({blind.state}): {blind.sentence}")


def find(facts: GangFacts) -> Finding | None:
    """Return a finding when anything needed could not be looked at."""
    if not facts.blind:
        return None
    first, *others = facts.blind
    message = _why(first)
    if others:
        also = names(f"{blind.resource} ({blind.state})" for blind in others)
        message = f"{message} Not looked at either: {also}."
    forbidden = [blind.resource for blind in facts.blind if blind.state == "forbidden"]
    advice = f"Let gangboard list and watch {names(forbidden)}; print_rbac prints the role."
    return gang_finding(
        RULE,
        Health.UNKNOWN,
        message,
        advice=(advice,) if forbidden else (),
        evidence=tuple(Evidence(blind.resource, blind.state) for blind in facts.blind),
    )


RULE = GangRule("not-observed", Stage.ADMISSION, "Not observed", 10, find)
