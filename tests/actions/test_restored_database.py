"""A restored database: an action whose annotation is on its object is not sent again."""

from __future__ import annotations

from django.forms.models import model_to_dict

from gangboard.store.models import Action, ActionStep
from tests.actions.site import HOLDS, JOBSET, NAMESPACE, Site


def put_back(site: Site, name: str = "train-workers-0", verb: str = "suspend") -> Action:
    """Ask without a generation, copy the row, carry it out, undo it by hand, put the copy back."""
    action_id = site.request(verb, name, generation=None)
    copy = model_to_dict(Action.objects.get(pk=action_id), exclude=("id", "cluster", "user"))
    done = site.engine().finish(action_id)
    assert done.state == "verified", done.message
    for hold in site.holds():
        site.simulator.objects.delete(HOLDS, "Hold", hold["metadata"]["name"], NAMESPACE)
    undo(site, name)
    site.wire.seen.clear()
    ActionStep.objects.filter(action=action_id).delete()
    Action.objects.filter(pk=action_id).update(**copy)
    return site.engine().finish(action_id)


def undo(site: Site, name: str) -> None:
    def resume(obj: dict[str, dict[str, object]]) -> None:
        obj["spec"]["suspend"] = False

    if name == JOBSET:
        site.simulator.objects.update(
            "jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET, resume, NAMESPACE
        )
    else:
        site.touch(name, resume)


def test_a_repeated_hold_after_a_restore_is_a_conflict(site: Site) -> None:
    action = put_back(site)
    assert (action.state, site.wire.changes) == ("conflict", [])
    assert action.message == (
        "Job train-workers-0 already has the annotation of this action: the action was carried out before, and the database "
        "is an older copy. Nothing was sent."
    )
    assert not site.suspended()
    # A new request is another action.
    site.poll()
    assert site.act().state == "verified"


def test_a_repeated_suspend_of_a_jobset_after_a_restore_is_a_conflict(site: Site) -> None:
    action = put_back(site, JOBSET)
    assert (action.state, site.wire.changes) == ("conflict", [])
