"""Holds, their policy and entries in queues from the cluster to the row of a gang, and back from the store."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gangboard.decode.admission_policies import BINDING, POLICY, policy_digest
from gangboard.decode.holds import HOLD
from gangboard.domain.hold import AdmissionPolicy, Hold
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import JobState
from gangboard.polling.cluster_cache import resources
from gangboard.store.gang_objects import read_cluster_view
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack
from simulator.hold import INSTALLATION
from simulator.resources import Resource
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]

API = "gangboard.dev/v1alpha1"
# The fleet `east` has a JobSet of three Jobs of which Ada holds one.
GANG, JOB, NAMESPACE = "mixtral-align", "mixtral-align-workers-1", "team-nlp"
KUEUE = Resource("kueue.x-k8s.io", ("v1beta2",), "workloads", "Workload", custom=True)


def job_state(watching: Watching, name: str = JOB) -> JobState:
    """Return a child Job as shown in the row of its gang."""
    detail = unpack_detail(bytes(watching.gang(GANG).detail))
    return next(job for job in detail.jobs if job.ref.name == name)


def stored(resource: str, model: Any, name: str) -> Any:
    """Return an object as it is stored."""
    row = WatchedObject.objects.get(resource=resource, name=name)
    return unpack(bytes(row.data), model)


def test_holds_and_policies_are_never_needed_for_a_verdict() -> None:
    by_key = {resource.key: resource for resource in resources()}
    for key in (HOLD.key, POLICY.key, BINDING.key, "workloads.kueue.x-k8s.io"):
        assert not by_key[key].needed


def test_a_held_job_shows_its_holder_and_start(watch: Watch) -> None:
    watching = watch()
    assert watching.once().ok
    hold = watching.simulator.objects.get(API, "Hold", JOB, NAMESPACE)
    assert hold is not None
    state = job_state(watching)
    assert (state.suspended, state.held, state.hold) == (True, True, JOB)
    assert state.held_by == "ada@example.com"
    assert state.held_reason == hold["spec"]["reason"]
    assert state.held_since is not None
    assert f"{state.held_since:%Y-%m-%dT%H:%M:%SZ}" == hold["metadata"]["creationTimestamp"]
    assert watching.gang(GANG).message == (
        f"1 of 3 Jobs is suspended: {JOB} (held by ada@example.com since "
        f"{state.held_since:%Y-%m-%d %H:%M} UTC: {state.held_reason})."
    )
    assert watching.gang(GANG).stage == "run"
    read: Hold = stored(HOLD.key, Hold, JOB)
    assert read.owner_uid == watching.gang(GANG).uid
    assert not Gang.objects.filter(kind="Hold").exists()
    of_gang = WatchedObject.objects.filter(owner_uid=watching.gang(GANG).uid)
    assert set(of_gang.values_list("resource", flat=True)) == {HOLD.key, "jobs.batch"}
    assert set(of_gang.filter(resource=HOLD.key).values_list("name", flat=True)) == {JOB}


def test_an_edited_or_deleted_hold_updates_its_gang(watch: Watch) -> None:
    watching = watch()
    watching.once()
    objects = watching.simulator.objects
    before = watching.gang(GANG).changed_version

    def edit(hold: Json) -> None:
        hold["spec"]["until"] = "2026-12-24T18:00:00Z"

    objects.update(API, "Hold", JOB, edit, NAMESPACE)
    watching.once()
    until = job_state(watching).held_until
    assert until is not None
    assert until.isoformat() == "2026-12-24T18:00:00+00:00"
    edited = watching.gang(GANG).changed_version
    assert edited > before

    objects.delete(API, "Hold", JOB, NAMESPACE)
    watching.once()
    state = job_state(watching)
    assert (state.suspended, state.held, state.hold, state.held_since) == (True, False, "", None)
    assert watching.gang(GANG).changed_version > edited
    assert "no Hold, by whom is not known" in watching.gang(GANG).message


def test_a_hold_without_effect_is_reported(watch: Watch) -> None:
    watching = watch()
    watching.once()
    name = "mixtral-align-workers-0"
    uid = watching.gang(GANG).uid
    armed = {
        "apiVersion": API,
        "kind": "Hold",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"jobName": name, "ownerUID": uid, "by": "bob"},
    }
    watching.simulator.objects.put(armed)
    watching.once()
    state = job_state(watching, name)
    assert (state.suspended, state.held, state.hold, state.held_by) == (False, False, name, "bob")
    detail = unpack_detail(bytes(watching.gang(GANG).detail))
    values = [
        item.value for item in detail.findings[0].evidence if item.label == "Hold without effect"
    ]
    assert len(values) == 1
    assert values[0].startswith(f"Hold {name} by bob: Job {name} is not suspended")


def test_a_hold_without_job_touches_no_gang_and_is_shown(watch: Watch) -> None:
    watching = watch()
    watching.once()
    gangs = set(Gang.objects.values_list("uid", "changed_version"))
    version = watching.fresh().data_version
    stray = {
        "apiVersion": API,
        "kind": "Hold",
        "metadata": {"name": "stray", "namespace": NAMESPACE},
        "spec": {"jobName": JOB, "ownerUID": "of-the-jobset-before"},
    }
    watching.simulator.objects.put(stray)
    watching.once()
    assert set(Gang.objects.values_list("uid", "changed_version")) == gangs
    assert watching.fresh().data_version > version
    watching.simulator.objects.delete(API, "Hold", "stray", NAMESPACE)
    watching.once()
    assert not WatchedObject.objects.filter(name="stray").exists()


def test_a_new_worker_loads_holds_from_the_store(watch: Watch) -> None:
    watching = watch(extra=(KUEUE,))
    watching.simulator.objects.put(an_entry(watching, "retrieval-ft", active=False))
    watching.settle()
    before = set(Gang.objects.values_list("uid", "message", "changed_version"))
    watching.forget()
    window = watching.settle()
    assert window.writer.written == 0
    assert set(Gang.objects.values_list("uid", "message", "changed_version")) == before
    assert watching.gang("retrieval-ft").code == "deactivated"
    watching.simulator.objects.delete(API, "Hold", JOB, NAMESPACE)
    watching.settle()
    assert not job_state(watching).held


def test_the_policy_and_its_binding_are_stored_and_deleted(watch: Watch) -> None:
    watching = watch()
    watching.once()
    _, policy, binding = INSTALLATION
    for resource, manifest in ((POLICY, policy), (BINDING, binding)):
        read: AdmissionPolicy = stored(resource.key, AdmissionPolicy, "gangboard-hold")
        assert read.digest == policy_digest(manifest["spec"])
    version = watching.fresh().data_version
    watching.simulator.objects.delete(policy["apiVersion"], policy["kind"], "gangboard-hold")
    watching.once()
    assert watching.objects(POLICY.key) == 0
    assert watching.objects(BINDING.key) == 1
    assert watching.fresh().data_version > version


def test_a_missing_hold_resource_is_not_forbidden(watch: Watch) -> None:
    watching = watch(hold=False)
    watching.once()
    assert watching.state(HOLD.key).state == "not-served"
    assert (watching.state(POLICY.key).state, watching.objects(POLICY.key)) == ("ok", 0)


def test_forbidden_holds_are_not_reported_as_absent(watch: Watch) -> None:
    watching = watch()
    watching.simulator.faults.forbidden(resource="holds")
    watching.once()
    assert watching.state(HOLD.key).state == "forbidden"
    gang = watching.gang(GANG)
    assert (gang.code, gang.health) == ("job-suspended", "suspended")
    assert gang.message == f"1 of 3 Jobs is suspended: {JOB} (whether by a Hold is not known)."
    assert not job_state(watching).held


def an_entry(watching: Watching, jobset: str, *, active: bool) -> Json:
    """Return what Kueue would keep for a JobSet of the fleet that waits in its queue."""
    by_key = watching.simulator.objects.get(
        "jobset.x-k8s.io/v1alpha2", "JobSet", jobset, "research"
    )
    assert by_key is not None
    owner = {
        "apiVersion": by_key["apiVersion"],
        "kind": "JobSet",
        "name": jobset,
        "uid": by_key["metadata"]["uid"],
        "controller": True,
    }
    name = f"jobset-{jobset}-3f2a1"
    metadata = {"name": name, "namespace": "research", "ownerReferences": [owner]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": {"queueName": "gpu-research", "active": active},
    }


def test_a_deactivated_kueue_workload_is_reported(watch: Watch) -> None:
    watching = watch(extra=(KUEUE,))
    objects = watching.simulator.objects
    entry = objects.put(an_entry(watching, "retrieval-ft", active=True))
    watching.once()
    assert watching.gang("retrieval-ft").code == "queue-evaluating"
    assert not Gang.objects.filter(api_group="kueue.x-k8s.io").exists()
    name = entry["metadata"]["name"]
    read: QueueEntry = stored("workloads.kueue.x-k8s.io", QueueEntry, name)
    assert (read.queue, read.owner_uid) == ("gpu-research", watching.gang("retrieval-ft").uid)

    def deactivate(workload: Json) -> None:
        workload["spec"]["active"] = False

    objects.update("kueue.x-k8s.io/v1beta2", "Workload", name, deactivate, "research")
    watching.once()
    gang = watching.gang("retrieval-ft")
    assert (gang.code, gang.health, gang.stage) == ("deactivated", "suspended", "admission")
    author, sentence = gang.message.split(". ", 1)
    # The time has no condition that confirms it.
    assert re.fullmatch(r"Deactivated by simulator at [\d-]{10} [\d:]{5} UTC or before", author)
    assert sentence == f"Workload {name} is deactivated, so queue gpu-research does not admit it."
    objects.delete("kueue.x-k8s.io/v1beta2", "Workload", name, "research")
    watching.once()
    assert watching.gang("retrieval-ft").code == "queue-evaluating"


def test_a_queue_label_without_served_queues_is_reported(watch: Watch) -> None:
    """The fleet has no Kueue. Then an admin installs it, and it has created no object yet."""
    watching = watch()
    watching.once()
    gang = watching.gang("retrieval-ft")
    assert (gang.code, gang.health, gang.queue) == ("queue-evaluating", "blocked", "gpu-research")
    assert gang.message == (
        "JobSet retrieval-ft waits for queue gpu-research, but this cluster serves no Kueue "
        "Workloads."
    )
    assert read_cluster_view(watching.fresh().pk).queue_visibility == "not-served"


def test_a_queue_label_with_unreadable_entries_is_reported(watch: Watch) -> None:
    watching = watch(extra=(KUEUE,))
    watching.simulator.faults.forbidden(resource="workloads.kueue.x-k8s.io")
    watching.once()
    gang = watching.gang("retrieval-ft")
    assert (gang.code, gang.health) == ("queue-evaluating", "unknown")
    assert "its admission is unknown" in gang.message
    assert read_cluster_view(watching.fresh().pk).queue_visibility == ""


def test_a_gang_is_assessed_again_when_the_visibility_of_queues_changes(watch: Watch) -> None:
    watching = watch(extra=(KUEUE,))
    watching.simulator.faults.forbidden(resource="workloads.kueue.x-k8s.io")
    watching.once()
    assert watching.gang("retrieval-ft").health == "unknown"
    watching.simulator.faults.clear()
    watching.once()
    gang = watching.gang("retrieval-ft")
    # Its JobSet is 34 minutes old, and a Kueue that runs makes a Workload at once.
    assert gang.health == "blocked"
    assert "Kueue has created no Workload for it in over 2 min" in gang.message
    assert read_cluster_view(watching.fresh().pk).queue_visibility == "served"


def test_a_workload_is_matched_without_a_label_on_its_owner(watch: Watch) -> None:
    """Kueue with `manageJobsWithoutQueueName`: the queue of the Workload is the queue of the gang."""
    watching = watch(extra=(KUEUE,))
    objects = watching.simulator.objects

    def unlabel(jobset: Json) -> None:
        jobset["metadata"]["labels"].pop("kueue.x-k8s.io/queue-name")

    objects.update("jobset.x-k8s.io/v1alpha2", "JobSet", "retrieval-ft", unlabel, "research")
    watching.once()
    gang = watching.gang("retrieval-ft")
    assert (gang.code, gang.queue) == ("suspended", "")
    objects.put(an_entry(watching, "retrieval-ft", active=True))
    watching.once()
    gang = watching.gang("retrieval-ft")
    assert (gang.code, gang.health, gang.queue) == ("queue-evaluating", "waiting", "gpu-research")
