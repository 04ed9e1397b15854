"""Programs and settings of each control plane that tests can request: data only."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

_CONTROLLERS = (
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)
# A name that a minor does not know ends its controller manager at once (1.35 has not this one).
_PODGROUP_PROTECTION = "podgroup-protection-controller"


@dataclass(frozen=True)
class Profile:
    """One kind of control plane.

    `kubernetes` is the program (see `programs.PROGRAMS`) of its binaries, `gates` and `runtime_config`
    go to the command lines as they are, `scheduling_versions` are those of `scheduling.k8s.io`
    with gangs that it must then serve. `gang_version` is the one that `objects` should speak.
    """

    name: str
    kubernetes: str
    gates: dict[str, bool] = field(default_factory=dict)
    runtime_config: tuple[str, ...] = ()
    scheduling_versions: tuple[str, ...] = ()
    gang_version: str | None = None
    controllers: tuple[str, ...] = (*_CONTROLLERS, _PODGROUP_PROTECTION)
    kueue: bool = False
    lws: bool = False
    """With LeaderWorkerSet."""
    trainer: bool = False
    """With Kubeflow Trainer."""
    kubeflow: bool = False
    """With the training operator and the MPI operator, Trainer's predecessors."""
    kuberay: bool = False
    """With KubeRay."""
    audited: bool = False
    """The API server records the writes of gangboard's actor in `processes.AUDIT_LOG`."""

    @property
    def minor(self) -> int:
        """The Kubernetes minor: 37 for 1.37."""
        return int(self.kubernetes.rpartition(".")[2])

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that must be built for it."""
        optional = {
            "kueue": self.kueue,
            "lws": self.lws,
            "trainer": self.trainer,
            "training-operator": self.kubeflow,
            "mpi-operator": self.kubeflow,
            "kuberay": self.kuberay,
        }
        added = [name for name, is_there in optional.items() if is_there]
        return ("etcd", "kwok", "jobset", *added, self.kubernetes)


_137 = Profile(
    name="1.37",
    kubernetes="kubernetes-1.37",
    gates={
        "GenericWorkload": True,
        "WorkloadWithJob": True,
        "TopologyAwareWorkloadScheduling": True,
        "CompositePodGroup": True,
    },
    runtime_config=(
        "scheduling.k8s.io/v1beta1=true",
        "scheduling.k8s.io/v1alpha3=true",
    ),
    scheduling_versions=("v1beta1", "v1alpha3"),
    gang_version="v1beta1",
)
_135 = Profile(
    name="1.35",
    kubernetes="kubernetes-1.35",
    gates={"GenericWorkload": True, "GangScheduling": True},
    runtime_config=("scheduling.k8s.io/v1alpha1=true",),
    scheduling_versions=("v1alpha1",),
    gang_version="v1alpha1",
    controllers=_CONTROLLERS,
)

PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        _137,
        Profile(
            name="1.36",
            kubernetes="kubernetes-1.36",
            gates={
                "GenericWorkload": True,
                "GangScheduling": True,
                "WorkloadAwarePreemption": True,
                "WorkloadWithJob": True,
            },
            runtime_config=("scheduling.k8s.io/v1alpha2=true",),
            scheduling_versions=("v1alpha2",),
            gang_version="v1alpha2",
        ),
        # The usual cluster today: no gang API, every pod is scheduled individually.
        Profile(
            name="plain",
            kubernetes="kubernetes-1.37",
            gates={"GenericWorkload": False, "WorkloadWithJob": False},
        ),
        _135,
        # In 1.35 mutating policies are off: with v1beta1 alone they are served, accepted, and
        # without effect; with the gate alone the API server never gets ready.
        replace(
            _135,
            name="1.35-served",
            runtime_config=(*_135.runtime_config, "admissionregistration.k8s.io/v1beta1=true"),
        ),
        replace(
            _135,
            name="1.35-map",
            gates={**_135.gates, "MutatingAdmissionPolicy": True},
            runtime_config=(*_135.runtime_config, "admissionregistration.k8s.io/v1beta1=true"),
        ),
        replace(
            _137, name="1.37-kueue", kueue=True, lws=True, trainer=True, kubeflow=True, kuberay=True
        ),
    )
}


def profile_named(name: str) -> Profile:
    """Return the profile. Raises `ValueError` naming those there are."""
    try:
        return PROFILES[name]
    except KeyError:
        raise ValueError(f"no profile {name!r}; there are {', '.join(PROFILES)}") from None
