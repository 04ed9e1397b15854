"""The demo's activity: gangs arrive, wait, run, lose a member, finish and leave, repeatedly.

The story does only what people and hardware do (create, delete, let a pod end). The controllers do the rest,
so the viewer sees what a real cluster would show.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from simulator import manifests
from simulator.fleet_spec import Fleet
from simulator.kubelet import Kubelet
from simulator.manifests import PodTemplate
from simulator.resources import JOBS, JOBSETS, PODS, Resource
from simulator.store import Key
from simulator.world import World

Json = dict[str, Any]

_BEAT = 5.0
"""Seconds between two events. With the controllers' own steps the Board changes continuously."""
_FRONT = ("bert", "gemma", "pixtral", "clip", "resnet", "llava", "phi", "qwen", "starcoder", "flux")
_BACK = ("ft", "sweep", "eval", "distill", "align", "probe", "lora", "dpo", "bench")
_STAYS = 14  # Approximate beats that a story gang runs.
_GOES = 5  # Beats that a finished one stays.


@dataclass
class _StoryGang:
    """A gang of the story: its state and its remaining time."""

    resource: Resource
    key: Key
    beats: int
    finished: bool = False
    chances: int = 2
    """How often its owner waits again if it does not run."""


class Story:
    """Runs on the world's clock until that stops."""

    def __init__(self, world: World, kubelet: Kubelet, fleet: Fleet, *, seed: int) -> None:
        self._world = world
        self._kubelet = kubelet
        self._fleet = fleet
        self._random = Random(seed)  # noqa: S311  # A story must be repeatable, not secret.
        self._gangs: list[_StoryGang] = []
        self._count = 0
        self._beats = 0

    def start(self) -> None:
        """Submit the first gang at once and the others over time."""
        self._submit_gang()
        self._world.clock.later(_BEAT / 2, self._beat)

    def _beat(self) -> None:
        """Let due events happen. Without one, another event happens, so that every beat has one."""
        self._beats += 1
        for act in self._gangs:
            act.beats -= 1
        due = [act for act in self._gangs if act.beats <= 0]
        for act in due:
            self._remove_gang(act) if act.finished else self._finish(act)
        has_room = len(self._gangs) < self._fleet.story_gangs
        if self._beats % 5 == 0 and self._evict_pod():
            pass
        elif has_room and (self._beats % 2 == 0 or not due):
            self._submit_gang()
        elif not due:
            self._finish(min(self._gangs, key=lambda act: (act.finished, act.beats)))
        self._world.clock.later(_BEAT, self._beat)

    def _submit_gang(self) -> None:
        """Submit a gang. Some do not fit at that moment."""
        self._count += 1
        name = f"{self._random.choice(_FRONT)}-{self._random.choice(_BACK)}-{self._count}"
        namespace = self._random.choice(self._fleet.story_namespaces)
        gpus = self._random.choice(self._fleet.story_gpus)
        template = PodTemplate(gpus=gpus, cpu="16", pool=self._fleet.story_pool, grace=5)
        pods = self._random.choice((2, 2, 3, 4))
        if self._count % 2:
            obj, resource = self._jobset(name, namespace, template, pods), JOBSETS
        else:
            quorum = pods if self._world.version == "v1beta1" else None
            spec = manifests.job_spec(template, pods, quorum=quorum)
            obj, resource = manifests.job(name, namespace, spec), JOBS
        self._world.writer.create(resource, obj, manager="kubectl-create")
        beats = _STAYS + self._random.randrange(-4, 5)
        self._gangs.append(_StoryGang(resource, (namespace, name), beats))

    def _jobset(self, name: str, namespace: str, template: PodTemplate, pods: int) -> Json:
        driver = PodTemplate(cpu="4", pool="cpu", image="registry.example/ml/driver:26.10", grace=5)
        entries = [
            manifests.replicated_job("driver", driver, backoff_limit=3),
            manifests.replicated_job("workers", template, pods=pods, backoff_limit=3),
        ]
        return manifests.jobset(name, namespace, entries, max_restarts=3)

    def _pods(self, act: _StoryGang) -> list[Json]:
        """Return the running pods of a story gang."""
        owner = self._world.find(act.resource, act.key)
        if owner is None:
            return []
        uid = owner["metadata"]["uid"]
        jobs = [owner] if act.resource == JOBS else self._world.owned(uid, JOBS)
        pods = [pod for job in jobs for pod in self._world.owned(job["metadata"]["uid"], PODS)]
        return [pod for pod in pods if pod["status"].get("phase") == "Running"]

    def _evict_pod(self) -> bool:
        """Evict a pod of some gang, which its Job replaces. Return whether there was one."""
        running = [pods for act in self._gangs if not act.finished and (pods := self._pods(act))]
        if running:
            self._kubelet.finish(self._random.choice(self._random.choice(running)), "evicted")
        return bool(running)

    def _finish(self, act: _StoryGang) -> None:
        """Let a gang's pods end. A gang that has not run for long is removed."""
        pods = self._pods(act)
        if not pods:
            act.chances -= 1
            act.beats = _GOES
            if act.chances < 0:
                self._remove_gang(act)
            return
        state = "failed" if self._random.random() < 0.1 else "succeeded"
        for pod in pods:
            self._kubelet.finish(pod, state)
        act.finished, act.beats = state == "succeeded", _GOES

    def _remove_gang(self, act: _StoryGang) -> None:
        """Remove a gang, as its owner would."""
        self._gangs.remove(act)
        self._world.writer.remove(act.resource, act.key)
