from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from gangboard.domain.owner import Dependency, GangForm, GangRequest, Outcome, Owner
from gangboard.owners.job import Job
from gangboard.owners.jobset import MAX_CHILDREN, JobSet
from gangboard.owners.jobset.policies import FailureRule, Policies, decode_policies
from tests.decode.reading import Json, captured, captures, model, read, with_identity
from tests.kinds import registered

JOB = registered(Job)
OWNER = registered(JobSet)

JOBSET = OWNER.resource
is_current = OWNER.is_current

# jobset-kueue.md §6.
EXAMPLE: Json = yaml.safe_load("""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: llama-ft
  namespace: team-a
  uid: 5b0e4d5c-7c0e-4a51-9f5e-0d6a3c1f2a10
  generation: 3
  labels: {kueue.x-k8s.io/queue-name: gpu-lq}
spec:
  suspend: false
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  successPolicy: {operator: All, targetReplicatedJobs: [driver]}
  startupPolicy: {startupPolicyOrder: AnyOrder}
  failurePolicy:
    maxRestarts: 3
    restartStrategy: Recreate
    rules:
    - {name: hostMaintenance, action: RestartJobSetAndIgnoreMaxRestarts, onJobFailureReasons: [PodFailurePolicy]}
  coordinator: {replicatedJob: driver, jobIndex: 0, podIndex: 0}
  ttlSecondsAfterFinished: 86400
  replicatedJobs:
  - name: driver
    groupName: default
    replicas: 1
    template:
      spec:
        parallelism: 1
        completions: 1
        completionMode: Indexed
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            containers:
            - {name: main, image: example/driver, resources: {requests: {cpu: "2"}}}
  - name: workers
    groupName: default
    replicas: 2
    dependsOn: [{name: driver, status: Ready}]
    template:
      spec:
        parallelism: 4
        completions: 4
        completionMode: Indexed
        backoffLimit: 0
        template:
          spec:
            restartPolicy: Never
            terminationGracePeriodSeconds: 30
            containers:
            - {name: main, image: example/worker, resources: {requests: {cpu: "8", nvidia.com/gpu: "1"}, limits: {nvidia.com/gpu: "1"}}}
status:
  conditions:
  - {type: Suspended, status: "False", reason: ResumeJobs, message: jobset is resumed, lastTransitionTime: "2026-11-20T09:00:05Z"}
  - {type: RestartingJobSet, status: "False", reason: JobsReady, message: all jobs are ready, lastTransitionTime: "2026-11-20T09:20:41Z"}
  restarts: 1
  restartsCountTowardsMax: 1
  replicatedJobsStatus:
  - {name: workers, ready: 1, succeeded: 0, failed: 0, active: 2, suspended: 0}
  - {name: driver, ready: 1, succeeded: 0, failed: 0, active: 1, suspended: 0}
""")


def role(name: str, **options: Any) -> Json:
    return {"name": name, "template": {"spec": {}}, **options}


def jobset(*roles: Json, status: Json | None = None, **spec: Any) -> Owner:
    obj = with_identity({"spec": {"replicatedJobs": list(roles), **spec}, "status": status}, "run")
    built: Owner = model(JOBSET, obj)
    return built


def child(name: str = "run-workers-0", **labels: str) -> Owner:
    prefixed = {
        f"jobset.sigs.k8s.io/{key.replace('_', '-')}": value for key, value in labels.items()
    }
    built: Owner = model(JOB.resource, with_identity({"metadata": {"labels": prefixed}}, name))
    return built


