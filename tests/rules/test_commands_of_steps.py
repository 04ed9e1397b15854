"""Commands to copy of steps that change one object: the object, the field and the value of the sentence.

tests/catalogue.py checks that every change in place has a command. Dry runs are in tests/rules/test_steps_taken.py.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.objects import Controller
from gangboard.domain.owner import GangRequest, Owner
from gangboard.domain.queue import QueueMessage
from gangboard.domain.quota import Queue, QueueName, QueueTree
from gangboard.facts.queue_sentences import with_queue_cause
from tests.advised_commands import without_command
from tests.decode.reading import model
from tests.domain_objects import (
    a_group,
    a_job,
    a_meta,
    a_pod,
    an_entry,
    an_event,
    facts_of,
    pods_of,
)
from tests.owners import test_leaderworkerset as leaderworkerset
from tests.queues import test_kueue_messages as kueue
from tests.queues.test_kueue_queues import built
from tests.rules import test_below_quorum as below_quorum
from tests.rules import test_deactivated as deactivated
from tests.rules import test_pinned_to_lost_node as pinned
from tests.rules import test_quorum_lost as quorum_lost
from tests.rules.evaluation import require_finding, require_gang_finding, unit_of

V1_37: dict[str, Any] = {"kubernetes": (1, 37)}


def patch_of(step: AdvisedStep) -> tuple[str, Any]:
    """Return the words before the patch of a command, and the patch."""
    assert step.command, step.text
    *words, patch = step.command
    assert words[-2:] == ["--type=merge", "-p"]
    return " ".join(words[:-2]), json.loads(patch)


def step_of(steps: tuple[AdvisedStep, ...], beginning: str) -> AdvisedStep:
    (step,) = (step for step in steps if step.text.startswith(beginning))
    return step


def minimum(number: int) -> dict[str, Any]:
    return {"schedulingPolicy": {"gang": {"minCount": number}}}


def test_the_lost_quorum_of_a_group() -> None:
    step = step_of(require_finding("quorum-lost", quorum_lost.held()).advice, "Lower")
    assert patch_of(step) == (
        "kubectl patch podgroups.scheduling.k8s.io ring -n team-a",
        {"spec": minimum(4)},
    )


def test_the_lost_quorum_of_a_job() -> None:
    unit = quorum_lost.resumed(GangRequest("gang", 4))
    (step,) = require_finding("quorum-lost", unit).advice
    assert patch_of(step) == (
        "kubectl patch jobs.batch sweep -n team-a",
        {"spec": {"scheduling": minimum(3)}},
    )


def test_the_quorum_of_a_group_brought_along() -> None:
    steps = require_finding("below-quorum", below_quorum.short(**V1_37)).advice
    assert patch_of(step_of(steps, "Lower the quorum of PodGroup ring from 4 to 2")) == (
        "kubectl patch podgroups.scheduling.k8s.io ring -n team-a",
        {"spec": minimum(2)},
    )


def test_the_quorum_in_the_spec_of_a_job() -> None:
    job = a_job("train", pods=4, gang_request=GangRequest("gang", 4))
    own = a_group("train-pgt-0", quorum=4, of=job)
    unit = unit_of(job, own, *pods_of(job, 2, group=own), facts=V1_37)
    (step,) = require_finding("below-quorum", unit).advice
    assert patch_of(step) == (
        "kubectl patch jobs.batch train -n team-a",
        {"spec": {"scheduling": minimum(2)}},
    )


@pytest.mark.parametrize(
    "api", ["scheduling.x-k8s.io", "scheduling.volcano.sh", "scheduling.run.ai"]
)
def test_the_minimum_of_a_group_of_another_scheduler(api: str) -> None:
    """A group with parts is a near miss: its minimum can come from theirs."""
    group = a_group("ring", quorum=4)
    ref = replace(group.meta.ref, group=api)
    group = replace(group, meta=replace(group.meta, ref=ref))
    pods = [a_pod(f"m-{n}", group="ring", group_kind=f"PodGroup.{api}") for n in (0, 1)]
    owner = Owner(meta=group.meta, desired=4)
    steps = require_finding("below-quorum", unit_of(owner, group, *pods)).advice
    assert patch_of(step_of(steps, "Lower the quorum of PodGroup ring from 4 to 2")) == (
        f"kubectl patch podgroups.{api} ring -n team-a",
        {"spec": {"minMember": 2}},
    )
    with_parts = replace(group, part_label="part")
    others = require_finding("below-quorum", unit_of(owner, with_parts, *pods)).advice
    assert step_of(others, "Lower the quorum").command == ()


@pytest.mark.parametrize("kind", ["PyTorchJob", "MPIJob", "PaddleJob"])
def test_the_minimum_that_an_operator_writes_to_its_group(kind: str) -> None:
    meta = a_meta("kubeflow.org", kind, "run", version="v1")
    owner = Owner(meta=meta, desired=3, gang_request=GangRequest("gang", 6, api="x"))
    group = a_group("run", quorum=6, of=owner)
    pods = [a_pod(f"run-{n}", of=owner, group="run") for n in range(3)]
    steps = require_finding("below-quorum", unit_of(owner, group, *pods)).advice
    assert patch_of(step_of(steps, "Lower schedulingPolicy.minAvailable of")) == (
        f"kubectl patch {kind.lower()}s.kubeflow.org run -n team-a",
        {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 3}}}},
    )


@pytest.mark.parametrize(
    ("fields", "size"),
    [
        # All pods of an Indexed Job: both fields change together.
        ({}, {"parallelism": 4, "completions": 4}),
        ({"completions": 3}, {"parallelism": 4, "completions": 4}),
        # A list of work keeps its length.
        ({"completions": 10}, {"parallelism": 4}),
        ({"indexed": False, "completions": 10}, {"parallelism": 4}),
        ({"indexed": False, "completions": None}, {"parallelism": 4}),
        # Completions of 4 would leave 3 to do. So the size is not known.
        ({"completions": 3, "succeeded_pods": 1, "desired": 3}, None),
    ],
)
def test_a_job_gets_more_pods(fields: dict[str, Any], size: dict[str, int] | None) -> None:
    job = a_job("train", pods=2, group_name="ring", **fields)
    done = fields.get("succeeded_pods", 0)
    ended = [
        a_pod(f"done-{n}", of=job, group="ring", on="n0", phase="Succeeded") for n in range(done)
    ]
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2), *ended, facts=V1_37)
    step = step_of(require_finding("below-quorum", unit).advice, "Scale Job train up by 2 pods")
    if size is None:
        assert step.command == ()
    else:
        assert patch_of(step) == ("kubectl patch jobs.batch train -n team-a", {"spec": size})


def test_a_job_that_must_be_recreated_has_no_command() -> None:
    job = a_job("train", pods=2, group_name="ring")
    facts = {"kubernetes": (1, 36)}
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2), facts=facts)
    assert [step.command for step in require_finding("below-quorum", unit).advice] == [(), ()]


def test_a_deactivated_entry() -> None:
    (step,) = require_gang_finding("deactivated", deactivated.queued()).advice
    assert patch_of(step) == (
        "kubectl patch workloads.kueue.x-k8s.io jobset-run-3f2a1 -n team-a",
        {"spec": {"active": True}},
    )


def test_two_deactivated_entries_need_two_commands() -> None:
    second = an_entry(
        deactivated.JOBSET, "jobset-run-77777", active=False, conditions=(deactivated.BY_HAND,)
    )
    (step,) = require_gang_finding("deactivated", deactivated.queued(second)).advice
    assert "jobset-run-3f2a1 and jobset-run-77777" in step.text
    assert step.command == ()


@pytest.mark.parametrize(
    ("kind", "namespace", "words"),
    [
        ("ClusterQueue", "", "kubectl patch clusterqueues.kueue.x-k8s.io it"),
        ("LocalQueue", "team-a", "kubectl patch localqueues.kueue.x-k8s.io it -n team-a"),
    ],
)
def test_a_stopped_queue_is_started(kind: str, namespace: str, words: str) -> None:
    """An inactive queue is the near miss: a missing flavor has other advice, and the command goes."""
    place = {"metadata": {"namespace": namespace}}
    message = replace(stopped(), about=QueueName("kueue.x-k8s.io", kind, namespace, "it"))
    queue: Queue = built(kind, {"spec": {"stopPolicy": "Hold"}, **place})
    told = with_queue_cause(facts_of(a_job("train"), queues=QueueTree([queue])), message)
    assert told.advice == f"Set spec.stopPolicy of {kind} it to None."
    assert patch_of(AdvisedStep(told.advice, command=told.command)) == (
        words,
        {"spec": {"stopPolicy": "None"}},
    )
    inactive: Queue = built(kind, {"status": {"conditions": [NO_FLAVOR]}, **place})
    told = with_queue_cause(facts_of(a_job("train"), queues=QueueTree([inactive])), message)
    assert told.advice.startswith("Create ResourceFlavor h100")
    assert told.command == ()


NO_FLAVOR = {
    "type": "Active",
    "status": "False",
    "reason": "FlavorNotFound",
    "message": "Can't admit new workloads: references missing ResourceFlavor(s): h100.",
}


def stopped(
    message: str = "ClusterQueue k9-queue is inactive", reason: str = "ClusterQueueStopped"
) -> QueueMessage:
    evicted = kueue.condition("Evicted", "True", reason, "The ClusterQueue is stopped")
    return kueue.only_message(kueue.waiting(message, "Inadmissible"), evicted)


def test_a_stopped_queue_that_only_its_entry_reports() -> None:
    message = stopped()
    assert patch_of(AdvisedStep(message.advice, command=message.command)) == (
        "kubectl patch clusterqueues.kueue.x-k8s.io k9-queue",
        {"spec": {"stopPolicy": "None"}},
    )
    # An inactive queue may lack an object, so nothing is to be set.
    assert stopped(reason="Preempted").command == ()
    # Its name is no plain word.
    assert stopped("ClusterQueue k9;reboot is inactive").command == ()


def test_a_pod_is_deleted_for_its_successor() -> None:
    (step,) = pinned.finding("n2").advice
    assert step.command == ("kubectl", "delete", "pods", "-n", "team-a", "moe-2")


@pytest.mark.parametrize("parent", [False, True])
def test_one_pod_of_a_set_may_be_away(parent: bool) -> None:
    """A set that another controller made would be changed back."""
    rolling = {"maxSurge": 1, "maxUnavailable": 0, "partition": 0}
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": rolling}
    spec = {**leaderworkerset.LWS["spec"], "rolloutStrategy": rollout}
    owner = model(leaderworkerset.OWNER.resource, {**leaderworkerset.LWS, "spec": spec})
    if parent:
        above = Controller("disaggregatedset.x-k8s.io", "DisaggregatedSet", "llm", "uid-llm")
        owner = replace(owner, meta=replace(owner.meta, controller=above))
    event = an_event(owner, "FailedCreate", "Failed to create leader statefulset")
    (rule,) = (rule for rule in leaderworkerset.OWNER.rules if rule.code == "pod-creation-refused")
    finding = rule.find(unit_of(owner, event, desired=6))
    assert finding is not None
    step, _ = finding.advice
    if parent:
        assert step.command == ()
        return
    words, patch = patch_of(step)
    name = owner.meta.ref.name
    assert (
        words
        == f"kubectl patch leaderworkersets.leaderworkerset.x-k8s.io {name} -n {owner.meta.ref.namespace}"
    )
    assert patch == {
        "spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"maxUnavailable": 1}}}
    }


def test_an_unsafe_name_has_no_command() -> None:
    job = a_job("train; reboot", pods=2, group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=4), *pods_of(job, 2), facts=V1_37)
    assert step_of(require_finding("below-quorum", unit).advice, "Scale").command == ()


@pytest.mark.parametrize(
    ("text", "is_missed"),
    [
        ("Lower the quorum of PodGroup a from 4 to 2 (no restart).", True),
        ("Lower the quorum of PodGroup a from 4 to 2 (needs re-creating).", False),
        ("Push image a (no restart).", False),
    ],
)
def test_a_change_in_place_without_a_command_is_missed(text: str, is_missed: bool) -> None:
    assert list(without_command([text])) == ([text] if is_missed else [])
    assert list(without_command([AdvisedStep(text, command=("kubectl", "get", "pods"))])) == []
