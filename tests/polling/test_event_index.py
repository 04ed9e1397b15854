"""The uid of the object of an event is stored with it, for pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.polling import poll
from gangboard.polling.event_index import EVENTS_PER_OBJECT
from gangboard.store.models import Gang, WatchedObject
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
Json = dict[str, Any]


JOB: Json = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train", "namespace": "default", "uid": "0aa1-job"},
    "spec": {"parallelism": 1, "template": {"spec": {"containers": []}}},
}


def _event(name: str, uid: str, namespace: str = "default") -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "type": "Warning",
        "reason": "FailedCreate",
        "note": "exceeded quota",
        "regarding": {"kind": "Job", "name": "train", "namespace": namespace, "uid": uid},
        "eventTime": "2099-01-01T09:00:00.000000Z",
        "reportingController": "job-controller",
    }


def test_the_uid_of_the_object_of_an_event_is_stored(watch: Watch) -> None:
    watching = watch(fleet="empty")
    for name, uid in (("own.1", "0aa1-job"), ("long.1", "x" * 65), ("odd.1", "a\x00b")):
        watching.simulator.objects.put(_event(name, uid))
    watching.once()
    stored = WatchedObject.objects.filter(resource="events.events.k8s.io")
    about_by_name = dict(stored.values_list("name", "about"))
    # An invalid uid belongs to no object that a page could look up.
    assert about_by_name["own.1"] == "0aa1-job"
    assert {about_by_name.get("long.1"), about_by_name.get("odd.1")} == {None}


def test_other_objects_have_no_such_uid(watch: Watch) -> None:
    watching = watch()
    watching.once()
    other_objects = WatchedObject.objects.exclude(resource="events.events.k8s.io")
    assert other_objects.exists()
    assert not other_objects.filter(about__isnull=False).exists()


def test_many_events_of_one_reason_displace_none_of_another(watch: Watch) -> None:
    """An autoscaler event keeps its value after a hundred refusals by the scheduler."""
    watching = watch(fleet="empty")
    watching.simulator.objects.put(JOB)
    nominated = {**_event("nominated.1", "0aa1-job"), "reason": "Nominated", "type": "Normal"}
    nominated["eventTime"] = "2099-01-01T08:00:00.000000Z"
    watching.simulator.objects.put(nominated)
    for second in range(2 * EVENTS_PER_OBJECT):
        refused = {**_event(f"refused.{second}", "0aa1-job"), "reason": "FailedScheduling"}
        refused["eventTime"] = f"2099-01-01T09:00:{second:02}.000000Z"
        watching.simulator.objects.put(refused)
    watching.settle()
    cache = poll._caches[watching.cluster.pk]
    names = {
        cache.names["events.events.k8s.io"][uid][1] for uid in cache.events.about(["0aa1-job"])
    }
    newest = {f"refused.{second}" for second in range(EVENTS_PER_OBJECT + 1, 2 * EVENTS_PER_OBJECT)}
    assert names == {"nominated.1", *newest}


@pytest.mark.parametrize("is_first", [True, False])
def test_an_event_of_another_namespace_is_ignored_even_if_its_uid_matches(
    watch: Watch, is_first: bool
) -> None:
    watching = watch(fleet="empty")
    own = _event("own.1", "0aa1-job")
    forged = [_event(f"forged.{n}", "0aa1-job", "kanari") for n in range(2 * EVENTS_PER_OBJECT)]
    for event in forged:
        event["note"], event["eventTime"] = "kanari", "2099-01-01T09:30:00.000000Z"
        event["regarding"]["namespace"] = "default"
    batches = [forged, [JOB, own]] if is_first else [[JOB, own], forged]
    for batch in batches:
        for change in batch:
            watching.simulator.objects.put(change)
        watching.once()
    watching.once()
    gang = Gang.objects.get()
    assert (gang.code, "exceeded quota" in gang.message) == ("pod-creation-refused", True)
    assert b"kanari" not in bytes(gang.detail)
