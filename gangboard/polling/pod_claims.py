"""The volume and resource claims that waiting pods name, and which of them keep gangs from being placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.decode.claim_objects import RESOURCE_CLAIM, STORAGE_CLASS, VOLUME_CLAIM
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import (
    OF_VOLUMES,
    ClaimName,
    ClaimProblem,
    PodClaim,
    ResourceClaim,
    StorageClass,
    UnusableClaim,
    UnusableClaims,
    VolumeClaim,
    resource_claim_problem,
    volume_claim_problem,
)
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import proves_absence

CLAIMS = (VOLUME_CLAIM, STORAGE_CLASS, RESOURCE_CLAIM)
"""What is read of claims, where it may be."""
SETTLING = timedelta(seconds=3)
"""How old a pod must be that nobody has tried, before a claim that is not there is missing: claims and
pods come over different connections, and what makes both makes them at once."""
_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _WaitingPod:
    """A pod that waits for a node and names claims."""

    claims: tuple[tuple[ClaimName, PodClaim], ...]
    settled_at: datetime | None
    """From when on the absence of a claim counts; None when it counts at once: the scheduler has looked, too."""


class PodClaimTracker:
    """The claims of a cluster, and the waiting pods that name them."""

    def __init__(self, graph: OwnershipGraph, watched: Mapping[str, WatchedResource]) -> None:
        self._graph = graph
        self._watched = watched
        self._there: dict[ClaimName, VolumeClaim | ResourceClaim] = {}
        self._classes: dict[str, StorageClass] = {}
        self._waiting: dict[str, _WaitingPod] = {}
        """uid of a pod → what it names."""
        self._named_by: dict[ClaimName, set[str]] = defaultdict(set)
        """The same the other way round."""
        self._seen: Mapping[str, bool] = {}
        """Resource key → whether the absence of such an object means something, at the last look."""

    def put(self, model: VolumeClaim | ResourceClaim | StorageClass) -> set[str]:
        """Take in the state of an object; return the roots of gangs that wait for it."""
        ref = model.meta.ref
        if isinstance(model, StorageClass):
            self._classes[ref.name] = model
            return self._of_class(ref.name)
        name = (ref.kind, ref.namespace, ref.name)
        before = self._there.get(name)
        self._there[name] = model
        if before is not None and _is_same(before, model):
            return set()
        return self._graph.gangs_of_any(self._named_by.get(name, _NOBODY))

    def remove(self, resource: str, uid: str, namespace: str, name: str) -> set[str]:
        """Forget an object that is gone; return the roots of gangs that wait for it."""
        if resource == STORAGE_CLASS.key:
            if (known := self._classes.get(name)) is None or known.meta.ref.uid != uid:
                return set()
            del self._classes[name]
            return self._of_class(name)
        kind = self._watched[resource].resource.kind
        place = (kind, namespace, name)
        if (claim := self._there.get(place)) is None or claim.meta.ref.uid != uid:
            return set()  # one of the same name is there already
        del self._there[place]
        return self._graph.gangs_of_any(self._named_by.get(place, _NOBODY))

    def put_pod(self, pod: Pod) -> None:
        """Take in which claims a pod names, while it waits for a node."""
        uid = pod.meta.ref.uid
        self.drop_pod(uid)
        if not pod.claims or pod.is_placed or not pod.is_live:
            return
        names = tuple(((one.kind, pod.meta.ref.namespace, one.name), one) for one in pod.claims)
        made = pod.meta.created_at
        silent_since = made if pod.is_untried else None
        self._waiting[uid] = _WaitingPod(names, silent_since and silent_since + SETTLING)
        for name, _ in names:
            self._named_by[name].add(uid)

    def drop_pod(self, uid: str) -> None:
        """Forget a pod that is gone, or has its node."""
        pod = self._waiting.pop(uid, None)
        for name, _ in pod.claims if pod is not None else ():
            self._named_by[name].discard(uid)
            if not self._named_by[name]:
                del self._named_by[name]

    def observe(self, now: datetime) -> set[str]:
        """See what can be vouched for; return the roots of gangs for which that has changed."""
        seen = {one.key: proves_absence(self._watched[one.key], now) for one in CLAIMS}
        before, self._seen = self._seen, seen
        return set() if not before or before == seen else self._graph.gangs_of_any(self._waiting)

    def unusable_claims(
        self, pods: Iterable[str], now: datetime
    ) -> tuple[UnusableClaims, datetime | None]:
        """Return which claims keep these pods from being placed, and when to look again, if ever."""
        found: dict[ClaimName, UnusableClaim] = {}
        later: list[datetime] = []
        for pod in (self._waiting[uid] for uid in pods if uid in self._waiting):
            settled_at = pod.settled_at
            for name, claim in pod.claims:
                trouble = self._trouble(name, claim)
                if trouble is None:
                    continue
                if trouble.meta is None and settled_at is not None and settled_at > now:
                    later.append(settled_at)
                else:
                    found[name] = trouble
        return found, min(later, default=None)

    def _trouble(self, name: ClaimName, claim: PodClaim) -> UnusableClaim | None:
        """Return why a claim cannot be used; None when it can, or when that is not known."""
        if claim.unmade:
            return UnusableClaim(ClaimProblem.UNMADE)
        key = VOLUME_CLAIM.key if claim.kind == OF_VOLUMES else RESOURCE_CLAIM.key
        if not self._seen.get(key):
            return None
        there = self._there.get(name)
        if there is None:
            return UnusableClaim(ClaimProblem.UNMADE if claim.generated else ClaimProblem.MISSING)
        if isinstance(there, ResourceClaim):
            return resource_claim_problem(there)
        return volume_claim_problem(there, self._classes if self._seen[STORAGE_CLASS.key] else None)

    def _of_class(self, name: str) -> set[str]:
        """Return the gangs that name claims of a class."""
        return self._graph.gangs_of_any(
            uid
            for place, pods in self._named_by.items()
            if isinstance(claim := self._there.get(place), VolumeClaim)
            and claim.storage_class == name
            for uid in pods
        )


def _is_same(one: VolumeClaim | ResourceClaim, other: VolumeClaim | ResourceClaim) -> bool:
    """Whether nothing has changed that keeps pods or lets them go: devices come and go all the time."""
    return _read(one) == _read(other)


def _read(claim: VolumeClaim | ResourceClaim) -> tuple[object, ...]:
    leaving = claim.meta.ref.uid, claim.meta.deleting_since is not None
    if isinstance(claim, ResourceClaim):
        return leaving
    return *leaving, claim.phase, claim.volume, claim.storage_class
