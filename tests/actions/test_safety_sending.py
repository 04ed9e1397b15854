"""Action safety, S5 to S7: accepted actions are not lost, not sent twice, and not verified too early."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from gangboard.actions import drift_detection
from gangboard.actions.sweeper import Sweeper
from gangboard.store.models import Action, AuditEntry
from tests.actions.site import (
    BATCH,
    JOBSET,
    NAMESPACE,
    PATCH,
    WORKER,
    Json,
    QuickClock,
    Site,
    played,
)
from tests.live.figures import tell

EVERYTHING = (WORKER, "train-workers-1", "train-driver-0", "alone", JOBSET)


def test_s05_an_action_runs_although_every_wake_up_is_lost(site: Site) -> None:
    """Redis was emptied after the clicks: the rows are the order, the sweeper finds them."""
    requested_at = {site.request(name=name): site.clock.monotonic() for name in EVERYTHING}
    picked_up: dict[str, float] = {}
    sweeper = Sweeper(site.clock)
    while (
        len(picked_up) < len(requested_at)
        and site.clock.monotonic() - min(requested_at.values()) < 120
    ):
        for action in sweeper.sweep().due:
            picked_up.setdefault(action, site.clock.monotonic() - requested_at[action])
        site.clock.advance(2)  # as often as beat enqueues it
    assert picked_up.keys() == requested_at.keys()
    assert max(picked_up.values()) <= 60
    tell(
        f"S5: {len(requested_at)} clicks without a wake-up: lost 0, picked up after "
        f"{max(picked_up.values()):.1f} s at most"
    )


def seconds_unknown(action: Action) -> float:
    """Return for how long it was not known whether the patch was carried out."""
    entries = AuditEntry.objects.filter(action=action, event="state").order_by("pk")
    states = [(entry.details["state"], entry.at) for entry in entries]
    names = [state for state, _ in states]
    assert "unknown" in names, names
    moments: list[datetime] = [moment for _, moment in states]
    start = names.index("unknown")
    return (moments[start + 1] - moments[start]).total_seconds()


@pytest.mark.parametrize("applied", [True, False])
@pytest.mark.parametrize("fault", ["reset", "status", "truncated"])
def test_s06_a_lost_response_is_resolved(site: Site, fault: str, applied: bool) -> None:
    def fail() -> None:
        fault_options: dict[str, Any] = {
            "resource": "jobs",
            "verb": "patch",
            "count": 1,
            "applied": applied,
        }
        if fault == "status":
            site.simulator.faults.status(500, **fault_options)
        else:
            getattr(site.simulator.faults, fault)(**fault_options)

    action = played(site, PATCH, fail)
    assert len(site.wire.writes("patch", "jobs")) == 1
    assert action.steps.get(kind="patch").sends == 1
    seconds = seconds_unknown(action)
    assert seconds <= 30
    if applied:
        assert action.state == "verified", action.message
        assert len(site.holds()) == 1
    else:
        assert action.state == "failed", action.message
        assert "not changed" in action.message
        assert site.holds() == []
        assert not site.suspended()
    tell(f"S6 {fault}, applied {applied}: resolved after {seconds:.1f} s, second PATCH 0")


class Flipping(QuickClock):
    """Time in which something happens a number of seconds after it was set going."""

    def __init__(self) -> None:
        super().__init__()
        self.flips_at = float("inf")
        self.flip: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        if self.monotonic() + seconds < self.flips_at:
            super().sleep(seconds)
            return
        # No worker runs in between, so it happens within this pause.
        self.advance(max(0.0, self.flips_at - self.monotonic()))
        self._flip()
        super().sleep(min(seconds, 0.03))

    def advance_to_flip(self) -> None:
        """Let time pass while no worker runs, unless it has happened already."""
        if self.flips_at != float("inf"):
            self.advance(max(0.0, self.flips_at - self.monotonic()))
            self._flip()

    def _flip(self) -> None:
        self.flips_at = float("inf")
        self.flip()


@pytest.mark.parametrize("after", [0.2, 5.0, 50.0])
@pytest.mark.parametrize("name", [WORKER, "alone"])
def test_s07_a_revert_by_a_controller_is_reported(
    start: Callable[..., Site], name: str, after: float
) -> None:
    """While it is watched, and afterwards by the next poll; never success, never sent again."""
    site = start()
    clock = site.clock = Flipping()
    site.simulator.writer.now = clock.now
    jobs = site.simulator.objects.resource(BATCH, "Job")

    def resume(job: Json) -> Json:
        job["spec"]["suspend"] = False
        return job

    def flip() -> None:
        site.simulator.writer.admission = lambda _resource, _old, new: new  # the policy is gone
        site.simulator.writer.change(jobs, (NAMESPACE, name), resume, manager="emulator")

    clock.flip = flip

    def begin(reached: str) -> None:
        if reached == "applied:written":
            clock.flips_at = clock.monotonic() + after

    action = site.engine(checkpoint=begin).finish(site.request(name=name))
    watched = action.state == "reverted"
    if not watched:
        # The window of a proved Hold is 3 s, of another lever its pods' grace and 10 s.
        assert action.state == "verified", action.message
        clock.advance_to_flip()
        site.poll()
        assert drift_detection.find_suspicious() == {action.cluster_id: [action.pk]}
        assert drift_detection.inspect(action.pk, clock) == "reverted"
        action.refresh_from_db()
    assert watched == (after < (3 if name == WORKER else 40))
    assert (action.state, action.reverted_by) == ("reverted", "emulator"), action.message
    assert action.held_seconds is not None
    # managedFields tell the second.
    assert after - 1.5 <= action.held_seconds <= after + 1.5
    assert "emulator set spec.suspend false" in action.message
    # A later inspection does not send it again.
    for action_id in Sweeper(clock).sweep().due:
        site.engine().finish(action_id)
    assert len(site.wire.writes("patch", "jobs")) == 1
    assert Action.objects.count() == 1
    tell(
        f"S7 {name}: flipped back after {after:g} s: found "
        f"{'in the window' if watched else 'by the next poll'}, held {action.held_seconds:.1f} s, "
        "auto-retries 0"
    )


def test_s07_the_window_of_another_lever_is_its_grace_plus_ten_seconds(site: Site) -> None:
    job = site.job("alone")
    grace = job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace == 30
    action = site.act(name="alone")
    assert action.sent_at is not None
    assert action.finished_at is not None
    assert (action.finished_at - action.sent_at).total_seconds() >= grace + 10
