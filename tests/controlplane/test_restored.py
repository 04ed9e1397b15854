"""Watches of a restored API server, which `gangboard.polling.resource_watch` handles.

Seen on 1.37 and 1.36, with etcd and kube-apiserver stopped, the data of etcd put back, and both started:

- A list without a resourceVersion says where etcd is (209 after 246).
- A watch from 246 is accepted. It gets no error, no bookmark and none of the changes 210 to 246, then those from 247 on.
- A list from 246 waits for 3 s and is refused: 504, "Too large resource version: 246, current: 209".

With etcd put back under a kube-apiserver that runs on, lists say 246 and have the lost objects until etcd is past that.
Only those of events, which it does not cache, said where etcd was.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import urllib3

from gangboard.kube.connection import Connection
from gangboard.kube.credentials import read_kubeconfig
from gangboard.kube.watch import Watch, is_lower
from tests.controlplane.certificates import make_certificates
from tests.controlplane.client import ApiError, Client, wait
from tests.controlplane.fixtures import require_built
from tests.controlplane.objects import pod
from tests.controlplane.processes import Layout, free_ports, processes
from tests.controlplane.profiles import profile_named
from tests.controlplane.supervisor import Supervisor

pytestmark = pytest.mark.controlplane
PODS = "/api/v1/pods"
WATCHED_SECONDS = 3


class Server:
    """etcd and kube-apiserver of 1.37, and no controller."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        folder = self._folder = supervisor.folder
        (folder / "certificates").mkdir()
        certificates = make_certificates(folder / "certificates")
        tokens = folder / "tokens.csv"
        tokens.write_text('token,admin,admin,"system:masters"\n')
        layout = Layout(
            profile_named("1.37"), folder, free_ports(), certificates, folder / "unused", tokens
        )
        self._processes = {
            name: item
            for name, item in processes(layout).items()
            if name in ("etcd", "kube-apiserver")
        }
        self._probe = urllib3.PoolManager(ca_certs=str(certificates.ca), retries=False)
        self.client = Client(layout.url, ca=certificates.ca, token="token")
        self.connection = Connection(read_kubeconfig(_kubeconfig(layout.url, certificates.ca)))
        self.start()

    def start(self) -> None:
        for name, process in self._processes.items():
            environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self._folder)}
            self._supervisor.start(name, process.argv, environment, self._folder / f"{name}.log")
            wait(partial(self._is_ready, process.ready), what=f"{name} to be ready")

    def _is_ready(self, address: str) -> bool:
        try:
            return self._probe.request("GET", address, timeout=3).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def close(self) -> None:
        """Close its connections; the supervisor ends the processes."""
        self.connection.close()
        self._probe.clear()

    def back_up(self) -> Path:
        """Copy the data of etcd at one moment; return where it is."""
        backup = self._folder / "backup"
        self._supervisor.signal("etcd", signal.SIGSTOP)
        shutil.copytree(self._folder / "etcd", backup)
        self._supervisor.signal("etcd", signal.SIGCONT)
        return backup

    def restore(self, backup: Path) -> None:
        """Stop both, put the data back, start both."""
        for name in reversed(self._processes):
            self._supervisor.stop(name)
        shutil.rmtree(self._folder / "etcd")
        backup.rename(self._folder / "etcd")
        self.start()

    def make(self, name: str) -> None:
        """Create a pod as soon as the namespace exists."""

        def create() -> bool:
            try:
                self.client.create(pod(name, "default"))
            except ApiError as error:
                if error.status != 404:
                    raise
                return False
            return True

        wait(create, what=f"pod {name} to be made")

    def listed(self) -> tuple[str, set[str]]:
        """Return the resourceVersion of the list of pods, and their names."""
        result = json.loads(self.connection.get(PODS))
        names = {item["metadata"]["name"] for item in result["items"]}
        return result["metadata"]["resourceVersion"], names


def _kubeconfig(url: str, authority: Path) -> str:
    cluster = {
        "server": url,
        "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode(),
    }
    return json.dumps(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "token"}}],
        }
    )


@pytest.fixture
def server() -> Iterator[Server]:
    require_built(("etcd", "kubernetes-1.37"))
    supervisor = Supervisor(None)
    try:
        with contextlib.closing(Server(supervisor)) as server:
            yield server
    finally:
        supervisor.close()


def test_a_watch_from_before_the_restore_is_silent_and_a_list_is_current(server: Server) -> None:
    server.make("kept")
    backup = server.back_up()
    server.client.delete("v1", "Pod", "kept", "default", grace=0)
    for number in range(20):
        server.make(f"lost-{number}")
    known, _ = server.listed()
    server.restore(backup)
    version, names = server.listed()
    assert names == {"kept"}
    assert is_lower(version, known)
    started = time.monotonic()
    lines: list[bytes] = []
    watch = Watch(
        server.connection,
        PODS,
        known,
        timeout_seconds=WATCHED_SECONDS,
        on_open=lambda: server.make("after"),
    )
    for batch in watch:
        lines += batch
    assert lines == []
    assert time.monotonic() - started >= WATCHED_SECONDS - 0.5
    version, names = server.listed()
    assert names == {"kept", "after"}
    assert is_lower(version, known)
