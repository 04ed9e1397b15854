"""All processes on one machine, for `make run` and `manage.py up`."""

from __future__ import annotations

import fcntl
import http.client
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from gangboard import public_address
from gangboard.kube.transport import is_address
from gangboard.network_addresses import CLUSTER_NETWORKS
from gangboard.ops import processes
from gangboard.ops.kubeconfigs import read_access, save_access
from gangboard.ops.simulated_clusters import SimulatedClusters, real_clusters, remove_simulated
from gangboard.ops.supervisor import Supervisor
from gangboard.store import authentication, people
from gangboard.store.database_state import check_server

ADMIN = "admin"
PORTS_TRIED = 50
START_SECONDS = 120.0
"""Longer than any machine needs. After that, the log has the cause."""


class LaunchError(RuntimeError):
    """gangboard cannot be started. The text is one sentence for the person who tried."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address on which the web server listens."""

    host: str
    port: int

    @property
    def connect_host(self) -> str:
        """Return the host by which this machine connects to the server."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  # compared, not listened on

    @property
    def host_name(self) -> str:
        """Return the host as written in a URL and in GANGBOARD_HOSTS."""
        return f"[{self.connect_host}]" if ":" in self.connect_host else self.connect_host

    @property
    def url(self) -> str:
        """Return the URL to print."""
        return f"http://{self.host_name}:{self.port}"

    def answers(self) -> bool:
        """Return whether the web server answers its health check."""
        with closing(
            http.client.HTTPConnection(self.connect_host, self.port, timeout=1)
        ) as connection:
            try:
                connection.request("GET", "/healthz")
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False


def launch(
    *,
    host: str,
    port: int,
    kubeconfig: Path | None,
    report_progress: Callable[[str], None],
    announce: Callable[[str], None],
) -> None:
    """Migrate, start all processes, announce address and sign-in link, and stay until a signal.

    `say` gets progress messages, and `announce` the lines for the person, the link last. Raises LaunchError,
    kube's CredentialError and ClusterError before any process runs. All started processes have ended when
    this returns.
    """
    with single_instance_lock():
        check_server()
        call_command("migrate", verbosity=0, interactive=False)
        people.create_user(name=ADMIN, role="admin")
        if kubeconfig is not None:
            access = read_access(kubeconfig)
            name = access.cluster_name
            new = save_access(name, access)
            report_progress(
                f"Cluster {name} {'is watched from now on' if new else 'has been watched before'}."
            )
        place = ServerAddress(host, free_port(host, port))
        if is_address(host) and ip_address(host).is_loopback:
            # Clusters of a laptop (kind, minikube) are on this machine, and so are all users of
            # the pages.
            os.environ.setdefault(CLUSTER_NETWORKS, "0.0.0.0/0,::/0")
        with Supervisor(report_progress) as supervisor:
            try:
                _run(supervisor, place, report_progress, announce)
            finally:
                public_address.forget_address()


def _run(
    supervisor: Supervisor,
    place: ServerAddress,
    report_progress: Callable[[str], None],
    announce: Callable[[str], None],
) -> None:
    fleet = _start_simulated(supervisor, report_progress)
    _start_processes(supervisor, place)

    def is_up() -> bool:
        return (fleet is None or fleet.point()) and place.answers()

    if not supervisor.wait(is_up, START_SECONDS):
        if supervisor.is_stopping:
            return
        raise LaunchError(f"gangboard did not answer within {START_SECONDS:g} seconds")
    public_address.remember_address(place.url)
    user = people.find_user(name=ADMIN)
    assert user is not None  # noqa: S101  # created by our caller
    announce(f"gangboard is at {place.url}/ (Ctrl-C ends it).")
    announce(f"Sign in as {ADMIN}, once, within one hour:")
    announce(public_address.sign_in_url(authentication.create_sign_in_link(user=user)))
    connections.close_all()
    supervisor.run(fleet.point if fleet is not None else None)
    report_progress("Ending.")


def _start_simulated(
    supervisor: Supervisor, report_progress: Callable[[str], None]
) -> SimulatedClusters | None:
    if real := real_clusters():
        for name in remove_simulated():
            report_progress(
                f"The simulated cluster {name} is gone, because {real[0]} is configured."
            )
        return None
    fleet = SimulatedClusters(settings.STATE_DIR / "simulator", report_progress)
    fleet.start(supervisor, code=settings.BASE_DIR)
    return fleet


def _start_processes(supervisor: Supervisor, place: ServerAddress) -> None:
    code, state = settings.BASE_DIR, settings.STATE_DIR
    if not settings.REDIS_URL:
        # Tasks of an earlier run. Those of a dead worker would stay there forever.
        for message in (settings.CELERY_BROKER_FOLDER / "queue").glob("*.msg"):
            message.unlink(missing_ok=True)
    hosts = dict.fromkeys([*settings.ALLOWED_HOSTS, place.host_name])
    supervisor.start(
        processes.web(place.host, place.port, folder=code, env={"GANGBOARD_HOSTS": ",".join(hosts)})
    )
    supervisor.start(processes.poll_worker(folder=code))
    supervisor.start(processes.act_worker(folder=code))
    supervisor.start(processes.prove_worker(folder=code))
    supervisor.start(processes.notify_worker(folder=code))
    supervisor.start(processes.beat(state / "beat-schedule", folder=code))


def free_port(host: str, first: int) -> int:
    """Return the first free port from `first` on. Raises LaunchError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(first, min(first + PORTS_TRIED, 65536)):
        try:
            socket.create_server((host, port), family=family).close()
        except OSError as error:
            reason = error
            continue
        return port
    raise LaunchError(
        f"cannot listen on {host}, port {first} or one of the next: {reason.strerror}"
    )


@contextmanager
def single_instance_lock() -> Iterator[None]:
    """Lock the state folder against a second `up`. Raises LaunchError."""
    try:
        settings.STATE_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (settings.STATE_DIR / "up.lock").open("w")
    except OSError as error:
        raise LaunchError(
            f"nothing can be kept in {settings.STATE_DIR}: {error.strerror}; name another folder in "
            "GANGBOARD_STATE"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LaunchError(
                f"gangboard is running from this folder already, at {public_address.public_url()}/"
            ) from error
        yield
