"""Relocating one Job of a JobSet, and a Job of its own, on a simulated cluster."""

from __future__ import annotations

import json
import time
from typing import Any

from gangboard.domain.action import Avoid
from gangboard.store.models import Action, AuditEntry, LeverRecord
from tests.actions.site import WORKER, Site

Json = dict[str, Any]
HOST = "kubernetes.io/hostname"


def nodes_of(site: Site, job: str = WORKER) -> set[str]:
    return {pod["spec"].get("nodeName", "") for pod in site.pods(job)}


def wait_running(site: Site, job: str = WORKER) -> None:
    """Wait until all pods of the Job are ready, and let gangboard see them."""
    ends_at = time.monotonic() + 10
    while time.monotonic() < ends_at:
        ready = site.job(job)["status"].get("ready") == 2
        if ready and len(site.pods(job)) == 2 and "" not in nodes_of(site, job):
            site.poll()
            return
        time.sleep(0.05)
    raise AssertionError(site.job(job)["status"])


def relocate(site: Site, *nodes: str, name: str = WORKER, **options: Any) -> Action:
    avoid = Avoid(nodes or tuple(nodes_of(site, name)))
    return site.act("relocate", name, avoid=avoid, **options)


def terms(job: Json) -> list[Json]:
    affinity = job["spec"]["template"]["spec"].get("affinity", {})
    required = affinity.get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return [] if required is None else list(required["nodeSelectorTerms"])


def test_one_job_moves_and_its_siblings_stay(site: Site) -> None:
    (before,) = nodes_of(site)
    siblings = site.uids("train-workers-1") | site.uids("train-driver-0")
    pods, uid = site.uids(WORKER), site.job()["metadata"]["uid"]
    action = relocate(site)
    assert (action.state, action.lever) == ("verified", "hold-exclusion"), action.message
    (after,) = nodes_of(site)
    assert after != before
    assert action.message == (
        f"Job {WORKER} was on {before}, runs on {after} now; siblings untouched."
    )
    assert site.job()["metadata"]["uid"] == uid
    assert not site.uids(WORKER) & pods
    assert len(site.uids(WORKER)) == 2
    assert site.uids("train-workers-1") | site.uids("train-driver-0") == siblings
    assert site.holds() == []
    assert not site.suspended()
    assert terms(site.job()) == [
        {"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": [before]}]}
    ]
    note = site.job()["metadata"]["annotations"]["gangboard.dev/exclusion"]
    assert json.loads(note) == {"key": HOST, "values": [before]}
    assert [step.kind for step in action.steps.all()] == [
        "create-hold",
        "prove-hold",
        "patch",
        "wait-stopped",
        "exclude",
        "delete-hold",
        "prove-release",
        "restart",
    ]
    assert {step.state for step in action.steps.all()} == {"done"}
    assert (action.before["nodes"], action.after["nodes"]) == (before, after)
    assert LeverRecord.objects.get(lever="exclusion").proved_at is not None


def test_an_exclusion_goes_into_each_term_and_is_removed_again(site: Site) -> None:
    """The scheduler needs one matching term only, so a further term would let the Job return."""
    own = [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["cpu"]}]},
        {"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["gpu"]}]},
    ]

    def change(job: Json) -> None:
        required = {"nodeSelectorTerms": own}
        job["spec"]["template"]["spec"]["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }

    site.simulator.objects.put(_changed(site.job(), change), scripted=False)
    site.poll()
    (before,) = nodes_of(site)
    assert relocate(site).state == "verified"
    added = {"key": HOST, "operator": "NotIn", "values": [before]}
    assert [term["matchExpressions"][-1] for term in terms(site.job())] == [added, added]
    wait_running(site)
    action = site.act("relocate", avoid=Avoid())
    assert action.state == "verified", action.message
    assert terms(site.job()) == own
    assert "gangboard.dev/exclusion" not in site.job()["metadata"]["annotations"]


def test_a_resume_removes_the_exclusion(site: Site) -> None:
    relocate(site)
    site.poll()
    assert site.act().state == "verified"
    site.poll()
    action = site.act("resume")
    assert action.state == "verified", action.message
    assert terms(site.job()) == []
    assert not site.suspended()


def test_a_job_of_its_own_moves(site: Site) -> None:
    (before,) = nodes_of(site, "alone")
    action = relocate(site, name="alone")
    assert (action.state, action.lever) == ("verified", "exclusion"), action.message
    (after,) = nodes_of(site, "alone")
    assert before != after
    assert [step.kind for step in action.steps.all()] == ["patch", "wait-stopped", "exclude"]


def _changed(job: Json, change: Any) -> Json:
    change(job)
    return job


def test_the_audit_names_the_place(site: Site) -> None:
    (before,) = nodes_of(site)
    site.request("relocate", avoid=Avoid((before,)))
    (line,) = AuditEntry.objects.filter(event="requested")
    assert line.sentence == (
        f"olga asked to relocate Job team-nlp/{WORKER} away from node {before}: the loss explodes"
    )


def test_a_resume_of_a_whole_job_removes_the_exclusion(site: Site) -> None:
    relocate(site, name="alone")
    site.poll()
    assert site.act(name="alone").state == "verified"
    site.poll()
    action = site.act("resume", "alone")
    assert (action.state, action.lever) == ("verified", "suspend"), action.message
    assert terms(site.job("alone")) == []
    assert not site.suspended("alone")
