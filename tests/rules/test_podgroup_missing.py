"""`podgroup-missing`: on 1.36.3 and 1.37.0 no object reports it (observed)."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import Made, a_group, a_job, a_plan, a_pod, ago
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def waiting(age: float = 600, *objects: Made, **facts: Any) -> Unit:
    job = a_job("train", group_name="ring")
    pods = [a_pod(f"train-{index}", of=job, group="ring", created_at=ago(age)) for index in (0, 1)]
    return unit_of(job, *pods, *objects, facts=facts)


def test_the_name_leads_nowhere() -> None:
    finding = require_finding("podgroup-missing", waiting())
    assert finding.health is Health.BLOCKED
    assert finding.message == "2 pods wait for PodGroup ring, which does not exist."
    assert first_code(waiting()) == "podgroup-missing"


def test_a_group_is_not_missing_in_the_first_half_minute() -> None:
    finding = require_finding("podgroup-missing", waiting(29))
    assert (finding.code, finding.health) == ("starting", Health.STARTING)
    assert finding.recheck_at == ago(-1)
    assert require_finding("podgroup-missing", waiting(30)).code == "podgroup-missing"


def test_groups_that_could_not_be_read_are_not_missing() -> None:
    assert evaluate("podgroup-missing", waiting(groups_unobserved=True)) is None


def test_groups_that_are_not_served_are_not_missing() -> None:
    assert evaluate("podgroup-missing", waiting(gang_api_version="")) is None


def test_a_gang_that_runs_runs() -> None:
    job = a_job("train", group_name="ring")
    pods = [a_pod(f"train-{index}", of=job, group="ring", on="n0") for index in (0, 1)]
    assert first_code(unit_of(job, *pods)) == "running"


def test_an_existing_group_is_not_missing() -> None:
    unit = waiting(600, a_group("ring", quorum=2))
    assert evaluate("podgroup-missing", unit) is None
    assert first_code(unit) == "not-attempted"


def test_the_group_is_to_be_created_or_dropped_from_the_pods() -> None:
    assert require_finding("podgroup-missing", waiting()).advice_texts == (
        (
            "Create PodGroup team-a/ring, or remove schedulingGroup from the pods (needs "
            "re-creating)."
        ),
    )
    assert require_finding("podgroup-missing", waiting(29)).advice_texts == ()


def test_a_workload_of_135_and_its_entry() -> None:
    """Its podGroups cannot be changed; made anew, it is found at once (1.35.4)."""
    job = a_job("train")
    pods = [a_pod(f"train-{n}", of=job, group="plan/all") for n in (0, 1)]
    facts = {"gang_api_version": "v1alpha1"}
    assert (
        values_in(
            *require_finding("podgroup-missing", unit_of(job, *pods, facts=facts)).advice_texts
        )
        == "team-a/plan"
    )
    unit = unit_of(job, *pods, a_plan("plan", entries={"other": 2}), facts=facts)
    assert require_finding("podgroup-missing", unit).advice_texts == (
        (
            "Give Workload plan a podGroup all (needs re-creating), or remove workloadRef from "
            "the pods (needs re-creating)."
        ),
    )
