from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.decode.events import EVENT, EVENT_REASONS
from gangboard.decode.list_watch_decoder import build_model, read_page
from gangboard.domain.event import Event
from tests.decode.reading import list_body, model, with_identity


def event(**fields: Any) -> Event:
    built: Event = model(EVENT, with_identity({"reason": "FailedCreate", **fields}))
    return built


def test_an_event_of_the_scheduler_with_a_series() -> None:
    result = event(
        reason="FailedScheduling",
        type="Warning",
        note="0/4 nodes are available: 4 Insufficient nvidia.com/gpu.",
        eventTime="2026-11-21T09:53:35.883684Z",
        deprecatedFirstTimestamp=None,
        deprecatedLastTimestamp=None,
        series={"count": 2, "lastObservedTime": "2026-11-21T09:54:35.100000Z"},
        reportingController="default-scheduler",
        regarding={
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "team-a",
            "name": "p",
            "uid": "u",
        },
    )
    assert result.count == 2
    assert result.first_seen == datetime(2026, 11, 21, 9, 53, 35, 883684, tzinfo=UTC)
    assert result.last_seen == datetime(2026, 11, 21, 9, 54, 35, 100000, tzinfo=UTC)
    assert result.reporter == "default-scheduler"
    assert (result.regarding.group, result.regarding.kind, result.regarding.uid) == ("", "Pod", "u")
    assert result.related is None


def test_an_event_of_an_old_recorder_uses_the_deprecated_fields() -> None:
    result = event(
        eventTime=None,
        deprecatedFirstTimestamp="2026-11-21T09:53:34Z",
        deprecatedLastTimestamp="2026-11-21T09:58:34Z",
        deprecatedCount=5,
        deprecatedSource={"component": "job-controller"},
        regarding={"apiVersion": "batch/v1", "kind": "Job", "name": "train"},
    )
    assert result.count == 5
    assert result.first_seen == datetime(2026, 11, 21, 9, 53, 34, tzinfo=UTC)
    assert result.last_seen == datetime(2026, 11, 21, 9, 58, 34, tzinfo=UTC)
    assert result.reporter == "job-controller"
    assert result.regarding.group == "batch"


def test_event_without_a_time_has_its_creation_time() -> None:
    result = event(metadata={"creationTimestamp": "2026-11-21T09:53:34Z"})
    assert result.first_seen == result.last_seen == datetime(2026, 11, 21, 9, 53, 34, tzinfo=UTC)
    assert result.count == 1


def test_preemption_names_the_preemptor() -> None:
    result = event(
        reason="Preempted",
        note="Preempted by podgroup 17 on node cluster",
        related={
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "name": "urgent",
            "uid": "17",
        },
    )
    assert result.related is not None
    assert (result.related.group, result.related.name) == ("scheduling.k8s.io", "urgent")


# As written by kube-scheduler 1.37.0 (a pod that preempts; `related` is null there) and 1.36.3.
@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("Preempted by pod 7899f2fb-f362-4dd2-8090-aa90987b9ec3 on node pd-0", "Pod"),
        ("Preempted by podgroup 7899f2fb-f362-4dd2-8090-aa90987b9ec3 on node cluster", "PodGroup"),
    ],
)
def test_preemption_with_a_uid_only(note: str, kind: str) -> None:
    result = event(reason="Preempted", note=note, related=None).related
    assert result is not None
    assert (result.kind, result.uid) == (kind, "7899f2fb-f362-4dd2-8090-aa90987b9ec3")
    assert not result.name
    assert event(reason="BackOff", note=note).related is None
    assert event(reason="Preempted", note="Preempted by somebody").related is None


@pytest.mark.parametrize("reason", ["Scheduled", "Pulled", "SuccessfulCreate", "Started", "", None])
def test_events_with_other_reasons_are_dropped_without_a_problem(reason: str | None) -> None:
    page = read_page(list_body([with_identity({"reason": reason})]), EVENT)
    assert build_model(EVENT, page.objects[0], "v1") == (None, None)


@pytest.mark.parametrize("reason", sorted(EVENT_REASONS))
def test_events_with_reasons_of_rules_are_stored(reason: str) -> None:
    assert event(reason=reason).reason == reason


def test_resource_key_differs_from_core_events() -> None:
    assert EVENT.key == "events.events.k8s.io"
    assert not EVENT.needed
