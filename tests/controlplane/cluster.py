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
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3
import yaml

from tests.controlplane.certificates import make_certificates, make_kueue_certificates
from tests.controlplane.client import ApiError, Client, Json, WaitError
from tests.controlplane.conditions import is_true
from tests.controlplane.controllers import Controller, controllers
from tests.controlplane.processes import Layout, Process, free_ports, processes
from tests.controlplane.profiles import Profile, profile_named
from tests.controlplane.supervisor import StartError, Supervisor

__all__ = ["ControlPlane", "StartError"]

_READY_SECONDS = 90.0  # generous: machines that run tests are busy


class ControlPlane:
    """A running control plane. Made by `start`, ended by `stop` or the end of the `with` block.

    Attributes: `profile`, `minor` (37 for 1.37), `url` of the API server, `folder` (logs, keys),
    `started_in` (seconds from the start to ready).
    """

    def __init__(self, profile: Profile, directory: Path | None) -> None:
        """Use `start`. `directory` is kept at the end; None means a temporary one."""
        self.profile = profile
        self.minor = profile.minor
        self.started_in = 0.0
        self._resting: list[str] = []
        """Processes that `rest` has stopped in their tracks."""
        self._waking = threading.Lock()
        self._users = 0
        """Those who keep it awake."""
        started = time.monotonic()
        self._supervisor = Supervisor(directory)
        self.folder = self._supervisor.folder
        try:
            self._bring_up()
        except BaseException:
            self.stop()
            raise
        self.started_in = time.monotonic() - started

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
        self._kubeconfig = self.folder / "admin.kubeconfig"
        of_processes = self.folder / "processes.kubeconfig"
        token, tokens = secrets.token_hex(16), authority / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{token},admin,admin,"system:masters"\n')
        self._layout = Layout(
            self.profile,
            self.folder,
            free_ports(),
            certificates,
            of_processes,
            tokens,
            make_kueue_certificates(authority / "kueue") if self.profile.kueue else None,
        )
        self.url = self._layout.url
        admin = certificates.admin
        user = {
            "client-certificate-data": _inlined(admin.certificate),
            "client-key-data": _inlined(admin.key),
        }
        self._write_kubeconfig(self._kubeconfig, user)
        self._write_kubeconfig(of_processes, {"token": token})
        self._client = Client(self.url, ca=certificates.ca, token=token)
        self._probe = urllib3.PoolManager(ca_certs=str(certificates.ca))
        self._processes = processes(self._layout)
        for name in ("etcd", "kube-apiserver"):
            self._start(name)
            self._wait_ready(name)
        self._controllers = controllers(self._layout)
        for controller in self._controllers:
            self._install(controller)
        rest = [name for name in self._processes if name not in ("etcd", "kube-apiserver")]
        for name in rest:
            self._start(name)
        for name in rest:
            self._wait_ready(name)
        for controller in self._controllers:
            self.client.create_all(controller.webhooks)
            self._wait_webhooks(controller)
        self._wait_default_account()

    def _install(self, controller: Controller) -> None:
        self.client.create_all(controller.others)
        for crd in self.client.create_all(controller.crds):
            # JobSet looks for its kind once at its start and then not for another ten seconds.
            self.client.wait_for(
                crd["apiVersion"],
                crd["kind"],
                crd["metadata"]["name"],
                until=lambda result: is_true(result, "Established"),
            )

    # Waking up

    @property
    def client(self) -> Client:
        """An admin's client."""
        self._wake()
        return self._client

    @property
    def kubeconfig(self) -> Path:
        """An admin's kubeconfig, with everything inlined."""
        self._wake()
        return self._kubeconfig

    def rest(self) -> None:
        """Stop it with SIGSTOP until its client or its kubeconfig is used.

        An unused plane costs a tenth of a core while it runs. A plane that is kept `awake` does not stop.

        """
        with self._waking:
            if not self._resting and not self._users:
                self._resting = list(self.process_ids)
                for name in self._resting:
                    self.pause_process(name)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """Keep it awake in this block, for background use while other tests begin."""
        with self._waking:
            self._users += 1
        try:
            yield
        finally:
            with self._waking:
                self._users -= 1

    def _wake(self) -> None:
        """Let it go on, in the order of its start, and wait until its parts answer again."""
        with self._waking:
            for name in self._resting:
                self.continue_process(name)
            for name in self._resting:
                self._wait_ready(name)
            self._resting = []

    def heal(self) -> dict[str, str]:
        """Restart crashed processes. Return name → the end of its log.

        A cluster would do so as well: Kueue, for example, panics at times. Resting planes and planes in background
        use are skipped, because the crash may be intended.

        """
        if self._resting or self._users:
            return {}
        ended = [name for name in self._processes if self._supervisor.exit_code(name) is not None]
        message = {name: self.log_of(name) for name in ended}
        for name in ended:
            self.restart_process(name)
        return message

    # Processes

    def stop_process(self, name: str) -> None:
        """End one process (`kube-apiserver`, `kube-scheduler`, `jobset`, ...) and wait for it."""
        self._supervisor.stop(name)

    def kill_process(self, name: str) -> None:
        """Kill one process with SIGKILL, as a crash would."""
        self._supervisor.signal(name, signal.SIGKILL)

    def restart_process(self, name: str, *, kill: bool = False) -> None:
        """Start a process on its old port and wait until it is ready again; the others run on.

        If it still runs it is ended before, with `kill` as a crash would. A controller is ready
        when its webhooks are: it says so of itself before they are served.
        """
        if kill:
            self.kill_process(name)
        self.stop_process(name)
        self._start(name)
        self._wait_ready(name)
        for controller in self._controllers:
            if controller.process == name:
                self._wait_webhooks(controller)

    @property
    def process_ids(self) -> dict[str, int]:
        """The processes that run now (a paused one does) and their ids."""
        result = {name: self._supervisor.process_id(name) for name in self._processes}
        return {name: number for name, number in result.items() if number is not None}

    @contextmanager
    def kueue_configured(self, **configuration: object) -> Iterator[None]:
        """Restart Kueue with these keys of its Configuration, and at the end with the former ones.

        with plane.kueue_configured(waitForPodsReady={"timeout": "5s"}): ...
        """
        former = self._layout.kueue_config
        try:
            self._restart_kueue(configuration)
            yield
        finally:
            self._restart_kueue(former)

    def _restart_kueue(self, configuration: Json) -> None:
        self._wake()
        self._layout = replace(self._layout, kueue_config=configuration)
        self._processes = processes(self._layout)
        self.restart_process("kueue")

    @property
    def process_names(self) -> list[str]:
        """All that it is made of, in the order of their start."""
        return list(self._processes)

    @property
    def resting(self) -> bool:
        """True if it was not used since the call of `rest`."""
        return bool(self._resting)

    def pause_process(self, name: str) -> None:
        """Stop a process with SIGSTOP: it keeps its connections and is silent."""
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
            # No setting of the user's home, and no proxies.
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "NO_PROXY": "*",
            # Less processor time for garbage, as long as there is not much of it: an API server that has
            # no limit takes a GiB then, and a run has more than a dozen of them, of which three have much
            # to do. Those came up to a limit of 768 MiB, and the busiest looked for garbage a ninth of its time.
            "GOGC": "300",
            "GOMEMLIMIT": "1280MiB",
            # Dozens of these share two cores: what each does to spread over both of them is in vain.
            "GOMAXPROCS": "1",
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

    def _wait_webhooks(self, controller: Controller) -> None:
        """Wait until the API server calls the controller's webhooks, which set the defaults."""
        if controller.probe is None:
            return
        deadline = time.monotonic() + _READY_SECONDS
        said = "no defaults set"
        while time.monotonic() < deadline:
            try:
                answer = self.client.create(controller.probe, dry_run=True)
                if controller.is_defaulted(answer):
                    return
            except ApiError as error:
                if controller.refusal and controller.refusal in error.message:
                    return
                said = str(error)
            time.sleep(0.1)
        name = controller.process
        raise StartError(f"{name}'s webhooks are not called: {said}\n{self.log_of(name)}")

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
        if hasattr(self, "_client"):  # not when the start failed early
            self._client.close()
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


def _inlined(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
