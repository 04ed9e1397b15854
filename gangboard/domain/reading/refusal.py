"""Why a controller could not make pods or Jobs: its newest event about it, and the quota in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.reading.grace import newest_creation
from gangboard.domain.reading.wording import sentence, shorten

# By the Job controller and others (controller_utils.go), and by JobSet (constants.go).
_PODS_REFUSED = frozenset({"FailedCreate"})
_JOBS_REFUSED = frozenset(
    {"JobCreationFailed", "HeadlessServiceCreationFailed", "PVCCreationFailed"}
)
# JobSet's webhook turns followers away until their leader has a node, and says so itself.
_TRANSIENT = "expected, transient error"
# resourcequota admission prints only the resources that are exceeded, in one order in all lists.
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]+), requested: (?P<requested>\S+), "
    r"used: (?P<used>\S+), limited: (?P<limited>\S+)"
)
_FORBIDDEN = re.compile(r'^(?:Error creating: )?(?:[\w.]+ "[^"]*" is forbidden: )?')

_REFUSED = {"the rest": "The rest is", "them": "They are", "it": "It is"}


@dataclass(frozen=True, slots=True)
class Limit:
    """One exceeded resource of a quota; amounts as the API server printed them."""

    resource: str
    requested: str
    used: str
    limited: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that says why something was not made."""

    event: Event
    text: str
    """The refusing text without `Error creating:` and the name of the pod."""
    quota: str = ""
    limits: tuple[Limit, ...] = ()

    def about(self, what: str) -> str:
        """Return the sentence that says who refuses `the rest`, `them` or `it`, and why."""
        if not self.quota:
            return f"{_REFUSED[what]} refused: {sentence(shorten(self.text))}"
        used = ", ".join(_used(limit) for limit in self.limits)
        return f"ResourceQuota “{self.quota}” refuses {what}: {used}."


def newest_refusal(unit: Unit) -> Refusal | None:
    """Return the newest refusal that no later pod disproves; None without one.

    An event of the same second as the newest pod is not older: event times have whole seconds.
    """
    newest = newest_creation(unit.current)
    found = [
        event
        for event in _events(unit)
        if event.last_seen is not None and (newest is None or event.last_seen >= newest)
    ]
    if not found:
        return None
    return read_refusal(max(found, key=lambda event: (event.last_seen, event.meta.ref.name)))


def read_refusal(event: Event) -> Refusal:
    """Return what the event says, with the quota taken apart where one refuses."""
    text = _FORBIDDEN.sub("", event.note, count=1)
    quota = _QUOTA.search(event.note)
    if quota is None:
        return Refusal(event, text)
    requested, used, limited = (
        dict(_amounts(quota[part])) for part in ("requested", "used", "limited")
    )
    limits = tuple(
        Limit(resource, requested.get(resource, ""), used.get(resource, ""), amount)
        for resource, amount in limited.items()
    )
    return Refusal(event, text, quota["name"], limits)


def _events(unit: Unit) -> Iterator[Event]:
    about = {job.meta.ref.uid for job in unit.jobs} | {unit.owner.meta.ref.uid}
    about |= {pod.meta.controller.uid for pod in unit.pods if pod.meta.controller is not None}
    seen = set()
    for event in (*unit.events, *unit.facts.events):
        uid = event.meta.ref.uid
        if uid in seen or event.regarding.uid not in about or _TRANSIENT in event.note:
            continue
        seen.add(uid)
        if event.reason in _PODS_REFUSED or (event.reason in _JOBS_REFUSED and unit.missing_jobs):
            yield event


def _amounts(text: str) -> Iterator[tuple[str, str]]:
    for item in text.strip(", ").split(","):
        resource, _, amount = item.partition("=")
        yield resource, amount


def _used(limit: Limit) -> str:
    text = f"{limit.resource} {limit.used} of {limit.limited} used"
    return text if limit.used == limit.limited else f"{text}, {limit.requested} more asked for"
