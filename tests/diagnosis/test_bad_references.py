"""Wrong, odd or many references: each object counts once, and the finding names the problem."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.owner_references import unread_owners
from tests.decode.reading import model
from tests.domain_objects import (
    NOW,
    Made,
    a_composite,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_meta,
    a_pod,
    a_role,
    an_entry,
    child_jobs,
    pods_of,
)
from tests.gangs import assemble

ELSEWHERE = "team-b"


def uid(item: Made) -> str:
    return item.meta.ref.uid


def graph_of(*objects: Made) -> OwnershipGraph:
    graph = OwnershipGraph()
    for obj in objects:
        graph.put(obj)
    return graph


def owned_by(item: Any, *owners: str) -> Any:
    """Return the object with these owner references, without a controller."""
    return replace(item, meta=replace(item.meta, controller=None, owner_uids=owners))


def controlled_by(item: Any, of: Any) -> Any:
    ref = of.meta.ref
    controller = Controller(ref.group, ref.kind, ref.name, ref.uid)
    return replace(item, meta=replace(item.meta, controller=controller, owner_uids=(ref.uid,)))


def judged(graph: OwnershipGraph, root: Any, *objects: Any) -> Verdict:
    """Judge a gang by the members that the graph gives it, as a poll does."""
    members = graph.members(uid(root))
    known = {uid(owner): owner for owner in (root, *objects)}
    facts = assemble(
        root,
        [known[member] for member in members if member != uid(root)],
        now=NOW,
        gang_api_version="v1beta1",
        owned_elsewhere=graph.is_owned_elsewhere(uid(root)),
    )
    return assess(facts)


def reference_messages(verdict: Verdict) -> list[str]:
    return [finding.message for finding in verdict.findings if finding.code == "odd-reference"]


JOBSET = a_jobset("run")
(JOB,) = child_jobs(JOBSET)
PODS = pods_of(JOB, 2, on="n0")


def test_an_object_that_owns_itself_is_reported() -> None:
    jobset = controlled_by(JOBSET, JOBSET)
    objects: list[Made] = [jobset, JOB, *PODS]
    for order in permutations(objects[:3]):
        graph = graph_of(*order, *objects[3:])
        assert graph.roots() == {uid(jobset)}
        assert set(graph.members(uid(jobset))) == set(map(uid, objects))
    verdict = judged(graph, *objects)
    assert (verdict.finding.code, verdict.members.desired, verdict.members.ready) == (
        "running",
        2,
        2,
    )
    assert reference_messages(verdict) == [
        "JobSet run names itself as its owner, which says nothing."
    ]


def test_an_ownership_cycle_is_one_gang_with_each_pod_once() -> None:
    first, other = a_jobset("a", uid="u1"), a_jobset("b", uid="u2")
    first, other = controlled_by(first, other), controlled_by(other, first)
    jobs = [*child_jobs(first), *child_jobs(other)]
    pods = [pod for job in jobs for pod in pods_of(job, 2, on="n0")]
    owners: list[Owner] = [first, other, *jobs]
    for order in permutations(owners):
        graph = graph_of(*order, *pods)
        assert graph.roots() == {"u1"}
    objects: list[Made] = [first, other, *jobs, *pods]
    assert set(graph.members("u1")) == set(map(uid, objects))
    verdict = judged(graph, *objects)
    assert sorted(member.ref.name for member in verdict.pods) == sorted(
        pod.meta.ref.name for pod in pods
    )
    assert reference_messages(verdict) == [
        "Owner references form a ring: JobSet a is taken as the topmost."
    ]


def test_an_owner_of_another_namespace_owns_no_pods() -> None:
    """Kubernetes lets none own it (the garbage collector takes such an owner for gone)."""
    job = a_job("away", of=JOBSET, namespace=ELSEWHERE)
    pod = a_pod("away-0", of=JOB, namespace=ELSEWHERE, on="n0")
    graph = graph_of(JOBSET, JOB, job, pod, *PODS)
    assert graph.roots() == {uid(JOBSET), uid(job), uid(pod)}
    assert set(graph.members(uid(JOBSET))) == {uid(JOBSET), uid(JOB), *map(uid, PODS)}
    assert graph.members(uid(pod)) == (uid(pod),)
    verdict = judged(graph, pod)
    assert reference_messages(verdict) == [
        "Pod away-0 names an owner of another namespace: none can own it, so it is a gang of its own."
    ]
    assert judged(graph, JOBSET, JOB, *PODS).members.desired == 2
    assert reference_messages(judged(graph, JOBSET, JOB, *PODS)) == []
    # Whichever comes last.
    assert graph_of(pod, job, *PODS, JOB, JOBSET).roots() == graph.roots()


def test_a_move_to_another_namespace_touches_both_gangs() -> None:
    graph = graph_of(JOBSET, JOB, *PODS)
    away = replace(JOB, meta=replace(JOB.meta, ref=replace(JOB.meta.ref, namespace=ELSEWHERE)))
    assert graph.put(away) >= {uid(JOBSET), uid(JOB)}
    assert graph.root_of(uid(PODS[0])) == uid(PODS[0])
    assert graph.put(JOB) >= {uid(JOBSET)}
    assert graph.roots() == {uid(JOBSET)}


def test_groups_holds_and_entries_of_another_namespace_are_not_attached() -> None:
    group = a_group("ring", quorum=2, of=JOB, namespace=ELSEWHERE)
    hold = a_hold(JOB, namespace=ELSEWHERE)
    entry = an_entry(JOBSET, namespace=ELSEWHERE)
    graph = graph_of(JOBSET, JOB, group, hold, entry)
    assert graph.root_of(uid(group)) == uid(group)
    assert graph.root_of(uid(hold)) is None
    assert graph.root_of(uid(entry)) is None
    assert set(graph.members(uid(JOBSET))) == {uid(JOBSET), uid(JOB)}


def test_the_valid_controller_of_two_owns_the_pod() -> None:
    """The API server refuses it (only one reference can have controller set to true); a bad one might not."""
    first, second = a_job("first"), a_job("second")
    references = [
        {"apiVersion": "batch/v1", "kind": "Job", "controller": True,
         "name": owner.meta.ref.name, "uid": uid(owner)}
        for owner in (first, second)
    ]  # fmt: skip
    meta = {"name": "p", "namespace": "team-a", "uid": "up", "ownerReferences": references}
    pod: Pod = model(POD, {"metadata": meta, "spec": {"containers": []}})
    objects: list[Made] = [first, second, pod]
    for order in permutations(objects):
        graph = graph_of(*order)
        visible = [root for root in graph.roots() if "up" in graph.members(root)]
        assert visible == [uid(first)]


@pytest.mark.parametrize("others", [("unknown",), ("unknown", "another"), ()])
def test_any_reference_to_a_known_owner_counts_where_no_controller_is_known(
    others: tuple[str, ...],
) -> None:
    job = owned_by(JOB, *others, uid(JOBSET))
    pods = [owned_by(pod, *others, uid(JOB)) for pod in PODS]
    objects: list[Made] = [JOBSET, job, *pods]
    for order in permutations(objects):
        graph = graph_of(*order)
        assert graph.roots() == {uid(JOBSET)}
        assert set(graph.members(uid(JOBSET))) == set(map(uid, objects))
    verdict = judged(graph, *objects)
    assert (verdict.finding.code, verdict.members.desired) == ("running", 2)
    (state,) = verdict.jobs
    assert (state.created, state.ready) == (2, 2)


def test_the_first_known_owner_of_two_non_controllers_counts() -> None:
    first, second = a_job("first"), a_job("second")
    pod = owned_by(a_pod("p"), uid(first), uid(second))
    graph = graph_of(second, pod)
    assert graph.root_of(uid(pod)) == uid(second)
    assert uid(first) in graph.put(first)
    assert graph.root_of(uid(pod)) == uid(first)
    assert uid(pod) not in graph.members(uid(second))
    assert uid(second) in graph.remove(uid(first))
    assert graph.root_of(uid(pod)) == uid(second)


def test_two_owners_of_one_tree_are_one_gang() -> None:
    top = Owner(meta=a_meta("trainer.kubeflow.org", "TrainJob", "run", uid="t1"))
    jobset = controlled_by(JOBSET, top)
    job = owned_by(JOB, "t1", uid(jobset))
    graph = graph_of(top, jobset, job, *PODS)
    assert graph.roots() == {"t1"}
    assert set(graph.members("t1")) == {"t1", uid(jobset), uid(job), *map(uid, PODS)}


def test_a_label_that_names_a_missing_object() -> None:
    labels = {"leaderworkerset.sigs.k8s.io/name": "serve"}
    pod = a_pod(
        "serve-0", of=Controller("apps", "StatefulSet", "serve", "s"), labels=labels, on="n0"
    )
    verdict = judged(graph_of(pod), pod)
    assert verdict.finding.code == "running"
    assert reference_messages(verdict) == [
        "Pod serve-0 is labelled as one of LeaderWorkerSet serve, which is not known."
    ]


def test_five_thousand_children() -> None:
    jobset = a_jobset("large", a_role("w", jobs=5000, pods=1))
    jobs = child_jobs(jobset)
    pods = [pod for job in jobs for pod in pods_of(job, 1, on="n0")]
    graph = graph_of(*pods, *jobs, jobset)
    assert graph.roots() == {uid(jobset)}
    assert len(graph.members(uid(jobset))) == 10_001
    verdict = judged(graph, jobset, *jobs, *pods)
    assert (verdict.finding.code, verdict.members.desired, verdict.members.ready) == (
        "running", 5000, 5000,
    )  # fmt: skip


# What nobody reads


RING = Controller("example.com", "RingRun", "train", "uid-run")


def unread(root: Made, *rest: Made) -> tuple[str, ...]:
    return unread_owners(assemble(root, rest, now=NOW))  # type: ignore[arg-type]


def test_an_owner_of_an_unsupported_kind_is_named() -> None:
    job = a_job("train", of=RING)
    assert unread(job, *pods_of(job, 2)) == ("RingRun/train",)


def test_the_creator_of_an_unowned_group_is_named() -> None:
    group = a_group("ring", quorum=2)
    pods = [a_pod(f"train-{number}", of=RING, group=group) for number in range(2)]
    assert unread(group, *pods) == ("RingRun/train",)
    assert unread(pods[0]) == ("RingRun/train",)


def test_owners_that_are_known_are_not_named() -> None:
    jobset = a_jobset("run")
    jobs = child_jobs(jobset)
    assert unread(jobset, *jobs, *pods_of(jobs[0], 2)) == ()
    run = a_job("nightly-1", of=Controller("batch", "CronJob", "nightly", "uid-nightly"))
    assert unread(run, *pods_of(run, 1)) == ()


def test_a_group_that_owns_another_group_is_not_reported() -> None:
    tree, leaf = a_composite("tree"), a_group("leaf", quorum=1)
    assert unread(tree, controlled_by(leaf, tree)) == ()
