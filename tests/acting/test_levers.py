"""Which lever is pulled on which real cluster, and what each JobSet does with a suspended Job.

All stories play at the same time under one gangboard, each in a namespace and on nodes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.acting import consequences, levers, queued
from tests.acting.identities import install, remove
from tests.acting.scene import Scene
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]

STORIES: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "k137": (
        consequences.failure_policy,
        consequences.success_policy,
        consequences.depends_on,
        consequences.time_to_live,
        consequences.coordinator,
        levers.relocated,
    ),
    "plain": (levers.paused_by_parallelism, queued.nobody_admits),
    "k136": (levers.without_policy_on_136,),
    "k135": (levers.refused_on_135,),
    "k135served": (levers.refused_without_effect,),
    "k135map": (levers.held_on_135,),
    "kueue": (
        queued.owner_deactivated,
        queued.child_held,
        queued.waits_for_quota,
        queued.jobs_of_their_own,
    ),
}

MOST_SECONDS = 900.0
"""For a story, all of which play at once."""

HOLDING = ("k137", "k135served", "k135map", "kueue")
"""Clusters in which the Hold is installed."""


PLANES = {
    "k137": "controlplane_137",
    "plain": "controlplane_plain",
    "k136": "controlplane_136",
    "k135": "controlplane_135",
    "k135served": "controlplane_135_served",
    "k135map": "controlplane_135_map",
    "kueue": "controlplane_kueue",
}
CASES = [(cluster, story) for cluster, stories in STORIES.items() for story in stories]


@pytest.fixture(scope="module")
def playing(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[None]]]:
    """Start every story that was asked for; each test waits for the end of its own."""
    names = {item.name for item in request.session.items}
    wanted = [case for case in CASES if f"test_story[{_name(*case)}]" in names]
    planes: dict[str, ControlPlane] = {
        cluster: request.getfixturevalue(PLANES[cluster]) for cluster, _ in wanted
    }
    kubeconfigs = {cluster: plane.kubeconfig for cluster, plane in planes.items()}
    with Installation(kubeconfigs) as installation, ThreadPoolExecutor(16) as pool:
        for cluster, plane in planes.items():
            install(installation, plane, cluster, holds=cluster in HOLDING)
        scenes = {
            (cluster, story): Scene(installation, planes[cluster], cluster, _namespace(story))
            for cluster, story in wanted
        }
        yield {_name(*case): pool.submit(case[1], scene) for case, scene in scenes.items()}
        for scene in scenes.values():
            scene.clear()
        for cluster, plane in planes.items():
            remove(installation, plane, cluster)


def _name(cluster: str, story: Callable[[Scene], None]) -> str:
    return f"{cluster}-{story.__name__}"


def _namespace(story: Callable[[Scene], None]) -> str:
    return f"acting-{story.__name__}".replace("_", "-")


@pytest.mark.parametrize("story", [_name(*case) for case in CASES])
def test_story(playing: dict[str, Future[None]], story: str) -> None:
    playing[story].result(timeout=MOST_SECONDS)
