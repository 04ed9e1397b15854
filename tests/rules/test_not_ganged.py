"""`not-ganged`."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import GangRequest
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from tests.domain_objects import a_group, a_job, a_jobset, a_role, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.sentence_values import values_in

GANG: dict[str, Any] = {"gang_request": GangRequest("gang", 4)}


def test_silent_fall_back() -> None:
    job = a_job("train", pods=4, **GANG)
    unit = unit_of(job, *pods_of(job, 4, on="n0"))
    finding = require_finding("not-ganged", unit)
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "4 4"
    assert first_code(unit) == "not-ganged"


def test_the_cluster_serves_no_groups() -> None:
    job = a_job("train", pods=4, **GANG)
    unit = unit_of(job, *pods_of(job, 4, on="n0"), facts={"gang_api_version": ""})
    assert require_finding("not-ganged", unit).message.endswith("this cluster serves no PodGroups.")


def test_the_field_was_dropped() -> None:
    """JobSet keeps schedulingGroup, the API server drops it from Job and pods with its gate off."""
    jobset = a_jobset("run", a_role("workers", group_name="ring"))
    (job,) = child_jobs(jobset, group_name="")
    unit = unit_of(jobset, job, *pods_of(job, 2, on="n0"))
    assert require_finding("not-ganged", unit).message == (
        "JobSet run requests PodGroup ring, but 2 pods are scheduled one by one: "
        "schedulingGroup was dropped on the way."
    )


def test_pods_in_their_group() -> None:
    job = a_job("train", pods=2, **GANG)
    unit = unit_of(job, a_group("ring", quorum=2), *pods_of(job, 2, on="n0", group="ring"))
    assert evaluate("not-ganged", unit) is None
    assert first_code(unit) == "running"


def test_a_job_without_gang_scheduling_runs() -> None:
    job = a_job("train")
    assert first_code(unit_of(job, *pods_of(job, 2, on="n0"))) == "running"


def test_basic_is_no_gang() -> None:
    job = a_job("train", gang_request=GangRequest("basic"))
    assert evaluate("not-ganged", unit_of(job, *pods_of(job, 2, on="n0"))) is None


def test_no_pods_yet() -> None:
    assert first_code(unit_of(a_job("train", **GANG))) == "pods-not-created"


@pytest.mark.parametrize(
    ("minor", "steps"),
    [
        (
            (1, 37),
            (
                "Turn on the feature gates GenericWorkload and WorkloadWithJob, serve "
                "scheduling.k8s.io/v1beta1 (--runtime-config), and re-create Job train.",
            ),
        ),
        ((1, 33), ()),
        # Stable in 1.38, so no gate explains a cluster without groups.
        ((1, 38), ()),
        ((1, 39), ()),
        (None, ()),
    ],
)
def test_a_cluster_without_groups_is_named(
    minor: tuple[int, int] | None, steps: tuple[str, ...]
) -> None:
    job = a_job("train", pods=4, **GANG)
    facts = {"gang_api_version": "", "kubernetes": minor}
    assert (
        require_finding(
            "not-ganged", unit_of(job, *pods_of(job, 4, on="n0"), facts=facts)
        ).advice_texts
        == steps
    )


def test_pods_that_bring_their_group_along_need_no_gate_of_jobs() -> None:
    jobset = a_jobset("run", a_role("workers", group_name="ring"))
    (job,) = child_jobs(jobset, group_name="")
    facts = {"gang_api_version": "", "kubernetes": (1, 36)}
    unit = unit_of(jobset, job, *pods_of(job, 2, on="n0"), facts=facts)
    assert (
        values_in(*require_finding("not-ganged", unit).advice_texts)
        == "scheduling.k8s.io/v1alpha2 runtime-config"
    )


def test_a_job_can_bring_its_group_along() -> None:
    job = a_job("train", pods=4, **GANG)
    assert require_finding("not-ganged", unit_of(job, *pods_of(job, 4, on="n0"))).advice_texts == (
        "Create a PodGroup, and re-create Job train with its name as schedulingGroup in the pod template.",
    )


def test_the_cause_of_a_dropped_field_is_unknown() -> None:
    jobset = a_jobset("run", a_role("workers", group_name="ring"))
    (job,) = child_jobs(jobset, group_name="")
    assert (
        require_finding("not-ganged", unit_of(jobset, job, *pods_of(job, 2, on="n0"))).advice_texts
        == ()
    )


MARK = "scheduling.x-k8s.io/pod-group"
RUNTIME = ObjectRef("trainer.kubeflow.org", "ClusterTrainingRuntime", "", "gang", "uid-gang")
OTHER = GangRequest("gang", api="coscheduling", asker=RUNTIME, mark=MARK)


def half_placed(request: GangRequest = OTHER, **fields: Any) -> Unit:
    """Two of three members hold a node, one is refused."""
    memory = fields.pop("memory", UnitMemory())
    job = a_job("train", pods=3, gang_request=request)
    labelled = {"labels": {MARK: "run"}, **fields}
    first, second, _ = pods_of(job, 3, on="n0", **labelled)
    *_, third = pods_of(job, 3, text="0/2 nodes are available: 2 Insufficient cpu.", **labelled)
    return unit_of(job, first, second, third, memory=memory)


def test_the_default_scheduler_ignores_another_grouping_api() -> None:
    finding = require_finding("not-ganged", half_placed())
    assert finding.health is Health.DEGRADED
    assert values_in(finding.message) == "default-scheduler 2 3"
    assert finding.evidence[0].source == RUNTIME


def test_a_scheduler_of_its_own_may_well_read_the_groups_of_another_api() -> None:
    assert evaluate("not-ganged", half_placed(scheduler_name="scheduler-plugins")) is None


def test_pods_missing_in_the_api_are_unknown() -> None:
    """The runtime was changed after they were made."""
    assert evaluate("not-ganged", half_placed(labels={})) is None


def test_pods_that_are_in_a_group_of_kubernetes_are_no_matter_of_another_api() -> None:
    """Kubernetes 1.36 makes one for each child Job."""
    assert evaluate("not-ganged", half_placed(group="ring")) is None


def test_a_replacement_is_scheduled_individually_by_any_scheduler() -> None:
    assert evaluate("not-ganged", half_placed(memory=whole_memory())) is None


def test_gang_policy_of_another_api_proves_nothing() -> None:
    job = a_job("train", pods=2, gang_request=OTHER)
    labels = {MARK: "run"}
    assert evaluate("not-ganged", unit_of(job, *pods_of(job, 2, on="n0", labels=labels))) is None
    waiting = pods_of(job, 2, text="0/2 nodes are available: 2 Insufficient cpu.", labels=labels)
    assert evaluate("not-ganged", unit_of(job, *waiting)) is None
