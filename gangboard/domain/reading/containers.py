"""Containers that do not come up: which, in how many pods, and how bad that is for the gang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from gangboard.domain.pod import Container, Pod
from gangboard.domain.reading.wording import count
from gangboard.domain.verdict import Evidence

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Trouble:
    """The container, by name, that is in trouble in most pods."""

    name: str
    found: tuple[tuple[Pod, Container], ...]

    @property
    def pods(self) -> int:
        """In how many pods."""
        return len(self.found)

    @property
    def worst(self) -> Container:
        """Its state in the pod where it restarted most often."""
        return max(self.found, key=lambda pair: pair[1].restarts)[1]

    @property
    def where(self) -> str:
        """Return `Container main of 3 pods`."""
        return f"Container {self.name} of {count(self.pods, 'pod')}"


def find_trouble(unit: Unit, is_troubled: Callable[[Container], bool]) -> Trouble | None:
    """Return the container that most pods of the unit have in such a state; None without one.

    Only pods that are on a node and stay there are looked at.
    """
    pairs = [
        (pod, container)
        for pod in unit.placed
        for container in pod.containers
        if is_troubled(container)
    ]
    if not pairs:
        return None
    often = Counter(container.name for _, container in pairs)
    name = min(often, key=lambda name: (-often[name], name))
    return Trouble(name, tuple(pair for pair in pairs if pair[1].name == name))


def trouble_health(unit: Unit) -> Health:
    """Return degraded, or blocked when no member of the whole gang runs."""
    return Health.DEGRADED if any(pod.is_ready for pod in unit.facts.pods) else Health.BLOCKED


def trouble_evidence(trouble: Trouble) -> tuple[Evidence, ...]:
    """Return the state of the container in the first few pods, in the kubelet's words."""
    return tuple(
        Evidence(
            f"{pod.meta.ref.name} {container.name}",
            f"{container.reason or container.state}: {container.message}".rstrip(": "),
            pod.meta.ref,
        )
        for pod, container in trouble.found[:_SHOWN]
    )


def last_end(container: Container) -> str:
    """Return `exit code 137 (OOMKilled)` of its last end; empty when it never ended."""
    code, reason = container.last_exit_code, container.last_reason
    if container.state == "terminated":
        code, reason = container.exit_code, container.reason
    if code is None:
        return ""
    return f"exit code {code}" + (f" ({reason})" if reason else "")
