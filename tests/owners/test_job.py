from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.owner import GangRequest, Outcome, Owner, PodRequests
from gangboard.owners.job import Job
from tests.decode.reading import Json, captured, captures, model, read, with_identity
from tests.kinds import registered

OWNER = registered(Job)

JOB = OWNER.resource


def job(status: Json | None = None, metadata: Json | None = None, **spec: Any) -> Owner:
    built: Owner = model(
        JOB, with_identity({"spec": spec, "status": status, "metadata": metadata or {}})
    )
    return built


def condition(type_: str, status: str = "True", reason: str = "", message: str = "") -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": "2026-10-02T09:00:00Z",
        "lastTransitionTime": "2026-10-02T09:00:00Z",
    }


# k8s-gang-api.md §5.3.
EXAMPLE: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "llm-train", "namespace": "team-a", "uid": "77aa", "generation": 2},
    "spec": {
        "parallelism": 4, "completions": 4, "completionMode": "Indexed", "backoffLimit": 6,
        "suspend": False, "podReplacementPolicy": "TerminatingOrFailed",
        "scheduling": {"schedulingPolicy": {"gang": {"minCount": 4}}, "disruptionMode": {"all": {}}},
        "template": {"spec": {"restartPolicy": "Never",
                              "containers": [{"name": "w", "image": "example/train:1"}]}},
    },
    "status": {"startTime": "2026-10-02T08:00:00Z", "active": 4, "ready": 0, "terminating": 0,
               "uncountedTerminatedPods": {}},
}  # fmt: skip


def test_the_deadline_of_a_job() -> None:
    assert job().deadline_seconds is None
    assert job(activeDeadlineSeconds=3600).deadline_seconds == 3600


def test_the_example_of_1_37() -> None:
    owner: Owner = model(JOB, EXAMPLE)
    assert (owner.meta.ref.group, owner.meta.ref.kind, owner.meta.ref.name) == (
        "batch",
        "Job",
        "llm-train",
    )
    assert owner.meta.generation == 2
    assert owner.desired == 4
    assert owner.pod_requests == (PodRequests(4, {}),)
    assert (owner.completions, owner.parallelism, owner.indexed) == (4, 4, True)
    assert owner.gang_request == GangRequest("gang", 4)
    assert owner.max_retries == 6
    assert (owner.active_pods, owner.succeeded_pods, owner.failed_pods) == (4, 0, 0)
    assert owner.started_at == datetime(2026, 10, 2, 8, 0, tzinfo=UTC)
    assert not owner.suspended
    assert owner.resumed_at is None


def test_a_suspended_job_desires_its_pods_and_has_none() -> None:
    owner = job(
        {"ready": 0, "conditions": [condition("Suspended", reason="JobSuspended")]},
        parallelism=4,
        completions=4,
        suspend=True,
    )
    assert owner.suspended
    assert owner.desired == 4
    assert owner.active_pods == 0
    assert owner.resumed_at is None


def test_a_resumed_job_has_its_resume_time() -> None:
    conditions = [condition("Suspended", "False", "JobResumed", "Job resumed")]
    owner = job({"conditions": conditions, "active": 4}, suspend=False)
    assert owner.resumed_at == datetime(2026, 10, 2, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parallelism", "completions", "succeeded", "active", "desired"),
    [
        (None, None, 0, 0, 1),  # both default to one pod
        (4, 4, 0, 0, 4),
        (4, 4, 3, 1, 4),  # a gang keeps its size while its members finish
        (4, 4, 4, 0, 4),
        (8, 4, 0, 4, 4),  # never more at a time than are left to do
        (2, 10, 0, 2, 2),
        (2, 10, 4, 2, 6),  # four are done, two run
        (2, 10, 9, 1, 10),  # one is left
        (2, 10, 10, 0, 10),
        (0, 4, 0, 0, 0),  # paused
        (0, 4, 1, 0, 1),
        (3, None, 0, 3, 3),  # a work queue
        (3, None, 1, 2, 3),  # the controller replaces no pod after the first success
        (3, None, 1, 1, 2),
        (2, 3, 5, 0, 5),  # completions lowered below the finished pods (elastic Indexed Job)
    ],
)
def test_desired_pods_follow_parallelism_and_completions(
    parallelism: int | None, completions: int | None, succeeded: int, active: int, desired: int
) -> None:
    owner = job(
        {"succeeded": succeeded, "active": active},
        parallelism=parallelism,
        completions=completions,
    )
    assert owner.desired == desired


def test_parallel_pods_are_the_capacity_demand() -> None:
    template = {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}}
    owner = job(parallelism=2, completions=1000, template=template)
    assert owner.pod_requests == (PodRequests(2, {"nvidia.com/gpu": Decimal(8)}),)


