"""DisaggregatedSets (disaggregatedset.x-k8s.io/v1): one LeaderWorkerSet for each role, such as prefill and decode.

Served by LeaderWorkerSet 0.9. It makes `<name>-<revision>-<role>` for each role (seen on 0.9.0), and while
it rolls out a change those of the old revision beside them, which it scales down (lws_manager.go of 0.9.0).
How many pods there should be is what these ask for; of a role that has none, what its own spec says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.jobs import WirePodTemplate, WireTemplateSpec
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.podspec import pod_requests
from gangboard.decode.problems import deliver
from gangboard.decode.wire import Int32, Wire, WireCondition, or_one, read_conditions, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.blueprint import Blueprint
from gangboard.domain.owner import Owner, PodRequests, Role
from gangboard.domain.pod import Pod
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_GROUP = "disaggregatedset.x-k8s.io"
_MADE = "leaderworkerset.x-k8s.io", "LeaderWorkerSet"
_PREFIX = "leaderworkerset.sigs.k8s.io"
_REVISION = 8
"""Characters of a revision in the names of what it makes (revisionLength in utils.go of 0.9.0)."""


class _WireTemplate(Wire):
    size: Int32 | None = None
    leader_template: WirePodTemplate | None = None
    worker_template: KeyField[WirePodTemplate | None] = None


class _WireSpecOfRole(Wire):
    replicas: Int32 | None = None
    leader_worker_template: _WireTemplate | None = None


class _WireRole(Wire):
    name: str = ""
    spec: _WireSpecOfRole | None = None


class _WireDisaggregatedSetSpec(Wire):
    roles: list[_WireRole] | None = None


class _WireDisaggregatedSetStatus(Wire):
    conditions: list[WireCondition] | None = None


class WireDisaggregatedSet(Wire):
    """A DisaggregatedSet as narrow as it is kept."""

    metadata: WireOwnerMeta
    spec: _WireDisaggregatedSetSpec | None = None
    status: _WireDisaggregatedSetStatus | None = None


def _build(wire: WireDisaggregatedSet, version: str) -> Owner:
    faults: list[str] = []
    roles: list[Role] = []
    asked: list[PodRequests] = []
    for role in (wire.spec or _WireDisaggregatedSetSpec()).roles or ():
        spec = role.spec or _WireSpecOfRole()
        template = spec.leader_worker_template or _WireTemplate()
        replicas, size = or_one(spec.replicas), max(1, or_one(template.size))
        worker, malformed = pod_requests(_spec(template.worker_template))
        leader, also = pod_requests(_spec(template.leader_template or template.worker_template))
        faults += [f"in {role.name} {fault}" for fault in dict.fromkeys((*malformed, *also))]
        roles.append(Role(role.name, replicas, size, noun="role"))
        asked += [PodRequests(replicas, leader), PodRequests(replicas * (size - 1), worker)]
    owner = Owner(
        meta=read_meta(wire.metadata, _GROUP, "DisaggregatedSet", version),
        desired=_size(roles),
        roles=tuple(roles),
        pod_requests=tuple(one for one in asked if one.count),
        conditions=read_conditions((wire.status or _WireDisaggregatedSetStatus()).conditions),
    )
    return deliver(owner, tuple(faults))


def _spec(template: WirePodTemplate | None) -> WireTemplateSpec:
    return (template and template.spec) or WireTemplateSpec()


def _size(roles: Sequence[Role]) -> int:
    return sum(role.replicas * role.pods for role in roles)


def _complete(owner: Owner, made: Sequence[Owner], _blueprints: Sequence[Blueprint]) -> Owner:
    """Return it with the replicas of what it made; a role of which nothing is made stays as it is."""
    sets = [one for one in made if (one.meta.ref.group, one.meta.ref.kind) == _MADE]
    if not sets:
        return owner
    names = [one.meta.ref.name for one in sets]
    unmade = [role for role in owner.roles if not _is_made(owner, role, names)]
    return replace(
        owner,
        desired=sum(one.desired for one in sets) + _size(unmade),
        roles=(*(role for one in sets for role in one.roles), *unmade),
        grace_seconds=max(one.grace_seconds for one in sets),
    )


def _is_made(owner: Owner, role: Role, names: Sequence[str]) -> bool:
    """Whether something that it made is named after a role, of whatever revision."""
    start = len(owner.meta.ref.name) + 1 + _REVISION
    return any(name[start:] == f"-{role.name}" for name in names)


def _role_of(pod: Pod) -> str:
    """Return the replica that a pod belongs to: the name of its leader pod."""
    name, index = pod.labels.get(f"{_PREFIX}/name"), pod.labels.get(f"{_PREFIX}/group-index")
    return f"{name}-{index}" if name and index else ""


def _is_numbered(role: Role) -> bool:
    """Whether it has the replicas of a LeaderWorkerSet; a role that is not made is one unit."""
    return role.noun == "replica"


OWNER = OwnerKind(
    resource=Resource(
        group=_GROUP,
        plural="disaggregatedsets",
        kind="DisaggregatedSet",
        versions=("v1",),
        wire=WireDisaggregatedSet,
        model=Owner,
        build=_build,
        needed=True,
        decoder_version=5,
        fields=key_fields(WireDisaggregatedSet),
    ),
    label="DisaggregatedSet",
    notes=KindNotes(
        gang="the DisaggregatedSet with its LeaderWorkerSets and their pods",
        units=(
            "as of the LeaderWorkerSet, each replica of each role; a role that is not made is one, too"
        ),
        limits="it has no suspend field; it makes and scales its LeaderWorkerSets itself",
        tested="LeaderWorkerSet 0.9 on 1.37",
    ),
    makes=(_MADE,),
    complete=_complete,
    role_of=_role_of,
    is_numbered=_is_numbered,
    no_lever=(
        "DisaggregatedSets have no suspend field, and scaling to 0 would end all pods without a "
        "record of how many there were."
    ),
)
