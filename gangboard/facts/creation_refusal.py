"""Why a controller could not make pods or Jobs: its newest event about it, and the quota in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.event import Event
from gangboard.domain.text import names, quote, sentence, shorten
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.unit import Unit

# By the Job controller and others (controller_utils.go).
_PODS_REFUSED = frozenset({"FailedCreate"})
# resourcequota admission prints only the resources that are exceeded, in one order in all lists.
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]{1,253}), requested: (?P<requested>\S+), "
    r"used: (?P<used>\S+), limited: (?P<limited>\S+)"
)
_FORBIDDEN = re.compile(r'^(?:Error creating: )?(?:[\w.]+ "[^"]*" is forbidden: )?')

_DIGITS = 19  # of the largest number that a quota can have

# A quota of cpu or memory takes no pod that does not say how much it wants (resourcequota admission).
_UNSAID = re.compile(r"failed quota: [^:]+: must specify (?P<what>.+)")
_NO_ACCOUNT = re.compile(
    r'error looking up service account (?P<account>[\w.-]+/[\w.-]+): serviceaccount "[^"]*" not found'
)
_NO_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>[\w.-]+) was found")
_DENIED = re.compile(r'^admission webhook "([^"]{1,253})" denied the request: ')
_BY_WEBHOOK = r"webhook “\1”: "
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)"')

_REFUSED = {"the rest": "The rest is", "them": "They are", "it": "It is"}


@dataclass(frozen=True, slots=True)
class Limit:
    """One exceeded resource of a quota; amounts as the API server printed them."""

    resource: str
    requested: str
    used: str
    limited: str


@dataclass(frozen=True, slots=True)
class CreationRefusal:
    """An event that says why something was not made."""

    event: Event
    text: str
    """The refusing text without `Error creating:` and the name of the pod."""
    quota: str = ""
    limits: tuple[Limit, ...] = ()
    of_jobs: bool = False
    """Jobs, or what they need, were refused, and not pods."""

    def about(self, what: str) -> str:
        """Return the sentence that says who refuses `the rest`, `them` or `it`, and why."""
        if not self.quota:
            return (
                f"{_REFUSED[what]} refused: {sentence(quote(_DENIED.sub(_BY_WEBHOOK, self.text)))}"
            )
        used = ", ".join(_used(limit) for limit in self.limits)
        return f"ResourceQuota “{self.quota}” refuses {what}: {used}."


def newest_creation_refusal(unit: Unit) -> CreationRefusal | None:
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
    newest_event = max(found, key=lambda event: (event.last_seen, event.meta.ref.name))
    refusal = read_creation_refusal(newest_event, _beginnings(unit, newest_event))
    return replace(refusal, of_jobs=_refuses_jobs(unit, newest_event))


def read_creation_refusal(event: Event, beginnings: Iterable[str] = ()) -> CreationRefusal:
    """Return what the event says, with the quota taken apart where one refuses.

    `beginnings` are words of its controller that can stand before the refusing text.
    """
    note = event.note
    for words in beginnings:
        note = note.removeprefix(words)
    text = _FORBIDDEN.sub("", note, count=1)
    quota = _QUOTA.search(event.note)
    if quota is None:
        return CreationRefusal(event, text)
    requested, used, limited = (
        dict(_amounts(quota[part])) for part in ("requested", "used", "limited")
    )
    limits = tuple(
        Limit(resource, requested.get(resource, ""), used.get(resource, ""), amount)
        for resource, amount in limited.items()
    )
    return CreationRefusal(event, text, quota["name"], limits)


def remedy(unit: Unit, refusal: CreationRefusal) -> tuple[str, ...]:
    """Return what makes it accepted, where its text leaves no doubt; controllers try again."""
    if refusal.limits:
        objects, others = _pods_refused(unit, refusal)
        return raise_quota(refusal, objects, at_least=others)
    text = refusal.event.note
    unsaid = _UNSAID.search(text)
    if unsaid is not None:
        return (f"Give the pod template {shorten(unsaid['what'])} ({ChangeMethod.RECREATE}).",)
    account = _NO_ACCOUNT.search(text)
    if account is not None:
        return (f"Create ServiceAccount {account['account']}.",)
    priority = _NO_PRIORITY.search(text)
    if priority is not None:
        name = priority["name"]
        return (f"Create PriorityClass {name}, or name one that exists ({ChangeMethod.RECREATE}).",)
    webhook = _WEBHOOK_DOWN.search(text)
    if webhook is not None:
        return (f"Repair webhook “{webhook['name']}”: the API server cannot call it.",)
    return ()


def raise_quota(
    refusal: CreationRefusal, objects: int | None, *, at_least: bool
) -> tuple[str, ...]:
    """Return by how much a quota is short for so many objects that all count like the refused one.

    No amount is said when `objects` is None: then their number, or what each of them asks for, is not
    known. Nothing is said when the quota is not short any more by its own numbers.
    """
    limits, more = refusal.limits, "at least " if at_least else ""
    short = [_shortage(limit, objects) for limit in limits] if objects is not None else []
    if not short or None in short:
        raised = names(limit.resource for limit in limits)
        return (f"Raise {raised} in ResourceQuota “{refusal.quota}”, or free some.",)
    if any(amount is not None and amount <= 0 for amount in short):
        return ()
    raised = names(
        f"{limit.resource} by {more}{amount}" for limit, amount in zip(limits, short, strict=True)
    )
    return (f"Raise {raised} in ResourceQuota “{refusal.quota}”, or free as much.",)


def _pods_refused(unit: Unit, refusal: CreationRefusal) -> tuple[int | None, bool]:
    """Return how many such pods lack, None where they can differ, and whether others may lack too.

    `pods` counts every pod as one; other resources tell of all only where one Job makes them all.
    """
    alike = len(unit.jobs) == 1 or all(limit.resource == "pods" for limit in refusal.limits)
    number = unit.missing if alike and not refusal.of_jobs else None
    return number, unit.desired < unit.owner.desired


def _shortage(limit: Limit, objects: int) -> int | None:
    """Return what the quota lacks for that many; None when its numbers are not plain integers."""
    amounts = (limit.requested, limit.used, limit.limited)
    if not all(amount.isdecimal() and len(amount) <= _DIGITS for amount in amounts):
        return None
    requested, used, limited = (int(amount) for amount in amounts)
    return objects * requested - (limited - used)


def waits_for_leader(unit: Unit) -> bool:
    """Whether pods are not made because the first of their Job has no node yet."""
    jobs = {job.meta.ref.uid for job in unit.jobs}
    return bool(unit.unplaced) and any(
        event.regarding.uid in jobs and _is_about_followers(unit, event)
        for event in (*unit.events, *unit.gang.events)
    )


def _is_about_followers(unit: Unit, event: Event) -> bool:
    return any(
        text in event.note for kind in unit.gang.kinds.values() for text in kind.follower_refusals
    )


def _refuses_jobs(unit: Unit, event: Event) -> bool:
    return event.reason in unit.gang.traits_of(event.regarding).jobs_refused


def _events(unit: Unit) -> Iterator[Event]:
    about = {one.meta.ref.uid for one in (*unit.jobs, *unit.gang.makers)}
    about |= {pod.meta.controller.uid for pod in unit.pods if pod.meta.controller is not None}
    seen = set()
    for event in (*unit.events, *unit.gang.events):
        uid = event.meta.ref.uid
        if uid in seen or event.regarding.uid not in about or _is_about_followers(unit, event):
            continue
        seen.add(uid)
        refuses_pods = event.reason in _PODS_REFUSED or bool(_beginnings(unit, event))
        if refuses_pods or (_refuses_jobs(unit, event) and unit.missing_jobs):
            yield event


def _beginnings(unit: Unit, event: Event) -> tuple[str, ...]:
    """Return the words with which an event of the controller of a kind says that a pod was refused."""
    words = unit.gang.traits_of(event.regarding).pods_refused.get(event.reason, ())
    return tuple(one for one in words if event.note.startswith(one))


def _amounts(text: str) -> Iterator[tuple[str, str]]:
    for item in text.strip(", ").split(","):
        resource, _, amount = item.partition("=")
        yield resource, amount


def _used(limit: Limit) -> str:
    text = f"{limit.resource} {limit.used} of {limit.limited} used"
    return text if limit.used == limit.limited else f"{text}, {limit.requested} more asked for"
