"""The other levers: native suspend if the controller supports it, parallelism 0, and the end of a Hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from gangboard.actions import service
from gangboard.actions.sweeper import Sweeper
from gangboard.polling import poll
from gangboard.store.clusters import set_read_only
from gangboard.store.models import Action, Cluster, Gang, Grant, LeverRecord
from tests.actions.site import HOLDS, JOBSET, JOBSETS, NAMESPACE, WORKER, Json, Site

INDEPENDENT = {"jobset.sigs.k8s.io/reconciliation-mode": "Independent"}
CHILDREN = ("train-driver-0", "train-workers-0", "train-workers-1")
GROUP = "jobset.x-k8s.io"


def ask_for_independent(site: Site) -> None:
    def annotate(jobset: Json) -> None:
        jobset["metadata"].setdefault("annotations", {}).update(INDEPENDENT)

    site.simulator.objects.update(JOBSETS, "JobSet", JOBSET, annotate, NAMESPACE)
    site.poll()
    site.wire.seen.clear()


def preview(site: Site, name: str = WORKER) -> Any:
    return service.preview(site.viewer, site.action_request(name=name), now=site.clock.now())


@pytest.fixture
def claiming(start: Callable[..., Site]) -> Site:
    """A JobSet that asks for Independent, a controller that honours it, no Hold, and an admin."""
    site = start(hold=False, independent=True)
    Grant.objects.update(role="admin")
    ask_for_independent(site)
    return site


# Native


def test_the_jobset_build_is_identified_by_its_schema(site: Site) -> None:
    site.cluster.refresh_from_db()
    first = site.cluster.controller_build
    assert len(first) == 64
    install_another_build(site)
    assert site.cluster.controller_build not in ("", first)


def install_another_build(site: Site) -> None:
    site.simulator.api.releases[GROUP] = "another"
    poll.drop_cache(site.cluster.pk)  # discovery runs again every five minutes
    site.poll()
    site.cluster.refresh_from_db()


def test_an_unproved_claim_is_refused(claiming: Site) -> None:
    action = claiming.act()
    assert action.state == "refused", action.message
    assert "asked for Independent" in action.message
    assert "was not seen to honour it" in action.message
    assert claiming.wire.changes == []
    assert LeverRecord.objects.filter(lever="native").count() == 0


def test_an_unproved_claim_falls_back_to_the_hold(
    start: Callable[..., Site],
) -> None:
    site = start(independent=True)
    ask_for_independent(site)
    action = site.act()
    assert (action.state, action.lever) == ("verified", "hold"), action.message
    assert any("was not seen to honour it" in text for text in action.warnings)


def test_a_proved_claim_is_the_lever_of_its_build(claiming: Site) -> None:
    site = claiming
    siblings = site.uids("train-driver-0")
    action = site.act(forced=True)
    assert (action.state, action.lever) == ("verified", "native"), action.message
    assert (site.suspended(), site.pods()) == (True, [])
    site.cluster.refresh_from_db()
    record = LeverRecord.objects.get(lever="native")
    assert (record.build, record.refuted_at) == (site.cluster.controller_build, None)
    # The next one is not forced.
    Grant.objects.update(role="operator")
    site.poll()
    action = site.act(name="train-workers-1")
    assert (action.state, action.lever) == ("verified", "native"), action.message
    assert site.uids("train-driver-0") == siblings
    site.poll()
    action = site.act("resume")
    assert (action.state, action.lever) == ("verified", "native"), action.message
    assert not site.suspended()
    # Another build needs its own proof.
    install_another_build(site)
    plan = preview(site)
    assert not plan.allowed
    assert "was not seen to honour it" in plan.why_not


def test_an_owner_with_a_proved_claim_is_suspended_job_by_job(claiming: Site) -> None:
    site = claiming
    assert site.act(forced=True).state == "verified"
    site.poll()
    site.wire.seen.clear()
    action = site.act(name=JOBSET)
    assert (action.state, action.lever) == ("verified", "native"), action.message
    assert all(site.suspended(name) for name in CHILDREN)
    # One was suspended already; `spec.suspend` of such a JobSet must stay unset.
    assert len(site.wire.writes("patch", "jobs")) == 2
    assert site.wire.writes("patch", "jobsets") == []
    assert not site.jobset()["spec"].get("suspend")
    site.poll()
    action = site.act("resume", JOBSET)
    assert action.state == "verified", action.message
    assert not any(site.suspended(name) for name in CHILDREN)
    assert site.wire.writes("patch", "jobsets") == []


def test_a_controller_that_ignores_the_claim_is_remembered(start: Callable[..., Site]) -> None:
    site = start(hold=False)
    Grant.objects.update(role="admin")
    ask_for_independent(site)
    action = site.act(forced=True)
    assert (action.state, action.reverted_by) == ("reverted", "jobset"), action.message
    site.cluster.refresh_from_db()
    record = LeverRecord.objects.get(lever="native")
    assert record.build == site.cluster.controller_build
    assert (record.proved_at, record.refuted_at is not None) == (None, True)
    site.poll()
    assert not preview(site).allowed


# Parallelism 0


@pytest.fixture
def pausing(start: Callable[..., Site]) -> Site:
    """A cluster without the Hold where pausing is switched on."""
    site = start(hold=False)
    Cluster.objects.update(parallelism_lever=True)
    return site


def test_a_job_is_paused_and_resumed(pausing: Site) -> None:
    site = pausing
    siblings = site.uids("train-workers-1") | site.uids("train-driver-0")
    action = site.act()
    assert (action.state, action.lever) == ("verified", "parallelism"), action.message
    assert action.button == "Pause"
    assert action.message.startswith("Job train-workers-0 is paused and stays so")
    job = site.job()
    assert job["spec"]["parallelism"] == 0
    assert job["metadata"]["annotations"]["gangboard.dev/paused-parallelism"] == "2"
    assert (site.suspended(), site.pods()) == (False, [])
    # The JobSet continues. It counts the Job as ready, and changes neither it nor its siblings.
    assert site.uids("train-workers-1") | site.uids("train-driver-0") == siblings
    rows = {row["name"]: row for row in site.jobset()["status"]["replicatedJobsStatus"]}
    assert (rows["workers"]["suspended"], rows["workers"]["ready"]) == (0, 2)
    conditions = site.jobset()["status"].get("conditions", [])
    assert "Suspended" not in {condition["type"] for condition in conditions}
    site.poll()
    assert Gang.objects.get(name=JOBSET).code == "paused"
    action = site.act("resume")
    assert (action.state, action.lever) == ("verified", "parallelism"), action.message
    job = site.job()
    assert job["spec"]["parallelism"] == 2
    assert "gangboard.dev/paused-parallelism" not in job["metadata"]["annotations"]
    assert len(site.pods()) == 2
    assert len(site.wire.writes("patch", "jobs")) == 2


def test_a_pause_undone_by_hand_is_noticed(pausing: Site) -> None:
    def flip(name: str) -> None:
        if name == "applied:written":
            pausing.touch(WORKER, lambda job: job["spec"].update(parallelism=2))

    action = pausing.engine(checkpoint=flip).finish(pausing.request())
    assert (action.state, action.reverted_by) == ("reverted", "simulator"), action.message
    assert "spec.parallelism 2" in action.message


def test_a_pause_has_no_end(pausing: Site) -> None:
    action = pausing.act(until=pausing.clock.now() + timedelta(hours=1))
    assert action.state == "refused"
    assert "Only a Hold can have an end" in action.message
    assert pausing.wire.changes == []


# The end of a Hold


def held_until(site: Site, minutes: int) -> Action:
    action = site.act(until=site.clock.now() + timedelta(minutes=minutes))
    assert action.state == "verified", action.message
    site.poll()
    return action


def sweep(site: Site) -> None:
    for action_id in Sweeper(site.clock).sweep().due:
        site.engine().finish(action_id)


def test_an_end_during_read_only_waits(site: Site) -> None:
    held_until(site, 10)
    set_read_only(name=None, on=True, by="olga")
    site.clock.advance(700)
    sweep(site)
    assert (site.suspended(), len(site.holds())) == (True, 1)
    assert Action.objects.filter(via="gangboard").count() == 0
    set_read_only(name=None, on=False, by="olga")
    sweep(site)
    assert (site.suspended(), site.holds()) == (False, [])
    assert Action.objects.get(via="gangboard").state == "verified"


def test_a_failed_end_is_retried_later(site: Site) -> None:
    held_until(site, 10)
    site.clock.advance(700)
    fault = site.simulator.faults.forbidden(resource="holds", verb="delete")
    sweep(site)
    assert Action.objects.get(via="gangboard").state == "failed"
    sweep(site)
    assert Action.objects.filter(via="gangboard").count() == 1  # a minute later at the earliest
    site.simulator.faults.remove(fault)
    site.clock.advance(61)
    sweep(site)
    tries = Action.objects.filter(via="gangboard").order_by("requested_at")
    assert [attempt.state for attempt in tries] == ["failed", "verified"]
    assert (site.suspended(), site.holds()) == (False, [])


def test_a_postponed_end_is_respected(site: Site) -> None:
    """The Hold was prolonged, and the poll has not seen it yet."""
    held_until(site, 10)
    later = (site.clock.now() + timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    name = site.holds()[0]["metadata"]["name"]
    site.simulator.objects.update(
        HOLDS, "Hold", name, lambda hold: hold["spec"].update(until=later), NAMESPACE
    )
    site.clock.advance(700)
    sweep(site)
    action = Action.objects.get(via="gangboard")
    assert (action.state, action.sent_at) == ("refused", None), action.message
    assert "end of the Hold was moved" in action.message
    assert (site.suspended(), len(site.holds())) == (True, 1)
