"""The simulated clusters of `manage.py up`, which run if no real cluster is configured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.db import Error

from gangboard.ops import processes
from gangboard.ops.kubeconfigs import read_access, save_access, save_actor
from gangboard.ops.supervisor import Supervisor
from gangboard.store import clusters, secrets
from gangboard.store.models import Cluster
from simulator.certificates import is_simulator_authority


@dataclass(frozen=True, slots=True)
class SimulatedCluster:
    """One simulated cluster."""

    fleet: str
    hold: bool
    """Whether the Hold is installed in it."""


FLEETS = {
    "sim-east": SimulatedCluster("east", hold=True),
    "sim-west": SimulatedCluster("west", hold=False),
}
"""By name of the cluster."""
_LOOPBACK = "https://127.0.0.1:"


def is_simulated(name: str) -> bool:
    """Return whether a watched cluster was added by an earlier `up`.

    Neither its name nor a local address proves that, because a person may use the same name for a real
    cluster.
    """
    if name not in FLEETS:
        return False
    cluster = clusters.find_cluster(name=name)
    return cluster.server.startswith(_LOOPBACK) and _trusts_simulator(cluster)


def _trusts_simulator(cluster: Cluster) -> bool:
    try:
        authority = secrets.unseal(bytes(cluster.credentials)).get("ca_pem")
    except secrets.SecretUnreadableError:
        return False
    return authority is not None and is_simulator_authority(authority)


def real_clusters() -> list[str]:
    """Return the names of the clusters that people added."""
    return [name for name in clusters.cluster_names() if not is_simulated(name)]


def remove_simulated() -> list[str]:
    """Remove the simulated clusters of earlier runs. Return their names."""
    names = [name for name in clusters.cluster_names() if is_simulated(name)]
    for name in names:
        clusters.remove_cluster(name=name)
    return names


@dataclass(slots=True)
class SimulatedClusters:
    """The simulated clusters of this run. A simulator chooses a new port at each start."""

    folder: Path
    """Folder of their kubeconfigs."""
    report_progress: Callable[[str], None]
    _saved_texts: dict[str, str] = field(default_factory=dict)

    def start(self, supervisor: Supervisor, *, code: Path) -> None:
        """Start the simulators in the folder `code`."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, simulated in FLEETS.items():
            self._kubeconfig(name).unlink(missing_ok=True)
            self._actor_kubeconfig(name).unlink(missing_ok=True)
            supervisor.start(
                processes.simulator(
                    name,
                    fleet=simulated.fleet,
                    hold=simulated.hold,
                    kubeconfig=self._actor_kubeconfig(name),
                    reader_kubeconfig=self._kubeconfig(name),
                    folder=code,
                )
            )

    def point(self) -> bool:
        """Point the clusters to the current addresses of the simulators. Return whether all simulators
        listen.

        It is called repeatedly, because a restarted simulator has another port and authority.
        """
        pointed = [
            self._update_cluster(name) for name in FLEETS
        ]  # Each of them, also after a failure.
        return all(pointed)

    def _update_cluster(self, name: str) -> bool:
        path = self._kubeconfig(name)
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            return False  # It does not listen yet.
        if text == self._saved_texts.get(name):
            return True
        try:
            save_access(name, read_access(path))
            # The simulator writes the actor's file first.
            save_actor(name, read_access(self._actor_kubeconfig(name)), by="gangboard")
        except (clusters.ClusterError, Error) as error:
            self.report_progress(f"Cluster {name} could not be added yet: {error}")
            return False
        self._saved_texts[name] = text
        return True

    def _kubeconfig(self, name: str) -> Path:
        """Return the path of the kubeconfig of the read-only account, which suffices for watching."""
        return self.folder / f"{name}.kubeconfig"

    def _actor_kubeconfig(self, name: str) -> Path:
        """Return the path of the kubeconfig of the account that acts."""
        return self.folder / f"{name}-admin.kubeconfig"
