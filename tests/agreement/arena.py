"""Cases on a real control plane: created, scheduled, judged and deleted.

    with Arena(plane.client) as arena:
        for batch in arena.play(cases):
            for played in batch:
                played.judgement, played.before, played.after

All cases of a call play at once, each on nodes of its own. The PodGroups come last: without them the
scheduler tries no pod, so `before` holds every pod as it waits, and the first try sees all of them.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self, TypeVar

from tests.agreement import objects
from tests.agreement.cases import Case
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.controlplane.objects import podgroup

GANGS = "scheduling.k8s.io/v1beta1"
SETTLE_SECONDS = 3.0
"""A refusal must stand this long: an event that is still on its way makes the scheduler try again."""
SPEAK_SECONDS = 90.0
LOOK_AGAIN = 0.2
BATCH = 50
Thing = TypeVar("Thing")


class Judgement(StrEnum):
    """Result of the scheduler."""

    FITS = "fits"
    """The quorum is bound."""
    REFUSED = "does not fit"
    """The group is False/Unschedulable, and no pod is bound."""
    ODD = "odd"
    """Neither. `words` describe the state."""


@dataclass(frozen=True)
class Look:
    """All nodes and pods of the cluster at one moment, and one case's group, as served."""

    nodes: Sequence[Json]
    pods: Sequence[Json]
    group: Json


@dataclass(frozen=True)
class Played:
    """One case and what became of it."""

    case: Case
    namespace: str
    judgement: Judgement
    words: str
    """The group's condition and the most telling text of a pod."""
    before: Look
    """State before the first attempt: the gang exists, and no pod has a node."""
    after: Look
    """When the scheduler had spoken."""


@dataclass
class Arena:
    """Where cases play. Leaves nothing behind."""

    client: Client
    run: str = field(default_factory=lambda: secrets.token_hex(3))
    namespace: str = ""
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(6))

    def __enter__(self) -> Self:
        self.namespace = f"agreement-{self.run}"
        self.client.create(namespace_object(self.namespace))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.clear()
            self.client.delete("v1", "Namespace", self.namespace)
        finally:
            self._pool.shutdown()

    def play(self, cases: Iterable[Case]) -> Iterator[list[Played]]:
        """Yield the cases as played, fifty at a time. Their objects stay until the next batch.

        So the caller may try further steps on its nodes (`advice applied to the cluster`).

        """
        remaining = list(cases)
        while remaining:
            batch, remaining = remaining[:BATCH], remaining[BATCH:]
            yield self._play(batch)
            self.clear()

    def _play(self, batch: Sequence[Case]) -> list[Played]:
        ns, run = self.namespace, self.run
        make_nodes(
            self.client,
            [node for case in batch for node in objects.node_objects(case, run)],
        )
        created = [objects.running_pods(case, ns, run) for case in batch]
        created += [objects.members(case, ns, run) for case in batch]
        # The members of a case one after the other: the scheduler tries them in this order.
        self._each(self.client.create_all, created)
        groups = [objects.group(case, ns, run) for case in batch]
        requested = [self.client.create(group, dry_run=True) for group in groups]
        nodes, pods = self._nodes(), self._pods()
        before = [Look(nodes, pods, group) for group in requested]
        self._each(self.client.create, groups)
        quorums = {case.name: case.quorum for case in batch}
        self.judge_all(quorums)
        # The scheduler tries again at any time, and its messages differ. Judge what our answer is from.
        nodes, pods, listed = self._nodes(), self._pods(), self._groups()
        judged = _final(_judgements(listed, pods, quorums))
        known = {group["metadata"]["name"]: group for group in listed}
        return [
            Played(case, ns, *judged[case.name], earlier, Look(nodes, pods, known[case.name]))
            for case, earlier in zip(batch, before, strict=True)
        ]

    # Judging

    def judge_all(self, quorums: Mapping[str, int]) -> dict[str, tuple[Judgement, str]]:
        """Wait until the scheduler has a stable answer for all groups (name → quorum).

        If all of them fit, no waiting is needed: bound pods stay bound.

        """
        give_up_at = time.monotonic() + SPEAK_SECONDS
        spoken = self.spoken(quorums)
        while time.monotonic() < give_up_at:
            time.sleep(LOOK_AGAIN)
            spoken = self.spoken(quorums)
            if all(item is not None for item in spoken.values()):
                break
        if not all(item is not None and item[0] is Judgement.FITS for item in spoken.values()):
            time.sleep(SETTLE_SECONDS)
            spoken = self.spoken(quorums)
        return _final(spoken)

    def spoken(self, quorums: Mapping[str, int]) -> dict[str, tuple[Judgement, str] | None]:
        """Return its current messages about these groups, None for untried ones."""
        return _judgements(self._groups(), self._pods(), quorums)

    def try_pinned(
        self, placements: Iterable[tuple[Case, Mapping[str, str]]]
    ) -> dict[str, tuple[Judgement, str]]:
        """Let the scheduler place the gangs with assigned nodes (pod → node), to check these placements.

        Return its results and messages by the name of the case. The cases' own gangs are deleted first.
        They must not have been placed.

        """
        pinned = {case.name: self._pinned(case, placement) for case, placement in placements}
        if not pinned:
            return {}
        self._each(self.client.create_all, pinned.values())
        groups = {name: created[-1]["metadata"]["name"] for name, created in pinned.items()}
        message = self.judge_all(
            {groups[name]: len(created) - 1 for name, created in pinned.items()}
        )
        return {name: message[group] for name, group in groups.items()}

    def _pinned(self, case: Case, placement: Mapping[str, str]) -> list[Json]:
        """Take the gang of a case away; return what pins it to its nodes: its members, and the group."""
        ns = self.namespace
        created = objects.pinned(
            case, objects.members(case, ns, self.run), placement, f"p{secrets.token_hex(2)}"
        )
        self.remove_gang(case)
        name = created[0]["spec"]["schedulingGroup"]["podGroupName"]
        group = podgroup(name, ns, gang=len(created))
        group["metadata"]["labels"] = {objects.RUN: self.run, objects.POOL: case.name}
        return [*created, group]

    def remove_gang(self, case: Case) -> None:
        """Take the members and the group of a case away; what runs on its nodes stays."""
        for pod_set in case.pod_sets:
            self._delete_pods(f"{objects.POOL}={case.name},{objects.POD_SET}={pod_set.name}")
        self.client.delete(GANGS, "PodGroup", case.name, self.namespace)

    # Reading and clearing

    def _nodes(self) -> list[Json]:
        return self.client.list("v1", "Node")

    def _pods(self) -> list[Json]:
        return self.client.list("v1", "Pod", self.namespace)

    def _groups(self) -> list[Json]:
        return self.client.list(GANGS, "PodGroup", self.namespace)

    def _each(self, do: Callable[[Thing], object], items: Iterable[Thing]) -> None:
        list(self._pool.map(do, items))

    def _delete_pods(self, labels: str) -> None:
        self.client.request(
            "DELETE",
            self.client.path("v1", "Pod", self.namespace),
            {"gracePeriodSeconds": 0, "propagationPolicy": "Background"},
            query={"labelSelector": labels},
        )

    def clear(self) -> None:
        """Delete everything that this arena made but its namespace; wait until the pods are gone."""
        mine = {"labelSelector": f"{objects.RUN}={self.run}"}
        self._delete_pods(mine["labelSelector"])
        wait(lambda: not self._pods(), what="pods of the arena to be gone")
        self.client.request(
            "DELETE", self.client.path(GANGS, "PodGroup", self.namespace), {}, query=mine
        )
        self.client.request("DELETE", self.client.path("v1", "Node"), {}, query=mine)


