"""`pod-creation-refused`."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_event,
    child_jobs,
    pods_of,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

WEBHOOK = (
    'Error creating: admission webhook "validate.kyverno.svc-fail" denied the request: resource '
    "Pod/team-a/train-2 was blocked: require-team-label"
)


def refused(note: str, there: int = 2, seconds: float = 30, **job: Any) -> Unit:
    """A gang Job of four pods of which some exist, refused so many seconds ago."""
    objects = a_job("train", pods=4, group_name="ring", **job)
    event = an_event(objects, "FailedCreate", note, last_seen=ago(seconds))
    return unit_of(objects, a_group("ring", quorum=4), event, *pods_of(objects, there))


def test_a_quota_shows_its_usage() -> None:
    finding = require_finding("pod-creation-refused", refused(texts.QUOTA))
    assert finding.health is Health.BLOCKED
    assert (
        finding.message
        == "2 of 4 pods exist. ResourceQuota “q” refuses the rest: pods 2 of 2 used."
    )
    assert finding.advice_texts == ("Raise pods by 2 in ResourceQuota “q”, or free as much.",)
    assert [item.value for item in finding.evidence] == [texts.QUOTA, "2 of 2", "2 of 4"]
    assert first_code(refused(texts.QUOTA)) == "pod-creation-refused"


def test_a_quota_of_accelerators() -> None:
    """16 in all, 12 used, each pod asks for 8: two more pods lack 12."""
    finding = require_finding("pod-creation-refused", refused(texts.QUOTA_GPU))
    assert values_in(finding.message) == "2 4 requests.nvidia.com/gpu 12 16 8"
    assert values_in(*finding.advice_texts) == "requests.nvidia.com/gpu 12"


def test_two_resources_and_amounts_that_are_no_plain_numbers() -> None:
    note = (
        'Error creating: pods "train-1-x" is forbidden: exceeded quota: q, requested: '
        "limits.memory=4Gi,pods=1, used: limits.memory=8Gi,pods=2, limited: limits.memory=8Gi,pods=2"
    )
    finding = require_finding("pod-creation-refused", refused(note))
    assert finding.message == (
        "2 of 4 pods exist. ResourceQuota “q” refuses the rest: limits.memory 8Gi of 8Gi used, "
        "pods 2 of 2 used."
    )
    assert finding.advice_texts == (
        "Raise limits.memory and pods in ResourceQuota “q”, or free some.",
    )


def test_an_amount_with_more_digits_than_a_number_has() -> None:
    many = "9" * 5000
    note = (
        'Error creating: pods "train-1-x" is forbidden: exceeded quota: q, requested: pods=1, '
        f"used: pods={many}, limited: pods={many}"
    )
    finding = require_finding("pod-creation-refused", refused(note))
    assert finding.advice_texts == ("Raise pods in ResourceQuota “q”, or free some.",)


def test_a_webhook_is_quoted() -> None:
    finding = require_finding("pod-creation-refused", refused(WEBHOOK, there=0))
    assert (
        values_in(finding.message)
        == "0 4 validate.kyverno.svc-fail Pod/team-a/train-2 require-team-label"
    )
    assert finding.advice_texts == ()


def test_a_jobset_that_cannot_make_its_jobs() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    note = (
        'jobs.batch "run-workers-1" is forbidden: exceeded quota: q, requested: '
        "count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )
    event = an_event(jobset, "JobCreationFailed", note)
    unit = unit_of(
        jobset, event, missing_jobs=("run-workers-1",), desired=2, name="run-workers-1", noun="Job"
    )
    finding = require_finding("pod-creation-refused", unit)
    assert values_in(*finding.advice_texts) == "count/jobs.batch"
    assert values_in(finding.message) == "1 run-workers-1 count/jobs.batch 1 1"


def test_an_event_older_than_the_newest_pod_is_history() -> None:
    unit = refused(texts.QUOTA, seconds=700)
    assert evaluate("pod-creation-refused", unit) is None
    assert first_code(unit) == "below-quorum"


def test_an_event_of_the_same_second_is_not_older() -> None:
    assert evaluate("pod-creation-refused", refused(texts.QUOTA, seconds=600)) is not None


def test_a_job_with_all_pods_is_not_refused() -> None:
    unit = refused(texts.QUOTA, there=4)
    assert evaluate("pod-creation-refused", unit) is None
    assert first_code(unit) == "not-attempted"


def test_a_gang_at_its_quorum_is_below_its_size() -> None:
    job = a_job("train", pods=4, group_name="ring")
    event = an_event(job, "FailedCreate", texts.QUOTA)
    unit = unit_of(job, a_group("ring", quorum=2), event, *pods_of(job, 2, on="n0"))
    assert evaluate("pod-creation-refused", unit) is None
    assert first_code(unit) == "below-size"


FOLLOWERS = (
    "leader pod not yet scheduled, not creating follower pod. this is an expected, transient error",
    # Seen on 1.37.0 with JobSet v0.12.0: it comes first.
    "follower pod node selector for topology domain not found. missing selector: example.com/rack",
    "follower pod node selector not set",
)


@pytest.mark.parametrize("text", FOLLOWERS)
def test_jobsets_own_turning_away_is_expected(text: str) -> None:
    note = f'Error creating: admission webhook "vpod.kb.io" denied the request: {text}'
    assert evaluate("pod-creation-refused", refused(note)) is None


@pytest.mark.parametrize("text", FOLLOWERS)
def test_the_cause_of_the_first_pending_pod_explains_the_missing_pods(text: str) -> None:
    job = a_job("train", pods=4)
    note = f'Error creating: admission webhook "vpod.kb.io" denied the request: {text}'
    event = an_event(job, "FailedCreate", note)
    leader = a_pod("train-0", of=job, text=texts.GPU_SHORT, created_at=ago(600))
    assert first_code(unit_of(job, event, leader)) == "unschedulable"
    # With a node for the first, it is another matter that the others do not come.
    running = a_pod("train-0", of=job, on="n0", created_at=ago(600))
    assert first_code(unit_of(job, event, running)) == "pods-not-created"


def test_the_refusal_of_another_job_is_not_ours() -> None:
    job, other = a_job("train", pods=4, group_name="ring"), a_job("other")
    event = an_event(other, "FailedCreate", texts.QUOTA)
    unit = unit_of(job, a_group("ring", quorum=4), event, *pods_of(job, 2))
    assert evaluate("pod-creation-refused", unit) is None


def test_a_quota_that_is_short_no_more_is_tried_again_by_the_controller() -> None:
    """Two pods lack, and by its own numbers three are free."""
    note = (
        'Error creating: pods "train-1-x" is forbidden: exceeded quota: q, requested: pods=1, '
        "used: pods=2, limited: pods=5"
    )
    assert require_finding("pod-creation-refused", refused(note)).advice_texts == ()


def test_two_jobs_report_only_the_smallest_shortage() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2, pods=4))
    first, second = child_jobs(jobset)
    event = an_event(first, "FailedCreate", texts.QUOTA)
    unit = unit_of(
        jobset, first, second, event, jobs=(first,), desired=4, name="run-workers-0", noun="Job"
    )
    assert values_in(*require_finding("pod-creation-refused", unit).advice_texts) == "4"


@pytest.mark.parametrize(
    ("said", "step"),
    [
        (
            'pods "t" is forbidden: failed quota: q: must specify limits.memory for: main',
            "Give the pod template limits.memory for: main (needs re-creating).",
        ),
        (
            'pods "t" is forbidden: error looking up service account team-a/trainer: '
            'serviceaccount "trainer" not found',
            "Create ServiceAccount team-a/trainer.",
        ),
        (
            'pods "t-0-" is forbidden: no PriorityClass with name urgent was found',
            "Create PriorityClass urgent, or name one that exists (needs re-creating).",
        ),
        (
            'Internal error occurred: failed calling webhook "pods.kb.io": failed to call webhook: '
            'Post "https://hooks.kube-system.svc:443/mutate": dial tcp: connection refused',
            "Repair webhook “pods.kb.io”: the API server cannot call it.",
        ),
    ],
)
def test_texts_that_leave_no_doubt(said: str, step: str) -> None:
    assert require_finding(
        "pod-creation-refused", refused(f"Error creating: {said}")
    ).advice_texts == (step,)
