"""`pods-not-created`."""

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import UnitMemory
from tests.diagnosis.building import (
    a_group,
    a_job,
    a_jobset,
    a_part,
    a_pod,
    ago,
    an_event,
    child_jobs,
    failed,
    pods_of,
)
from tests.rules import texts
from tests.rules.asking import ask, first, found, unit_of


@pytest.mark.parametrize(
    ("age", "health", "recheck"),
    [(119, Health.STARTING, ago(-1)), (120, Health.BLOCKED, None)],
)
def test_two_minutes_are_given(age: float, health: Health, recheck: object) -> None:
    unit = unit_of(a_job("train", pods=4, created_at=ago(age)))
    finding = found("pods-not-created", unit)
    assert finding.code == "pods-not-created"
    assert finding.health is health
    assert finding.recheck_at == recheck
    assert finding.message == "Job train has made none of its 4 pods."


def test_they_begin_anew_when_it_is_resumed() -> None:
    unit = unit_of(a_job("train", created_at=ago(9000), resumed_at=ago(10)))
    finding = found("pods-not-created", unit)
    assert (finding.health, finding.recheck_at) == (Health.STARTING, ago(-110))


def test_and_when_the_last_pod_went() -> None:
    memory = UnitMemory(created=0, created_since=ago(20))
    finding = found("pods-not-created", unit_of(a_job("train"), memory=memory))
    assert (finding.health, finding.recheck_at) == (Health.STARTING, ago(-100))


def test_the_manager_is_named() -> None:
    job = a_job("train", pods=4, managed_by="kueue.x-k8s.io/multikueue")
    assert found("pods-not-created", unit_of(job)).message == (
        "Job train has made none of its 4 pods. Making them is left to "
        "kueue.x-k8s.io/multikueue (spec.managedBy)."
    )


def test_child_jobs_that_are_not_there() -> None:
    jobset = a_jobset("run", a_part("workers", jobs=3))
    one, *_ = child_jobs(jobset)
    missing = ("run-workers-1", "run-workers-2")
    unit = unit_of(jobset, one, *pods_of(one, 2, on="n0"), missing_jobs=missing)
    finding = found("pods-not-created", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == "JobSet run has not made 2 Jobs (run-workers-1 and run-workers-2)."


def test_some_pods_of_a_job_without_a_gang() -> None:
    job = a_job("train", pods=4)
    unit = unit_of(job, *pods_of(job, 2, on="n0"))
    assert found("pods-not-created", unit).message == (
        "2 of 4 pods exist; Job train has not made the rest."
    )


def test_a_podgroup_that_no_pod_names() -> None:
    group = a_group("ring", quorum=4)
    unit = unit_of(Owner(meta=group.meta, desired=4), group)
    assert found("pods-not-created", unit).message == "No pod names PodGroup ring, which needs 4."
    empty = a_group("ring")
    unit = unit_of(Owner(meta=empty.meta), empty)
    assert found("pods-not-created", unit).message == "No pod names PodGroup ring."


def test_old_pods_still_leave() -> None:
    job = a_job("train", created_at=ago(900))
    leaving = a_pod("train-0", of=job, on="n0", deleting_since=ago(15))
    finding = found("pods-not-created", unit_of(job, leaving))
    assert finding.health is Health.STARTING
    assert finding.message == ("Job train has made none of its 2 pods. 1 old pod still terminates.")


def test_events_that_cannot_be_read_are_said() -> None:
    unit = unit_of(a_job("train"), facts={"events_known": False})
    assert found("pods-not-created", unit).message.endswith(
        "Events cannot be read, so a refusal would not be seen."
    )


def test_a_refusal_is_another_reason() -> None:
    job = a_job("train")
    unit = unit_of(job, an_event(job, "FailedCreate", texts.QUOTA))
    assert ask("pods-not-created", unit) is None
    assert first(unit) == "pod-creation-refused"


def test_a_gang_of_which_some_exist_is_below_its_quorum() -> None:
    job = a_job("train", pods=4, group_name="ring")
    assert first(unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2))) == "below-quorum"


def test_a_job_that_backs_off_between_retries() -> None:
    job = a_job("train", retries=2)
    unit = unit_of(job, a_pod("train-0", of=job, phase="Failed", on="n0", ready=False))
    assert ask("pods-not-created", unit) is None
    assert first(unit) == "restarting"


def test_a_failed_child_job_makes_none_any_more() -> None:
    jobset = a_jobset("run", max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed())
    assert first(unit_of(jobset, job)) == "restarting"


def test_young_jobs_of_a_restart_are_a_restart() -> None:
    jobset = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (job,) = child_jobs(jobset, created_at=ago(5))
    assert first(unit_of(jobset, job)) == "restarting"
    (job,) = child_jobs(jobset, created_at=ago(300))
    assert first(unit_of(jobset, job)) == "pods-not-created"