def test_the_example_is_decoded() -> None:
    owner: Owner = model(JOBSET, EXAMPLE)
    assert (owner.meta.ref.group, owner.meta.ref.kind) == ("jobset.x-k8s.io", "JobSet")
    assert owner.desired == 9
    assert owner.queue == "gpu-lq"
    assert (owner.restarts, owner.counted_restarts, owner.max_restarts) == (1, 1, 3)
    assert not owner.restarting
    assert owner.finish is None
    assert owner.resumed_at == datetime(2026, 11, 20, 9, 0, 5, tzinfo=UTC)
    driver, workers = owner.roles
    assert (driver.name, driver.replicas, driver.pods, driver.depends_on) == ("driver", 1, 1, ())
    assert driver.child_names == ("llama-ft-driver-0",)
    assert (driver.ready, driver.succeeded) == (1, 0)
    assert (workers.replicas, workers.pods) == (2, 4)
    assert workers.requests == {"cpu": 8, "nvidia.com/gpu": 1}
    assert workers.depends_on == (Dependency("driver", "Ready"),)
    assert workers.child_names == ("llama-ft-workers-0", "llama-ft-workers-1")
    assert (workers.ready, workers.succeeded) == (1, 0)
    assert [shape.count for shape in owner.pod_requests] == [1, 8]
    assert owner.pod_requests[1].requests == {"cpu": 8, "nvidia.com/gpu": 1}


def test_the_reactions_of_the_example() -> None:
    owner: Owner = model(JOBSET, EXAMPLE)
    rule = FailureRule("RestartJobSetAndIgnoreMaxRestarts", reasons=("PodFailurePolicy",))
    assert decode_policies(owner) == Policies(
        success_operator="All",
        success_roles=("driver",),
        failure_rules=(rule,),
        restart_strategy="Recreate",
        in_order=False,
        coordinator="llama-ft-driver-0",
        ttl_seconds=86400,
    )
    assert owner.independent_claim == ""


def test_missing_policies_have_the_defaults_of_the_webhook() -> None:
    assert decode_policies(jobset()) == Policies(success_operator="All")
    assert decode_policies(jobset(failurePolicy={"maxRestarts": 1})) == Policies(
        restart_strategy="Recreate"
    )


def test_all_policy_fields_are_decoded() -> None:
    rule = {
        "action": "RestartJob",
        "onJobFailureReasons": ["BackoffLimitExceeded"],
        "onJobFailureMessagePatterns": ["exit code 3"],
        "targetReplicatedJobs": ["workers"],
    }
    owner = jobset(
        successPolicy={"operator": "Any", "targetReplicatedJobs": None},
        failurePolicy={"restartStrategy": "BlockingRecreate", "rules": [rule, {}]},
        startupPolicy={"startupPolicyOrder": "InOrder"},
        coordinator={"replicatedJob": "driver", "jobIndex": 2},
        ttlSecondsAfterFinished=0,
    )
    assert decode_policies(owner) == Policies(
        success_operator="Any",
        failure_rules=(
            FailureRule("RestartJob", ("BackoffLimitExceeded",), ("workers",), ("exit code 3",)),
            FailureRule(""),
        ),
        restart_strategy="BlockingRecreate",
        in_order=True,
        coordinator="run-driver-2",
        ttl_seconds=0,
    )


@pytest.mark.parametrize(
    ("annotations", "spec", "claim"),
    [
        ({"reconciliation-mode": "Independent"}, {},
         "jobset.sigs.k8s.io/reconciliation-mode: Independent"),
        ({"skip-suspend-reconciliation": "true"}, {},
         "jobset.sigs.k8s.io/skip-suspend-reconciliation: true"),
        ({}, {"suspendReconciliation": "Ignore"}, "spec.suspendReconciliation: Ignore"),
        ({}, {"updatePolicy": {"reconciliationMode": "Independent"}},
         "spec.updatePolicy.reconciliationMode: Independent"),
        ({"reconciliation-mode": "Sync", "skip-suspend-reconciliation": "false"},
         {"suspendReconciliation": "Sync", "updatePolicy": {"reconciliationMode": "Sync"}}, ""),
        ({"reconciliation-mode": "independent"}, {"updatePolicy": None}, ""),
    ],
)  # fmt: skip
def test_asking_for_independent_children(annotations: Json, spec: Json, claim: str) -> None:
    named = {f"jobset.sigs.k8s.io/{key}": value for key, value in annotations.items()}
    obj = with_identity({"metadata": {"annotations": named}, "spec": spec}, "run")
    assert model(JOBSET, obj).independent_claim == claim


