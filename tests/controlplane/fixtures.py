"""pytest fixtures: one control plane per profile and lane, one fresh namespace per test.

Loaded by `pytest_plugins = ["tests.controlplane.fixtures"]` in the root conftest. A test that asks
for one of them is marked `controlplane` by that.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.build import missing
from tests.controlplane.clearing import clear_nodes, empty_namespaces
from tests.controlplane.client import Client
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.objects import namespace as namespace_object
from tests.controlplane.profiles import profile_named
from tests.controlplane.queues import KUEUE, cluster_queue_name, make_queue

_FIXTURES = {
    "controlplane",
    "controlplane_137",
    "controlplane_136",
    "controlplane_plain",
    "controlplane_135",
    "controlplane_135_served",
    "controlplane_135_map",
    "controlplane_kueue",
}


_LOG_LINES, _LOG_COLUMNS = 8, 300
_RUNNING: list[ControlPlane] = []
"""Those of the session that are up."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark every test that uses a control plane, so that `-m "not controlplane"` leaves them out."""
    if _FIXTURES & set(getattr(item, "fixturenames", ())):
        item.add_marker(pytest.mark.controlplane)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the last log lines of the involved planes to the report of a failed test."""
    outcome: Any = yield
    report = outcome.get_result()
    if not report.failed or not _FIXTURES & set(getattr(item, "fixturenames", ())):
        return
    for plane in _RUNNING:
        if not plane.resting:
            for name in plane.process_names:
                title = f"{name} of {plane.profile.name}"
                lines = plane.log_of(name, _LOG_LINES).splitlines()
                report.sections.append((title, "\n".join(line[:_LOG_COLUMNS] for line in lines)))


_last_file: Path | None = None
_HEALED = "healed"
_healed: list[str] = []
"""Lines of the summary, collected in the process that runs the lanes."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Heal and rest all control planes when another file of tests begins. Used ones wake up.

    They are healed before a second try as well. Otherwise one failure would repeat in all later tests.

    """
    global _last_file
    another = item.path != _last_file
    _last_file = item.path
    if another or getattr(item, "execution_count", 1) > 1:
        for plane in _RUNNING:
            for name, log in plane.heal().items():
                said = f"{name} of {plane.profile.name} had ended before {item.nodeid}:\n{log}"
                item.user_properties.append((_HEALED, said))
    if another:
        for plane in _RUNNING:
            plane.rest()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record restarted processes before a test."""
    if report.when == "setup":
        _healed.extend(str(message) for name, message in report.user_properties if name == _HEALED)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report restarted processes, so that no crash stays hidden."""
    if _healed:
        terminalreporter.section("processes of control planes that were started again")
        terminalreporter.write_line("\n\n".join(_healed))


def require_built(programs: Sequence[str]) -> None:
    """Skip the test if binaries of these programs are missing, or fail it where CI is set."""
    unbuilt = missing(programs)
    if unbuilt:
        said = f"control plane not built ({', '.join(unbuilt)}): run make controlplane"
        if os.environ.get("CI") == "true":
            pytest.fail(said)
        pytest.skip(said)


def _started(profile: str) -> Iterator[ControlPlane]:
    """Start the profile."""
    require_built(profile_named(profile).programs)
    with ControlPlane.start(profile) as plane:
        _RUNNING.append(plane)
        try:
            yield plane
        finally:
            _RUNNING.remove(plane)


@pytest.fixture(scope="session")
def controlplane_137() -> Iterator[ControlPlane]:
    """Kubernetes 1.37 with gangs: scheduling.k8s.io/v1beta1 and v1alpha3."""
    yield from _started("1.37")


@pytest.fixture(scope="session")
def controlplane_136() -> Iterator[ControlPlane]:
    """Kubernetes 1.36 with gangs: scheduling.k8s.io/v1alpha2."""
    yield from _started("1.36")


@pytest.fixture(scope="session")
def controlplane_plain() -> Iterator[ControlPlane]:
    """Kubernetes 1.37 as most clusters run it: no gang API at all."""
    yield from _started("plain")


@pytest.fixture(scope="session")
def controlplane_135() -> Iterator[ControlPlane]:
    """Kubernetes 1.35 with Workloads (scheduling.k8s.io/v1alpha1), without mutating policies."""
    yield from _started("1.35")


@pytest.fixture(scope="session")
def controlplane_135_served() -> Iterator[ControlPlane]:
    """The same where mutating policies are served and accepted, and without effect."""
    yield from _started("1.35-served")


@pytest.fixture(scope="session")
def controlplane_135_map() -> Iterator[ControlPlane]:
    """1.35 with mutating admission policies in force, as v1beta1."""
    yield from _started("1.35-map")


@pytest.fixture(scope="session")
def controlplane_kueue() -> Iterator[ControlPlane]:
    """Kubernetes 1.37 with gangs, Kueue (without queues: see `queues`), Trainer and LeaderWorkerSet."""
    yield from _started("1.37-kueue")


@pytest.fixture(params=["1.37", "1.36", "plain"])
def controlplane(request: pytest.FixtureRequest) -> ControlPlane:
    """Three of them in turn."""
    name = f"controlplane_{request.param.replace('.', '')}"
    plane: ControlPlane = request.getfixturevalue(name)
    return plane


class Namespaces:
    """Makes namespaces with names of their own and empties them at the end of a test."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: list[tuple[Client, str]] = []

    def __call__(self, plane: ControlPlane) -> str:
        """Return the name of a fresh namespace on that control plane."""
        name = f"t-{secrets.token_hex(4)}"
        plane.client.create(namespace_object(name))
        self._made.append((plane.client, name))
        return name

    def delete(self) -> None:
        """Empty all of them; only their pods are waited for, as they hold room on nodes."""
        for client, name in self._made:
            empty_namespaces(client, [name])


@pytest.fixture
def namespace() -> Iterator[Namespaces]:
    """`namespace(plane)` makes a fresh namespace and returns its name."""
    created = Namespaces()
    yield created
    created.delete()


class Fleets:
    """Makes sure that a control plane has no nodes but those of this test."""

    def __init__(self) -> None:
        """Start with none."""
        self._used: list[Client] = []

    def __call__(self, plane: ControlPlane) -> Client:
        """Delete all nodes of that control plane, now and after the test; return its client."""
        clear_nodes(plane.client)
        self._used.append(plane.client)
        return plane.client


@pytest.fixture
def no_nodes() -> Iterator[Fleets]:
    """`client = no_nodes(plane)` gives a cluster without nodes, for a test to make its own."""
    fleets = Fleets()
    yield fleets
    for client in fleets._used:
        clear_nodes(client)


class Queues:
    """Creates queues that admit, and deletes their cluster-wide objects at the end of a test."""

    def __init__(self) -> None:
        """Start with none."""
        self._made: list[tuple[Client, str]] = []

    def __call__(
        self, plane: ControlPlane, namespace: str, quota: Mapping[str, str], *, name: str = "queue"
    ) -> str:
        """Return the name of a LocalQueue with a ClusterQueue of its own (see `make_queue`)."""
        self._made.append((plane.client, cluster_queue_name(namespace, name)))
        return make_queue(plane.client, namespace, quota, name=name)

    def delete(self) -> None:
        """Delete the ClusterQueues; each is gone when the last Workload in it is."""
        for client, name in self._made:
            client.delete(KUEUE, "ClusterQueue", name)


@pytest.fixture
def queues() -> Iterator[Queues]:
    """`queues(plane, namespace, {"cpu": "4"})` makes a queue and returns its name."""
    created = Queues()
    yield created
    created.delete()
