"""Gangs of Kubernetes: scheduling.k8s.io of 1.35 (v1alpha1) to 1.38 (v1).

One struct per kind reads all versions, because a version only adds or renames fields. 1.35 has only Workloads. Their
entries are read as templates, and diagnosis makes groups of the entries that pods name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gangboard.decode.scheduling_policy import WireUnion, present_members, read_scheduling_policy
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.group import Group, GroupClaim, GroupTemplate, Policy
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.traits import KindTraits
from gangboard.plugins.child_manifests import name_of, section
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes, group_resource
from gangboard.plugins.manifest_faults import scheduling_policy_faults, subdomain_fault

_GROUP = "scheduling.k8s.io"
_PLACED = (
    "PodGroupInitiallyScheduled",  # 1.37: stays True for ever after the first placement
    "PodGroupScheduled",  # 1.36
    "CompositePodGroupInitiallyScheduled",
)
_NEVER_PLACED = ("Invalid", "PodGroupError", "CompositePodGroupError")
"""Reasons of an invalid group. 1.37 has `Invalid`, and 1.38 has a reason per kind."""
_POLICIES = {"gang": Policy.GANG, "basic": Policy.BASIC}


class _WireTopology(Wire):
    key: str = ""


class _WireConstraints(Wire):
    topology: list[_WireTopology] | None = None


class _WireWorkloadRef(Wire):
    """`workloadRef` (1.37)."""

    workload_name: str | None = None
    template_name: str | None = None


class _WireTemplateWorkload(Wire):
    workload_name: str | None = None
    pod_group_template_name: str | None = None


class _WireTemplateRef(Wire):
    """`podGroupTemplateRef` (1.36)."""

    workload: _WireTemplateWorkload | None = None


class _WireClaim(Wire):
    """An entry of `spec.resourceClaims`, or of `status.resourceClaimStatuses`."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class _WireGroupSpec(Wire):
    """Common fields of a PodGroup, a CompositePodGroup and their templates."""

    scheduling_policy: WireUnion | None = None
    scheduling_constraints: _WireConstraints | None = None
    disruption_mode: str | WireUnion | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    """With the gate PodGroupPreemptionPolicy (1.37)."""
    resource_claims: list[_WireClaim] | None = None
    workload_ref: _WireWorkloadRef | None = None
    pod_group_template_ref: _WireTemplateRef | None = None
    parent_composite_pod_group_name: str | None = None


class _WireGroupStatus(Wire):
    conditions: list[WireCondition] | None = None
    resource_claim_statuses: list[_WireClaim] | None = None


class WireGroup(Wire):
    """A PodGroup or CompositePodGroup."""

    metadata: WireMeta
    spec: _WireGroupSpec | None = None
    status: _WireGroupStatus | None = None


class _WireTemplate(_WireGroupSpec):
    name: str = ""
    policy: WireUnion | None = None
    """1.35; `schedulingPolicy` later."""
    pod_group_templates: list[_WireTemplate] | None = None
    composite_pod_group_templates: list[_WireTemplate] | None = None


class _WireControllerRef(Wire):
    api_group: str | None = None
    kind: str | None = None
    name: str | None = None

    def read(self) -> tuple[str, str, str]:
        """Return (API group, kind, name)."""
        return self.api_group or "", self.kind or "", self.name or ""


class _WireWorkloadSpec(Wire):
    controller_ref: _WireControllerRef | None = None
    pod_groups: list[_WireTemplate] | None = None
    """1.35; `podGroupTemplates` later."""
    pod_group_templates: list[_WireTemplate] | None = None
    composite_pod_group_templates: list[_WireTemplate] | None = None


class WireWorkload(Wire):
    """A Workload. It has no status in any version."""

    metadata: WireMeta
    spec: _WireWorkloadSpec | None = None


def _build_group(wire: WireGroup, version: str, kind: str) -> Group:
    spec = wire.spec or _WireGroupSpec()
    policy = read_scheduling_policy(spec.scheduling_policy)
    conditions = read_conditions(wire.status.conditions if wire.status else None)
    workload_name, template_name = _origin(spec)
    return Group(
        meta=read_meta(wire.metadata, _GROUP, kind, version),
        policy=_POLICIES.get(policy.member, Policy.UNKNOWN),
        quorum=policy.min_count,
        workload_name=workload_name,
        template_name=template_name,
        parent_name=spec.parent_composite_pod_group_name or "",
        topology_keys=_topology_keys(spec),
        priority=spec.priority,
        preempts=spec.preemption_policy != "Never",
        disruption_mode=_disruption_mode(spec.disruption_mode),
        claims=tuple(_claims(spec, wire.status or _WireGroupStatus())),
        conditions=conditions,
        placed=_placed(conditions),
        policy_text=policy.text,
    )


def _origin(spec: _WireGroupSpec) -> tuple[str, str]:
    """Return the names of the Workload and its template, from the field of this version."""
    if spec.workload_ref is not None:
        return spec.workload_ref.workload_name or "", spec.workload_ref.template_name or ""
    old = spec.pod_group_template_ref and spec.pod_group_template_ref.workload
    return (old.workload_name or "", old.pod_group_template_name or "") if old else ("", "")


def _topology_keys(spec: _WireGroupSpec) -> tuple[str, ...]:
    constraints = spec.scheduling_constraints
    return tuple(topology.key for topology in (constraints and constraints.topology) or ())