def test_the_longest_grace_of_its_parts_counts() -> None:
    def ending(name: str, **pod: Any) -> Json:
        return role(name, template={"spec": {"template": {"spec": pod}}})

    patient = ending("driver", terminationGracePeriodSeconds=120)
    hasty = ending("workers", terminationGracePeriodSeconds=0)
    assert jobset(patient, hasty).grace_seconds == 120
    assert jobset(hasty).grace_seconds == 0
    assert jobset(hasty, ending("silent")).grace_seconds == 30
    assert jobset().grace_seconds == 30


def test_a_jobset_offers_levers_for_itself_and_its_jobs() -> None:
    assert OWNER.levers == ("suspend",)
    assert OWNER.child_levers == ("native", "hold", "parallelism")
    assert OWNER.suspend_field == ("spec", "suspend")


def test_the_last_action_of_gangboard() -> None:
    annotations = {"gangboard.dev/action": "0a1b2c"}
    assert (
        model(JOBSET, with_identity({"metadata": {"annotations": annotations}})).last_action
        == "0a1b2c"
    )


def test_its_child_job_belongs_to_the_current_attempt() -> None:
    owner: Owner = model(JOBSET, EXAMPLE)
    assert is_current(owner, child("llama-ft-workers-1", restart_attempt="1"))
    assert not is_current(owner, child("llama-ft-workers-1", restart_attempt="0"))
    # Its status was not seen yet: the Job was made for the next attempt.
    assert is_current(owner, child("llama-ft-workers-1", restart_attempt="2"))


@pytest.mark.parametrize("attempt", ["", "first", "٣", "9" * 5000])
def test_a_child_without_a_readable_attempt_is_not_hidden(attempt: str) -> None:
    assert is_current(jobset(status={"restarts": 3}), child(restart_attempt=attempt))


def test_restarts_of_single_jobs() -> None:
    status = {
        "restarts": 1,
        "restartsCountTowardsMax": 0,
        "replicatedJobsStatus": [
            {"name": "workers", "jobRestarts": [0, 2], "jobRestartsCountTowardsMax": [0, 1]}
        ],
    }
    owner = jobset(role("workers", replicas=2), status=status, failurePolicy={"maxRestarts": 2})
    assert owner.job_restarts == {"run-workers-1": 2}
    assert (owner.restarts, owner.counted_restarts, owner.max_restarts) == (1, 1, 2)
    old = child("run-workers-1", restart_attempt="1", job_restart_attempt="1")
    new = child("run-workers-1", restart_attempt="1", job_restart_attempt="2")
    sibling = child("run-workers-0", restart_attempt="1", job_restart_attempt="0")
    assert [is_current(owner, job) for job in (old, new, sibling)] == [False, True, True]


@pytest.mark.parametrize(
    ("action", "counted"),
    [("RestartJobSetAndIgnoreMaxRestarts", 0), ("RestartJobSet", 5), ("RestartJob", 5)],
)
def test_a_count_of_zero_is_omitted(action: str, counted: int) -> None:
    """Before v0.6 there is no such count and no restart that does not count."""
    policy = {"maxRestarts": 3, "rules": [{"action": action}]}
    owner = jobset(role("workers"), status={"restarts": 5}, failurePolicy=policy)
    assert (owner.restarts, owner.counted_restarts) == (5, counted)


def test_a_restart_in_place_counts_by_the_attempt_of_its_pods() -> None:
    status = {"currentInPlaceRestartAttempt": 2, "previousInPlaceRestartAttempt": 1}
    owner = jobset(role("workers"), status=status, failurePolicy={"maxRestarts": 3})
    assert owner.restarts == 0
    assert owner.counted_restarts == 2


def test_each_role_waits_for_its_predecessor_in_order() -> None:
    owner = jobset(role("a"), role("b"), role("c"), startupPolicy={"startupPolicyOrder": "InOrder"})
    assert [item.depends_on for item in owner.roles] == [
        (),
        (Dependency("a", "Ready", "startupPolicy"),),
        (Dependency("b", "Ready", "startupPolicy"),),
    ]


