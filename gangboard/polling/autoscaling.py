"""Nodes that autoscalers provision, and the gangs that wait for them."""

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
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import is_unobserved

AUTOSCALING = (NODE_CLAIM, PROVISIONING_REQUEST)
"""Autoscaler resources that are read if they are served."""
_NO_UIDS: frozenset[str] = frozenset()
RequestName = tuple[str, str]
"""(namespace, name)."""


class AutoscalingTracker:
    """NodeClaims and ProvisioningRequests of a cluster, each with its pods.

    Karpenter's events nominate pods to a NodeClaim. Pods name the ProvisioningRequest that they consume.
    """

    def __init__(self, graph: OwnershipGraph, watched: Mapping[str, WatchedResource]) -> None:
        self._graph = graph
        self._watched = watched
        self._claims: dict[str, NodeClaim] = {}
        """By name, because NodeClaims are cluster-scoped."""
        self._pods: dict[str, set[str]] = defaultdict(set)
        """Name of a claim → uids of the pods that are nominated to it."""
        self._named: dict[str, set[str]] = defaultdict(set)
        """uid of a pod → names of its claims."""
        self._uids: dict[str, set[str]] = defaultdict(set)
        """Name of a claim → its uids in events and objects."""
        self._names: dict[str, str] = {}
        """uid of a claim → its name."""
        self._requests: dict[RequestName, ProvisioningRequest] = {}
        self._consumers: dict[RequestName, set[str]] = defaultdict(set)
        """ProvisioningRequest → uids of the pods that consume it."""
        self._consumed: dict[str, RequestName] = {}
        """uid of a pod → its ProvisioningRequest."""
        self._last_observed: Autoscaling | None = None

    def put(self, model: NodeClaim | ProvisioningRequest) -> set[str]:
        """Store a claim or request. Return the roots of the gangs that wait for its nodes."""
        ref = model.meta.ref
        if isinstance(model, ProvisioningRequest):
            self._requests[ref.namespace, ref.name] = model
            return self._graph.gangs_of_any(
                self._consumers.get((ref.namespace, ref.name), _NO_UIDS)
            )
        self._claims[ref.name] = model
        self._index_name(ref)
        return self._gangs(ref.name)

    def put_pod(self, pod: Pod) -> None:
        """Store the ProvisioningRequest that a pod consumes, if any."""
        ref = pod.meta.ref
        before = self._consumed.get(ref.uid)
        after = (ref.namespace, pod.provisioning_request) if pod.provisioning_request else None
        if before == after:
            return
        if before is not None:
            self._end_consuming(ref.uid)
        if after is not None:
            self._consumed[ref.uid] = after
            self._consumers[after].add(ref.uid)

    def _end_consuming(self, pod: str) -> None:
        request = self._consumed.pop(pod, None)
        if request is not None:
            self._consumers[request].discard(pod)
            if not self._consumers[request]:
                del self._consumers[request]

    def remove(self, uid: str, namespace: str, name: str) -> set[str]:
        """Remove a deleted claim or request. Return the roots of the gangs that wait for its nodes."""
        request = self._requests.get((namespace, name))
        if request is not None and request.meta.ref.uid == uid:
            del self._requests[namespace, name]
            return self._graph.gangs_of_any(self._consumers.get((namespace, name), _NO_UIDS))
        claim = self._claims.get(name)
        if claim is None or claim.meta.ref.uid != uid:
            return set()
        del self._claims[name]
        if name not in self._pods:
            self._drop_name(name)
        return self._gangs(name)

    def put_event(self, event: Event) -> set[str]:
        """Store the nomination in an event, if any. Return the gangs that wait for the claim that the event is about.

        An event about a pod touches the gang of that pod in any case.
        """
        subject = event.regarding
        nomination = named_claim(event)
        if nomination is not None:
            self._pods[nomination[0]].add(subject.uid)
            self._named[subject.uid].add(nomination[0])
        if not is_about_claim(event):
            return set()
        self._index_name(subject)
        return self._gangs(subject.name)

    def drop_pods(self, uids: Iterable[str]) -> set[str]:
        """Remove pods. Return the uids of the deleted claims that no remaining pod is nominated to."""
        released: set[str] = set()
        for pod in uids:
            self._end_consuming(pod)
            for name in self._named.pop(pod, _NO_UIDS):
                self._pods[name].discard(pod)
                if not self._pods[name]:
                    del self._pods[name]
                    released |= set() if name in self._claims else self._drop_name(name)
        return released

    def is_awaited(self, uid: str) -> bool:
        """Return whether a pod is nominated to the claim of that uid."""
        return self._names.get(uid) in self._pods

    def keeps_events_of(self, uid: str) -> bool:
        """Return whether events about that uid are kept for a claim that exists or is awaited."""
        return self._names.get(uid) in self._claims or self.is_awaited(uid)

    def claim_uids(self, pods: Iterable[str]) -> list[str]:
        """Return the uids, as in events, of the claims to which these pods are nominated."""
        names = {name for uid in pods for name in self._named.get(uid, _NO_UIDS)}
        return [uid for name in sorted(names) for uid in sorted(self._uids.get(name, _NO_UIDS))]

    def _index_name(self, ref: ObjectRef) -> None:
        self._uids[ref.name].add(ref.uid)
        self._names[ref.uid] = ref.name

    def _drop_name(self, name: str) -> set[str]:
        uids = self._uids.pop(name, set())
        for uid in uids:
            self._names.pop(uid, None)
        return uids

    def observe(self, now: datetime) -> tuple[Autoscaling, set[str]]:
        """Return the visible claims and requests, and the gangs to assess because the visibility has changed.

        Once claims were listed, a claim that is not in the list counts as deleted.
        """
        has_claims, claims_reason = self._visibility(NODE_CLAIM.key, now)
        has_requests, requests_reason = self._visibility(PROVISIONING_REQUEST.key, now)
        after = Autoscaling(
            self._claims if has_claims else None,
            claims_reason,
            self._requests if has_requests else None,
            requests_reason,
        )
        before, self._last_observed = self._last_observed, after
        if before is None or _is_same_visibility(before, after):
            return after, set()
        return after, self._graph.gangs_of_any(self._named.keys() | self._consumed.keys())

    def _visibility(self, key: str, now: datetime) -> tuple[bool, str]:
        """Return whether an unknown object certainly does not exist, and otherwise the reason why not."""
        watched = self._watched[key]
        if watched.state == WatchState.NOT_SERVED:
            return False, ""
        if is_unobserved(watched, now):
            return False, watched.state
        if watched.unreadable_names:
            return False, "not all can be read"
        return watched.is_current, ""

    def _gangs(self, name: str) -> set[str]:
        return self._graph.gangs_of_any(self._pods.get(name, _NO_UIDS))


def _is_same_visibility(before: Autoscaling, after: Autoscaling) -> bool:
    """Return whether the same kinds of objects are visible."""
    return _visible_kinds(before) == _visible_kinds(after)


def _visible_kinds(autoscaling: Autoscaling) -> tuple[bool, str, bool, str]:
    return (
        autoscaling.claims is None,
        autoscaling.why,
        autoscaling.requests is None,
        autoscaling.why_no_requests,
    )
