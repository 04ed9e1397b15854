"""Faults for which the CRD, the webhook or the API server refuses a JobSet or its Jobs.

Source: jobset_types.go and jobset_webhook.go of v0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangboard.domain.forecast import Manifest, ManifestFault
from gangboard.owners.jobset.creation import coordinator_address
from gangboard.owners.jobset.job_templates import IN_ORDER, ReplicatedJob, replicated_jobs
from gangboard.owners.jobset.wire import child_name
from gangboard.plugins.child_manifests import (
    has_section,
    items,
    name_of,
    number,
    section,
    size,
    text,
    texts,
)
from gangboard.plugins.manifest_faults import (
    INT32_MAX,
    LABEL_LENGTH,
    dns_label_fault,
    pod_template_faults,
    subdomain_fault,
    unknown_name_fault,
)

_ROLES = "spec.replicatedJobs"
_NOUN = "ReplicatedJob"
_SUFFIX = "-abcde"
"""Random suffix of pod names, with which the webhook checks their length."""


def faults(manifest: Manifest) -> Iterator[ManifestFault]:
    """Yield what is refused in a JobSet."""
    spec = section(manifest, "spec")
    roles = replicated_jobs(spec)
    yield from subdomain_fault("metadata.name", name_of(manifest), "Its name")
    for index, role in enumerate(roles):
        yield from _role_faults(manifest, index, role)
    yield from _dependency_faults(spec, roles)
    yield from _policy_faults(spec, {role.name for role in roles})
    if has_section(spec, "coordinator"):
        yield from _coordinator_faults(manifest, roles)
    subdomain = text(spec, "network", "subdomain")
    if subdomain:
        yield from dns_label_fault(
            "spec.network.subdomain", subdomain, "The subdomain", starts_with_letter=True
        )


def _role_faults(manifest: Manifest, index: int, role: ReplicatedJob) -> Iterator[ManifestFault]:
    place = f"{_ROLES}[{index}]"
    last_job = child_name(name_of(manifest), role.name, max(0, role.replicas - 1))
    yield from dns_label_fault(
        f"{place}.name", last_job, "The name of its last Job", starts_with_letter=True
    )
    completions = number(role.spec, "completions")
    if completions is not None and text(role.spec, "completionMode") in ("", "Indexed"):
        pod = f"{last_job}-{completions - 1}{_SUFFIX}"
        if len(last_job) <= LABEL_LENGTH < len(pod):
            yield ManifestFault(
                f"{place}.name",
                f"Its pods get names of {len(pod)} characters, such as {pod}, and {LABEL_LENGTH} are allowed.",
            )
    yield from dns_label_fault(
        f"{place}.groupName", role.group, "The group name", starts_with_letter=True
    )
    # The JobSet is accepted with these, and the API server refuses its Jobs.
    yield from pod_template_faults(
        section(role.spec, "template"),
        f"{place}.template.spec.template",
        restart_policies=("", "Never", "OnFailure"),
    )
    pods = role.replicas * size(role.spec, "parallelism")
    if pods > INT32_MAX:
        yield ManifestFault(
            place, f"replicas times parallelism is {pods:,}, and {INT32_MAX:,} are allowed."
        )


def _dependency_faults(spec: Manifest, roles: list[ReplicatedJob]) -> Iterator[ManifestFault]:
    if roles and roles[0].has_dependencies:
        yield ManifestFault(
            f"{_ROLES}[0].dependsOn", f"The first {_NOUN} cannot depend on another one."
        )
    in_order = text(spec, "startupPolicy", "startupPolicyOrder") == IN_ORDER
    if in_order and any(role.has_dependencies for role in roles):
        yield ManifestFault(
            "spec.startupPolicy", f"The startup order {IN_ORDER} and dependsOn exclude each other."
        )
    for index, entry in enumerate(items(spec, "replicatedJobs")):
        # The webhook accepts the name of the ReplicatedJob itself, which then never starts.
        earlier = {role.name for role in roles[:index]}
        for place, dependency in enumerate(items(entry, "dependsOn")):
            field = f"{_ROLES}[{index}].dependsOn[{place}].name"
            name = text(dependency, "name")
            if index and name not in earlier:
                yield ManifestFault(
                    field, f"There is no {_NOUN} {name or '(empty)'} before {roles[index].name}."
                )


def _policy_faults(spec: Manifest, known: set[str]) -> Iterator[ManifestFault]:
    """Yield the ReplicatedJobs that the policies name and the JobSet does not have."""
    in_order = sorted(known)
    field = "spec.successPolicy.targetReplicatedJobs"
    for name in texts(spec, "successPolicy", "targetReplicatedJobs"):
        yield from unknown_name_fault(field, name, _NOUN, in_order)
    for index, rule in enumerate(items(spec, "failurePolicy", "rules")):
        field = f"spec.failurePolicy.rules[{index}].targetReplicatedJobs"
        for name in texts(rule, "targetReplicatedJobs"):
            yield from unknown_name_fault(field, name, _NOUN, in_order)


def _coordinator_faults(manifest: Manifest, roles: list[ReplicatedJob]) -> Iterator[ManifestFault]:
    """Yield faults of the coordinator (validateCoordinator and validateCoordinatorLabelValue)."""
    coordinator, field = section(manifest, "spec", "coordinator"), "spec.coordinator"
    name = text(coordinator, "replicatedJob")
    role = next((role for role in roles if role.name == name), None)
    if role is None:
        known = [role.name for role in roles]
        yield from unknown_name_fault(f"{field}.replicatedJob", name, _NOUN, known)
        return
    completions = number(role.spec, "completions")
    if completions is None or text(role.spec, "completionMode") not in ("", "Indexed"):
        yield ManifestFault(
            f"{field}.replicatedJob", f"The Jobs of {name} must be Indexed and set completions."
        )
        completions = None
    limits = {"jobIndex": role.replicas, "podIndex": completions}
    for key, limit in limits.items():
        value = number(coordinator, key) or 0
        if limit is not None and not 0 <= value < limit:
            yield ManifestFault(
                f"{field}.{key}", f"{key} is {value}, and {name} has {limit} of them from 0 on."
            )
    address = coordinator_address(manifest)
    if len(address) > LABEL_LENGTH:
        yield ManifestFault(
            field,
            f"The address {address} has {len(address)} characters. It is a label, and {LABEL_LENGTH} are allowed.",
        )
