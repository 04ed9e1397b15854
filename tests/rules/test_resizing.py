"""`resizing`."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import Made, a_condition, a_group, a_job, a_pod, ago, placed
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

LONG_AGO = a_condition("PodScheduled", since=ago(3000))


def growing(*last: Made, age: float = 30, quorum: int | None = 2) -> Unit:
    """Two of three run since long; the third is as given, or was made so many seconds ago."""
    job = a_job("train", pods=3, group_name="ring", created_at=ago(4000))
    group = a_group("ring", quorum=quorum, placed=placed())
    pods = [
        a_pod(f"train-{n}", of=job, group="ring", on="n0", scheduled=LONG_AGO) for n in range(2)
    ]
    new: dict[str, Any] = {"on": "n1", "ready": False, "created_at": ago(age)}
    third = last or (a_pod("train-2", of=job, group="ring", scheduled=LONG_AGO, **new),)
    return unit_of(job, group, *pods, *third)


def test_the_rest_is_coming() -> None:
    finding = require_finding("resizing", growing())
    assert finding.health is Health.STARTING
    assert values_in(finding.message) == "2 3 2 1"
    assert finding.recheck_at == ago(-90)
    assert first_code(growing()) == "resizing"


def test_two_minutes_are_given() -> None:
    assert first_code(growing(age=119)) == "resizing"
    assert first_code(growing(age=120)) == "below-size"


def test_refused_is_not_growing() -> None:
    refused = a_pod("train-2", group="ring", text=texts.GPU_SHORT, created_at=ago(5))
    assert evaluate("resizing", growing(refused)) is None
    assert first_code(growing(refused)) == "below-size"


def test_leaving_is_not_growing() -> None:
    leaving = a_pod("train-2", group="ring", on="n1", deleting_since=ago(5))
    assert first_code(growing(leaving)) == "below-size"


def test_a_gang_at_full_size_runs() -> None:
    assert first_code(growing(a_pod("train-2", group="ring", on="n1"))) == "running"


def test_a_gang_without_a_quorum_needs_all_pods() -> None:
    assert evaluate("resizing", growing(quorum=None)) is None
    assert first_code(growing(quorum=None)) == "starting"
