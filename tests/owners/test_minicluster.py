"""MiniClusters of the Flux operator: one Job below each, and the verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.owner import Finish, Outcome, Owner
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Linked
from gangboard.owners.minicluster import MiniCluster
from gangboard.policy.plan import offers
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, a_job, a_pod, ago
from tests.gangs import a_gang, assemble
from tests.kinds import registered
from tests.policy.builders import READY

OWNER = registered(MiniCluster)

MINICLUSTER: Json = {
    "apiVersion": "flux-framework.org/v1alpha2",
    "kind": "MiniCluster",
    "metadata": {
        "name": "lammps",
        "namespace": "team-a",
        "uid": "uid-lammps",
        "generation": 1,
        "resourceVersion": "9",
        "creationTimestamp": "2026-11-20T09:00:00Z",
    },
    "status": {
        "size": 4,
        "maximumSize": 4,
        "jobid": "",
        "selector": "hpa-selector=lammps",
        "conditions": [
            {
                "type": "JobMiniClusterReady",
                "reason": "JobMiniClusterReady",
                "status": "True",
                "message": "JobMiniClusterReady",
                "lastTransitionTime": "2026-11-20T09:00:01Z",
            }
        ],
    },
}


def minicluster(**spec: Any) -> Owner:
    fields = {"size": 4, "containers": [{"image": "lammps"}], **spec}
    owner: Owner = model(OWNER.resource, {**MINICLUSTER, "spec": fields})
    return owner


def its_job(of: Owner, **fields: Any) -> Owner:
    value = {
        "uid": "uid-job",
        "desired": 4,
        "parallelism": 4,
        "completions": 4,
        "indexed": True,
        **fields,
    }
    return a_job("lammps", of=of, **value)


def judged(owner: Owner, *objects: Linked) -> Verdict:
    return assess(assemble(owner, objects, now=NOW))


def test_a_minicluster_is_one_gang_with_its_job_and_pods() -> None:
    owner = minicluster()
    job = its_job(owner)
    pods = [a_pod(f"lammps-{index}-x", of=job, index=index, on="n0") for index in range(4)]
    graph = OwnershipGraph()
    created: list[Linked] = [*pods, job, owner]
    for item in created:
        graph.put(item)
    assert graph.roots() == {"uid-lammps"}
    result = judged(owner, job, *pods)
    assert (result.finding.code, result.finding.message) == ("running", "All 4 pods are ready.")
    assert (result.members.desired, result.members.quorum) == (4, None)


@pytest.mark.parametrize(("size", "pods"), [(None, 1), (0, 0), (-3, 0), (7, 7)])
def test_desired_pods_follow_size_and_limits(size: int | None, pods: int) -> None:
    assert minicluster(size=size).desired == pods


def test_services_add_one_pod() -> None:
    """The operator makes that pod itself, and not by the Job (ensureServicePod in pods.go)."""
    owner = minicluster(services=[{"image": "registry"}])
    job = its_job(owner)
    pods = [a_pod(f"lammps-{index}-x", of=job, index=index, on="n0") for index in range(4)]
    whole = judged(owner, job, *pods, a_pod("lammps-services", of=owner, on="n0"))
    assert (whole.finding.code, whole.finding.message) == ("running", "All 5 pods are ready.")
    assert whole.members.desired == 5
    unready = a_pod("lammps-services", of=owner, on="n0", ready=False)
    assert judged(owner, job, *pods, unready).finding.code == "starting"


def test_a_missing_job_is_reported() -> None:
    result = judged(minicluster())
    assert result.finding.code == "pods-not-created"
    assert result.finding.message == "MiniCluster lammps has not created Job lammps."
    assert result.finding.advice_texts == (
        "Start the Flux operator if it does not run: it has reported no refusal.",
    )


def test_the_status_alone_is_not_trusted_and_the_minimum_size_is_no_quorum() -> None:
    """`JobMiniClusterReady` says that all was made: here two of its pods have no node."""
    owner = minicluster(minSize=2, maxSize=8)
    job = its_job(owner)
    placed = [a_pod(f"lammps-{index}-x", of=job, index=index, on="n0") for index in (0, 1)]
    text = "0/1 nodes are available: 1 Insufficient cpu."
    rest = [a_pod(f"lammps-{index}-x", of=job, index=index, text=text) for index in (2, 3)]
    result = judged(owner, job, *placed, *rest)
    assert (result.finding.code, result.finding.health.value) == ("partly-placed", "degraded")
    assert {"spec.minSize": "2"}.items() <= {
        item.label: item.value for item in result.finding.evidence
    }.items()
    assert OWNER.facts(owner) == {"minSize": "2", "maxSize": "8"}


@pytest.mark.parametrize(
    ("outcome", "code"), [(Outcome.SUCCEEDED, "succeeded"), (Outcome.FAILED, "failed")]
)
def test_its_end_is_that_of_its_job(outcome: Outcome, code: str) -> None:
    owner = minicluster()
    job = its_job(owner, finish=Finish(outcome, "BackoffLimitExceeded", "too often", ago(60)))
    assert judged(owner, job).finding.code == code


def test_no_lever_suspends_a_minicluster_and_the_cause_is_shown() -> None:
    owner = minicluster()
    job = its_job(owner)
    context = a_gang(owner=owner, jobs=(job,))
    suspend, _ = offers(context, READY, "uid-lammps", ago(0))
    assert suspend.why_not == (
        "MiniCluster lammps cannot be suspended: MiniClusters have no suspend field, and whether their "
        "operator leaves a suspended Job alone is not known."
    )
    of_job, _ = offers(context, READY, job.meta.ref.uid, ago(0))
    assert of_job.why_not == (
        "gangboard knows no way to suspend one Job of a MiniCluster: Job lammps stays."
    )
