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
"""Claim resources the poller reads, if RBAC allows it."""
SETTLING = timedelta(seconds=3)
"""Age from which a missing claim of an untried pod is a problem. Claims and pods arrive over different connections, and
a controller creates both at once."""
_NO_UIDS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _WaitingPod:
    """A pod that waits for a node and names claims."""

    claims: tuple[tuple[ClaimName, PodClaim], ...]
    settled_at: datetime | None
    """When a missing claim becomes a problem. None: at once, because the scheduler has tried the pod."""


class PodClaimTracker:
    """The claims of a cluster, and the waiting pods that name them."""

    def __init__(self, graph: OwnershipGraph, watched: Mapping[str, WatchedResource]) -> None:
        self._graph = graph
        self._watched = watched
        self._claims: dict[ClaimName, VolumeClaim | ResourceClaim] = {}
        self._classes: dict[str, StorageClass] = {}
        self._waiting: dict[str, _WaitingPod] = {}
        """By the uid of the pod."""
        self._named_by: dict[ClaimName, set[str]] = defaultdict(set)
        """Claim → uids of the waiting pods that name it."""
        self._proves_absence: Mapping[str, bool] = {}
        """Resource key → whether an unknown object does not exist, at the last observation."""

    def put(self, model: VolumeClaim | ResourceClaim | StorageClass) -> set[str]:
        """Store a claim or class. Return the roots of the gangs that wait for it."""
        ref = model.meta.ref
        if isinstance(model, StorageClass):
            self._classes[ref.name] = model
            return self._gangs_of_class(ref.name)
        name = (ref.kind, ref.namespace, ref.name)
        before = self._claims.get(name)
        self._claims[name] = model
        if before is not None and _is_same(before, model):
            return set()
        return self._graph.gangs_of_any(self._named_by.get(name, _NO_UIDS))

    def remove(self, resource: str, uid: str, namespace: str, name: str) -> set[str]:
        """Remove a deleted claim or class. Return the roots of the gangs that wait for it."""
        if resource == STORAGE_CLASS.key:
            if (
                storage_class := self._classes.get(name)
            ) is None or storage_class.meta.ref.uid != uid:
                return set()
            del self._classes[name]
            return self._gangs_of_class(name)
        kind = self._watched[resource].resource.kind
        claim_name = (kind, namespace, name)
        if (claim := self._claims.get(claim_name)) is None or claim.meta.ref.uid != uid:
            return set()  # a new claim of the same name exists
        del self._claims[claim_name]
        return self._graph.gangs_of_any(self._named_by.get(claim_name, _NO_UIDS))

    def put_pod(self, pod: Pod) -> None:
        """Store the claims that a pod names while it waits for a node."""
        uid = pod.meta.ref.uid
        self.drop_pod(uid)
        if not pod.claims or pod.is_placed or not pod.is_live:
            return
        claims = tuple(
            ((claim.kind, pod.meta.ref.namespace, claim.name), claim) for claim in pod.claims
        )
        untried_since = pod.meta.created_at if pod.is_untried else None
        self._waiting[uid] = _WaitingPod(claims, untried_since and untried_since + SETTLING)
        for name, _ in claims:
            self._named_by[name].add(uid)

    def drop_pod(self, uid: str) -> None:
        """Remove a pod that is deleted, or has a node."""
        pod = self._waiting.pop(uid, None)
        for name, _ in pod.claims if pod is not None else ():
            self._named_by[name].discard(uid)
            if not self._named_by[name]:
                del self._named_by[name]

    def observe(self, now: datetime) -> set[str]:
        """Update the visibility of claims. Return the roots of the gangs to assess because it has changed."""
        after = {
            resource.key: proves_absence(self._watched[resource.key], now) for resource in CLAIMS
        }
        before, self._proves_absence = self._proves_absence, after
        return set() if not before or before == after else self._graph.gangs_of_any(self._waiting)

    def unusable_claims(
        self, pods: Iterable[str], now: datetime
    ) -> tuple[UnusableClaims, datetime | None]:
        """Return the claims that keep these pods from being placed, and when to check again, if ever."""
        unusable: dict[ClaimName, UnusableClaim] = {}
        recheck_times: list[datetime] = []
        for pod in (self._waiting[uid] for uid in pods if uid in self._waiting):
            settled_at = pod.settled_at
            for name, claim in pod.claims:
                problem = self._problem(name, claim)
                if problem is None:
                    continue
                if problem.meta is None and settled_at is not None and settled_at > now:
                    recheck_times.append(settled_at)
                else:
                    unusable[name] = problem
        return unusable, min(recheck_times, default=None)

    def _problem(self, name: ClaimName, claim: PodClaim) -> UnusableClaim | None:
        """Return why a claim cannot be used. None if it can, or if that is unknown."""
        if claim.unmade:
            return UnusableClaim(ClaimProblem.UNMADE)
        key = VOLUME_CLAIM.key if claim.kind == OF_VOLUMES else RESOURCE_CLAIM.key
        if not self._proves_absence.get(key):
            return None
        model = self._claims.get(name)
        if model is None:
            return UnusableClaim(ClaimProblem.UNMADE if claim.generated else ClaimProblem.MISSING)
        if isinstance(model, ResourceClaim):
            return resource_claim_problem(model)
        classes = self._classes if self._proves_absence[STORAGE_CLASS.key] else None
        return volume_claim_problem(model, classes)

    def _gangs_of_class(self, name: str) -> set[str]:
        """Return the roots of the gangs that wait for claims of a class."""
        return self._graph.gangs_of_any(
            uid
            for claim_name, pods in self._named_by.items()
            if isinstance(claim := self._claims.get(claim_name), VolumeClaim)
            and claim.storage_class == name
            for uid in pods
        )


def _is_same(before: VolumeClaim | ResourceClaim, after: VolumeClaim | ResourceClaim) -> bool:
    """Return whether the fields that decide about placement are the same. The devices of a claim change all the time."""
    return _placement_fields(before) == _placement_fields(after)


def _placement_fields(claim: VolumeClaim | ResourceClaim) -> tuple[object, ...]:
    identity = claim.meta.ref.uid, claim.meta.deleting_since is not None
    if isinstance(claim, ResourceClaim):
        return identity
    return *identity, claim.phase, claim.volume, claim.storage_class
