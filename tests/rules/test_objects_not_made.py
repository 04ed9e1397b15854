"""`objects-not-made`."""

from __future__ import annotations

from typing import Any

from gangboard.domain.event import CreationFailure
from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_jobset, ago, an_event, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

OWNER = a_jobset("run")
NO_KIND = 'no matches for kind "PodGroup" in version "scheduling.volcano.sh/v1beta1"'


def refused(cause: str = NO_KIND, *objects: Any, seconds_ago: float = 30) -> Unit:
    event = an_event(OWNER, "Toy", f"it failed: {cause}", last_seen=ago(seconds_ago))
    facts = {"creation_failures": (CreationFailure(event, cause),)}
    return unit_of(OWNER, event, *objects, facts=facts)


def test_dependencies_cannot_be_created() -> None:
    finding = require_finding("objects-not-made", refused())
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "scheduling.volcano.sh/v1beta1"
    assert values_in(*finding.advice_texts) == "scheduling.volcano.sh/v1beta1"
    assert finding.evidence[0].value == f"it failed: {NO_KIND}"
    assert first_code(refused()) == "objects-not-made"


def test_another_cause_comes_without_advice() -> None:
    finding = require_finding("objects-not-made", refused("jobsets is forbidden"))
    assert (finding.code, finding.advice_texts) == ("objects-not-made", ())


def test_an_object_created_since_disproves_the_event() -> None:
    """Controllers try again after an event; a Job of the same age is no answer to it."""
    (job,) = child_jobs(OWNER, created_at=ago(20))
    assert evaluate("objects-not-made", refused(NO_KIND, job)) is None
    (older,) = child_jobs(OWNER, created_at=ago(40))
    assert evaluate("objects-not-made", refused(NO_KIND, older)) is not None


def test_an_owner_with_all_pods_lacks_no_object() -> None:
    (job,) = child_jobs(OWNER, created_at=ago(600))
    unit = refused(NO_KIND, job, *pods_of(job, 2, on="n0", created_at=ago(600)))
    assert evaluate("objects-not-made", unit) is None


def test_an_owner_without_such_an_event_has_no_finding() -> None:
    assert evaluate("objects-not-made", unit_of(OWNER)) is None