def test_defaults_of_the_crd() -> None:
    owner = jobset(role("workers", template=None))
    (workers,) = owner.roles
    assert (workers.replicas, workers.pods) == (1, 1)
    assert workers.child_names == ("run-workers-0",)
    assert (workers.ready, workers.succeeded) == (None, None)
    assert owner.max_restarts is None
    assert jobset(role("workers"), failurePolicy={}).max_restarts == 0


@pytest.mark.parametrize(
    ("spec", "pods"),
    [({"parallelism": 4, "completions": 2}, 2), ({"parallelism": 3}, 3), ({"parallelism": 0}, 0)],
)
def test_pods_of_a_part(spec: Json, pods: int) -> None:
    owner = jobset(role("workers", replicas=3, template={"spec": spec}))
    assert owner.roles[0].pods == pods
    assert owner.desired == 3 * pods


@pytest.mark.parametrize(
    ("status", "outcome", "reason"),
    [
        ({"conditions": [{"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}],
          "terminalState": "Completed"}, Outcome.SUCCEEDED, "AllJobsCompleted"),
        ({"conditions": [{"type": "Failed", "status": "True", "reason": "ReachedMaxRestarts"}]},
         Outcome.FAILED, "ReachedMaxRestarts"),
        ({"terminalState": "Failed"}, Outcome.FAILED, ""),
    ],
)  # fmt: skip
def test_the_end_is_decoded(status: Json, outcome: Outcome, reason: str) -> None:
    finish = jobset(status=status).finish
    assert finish is not None
    assert (finish.outcome, finish.reason) == (outcome, reason)


def test_an_unfinished_jobset_has_no_end() -> None:
    for state in ("", "Paused"):
        assert jobset(status={"terminalState": state}).finish is None


def test_a_restart_that_is_under_way() -> None:
    conditions = [{"type": "RestartingJobSet", "status": "True", "reason": "DefaultFailurePolicy"}]
    assert jobset(status={"conditions": conditions}).restarting


def test_a_group_that_all_parts_bring_along() -> None:
    def bringing(name: str, group: str) -> Json:
        pod = {"spec": {"schedulingGroup": {"podGroupName": group}, "priorityClassName": "high"}}
        return role(name, template={"spec": {"template": pod}})

    together = jobset(bringing("driver", "ring"), bringing("workers", "ring"))
    assert (together.group_name, together.priority_class) == ("ring", "high")
    separate = jobset(bringing("driver", "a"), bringing("workers", "b"))
    assert separate.group_name == ""
    assert [item.group_name for item in separate.roles] == ["a", "b"]


def _requested(*roles: Json, **spec: Any) -> tuple[str, GangForm | None, int | None, str]:
    """Return policy, form, quorum and words of a JobSet's gang request."""
    request = jobset(*roles, **spec).gang_request
    assert request is not None
    return request.policy, request.form, request.quorum, request.words


def _pods(name: str, replicas: int, parallelism: int, **options: Any) -> Json:
    return role(name, replicas=replicas, template={"spec": {"parallelism": parallelism}}, **options)


TRAINING = _pods("driver", 1, 1), _pods("workers", 2, 3)
IN_ORDER = (
    TRAINING[0],
    _pods("workers", 2, 3, dependsOn=[{"name": "driver", "status": "Ready"}]),
)
GANG: Json = {"schedulingPolicy": {"gang": {}}}
BASIC: Json = {"schedulingPolicy": {"basic": {}}}


def test_a_jobset_without_gang_fields_requests_no_gang() -> None:
    assert jobset(*TRAINING).gang_request is None


@pytest.mark.parametrize("scheduling", [{}, GANG])
def test_a_top_level_policy_is_one_gang_of_all_pods(scheduling: Json) -> None:
    words = "All its pods are one gang (spec.scheduling)"
    assert _requested(*TRAINING, scheduling=scheduling) == ("gang", GangForm.WHOLE, 7, words)


def test_a_top_level_minimum_is_the_quorum() -> None:
    policy = {"schedulingPolicy": {"gang": {"minCount": 5}}}
    words = "All its pods are one gang, for which 5 of its 7 pods are enough (spec.scheduling)"
    assert _requested(*TRAINING, scheduling=policy) == ("gang", GangForm.WHOLE, 5, words)


def test_a_basic_policy_at_the_top_is_pod_by_pod() -> None:
    words = "One group of all its pods, which are placed one by one (spec.scheduling)"
    assert _requested(*TRAINING, scheduling=BASIC) == ("basic", GangForm.POD_BY_POD, None, words)


def test_an_ordered_startup_is_a_gang_per_replicated_job() -> None:
    words = (
        "Each ReplicatedJob is a gang of its own (spec.scheduling; they start one after the other)"
    )
    assert _requested(*IN_ORDER, scheduling=GANG) == ("gang", GangForm.PER_ROLE, None, words)
    quorums = [item.gang_request for item in jobset(*IN_ORDER, scheduling=GANG).roles]
    assert [quorum.quorum if quorum else None for quorum in quorums] == [1, 6]


@pytest.mark.parametrize(
    ("entries", "policy", "form", "words"),
    [
        (
            [{"targetReplicatedJobs": ["driver"]}, {"targetReplicatedJobs": ["workers"], **GANG}],
            "gang",
            GangForm.PER_ROLE,
            "driver: one gang; workers: one gang (spec.scheduling)",
        ),
        (
            [{"targetReplicatedJobs": ["driver", "workers"], **GANG}],
            "gang",
            GangForm.CUSTOM,
            "driver and workers: one gang (spec.scheduling)",
        ),
        (
            [{"targetReplicatedJobs": ["workers"], "job": GANG}],
            "gang",
            GangForm.PER_JOB,
            "workers: a gang for each Job (spec.scheduling)",
        ),
        (
            [
                {"targetReplicatedJobs": ["driver"], **BASIC},
                {"targetReplicatedJobs": ["workers"], **GANG},
            ],
            "gang",
            GangForm.CUSTOM,
            "driver: pod by pod; workers: one gang (spec.scheduling)",
        ),
        (
            [{"targetReplicatedJobs": ["driver", "workers"], **BASIC}],
            "basic",
            GangForm.POD_BY_POD,
            "driver and workers: pod by pod (spec.scheduling)",
        ),
    ],
)
def test_entries_ask_for_the_replicated_jobs_that_they_name(
    entries: list[Json], policy: str, form: GangForm, words: str
) -> None:
    requested = _requested(*TRAINING, scheduling={"replicatedJobs": entries})
    assert requested == (policy, form, None, words)


def test_each_replicated_job_has_the_quorum_of_its_entry() -> None:
    entries = [
        {"targetReplicatedJobs": ["driver"], **BASIC},
        {"targetReplicatedJobs": ["workers"], "job": GANG},
    ]
    driver, workers = jobset(*TRAINING, scheduling={"replicatedJobs": entries}).roles
    assert driver.gang_request == GangRequest("basic")
    assert workers.gang_request == GangRequest("gang", 3, derived=True)


@pytest.mark.parametrize(
    ("policy", "form", "quorum", "words"),
    [
        (
            {"gangPolicyOption": "JobSetAsGang"},
            GangForm.WHOLE,
            7,
            "All its pods are one gang (spec.gangPolicy: JobSetAsGang)",
        ),
        (
            {"gangPolicyOption": "JobSetGangPerReplicatedJob"},
            GangForm.PER_ROLE,
            None,
            "Each ReplicatedJob is a gang of its own (spec.gangPolicy: JobSetGangPerReplicatedJob)",
        ),
        (
            {"gangPolicyOption": "JobSetWorkloadTemplate", "workload": {"spec": {}}},
            GangForm.CUSTOM,
            None,
            "Groups as in a Workload template of its own (spec.gangPolicy: JobSetWorkloadTemplate)",
        ),
        (
            {"workloadTemplate": {"podGroups": []}},
            GangForm.CUSTOM,
            None,
            "Groups as in a Workload template of its own (spec.gangPolicy: JobSetWorkloadTemplate)",
        ),
    ],
)
def test_the_modes_of_the_draft(
    policy: Json, form: GangForm, quorum: int | None, words: str
) -> None:
    assert _requested(*TRAINING, gangPolicy=policy) == ("gang", form, quorum, words)


def test_an_unknown_mode_is_quoted_and_requests_no_gang() -> None:
    words = "A mode that is not known here (spec.gangPolicy: Rainbow)"
    requested = _requested(*TRAINING, gangPolicy={"gangPolicyOption": "Rainbow"})
    assert requested == ("unknown", None, None, words)
    assert jobset(*TRAINING, gangPolicy={}).gang_request is None


@pytest.mark.parametrize(
    ("managed_by", "foreign"),
    [
        (None, ""),
        ("jobset.sigs.k8s.io/jobset-controller", ""),
        ("kueue.x-k8s.io/multikueue", "kueue.x-k8s.io/multikueue"),
    ],
)
def test_only_a_foreign_manager_is_named(managed_by: str | None, foreign: str) -> None:
    assert jobset(managedBy=managed_by).managed_by == foreign


def test_two_billion_jobs_are_counted_and_not_named() -> None:
    spec = {"replicatedJobs": [role(name, replicas=2**31 - 1) for name in ("driver", "workers")]}
    owner, problem = read(JOBSET, with_identity({"spec": spec}, "run"))
    assert owner.desired == 2 * (2**31 - 1)
    assert [len(item.child_names) for item in owner.roles] == [MAX_CHILDREN, 1]
    assert problem is not None
    assert not problem.lost
    assert "it asks for 4,294,967,294 Jobs, of which only the first 5,000" in problem.sentence


def test_a_malformed_request_names_its_role() -> None:
    containers = [{"resources": {"requests": {"cpu": "?"}}}]
    bad = role("workers", template={"spec": {"template": {"spec": {"containers": containers}}}})
    _, problem = read(JOBSET, with_identity({"spec": {"replicatedJobs": [bad]}}, "run"))
    assert problem is not None
    assert problem.sentence == (
        "JobSet team-a/run is read only in part: in workers its request of cpu is left out: "
        "'?' is not a quantity."
    )


@pytest.mark.parametrize(
    "file", captures("jobset-*"), ids=lambda file: f"{file.parent.name}/{file.stem}"
)
def test_captured_jobsets_have_the_state_of_their_name(file: Any) -> None:
    (owner,) = captured(file, JOBSET)
    jobs = captured(file, JOB.resource)
    state = file.stem.removeprefix("jobset-")
    policies = decode_policies(owner)
    assert policies is not None
    assert (policies.success_operator, policies.in_order) == ("All", False)
    assert policies.restart_strategy == ("" if owner.max_restarts is None else "Recreate")
    assert (owner.independent_claim, owner.last_action) == ("", "")
    names = {name for item in owner.roles for name in item.child_names}
    assert {job.meta.ref.name for job in jobs} <= names
    for job in jobs:
        assert job.meta.controller is not None
        assert job.meta.controller.uid == owner.meta.ref.uid
        assert job.role_name in {item.name for item in owner.roles}
        assert job.attempt.partition(".")[0].isdecimal()
    assert owner.suspended == state.startswith("suspended")
    ended = {
        "completed": Outcome.SUCCEEDED,
        "failed": Outcome.FAILED,
        "failed-after-restarts": Outcome.FAILED,
    }
    assert (owner.finish.outcome if owner.finish else None) == ended.get(state)
    if state in ("running", "resumed", "shared-group"):
        assert owner.desired == 5
        assert {job.meta.ref.name for job in jobs} == names
        assert [item.ready for item in owner.roles] == [1, 2]
    if state == "resumed":
        assert owner.resumed_at is not None
    if state == "failed":
        assert (owner.max_restarts, owner.finish.reason) == (None, "FailedJobs")
    if state == "failed-after-restarts":
        assert (owner.counted_restarts, owner.max_restarts) == (1, 1)
        assert owner.finish.reason == "ReachedMaxRestarts"
    if state == "restarting":
        assert owner.restarting
        assert owner.restarts >= 1
    if state == "depends-on":
        driver, workers = owner.roles
        assert workers.depends_on == (Dependency("driver", "Ready"),)
        assert {job.meta.ref.name for job in jobs} == set(driver.child_names)
    if state == "shared-group":
        assert owner.group_name == "ring"
