"""The programs of the control planes of the tests: their Go modules and their manifests.

`build` makes them. A new one is one entry here, and its module required in the `go.mod` of the Kubernetes
release whose libraries it can be built with: they are compiled once for all programs that share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_KAI = "github.com/NVIDIA/KAI-scheduler"
_KUBERAY = "github.com/ray-project/kuberay/ray-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"
_HELM = "helm.sh/helm/v3"
_CRD_OF_PODGROUPS = "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml"


@dataclass(frozen=True)
class Program:
    """One unit of a build: binaries, perhaps none, and their manifests.

    `module` is the folder of `modules/` with whose versions it is built. `binaries` maps each Go package, `./NAME`
    where it is a `main.go` of ours in that folder, to the name its binary is kept under. `manifests_from` is the Go
    module whose source holds the files (or folders) listed in `manifests`, `other_manifests` has those of further Go
    modules. `replaced` is a Go module of which the files below `modules/MODULE/replaced` are built instead of its
    own: for a bug that no release has mended.

    """

    name: str
    module: str
    binaries: dict[str, str]
    ldflags: str = "-s -w"
    manifests_from: str = ""
    manifests: tuple[str, ...] = ()
    other_manifests: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replaced: str = ""
    takes: str = "seconds"


def kubernetes(version: str) -> Program:
    """Return the program of one Kubernetes release, for example `kubernetes("1.37.2")`."""
    major, minor, _patch = version.split(".")
    # Without these the server calls itself v0.0.0 and computes the maturity of features from that.
    stamp = "k8s.io/component-base/version.git"
    values = {"Version": f"v{version}", "Major": major, "Minor": minor, "TreeState": "clean"}
    ldflags = " ".join(["-s -w", *(f"-X {stamp}{key}={value}" for key, value in values.items())])
    names = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Program(
        name=f"kubernetes-{major}.{minor}",
        module=f"kubernetes-{major}.{minor}",
        binaries={f"k8s.io/kubernetes/cmd/{name}": name for name in names},
        ldflags=ldflags,
        takes="about four minutes",
    )


def _helm(minor: int) -> Program:
    """Return Helm. Its own build writes the Kubernetes release into it, which charts can ask for."""
    release = {"Major": "1", "Minor": str(minor)}
    values = [
        f"-X {_HELM}/pkg/{package}.k8sVersion{key}={value}"
        for package in ("chartutil", "lint/rules")
        for key, value in release.items()
    ]
    return Program(
        name="helm",
        module="helm",
        binaries={f"{_HELM}/cmd/helm": "helm"},
        ldflags=" ".join(["-s -w", *values]),
        takes="about two minutes",
    )


# Build order: a Kubernetes release first, then the programs with its libraries.
PROGRAMS: dict[str, Program] = {
    program.name: program
    for program in (
        Program("etcd", "etcd", {"go.etcd.io/etcd/server/v3": "etcd"}, takes="about a minute"),
        # No part of a control plane: an OpenID provider, with which people sign in.
        Program("oidc", "oidc", {"./provider": "oidc"}),
        kubernetes("1.37.2"),
        kubernetes("1.36.3"),
        Program(
            "kwok",
            "kubernetes-1.36",
            {"sigs.k8s.io/kwok/cmd/kwok": "kwok"},
            replaced="sigs.k8s.io/kwok",
        ),
        Program(
            "jobset",
            "kubernetes-1.36",
            {"sigs.k8s.io/jobset": "jobset"},
            manifests_from="sigs.k8s.io/jobset",
            manifests=("config/components/crd/bases", "config/components/webhook/manifests.yaml"),
        ),
        Program(
            "kueue",
            "kubernetes-1.36",
            {"sigs.k8s.io/kueue/cmd/kueue": "kueue"},
            manifests_from="sigs.k8s.io/kueue",
            manifests=("config/components/crd/bases", "config/components/webhook/manifests.yaml"),
            takes="about a minute",
        ),
        Program(
            "lws",
            "kubernetes-1.36",
            {"sigs.k8s.io/lws/cmd": "lws"},
            manifests_from="sigs.k8s.io/lws",
            manifests=("config/crd/bases", "config/webhook/manifests.yaml"),
        ),
        Program(
            "trainer",
            "kubernetes-1.36",
            {f"{_TRAINER}/cmd/trainer-controller-manager": "trainer"},
            manifests_from=_TRAINER,
            manifests=(
                "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml",
                "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml",
                "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml",
                "manifests/base/webhook/manifests.yaml",
            ),
            other_manifests={"sigs.k8s.io/scheduler-plugins": (_CRD_OF_PODGROUPS,)},
        ),
        kubernetes("1.35.4"),
        Program(
            "training-operator",
            "kubernetes-1.35",
            {"./training-operator": "training-operator"},
            manifests_from="github.com/kubeflow/training-operator",
            # Its MPIJobs are an older version of those of the MPI operator, in a CRD of the same name.
            manifests=tuple(
                f"manifests/base/crds/kubeflow.org_{plural}.yaml"
                for plural in ("jaxjobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs")
            ),
        ),
        Program(
            "mpi-operator",
            "kubernetes-1.35",
            {"./mpi-operator": "mpi-operator"},
            manifests_from="github.com/kubeflow/mpi-operator",
            manifests=("manifests/base/kubeflow.org_mpijobs.yaml",),
        ),
        Program(
            "kuberay",
            "kubernetes-1.35",
            {_KUBERAY: "kuberay"},
            manifests_from=_KUBERAY,
            manifests=tuple(
                f"config/crd/bases/ray.io_{plural}.yaml"
                for plural in ("rayclusters", "rayjobs", "rayservices")
            ),
        ),
        # Its controllers are no module of their own, and the API of its scheduler can be had in no version.
        Program(
            "grove",
            "grove",
            {},
            manifests_from="github.com/ai-dynamo/grove/operator/api",
            manifests=tuple(
                f"core/v1alpha1/crds/grove.io_{plural}.yaml"
                for plural in ("podcliques", "podcliquescalinggroups", "podcliquesets")
            ),
        ),
        # Schedulers that make gangs of their own (gang_schedulers.py).
        Program(
            "coscheduling",
            "kubernetes-1.35",
            {"sigs.k8s.io/scheduler-plugins/cmd/scheduler": "coscheduling"},
            manifests_from="sigs.k8s.io/scheduler-plugins",
            manifests=(_CRD_OF_PODGROUPS,),
        ),
        Program(
            "volcano",
            "kubernetes-1.34",
            {
                "volcano.sh/volcano/cmd/scheduler": "volcano-scheduler",
                "volcano.sh/volcano/cmd/controller-manager": "volcano-controllers",
            },
            manifests_from="volcano.sh/volcano",
            manifests=("config/crd/volcano/bases", "config/crd/jobflow/bases"),
            takes="about two minutes",
        ),
        Program(
            "kai",
            "kubernetes-1.34",
            {
                f"{_KAI}/cmd/{name}": f"kai-{name}"
                for name in ("binder", "podgrouper", "queuecontroller", "scheduler")
            },
            manifests_from=_KAI,
            manifests=("deployments/kai-scheduler/crds",),
            takes="about a minute",
        ),
        # No part of a control plane: kinds of which the chart makes objects.
        Program(
            "charted",
            "charted",
            {},
            manifests_from="github.com/prometheus-operator/prometheus-operator",
            manifests=tuple(
                f"example/prometheus-operator-crd/monitoring.coreos.com_{plural}.yaml"
                for plural in ("servicemonitors", "prometheusrules")
            ),
            other_manifests={
                "sigs.k8s.io/gateway-api": (
                    "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
                )
            },
        ),
        # It has no objects of its own.
        Program("yunikorn", "yunikorn", {"./yunikorn": "yunikorn"}, takes="about two minutes"),
        # No part of a control plane: it renders the chart.
        _helm(37),
    )
}
