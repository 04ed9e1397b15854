"""Wire structs of JobSets (jobset.x-k8s.io/v1alpha2, JobSet v0.4 to v0.12).

They include fields of proposals that no release has, because an absent field costs no time.
"""

from __future__ import annotations

import msgspec

from gangboard.decode.annotations import WireActionAnnotations
from gangboard.decode.jobs import WireJobSpec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta, decode_annotations
from gangboard.decode.wire import Int32, Name, Wire, WireCondition, or_one
from gangboard.owners.jobset.gang_requests import WireGangPolicy, WireJobSetScheduling

_MODE = "jobset.sigs.k8s.io/reconciliation-mode"
_SKIP = "jobset.sigs.k8s.io/skip-suspend-reconciliation"


class WireJobSetAnnotations(WireActionAnnotations):
    """Annotations of gangboard, of KEP-1172 and of its first draft."""

    mode: str | None = msgspec.field(default=None, name=_MODE)
    skip: str | None = msgspec.field(default=None, name=_SKIP)


class _WireJobTemplate(Wire):
    spec: KeyField[WireJobSpec | None] = None


class _WireDependsOn(Wire):
    name: str = ""
    status: str = ""


class WireReplicatedJob(Wire):
    """One entry of `spec.replicatedJobs`."""

    name: Name
    replicas: Int32 | None = None
    template: _WireJobTemplate | None = None
    depends_on: list[_WireDependsOn] | None = None

    @property
    def job(self) -> WireJobSpec:
        """The spec of its Jobs."""
        return (self.template and self.template.spec) or WireJobSpec()

    @property
    def count(self) -> int:
        """The requested number of Jobs, 1 by default of the CRD."""
        return or_one(self.replicas)


class WireSuccessPolicy(Wire):
    """`spec.successPolicy`."""

    operator: str | None = None
    target_replicated_jobs: list[str] | None = None


class WireFailureRule(Wire):
    """One rule of `spec.failurePolicy`."""

    action: str | None = None
    on_job_failure_reasons: list[str] | None = None
    on_job_failure_message_patterns: list[str] | None = None
    target_replicated_jobs: list[str] | None = None


class _WireFailurePolicy(Wire):
    max_restarts: Int32 | None = None
    restart_strategy: str | None = None
    rules: list[WireFailureRule] | None = None


class _WireStartupPolicy(Wire):
    startup_policy_order: str | None = None


class _WireCoordinator(Wire):
    replicated_job: str | None = None
    job_index: Int32 | None = None


class _WireUpdatePolicy(Wire):
    reconciliation_mode: str | None = None


class WireJobSetSpec(Wire):
    """`spec` of a JobSet. The last two fields are drafts of KEP-1172, and `gang_policy` is a draft of KEP-969."""

    suspend: bool | None = None
    replicated_jobs: list[WireReplicatedJob] | None = None
    success_policy: WireSuccessPolicy | None = None
    failure_policy: _WireFailurePolicy | None = None
    startup_policy: _WireStartupPolicy | None = None
    coordinator: _WireCoordinator | None = None
    ttl_seconds_after_finished: Int32 | None = None
    managed_by: str | None = None
    scheduling: WireJobSetScheduling | None = None
    gang_policy: WireGangPolicy | None = None
    suspend_reconciliation: str | None = None
    update_policy: _WireUpdatePolicy | None = None

    @property
    def in_order(self) -> bool:
        """Whether each ReplicatedJob waits for the previous one."""
        policy = self.startup_policy
        return policy is not None and policy.startup_policy_order == "InOrder"


class _WirePartStatus(Wire):
    name: str = ""
    ready: Int32 | None = None
    succeeded: Int32 | None = None
    job_restarts: list[Int32] | None = None
    job_restarts_count_towards_max: list[Int32] | None = None


class WireJobSetStatus(Wire):
    """`status` of a JobSet."""

    conditions: list[WireCondition] | None = None
    restarts: Int32 | None = None
    restarts_count_towards_max: Int32 | None = None
    current_in_place_restart_attempt: Int32 | None = None
    terminal_state: str | None = None
    replicated_jobs_status: list[_WirePartStatus] | None = None


class WireJobSet(Wire):
    """The fields of a JobSet that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireJobSetSpec | None = None
    status: WireJobSetStatus | None = None


def child_name(jobset: str, role: str, index: int) -> str:
    """Return the name of a child Job (JobSet's placement.GenJobName)."""
    return f"{jobset}-{role}-{index}"


def read_independent_claim(wire: WireJobSet) -> str:
    """Return the field or annotation that asks for independent suspension of child Jobs, with its value.

    KEP-1172 (jobset#1178) defines an annotation. Its drafts have another annotation and two fields. Releases up to v0.12
    read none of them, so this is only a claim.
    """
    annotations = decode_annotations(wire.metadata, WireJobSetAnnotations)
    spec = wire.spec or WireJobSetSpec()
    update = spec.update_policy or _WireUpdatePolicy()
    claims = (
        (_MODE, annotations.mode, "Independent"),
        (_SKIP, annotations.skip, "true"),
        ("spec.suspendReconciliation", spec.suspend_reconciliation, "Ignore"),
        ("spec.updatePolicy.reconciliationMode", update.reconciliation_mode, "Independent"),
    )
    return next((f"{field}: {value}" for field, value, expected in claims if value == expected), "")
