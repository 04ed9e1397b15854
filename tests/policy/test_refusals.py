"""Refusals and their sentences: design §5, jobset-kueue.md §2.4, gang-owners.md §1."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, Plan, PolicyState, Verb
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from tests.domain_objects import NOW, a_meta, ago, failed, succeeded, with_cluster
from tests.policy.builders import (
    CLAIM,
    INSTALL,
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_hold,
    a_standalone,
    a_trio,
    an_entry,
    make_plan,
)

TRIO = a_trio()
ABOVE = Controller("argoproj.io", "Workflow", "nightly", "uid-nightly")
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def _refused(found: Plan) -> str:
    assert not found.allowed
    assert found.lever is None
    assert found.steps == ()
    assert (found.before, found.after) == ({}, {})
    return found.why_not


def _child(**fields: Any) -> Gang:
    return a_context(TRIO, a_child(TRIO, "trio-w-1", **fields))


CASES = [
    # (what, context, object, verb, the whole sentence)
    ("finished", _child(finish=succeeded()), "trio-w-1", "suspend",
     "Job trio-w-1 has succeeded: there is nothing left to suspend or resume."),
    ("failed", _child(finish=failed()), "trio-w-1", "suspend",
     "Job trio-w-1 has failed: there is nothing left to suspend or resume."),
    ("its JobSet failed", a_context(a_trio(finish=failed())), "trio-w-1", "suspend",
     "JobSet trio has failed: there is nothing left to suspend or resume."),
    ("JobSet succeeded", a_context(a_trio(finish=succeeded())), "trio", "suspend",
     "JobSet trio has succeeded: there is nothing left to suspend or resume."),
    ("being deleted", _child(deleting_since=ago(3)), "trio-w-1", "suspend",
     "Job trio-w-1 is being deleted."),
    ("its JobSet is being deleted", a_context(a_trio(deleting_since=ago(3))), "trio-w-0", "suspend",
     "JobSet trio is being deleted."),
    ("ending", _child(ending="BackoffLimitExceeded"), "trio-w-1", "suspend",
     "Job trio-w-1 is about to end (BackoffLimitExceeded): its pods are on their way out."),
    ("unknown owner above", a_context(a_trio(of=ABOVE)), "trio", "suspend",
     "JobSet trio is owned by Workflow/nightly; it would undo this."),
    ("unknown owner above, a child", a_context(a_trio(of=ABOVE)), "trio-w-0", "suspend",
     "JobSet trio is owned by Workflow/nightly; it would undo this."),
    ("Job of another CronJob", a_standalone(of=Controller("acme.io", "CronJob", "daily", "u")), "train",
     "suspend", "Job train is owned by CronJob/daily; it would undo this."),
    ("mirror", a_context(a_trio(managed_by=MULTIKUEUE)), "trio", "suspend",
     "JobSet trio mirrors a run in another cluster (MultiKueue): act in the cluster that runs it."),
    ("mirror, a child", a_context(a_trio(managed_by=MULTIKUEUE)), "trio-w-2", "suspend",
     "JobSet trio mirrors a run in another cluster (MultiKueue): act in the cluster that runs it."),
    ("mirror in a known cluster",
     a_context(a_trio(managed_by=MULTIKUEUE, queue="lq"),
               entries=(an_entry(has_quota=True, cluster="worker1"),)), "trio", "suspend",
     "JobSet trio runs in cluster worker1: act there."),
    ("dispatched without managedBy",
     a_context(a_trio(queue="lq"), entries=(an_entry(has_quota=True, cluster="worker1"),)),
     "trio", "suspend", "JobSet trio runs in cluster worker1: act there."),
    ("dispatched without managedBy, a child",
     a_context(a_trio(queue="lq"), entries=(an_entry(has_quota=True, cluster="worker1"),)),
     "trio-w-1", "relocate", "JobSet trio runs in cluster worker1: act there."),
    ("managed by another", a_context(a_trio(managed_by="acme.io/runner")), "trio", "suspend",
     "JobSet trio is managed by acme.io/runner (spec.managedBy), whose way to suspend it gangboard "
     "does not know."),
    ("Job managed by another", a_standalone(managed_by="acme.io/runner"), "train", "suspend",
     "Job train is managed by acme.io/runner (spec.managedBy), whose way to suspend it gangboard "
     "does not know."),
    ("JobSet suspended", a_context(a_trio(suspended=True)), "trio", "suspend",
     "JobSet trio is suspended already: nothing to do."),
    ("JobSet runs", a_context(), "trio", "resume", "JobSet trio is not suspended: nothing to do."),
    ("Job runs", a_context(), "trio-w-0", "resume",
     "Job trio-w-0 is not suspended: nothing to do."),
    ("standalone suspended", a_standalone(suspended=True), "train", "suspend",
     "Job train is suspended already: nothing to do."),
    ("held", replace(_child(suspended=True), holds=(a_hold(by="bob"),)), "trio-w-1", "suspend",
     "Job trio-w-1 is held already, by Hold trio-w-1-h of bob: nothing to do."),
    ("paused", _child(parallelism=0, paused_parallelism=2), "trio-w-1", "suspend",
     "Job trio-w-1 is paused already (parallelism 0, 2 is kept): nothing to do."),
    ("made without pods", _child(parallelism=0), "trio-w-1", "resume",
     "Job trio-w-1 requests no pods (parallelism 0), which gangboard did not set: nothing to do."),
    ("resume under a suspended JobSet",
     a_context(a_trio(suspended=True), a_child(TRIO, "trio-w-1", suspended=True)), "trio-w-1",
     "resume", "JobSet trio is suspended: Job trio-w-1 starts when the JobSet does."),
    ("resume under a queued JobSet",
     a_context(a_trio(suspended=True, queue="lq"), a_child(TRIO, "trio-w-1", suspended=True),
              entries=(an_entry(admitted=False),)), "trio-w-1", "resume",
     "Kueue has not admitted JobSet trio: Job trio-w-1 starts when the JobSet does."),
    ("no generation", a_context(TRIO, jobs=(a_child(TRIO, "trio-w-1", generation=0),)), "trio-w-1",
     "suspend", "The API server gives no generation for Job trio-w-1: a change that came in between "
     "would not be noticed."),
    ("queue without a Workload", a_context(a_trio(queue="lq")), "trio", "suspend",
     ("JobSet trio is in queue lq of Kueue, which undoes a change of spec.suspend, and no "
"Workload of Kueue is known for it: it does not exist yet, or may not be read.")),
    ("deactivated", a_context(a_trio(queue="lq", suspended=True), entries=(an_entry(active=False),)),
     "trio", "suspend", "JobSet trio is deactivated in Kueue already: nothing to do."),
    ("waits in its queue",
     a_context(a_trio(queue="lq", suspended=True), entries=(an_entry(admitted=False),)), "trio",
     "resume", "JobSet trio is active in Kueue and waits in queue lq: nothing to do."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("context", "name", "verb", "why"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_each_refusal_has_its_message(context: Gang, name: str, verb: str, why: str) -> None:
    assert _refused(make_plan(context, name, verb)) == why


@pytest.mark.parametrize("entry", [{"has_quota": False, "cluster": "worker1"}, {"has_quota": True}])
def test_an_entry_without_quota_in_another_cluster_is_acted_on_here(entry: dict[str, Any]) -> None:
    """Near misses: the name of the cluster is left from an earlier admission, and there is none."""
    context = a_context(a_trio(queue="lq"), entries=(an_entry(**entry),))
    assert make_plan(context, "trio", "suspend").allowed


def test_a_job_of_an_old_attempt_is_named() -> None:
    owner = a_trio(restarts=2)
    old = a_child(TRIO, "trio-w-1", attempt="1")
    plan = make_plan(a_context(owner, jobs=(), old_jobs=(old,)), "trio-w-1", "suspend")
    assert _refused(plan) == (
        "Job trio-w-1 belongs to restart attempt 1: JobSet trio is at attempt 2 and deletes it."
    )


def test_another_object_may_have_the_name_now() -> None:
    why = _refused(make_plan(a_context(), "recreated", "suspend"))
    assert "uid-recreated" in why
    assert "another object may have its name" in why


CLUSTERS = [
    (replace(READY, has_actor=False), "Cluster east has no actor: gangboard may only read it.",
     "manage.py set_actor east --kubeconfig FILE"),
    (replace(READY, read_only="Cluster east is read-only since 11:00"),
     "Cluster east is read-only since 11:00.", ""),
    (replace(READY, cluster="", has_actor=False),
     "This cluster has no actor: gangboard may only read it.",
     "manage.py set_actor NAME --kubeconfig FILE"),
]  # fmt: skip


@pytest.mark.parametrize(("levers", "why", "needs"), CLUSTERS)
@pytest.mark.parametrize("name", ["trio", "trio-w-1"])
def test_a_closed_cluster_refuses_everything(
    levers: ClusterLevers, why: str, needs: str, name: str
) -> None:
    for verb in Verb:
        plan = make_plan(a_context(), name, verb, levers)
        assert (_refused(plan), plan.needs) == (why, needs)


ALONE = "Job trio-w-1 cannot be suspended here: "
INSTEAD = " Suspend the whole JobSet trio instead."
LEVERLESS = [
    (WITHOUT, "", "JobSet trio would resume it. The Hold is not installed here.", INSTALL),
    (replace(READY, hold=PolicyState.CHANGED), "",
     "JobSet trio would resume it. The policy of the Hold was changed and is not trusted.", INSTALL),
    (replace(WITHOUT, hold_sentence="MutatingAdmissionPolicy is not served."), "",
     "JobSet trio would resume it. MutatingAdmissionPolicy is not served.", INSTALL),
    (replace(WITHOUT, build="jobset v0.12.0"), CLAIM,
     f"JobSet trio asked for Independent ({CLAIM}), but this controller (jobset v0.12.0) was not seen "
     "to honour it. The Hold is not installed here.",
     INSTALL),
]  # fmt: skip


@pytest.mark.parametrize(("levers", "claim", "reasons", "needs"), LEVERLESS)
def test_a_missing_lever_is_named_with_its_installation(
    levers: ClusterLevers, claim: str, reasons: str, needs: str
) -> None:
    plan = make_plan(a_context(a_trio(independent_claim=claim)), "trio-w-1", "suspend", levers)
    assert _refused(plan) == ALONE + reasons + INSTEAD
    assert plan.needs == needs


def test_the_whole_is_not_offered_where_it_is_suspended() -> None:
    why = _refused(make_plan(a_context(a_trio(suspended=True)), "trio-w-1", "suspend", WITHOUT))
    assert "the whole" not in why


def test_an_end_is_for_holds_only() -> None:
    later = NOW + timedelta(hours=1)
    paused = replace(WITHOUT, parallelism=True)
    sentence = "Only a Hold can have an end; {} would be suspended in another way."
    for levers, name in ((paused, "trio-w-1"), (READY, "trio")):
        plan = make_plan(a_context(), name, "suspend", levers, until=later)
        what = "JobSet trio" if name == "trio" else "Job trio-w-1"
        assert _refused(plan) == sentence.format(what)
    held = replace(_child(suspended=True), holds=(a_hold(),))
    why = _refused(make_plan(held, "trio-w-1", "resume", until=later))
    assert why == "Only a suspend by a Hold can have an end; Job trio-w-1 is to be resumed."


def test_an_end_lies_ahead() -> None:
    assert make_plan(a_context(), "trio-w-1", "suspend", until=NOW + timedelta(seconds=1)).allowed
    why = _refused(make_plan(a_context(), "trio-w-1", "suspend", until=NOW))
    assert why == "The end 2026-11-21 12:00 UTC is past: a Hold needs a later one."


def test_the_end_of_an_existing_hold_is_not_changed() -> None:
    later = NOW + timedelta(hours=1)
    existing = a_context(holds=(a_hold(until=later),))
    assert make_plan(existing, "trio-w-1", "suspend", until=later).allowed
    why = _refused(make_plan(existing, "trio-w-1", "suspend", until=later + timedelta(hours=1)))
    assert "Hold trio-w-1-h" in why


@pytest.mark.parametrize("verb", ["suspend", "resume"])
@pytest.mark.parametrize("name", ["trio", "trio-w-1"])
def test_objects_of_an_unknown_version_are_not_changed(name: str, verb: str) -> None:
    """It is read as the newest known version. The effect of a change on its controller is unknown."""
    context = a_context(api_versions={"jobsets.jobset.x-k8s.io": "v2"})
    assert _refused(make_plan(context, name, verb)) == (
        "JobSet trio is served as v2, which this release does not know: gangboard reads it, and changes "
        "nothing of its gang."
    )
    known = a_context(api_versions={"jobsets.jobset.x-k8s.io": "v1alpha2"})
    assert "does not know" not in make_plan(known, name, verb).why_not


@pytest.mark.parametrize("kind", [kind for kind in registry.owner_kinds() if kind.resource.fields])
def test_owners_of_an_unknown_version_are_not_changed(
    kind: OwnerKind,
) -> None:
    """Also where the kind stands between the owner and its Jobs."""
    resource = kind.resource
    meta = a_meta(resource.group, resource.kind, "run", version="v9")
    read = Owner(meta=meta, desired=1)
    versions = {resource.key: "v9"}
    reported = f"{resource.kind} run is served as v9"
    assert reported in _refused(make_plan(a_context(read, api_versions=versions), "run", "suspend"))
    between = with_cluster(replace(a_standalone(), middle=(read,)), api_versions=versions)
    assert reported in _refused(make_plan(between, "train", "suspend"))


def test_entries_of_an_unknown_version_are_not_changed() -> None:
    entries = (an_entry(name="w-0"),)
    context = a_context(
        a_trio(queue="lq"), entries=entries, api_versions={"workloads.kueue.x-k8s.io": "v3"}
    )
    assert "Workload w-0 is served as v3" in _refused(make_plan(context, "trio", "suspend"))
    elsewhere = replace(context, entries=())
    assert "v3" not in make_plan(elsewhere, "trio", "suspend").why_not
