"""A PodClique whose pods are in several PodGangs, and PodCliques whose names do not tell their replica."""

from __future__ import annotations

import pytest

from tests.controlplane.grove import clique, podgang
from tests.owners.test_grove import Play, played

# A PodClique in several PodGangs


def spread(*, version: str = "") -> Play:
    """Return a set whose PodClique `dec` of 3 pods is in PodGang chat-0 with 2, and in chat-0-tail with 1."""
    play = Play(version)
    play.operator.create(play.make(clique("dec", 3, 2)))
    tail = {"metadata": {"labels": {"grove.io/podgang": "chat-0-tail"}}}
    play.store.patch("v1", "Pod", "chat-0-dec-2", tail, "team-a")
    owner = play.obj("PodCliqueSet", "chat")
    play.operator.podgangs["chat-0-tail"] = play.store.create(
        podgang("chat-0-tail", owner, {"chat-0-dec": 1}, {})
    )
    for name, pods in (("chat-0", (0, 1)), ("chat-0-tail", (2,))):
        play.operator.pods["chat-0-dec"] = [f"chat-0-dec-{index}" for index in pods]
        play.operator.initialize(name)
    return play


def test_pods_of_two_podgangs_that_are_gated_name_both() -> None:
    play = spread()
    for name in ("chat-0", "chat-0-tail"):
        waiting = {"status": {"conditions": [
            {"type": "Initialized", "status": "False", "reason": "PodGangPodsCreationPending",
             "message": "x", "lastTransitionTime": "2026-11-21T11:59:00Z"}]}}  # fmt: skip
        play.store.patch("", "PodGang", name, waiting, "")
    del play.store.objects["PodGang", "chat-0-tail"]
    result = play.verdict().finding
    assert result.code == "scheduling-gated"
    assert "PodGang chat-0," in result.message
    assert "PodGang chat-0-tail, which does not exist" in result.message


@pytest.mark.parametrize("minimum", [1, 2])
def test_minima_are_summed_over_the_podgangs_of_a_clique(minimum: int) -> None:
    """The PodClique needs 2: PodGangs chat-0 and chat-0-tail ask for 1 and `minimum` - 0 of its pods."""
    play = played("v1alpha2", clique("dec", 3, 2))
    tail = {"metadata": {"labels": {"grove.io/podgang": "chat-0-tail"}}}
    play.store.patch("v1", "Pod", "chat-0-dec-2", tail, "team-a")
    owner = play.obj("PodCliqueSet", "chat")
    play.obj("PodGang", "chat-0")["spec"]["podgroups"][0]["minReplicas"] = 1
    play.store.create(podgang("chat-0-tail", owner, {"chat-0-dec": minimum}, {}))
    play.refuse("chat-0-dec-0", "chat-0-dec-1", "chat-0-dec-2")
    labels_of_evidence = {item.label: item.value for item in play.verdict().finding.evidence}
    if minimum == 1:
        assert "minReplicas in the PodGang" not in labels_of_evidence  # the PodClique needs 1 + 1
    else:
        assert (
            labels_of_evidence[
                "spec.podgroups[].minReplicas in the PodGangs chat-0 and chat-0-tail"
            ]
            == "3"
        )


# Labels, not names


def test_the_replica_of_a_podclique_is_read_from_its_label() -> None:
    """A name may carry an epoch: then only the label says of which replica it is."""
    play = played("", clique("dec", 3, 1), replicas=2)
    for index in range(2):
        old = f"chat-{index}-dec"
        item = play.store.objects.pop(("PodClique", old))
        new = f"chat-{index}-1788533963-dec"
        item["metadata"]["name"] = new
        item["metadata"]["labels"]["grove.io/podcliqueset-replica-index"] = str(index)
        play.store.objects["PodClique", new] = item
        for (kind, _), obj in play.store.objects.items():
            if kind == "Pod" and obj["metadata"]["labels"]["grove.io/podclique"] == old:
                obj["metadata"]["labels"]["grove.io/podclique"] = new
                obj["metadata"]["ownerReferences"][0]["name"] = new
    play.run()
    result = play.verdict()
    assert (result.members.desired, result.finding.code) == (6, "running")
