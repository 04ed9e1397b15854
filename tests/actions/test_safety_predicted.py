"""Action safety, S8: the preview correctly predicts whether a suspended Job stays suspended.

Each situation is created in a simulated cluster. The prediction is compared with the result after
an admin goes on, and both with the known facts about JobSet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.utils import timezone

from gangboard.actions import service
from gangboard.store.levers import save_lever_proof
from gangboard.store.models import Cluster, Grant
from tests.actions.site import BATCH, JOBSET, JOBSETS, NAMESPACE, WORKER, Json, Site
from tests.live.figures import tell

INDEPENDENT = {"jobset.sigs.k8s.io/reconciliation-mode": "Independent"}
FROM_THE_START, STAYS, UNDONE = "refused", "verified", "reverted"


def jobset(change: Callable[[Json], Any]) -> Callable[[Site], None]:
    """Return what changes the JobSet."""
    return lambda site: site.simulator.objects.update(  # type: ignore[return-value]
        JOBSETS, "JobSet", JOBSET, change, NAMESPACE
    )


def ask_for_independent(site: Site) -> None:
    jobset(lambda one: one["metadata"].setdefault("annotations", {}).update(INDEPENDENT))(site)


def seen_honoured(site: Site) -> None:
    ask_for_independent(site)
    site.cluster.refresh_from_db()
    build = site.cluster.controller_build
    save_lever_proof(site.cluster.pk, "native", held=True, at=timezone.now(), build=build)


def remove_policy(site: Site) -> None:
    policies = "admissionregistration.k8s.io/v1"
    site.simulator.objects.delete(policies, "MutatingAdmissionPolicy", "gangboard-hold")
    site.simulator.writer.admission = lambda _resource, _old, new: new


def enable_parallelism(_site: Site) -> None:
    Cluster.objects.update(parallelism_lever=True)


def owned_by_another(obj: Json) -> None:
    owner = {"apiVersion": "example.com/v1", "kind": "Robot", "name": "r2", "uid": "r2"}
    obj["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def finished(obj: Json) -> None:
    condition = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}
    obj["status"]["conditions"] = [{**condition, "lastTransitionTime": "2026-11-20T00:00:00Z"}]


def being_deleted(site: Site) -> None:
    keep = {"finalizers": ["example.com/keep"]}
    site.touch(WORKER, lambda job: job["metadata"].update(keep))
    jobs = site.simulator.objects.resource(BATCH, "Job")
    site.simulator.writer.mark_deleted(jobs, (NAMESPACE, WORKER))


@dataclass(frozen=True)
class Row:
    """One situation: its setup, the result of a suspend, and the lever or the reason for
    refusal."""

    comes_to: str
    words: str = ""
    lever: str = ""
    make: Callable[[Site], Any] = lambda _site: None
    options: dict[str, Any] = field(default_factory=dict)
    name: str = WORKER


BARE = {"hold": False}
TABLE = {
    # jobset-kueue.md 2.4: the numbers in the names are its rows.
    "0 Job being deleted": Row(FROM_THE_START, "is being deleted", make=being_deleted),
    "0 JobSet finished": Row(FROM_THE_START, "has succeeded", make=jobset(finished)),
    "1 standalone Job": Row(STAYS, lever="suspend", options=BARE, name="alone"),
    "3 managed by another": Row(
        FROM_THE_START,
        "example.com/another",
        make=jobset(lambda one: one["spec"].update(managedBy="example.com/another")),
    ),
    "owned by another": Row(FROM_THE_START, "Robot/r2", make=jobset(owned_by_another)),
    "4 v0.12": Row(UNDONE, "would resume it", options=BARE),
    "4 v0.12 asked for Independent": Row(
        UNDONE, "was not seen to honour it", make=ask_for_independent, options=BARE
    ),
    "5 honours Independent": Row(
        STAYS, lever="native", make=seen_honoured, options={**BARE, "independent": True}
    ),
    "6 not asked for": Row(
        UNDONE,
        "would resume it",
        options={**BARE, "independent": True},
    ),
    # Levers that gangboard installs itself.
    "Hold": Row(STAYS, lever="hold"),
    "Hold without its policy": Row(UNDONE, "policy gangboard-hold is not", make=remove_policy),
    "parallelism 0": Row(STAYS, lever="parallelism", make=enable_parallelism, options=BARE),
}
RIGHT: list[str] = []


@pytest.mark.parametrize("situation", TABLE)
def test_s08_the_prediction_matches_the_outcome(start: Callable[..., Site], situation: str) -> None:
    row = TABLE[situation]
    site = start(**row.options)
    Grant.objects.update(role="admin")
    row.make(site)
    site.poll()
    site.wire.seen.clear()
    plan = preview(site, row)
    forced = preview(site, row, forced=True)
    predicted = STAYS if plan.allowed else UNDONE if forced.allowed else FROM_THE_START
    # The button: on with this lever, or off with this reason.
    assert (plan.allowed, plan.lever or "") == (row.comes_to == STAYS, row.lever)
    assert row.words in plan.why_not
    if predicted == UNDONE:
        assert any("jobset will likely undo it" in warning for warning in forced.warnings), (
            forced.warnings
        )
    action = site.act(name=row.name, forced=not plan.allowed)
    assert action.state == row.comes_to, action.message
    assert predicted == action.state
    if row.comes_to == UNDONE:
        assert (action.reverted_by, len(site.wire.writes("patch", "jobs"))) == ("jobset", 1)
        assert "A Hold would keep it suspended" in action.message
    if row.comes_to == FROM_THE_START:
        assert site.wire.changes == []
    RIGHT.append(situation)
    if len(RIGHT) == len(TABLE):
        tell(f"S8: predictions that came true: {len(RIGHT)} of {len(TABLE)}")


def preview(site: Site, row: Row, **options: Any) -> Any:
    return service.preview(
        site.viewer, site.action_request(name=row.name, **options), now=site.clock.now()
    )
