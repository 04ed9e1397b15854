"""Fields of the kinds of kubeflow.org, which share their run policy, replica specs and status.

Read in pkg/apis/kubeflow.org/v1 of training-operator 1.9.3 and pkg/apis/kubeflow/v2beta1 of mpi-operator 0.8.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.decode.jobs import WirePodTemplate, WireTemplateSpec, template_spec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, WireCondition, WirePresence

GROUP = "kubeflow.org"
LABEL = "training.kubeflow.org"
JOB_NAME, OPERATOR = f"{LABEL}/job-name", f"{LABEL}/operator-name"
REPLICA_TYPE, JOB_ROLE = f"{LABEL}/replica-type", f"{LABEL}/job-role"
LAUNCHER, WORKER = "Launcher", "Worker"


class WireReplicas(Wire):
    """One entry of the replica specs."""

    replicas: Int32 | None = None
    restart_policy: str | None = None
    template: WirePodTemplate | None = None

    @property
    def pod(self) -> WireTemplateSpec:
        """The spec of its pods, empty without a template."""
        return template_spec(self.template)


class WireSchedulingPolicy(Wire):
    """`spec.runPolicy.schedulingPolicy`, which an operator without a gang scheduler ignores."""

    min_available: Int32 | None = None
    queue: str | None = None
    min_resources: WirePresence | None = None
    priority_class: str | None = None
    schedule_timeout_seconds: Int32 | None = None


class WireRunPolicy(Wire):
    """`spec.runPolicy`."""

    suspend: bool | None = None
    managed_by: str | None = None
    scheduling_policy: WireSchedulingPolicy | None = None


class WireElasticPolicy(Wire):
    """`spec.elasticPolicy` of a PyTorchJob or PaddleJob."""

    min_replicas: Int32 | None = None
    max_replicas: Int32 | None = None


class WireTrainingSpec(Wire):
    """`spec`. Each kind has its own field for the replica specs."""

    run_policy: WireRunPolicy | None = None
    elastic_policy: WireElasticPolicy | None = None
    slots_per_worker: Int32 | None = None
    launcher_creation_policy: str | None = None
    jax_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None
    mpi_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None
    paddle_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None
    pytorch_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None
    tf_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None
    xgb_replica_specs: KeyField[dict[str, WireReplicas | None] | None] = None

    @property
    def replicas(self) -> Mapping[str, WireReplicas]:
        """Role name → replica spec. The operators accept any case of the name (setTypeNameToCamelCase)."""
        specs = (
            self.jax_replica_specs
            or self.mpi_replica_specs
            or self.paddle_replica_specs
            or self.pytorch_replica_specs
            or self.tf_replica_specs
            or self.xgb_replica_specs
            or {}
        )
        return {role_name(name): spec or WireReplicas() for name, spec in specs.items()}


class WireReplicaStatus(Wire):
    """One entry of `status.replicaStatuses`."""

    active: Int32 | None = None
    succeeded: Int32 | None = None


class WireTrainingStatus(Wire):
    """`status`."""

    conditions: list[WireCondition] | None = None
    replica_statuses: dict[str, WireReplicaStatus | None] | None = None
    start_time: str | None = None
    completion_time: str | None = None


class WireTrainingJob(Wire):
    """The fields of a PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob or MPIJob that gangboard reads."""

    metadata: WireOwnerMeta
    spec: WireTrainingSpec | None = None
    status: WireTrainingStatus | None = None


def role_name(text: str) -> str:
    """Return the role name in the case of the replica specs. The labels of pods have it in lower case."""
    return "PS" if text.lower() == "ps" else text[:1].upper() + text[1:].lower()
