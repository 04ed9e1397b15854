"""What autoscalers say of nodes on their way, while the lease is ours, and which gangs it is about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from gangboard.decode.node_claims import NODE_CLAIM
from gangboard.decode.provisioning_requests import PROVISIONING_REQUEST
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.api_resource import WatchState
from gangboard.domain.autoscaling import Autoscaling, NodeClaim, ProvisioningRequest
from gangboard.domain.event import Event
from gangboard.domain.objects import ObjectRef
from gangboard.domain.pod import Pod
from gangboard.facts.provisioning import is_about_claim, named_claim
from gangboard.polling.resource_watch import Watched
from gangboard.polling.visibility import is_unobserved

AUTOSCALING = (NODE_CLAIM, PROVISIONING_REQUEST)
"""What is read of autoscalers, where it is served."""
_NOBODY: frozenset[str] = frozenset()
Place = tuple[str, str]
"""(namespace, name)."""


class AutoscalingTracker:
    """The NodeClaims of a cluster with the pods that Karpenter's events name them to; and its
    ProvisioningRequests with the pods that consume them."""

    def __init__(self, graph: OwnershipGraph, watched: Mapping[str, Watched]) -> None:
        self._graph = graph
        self._watched = watched
        self._claims: dict[str, NodeClaim] = {}
        """By name: no two are there at the same time."""
        self._pods: dict[str, set[str]] = defaultdict(set)
        """Name of a claim → uids of pods that it was named to."""
        self._named: dict[str, set[str]] = defaultdict(set)
        """The same the other way round."""
        self._uids: dict[str, set[str]] = defaultdict(set)
        """Name of a claim → the uids that it has in events and objects."""
        self._names: dict[str, str] = {}
        """The same the other way round."""
        self._requests: dict[Place, ProvisioningRequest] = {}
        self._consumers: dict[Place, set[str]] = defaultdict(set)
        """ProvisioningRequest → uids of pods that consume it."""
        self._consumed: dict[str, Place] = {}
        """The same the other way round."""
        self._seen: Autoscaling | None = None

    def put(self, model: NodeClaim | ProvisioningRequest) -> set[str]:
        """Take in the state of an object; return the roots of gangs that it is to bring nodes for."""
        ref = model.meta.ref
        if isinstance(model, ProvisioningRequest):
            self._requests[ref.namespace, ref.name] = model
            return self._graph.gangs_of_any(self._consumers.get((ref.namespace, ref.name), _NOBODY))
        self._claims[ref.name] = model
        self._know(ref)
        return self._gangs(ref.name)

    def put_pod(self, pod: Pod) -> None:
        """Take in which ProvisioningRequest a pod consumes, if any."""
        ref = pod.meta.ref
        before = self._consumed.get(ref.uid)
        now = (ref.namespace, pod.provisioning_request) if pod.provisioning_request else None
        if before == now:
            return
        if before is not None:
            self._end_consuming(ref.uid)
        if now is not None:
            self._consumed[ref.uid] = now
            self._consumers[now].add(ref.uid)

    def _end_consuming(self, pod: str) -> None:
        place = self._consumed.pop(pod, None)
        if place is not None:
            self._consumers[place].discard(pod)
            if not self._consumers[place]:
                del self._consumers[place]

    def remove(self, uid: str, namespace: str, name: str) -> set[str]:
        """Forget an object that is gone; return the gangs that wait for its nodes."""
        request = self._requests.get((namespace, name))
        if request is not None and request.meta.ref.uid == uid:
            del self._requests[namespace, name]
            return self._graph.gangs_of_any(self._consumers.get((namespace, name), _NOBODY))
        claim = self._claims.get(name)
        if claim is None or claim.meta.ref.uid != uid:
            return set()
        del self._claims[name]
        if name not in self._pods:
            self._forget(name)
        return self._gangs(name)

    def note(self, event: Event) -> set[str]:
        """Remember what an event says of a claim; return the gangs that wait for that claim.

        An event about a pod touches that pod's gang anyway.
        """
        about = event.regarding
        named = named_claim(event)
        if named is not None:
            self._pods[named[0]].add(about.uid)
            self._named[about.uid].add(named[0])
        if not is_about_claim(event):
            return set()
        self._know(about)
        return self._gangs(about.name)

    def drop_pods(self, uids: Iterable[str]) -> set[str]:
        """Forget pods; return the uids of claims that are gone and that nobody asks for any more."""
        released: set[str] = set()
        for pod in uids:
            self._end_consuming(pod)
            for name in self._named.pop(pod, _NOBODY):
                self._pods[name].discard(pod)
                if not self._pods[name]:
                    del self._pods[name]
                    released |= set() if name in self._claims else self._forget(name)
        return released

    def is_asked_for(self, uid: str) -> bool:
        """Whether a pod was nominated to the claim of that uid."""
        return self._names.get(uid) in self._pods

    def keeps(self, uid: str) -> bool:
        """Whether events about that uid are kept for a claim: it is there, or is asked for."""
        return self._names.get(uid) in self._claims or self.is_asked_for(uid)

    def subjects(self, pods: Iterable[str]) -> list[str]:
        """Return the uids of claims that were named to any of these pods, as events have them."""
        names = {name for uid in pods for name in self._named.get(uid, _NOBODY)}
        return [uid for name in sorted(names) for uid in sorted(self._uids.get(name, _NOBODY))]

    def _know(self, ref: ObjectRef) -> None:
        self._uids[ref.name].add(ref.uid)
        self._names[ref.uid] = ref.name

    def _forget(self, name: str) -> set[str]:
        uids = self._uids.pop(name, set())
        for uid in uids:
            self._names.pop(uid, None)
        return uids

    def look(self, now: datetime) -> tuple[Autoscaling, set[str]]:
        """Return what can be seen, and the gangs for which that has changed by more than an object.

        Where claims were listed for the first time, one that is not there is gone from then on.
        """
        claims, why = self._visibility(NODE_CLAIM.key, now)
        requests, why_not = self._visibility(PROVISIONING_REQUEST.key, now)
        seen = Autoscaling(
            self._claims if claims else None, why, self._requests if requests else None, why_not
        )
        before, self._seen = self._seen, seen
        if before is None or _is_same(before, seen):
            return seen, set()
        return seen, self._graph.gangs_of_any(self._named.keys() | self._consumed.keys())

    def _visibility(self, key: str, now: datetime) -> tuple[bool, str]:
        """Return whether the absence of such an object means something, and else why not."""
        watched = self._watched[key]
        if watched.state == WatchState.NOT_SERVED:
            return False, ""
        if is_unobserved(watched, now):
            return False, watched.state
        if watched.lost:
            return False, "not all can be read"
        return watched.is_current, ""

    def _gangs(self, name: str) -> set[str]:
        return self._graph.gangs_of_any(self._pods.get(name, _NOBODY))


def _is_same(one: Autoscaling, other: Autoscaling) -> bool:
    """Whether the same kinds of objects can be seen, whatever is in them."""
    return _shape(one) == _shape(other)


def _shape(seen: Autoscaling) -> tuple[bool, str, bool, str]:
    return seen.claims is None, seen.why, seen.requests is None, seen.why_no_requests
