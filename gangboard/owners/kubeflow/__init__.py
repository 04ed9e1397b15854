"""Jobs of kubeflow.org: PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob (v1), and MPIJob (v2beta1 and v1).

The training operator makes the pods of each role itself, without Jobs; each role is a unit. The gang is the
job. Its conditions are not believed: `Running` of a PyTorchJob means its master, with all workers
unschedulable (seen with training-operator 1.9.3, real-owners-2.md §2.3). Pods are counted.
"""

from __future__ import annotations

from functools import partial

from gangboard.domain.traits import KindTraits
from gangboard.owners.kubeflow import mpijob
from gangboard.owners.kubeflow.training import (
    MANAGED_BY,
    OWN_MANAGERS,
    QUORUM_FIELD,
    SUSPEND,
    build,
    evidence,
    facts,
    lacks_run_policy,
    reactions,
    resource,
    role_of,
)
from gangboard.owners.kubeflow.wire import JOB_NAME, OPERATOR
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_FIRST = "PyTorchJob"
"""The kind that most use, in whose line stands what holds for all."""
_LIMITS = (
    "one role alone cannot be suspended. What it says of running is not believed: pods are counted. With "
    "`cleanPodPolicy: None`, which is the default, pods stay when it is over. It asks for a gang in vain where its "
    "operator has no gang scheduler"
)

_MORE_LIMITS = {
    # UpdateJobStatus in xgboostjob_controller.go of training-operator 1.9.3.
    "XGBoostJob": ". A pod that fails is its end, unless the `restartPolicy` of its role is `ExitCode`",
}


def _training_job(kind: str) -> OwnerKind:
    return OwnerKind(
        resource=resource(kind, ("v1",), partial(build, kind=kind)),
        label=kind,
        notes=KindNotes(
            gang=f"the {kind} with its pods",
            units="the PodGroup that its operator makes for it, else each role",
            queues="Kueue",
            limits=_LIMITS if kind == _FIRST else f"as of a {_FIRST}{_MORE_LIMITS.get(kind, '')}",
            tested="training-operator 1.9 on 1.37",
        ),
        own_managers=OWN_MANAGERS,
        managed_by_field=MANAGED_BY,
        makes=(),
        levers=("suspend",),
        suspend_field=SUSPEND,
        suspend_map_missing=lacks_run_policy,
        suspended_condition="Suspended",
        traits=KindTraits(
            ends_pods=True,
            quorum_field=QUORUM_FIELD,
            pods_refused={"FailedCreatePod": ("Error creating: ",)},
        ),
        facts=facts,
        reactions=reactions,
        pod_label=JOB_NAME,
        pod_marks={OPERATOR: (f"{kind.lower()}-controller",)},
        role_of=role_of,
        evidence=evidence,
    )


OWNERS = (
    *map(_training_job, ("JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")),
    mpijob.OWNER,
)
