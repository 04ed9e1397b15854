"""`parallelism`: off until it is switched on, and not where Kubernetes 1.36 refuses it."""

from __future__ import annotations

from gangboard.domain.action import ClusterLevers
from gangboard.domain.group import Policy
from gangboard.levers.parallelism import Parallelism
from tests.domain_objects import a_group, a_jobset, a_role, child_jobs
from tests.gangs import a_gang

LEVER = Parallelism()

ON = ClusterLevers(cluster="east", parallelism=True)


def test_the_lever_is_off_by_default() -> None:
    refusal = LEVER.unavailable(ClusterLevers(cluster="east"))
    assert refusal is not None
    assert refusal.needs == "manage.py set_lever east parallelism on"
    assert LEVER.unavailable(ON) is None
    assert LEVER.optional


def test_the_gang_of_a_job_of_136_keeps_its_parallelism() -> None:
    owner = a_jobset("run", a_role("w", jobs=1, pods=4, group_name="ring"))
    (job,) = child_jobs(owner)
    for version, refused in (("v1alpha2", True), ("v1beta1", False)):
        group = a_group("ring", quorum=4, policy=Policy.GANG, version=version)
        gang = a_gang(owner, (job,), groups=(group,))
        assert (LEVER.why_not(gang, job, ON) is not None) is refused, version


def test_the_actor_writes_0_and_the_old_value_together() -> None:
    bounds = LEVER.bounds("Job", ())
    assert set(bounds.variables) == {"newParallelism", "oldParallelism", "newNote", "oldNote"}
    assert "variables.newNote == string(variables.oldParallelism)" in bounds.rule.expression
