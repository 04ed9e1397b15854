"""`running`."""

from dataclasses import replace

from gangboard.domain.health import Health
from tests.domain_objects import (
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    child_jobs,
    placed,
    pods_of,
    succeeded,
)
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def test_all_are_ready() -> None:
    job = a_job("train", pods=3)
    unit = unit_of(job, *pods_of(job, 3, on="n0"))
    finding = require_finding("running", unit)
    assert finding.health is Health.RUNNING
    assert finding.message == "All 3 pods are ready."
    assert first_code(unit) == "running"


def test_a_single_pod_runs() -> None:
    job = a_job("train", pods=1)
    assert (
        require_finding("running", unit_of(job, a_pod(of=job, on="n0"))).message
        == "Its pod is ready."
    )


def test_finished_pods_are_counted_separately() -> None:
    job = a_job("train", pods=3)
    done = a_pod("done", of=job, on="n0", phase="Succeeded", ready=None)
    unit = unit_of(job, done, *pods_of(job, 2, on="n0"))
    assert values_in(require_finding("running", unit).message) == "2 3 1"


def test_a_child_job_that_is_done() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers"))
    driver, _ = child_jobs(jobset, finish=succeeded(), succeeded_pods=1)
    unit = unit_of(jobset, driver, desired=1, name="run-driver-0", noun="Job")
    assert values_in(require_finding("running", unit).message) == "run-driver-0"


def test_pods_collected_with_their_node_are_still_done() -> None:
    job = a_job("train", pods=3, succeeded_pods=1)
    assert first_code(unit_of(job, *pods_of(job, 2, on="n0"))) == "running"


def test_a_pod_on_its_way_out_is_not_ready() -> None:
    job = a_job("train")
    leaving = a_pod("train-1", of=job, on="n0", deleting_since=ago(2))
    unit = unit_of(job, a_pod("train-0", of=job, on="n0"), leaving)
    assert evaluate("running", unit) is None


def test_a_true_condition_without_ready_pods_is_not_running() -> None:
    """PodGroupInitiallyScheduled is terminal in 1.37, so it does not show the present state."""
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, placed=placed()))
    assert evaluate("running", unit) is None
    assert first_code(unit) == "pods-not-created"


def test_a_gang_of_size_zero_is_not_running() -> None:
    jobset = a_jobset("run")
    (job,) = child_jobs(jobset)
    held = unit_of(jobset, replace(job, suspended=True))
    assert evaluate("running", held) is None
    assert evaluate("running", unit_of(a_jobset("run", a_role(jobs=0)))) is None
