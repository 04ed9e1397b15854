"""PodCliques of one PodGang that wait for nodes: the verdict is about all of their pods."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.health import Health
from gangboard.domain.verdict import Verdict
from tests.controlplane.grove import clique, podgang
from tests.domain_objects import NOW
from tests.gangs import assemble
from tests.owners.test_grove import FORMS, SERVED, Play, played
from tests.rules.waiting_gangs import cpu_node as big

FOURS = (clique("pre", 2, 2, cpu="4"), clique("dec", 3, 3, cpu="4"))
"""Five pods of 4 CPUs each: 20 in all."""
CRUMBS = tuple(big(f"n{number}", used=5) for number in range(4))
"""12 CPUs are free, 3 on each node: no node has room for a pod of 4."""
HALVES = (big("n0", used=2), big("n1", used=2), big("n2", used=8))
"""12 CPUs are free, 6 on each of two nodes: two pods of 4 fit."""
ALL = (
    *(f"chat-0-pre-{index}" for index in range(2)),
    *(f"chat-0-dec-{index}" for index in range(3)),
)


def judged(play: Play, nodes: tuple[NodeInfo, ...], **known: Any) -> Verdict:
    models = play.store.models()
    root = next(model for model in models if model.meta.ref.kind == "PodCliqueSet")
    return assess(
        assemble(
            root,
            [model for model in models if model is not root],
            now=NOW,
            gang_api_version=SERVED[play.version],
            room=ClusterCapacity(nodes),
            kubernetes=(1, 37),
            **known,
        )
    )


def rows(verdict: Verdict) -> set[tuple[str, str]]:
    return {(finding.unit, finding.code) for finding in verdict.findings}


@pytest.mark.parametrize("nodes", [CRUMBS, HALVES])
@pytest.mark.parametrize("version", ["", *FORMS])
def test_cliques_of_a_podgang_that_wait_are_judged_together(
    version: str, nodes: tuple[NodeInfo, ...]
) -> None:
    play = played(version, *FOURS)
    play.refuse(*ALL)
    result = judged(play, nodes).finding
    assert (result.code, result.health) == ("insufficient-resources", Health.WAITING)
    assert "5 pods" in result.message
    assert "20 CPUs" in result.message
    assert "12 are free" in result.message


def test_each_clique_keeps_its_own_finding() -> None:
    play = played("", *FOURS)
    play.refuse(*ALL)
    result = rows(judged(play, CRUMBS))
    assert ("chat-0-dec", "fragmented") in result


def test_enough_in_total_and_no_place_is_fragmented() -> None:
    """Near miss: 20 CPUs are needed and 21 are free, 3 on each of 7 nodes."""
    play = played("", *FOURS)
    play.refuse(*ALL)
    nodes = tuple(big(f"n{number}", used=5) for number in range(7))
    result = judged(play, nodes).finding
    assert (result.code, result.health) == ("fragmented", Health.WAITING)
    assert "5 pods" in result.message


def test_only_the_minimum_of_each_clique_is_required() -> None:
    """`minAvailable` 1 and 1: two pods of 4 CPUs are enough, and 12 CPUs lie in crumbs."""
    play = played("", clique("pre", 2, 1, cpu="4"), clique("dec", 3, 1, cpu="4"))
    play.refuse(*ALL)
    result = judged(play, CRUMBS).finding
    assert result.code == "fragmented"
    assert "2 pods" in result.message


def test_cliques_of_different_podgangs_are_judged_separately() -> None:
    """Near miss: two replicas of the set are two PodGangs; each needs 8 CPUs of the 12 in crumbs."""
    play = played("", clique("pre", 2, 2, cpu="4"), replicas=2)
    play.refuse(*(f"chat-{of}-pre-{index}" for of in range(2) for index in range(2)))
    result = judged(play, CRUMBS).finding
    assert result.code == "fragmented"


def test_a_clique_that_no_node_can_host_stays_the_cause() -> None:
    play = played(
        "", clique("pre", 2, 2, cpu="4", on={"pool": "h100"}), clique("dec", 3, 3, cpu="4")
    )
    play.refuse(*ALL)
    result = judged(play, CRUMBS).finding
    assert (result.code, result.health) == ("no-matching-node", Health.BLOCKED)
    assert "chat-0-pre" in result.message


# A clique in several PodGangs


def split(*cliques: dict[str, Any], gangs: dict[str, dict[str, list[int]]]) -> Play:
    """Return a set whose pods wait: PodGang → clique → the indexes of its pods that are in it."""
    play = Play("")
    play.operator.create(play.make(*cliques))
    owner = play.obj("PodCliqueSet", "chat")
    del play.store.objects["PodGang", "chat-0"]
    for name, parts in gangs.items():
        minima = {f"chat-0-{part}": len(pods) for part, pods in parts.items()}
        play.store.create(podgang(name, owner, minima, {}))
        for part, pods in parts.items():
            for index in pods:
                labels = {"metadata": {"labels": {"grove.io/podgang": name}}}
                play.store.patch("v1", "Pod", f"chat-0-{part}-{index}", labels, "team-a")
    waiting = [name for kind, name in play.store.objects if kind == "Pod"]
    for name in waiting:
        play.obj("Pod", name)["spec"].pop("schedulingGates", None)
    play.refuse(*waiting)
    return play


def test_a_clique_of_two_podgangs_is_judged_with_the_cliques_of_each() -> None:
    """PodGang chat-0 needs 2 + 2 pods of 4 CPUs, and 12 CPUs are free. The third pod of dec is another matter."""
    play = split(*FOURS, gangs={"chat-0": {"pre": [0, 1], "dec": [0, 1]}, "tail": {"dec": [2]}})
    result = judged(play, CRUMBS).finding
    assert (result.code, result.health) == ("insufficient-resources", Health.WAITING)
    assert "4 pods" in result.message
    assert "16 CPUs" in result.message


def test_each_podgang_of_a_clique_has_a_finding() -> None:
    """PodGang chat-0 needs 12 CPUs, which lie in crumbs; tail needs 16, which are not free."""
    play = split(
        *FOURS,
        clique("post", 2, 2, cpu="4"),
        gangs={
            "chat-0": {"pre": [0, 1], "dec": [0]},
            "tail": {"dec": [1, 2], "post": [0, 1]},
        },
    )
    result = {
        finding.code: finding.message
        for finding in judged(play, CRUMBS).findings
        if not finding.unit
    }
    assert set(result) == {"fragmented", "insufficient-resources"}
    assert "3 pods" in result["fragmented"]
    assert "4 pods" in result["insufficient-resources"]


def test_a_clique_in_its_own_podgang_is_judged_separately() -> None:
    """Near miss: pre needs 8 CPUs of the 12, in a PodGang of its own."""
    play = split(
        *FOURS, gangs={"chat-0": {"pre": [0, 1]}, "middle": {"dec": [0, 1]}, "tail": {"dec": [2]}}
    )
    assert ("chat-0-pre", "fragmented") in rows(judged(play, CRUMBS))
