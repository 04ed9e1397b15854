"""PodGroups of coscheduling: their pods and their verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.decode.list_watch_decoder import read_page
from gangboard.diagnosis.engine import assess
from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.groups.coscheduling import Coscheduling
from gangboard.plugins import registry
from tests.decode.reading import Json, list_body, model, with_identity
from tests.domain_objects import NOW, a_group, a_job, a_meta, a_pod, ago
from tests.gangs import assemble
from tests.sentence_values import values_in

(PODGROUP,) = Coscheduling.resources
KIND = "PodGroup.scheduling.x-k8s.io"
PLUGIN = "scheduler-plugins"

# gang-owners.md §6, and the fields the controller writes (podgroup_controller.go).
RING: Json = {
    "metadata": {"name": "ring", "namespace": "team-a", "uid": "r1", "resourceVersion": "4"},
    "spec": {"minMember": 3, "scheduleTimeoutSeconds": 120},
    "status": {"phase": "Scheduling", "running": 0, "occupiedBy": "team-a/ring"},
}


def ring(**spec: Any) -> Group:
    result: Group = model(PODGROUP, {**RING, "spec": {**RING["spec"], **spec}})
    return result


def test_a_pod_group() -> None:
    result = ring()
    assert (result.policy, result.quorum) == (Policy.GANG, 3)
    assert (result.meta.ref.group, result.meta.ref.kind) == ("scheduling.x-k8s.io", "PodGroup")
    assert (result.placed, result.conditions, result.detail) == (None, (), {"phase": "Scheduling"})


@pytest.mark.parametrize("least", [1, 0, None])
def test_a_group_of_one_is_no_gang(least: int | None) -> None:
    assert ring(minMember=least).policy is Policy.BASIC


def test_a_number_that_is_none_is_a_problem() -> None:
    page = read_page(list_body([with_identity({"spec": {"minMember": "three"}})]), PODGROUP)
    assert page.problems


def test_pods_name_it_by_a_label_that_schedulers_of_any_own_name_read() -> None:
    def named(scheduler: str) -> Pod:
        labels = {"scheduling.x-k8s.io/pod-group": "ring"}
        pod = {"metadata": {"labels": labels}, "spec": {"schedulerName": scheduler}}
        result: Pod = model(registry.pods(), with_identity(pod))
        return result

    for scheduler in (PLUGIN, "scheduler-plugins-scheduler", "gang-scheduler"):
        pod = named(scheduler)
        assert (pod.group_name, pod.group_kind, pod.ignores_group) == ("ring", KIND, False)
    assert named("default-scheduler").ignores_group


# What is told


def member(name: str, **fields: Any) -> Pod:
    value = {"scheduler_name": PLUGIN, "other_scheduler": True, **fields}
    return a_pod(name, group="ring", group_kind=KIND, **value)


def ignoring(name: str, **fields: Any) -> Pod:
    """A pod of the stock scheduler."""
    value = {"scheduler_name": "default-scheduler", "other_scheduler": False, **fields}
    return member(name, ignores_group=True, **value)


def verdict_of(group: Group, *pods: Pod, **known: Any) -> Verdict:
    return assess(assemble(group, pods, now=NOW, gang_api_version="v1beta1", **known))


def test_a_shortage_quotes_the_scheduler() -> None:
    """Real ones: tests/groups/test_real_schedulers.py."""
    node = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available."
    other = (
        "PodGroup team-a/ring gets rejected due to Pod p2 is unschedulable even after PostFilter"
    )
    pods = [member("p0", text=other), member("p1", text=other), member("p2", text=node)]
    result = verdict_of(ring(), *pods).finding
    assert (result.code, result.health) == ("unschedulable", Health.WAITING)
    assert result.message == (
        "Scheduler scheduler-plugins cannot place 3 pods: 0/1 nodes are available: 1 "
        "Insufficient cpu."
    )
    assert result.advice_texts == ()


def test_an_indirect_refusal_gets_no_invented_cause() -> None:
    """As observed: the pod that did not fit has the same message as the others."""
    texts = ("1 optimistic rejection in PostFilter.", "1 rejection in Unreserve.")
    pods = [member(f"p{n}", text=f"0/1 nodes are available: {one}") for n, one in enumerate(texts)]
    result = verdict_of(ring(minMember=2), *pods).finding
    assert result.message == (
        "Scheduler scheduler-plugins cannot place 2 pods, and does not say why."
    )


def test_near_miss_of_the_default_scheduler_uses_the_arithmetic() -> None:
    """`room` is not read here. For the default scheduler, it is the obstacle."""
    text = "0/1 nodes are available: 1 Insufficient cpu."
    group = a_group("ring", quorum=3)
    pods = [a_pod(f"p{n}", group=group, text=text) for n in range(3)]
    message = verdict_of(group, *pods).finding.message
    assert "gangboard cannot tell why (nodes: not read yet)" in message


def test_a_group_with_too_few_pods() -> None:
    text = (
        "0/1 nodes are available: pre-filter pod p0 cannot find enough sibling pods, current pods "
        "number: 2, minMember of group: 3."
    )
    pods = [member(f"p{n}", text=text, created_at=ago(300)) for n in range(2)]
    result = verdict_of(ring(), *pods).finding
    assert (result.code, result.health) == ("below-quorum", Health.BLOCKED)
    assert result.message.startswith("Group ring has 2 of the 3 pods that it needs")
    assert tuple(step.text for step in result.advice) == (
        "Create 1 more pod in PodGroup ring.",
        "Lower the quorum of PodGroup ring from 3 to 2 (no restart).",
    )


def test_a_running_group() -> None:
    verdict = verdict_of(ring(), *(member(f"p{n}", on="n0") for n in range(3)))
    assert (verdict.finding.code, verdict.members.quorum) == ("running", 3)


def test_pods_of_two_schedulers_that_read_it_are_placed_by_neither() -> None:
    """Near miss: to the stock scheduler its pods are in no group."""
    pods = [member("p0"), member("p1"), member("p2", scheduler_name="other-plugins")]
    result = verdict_of(ring(), *pods).finding
    assert result.code == "mixed-schedulers"
    assert "other-plugins (1 pod)" in result.message
    near = verdict_of(ring(), member("p0"), member("p1"), ignoring("p2")).finding
    assert near.code != "mixed-schedulers"


def test_the_default_scheduler_ignores_the_group() -> None:
    """No problem while all pods run. Near miss: some pods hold a node, and others are refused."""
    verdict = verdict_of(ring(), *(ignoring(f"p{n}", on="n0") for n in range(3)))
    assert (verdict.finding.code, verdict.members.quorum) == ("running", None)
    text = "0/1 nodes are available: 1 Insufficient cpu."
    split = verdict_of(
        ring(), ignoring("p0", on="n0"), ignoring("p1", text=text), ignoring("p2", text=text)
    )
    assert (split.finding.code, split.finding.health) == ("not-ganged", Health.DEGRADED)
    assert values_in(split.finding.message) == "default-scheduler 1 3"


def test_pods_that_ran_before_the_others_were_created_were_no_complete_gang() -> None:
    """Near miss: the whole gang has run, and a member that replaces another one is refused."""
    text = "0/1 nodes are available: 1 Insufficient cpu."
    first = [ignoring("p0", on="n0"), ignoring("p1", on="n0")]
    pods = [*first, ignoring("p2", text=text)]
    early = verdict_of(ring(), *first)
    assert early.finding.code == "running"
    assert verdict_of(ring(), *pods, memory=early.memory).finding.code == "not-ganged"
    whole = verdict_of(ring(), *(ignoring(f"p{n}", on="n0") for n in range(3)))
    assert verdict_of(ring(), *pods, memory=whole.memory).finding.code != "not-ganged"


def test_pods_of_a_job_stay_its_own_where_the_group_is_decoration() -> None:
    job = a_job("train", pods=3)
    group = replace(ring(), meta=a_meta("scheduling.x-k8s.io", "PodGroup", "ring", of=job))
    created: dict[str, Any] = {"now": NOW, "gang_api_version": "v1beta1"}
    pods = [ignoring(f"p{n}", of=job, on="n0") for n in range(3)]
    verdict = assess(assemble(job, [group, *pods], **created))
    assert (verdict.members.desired, verdict.members.quorum) == (3, None)
    assert verdict.jobs[0].scheduling.mode == "pod-by-pod"
    assert verdict.jobs[0].scheduling.reason == (
        "Its pods name PodGroup ring, which scheduler default-scheduler does not read: its pods are "
        "scheduled one by one."
    )
    live = [member(f"p{n}", of=job, on="n0") for n in range(3)]
    verdict = assess(assemble(job, [group, *live], **created))
    assert (verdict.members.desired, verdict.members.quorum) == (3, 3)
    assert verdict.jobs[0].scheduling.mode == "brought-along"


def test_a_missing_group_is_reported_only_if_groups_are_observed() -> None:
    job = a_job("train", pods=1)
    pod = member("p0", of=job, created_at=ago(300))

    def found(*known: str) -> str:
        facts = assemble(job, [pod], now=NOW, known_kinds=frozenset(known))
        return assess(facts).finding.code

    assert found(KIND) == "podgroup-missing"
    assert found() == "not-attempted"