def _judgements(
    groups: Iterable[Json], pods: Iterable[Json], quorums: Mapping[str, int]
) -> dict[str, tuple[Judgement, str] | None]:
    """Return the scheduler's messages about these groups as `Arena.spoken` does, from listed objects."""
    conditions = {
        group["metadata"]["name"]: (group.get("status", {}).get("conditions") or [{}])[0]
        for group in groups
    }
    members: dict[str, list[Json]] = {name: [] for name in quorums}
    for pod in pods:
        name = pod["spec"].get("schedulingGroup", {}).get("podGroupName", "")
        if name in members:
            members[name].append(pod)
    return {
        name: _judgement(conditions.get(name, {}), members[name], quorum)
        for name, quorum in quorums.items()
    }


def _final(
    judged: Mapping[str, tuple[Judgement, str] | None],
) -> dict[str, tuple[Judgement, str]]:
    return {
        name: judgement or (Judgement.ODD, "the scheduler has not spoken")
        for name, judgement in judged.items()
    }


def _judgement(condition: Json, pods: Sequence[Json], quorum: int) -> tuple[Judgement, str] | None:
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    message = f"{condition.get('reason', '')}: {condition.get('message', '')}"
    words = " | ".join([message, *sorted(set(_texts(pods)))])
    if bound >= quorum:
        return Judgement.FITS, words
    if condition.get("status") != "False":
        return None
    if condition.get("reason") == "Unschedulable" and not bound:
        return Judgement.REFUSED, words
    return Judgement.ODD, f"{bound} bound, {words}"


def _texts(pods: Iterable[Json]) -> Iterator[str]:
    for pod in pods:
        for condition in pod.get("status", {}).get("conditions") or ():
            text = condition.get("message", "")
            if condition["type"] == "PodScheduled" and text.startswith("0/"):
                yield text
