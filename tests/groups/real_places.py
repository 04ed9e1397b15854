"""Places with PodGroups of real schedulers, and the situations played in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.controlplane.client import Client, Json, wait
from tests.controlplane.conditions import is_true
from tests.controlplane.gang_schedulers import (
    COSCHEDULING,
    KAI,
    VOLCANO,
    kai_queue,
    member,
    podgroup,
    volcano_queue,
)
from tests.controlplane.nodes import node
from tests.controlplane.objects import pod
from tests.installation import Installation
from tests.situations import POOL, PlaceOnBoard, Situation, brought_about, check

_VERSIONS = {"cosched": COSCHEDULING, "volcano": VOLCANO, "kai": KAI}
_BUS = "bus.volcano.sh/v1alpha1"


@dataclass
class Place(PlaceOnBoard):
    """A namespace with a node and a PodGroup of one API."""

    kind: ClassVar[str] = "PodGroup"

    @property
    def version(self) -> str:
        """The API of its PodGroups, by the name of the place."""
        return _VERSIONS[self.name.partition("-")[0]]

    def nodes(self, cpu: str) -> Sequence[Json]:
        """Return its node, with GPUs."""
        return [node(self.name, cpu=cpu, gpus=8, labels={POOL: self.name})]

    def full(self, name: str) -> str:
        """Return the name of a PodGroup: KAI 0.12 takes those of one name for one, in whatever namespace (seen)."""
        return f"{self.name}-{name}" if self.version == KAI else name

    def told(self, name: str = "run") -> Json:
        """Return the gang as the API has it."""
        return super().told(self.full(name))

    def group(self, minimum: int, name: str = "run", **spec: Any) -> None:
        """Make a PodGroup."""
        if self.version == KAI:
            spec.setdefault("queue", "kai-open")
        self.client.create(podgroup(self.version, self.full(name), self.name, minimum, **spec))

    def pods(
        self, number: int, cpu: str = "1", name: str = "run", *, scheduler: str = "", **options: Any
    ) -> None:
        """Make pods that name a PodGroup."""
        for index in range(number):
            self.pod(index, cpu, name, scheduler=scheduler, **options)

    def pod(
        self, index: int, cpu: str = "1", name: str = "run", *, scheduler: str = "", **options: Any
    ) -> None:
        """Make one of its pods."""
        fields = member(self.version, self.full(name), scheduler=scheduler)
        if self.version == KAI:
            fields["labels"] = {"kai.scheduler/queue": options.pop("queue", "kai-open")}
        created = pod(
            f"{name}-{scheduler or 'p'}-{index}",
            self.name,
            cpu=cpu,
            node_selector={POOL: self.name},
            **fields,
            **options,
        )
        self.client.create(created)

    def wait_phase(self, phase: str, name: str = "run") -> None:
        """Wait until its scheduler gives its PodGroup this phase."""
        self.client.wait_for(
            self.version,
            "PodGroup",
            name,
            self.name,
            until=lambda result: result.get("status", {}).get("phase") == phase,
        )

    def gang(self, minimum: int, cpu: str = "1", name: str = "run", **spec: Any) -> None:
        """Make a PodGroup and as many pods as it needs."""
        self.group(minimum, name, **spec)
        extra = {"queue": spec["queue"]} if self.version == KAI and "queue" in spec else {}
        self.pods(minimum, cpu, name, **extra)

    def placed(self, name: str = "run") -> list[str]:
        """Return the names of its pods that have a node."""
        result = self.client.list("v1", "Pod", self.name)
        return [
            obj["metadata"]["name"]
            for obj in result
            if obj["metadata"]["name"].startswith(name) and is_true(obj, "PodScheduled")
        ]

    def wait_placed(self, number: int, name: str = "run") -> None:
        """Wait until so many of its pods have a node."""
        wait(
            lambda: len(self.placed(name)) == number,
            what=f"{number} of {name} in {self.name}",
            seen=lambda: {
                item["metadata"]["name"]: item["status"].get("conditions")
                for item in self.client.list("v1", "Pod", self.name)
            },
            timeout=90,
        )

    def queue(self, *, waiting: int, placed: int) -> Json:
        """Return the queue that the place has of its own, once so many gangs wait in it and have nodes."""

        def read_queue() -> Json:
            return self.installation.get(f"queues/gangs/{self.name}-q/")

        def is_so() -> bool:
            result = read_queue()
            return (result["waiting"], result["placed"]) == (waiting, placed)

        wait(is_so, what=f"{waiting} wait in queue {self.name}-q", seen=read_queue)
        return read_queue()

    def said(self, name: str = "run") -> Json:
        """Return the first finding, with its evidence."""
        result: Json = self.detail(name)["findings"][0]
        return result


def whole(place: Place) -> None:
    """Twin: needs more than its node has."""
    place.gang(3)
    place.gang(2, "40", "twin")


def no_room(place: Place) -> None:
    """Two of three fit. Twin: needs two."""
    place.gang(2, "2", "twin")
    place.wait_placed(2, "twin")
    place.gang(3, "3")


def below_size(place: Place) -> None:
    """Two of three find room, and two are enough. Twin: it needs all three."""
    place.group(2)
    place.pods(3, "4")
    place.wait_placed(2)
    place.gang(3, "4", "twin")


def too_few(place: Place) -> None:
    """A pod of three is not made. Twin: it is."""
    place.group(3)
    place.pods(2)
    place.gang(3, name="twin")


def decoration(place: Place) -> None:
    """The stock scheduler takes two of three. Twin: it takes both."""
    place.group(2, "twin")
    place.pods(2, "1", "twin", scheduler="default-scheduler")
    place.wait_placed(2, "twin")
    place.group(3)
    place.pods(3, "3", scheduler="default-scheduler")


def lost(place: Place) -> None:
    """One of its pods is deleted. Twin: it needs one less."""
    place.gang(3)
    place.group(2, "twin")
    place.pods(3, name="twin")
    for name in ("run", "twin"):
        place.wait_placed(3, name)
        place.wait_told("running", name)
    for name in ("run", "twin"):
        place.client.delete("v1", "Pod", f"{name}-p-0", place.name)


def queue_closed(place: Place) -> None:
    """A user has closed its queue, as `vcctl queue operate` does. Twin: it is open."""
    for name in ("closed", "open"):
        place.client.create(volcano_queue(f"{place.name}-{name}"))
    queue = f"{place.name}-closed"
    created = place.client.wait_for(VOLCANO, "Queue", queue, until=lambda item: item.get("status"))
    target = {
        "apiVersion": VOLCANO,
        "kind": "Queue",
        "name": queue,
        "uid": created["metadata"]["uid"],
    }
    meta = {"name": queue, "namespace": place.name}
    command = {"apiVersion": _BUS, "kind": "Command", "metadata": meta, "target": target}
    place.client.create({**command, "action": "CloseQueue"})
    place.client.wait_for(
        VOLCANO, "Queue", queue, until=lambda obj: obj["status"].get("state") == "Closed"
    )
    place.gang(2, queue=queue)
    place.gang(2, name="twin", queue=f"{place.name}-open")


def capability(place: Place) -> None:
    """It needs more than its queue may ever have. Twin: as much."""
    place.client.create(volcano_queue(f"{place.name}-q", cpu="4"))
    for name, cpu in (("twin", "2"), ("run", "3")):
        needs = {"cpu": str(2 * int(cpu))}
        place.gang(2, cpu, name, queue=f"{place.name}-q", minResources=needs)
        if name == "twin":
            place.wait_placed(2, "twin")


def quota_taken(place: Place) -> None:
    """Another gang uses most of the queue's limit. Twin: that gang."""
    place.client.create(volcano_queue(f"{place.name}-q", cpu="4"))
    place.gang(2, "2", "twin", queue=f"{place.name}-q", minResources={"cpu": "4"})
    place.wait_placed(2, "twin")
    place.gang(2, "1", queue=f"{place.name}-q", minResources={"cpu": "2"})


