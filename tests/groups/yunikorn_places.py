"""Places with applications of a real YuniKorn, and the situations played in them."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.controlplane import yunikorn
from tests.controlplane.client import wait
from tests.controlplane.conditions import is_true
from tests.controlplane.objects import job, pod
from tests.situations import POOL, PlaceOnBoard, Situation

_NOWHERE = {POOL: "nowhere"}
_SOON = "placeholderTimeoutInSeconds=5 gangSchedulingStyle=Soft"


class Place(PlaceOnBoard):
    """A namespace with a node, in which Jobs are applications."""

    kind: ClassVar[str] = "Job"

    @property
    def pool(self) -> dict[str, str]:
        """The label of its node."""
        return {POOL: self.name}

    def application(self, name: str) -> str:
        """Return the id of an application: they are of the whole cluster."""
        return f"{self.name}-{name}"

    def job(
        self, number: int, name: str = "run", cpu: str = "1", queue: str = yunikorn.OPEN
    ) -> None:
        """Make a Job that is an application."""
        fields = yunikorn.member(self.application(name), queue)
        self._make(number, name, cpu, fields)

    def gang(self, number: int, name: str = "run", cpu: str = "1", **options: Any) -> None:
        """Make a Job that is an application with a task group of all its pods."""
        options.setdefault("on", self.pool)
        fields = yunikorn.gang_member(self.application(name), number, cpu, **options)
        self._make(number, name, cpu, fields)

    def _make(self, number: int, name: str, cpu: str, given: dict[str, Any]) -> None:
        # A suspension is watched until ten seconds after the grace period of the pods.
        options: dict[str, Any] = {
            "parallelism": number,
            "cpu": cpu,
            "grace": 1,
            "node_selector": self.pool,
        }
        self.client.create(job(name, self.name, **options, **given))

    def wait_placed(self, number: int, name: str = "run") -> None:
        """Wait until so many pods of a Job have a node."""

        def placed() -> int:
            result = self.client.list("v1", "Pod", self.name, labels=f"job-name={name}")
            return sum(is_true(item, "PodScheduled") for item in result)

        wait(lambda: placed() == number, what=f"{number} of {name} in {self.name}", timeout=60)


class BarePlace(Place):
    """The same with unowned pods, a gang each."""

    kind: ClassVar[str] = "Pod"

    def _make(self, number: int, name: str, cpu: str, given: dict[str, Any]) -> None:
        names = [name, *(f"{name}-{index}" for index in range(1, number))]
        for item in names:
            self.client.create(pod(item, self.name, cpu=cpu, node_selector=self.pool, **given))


def _whole(place: Place) -> None:
    """Twin: no node is large enough for one of its pods, though all of them together are."""
    place.job(3)
    place.job(2, "twin", "70")


def _no_quota(place: Place) -> None:
    """Its queue has too little left. Twin: its queue has no limit, and the cluster is too small."""
    place.job(1, "first", "4", yunikorn.SMALL)
    place.wait_placed(1, "first")
    place.job(2, "run", "4", yunikorn.SMALL)
    place.job(2, "twin", "3000")


def _rejected(place: Place) -> None:
    """Its task group is larger than its queue may be. Twin: it is not."""
    place.gang(3, queue=yunikorn.TINY)
    place.gang(2, "twin", "100m", queue=yunikorn.TINY)


def _queue_gone(place: Place) -> None:
    """Its queue does not exist. Twin: it does."""
    place.job(1, queue=yunikorn.ABSENT)
    place.job(1, "twin")


def _placeholders(place: Place) -> None:
    """Its placeholders select no node. Twin: the third of them finds no room."""
    place.gang(3, on=_NOWHERE)
    place.gang(3, "twin", "30")


def _given_up(place: Place) -> None:
    """Two of three found room, and it was given up. Twin: it needs one, which fits.

    The twin comes first: YuniKorn reserves a node for a pod that waits, and places no other pod there meanwhile (seen).
    """
    place.gang(1, "twin")
    place.wait_placed(1, "twin")
    place.gang(3, cpu="30", parameters=_SOON)
    place.wait_told("not-ganged")


def _bare(place: BarePlace) -> None:
    """An unowned pod requests a queue that is too small for its gang. Twin: its queue has no limit."""
    place.gang(1, cpu="3", queue=yunikorn.TINY)
    place.gang(1, "twin", "3")


def _bare_queue_gone(place: BarePlace) -> None:
    """An unowned pod names a queue that does not exist. Twin: the queue exists."""
    place.job(1, queue=yunikorn.ABSENT)
    place.job(1, "twin")


SITUATIONS: dict[str, Situation[Any]] = {
    "yunikorn-whole": Situation(
        _whole, "running", "running", "All 3 pods are ready.",
        {"desired": 3, "created": 3, "ready": 3, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-no-quota": Situation(
        _no_quota, "waiting-for-quota", "waiting",
        "Queue root.small has too little quota for 2 pods: each requests 4 CPUs, and 2 is left.",
        {"desired": 2, "created": 2, "scheduled": 0, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-rejected": Situation(
        _rejected, "exceeds-quota", "blocked",
        "YuniKorn rejected application yunikorn-rejected-run: its task groups request 3 CPUs at once, and "
        "queue root.tiny allows at most 2.",
        {"desired": 3, "scheduled": 0}, twin="running",
    ),
    "yunikorn-queue-gone": Situation(
        _queue_gone, "queue-missing", "blocked",
        "YuniKorn rejected application yunikorn-queue-gone-run: Queue root.absent does not exist, or no "
        "placement rule allows it.",
        {"desired": 1, "scheduled": 0}, twin="running",
    ),
    "yunikorn-placeholders": Situation(
        _placeholders, "unschedulable", "waiting", None,
        {"desired": 3, "created": 3, "scheduled": 0, "quorum": None}, twin="unschedulable",
    ),
    "yunikorn-given-up": Situation(
        _given_up, "not-ganged", "degraded",
        "YuniKorn gave up gang scheduling of application yunikorn-given-up-run and places pods "
        "one by one: 2 of 3 pods are placed.",
        {"desired": 3, "created": 3, "scheduled": 2, "quorum": None}, twin="running",
    ),
    "yunikorn-bare": Situation(
        _bare, "exceeds-quota", "blocked",
        "YuniKorn rejected application yunikorn-bare-run: its task groups request 3 CPUs at once, and "
        "queue root.tiny allows at most 2.",
        {"desired": 1, "scheduled": 0}, twin="running",
    ),
    "yunikorn-bare-queue": Situation(
        _bare_queue_gone, "queue-missing", "blocked",
        "YuniKorn rejected application yunikorn-bare-queue-run: Queue root.absent does not exist, or no "
        "placement rule allows it.",
        {"desired": 1, "scheduled": 0}, twin="running",
    ),
}  # fmt: skip


def place_class(name: str) -> type[Place]:
    """Return the place type of a situation."""
    return BarePlace if name.startswith("yunikorn-bare") else Place
