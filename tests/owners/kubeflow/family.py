"""TFJobs, XGBoostJobs, PaddleJobs and JAXJobs of a real training-operator, and the expected verdicts.

They differ from PyTorchJobs in the names of their roles and in the role that ends them (UpdateJobStatus of
each kind in training-operator 1.9.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.controlplane.client import Json
from tests.controlplane.kubeflow import replicas
from tests.owners.kubeflow.place import Place, suspended
from tests.situations import Situation

KILLED, BROKEN = 137, 1
"""Exit codes: of SIGKILL, after which `ExitCode` makes a pod anew, and of an error, which ends the job."""


@dataclass
class Relative(Place):
    """For jobs of two pods."""

    sizes: ClassVar[Mapping[str, int]]
    """Pods of each role. By the first role the job ends."""

    def roles(self, **options: Any) -> dict[str, Json]:
        """Return each role with these options."""
        return {role: replicas(number, **options) for role, number in self.sizes.items()}

    @property
    def first_role(self) -> str:
        """Return the role by which it ends."""
        return next(iter(self.sizes))

    def first_pods(self, name: str) -> list[str]:
        """Return the pods of that role."""
        role = self.first_role
        return [f"{name}-{role.lower()}-{index}" for index in range(self.sizes[role])]

    def last_pod(self, name: str) -> str:
        """Return one with whose end the job goes on."""
        role = list(self.sizes)[-1]
        return f"{name}-{role.lower()}-{self.sizes[role] - 1}"


@dataclass
class Jax(Relative):
    """For JAXJobs, which end when all their workers are done."""

    kind: ClassVar[str] = "JAXJob"
    sizes: ClassVar[Mapping[str, int]] = {"Worker": 2}


@dataclass
class Paddle(Relative):
    """For PaddleJobs."""

    kind: ClassVar[str] = "PaddleJob"
    sizes: ClassVar[Mapping[str, int]] = {"Master": 1, "Worker": 1}


@dataclass
class TensorFlow(Relative):
    """For TFJobs."""

    kind: ClassVar[str] = "TFJob"
    sizes: ClassVar[Mapping[str, int]] = {"Chief": 1, "PS": 1}


@dataclass
class Boost(Relative):
    """For XGBoostJobs."""

    kind: ClassVar[str] = "XGBoostJob"
    sizes: ClassVar[Mapping[str, int]] = {"Master": 1, "Worker": 1}


KINDS: dict[str, type[Relative]] = {"jax": Jax, "paddle": Paddle, "tf": TensorFlow, "xgb": Boost}


def _half(place: Relative) -> None:
    """One pod finds room, and the other one does not. Twin: no node is large enough for either."""
    place.run(roles=place.roles(cpu="40"))
    place.run("twin", roles=place.roles(cpu="65"))


def _killed(place: Relative) -> None:
    """It is killed, and made anew it does not come up. Twin: it ends with an error, which is for good."""
    for name in ("run", "twin"):
        place.run(name, roles=place.roles(restart="ExitCode"))
    for name in ("run", "twin"):
        place.wait_told("running", name)
    place.let_none_come_up(place.first_role)
    for pod in place.first_pods("run"):
        place.end(pod, KILLED)
    place.end(place.first_pods("twin")[0], BROKEN)


def _done(place: Relative) -> None:
    """The role by which it ends is done; what else there is stays. Twin: another pod is done, and it goes on."""
    for name in ("run", "twin"):
        place.run(name)
    for name in ("run", "twin"):
        place.wait_told("running", name)
    for pod in place.first_pods("run"):
        place.end(pod, 0)
    place.end(place.last_pod("twin"), 0)


def _situations(short: str) -> dict[str, Situation[Any]]:
    """Return the situations of a kind, with seven verdicts about one of its jobs."""
    relative = KINDS[short]
    kind, (first, *rest) = relative.kind, relative.sizes
    remaining = sum(relative.sizes[role] for role in rest)
    gone = relative.sizes[first]
    of_role = f"Role {first}: " if rest else ""
    stays = f" {remaining} pod is still there." if remaining else ""
    return {
        f"{short}-half": Situation(
            _half, "partly-placed", "degraded", None,
            {"desired": 2, "created": 2, "scheduled": 1, "ready": 1}, twin="no-matching-node",
        ),
        f"{short}-suspended": Situation(
            suspended, "suspended", "suspended", None,
            {"desired": 2, "created": 0, "ready": 0}, twin="running",
        ),
        f"{short}-killed": Situation(
            _killed, "restarting", "degraded", f"{of_role}Restarting: 0 of {gone} pods are ready.",
            {"desired": 2, "created": 2, "ready": remaining}, twin="failed",
        ),
        f"{short}-done": Situation(
            _done, "succeeded", "succeeded", f"The {kind} succeeded.{stays}",
            {"desired": 2, "ready": remaining}, twin="running",
        ),
    }  # fmt: skip


def _ended_by_one(place: Relative) -> None:
    """Its operator starts no pod anew that failed, though it says OnFailure. Twin: ExitCode, which is heeded."""
    policies = {"run": "OnFailure", "twin": "ExitCode"}
    for name, restart in policies.items():
        place.run(name, roles=place.roles(restart=restart))
    for name in policies:
        place.wait_told("running", name)
        place.let_none_come_up(place.first_role, name)
    for name in policies:
        place.end(place.first_pods(name)[0], KILLED)


FAMILY = {
    **{name: item for short in KINDS for name, item in _situations(short).items()},
    "xgb-ended": Situation(
        _ended_by_one, "failed", "failed", None, {"desired": 2}, twin="restarting"
    ),
}
