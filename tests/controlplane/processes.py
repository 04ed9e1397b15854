"""The command lines of a control plane: flags only, no process is started here."""

from __future__ import annotations

import json
import random
import socket
from dataclasses import dataclass, field, fields
from pathlib import Path

from gangboard.kube.service_accounts import ACTOR, user_name
from tests.controlplane.build import binary
from tests.controlplane.certificates import Certificates, KueueCertificates
from tests.controlplane.client import Json
from tests.controlplane.profiles import Profile

HOST = "127.0.0.1"
KUBELETS = Path(__file__).with_name("kwok.yaml")
# KWOK leaves nodes with this label alone, as if their kubelet had died.
SILENT_LABEL = "test.gangboard.dev/silent"
KUEUE_NAMESPACE = "kueue-system"
AUDIT_LOG = "audit.log"
"""Name in the folder of a control plane whose profile is `audited`."""

# The stock limits (20 and 50 requests a second) are for clusters that share one API server; here they
# would let a hundred small scenarios of one cluster wait for each other.
_UNTHROTTLED = ("--kube-api-qps=200", "--kube-api-burst=400")


@dataclass(frozen=True)
class Ports:
    """Loopback ports, one for each thing that listens."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int
    jobset_health: int
    jobset_webhook: int
    kueue_health: int
    kueue_webhook: int
    lws_health: int
    lws_webhook: int
    trainer_health: int
    trainer_webhook: int
    training_operator_health: int
    mpi_operator_health: int
    kuberay_health: int


@dataclass(frozen=True)
class Process:
    """One process: what to run, and the address that answers 200 once it is ready."""

    name: str
    argv: list[str]
    ready: str


@dataclass(frozen=True)
class Layout:
    """Everything the command lines depend on.

    `kubeconfig` and `tokens` are those of the processes: an admin's token, as the API server would verify a
    certificate anew with each request. `kueue_config` goes over Kueue's configuration, see `ControlPlane.kueue_configured`.
    """

    profile: Profile
    folder: Path
    ports: Ports
    certificates: Certificates
    kubeconfig: Path
    tokens: Path
    kueue_certificates: KueueCertificates | None = None
    kueue_config: Json = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Address of the API server."""
        return f"https://{HOST}:{self.ports.apiserver}"


def processes(layout: Layout) -> dict[str, Process]:
    """Return the processes by name, in the order in which they have to start."""
    created = (
        _etcd(layout),
        _apiserver(layout),
        _controller_manager(layout),
        _scheduler(layout),
        _kwok(layout),
        _jobset(layout),
        *([_kueue(layout, layout.kueue_certificates)] if layout.kueue_certificates else []),
        *([_lws(layout)] if layout.profile.lws else []),
        *([_trainer(layout)] if layout.profile.trainer else []),
        *([_training_operator(layout), _mpi_operator(layout)] if layout.profile.kubeflow else []),
        *([_kuberay(layout)] if layout.profile.kuberay else []),
    )
    return {process.name: process for process in created}


def _etcd(layout: Layout) -> Process:
    client = f"http://{HOST}:{layout.ports.etcd}"
    peer = f"http://{HOST}:{layout.ports.etcd_peer}"
    argv = [
        str(binary("etcd", "etcd")),
        f"--data-dir={layout.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",  # no data has to survive a power cut
        "--log-level=warn",
    ]
    return Process("etcd", argv, f"{client}/health")


def _gates(profile: Profile) -> list[str]:
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in profile.gates.items())
    return [f"--feature-gates={gates}"] if gates else []


def _serving(layout: Layout, port: int) -> list[str]:
    return [
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--tls-cert-file={layout.certificates.server.certificate}",
        f"--tls-private-key-file={layout.certificates.server.key}",
    ]


