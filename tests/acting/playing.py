"""All stories of `tests/acting` at the same time, under one gangboard that watches all of their clusters.

Each plays in a namespace and on nodes of its own. A cluster that is over is left at once: what runs on
costs the others time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from tests.acting import (
    commanded,
    consequences,
    cordoning,
    interleaved,
    lasting,
    launched,
    levers,
    messaging,
    queued,
    rays,
    relocating,
    scheduled,
    trained,
)
from tests.acting.identities import install, remove
from tests.acting.scene import Scene
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation
from tests.random_sets import sized

Story = Callable[[Scene], None]
MOST_SECONDS = 1200.0
"""For a story, all of which play at once."""


@dataclass(frozen=True)
class Act:
    """Stories that play at the same time on one cluster; the next act begins when they let it."""

    stories: tuple[Story, ...]
    holds: bool = False
    """Whether the Hold is installed."""
    alone: bool = False
    """Whether all stories before it must be over, because it kills processes that all of them need."""
    kueue: Mapping[str, object] = field(default_factory=dict)
    """Settings of Kueue that are its own."""


_SAME_ON_136: tuple[Story, ...] = (
    relocating.left_a_zone,
    relocating.moved_alone,
    relocating.nothing_fits,
    relocating.lost_by_a_restart,
)
"""Relocations that 1.37 plays for each commit, and 1.36 in `make exhaustive`: gangboard does the same on both."""

ACTS: dict[str, tuple[Act, ...]] = {
    "k137": (
        Act((lasting.lasts,), holds=True),
        Act(
            (
                consequences.failure_policy,
                consequences.success_policy,
                consequences.depends_on,
                consequences.time_to_live,
                consequences.coordinator,
                commanded.by_client,
                levers.relocated,
                levers.groups_stay,
                messaging.arrives,
            ),
            holds=True,
        ),
        Act(
            (
                relocating.moved,
                relocating.moved_in_groups,
                relocating.left_a_zone,
                relocating.moved_alone,
                relocating.nothing_fits,
                relocating.lost_by_a_restart,
                relocating.restarted_meanwhile,
            ),
            holds=True,
        ),
        Act((relocating.moved_under_kills,), holds=True, alone=True),
        Act((interleaved.random_relocations,), holds=True, alone=True),
    ),
    "k136": (
        Act((levers.without_policy_on_136, levers.groups_stay)),
        Act((lasting.lasts,), holds=True),
        Act((relocating.moved, *sized((), _SAME_ON_136)), holds=True),
        Act((relocating.moved_under_kills,), holds=True, alone=True),
        *sized((), (Act((interleaved.random_relocations,), holds=True, alone=True),)),
    ),
    "kueue": (
        Act(
            (
                queued.owner_deactivated,
                queued.child_held,
                queued.exceeds_quota,
                queued.jobs_of_their_own,
                trained.one_of_a_trainjob,
                launched.training_job,
                launched.launcher_and_workers,
                rays.suspended_and_resumed,
                relocating.moved_in_a_queue,
                relocating.moved_through_its_entry,
                relocating.overtaken_in_a_queue,
                relocating.moved_under_a_trainjob,
            ),
            holds=True,
        ),
        Act(
            (
                cordoning.moved_by_a_cordon,
                cordoning.moved_to_another_rack,
                cordoning.no_spare_node,
            ),
            holds=True,
        ),
        Act((cordoning.cordoned_under_kills,), holds=True, alone=True),
        Act(
            (queued.managed_without_a_label,),
            holds=True,
            kueue={"manageJobsWithoutQueueName": True},
        ),
    ),
    "plain": (
        Act(
            (
                levers.paused_by_parallelism,
                queued.nobody_admits,
                scheduled.runs,
                scheduled.next_runs,
                scheduled.run_waits,
            )
        ),
    ),
    "k135served": (Act((levers.refused_without_effect,), holds=True),),
    "k135map": (Act((levers.held_on_135,), holds=True),),
    "k135": (Act((levers.refused_on_135,)),),
}
"""By cluster, in the order in which they begin: what takes longest is first."""

PLANES = {
    "k137": "controlplane_137",
    "k136": "controlplane_136",
    "kueue": "controlplane_kueue",
    "plain": "controlplane_plain",
    "k135served": "controlplane_135_served",
    "k135map": "controlplane_135_map",
    "k135": "controlplane_135",
}
"""The fixtures of the clusters."""

VISITED = "k137"
"""The cluster that the tests themselves use as well."""


def name_of(cluster: str, story: Story) -> str:
    """Return the name by which a test asks for a story."""
    return f"{cluster}-{story.__name__}"


class Playing:
    """The selected stories: `begin` each cluster, ask for `result`s, `end` all stories."""

    def __init__(self, names: Collection[str], *, is_visited: bool) -> None:
        """`names` are names of stories. `is_visited` means that a `visit` will follow."""
        self.acts = _acts(names, is_visited=is_visited)
        self._told: dict[str, Future[None]] = {name: Future() for name in names}
        self._planes: dict[str, ControlPlane] = {}
        self._installation: Installation | None = None
        self._installed: Future[Installation] = Future()
        self._visit_may_begin: Future[None] = Future()
        self._visit_is_over = threading.Event()
        if not is_visited:
            self._visit_is_over.set()
        self._pool = ThreadPoolExecutor(1 + len(ACTS) + len(names))
        self._performing: list[Future[None]] = []

    def begin(self, cluster: str, plane: ControlPlane) -> None:
        """Let the stories of a cluster begin; the first cluster brings gangboard with it."""
        self._planes[cluster] = plane
        is_first = self._installation is None
        if self._installation is None:
            self._installation = Installation(
                {cluster: plane.kubeconfig},
                environment={
                    "GANGBOARD_NOTIFY_NETWORKS": "127.0.0.0/8",
                    "GANGBOARD_CORDON": "1",
                },
            )
            self._installed = self._pool.submit(self._installation.__enter__)
        self._performing.append(self._pool.submit(self._perform, cluster, is_first))

    def result(self, story: str) -> None:
        """Wait until a story is over; raise what went wrong in it."""
        self._told[story].result(timeout=MOST_SECONDS)

    def visit(self, namespace: str) -> Scene:
        """Return a scene for a test that measures, once only stories that take a minute go on."""
        self._visit_may_begin.result(timeout=MOST_SECONDS)
        short = [
            future for name, future in self._told.items() if lasting.lasts.__name__ not in name
        ]
        wait(short, timeout=MOST_SECONDS)
        return Scene(self._installed.result(), self._planes[VISITED], VISITED, namespace)

    def end_visit(self) -> None:
        """Say that the scene has been cleared."""
        self._visit_is_over.set()

    def end(self) -> None:
        """Wait for what still plays, and end gangboard. Raises what went wrong in leaving a cluster."""
        self._visit_is_over.set()
        wait(self._performing)
        if self._installation is not None:
            self._installation.stop()
        self._pool.shutdown()
        for future in self._performing:
            future.result()

    def _perform(self, cluster: str, is_first: bool) -> None:
        plane = self._planes[cluster]
        try:
            with plane.awake():
                installation = self._installed.result()
                if not is_first:
                    file = str(plane.kubeconfig)
                    installation.manage("add_cluster", cluster, "--kubeconfig", file)
                playing = self._play(installation, cluster, plane)
                wait(playing)
                if cluster == VISITED:
                    self._visit_is_over.wait()
                remove(installation, plane, cluster)
                installation.manage("remove_cluster", cluster)
        except BaseException as error:
            self._fail(cluster, error)
            raise
        plane.rest()
        for future in playing:
            future.result()

    def _play(
        self, installation: Installation, cluster: str, plane: ControlPlane
    ) -> list[Future[None]]:
        """Play one act after the other. Return the rest if the last one need not be awaited."""
        playing: list[Future[None]] = []
        holds: bool | None = None
        for act in self.acts[cluster]:
            if act.alone:
                wait(playing, timeout=MOST_SECONDS)
            if act.holds is not holds:
                install(installation, plane, cluster, holds=act.holds)
                holds = act.holds
            with plane.kueue_configured(**act.kueue) if act.kueue else nullcontext():
                scenes = {
                    story: Scene(installation, plane, cluster, _namespace(story))
                    for story in act.stories
                }
                playing += [self._pool.submit(self._tell, *pair) for pair in scenes.items()]
                for scene in scenes.values():
                    scene.may_go_on.wait()
        if cluster == VISITED:
            self._visit_may_begin.set_result(None)
        return playing

    def _tell(self, story: Story, scene: Scene) -> None:
        future = self._told[name_of(scene.cluster, story)]
        try:
            story(scene)
        except BaseException as error:  # noqa: BLE001  # raised again to whoever asks for the result
            future.set_exception(error)
        else:
            future.set_result(None)
        finally:
            scene.may_go_on.set()
        scene.clear()

    def _fail(self, cluster: str, error: BaseException) -> None:
        """Tell all waiting tests why the cluster does not start."""
        names = [name_of(cluster, story) for act in self.acts[cluster] for story in act.stories]
        waited_for = [self._told[name] for name in names]
        if cluster == VISITED:
            waited_for.append(self._visit_may_begin)
        for future in waited_for:
            if not future.done():
                future.set_exception(error)


def _acts(names: Collection[str], *, is_visited: bool) -> dict[str, list[Act]]:
    """Return the clusters that are needed, each with the wanted stories of its acts."""
    acts_by_cluster = {}
    for cluster, acts in ACTS.items():
        chosen = [
            replace(act, stories=tuple(s for s in act.stories if name_of(cluster, s) in names))
            for act in acts
        ]
        if is_visited and cluster == VISITED:
            acts_by_cluster[cluster] = chosen
        elif selected := [act for act in chosen if act.stories]:
            acts_by_cluster[cluster] = selected
    return acts_by_cluster


def _namespace(story: Story) -> str:
    return f"acting-{story.__name__}".replace("_", "-")
