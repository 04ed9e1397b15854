"""Situations of real controllers. All situations of a file are created at once, each with a near miss.

A file has its own `Place` (what can be done in one), a function for each situation, and the table of them:

    SITUATIONS = {"whole": Situation(_whole, "running", "running", "All 3 pods are ready.", twin="starting")}

    @pytest.fixture(scope="module")
    def places(controlplane_kueue, board):
        found = {name: Place(controlplane_kueue.client, f"lws-{name}", board) for name in SITUATIONS}
        with brought_about(SITUATIONS, found):
            yield found

    @pytest.mark.parametrize("name", SITUATIONS)
    def test_users_see_the_expected_verdict(places, name):
        check(SITUATIONS[name], places[name])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from tests.controlplane.clearing import clear_nodes, empty_namespaces
from tests.controlplane.client import Client, Json, wait
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import namespace
from tests.installation import Installation

POOL = "test.gangboard.dev/pool"
"""Label of the node of a place, whose value is the name of the place."""
TIMEOUT_SECONDS = 60.0
"""Seconds until the expected verdict of a created situation. The first step may take longer."""
FINAL = ("verified", "refused", "reverted", "failed", "conflict", "gone", "expired", "unknown")
"""States of an action that is over."""


@dataclass
class Place(ABC):
    """A namespace in which one thing happens to `run`, and a near miss of it to `twin`."""

    client: Client
    name: str

    @abstractmethod
    def told(self, name: str = "run") -> Json:
        """Return a gang as in the API, with the code `""` before it is known."""

    def nodes(self, cpu: str) -> Sequence[Json]:
        """Return the nodes of this place, of so many cpu each."""
        return [node(self.name, cpu=cpu, labels={POOL: self.name})]

    def filled(self, message: str) -> str:
        """Return an expected message with the names in it that only controllers know."""
        return message

    def leave(self) -> None:  # noqa: B027 - most have nothing
        """Stop running activities and delete objects outside of the namespace."""

    def wait_told(self, code: str, name: str = "run") -> None:
        """Wait until a gang has this verdict."""
        wait(
            lambda: self.told(name)["code"] == code,
            what=f"{code} of {name} in {self.name}",
            seen=lambda: self.told(name),
            timeout=2 * TIMEOUT_SECONDS,
        )


@dataclass
class PlaceOnBoard(Place):
    """A place that a whole gangboard tells of."""

    installation: Installation
    kind: ClassVar[str]
    """Of the gangs."""

    def told(self, name: str = "run") -> Json:
        """Return the gang as the API has it."""
        gangs = self.installation.gangs(kind=self.kind, namespace=self.name)
        return next((gang for gang in gangs if gang["name"] == name), {"code": ""})

    def detail(self, name: str = "run") -> Json:
        """Return all that the API says of it."""
        return self.installation.get(f"gangs/{self.told(name)['id']}/")

    def act(self, verb: str, name: str = "run") -> Json:
        """Click, and return the action when it is over."""
        gang = self.told(name)
        target_fields = ("cluster", "api_group", "kind", "namespace", "name", "uid")
        target = {key: gang[key] for key in target_fields}
        requested = {"verb": verb, "target": target, "reason": "test"}
        key = f"{self.name}-{name}-{verb}"
        status, created = self.installation.post("actions/", requested, key=key)
        assert status == 202, created

        def now() -> Json:
            return self.installation.get(f"actions/{created['id']}/")

        wait(
            lambda: now()["state"] in FINAL, what=f"the end of {verb} {name}", seen=now, timeout=120
        )
        return now()


P = TypeVar("P", bound=Place)


@dataclass(frozen=True)
class Situation(Generic[P]):
    """How a situation is created, and the expected verdict of `run`."""

    make: Callable[[P], None]
    code: str
    health: str
    message: str | None
    """None if the sentence has a changing number."""
    members: Mapping[str, int | None] = field(default_factory=dict)
    twin: str = field(kw_only=True)
    """The code of `twin`, the near miss. If it is the same code, the file tests another difference."""
    cpu: str = "64"
    """Labels of the node of its place."""


@contextmanager
def brought_about(
    situations: Mapping[str, Situation[P]],
    places: Mapping[str, P],
    *,
    shared: Sequence[Json] = (),
) -> Iterator[None]:
    """Create all situations at once and delete them afterwards.

    `places` may have more names than `situations`. Such places are created and stay empty. `shared` are nodes
    of all places.
    """
    clients = {id(place.client): place.client for place in places.values()}.values()

    def begin(name: str) -> None:
        situation, place = situations.get(name), places[name]
        place.client.create(namespace(place.name))
        if situation is not None:
            if nodes := place.nodes(situation.cpu):
                make_nodes(place.client, nodes)
            situation.make(place)

    try:
        for client in clients:
            clear_nodes(client)
            if shared:
                make_nodes(client, shared)
        # The places are independent and wait most of the time.
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(begin, places))
        yield
    finally:
        for place in places.values():
            place.leave()
        for client in clients:
            mine = [place.name for place in places.values() if place.client is client]
            empty_namespaces(client, mine)
            clear_nodes(client)


def check(situation: Situation[P], place: P) -> None:
    """Wait until `run` has the expected verdict and `twin` its code. Raises AssertionError."""

    def told() -> tuple[Any, ...]:
        gang = place.told()
        members = gang.get("members", {})
        return (
            gang["code"],
            gang.get("health"),
            gang.get("message") if situation.message is not None else None,
            {key: members.get(key) for key in situation.members},
        )

    def expected() -> tuple[Any, ...]:
        message = situation.message
        filled = place.filled(message) if message is not None else None
        return situation.code, situation.health, filled, dict(situation.members)

    wait(lambda: told() == expected(), what=str(expected()), seen=told, timeout=TIMEOUT_SECONDS)
    place.wait_told(situation.twin, "twin")
