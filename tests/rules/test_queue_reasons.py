"""Messages of a queue about the owner or Jobs that it has not admitted: one table of reasons."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueCode, QueueEntry, QueueMessage
from gangboard.domain.queue_status import queue_statuses_of
from gangboard.domain.quota import QueueName, QueueState, QueueTree
from gangboard.domain.suspension import FieldWriter
from gangboard.domain.verdict import Evidence
from gangboard.facts.gang import Gang
from gangboard.plugins.reasons import rules
from tests.domain_objects import (
    a_hold,
    a_job,
    a_jobset,
    a_pod,
    a_queue,
    a_role,
    ago,
    an_alias,
    an_entry,
    child_jobs,
    facts_of,
    pods_of,
    shared_quota,
)
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in

RUN = a_jobset("run", a_role("workers", jobs=2))
QUEUED = a_jobset("run", suspended=True, queue="gpu-lq")
CAUSE = "3 more GPUs of flavor h100 must become free"
NEVER = "Queue gpu-lq cannot admit {}"
WAITS = "Queue gpu-lq has not admitted {} yet"
SENTENCES = {
    "queue-missing": (Health.BLOCKED, NEVER, "LocalQueue gpu-lq does not exist in this namespace"),
    "queue-stopped": (Health.BLOCKED, NEVER, "ClusterQueue gpu is stopped"),
    "queue-misconfigured": (
        Health.BLOCKED,
        NEVER,
        "the ClusterQueue does not admit this namespace",
    ),
    "no-matching-flavor": (
        Health.BLOCKED,
        NEVER,
        "taint team=x:NoSchedule of flavor tainted is not tolerated",
    ),
    "exceeds-quota": (
        Health.BLOCKED,
        NEVER,
        "16 GPUs of flavor l4 are needed, but the queue can give at most 8",
    ),
    "not-requeued": (
        Health.BLOCKED,
        "Queue gpu-lq cannot admit {}",
        "it is active again, but Kueue does not queue it",
    ),
    "requeued": (
        Health.WAITING,
        "Queue gpu-lq evicted {}",
        "a node failed; the next try comes after a pause",
    ),
    "preempted": (Health.WAITING, "Queue gpu-lq evicted {} for another workload", CAUSE),
    "waiting-for-quota": (Health.WAITING, WAITS, CAUSE),
    "topology-does-not-fit": (
        Health.WAITING,
        WAITS,
        "topology racks has room for only 2 of 3 pods now",
    ),
    "admission-gated": (Health.WAITING, WAITS, "admission is gated by example.com/budget"),
    "admission-check": (Health.WAITING, WAITS, "admission check budget has not passed yet"),
    "queue-evaluating": (
        Health.WAITING,
        WAITS,
        "the pods of those it admitted have to be ready first",
    ),
}
"""Code → its health, how the sentence begins, and its cause as an admission system words it."""


def a_message(code: str, cause: str = "it is so", **fields: Any) -> QueueMessage:
    defaults = {
        "label": "QuotaReserved: Pending",
        "text": "as Kueue says",
        "since": ago(60),
        **fields,
    }
    return QueueMessage(QueueCode(code), cause, **defaults)


def queued(
    job: Owner, code: str, cause: str = "it is so", **entry: Any
) -> tuple[Owner, QueueEntry]:
    message = a_message(code, cause)
    return replace(job, suspended=True), an_entry(job, message=message, **entry)


def test_every_code_of_a_queue_has_its_sentence() -> None:
    assert list(SENTENCES) == list(QueueCode)
    assert {rule.code for rule in rules() if rule.stage is Stage.ADMISSION} >= set(SENTENCES)


@pytest.mark.parametrize("code", SENTENCES)
def test_queue_reasons_of_an_owner(code: str) -> None:
    health, beginning, cause = SENTENCES[code]
    entry = an_entry(QUEUED, message=a_message(code, cause, advice="Do this."))
    facts = facts_of(QUEUED, entry)
    finding = require_gang_finding(code, facts)
    assert (finding.code, finding.health, finding.stage) == (code, health, Stage.ADMISSION)
    assert finding.message == f"{beginning.format('it')}: {cause}."
    assert Evidence("QuotaReserved: Pending", "as Kueue says", entry.meta.ref) in finding.evidence
    assert first_gang_code(facts) == code
    if code != "queue-evaluating":
        assert (finding.advice_texts, finding.since) == (("Do this.",), ago(60))


@pytest.mark.parametrize("code", SENTENCES)
def test_queue_reasons_of_a_job_with_its_own_entry(code: str) -> None:
    health, beginning, cause = SENTENCES[code]
    first, second = child_jobs(RUN)
    verdict = assess(
        facts_of(RUN, first, *queued(second, code, cause), *pods_of(first, 2, on="n0"))
    )
    assert (verdict.finding.code, verdict.finding.health) == (code, health)
    assert verdict.finding.message == f"{beginning.format('Job run-workers-1')}: {cause}."


def test_the_cause_applies_to_the_whole_gang() -> None:
    verdict = assess(
        facts_of(QUEUED, an_entry(QUEUED, message=a_message("waiting-for-quota", CAUSE)))
    )
    assert verdict.finding.message == (
        "Queue gpu-lq has not admitted it yet: 3 more GPUs of flavor h100 must become free."
    )
    assert verdict.finding.title == "Waits for quota"


def test_pods_of_a_preempted_gang_are_terminating() -> None:
    leaving = a_pod("run-workers-0-0", on="n0", deleting_since=ago(3))
    taker = ObjectRef("jobset.x-k8s.io", "JobSet", "team-b", "big", "uid-of-big")
    message = a_message("preempted", taker=taker.uid)
    facts = facts_of(
        QUEUED, leaving, an_entry(QUEUED, message=message), preemptors={taker.uid: taker}
    )
    finding = require_gang_finding("preempted", facts)
    assert finding.message == (
        "Queue gpu-lq evicted it for team-b/big: it is so. 1 pod still terminates."
    )
    # By the reference a viewer who may not see it is not told the name.
    assert Evidence("preempted by JobSet", "team-b/big", taker) in finding.evidence


def test_jobs_with_the_same_cause_share_a_finding() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=6))
    objects = [obj for job in child_jobs(jobset) for obj in queued(job, "waiting-for-quota", CAUSE)]
    assert [finding.message for finding in assess(facts_of(jobset, *objects)).findings] == [
        "Queue gpu-lq has not admitted 6 Jobs yet: 3 more GPUs of flavor h100 must become free."
    ]


def test_jobs_with_different_causes() -> None:
    first, second = child_jobs(RUN)
    blocked, waits = queued(first, "exceeds-quota"), queued(second, "waiting-for-quota", queue="b")
    verdict = assess(facts_of(RUN, *blocked, *waits))
    assert [finding.message for finding in verdict.findings] == [
        "Queue gpu-lq cannot admit Job run-workers-0: it is so.",
        "Queue b has not admitted Job run-workers-1 yet: it is so.",
    ]


def test_a_job_with_a_cause_and_a_job_without() -> None:
    first, second = child_jobs(RUN)
    silent = replace(second, suspended=True), an_entry(second, queue="b")
    verdict = assess(facts_of(RUN, *queued(first, "waiting-for-quota"), *silent))
    assert [finding.code for finding in verdict.findings] == [
        "waiting-for-quota",
        "queue-evaluating",
    ]
    assert verdict.findings[1].message == "Queue b has not admitted Job run-workers-1 yet."


def test_a_hold_precedes_the_queue_reason() -> None:
    first, second = child_jobs(RUN)
    held, entry = queued(second, "waiting-for-quota")
    verdict = assess(facts_of(RUN, first, held, entry, a_hold(held), *pods_of(first, 2, on="n0")))
    assert verdict.finding.code == "job-suspended"


@pytest.mark.parametrize(
    "entry",
    [{"admitted": True}, {"active": False}],
    ids=["admitted", "deactivated"],
)
def test_a_gang_that_does_not_wait_has_no_queue_reason(entry: dict[str, Any]) -> None:
    """A message that is left over from another state is never told."""
    facts = facts_of(QUEUED, an_entry(QUEUED, message=a_message("waiting-for-quota"), **entry))
    assert evaluate_gang("waiting-for-quota", facts) is None


def test_a_running_gang_has_no_queue_reason() -> None:
    job = a_job("train", queue="gpu-lq")
    facts = facts_of(job, an_entry(job, message=a_message("waiting-for-quota")))
    assert evaluate_gang("waiting-for-quota", facts) is None


def test_the_permanent_cause_of_several_entries_is_reported() -> None:
    job = a_job("train", suspended=True)
    entries = [
        an_entry(job, "a", message=a_message("waiting-for-quota")),
        an_entry(job, "b", message=a_message("exceeds-quota")),
        an_entry(job, "c"),
    ]
    status = queue_statuses_of(job, (), entries, "served")[job.meta.ref.uid]
    assert status.message is entries[1].message


GPU = QueueName("kueue.x-k8s.io", "ClusterQueue", "", "gpu")
LOCAL = QueueName("kueue.x-k8s.io", "LocalQueue", "team-a", "gpu-lq")
INACTIVE = "ClusterQueue gpu is inactive"
LOOK = "Check condition Active of ClusterQueue gpu: it is stopped, or an object that it names is missing."
AT = datetime(2026, 11, 27, 2, 18, tzinfo=UTC)
START = "Set spec.stopPolicy of ClusterQueue gpu to None."
START_ALIAS = "Set spec.stopPolicy of LocalQueue gpu-lq to None."
PATCH = ("--type=merge", "-p", '{"spec":{"stopPolicy":"None"}}')
START_COMMAND = ("kubectl", "patch", "clusterqueues.kueue.x-k8s.io", "gpu", *PATCH)
START_ALIAS_COMMAND = (
    "kubectl",
    "patch",
    "localqueues.kueue.x-k8s.io",
    "gpu-lq",
    "-n",
    "team-a",
    *PATCH,
)
STOPPED = {
    "state": QueueState.STOPPED,
    "stop_setting": "spec.stopPolicy Hold",
    "cause": "admitted workloads keep running",
    "advice": START,
    "command": START_COMMAND,
}


@pytest.mark.parametrize(
    ("about", "queue", "alias", "cause", "advice"),
    [
        (GPU, {}, {}, INACTIVE, LOOK),
        (GPU, {"state": QueueState.STOPPED, "cause": "Hold", "advice": START}, {},
         "ClusterQueue gpu is stopped", START),
        (GPU, {**STOPPED, "stopped_by": FieldWriter("kubectl-patch", AT, is_exact=True)}, {},
         "ClusterQueue gpu is stopped with kubectl since 2026-11-27 02:18 UTC", START),
        (GPU, {**STOPPED, "stopped_by": FieldWriter("flux", AT)}, {},
         "ClusterQueue gpu is stopped by flux at 2026-11-27 02:18 UTC or before", START),
        # Near miss: no known writer.
        (GPU, STOPPED, {}, "ClusterQueue gpu is stopped", START),
        (GPU, {"state": QueueState.INACTIVE, "cause": "flavor x does not exist", "advice": "Make x."}, {},
         f"{INACTIVE}: flavor x does not exist", "Make x."),
        (GPU, {"state": QueueState.INACTIVE}, {}, INACTIVE, LOOK),
        (LOCAL, {"state": QueueState.STOPPED, "advice": START}, {"state": QueueState.INACTIVE},
         "ClusterQueue gpu is stopped", START),
        (LOCAL, {}, {"state": QueueState.STOPPED, "advice": START_ALIAS, "command": START_ALIAS_COMMAND},
         "LocalQueue gpu-lq is stopped", START_ALIAS),
        (None, {"state": QueueState.STOPPED}, {}, INACTIVE, LOOK),
    ],
)  # fmt: skip
def test_an_observed_queue_distinguishes_stopped_from_inactive(
    about: QueueName | None, queue: dict[str, Any], alias: dict[str, Any], cause: str, advice: str
) -> None:
    message = a_message("queue-stopped", INACTIVE, advice=LOOK, about=about)
    tree = QueueTree([a_queue("gpu", **queue), an_alias("gpu-lq", to="gpu", **alias)])
    finding = require_gang_finding(
        "queue-stopped", facts_of(QUEUED, an_entry(QUEUED, message=message), queues=tree)
    )
    assert finding.message == f"Queue gpu-lq cannot admit it: {cause}."
    assert [step.text for step in finding.advice] == [advice]


def test_cohort_cycles_are_reported() -> None:
    message = a_message("queue-stopped", INACTIVE, about=GPU)
    tree = QueueTree(
        [a_queue("gpu", cohort="a"), shared_quota("a", cohort="b"), shared_quota("b", cohort="a")]
    )
    finding = require_gang_finding(
        "queue-stopped", facts_of(QUEUED, an_entry(QUEUED, message=message), queues=tree)
    )
    assert values_in(finding.message) == "gpu-lq"


def test_only_closed_queues_are_checked() -> None:
    message = a_message("waiting-for-quota", about=GPU)
    tree = QueueTree([a_queue("gpu", state=QueueState.STOPPED)])
    finding = require_gang_finding(
        "waiting-for-quota", facts_of(QUEUED, an_entry(QUEUED, message=message), queues=tree)
    )
    assert finding.message == "Queue gpu-lq has not admitted it yet: it is so."


def test_admitted_jobs_with_their_own_entries_are_counted() -> None:
    three = a_jobset("run", a_role("workers", jobs=3))
    first, second, third = child_jobs(three)
    remaining, entry = queued(third, "waiting-for-quota", CAUSE)
    admitted = [an_entry(job, admitted=True, has_quota=True) for job in (first, second)]
    facts = facts_of(three, first, second, remaining, *admitted, entry)
    verdict = assess(facts)
    finding = next(item for item in verdict.findings if item.code == "waiting-for-quota")
    assert finding.message == (
        f"2 of 3 Jobs are admitted. Queue gpu-lq has not admitted Job {third.meta.ref.name} yet: {CAUSE}."
    )
    reported = {job.ref.name: (job.queue, job.queue_standing) for job in verdict.jobs}
    assert reported == {
        first.meta.ref.name: ("gpu-lq", "admitted"),
        second.meta.ref.name: ("gpu-lq", "admitted"),
        third.meta.ref.name: ("gpu-lq", "waits"),
    }


def test_jobs_of_an_owner_entry_have_no_position_of_their_own() -> None:
    jobs = [replace(job, suspended=True) for job in child_jobs(QUEUED)]
    verdict = assess(
        facts_of(QUEUED, *jobs, an_entry(QUEUED, message=a_message("waiting-for-quota")))
    )
    assert {job.queue_standing for job in verdict.jobs} == {""}


def test_a_growing_gang_keeps_its_admission() -> None:
    """A second Workload slice waits (`workload-slice-replacement-for`) while the first one runs."""
    running = an_entry(RUN, "slice-1", admitted=True, has_quota=True)
    larger = an_entry(RUN, "slice-2", replaces="slice-1", message=a_message("waiting-for-quota"))
    standing = queue_statuses_of(RUN, (), (running, larger), "served")[RUN.meta.ref.uid].standing
    assert standing == "admitted"
    both_wait = replace(running, admitted=False, has_quota=False)
    standing = queue_statuses_of(RUN, (), (both_wait, larger), "served")[RUN.meta.ref.uid].standing
    assert standing == "waits"


@pytest.mark.parametrize(
    ("code", "health"),
    [("waiting-for-quota", Health.WAITING), ("exceeds-quota", Health.DEGRADED)],
)
def test_the_refused_growth_of_a_running_gang_is_explained(code: str, health: Health) -> None:
    """Its new pods carry a gate until its larger Workload is admitted; what runs goes on by the first one."""
    _, beginning, cause = SENTENCES[code]
    finding = assess(_grown(a_message(code, cause))).finding
    assert (finding.code, finding.health) == (code, health)
    assert finding.message == f"{beginning.format('2 more pods')}: {cause}."
    assert [item.label for item in finding.evidence] == [
        "QuotaReserved: Pending",
        "spec.schedulingGates",
    ]


def test_the_gate_is_reported_if_the_queue_gives_no_cause() -> None:
    assert assess(_grown(None)).finding.code == "scheduling-gated"


def test_a_gang_without_pods_for_its_refused_growth_runs() -> None:
    facts = _grown(a_message("waiting-for-quota", CAUSE), more=0)
    assert assess(facts).finding.code == "running"


def _grown(message: QueueMessage | None, more: int = 2) -> Gang:
    """Return a Job of two pods that run, and of more that wait at the gate of a Workload slice."""
    job = a_job("sweep", pods=2 + more)
    gates = ("kueue.x-k8s.io/elastic-job",)
    running, gated = pods_of(job, 2, on="n0"), pods_of(job, 2 + more, gates=gates)[2:]
    first = an_entry(job, "slice-1", admitted=True, has_quota=True)
    larger = an_entry(job, "slice-2", replaces="slice-1", message=message)
    return facts_of(job, *running, *gated, first, larger)


def test_clusters_to_which_an_entry_is_offered_are_evidence() -> None:
    message = QueueMessage(QueueCode.ADMISSION_CHECK, "offered to cluster worker1")
    entry = an_entry(QUEUED, message=message, offered_clusters=("worker1", "worker2"))
    finding = require_gang_finding("admission-check", facts_of(QUEUED, entry))
    offered = [
        item.value for item in finding.evidence if item.label == "status.nominatedClusterNames"
    ]
    assert offered == ["worker1", "worker2"]
