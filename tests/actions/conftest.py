"""A simulated cluster with one JobSet of three Jobs, and an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gangboard.polling import poll
from simulator import Simulator
from simulator.fleet_spec import Fleet, Gang, NodePool, Role
from simulator.manifests import PodTemplate
from tests.actions.site import JOBSET, NAMESPACE, Site, make_site

CPU = PodTemplate(cpu="1", pool="cpu")
FLEET = Fleet(
    "acting",
    (NodePool("cpu", 3, cpu="32", memory="256Gi"),),
    (
        Gang(
            NAMESPACE,
            "JobSet",
            JOBSET,
            "running",
            max_restarts=3,
            roles=(Role("driver", CPU), Role("workers", CPU, jobs=2, pods=2)),
        ),
        Gang(NAMESPACE, "Job", "alone", "running", roles=(Role("", CPU, pods=2),)),
    ),
)


@pytest.fixture
def start(db: None) -> Iterator[Callable[..., Site]]:
    """`start(...)` starts a simulator with these arguments and returns a site around it."""
    started: list[Simulator] = []

    def make(*, actor: bool = True, **options: object) -> Site:
        simulator = Simulator(
            **{"fleet": FLEET, "minor": "1.37", "story": False, "speed": 30.0, **options}  # type: ignore[arg-type]
        )
        started.append(simulator.start())
        return make_site(simulator, actor=actor)

    yield make
    for simulator in started:
        simulator.stop()
    for cluster_id in list(poll._caches):
        poll.drop_cache(cluster_id)


@pytest.fixture
def site(start: Callable[..., Site]) -> Site:
    """A cluster with the Hold installed."""
    return start()


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker is woken, because the tests do the work."""
    monkeypatch.setattr("gangboard.actions.service.wake", lambda _action: None)
