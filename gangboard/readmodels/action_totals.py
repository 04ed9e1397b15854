"""How many pods end with what one confirmation suspends, and how many accelerators that frees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gangboard.domain.action import ActionTarget
from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from gangboard.domain.resources import is_accelerator
from gangboard.domain.text import count
from gangboard.domain.verdict import MemberState
from gangboard.store.gang_objects import action_models, find_gangs
from gangboard.store.gangs import Detail, unpack_detail
from gangboard.store.models import Cluster, Gang
from gangboard.store.uid_lookups import Reference, read_referred

_ENDED = (Health.SUCCEEDED, Health.FAILED)


@dataclass(frozen=True, slots=True)
class ActionTotals:
    """Of all objects of a confirmation together, as last seen."""

    pods: int
    """Those that are there and have not ended."""
    accelerators: float | None
    """Those that pods on nodes hold; None where it is not known what each of them asks for."""

    @property
    def sentence(self) -> str:
        """What a person reads first."""
        pods = f"{count(self.pods, 'pod')} end{'s' if self.pods == 1 else ''}"
        if self.accelerators is None:
            return f"{pods}; how many accelerators that frees is not known."
        if not self.accelerators:
            return f"{pods}; no accelerator becomes free."
        if self.accelerators == 1:
            return f"{pods}; 1 accelerator becomes free."
        return f"{pods}; {self.accelerators:,.10g} accelerators become free."


def read_totals(targets: Iterable[ActionTarget]) -> ActionTotals | None:
    """Return the totals of objects that the viewer may act on: some 3 queries, and one a gang.

    A gang whose owner is among them counts as a whole, and once. None where one of them is neither a gang nor
    a Job of one: what makes gangs ends no pod.
    """
    wanted = tuple(targets)
    ids = dict(
        Cluster.objects.filter(name__in={one.cluster for one in wanted}).values_list("name", "pk")
    )
    references = {Reference(ids[one.cluster], one.namespace, one.uid) for one in wanted}
    gangs = find_gangs(references)
    if gangs.keys() != references:
        return None
    uids: dict[str, set[str]] = defaultdict(set)
    for reference, gang in gangs.items():
        uids[gang.pk].add(reference.uid)
    found = []
    for gang in {gang.pk: gang for gang in gangs.values()}.values():
        detail = unpack_detail(bytes(gang.detail))
        if not uids[gang.pk] <= {gang.uid, *(job.ref.uid for job in detail.jobs)}:
            return None
        found.append(_of_gang(gang, detail, uids[gang.pk]))
    known = [one.accelerators for one in found if one.accelerators is not None]
    return ActionTotals(
        pods=sum(one.pods for one in found),
        accelerators=sum(known) if len(known) == len(found) else None,
    )


def _of_gang(gang: Gang, detail: Detail, uids: Collection[str]) -> ActionTotals:
    is_whole = gang.uid in uids
    jobs = {job.ref.name: job.ref.uid for job in detail.jobs if is_whole or job.ref.uid in uids}
    pods = [
        pod for pod in detail.members if pod.state not in _ENDED and (is_whole or pod.job in jobs)
    ]
    makers = {
        Reference(gang.cluster_id, gang.namespace, jobs.get(pod.job, gang.uid))
        for pod in pods
        if pod.node
    }
    owners = read_referred(makers, action_models())
    each = {maker.uid: _of_each(owners.get(maker)) for maker in makers}
    return ActionTotals(len(pods), _sum(pods, jobs, gang.uid, each))


def _sum(
    pods: Iterable[MemberState],
    jobs: dict[str, str],
    owner: str,
    each: dict[str, float | None],
) -> float | None:
    total = 0.0
    for pod in pods:
        if pod.node:
            devices = each[jobs.get(pod.job, owner)]
            if devices is None:
                return None
            total += devices
    return total


def _of_each(owner: object) -> float | None:
    """Return the accelerators of each pod of an owner; None where they differ or are not known."""
    if not isinstance(owner, Owner):
        return None
    found = {
        sum(float(amount) for name, amount in one.requests.items() if is_accelerator(name))
        for one in owner.pod_requests
    }
    return found.pop() if len(found) == 1 else None
