"""Gangs of Jobs and JobSets, read by the product from served objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gangboard.decode.pods import POD
from gangboard.diagnosis.gang_units import units_of
from gangboard.domain.group import Group
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit
from gangboard.placement.unit_placement import placing_of
from gangboard.plugins.registry import owner_kinds
from tests.agreement.advice_cases import room_with_gangs
from tests.agreement.arena import GANGS, Look
from tests.agreement.jobs import BATCH
from tests.agreement.ours import GROUPS
from tests.controlplane.client import Client
from tests.controlplane.objects import JOBSET
from tests.decode.reading import model
from tests.gangs import assemble

_OWNERS = {kind.resource.key: kind.resource for kind in owner_kinds()}


class Gangs:
    """One look at the whole cluster: the gangs of a namespace by the name of their owner."""

    def __init__(self, client: Client, namespace: str) -> None:
        """Read and decode everything."""
        nodes, pods = client.list("v1", "Node"), client.list("v1", "Pod", namespace)
        self._room = room_with_gangs(Look(nodes, pods, {}))
        self._roots: dict[str, Owner] = {}
        self._jobs: dict[str, list[Owner]] = defaultdict(list)
        """By the uid of the JobSet."""
        self._pods: dict[str, list[Pod]] = defaultdict(list)
        """By the uid of the Job."""
        for obj in client.list(JOBSET, "JobSet", namespace):
            self._put(model(_OWNERS["jobsets.jobset.x-k8s.io"], obj, "v1alpha2"))
        for obj in client.list(BATCH, "Job", namespace):
            self._put(model(_OWNERS["jobs.batch"], obj))
        for obj in pods:
            pod: Pod = model(POD, obj)
            if pod.meta.controller is not None:
                self._pods[pod.meta.controller.uid].append(pod)
        self._groups: dict[str, Group] = {
            obj["metadata"]["name"]: model(GROUPS["podgroups.scheduling.k8s.io"], obj, "v1beta1")
            for obj in client.list(GANGS, "PodGroup", namespace)
        }

    def _put(self, owner: Owner) -> None:
        if owner.meta.controller is None:
            self._roots[owner.meta.ref.name] = owner
        else:
            self._jobs[owner.meta.controller.uid].append(owner)

    def units(self, name: str) -> Sequence[Unit]:
        """Return the units of a gang as rules and advice get them."""
        root = self._roots[name]
        jobs = self._jobs[root.meta.ref.uid]
        pods = [pod for job in (root, *jobs) for pod in self._pods[job.meta.ref.uid]]
        facts = assemble(
            root,
            [*jobs, *pods, *self._groups_of(pods)],
            now=datetime.now(UTC),
            gang_api_version="v1beta1",
            room=self._room,
            kubernetes=(1, 37),
        )
        return [replace(unit, placing=placing_of(unit)) for unit in units_of(facts)]

    def _groups_of(self, pods: Iterable[Pod]) -> list[Group]:
        named = {pod.group_name for pod in pods}
        return [group for name, group in self._groups.items() if name in named]