def _apiserver(layout: Layout) -> Process:
    key = layout.certificates.service_account_key
    argv = [
        str(binary(layout.profile.kubernetes, "kube-apiserver")),
        *_serving(layout, layout.ports.apiserver),
        f"--advertise-address={HOST}",
        "--endpoint-reconciler-type=none",  # there is no network to announce it in
        f"--etcd-servers=http://{HOST}:{layout.ports.etcd}",
        f"--client-ca-file={layout.certificates.ca}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        # Pods would need their account and its token, but the fake nodes do not run them. New nodes
        # would be tainted until the controller manager has seen that they are ready, which these are
        # from the start.
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        # No client here needs a rate limit.
        "--enable-priority-and-fairness=false",
        f"--token-auth-file={layout.tokens}",
        "--allow-privileged=true",
        *_gates(layout.profile),
    ]
    if layout.profile.runtime_config:
        argv.append(f"--runtime-config={','.join(layout.profile.runtime_config)}")
    if layout.profile.audited:
        argv += _audit(layout)
    return Process("kube-apiserver", argv, f"{layout.url}/readyz")


def _audit(layout: Layout) -> list[str]:
    rules = [
        {"level": "Request", "users": [user_name(ACTOR)], "verbs": ["create", "patch", "delete"]},
        {"level": "None"},
    ]
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": rules,
    }
    file = layout.folder / "audit.json"
    file.write_text(json.dumps(policy))
    return [f"--audit-policy-file={file}", f"--audit-log-path={layout.folder / AUDIT_LOG}"]


def _controller_manager(layout: Layout) -> Process:
    argv = [
        str(binary(layout.profile.kubernetes, "kube-controller-manager")),
        *_serving(layout, layout.ports.controller_manager),
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        f"--controllers={','.join(layout.profile.controllers)}",
        "--node-monitor-period=2s",
        # The quota controller recounts every five minutes from its cache. On a busy machine the cache
        # is behind, and one pod more passes.
        "--resource-quota-sync-period=1h",
        *_UNTHROTTLED,
        *_gates(layout.profile),
    ]
    url = f"https://{HOST}:{layout.ports.controller_manager}/healthz"
    return Process("kube-controller-manager", argv, url)


def _scheduler(layout: Layout) -> Process:
    argv = [
        str(binary(layout.profile.kubernetes, "kube-scheduler")),
        *_serving(layout, layout.ports.scheduler),
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        # The scheduler of 1.36 retries a waiting gang again and again. With more threads it takes every core.
        *(_UNTHROTTLED if layout.profile.minor != 36 else ()),
        *_gates(layout.profile),
    ]
    url = f"https://{HOST}:{layout.ports.scheduler}/readyz"
    return Process("kube-scheduler", argv, url)


def _kwok(layout: Layout) -> Process:
    address = f"{HOST}:{layout.ports.kwok}"
    argv = [
        str(binary("kwok", "kwok")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--config={KUBELETS}",
        f"--manage-nodes-with-label-selector=!{SILENT_LABEL}",
        f"--server-address={address}",
        # Renewed every 20 s, not every 10 s: a quarter of all requests to an API server were renewals.
        "--node-lease-duration-seconds=80",
    ]
    return Process("kwok", argv, f"http://{address}/healthz")


def _jobset(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.jobset_health}"
    config = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": HOST,
            "port": layout.ports.jobset_webhook,
            "certDir": str(layout.certificates.webhook.certificate.parent),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": health},
    }
    file = layout.folder / "jobset.json"
    file.write_text(json.dumps(config))
    argv = [
        str(binary("jobset", "jobset")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--config={file}",
        "--leader-elect=false",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={health}",
    ]
    return Process("jobset", argv, f"http://{health}/readyz")


def _kueue(layout: Layout, certificates: KueueCertificates) -> Process:
    health = f"{HOST}:{layout.ports.kueue_health}"
    config = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE_NAMESPACE,
        "leaderElection": {"leaderElect": False},
        # Left to certificates from outside it insists on a pair in /etc, its metrics off or on.
        "internalCertManagement": {"enable": True},
        "webhook": {
            "host": HOST,
            "port": layout.ports.kueue_webhook,
            "certDir": str(certificates.webhook.certificate.parent),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": health},
        "integrations": {"frameworks": _frameworks(layout.profile)},
        # An aggregated API with certificates of its own, for queue positions only.
        "featureGates": {"VisibilityOnDemand": False},
        **layout.kueue_config,
    }
    file = layout.folder / "kueue.json"
    file.write_text(json.dumps(config))
    argv = [str(binary("kueue", "kueue")), f"--kubeconfig={layout.kubeconfig}", f"--config={file}"]
    return Process("kueue", argv, f"http://{health}/readyz")


def _frameworks(profile: Profile) -> list[str]:
    """Return the kinds that Kueue manages: those whose objects it finds served."""
    result = ["batch/job", "jobset.x-k8s.io/jobset"]
    if profile.trainer:
        result.append("trainer.kubeflow.org/trainjob")
    if profile.kubeflow:
        kinds = ("jaxjob", "mpijob", "paddlejob", "pytorchjob", "tfjob", "xgboostjob")
        result += [f"kubeflow.org/{kind}" for kind in kinds]
    rays = ("rayjob", "raycluster", "rayservice") if profile.kuberay else ()
    return [*result, *(f"ray.io/{kind}" for kind in rays)]


def _lws(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.lws_health}"
    config = {
        "apiVersion": "config.lws.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {
            "host": HOST,
            "port": layout.ports.lws_webhook,
            "certDir": str(layout.certificates.webhook.certificate.parent),
        },
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": health},
    }
    file = layout.folder / "lws.json"
    file.write_text(json.dumps(config))
    argv = [str(binary("lws", "lws")), f"--kubeconfig={layout.kubeconfig}", f"--config={file}"]
    return Process("lws", argv, f"http://{health}/readyz")


