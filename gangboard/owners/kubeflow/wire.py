"""Fields of the kinds of kubeflow.org, which share their run policy, replica specs and status.

Read in pkg/apis/kubeflow.org/v1 of training-operator 1.9.3 and pkg/apis/kubeflow/v2beta1 of mpi-operator 0.8.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.decode.jobs import WirePodTemplate, WireTemplateSpec, template_spec
from gangboard.decode.key_fields import KeyField
from gangboard.decode.owner_meta import WireActionMeta
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
        """The spec of its pods; an empty one where it has none."""
        return template_spec(self.template)


class WireSchedulingPolicy(Wire):
    """`spec.runPolicy.schedulingPolicy`: it has a meaning only where the operator has a gang scheduler."""

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
    """`spec`: each kind has its replica specs under another name."""

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
        """Name of a role → its replicas: the operators take any case (setTypeNameToCamelCase)."""
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
    """A PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob or MPIJob as narrow as it is kept."""

    metadata: WireActionMeta
    spec: WireTrainingSpec | None = None
    status: WireTrainingStatus | None = None


def role_name(text: str) -> str:
    """Return the name of a role as the replica specs have it; pods have it in lower case in their label."""
    return "PS" if text.lower() == "ps" else text[:1].upper() + text[1:].lower()