def test_a_complete_job_has_succeeded() -> None:
    owner = job(
        {
            "conditions": [
                condition("SuccessCriteriaMet", reason="CompletionsReached"),
                condition(
                    "Complete", reason="CompletionsReached", message="Reached expected number"
                ),
            ],
            "succeeded": 2,
        },
        parallelism=2,
        completions=2,
    )
    assert owner.finish is not None
    assert owner.finish.outcome is Outcome.SUCCEEDED
    assert owner.finish.reason == "CompletionsReached"
    assert owner.finish.at == datetime(2026, 10, 2, 9, 0, tzinfo=UTC)
    assert owner.ending == ""


def test_a_failed_job_has_failed() -> None:
    owner = job({"conditions": [condition("Failed", reason="BackoffLimitExceeded")], "failed": 7})
    assert owner.finish is not None
    assert (owner.finish.outcome, owner.finish.reason) == (Outcome.FAILED, "BackoffLimitExceeded")
    assert (owner.retries, owner.failed_pods) == (7, 7)


def test_the_announced_end_precedes_the_deletion_of_the_pods() -> None:
    owner = job({"conditions": [condition("FailureTarget", reason="DeadlineExceeded")]})
    assert (owner.finish, owner.ending) == (None, "DeadlineExceeded")
    assert job({"conditions": [condition("SuccessCriteriaMet")]}).ending == "SuccessCriteriaMet"
    assert job({"conditions": [condition("FailureTarget", "False")]}).ending == ""


@pytest.mark.parametrize(
    ("scheduling", "expected"),
    [
        (None, None),
        ({}, GangRequest("basic")),  # 1.37: basic is the default
        ({"schedulingPolicy": None}, GangRequest("basic")),
        ({"schedulingPolicy": {"basic": {}}}, GangRequest("basic")),
        ({"schedulingPolicy": {"gang": {}}}, GangRequest("gang", 3, derived=True)),  # parallelism
        ({"schedulingPolicy": {"gang": {"minCount": 2}}}, GangRequest("gang", 2)),
        ({"schedulingPolicy": {"gang": {"minCount": 2}, "basic": None}}, GangRequest("gang", 2)),
        ({"schedulingPolicy": {"elastic": {}}}, GangRequest("unknown")),
    ],
)
def test_the_gang_request_is_decoded(scheduling: Json | None, expected: GangRequest | None) -> None:
    assert job(parallelism=3, completions=3, scheduling=scheduling).gang_request == expected


def test_a_group_that_its_pods_bring_along() -> None:
    template = {"spec": {"schedulingGroup": {"podGroupName": "ring"}, "priorityClassName": "high"}}
    owner = job(template=template)
    assert (owner.group_name, owner.priority_class) == ("ring", "high")


def test_a_child_job_has_its_role_and_attempt() -> None:
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
        "jobset.sigs.k8s.io/restart-attempt": "1",
        "kueue.x-k8s.io/queue-name": "gpu-lq",
    }
    annotations = {"scheduling.k8s.io/group-template-name": "workers"}
    owner = job(metadata={"labels": labels, "annotations": annotations})
    assert (owner.role_name, owner.attempt, owner.queue) == ("workers", "1", "gpu-lq")
    assert owner.delegated_template == "workers"
    labels["jobset.sigs.k8s.io/job-restart-attempt"] = "2"
    assert job(metadata={"labels": labels}).attempt == "1.2"


@pytest.mark.parametrize(
    ("managed_by", "foreign"),
    [
        (None, ""),
        ("kubernetes.io/job-controller", ""),
        ("kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/multikueue"),
    ],
)
def test_only_a_foreign_manager_is_named(managed_by: str | None, foreign: str) -> None:
    assert job(managedBy=managed_by).managed_by == foreign


def test_no_status_means_that_no_controller_has_spoken() -> None:
    assert job(None).active_pods is None
    assert job({}).active_pods is None
    assert job({"ready": 0, "uncountedTerminatedPods": {}}).active_pods == 0


def test_a_limit_per_index_is_no_limit_for_the_job() -> None:
    assert job(backoffLimit=2147483647).max_retries is None
    assert job(backoffLimit=0).max_retries == 0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (None, 0),
        ("", 0),
        ("3", 1),
        ("1,3-5,7", 5),
        ("1,x,3-,-4,9-8", 1),  # fields without a writer are ignored
    ],
)
def test_indexes_that_failed_for_good(text: str | None, number: int) -> None:
    owner = job({"failedIndexes": text}, completionMode="Indexed", backoffLimitPerIndex=0)
    assert (owner.failed_indexes, owner.failed_index_count) == (text or "", number)


