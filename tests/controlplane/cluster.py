"""`ControlPlane`: a whole Kubernetes control plane as one context manager.

    with ControlPlane.start("1.37") as plane:
        make_node(plane.client, "n0", gpus=4)
        plane.client.create(job("train", namespace="default", parallelism=2))

Everything listens on 127.0.0.1 only, every wait has a deadline and tells the end of the log of the
process that it waited for, and a guard process (see `guard`) ends all of it and removes the folder
even when this process is killed.
"""

from __future__ import annotations

import base64
import os
import random
import signal
import socket
import time
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3
import yaml

from tests.controlplane.certificates import make_certificates
from tests.controlplane.client import ApiError, Client, Json, WaitError
from tests.controlplane.processes import HOST, Layout, Ports, Process, jobset_objects, processes
from tests.controlplane.profiles import Profile, profile_named
from tests.controlplane.supervisor import StartError, Supervisor

__all__ = ["ControlPlane", "StartError"]

_READY_SECONDS = 90.0  # generous: machines that run tests are busy


class ControlPlane:
    """A running control plane. Made by `start`, ended by `stop` or the end of the `with` block.

    Attributes: `profile`, `minor` (37 for 1.37), `url` of the API server, `kubeconfig` (path of an
    admin kubeconfig with everything inlined), `client` (an admin `Client`), `folder` (logs, keys),
    `started_in` (seconds from the start to ready).
    """

    def __init__(self, profile: Profile, directory: Path | None) -> None:
        """Use `start`. `directory` is kept at the end; None means a temporary one."""
        self.profile = profile
        self.minor = profile.minor
        self.started_in = 0.0
        began = time.monotonic()
        self._supervisor = Supervisor(directory)
        self.folder = self._supervisor.folder
        try:
            self._bring_up()
        except BaseException:
            self.stop()
            raise
        self.started_in = time.monotonic() - began

    @classmethod
    def start(cls, profile: str, *, directory: Path | None = None) -> ControlPlane:
        """Start a control plane of a profile (see `profiles.PROFILES`) and wait until it is ready.

        Raises `ValueError` for an unknown profile, `build.BuildError` when its binaries are not
        built and `StartError` when a process does not come up.
        """
        return cls(profile_named(profile), directory)

    def _bring_up(self) -> None:
        authority = self.folder / "certificates"
        authority.mkdir()
        certificates = make_certificates(authority)
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self._layout = Layout(
            self.profile, self.folder, _free_ports(), certificates, self.kubeconfig
        )
        self.url = self._layout.url
        admin = certificates.admin
        user = {
            "client-certificate-data": _inlined(admin.certificate),
            "client-key-data": _inlined(admin.key),
        }
        self._write_kubeconfig(self.kubeconfig, user)
        self.client = Client(
            self.url, ca=certificates.ca, certificate=(admin.certificate, admin.key)
        )
        self._probe = urllib3.PoolManager(ca_certs=str(certificates.ca))
        self._processes = processes(self._layout)
        for name in ("etcd", "kube-apiserver"):
            self._start(name)
            self._wait_ready(name)
        crds, webhooks = jobset_objects(self._layout)
        for crd in self.client.create_all(crds):
            # JobSet looks for its kind once at its start and then not for another ten seconds.
            self.client.wait_for(
                crd["apiVersion"], crd["kind"], crd["metadata"]["name"], until=_is_established
            )
        rest = [name for name in self._processes if name not in ("etcd", "kube-apiserver")]
        for name in rest:
            self._start(name)
        for name in rest:
            self._wait_ready(name)
        self.client.create_all(webhooks)
        self._wait_jobset_defaults()
        self._wait_default_account()

    # Processes

    def stop_process(self, name: str) -> None:
        """End one process (`kube-apiserver`, `kube-scheduler`, `jobset`, ...) and wait for it."""
        self._supervisor.stop(name)

    def kill_process(self, name: str) -> None:
        """Kill one process with SIGKILL, as a crash would."""
        self._supervisor.signal(name, signal.SIGKILL)

    def restart_process(self, name: str) -> None:
        """Start a process (ended before if it still runs) and wait until it is ready again."""
        self.stop_process(name)
        self._start(name)
        self._wait_ready(name)

    def pause_process(self, name: str) -> None:
        """Stop a process in its tracks (SIGSTOP): it holds its connections and says nothing."""
        self._supervisor.signal(name, signal.SIGSTOP)

    def continue_process(self, name: str) -> None:
        """Let a paused process go on."""
        self._supervisor.signal(name, signal.SIGCONT)

    def log_of(self, name: str, lines: int = 40) -> str:
        """Return the end of a process's log."""
        try:
            text = (self.folder / f"{name}.log").read_text(errors="replace")
        except FileNotFoundError:
            return "(no log)"
        return "\n".join(text.splitlines()[-lines:])

    def _start(self, name: str) -> None:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            # Nothing of the user's home, nothing of their proxies.
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "NO_PROXY": "*",
        }
        log = self.folder / f"{name}.log"
        self._supervisor.start(name, self._processes[name].argv, environment, log)

    def _wait_ready(self, name: str) -> None:
        process = self._processes[name]
        deadline = time.monotonic() + _READY_SECONDS
        while not self._is_ready(process):
            code = self._supervisor.exit_code(name)
            if code is not None:
                raise StartError(f"{name} ended with {code}:\n{self.log_of(name)}")
            if time.monotonic() > deadline:
                raise StartError(
                    f"{name} not ready after {_READY_SECONDS:g} s:\n{self.log_of(name)}"
                )
            time.sleep(0.05)

    def _is_ready(self, process: Process) -> bool:
        try:
            answer = self._probe.request("GET", process.ready, timeout=3, retries=False)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def _wait_jobset_defaults(self) -> None:
        """Wait until the API server calls JobSet's webhooks: they set `network`, nobody else."""
        name = "webhook-probe"
        template = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
        probe: Json = {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicatedJobs": [{"name": "j", "template": {"spec": {"template": template}}}]
            },
        }
        deadline = time.monotonic() + _READY_SECONDS
        said = "no defaults set"
        while time.monotonic() < deadline:
            try:
                if "network" in self.client.create(probe, dry_run=True)["spec"]:
                    return
            except ApiError as error:
                said = str(error)
            time.sleep(0.1)
        raise StartError(f"JobSet's webhooks are not called: {said}\n{self.log_of('jobset')}")

    def _wait_default_account(self) -> None:
        """The controller manager works, not only listens, once it has made this."""
        try:
            self.client.wait_for(
                "v1", "ServiceAccount", "default", "default", until=bool, timeout=_READY_SECONDS
            )
        except WaitError as error:
            log = self.log_of("kube-controller-manager")
            raise StartError(f"the controller manager does nothing: {error}\n{log}") from error

    # Other users

    def service_account_token(self, namespace: str, name: str, *, seconds: int = 3600) -> str:
        """Return a token for a service account that exists, from the TokenRequest API."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"spec": {"expirationSeconds": seconds}}
        token: str = self.client.request("POST", path, request)["status"]["token"]
        return token

    def kubeconfig_for(self, token: str, *, name: str = "user") -> Path:
        """Write a kubeconfig with that token and the authority inlined, return its path."""
        path = self.folder / f"{name}.kubeconfig"
        self._write_kubeconfig(path, {"token": token})
        return path

    def client_for(self, token: str) -> Client:
        """Return a client that speaks with that token."""
        return Client(self.url, ca=self._layout.certificates.ca, token=token)

    def _write_kubeconfig(self, path: Path, user: dict[str, str]) -> None:
        cluster = {
            "server": self.url,
            "certificate-authority-data": _inlined(self._layout.certificates.ca),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "user", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
            "current-context": "test",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(config))

    def stop(self) -> None:
        """End everything and remove the temporary folder. Safe to call twice."""
        self._supervisor.close()
        if hasattr(self, "client"):  # not when the start failed early
            self.client.close()
            self._probe.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _free_ports() -> Ports:
    """Return free ports below the range from which the system serves outgoing connections."""
    found: list[int] = []
    wanted = [field.name for field in fields(Ports)]
    chooser = random.SystemRandom()
    while len(found) < len(wanted):
        port = chooser.randrange(20000, 32000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return Ports(**dict(zip(wanted, found, strict=True)))


def _is_established(crd: Json) -> bool:
    conditions = crd.get("status", {}).get("conditions") or []  # null in the first moment
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _inlined(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
