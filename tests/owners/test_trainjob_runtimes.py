"""Fields a TrainJob gets from its runtime: the gang request, training roles and preparing roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Blueprint, Owner
from gangboard.facts.build_gang import completed_tree
from gangboard.owners.jobset import JobSet
from gangboard.owners.trainjob import TrainJob
from tests.decode.reading import Json, model
from tests.kinds import registered
from tests.owners.test_trainjob import NODES, TEMPLATE, below, trainjob

JOBSET = registered(JobSet)
OWNER = registered(TrainJob)

STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
CLUSTER, NAMESPACED = OWNER.blueprints
TRAINS = {"node": "trainer"}
PREPARES = {"dataset-initializer": "dataset-initializer", **TRAINS}


def runtime(
    steps: Mapping[str, str | None] = TRAINS, name: str = "plain", **spec: Any
) -> Blueprint:
    """Return a runtime with a part for each of `steps`, labelled with that step."""
    roles = [
        {"name": part, "template": {"metadata": {"labels": {STEP: step} if step else {}}}}
        for part, step in steps.items()
    ]
    created: Blueprint = model(
        CLUSTER,
        {
            "metadata": {"name": name, "namespace": "", "uid": f"uid-{name}"},
            "spec": {"template": {"spec": {"replicatedJobs": roles}}, **spec},
        },
    )
    return created


def jobset(**pods: int) -> Owner:
    """Return the JobSet of TrainJob `run`: part → how many pods its Job has."""
    jobs = [
        {
            "name": name.replace("_", "-"),
            "replicas": 1,
            "template": {
                "spec": {"parallelism": number, "completions": number, "template": TEMPLATE}
            },
        }
        for name, number in pods.items()
    ]
    of = ("trainer.kubeflow.org/v1alpha1", "run", "t1")
    created: Owner = model(
        JOBSET.resource,
        below("TrainJob", "js1", of, metadata={"name": "run"}, spec={"replicatedJobs": jobs}),
    )
    return created


def completed(known: Blueprint | None, *created: Owner, root: Owner | None = None) -> Owner:
    owner = root or trainjob()
    uids = {obj.meta.ref.uid for obj in (owner, *created)}
    return completed_tree(owner, created, uids, () if known is None else (known,))[0]


def test_a_trainjob_names_its_runtime() -> None:
    (named,) = trainjob().blueprints
    assert named == ObjectRef("trainer.kubeflow.org", "ClusterTrainingRuntime", "", "plain", "")
    (own,) = trainjob(spec={"runtimeRef": {"name": "own", "kind": "TrainingRuntime"}}).blueprints
    assert (own.kind, own.namespace, own.name) == ("TrainingRuntime", "team-a", "own")
    (default,) = trainjob(spec={"runtimeRef": {"name": "x"}}).blueprints
    assert (default.kind, default.namespace) == ("ClusterTrainingRuntime", "")


def test_its_runtime_and_its_progress_are_facts() -> None:
    assert OWNER.facts(trainjob()) == {"Runtime": "ClusterTrainingRuntime plain"}
    status = {
        "progressPercentage": 42,
        "estimatedRemainingSeconds": 5400,
        "lastUpdatedTime": "2026-11-20T09:31:07Z",
    }
    result = OWNER.facts(trainjob(status={"trainerStatus": status}))
    assert result["Progress"] == "42 %, about 90 minutes left, as of 2026-11-20 09:31:07 UTC"
    started = OWNER.facts(trainjob(status={"trainerStatus": {"progressPercentage": 0}}))
    assert started["Progress"] == "0 %"
    assert "Progress" not in OWNER.facts(trainjob(status={"trainerStatus": {}}))


@pytest.mark.parametrize(
    ("seconds", "text"), [(59, "59 s"), (120, "2 minutes"), (7200, "2 hours"), (200_000, "2 days")]
)
def test_the_timeout_is_shown_in_one_unit(seconds: int, text: str) -> None:
    status = {"progressPercentage": 1, "estimatedRemainingSeconds": seconds}
    result = OWNER.facts(trainjob(status={"trainerStatus": status}))
    assert result["Progress"] == f"1 %, about {text} left"


@pytest.mark.parametrize(
    ("policy", "api"),
    [({"coscheduling": {}}, "coscheduling"), ({"volcano": {}}, "Volcano"), ({"workload": {}}, "")],
)
def test_a_pod_group_policy_requests_a_gang(policy: Json, api: str) -> None:
    request = completed(runtime(podGroupPolicy=policy), jobset(node=NODES)).gang_request
    assert request is not None
    assert (request.policy, request.api) == ("gang", api)
    assert request.asker is not None
    assert (request.asker.kind, request.asker.name) == ("ClusterTrainingRuntime", "plain")


@pytest.mark.parametrize("policy", [None, {}])
def test_a_runtime_without_a_policy_requests_no_gang(policy: Json | None) -> None:
    assert completed(runtime(podGroupPolicy=policy), jobset(node=NODES)).gang_request is None


def test_a_runtime_of_another_name_is_ignored() -> None:
    other = runtime(name="other", podGroupPolicy={"coscheduling": {}})
    owner = completed(other, jobset(node=NODES))
    assert owner.gang_request is None
    assert owner.roles[0].asked is None


def test_fields_the_trainer_ignores_are_explained() -> None:
    """It deals numNodes to the part with the label (2.3.0, runtime/core/trainingruntime.go)."""
    (node,) = completed(runtime({"node": None}), jobset(node=1)).roles
    assert node.asked is not None
    assert (node.asked.pods, node.asked.field) == (NODES, "spec.trainer.numNodes")
    assert node.asked.why_not == "ClusterTrainingRuntime plain labels no part as its trainer"
    assert node.asked.advice == (
        f"Label the part of ClusterTrainingRuntime plain that trains {STEP}: trainer (needs re-creating).",
    )


def test_the_part_that_trains_is_to_have_the_nodes() -> None:
    first, node = completed(runtime(PREPARES), jobset(dataset_initializer=1, node=NODES)).roles
    assert first.asked is None
    assert node.asked is not None
    assert (node.asked.pods, node.asked.why_not) == (NODES, "")


@pytest.mark.parametrize("policy", [{"mpi": {}}, {"flux": {}}])
def test_sizes_are_not_compared_if_nodes_follow_other_rules(policy: Json) -> None:
    """With MPI, one node can be the launcher, a role of its own."""
    (node,) = completed(runtime(mlPolicy=policy), jobset(node=NODES - 1)).roles
    assert node.asked is None


def test_a_number_from_the_runtime_only_may_have_changed_since_the_start() -> None:
    owner = trainjob(spec={"trainer": {}})
    (node,) = completed(runtime(mlPolicy={"numNodes": 9}), jobset(node=4), root=owner).roles
    assert node.asked is None


def test_the_runtime_has_the_size_before_the_jobset_exists() -> None:
    owner = trainjob(spec={"trainer": {}})
    assert completed(runtime(mlPolicy={"numNodes": 9}), root=owner).desired == 9
    assert completed(runtime(), root=owner).desired == 1
    assert completed(runtime(mlPolicy={"numNodes": 9})).desired == NODES
    assert completed(None, root=owner).desired == 1


def test_initialisers_are_in_no_gang_by_design() -> None:
    created = jobset(dataset_initializer=1, node=NODES)
    first, node = completed(runtime(PREPARES), created).roles
    assert first.alone == (
        "It prepares data or a model before the nodes start: by design it is in no gang."
    )
    assert node.alone == ""
    gang = runtime(PREPARES, podGroupPolicy={"coscheduling": {}})
    first, node = completed(gang, created).roles
    assert first.alone == ""  # the Trainer counts it as a member


def test_an_empty_runtime_is_decoded() -> None:
    bare: Blueprint = model(CLUSTER, {"metadata": {"name": "plain", "uid": "u", "namespace": ""}})
    assert completed(bare, jobset(node=NODES)).desired == NODES
    assert NAMESPACED.kind == "TrainingRuntime"


@pytest.mark.parametrize(
    ("spec", "policy", "quorum"),
    [
        ({"scheduling": {}}, "gang", None),
        ({"scheduling": {"schedulingPolicy": {"gang": {}}}}, "gang", None),
        ({"scheduling": {"schedulingPolicy": {"gang": {"minCount": 0}}}}, "gang", None),
        ({"scheduling": {"schedulingPolicy": {"gang": {"minCount": 4}}}}, "gang", 4),
        ({"scheduling": {"schedulingPolicy": {"basic": {}}}}, "basic", None),
        ({"scheduling": {"schedulingPolicy": {"gang": {}}}, "podGroupPolicy": {"workload": {}}}, "gang", None),
    ],
)  # fmt: skip
def test_the_scheduling_of_a_runtime_is_the_gang_request(
    spec: Json, policy: str, quorum: int | None
) -> None:
    """Kubernetes' own API, as the old place of the same wish meant it."""
    known = runtime(**spec)
    request = completed(known).gang_request
    assert request is not None
    assert (request.policy, request.quorum, request.api) == (policy, quorum, "")
    assert request.asker == known.meta.ref


@pytest.mark.parametrize("spec", [{}, {"scheduling": None}])
def test_a_runtime_without_scheduling_requests_no_gang(spec: Json) -> None:
    """Near miss."""
    assert completed(runtime(**spec)).gang_request is None