def test_a_success_policy_lets_a_job_succeed_without_some_indexes() -> None:
    assert not job().has_success_policy
    assert job(successPolicy={"rules": [{"succeededCount": 1}]}).has_success_policy


@pytest.mark.parametrize(
    ("status", "number"), [({"terminating": 2}, 2), ({"terminating": 0}, 0), ({"active": 2}, 0)]
)
def test_a_job_counts_its_terminating_pods(status: dict[str, Any], number: int) -> None:
    assert job(status).terminating_pods == number


@pytest.mark.parametrize(
    ("spec", "waits"),
    [
        ({}, False),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, False),
        ({"podReplacementPolicy": "Failed"}, True),
    ],
)
def test_a_job_that_waits_for_its_terminating_pods(spec: dict[str, Any], waits: bool) -> None:
    assert job(**spec).waits_for_terminating is waits


def test_a_malformed_request_is_reported_and_the_job_kept() -> None:
    template = {
        "spec": {"containers": [{"resources": {"requests": {"cpu": "four", "memory": "1k"}}}]}
    }
    owner, problem = read(JOB, with_identity({"spec": {"template": template}}, "train"))
    assert owner.pod_requests == (PodRequests(1, {"memory": Decimal(1000)}),)
    assert problem is not None
    assert problem.sentence == (
        "Job team-a/train is read only in part: its request of cpu is left out: "
        "'four' is not a quantity."
    )


def test_a_gang_that_is_no_object_is_a_problem() -> None:
    spec = {"scheduling": {"schedulingPolicy": {"gang": 4}}}
    owner, problem = read(JOB, with_identity({"spec": spec}, "train"))
    assert owner is None
    assert problem is not None
    assert problem.lost


@pytest.mark.parametrize(
    "file", captures("job-*"), ids=lambda file: f"{file.parent.name}/{file.stem}"
)
def test_captured_jobs_have_the_state_of_their_name(file: Any) -> None:
    for owner in captured(file, JOB):
        ended = {"job-completed": Outcome.SUCCEEDED, "job-failed": Outcome.FAILED}.get(file.stem)
        assert (owner.finish.outcome if owner.finish else None) == ended
        assert owner.suspended == file.stem.startswith("job-suspended")
        assert owner.indexed
        assert owner.desired == owner.completions == owner.parallelism
        assert owner.pod_requests[0].count == owner.desired
        assert owner.active_pods is not None
        if file.stem == "job-failed":
            assert owner.finish.reason == "BackoffLimitExceeded"
            assert owner.max_retries == 0
            assert owner.retries >= 1


def test_annotations_of_actions_and_the_policy_are_decoded() -> None:
    annotations = {
        "gangboard.dev/paused-parallelism": "4",
        "gangboard.dev/held-by": "trio-w-1",
        "gangboard.dev/action": "0a1b2c",
    }
    owner = job(metadata={"annotations": annotations}, parallelism=0)
    assert (owner.paused_parallelism, owner.parallelism) == (4, 0)
    assert (owner.held_by, owner.last_action) == ("trio-w-1", "0a1b2c")


def test_a_job_without_our_annotations() -> None:
    for metadata in ({}, {"annotations": None}, {"annotations": {"other": "x"}}):
        owner = job(metadata=metadata)
        assert (owner.paused_parallelism, owner.held_by, owner.last_action) == (None, "", "")


@pytest.mark.parametrize("text", ["", "four", "-1", "4.0", "٤", "2147483648", "9" * 5000])
def test_a_kept_parallelism_that_is_no_number(text: str) -> None:
    annotations = {"gangboard.dev/paused-parallelism": text}
    assert job(metadata={"annotations": annotations}).paused_parallelism is None


def test_a_text_that_is_longer_than_any_of_ours_is_not_ours() -> None:
    annotations = {"gangboard.dev/held-by": "h" * 254, "gangboard.dev/action": "a" * 100_000}
    owner = job(metadata={"annotations": annotations})
    assert (owner.held_by, owner.last_action) == ("", "")


@pytest.mark.parametrize(("given", "seconds"), [(None, 30), (0, 0), (600, 600)])
def test_the_grace_period_is_decoded(given: int | None, seconds: int) -> None:
    pod = {"spec": {} if given is None else {"terminationGracePeriodSeconds": given}}
    assert job(template=pod).grace_seconds == seconds
    assert job().grace_seconds == 30


def test_a_job_on_its_own_is_suspended_by_its_field_only() -> None:
    assert OWNER.levers == ("suspend",)
    assert OWNER.child_levers == ()


@pytest.mark.parametrize("state", ["job-suspended", "job-suspended-after-running", "job-running"])
def test_captured_jobs_have_a_grace(state: str) -> None:
    for file in captures(state):
        for owner in captured(file, JOB):
            assert owner.grace_seconds == 30
