"""Which lever is pulled on which real cluster, and what each JobSet does with a suspended Job.

All stories play at the same time under one gangboard, each in a namespace and on nodes of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.acting import consequences, levers, queued
from tests.acting.identities import install
from tests.acting.scene import Scene
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation

pytestmark = pytest.mark.slow

STORIES: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "k137": (
        consequences.failure_policy,
        consequences.success_policy,
        consequences.depends_on,
        consequences.time_to_live,
        consequences.coordinator,
        levers.relocated,
    ),
    "plain": (levers.refused_without_policy,),
    "k135": (levers.refused_on_135,),
    "k135map": (levers.held_on_135,),
    "kueue": (queued.owner_deactivated, queued.child_held),
}

HOLDING = ("k137", "k135map", "kueue")
"""Clusters in which the Hold is installed."""


@pytest.fixture(scope="module")
def playing(
    controlplane_137: ControlPlane,
    controlplane_plain: ControlPlane,
    controlplane_135: ControlPlane,
    controlplane_135_map: ControlPlane,
    controlplane_kueue: ControlPlane,
) -> Iterator[dict[tuple[str, str], Future[None]]]:
    """Start every story; each test waits for the end of its own."""
    planes = {
        "k137": controlplane_137,
        "plain": controlplane_plain,
        "k135": controlplane_135,
        "k135map": controlplane_135_map,
        "kueue": controlplane_kueue,
    }
    kubeconfigs = {name: plane.kubeconfig for name, plane in planes.items()}
    with Installation(kubeconfigs) as installation, ThreadPoolExecutor(12) as pool:
        for name, plane in planes.items():
            install(installation, plane, name, holds=name in HOLDING)
        yield {
            (name, story.__name__): pool.submit(
                story, Scene(installation, plane, name, _namespace(story))
            )
            for name, plane in planes.items()
            for story in STORIES[name]
        }


def _namespace(story: Callable[[Scene], None]) -> str:
    return f"acting-{story.__name__}".replace("_", "-")


@pytest.mark.parametrize(
    ("cluster", "story"),
    [
        pytest.param(cluster, story.__name__, id=f"{cluster}-{story.__name__}")
        for cluster, stories in STORIES.items()
        for story in stories
    ],
)
def test_story(playing: dict[tuple[str, str], Future[None]], cluster: str, story: str) -> None:
    playing[cluster, story].result(timeout=240)
