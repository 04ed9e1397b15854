"""Places with applications of YuniKorn, and what is brought about in them."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.controlplane import yunikorn
from tests.controlplane.client import Json, wait
from tests.controlplane.objects import job, pod
from tests.situations import POOL, PlaceOnBoard, Situation


class Place(PlaceOnBoard):
    """A namespace with a node, in which Jobs are applications."""

    kind: ClassVar[str] = "Job"

    def job(self, number: int, name: str = "run", cpu: str = "1") -> list[Json]:
        """Make a Job and return its pods, which nobody has tried yet."""
        given: dict[str, Any] = {**yunikorn.member(name), "node_selector": {POOL: self.name}}
        self.client.create(job(name, self.name, parallelism=number, cpu=cpu, **given))

        def made() -> list[Json]:
            found = self.client.list("v1", "Pod", self.name, labels=f"job-name={name}")
            return found if len(found) == number else []

        return wait(made, what=f"{number} pods of {name} in {self.name}")

    def bind(self, *pods: Json) -> None:
        """Give pods the node of this place."""
        for one in pods:
            yunikorn.bind(self.client, one, self.name)


class BarePlace(Place):
    """The same with a pod that nobody owns."""

    kind: ClassVar[str] = "Pod"

    def pod(self, name: str = "run") -> Json:
        """Make a pod that is an application by itself."""
        given: dict[str, Any] = {**yunikorn.member(name), "node_selector": {POOL: self.name}}
        return self.client.create(pod(name, self.name, **given))


def _whole(place: Place) -> None:
    """Twin: no node has room for it."""
    place.bind(*place.job(3))
    for one in place.job(2, "twin", "70"):
        yunikorn.find_no_room(place.client, one)


def _no_quota(place: Place) -> None:
    """Its queue has too little left. Twin: it had, and now no node has room."""
    for name in ("run", "twin"):
        for one in place.job(2, name, "4"):
            yunikorn.lack_quota(place.client, one, "4000", "2500")
            if name == "twin":
                yunikorn.find_no_room(place.client, one)


def _given_up(place: Place) -> None:
    """One of three found room before its gang was given up. Twin: its placeholder still waits for that."""
    first, *rest = place.job(3, cpu="30")
    yunikorn.give_up(place.client, first, "run")
    place.bind(first)
    for one in rest:
        yunikorn.find_no_room(place.client, one)
    first, *rest = place.job(3, "twin", "30")
    held = yunikorn.reserve(place.client, first, "twin", cpu="30")
    yunikorn.find_no_room(place.client, held)


def _bare(place: BarePlace) -> None:
    """A pod that nobody owns runs. Twin: it waits for quota."""
    place.bind(place.pod())
    yunikorn.lack_quota(place.client, place.pod("twin"), "1000", "0")


SITUATIONS: dict[str, Situation[Any]] = {
    "yunikorn-whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-no-quota": Situation(
        _no_quota, "waiting-for-quota", "waiting",
        "Queue root.data has no room for 2 pods: each asks for 4 CPUs, and 2.5 is left.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-given-up": Situation(
        _given_up, "not-ganged", "degraded",
        "YuniKorn gave up the gang of application run and places its pods one by one: 1 of 3 pods is placed.",
        {"desired": 3, "created": 3, "scheduled": 1, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-bare": Situation(
        _bare, "running", "running", "Its pod is ready.",
        {"desired": 1, "created": 1, "ready": 1, "quorum": None}, twin="waiting-for-quota",
    ),
}  # fmt: skip


def place_class(name: str) -> type[Place]:
    """Return in what a situation is brought about."""
    return BarePlace if name == "yunikorn-bare" else Place
