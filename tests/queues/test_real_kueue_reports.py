"""Public reports, rebuilt with a real Kueue: the verdict, and the effect of the advice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from tests.controlplane.client import wait
from tests.controlplane.queues import KUEUE, kueue_workload, set_active
from tests.queues.places import Place
from tests.queues.reported_situations import REPORTED, answer
from tests.situations import check


@pytest.mark.parametrize("name", REPORTED)
def test_reported_situations(places: dict[str, Place], name: str) -> None:
    check(REPORTED[name], places[name])


def test_a_rejected_workload_is_replaced_by_a_new_one(places: dict[str, Place]) -> None:
    """Its advice, followed to the letter. Near miss: `spec.active: true`, which Kueue ignores after its own decision."""
    place = places["refused"]
    before = place.entry()["metadata"]
    set_active(place.client, place.entry(), True)
    place.wait_told("not-requeued")
    finding = place.verdict().finding
    assert finding.health == "blocked"
    assert finding.message == (
        "Queue queue cannot admit it: it is active again, but Kueue does not queue it (Requeued=False, "
        "DeactivatedDueToAdmissionCheck)."
    )
    (advice,) = finding.advice
    assert advice.command == (
        "kubectl", "delete", "workloads.kueue.x-k8s.io", before["name"], f"--namespace={place.name}"
    )  # fmt: skip
    place.client.delete(KUEUE, "Workload", before["name"], place.name)
    wait(
        lambda: (
            (new := kueue_workload(place.client, place.owner())) is not None
            and new["metadata"]["uid"] != before["uid"]
        ),
        what="a new Workload",
        timeout=60,
    )
    answer(place, "run", "Ready", "")
    place.wait_told("running")


@contextmanager
def five_minutes_later(place: Place) -> Iterator[None]:
    """Judge it as it is now and at another time."""
    place.later = timedelta(minutes=5)
    try:
        yield
    finally:
        place.later = timedelta()


def test_admitted_and_not_resumed_for_long(places: dict[str, Place]) -> None:
    """Near misses: a minute ago (the situation itself), and the twin, which was resumed."""
    place = places["not-resumed"]
    with five_minutes_later(place):
        finding = place.verdict().finding
        assert (finding.code, finding.health) == ("queue-evaluating", "blocked")
        assert "events of Job run" in finding.advice_texts[0]
        assert "quota" in finding.advice_texts[0]
        assert place.verdict("twin").finding.health == "running"


def test_a_gang_with_fewer_pods_than_requested(places: dict[str, Place]) -> None:
    """Near miss: the twin was admitted with all of its pods."""
    place = places["partly"]
    _, beside = place.verdict().findings
    assert beside.code == "partly-admitted"
    assert "3 of the 5 pods" in beside.message
    assert [finding.code for finding in place.verdict("twin").findings] == ["running"]


def test_the_pod_of_a_lost_node_is_recreated(places: dict[str, Place]) -> None:
    """Its advice, followed to the letter."""
    place = places["pinned"]
    waits = next(pod for pod in place.pods() if not pod["spec"].get("nodeName"))
    name = waits["metadata"]["name"]
    wait(lambda: place.verdict().finding.advice, what="another node to be assigned", timeout=60)
    finding = place.verdict().finding
    assert f"Pod {name} requires node kq-pinned-run-" in finding.message
    (step,) = finding.advice
    assert step.text == f"Delete pod {name}: its successor goes to kq-pinned-run-2."
    assert step.command == ("kubectl", "delete", "pods", "-n", place.name, name)
    place.client.delete("v1", "Pod", name, place.name, grace=0)
    wait(
        lambda: place.told()["code"] == "running",
        what="its successor to run",
        seen=place.told,
        timeout=90,
    )


def test_the_label_that_a_flavor_adds(places: dict[str, Place]) -> None:
    """Near miss: the same with two labels of its own."""
    finding = places["two-sources"].verdict().finding
    assert "reserve2=yes and tier2=spot" in finding.message
    assert "ResourceFlavor reserve2 adds reserve2=yes" in finding.message
    assert [text.split()[0] for text in finding.advice_texts] == ["Remove", "Use"]
    own = places["own-labels"].verdict().finding
    assert "own4=yes and tier4=spot" in own.message
    assert "adds" not in own.message
