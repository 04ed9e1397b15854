"""Long errors of others. A wrapped error has its cause at its end, so each sentence keeps the end."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest

from gangboard.domain.event import CreationFailure
from gangboard.domain.owner import GangRequest
from gangboard.domain.text import quote, quote_list, shorten
from gangboard.facts.lost_members import missing_reason
from tests.domain_objects import (
    a_condition,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    an_event,
    child_jobs,
    facts_of,
    failed,
)
from tests.groups import test_yunikorn as yunikorn
from tests.owners import test_grove as grove
from tests.owners import test_leaderworkerset_groups as leaderworkerset
from tests.owners import test_ray as ray
from tests.queues import test_kueue_messages as kueue
from tests.rules import test_container_config as container_config
from tests.rules import test_image_pull as image_pull
from tests.rules import test_objects_not_made as objects_not_made
from tests.rules import test_pod_creation_refused as pod_creation
from tests.rules import test_pod_setup_failing as pod_setup
from tests.rules.evaluation import require_finding, require_gang_finding, unit_of

CAUSE = "the certificate of policy.example.com has expired"
LONG = f"{'failed to reconcile the object: could not call the server: ' * 6}{CAUSE}"
SHORT = f"could not call the server: {CAUSE}"
BACKEND = "error code: ERR_SYNC, operation: Sync, message: no group, cause: "
Sentence = Callable[[str], str]


def creation_refused(error: str) -> str:
    return require_finding("pod-creation-refused", pod_creation.refused(error)).message


def creation_denied(error: str) -> str:
    """A webhook refuses the pods. The sentence names the webhook, however long the error is."""
    denial = (
        f'Error creating: admission webhook "validate.kyverno.svc-fail" denied the request: {error}'
    )
    message = creation_refused(denial)
    assert "webhook “validate.kyverno.svc-fail”: " in message
    return message


def scheduler_error(error: str) -> str:
    job = a_job("train", group_name="ring")
    scheduled = a_condition("PodScheduled", "False", reason="SchedulerError", message=error)
    pods = [a_pod(f"train-{n}", of=job, group="ring", scheduled=scheduled) for n in (0, 1)]
    return require_finding(
        "scheduler-error", unit_of(job, a_group("ring", quorum=2), *pods)
    ).message


def lost_member(error: str) -> str:
    """The replacement of a lost member meets an error of the scheduler."""
    job = a_job("train", pods=2)
    scheduled = a_condition("PodScheduled", "False", reason="SchedulerError", message=error)
    running = a_pod("train-0", of=job, on="n0")
    unit = unit_of(job, running, a_pod("train-1", of=job, scheduled=scheduled))
    return missing_reason(unit)


def object_not_made(error: str) -> str:
    event = an_event(objects_not_made.OWNER, "Toy", f"it failed: {error}")
    facts = {"creation_failures": (CreationFailure(event, error),)}
    unit = unit_of(objects_not_made.OWNER, event, facts=facts)
    return require_finding("objects-not-made", unit).message


def group_creation(error: str) -> str:
    job = a_job("train", gang_request=GangRequest("gang", 2))
    note = f"Failed to create Workload for Job train: {error}"
    unit = unit_of(job, an_event(job, "FailedWorkloadCreate", note))
    return require_finding("group-creation-failed", unit).message


def pod_setup_failure(error: str) -> str:
    note = f'MountVolume.SetUp failed for volume "config" : {error}'
    unit = pod_setup.refused(*pod_setup.two(), note=note)
    return require_finding("pod-setup-failing", unit).message


def container_not_created(error: str) -> str:
    unit = container_config.stuck("RunContainerError", message=error)
    return require_finding("container-config", unit).message


def image_not_pulled(error: str) -> str:
    note = f'failed to pull image "registry.example.com/train:1": {error}'
    return require_finding("image-pull", image_pull.pulling("ErrImagePull", note)).message


def leaderworkerset_group(error: str) -> str:
    owner = leaderworkerset.with_condition("False", "PodGroupCreateFailed", error)
    return leaderworkerset.judged(owner).finding.message


def ray_failure(error: str) -> str:
    reason = "FailedDeleteWorkerPod"
    failure = ray.condition("ReplicaFailure", "True", reason, f"{reason}\n{error}")
    cluster = ray.raycluster(conditions=(failure,))
    return ray.verdict_of(cluster, *ray.pods_of(cluster, number=1)).finding.message


def ray_invalid(error: str) -> str:
    status = {"conditions": [ray.condition("Ready", "False", "ValidationFailed", error)]}
    return ray.verdict_of(ray.rayservice(status)).finding.message


def ray_application(error: str) -> str:
    status = deepcopy(ray.SERVING)
    status["conditions"] = [ray.condition("Ready", "False", "Initializing", "it starts")]
    applications = {"chat": {"status": "DEPLOY_FAILED", "message": error}}
    status["activeServiceStatus"]["applicationStatuses"] = applications
    service = ray.rayservice(status)
    cluster = ray.raycluster("llm-a", of=service)
    return ray.verdict_of(service, cluster, *ray.pods_of(cluster)).finding.message


def grove_backend(error: str) -> str:
    play = grove.gated()
    podgang = next(item for item in play.store.models() if item.meta.ref.kind == "PodGang")
    play.events = [an_event(podgang, "KAIBackendMappingFailed", note=error)]
    return play.told()[2]


def failed_owner(error: str) -> str:
    job = a_job("train", finish=failed("FrobnicatorJammed", error))
    return require_gang_finding("failed", facts_of(job)).message


def failed_child(error: str) -> str:
    jobset = a_jobset("run", restarts=1, counted_restarts=1, max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed("FrobnicatorJammed", error))
    dead = a_pod("run-workers-0-0", of=job, on="n0", phase="Failed", ready=False)
    return require_finding("restarting", unit_of(jobset, job, dead)).message


def rejected_application(error: str) -> str:
    pods = yunikorn.ended(queue="root.absent")
    event = yunikorn.event_of(pods[0], f"{yunikorn.REJECTED}{error}", "ApplicationFailed")
    return yunikorn.finding_of(pods, event).message


def quota_not_reserved(error: str) -> str:
    return kueue.only_message(kueue.waiting(error, "FrobnicatorJammed")).cause


def not_admitted(error: str) -> str:
    reserved = kueue.condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved")
    unknown = kueue.condition("Admitted", "False", "FrobnicatorJammed", error)
    return kueue.only_message(reserved, unknown).cause


SENTENCES: tuple[Sentence, ...] = (
    creation_refused,
    creation_denied,
    scheduler_error,
    lost_member,
    object_not_made,
    group_creation,
    pod_setup_failure,
    container_not_created,
    image_not_pulled,
    leaderworkerset_group,
    ray_failure,
    ray_invalid,
    ray_application,
    grove_backend,
    failed_owner,
    failed_child,
    rejected_application,
    quota_not_reserved,
    not_admitted,
)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_cause_of_a_long_error_is_in_the_sentence(sentence: Sentence) -> None:
    message = sentence(LONG)
    assert CAUSE in message
    assert " … " in message


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_short_error_stays_as_it_is(sentence: Sentence) -> None:
    message = sentence(SHORT)
    assert SHORT in message
    assert "…" not in message


@pytest.mark.parametrize(("cut", "longest"), [(quote, 100), (shorten, 300)])
def test_both_ends_of_a_text_are_kept_in_whole_words(
    cut: Callable[[str], str], longest: int
) -> None:
    words = [f"w{index}" for index in range(400)]
    exact = "x" * longest
    assert cut(exact) == exact
    head, middle, tail = cut(" ".join(words)).partition(" … ")
    assert middle
    assert head.split() == words[: len(head.split())]
    assert tail.split() == words[-len(tail.split()) :]
    assert longest - 20 < len(head) + len(tail) <= longest
    assert len(cut("x" * 5000)) <= longest + 3


def test_a_list_keeps_its_beginning() -> None:
    assert quote_list("a\n  b") == "a b"
    assert quote_list(f"{'word, ' * 16}x{'y' * 100}") == f"{'word, ' * 15}word…"
    assert len(quote_list("x" * 1000)) == 101
