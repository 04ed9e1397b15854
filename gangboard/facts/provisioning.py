"""What ProvisioningRequests bring for waiting pods that consume one.

cluster-autoscaler brings nodes for the request and ignores its consumers (pods_filter.go): no event of
it tells of them. It accepts a request, then sets `Provisioned`: false while it finds no way and tries
again, true when it has asked for the nodes or found that there is room (besteffortatomic/
provisioning_class.go). It gives up after 7 days (`Failed`, processor.go). The class `check-capacity`
brings no nodes. Other classes are of clouds, such as GKE's, which waits until it has all machines.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.autoscaling import CHECK_CAPACITY, ProvisioningRequest
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.text import shorten
from gangboard.facts.node_claim_nominations import PATIENCE
from gangboard.facts.unit import Unit

_REQUESTED = "CapacityIsProvisioned"
"""Reason of `Provisioned` when a scale-up was requested: its nodes are still to come."""


@dataclass(frozen=True, slots=True)
class Provision:
    """A ProvisioningRequest and the waiting pods that consume it."""

    request: str
    pods: int
    text: str
    """What stands after its name in a sentence."""
    coming: bool = False
    """Nodes are on their way, or tried for."""
    trying: bool = False
    """It found none yet."""
    ref: ObjectRef | None = None
    """The object, where there is one."""
    since: datetime | None = None
    until: datetime | None = None
    """When waiting alone changes what is said."""


def provisions(unit: Unit) -> tuple[Provision, ...]:
    """Return the requests that waiting pods consume, by name; nothing where none can be looked at."""
    seen = unit.gang.cluster.autoscaling.requests
    if seen is None:
        return ()
    asked = Counter(
        (pod.meta.ref.namespace, pod.provisioning_request)
        for pod in unit.unplaced
        if pod.provisioning_request
    )
    return tuple(
        _provision(unit, place[1], asked[place], seen.get(place)) for place in sorted(asked)
    )


def _provision(unit: Unit, name: str, pods: int, one: ProvisioningRequest | None) -> Provision:
    if one is None:
        return Provision(name, pods, "is not there: nobody brings nodes for pods that consume it")
    ref, failed, revoked = one.meta.ref, one.failed, one.revoked
    if failed is not None and failed.is_true:
        return Provision(name, pods, f"has failed{_why(failed)}", ref=ref)
    if revoked is not None and revoked.is_true:
        return Provision(name, pods, f"has lost what it had{_why(revoked)}", ref=ref)
    if one.provisioned is not None and one.provisioned.is_true:
        return _provisioned(unit, one, pods, one.provisioned)
    if one.accepted is None or not one.accepted.is_true:
        return Provision(name, pods, "is not accepted yet", ref=ref)
    why = _why(one.provisioned)
    if one.class_name == CHECK_CAPACITY:
        text = f"only asks whether there is room, and brings no nodes{why}"
        return Provision(name, pods, text, ref=ref)
    return Provision(
        name,
        pods,
        f"is accepted, not provisioned yet{why}",
        coming=True,
        trying=bool(why),
        ref=ref,
        since=one.accepted.since,
    )


def _provisioned(unit: Unit, one: ProvisioningRequest, pods: int, said: Condition) -> Provision:
    """Return what has come of a request that is provisioned: for a while its nodes may be starting."""
    name, ref = one.meta.ref.name, one.meta.ref
    since = said.since.astimezone(UTC) if said.since is not None else None
    at = f" at {since:%Y-%m-%d %H:%M} UTC" if since is not None else ""
    asked = said.reason == _REQUESTED and one.class_name != CHECK_CAPACITY
    if asked and said.since is not None and unit.now - said.since < PATIENCE:
        text = f"was provisioned at {since:%H:%M} UTC, its nodes may still be starting"
        until = said.since + PATIENCE
        return Provision(name, pods, text, coming=True, ref=ref, since=said.since, until=until)
    return Provision(name, pods, f"was provisioned{at}{_why(said)}", ref=ref)


def _why(condition: Condition | None) -> str:
    said = "" if condition is None else condition.message or condition.reason
    return f": {shorten(said)}" if said else ""