def _claims(spec: _WireGroupSpec, status: _WireGroupStatus) -> Iterator[GroupClaim]:
    """Yield the claims of a group. The status has the claims that were made from templates."""
    from_template = {
        entry.name: entry.resource_claim_name for entry in status.resource_claim_statuses or ()
    }
    for claim in spec.resource_claims or ():
        yield GroupClaim(
            claim.name,
            claim.resource_claim_name or from_template.get(claim.name) or "",
            claim.resource_claim_template_name or "",
        )


def _disruption_mode(mode: str | WireUnion | None) -> str:
    """Return `Pod` or `PodGroup` (1.36), `single` or `all` (1.37), or any other value as served."""
    return mode if isinstance(mode, str) else ", ".join(present_members(mode))


def _placed(conditions: tuple[Condition, ...]) -> Condition | None:
    """Return the condition that says whether the scheduler placed the group, with its own type.

    A condition with a reason of `_NEVER_PLACED` (a cycle, too deep, several Workloads) can have the status True by the
    documentation of the API. The group is not placed in that case. `conditions` keeps the original status.
    """
    candidates = (find_condition(conditions, type_) for type_ in _PLACED)
    placed = next((condition for condition in candidates if condition is not None), None)
    if placed is not None and placed.reason in _NEVER_PLACED:
        return replace(placed, status="False")
    return placed


def _build_workload(wire: WireWorkload, version: str) -> Group:
    """Return a Workload. Its templates have policies, and it has no policy of its own."""
    spec = wire.spec or _WireWorkloadSpec()
    return Group(
        meta=read_meta(wire.metadata, _GROUP, "Workload", version),
        templates=tuple(_templates(spec)),
        controller_ref=spec.controller_ref.read() if spec.controller_ref else None,
    )


def _templates(spec: _WireWorkloadSpec) -> Iterator[GroupTemplate]:
    """Yield all templates. The children of a composite template follow it."""
    waiting: list[tuple[_WireTemplate, bool]] = _child_templates(spec)
    while waiting:
        template, composite = waiting.pop(0)
        policy = read_scheduling_policy(template.scheduling_policy or template.policy)
        yield GroupTemplate(
            name=template.name,
            policy=_POLICIES.get(policy.member, Policy.UNKNOWN),
            quorum=policy.min_count,
            topology_keys=_topology_keys(template),
            composite=composite,
        )
        waiting[:0] = _child_templates(template)


def _child_templates(spec: _WireWorkloadSpec | _WireTemplate) -> list[tuple[_WireTemplate, bool]]:
    """Return the direct child templates, each with whether it is composite."""
    entries = spec.pod_groups or () if isinstance(spec, _WireWorkloadSpec) else ()
    return [
        *((entry, False) for entry in entries),
        *((template, False) for template in spec.pod_group_templates or ()),
        *((template, True) for template in spec.composite_pod_group_templates or ()),
    ]


def _policy_fields(path: str, quorum: str) -> tuple[str, ...]:
    """Return the field paths of a policy, which is basic or a gang with a quorum."""
    return f"{path}.basic", f"{path}.gang.{quorum}"


_VERSIONS = ("v1beta1", "v1alpha3")


class Kubernetes(GroupingAPI):
    """Groups of Kubernetes."""

    label = "Kubernetes"
    group = _GROUP
    resources = (
        group_resource(
            _GROUP,
            "podgroups",
            "PodGroup",
            ("v1", *_VERSIONS, "v1alpha2"),
            WireGroup,
            lambda wire, version: _build_group(wire, version, "PodGroup"),
            fields=_policy_fields("spec.schedulingPolicy", "minCount"),
        ),
        group_resource(
            _GROUP,
            "compositepodgroups",
            "CompositePodGroup",
            _VERSIONS,
            WireGroup,
            lambda wire, version: _build_group(wire, version, "CompositePodGroup"),
            fields=_policy_fields("spec.schedulingPolicy", "minGroupCount"),
        ),
        group_resource(
            _GROUP,
            "workloads",
            "Workload",
            ("v1", *_VERSIONS, "v1alpha2", "v1alpha1"),
            WireWorkload,
            _build_workload,
            fields=(
                *_policy_fields("spec.podGroupTemplates.schedulingPolicy", "minCount"),
                *_policy_fields(
                    "spec.compositePodGroupTemplates.schedulingPolicy", "minGroupCount"
                ),
            ),
        ),
    )
    traits: Mapping[str, KindTraits] = {
        "PodGroup": KindTraits(number_paths={"minCount": "spec.schedulingPolicy.gang.minCount"})
    }
    notes = GroupingNotes(
        members="`spec.schedulingGroup`; on 1.35 `spec.workloadRef`",
        limits=(
            "The condition that a group was placed is never removed. The scheduler reports "
            "nothing about a group below its quorum or a group that does not exist. On 1.35 "
            "groups have no object"
        ),
        tested="the schedulers of 1.35, 1.36 and 1.37",
    )

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
        """Yield faults of the name and the policy of a group."""
        yield from subdomain_fault("metadata.name", name_of(manifest), "Its name")
        policy = section(manifest, "spec", "schedulingPolicy")
        yield from scheduling_policy_faults(policy, "spec.schedulingPolicy")