def _trainer(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.trainer_health}"
    config = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "certManagement": {"enable": False},
        "webhook": {"host": HOST, "port": layout.ports.trainer_webhook},
        "metrics": {"bindAddress": "0", "secureServing": False},
        "health": {"healthProbeBindAddress": health},
    }
    file = layout.folder / "trainer.json"
    file.write_text(json.dumps(config))
    # It cannot be told where its certificate is: it looks below the folder for temporary files.
    served_from = layout.folder / "k8s-webhook-server" / "serving-certs"
    served_from.parent.mkdir(exist_ok=True)
    if not served_from.exists():
        served_from.symlink_to(layout.certificates.webhook.certificate.parent)
    argv = [
        str(binary("trainer", "trainer")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--config={file}",
    ]
    return Process("trainer", argv, f"http://{health}/readyz")


def _training_operator(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.training_operator_health}"
    argv = [
        str(binary("training-operator", "training-operator")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--health-probe-bind-address={health}",
    ]
    return Process("training-operator", argv, f"http://{health}/readyz")


def _mpi_operator(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.mpi_operator_health}"
    argv = [
        str(binary("mpi-operator", "mpi-operator")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--health-address={health}",
    ]
    return Process("mpi-operator", argv, f"http://{health}/healthz")


def _kuberay(layout: Layout) -> Process:
    health = f"{HOST}:{layout.ports.kuberay_health}"
    argv = [
        str(binary("kuberay", "kuberay")),
        f"--kubeconfig={layout.kubeconfig}",
        "--metrics-addr=0",
        f"--health-probe-bind-address={health}",
        "--enable-leader-election=false",
        # A RayJob waits two seconds for a missing dashboard, at each reconcile.
        "--reconcile-concurrency=10",
    ]
    return Process("kuberay", argv, f"http://{health}/readyz")


def free_ports() -> Ports:
    """Return free ports for a control plane."""
    expected = [field.name for field in fields(Ports)]
    return Ports(**{name: free_port() for name in expected})


def free_port() -> int:
    """Return a free port below the range from which the system serves outgoing connections.

    It is reserved for this process until it ends: other lanes look for ports at the same time, and a free
    port is not in use yet.

    """
    chooser = random.SystemRandom()
    while True:
        port = chooser.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if _reserve(port):
            return port


def _reserve(port: int) -> bool:
    """Take a port for this process; return False where another process has it.

    By a name in the abstract namespace of Unix sockets, which leaves no file and goes with the process.
    """
    taken = socket.socket(socket.AF_UNIX)
    try:
        taken.bind(f"\0gangboard-test-port-{port}")
    except OSError:
        taken.close()
        return False
    taken.detach()  # open until the process ends, and no object that would be missed to be closed
    return True