def let_in_again(place: Place) -> None:
    """One of two pods is gone before any ran, and its queue has room for two CPUs. Twin: for three."""
    for name, cpu in (("run", "2"), ("twin", "3")):
        queue = f"{place.name}-{name}"
        place.client.create(volcano_queue(queue, cpu=cpu))
        place.group(2, name, queue=queue, minResources={"cpu": "2"})
        place.pods(2, name=name, never_ready="pending")
    for name in ("run", "twin"):
        place.wait_phase("Running", name)
        place.client.delete("v1", "Pod", f"{name}-p-0", place.name, grace=0)
    place.wait_phase("Pending")
    for name in ("run", "twin"):
        place.pod(0, name=name, never_ready="pending")


def queue_gone(place: Place) -> None:
    """Its queue does not exist. Twin: it exists."""
    existing = f"{place.name}-there"
    is_volcano = place.version == VOLCANO
    place.client.create(volcano_queue(existing) if is_volcano else kai_queue(existing, "kai-root"))
    place.gang(2, queue=f"{place.name}-gone")
    place.gang(2, name="twin", queue=f"{place.name}-there")


def over_limit(place: Place) -> None:
    """It asks for more GPUs than its queue may ever have. Twin: for as many."""
    place.client.create(kai_queue(f"{place.name}-q", "kai-root", gpus=2))
    for name, number in (("run", 4), ("twin", 2)):
        place.group(number, name, queue=f"{place.name}-q")
        place.pods(number, "1", name, queue=f"{place.name}-q", gpu=1)


def places_of(
    situations: Mapping[str, Situation[Place]], client: Client, board: Installation
) -> Iterator[dict[str, Place]]:
    """Bring all about, each in a namespace of its own; for a fixture."""
    result = {name: Place(client, name, board) for name in situations}
    with brought_about(situations, result):
        yield result


def read(situation: Situation[Place], place: Place, prefix: str) -> None:
    """Check the verdict.

    `words` is the fixed beginning of a sentence whose end has numbers of the whole cluster, or a time.
    """
    check(situation, place)
    wait(lambda: place.told()["message"].startswith(prefix), what=prefix, seen=place.told)
    if situation.code == "unschedulable":
        # Fit and remedies are not computed for a scheduler with its own rules.
        assert place.detail()["fit"][0]["why"].endswith("places pods by rules of its own")
        assert place.said()["advice"] == []


def each_once(places: Mapping[str, Place]) -> None:
    """Check that each place has its two gangs, and each of its pods is in one: all four kinds called PodGroup are served."""

    def told() -> dict[str, tuple[list[str], int]]:
        return {name: _listed(place) for name, place in places.items()}

    def there() -> dict[str, tuple[list[str], int]]:
        return {
            name: (
                [place.full("run"), place.full("twin")],
                len(place.client.list("v1", "Pod", name)),
            )
            for name, place in places.items()
        }

    wait(
        lambda: told() == there(),
        what="each gang and each pod once",
        seen=lambda: (told(), there()),
    )


def _listed(place: Place) -> tuple[list[str], int]:
    """Return the names of the gangs of a place, and how many pods they have together."""
    result = place.installation.gangs(namespace=place.name)
    pods = sum(gang["members"]["created"] for gang in result)
    return sorted(gang["name"] for gang in result), pods
