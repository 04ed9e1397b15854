"""The JobSet template of a runtime, reduced to the fields that decide which pods it gives and where they fit.

The blueprint of the runtime keeps it as JSON. It has no commands, no environment and no other annotations, because
they can contain secrets.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from gangboard.decode.key_fields import KeyField
from gangboard.decode.podspec import NULL
from gangboard.decode.wire import Int32, Int64, Wire
from gangboard.domain.owner import Blueprint

TEMPLATE = "template"
"""Key in `detail` of a runtime."""
_LARGEST = 65_536
"""Most characters of a stored template. A larger one is left out, and its TrainJobs cannot be foreseen."""


class _Reduced(Wire, omit_defaults=True):
    """Base of the reduced structs, which are encoded without missing fields."""


class _Marks(_Reduced):
    """Annotations with a meaning for the placement."""

    exclusive: str | None = msgspec.field(
        default=None, name="alpha.jobset.sigs.k8s.io/exclusive-topology"
    )
    node_selector: str | None = msgspec.field(
        default=None, name="alpha.jobset.sigs.k8s.io/node-selector"
    )
    required: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/podset-required-topology"
    )
    preferred: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/podset-preferred-topology"
    )
    unconstrained: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/podset-unconstrained-topology"
    )
    queue: str | None = msgspec.field(default=None, name="scheduling.volcano.sh/queue-name")


class _Metadata(_Reduced):
    labels: dict[str, str] | None = None
    annotations: _Marks | None = None


class _Container(_Reduced):
    name: str = ""
    restart_policy: str | None = None
    restart_policy_rules: msgspec.Raw = NULL
    resources: msgspec.Raw = NULL
    ports: list[_Port] | None = None


class _Port(_Reduced):
    container_port: Int32 | None = None
    host_port: Int32 | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class _Claim(_Reduced):
    """The claim of a volume."""

    claim_name: str | None = None


class _Source(_Reduced):
    """Another source of a volume that restricts nodes, of which only the presence is kept."""


class _Volume(_Reduced):
    """A volume with the sources that `decode.pod_constraints` reads."""

    name: str = ""
    persistent_volume_claim: _Claim | None = None
    ephemeral: _Source | None = None
    aws_elastic_block_store: _Source | None = None
    azure_disk: _Source | None = None
    azure_file: _Source | None = None
    cinder: _Source | None = None
    gce_persistent_disk: _Source | None = None
    iscsi: _Source | None = None
    portworx_volume: _Source | None = None
    rbd: _Source | None = None
    vsphere_volume: _Source | None = None


class _PodSpec(_Reduced):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    resources: msgspec.Raw = NULL
    overhead: msgspec.Raw = NULL
    node_selector: msgspec.Raw = NULL
    affinity: msgspec.Raw = NULL
    tolerations: msgspec.Raw = NULL
    topology_spread_constraints: msgspec.Raw = NULL
    resource_claims: msgspec.Raw = NULL
    volumes: list[_Volume] | None = None
    scheduler_name: str | None = None
    scheduling_gates: msgspec.Raw = NULL
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    restart_policy: str | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    active_deadline_seconds: Int64 | None = None
    termination_grace_period_seconds: Int64 | None = None


class _PodTemplate(_Reduced):
    metadata: _Metadata | None = None
    spec: _PodSpec | None = None


class _JobSpec(_Reduced):
    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    backoff_limit: Int32 | None = None
    template: _PodTemplate | None = None


class _JobTemplate(_Reduced):
    metadata: _Metadata | None = None
    spec: _JobSpec | None = None


class _Dependency(_Reduced):
    name: str = ""
    status: str = ""


class _ReplicatedJob(_Reduced):
    name: str = ""
    group_name: str | None = None
    replicas: Int32 | None = None
    depends_on: list[_Dependency] | None = None
    template: _JobTemplate | None = None


class _StartupPolicy(_Reduced):
    startup_policy_order: str | None = None


class _Network(_Reduced):
    subdomain: str | None = None


class _Coordinator(_Reduced):
    replicated_job: str | None = None
    job_index: Int32 | None = None
    pod_index: Int32 | None = None


class _JobSetSpec(_Reduced):
    replicated_jobs: KeyField[list[_ReplicatedJob] | None] = None
    startup_policy: _StartupPolicy | None = None
    network: _Network | None = None
    coordinator: _Coordinator | None = None


class JobSetTemplate(_Reduced):
    """`spec.template` of a runtime."""

    metadata: _Metadata | None = None
    spec: _JobSetSpec | None = None


def encode_template(template: JobSetTemplate | None) -> str:
    """Return the template as JSON. Empty if there is none or if it is too large."""
    encoded = msgspec.json.encode(template).decode() if template is not None else ""
    return encoded if len(encoded) <= _LARGEST else ""


def decode_template(runtime: Blueprint) -> dict[str, Any] | None:
    """Return the JobSet template of a runtime, or None if it is not stored."""
    encoded = runtime.detail.get(TEMPLATE)
    return cast("dict[str, Any]", msgspec.json.decode(encoded)) if encoded else None


def steps(template: JobSetTemplate | None, label: str) -> dict[str, str]:
    """Return ReplicatedJob → value of a label of its Jobs, for those that have it."""
    parts = (template.spec.replicated_jobs if template and template.spec else None) or ()
    values = {part.name: _labels(part).get(label, "") for part in parts}
    return {name: value for name, value in values.items() if value}


def _labels(part: _ReplicatedJob) -> dict[str, str]:
    metadata = part.template.metadata if part.template is not None else None
    return (metadata.labels if metadata is not None else None) or {}
