"""Failed creations of pods and Jobs: the newest refusal, its quota, and the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gangboard.domain.advice import ChangeMethod
from gangboard.domain.event import Event
from gangboard.domain.text import names, quote, sentence, shorten
from gangboard.facts.grace_periods import newest_creation
from gangboard.facts.unit import Unit

# Used by the Job controller and others (controller_utils.go).
_PODS_REFUSED = frozenset({"FailedCreate"})
# resourcequota admission prints the exceeded resources only, in the same order in all lists.
_QUOTA = re.compile(
    r"exceeded quota: (?P<name>[^,]{1,253}), requested: (?P<requested>\S+), "
    r"used: (?P<used>\S+), limited: (?P<limited>\S+)"
)
_FORBIDDEN = re.compile(r'^(?:Error creating: )?(?:[\w.]+ "[^"]*" is forbidden: )?')

_DIGITS = 19  # of the largest number that a quota can have

# A quota for cpu or memory rejects pods without such a request (resourcequota admission).
_NO_REQUEST = re.compile(r"failed quota: [^:]+: must specify (?P<what>.+)")
_NO_ACCOUNT = re.compile(
    r'error looking up service account (?P<account>[\w.-]+/[\w.-]+): serviceaccount "[^"]*" not found'
)
_NO_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>[\w.-]+) was found")
_DENIED = re.compile(r'^admission webhook "([^"]{1,253})" denied the request: ')
_WEBHOOK_DOWN = re.compile(r'failed calling webhook "(?P<name>[^"]+)"')

_REFUSED = {"the rest": "The rest is", "them": "They are", "it": "It is"}


@dataclass(frozen=True, slots=True)
class Limit:
    """Exceeded resource of a quota, with the amounts as the API server printed them."""

    resource: str
    requested: str
    used: str
    limited: str


@dataclass(frozen=True, slots=True)
class CreationRefusal:
    """Event that says why a pod or Job was not created."""

    event: Event
    text: str
    """Text of the refusal, without `Error creating:` and the name of the pod."""
    quota: str = ""
    limits: tuple[Limit, ...] = ()
    of_jobs: bool = False
    """Jobs, or objects that they need, were refused instead of pods."""

    def about(self, pronoun: str) -> str:
        """Return the sentence about the refusal of `the rest`, `them` or `it`."""
        if not self.quota:
            webhook = _DENIED.match(self.text)
            by = f"webhook “{webhook[1]}”: " if webhook is not None else ""
            return f"{_REFUSED[pronoun]} refused: {by}{sentence(quote(_DENIED.sub('', self.text)))}"
        used = ", ".join(_used(limit) for limit in self.limits)
        return f"ResourceQuota “{self.quota}” refuses {pronoun}: {used}."


def newest_creation_refusal(unit: Unit) -> CreationRefusal | None:
    """Return the newest refusal after the newest pod was created, or None.

    An event in the same second as that pod counts, because event times have whole seconds.
    """
    newest = newest_creation(unit.current)
    events = [
        event
        for event in _events(unit)
        if event.last_seen is not None and (newest is None or event.last_seen >= newest)
    ]
    if not events:
        return None
    newest_event = max(events, key=lambda event: (event.last_seen, event.meta.ref.name))
    refusal = read_creation_refusal(newest_event, _note_prefixes(unit, newest_event))
    return replace(refusal, of_jobs=_refuses_jobs(unit, newest_event))


def read_creation_refusal(event: Event, prefixes: Iterable[str] = ()) -> CreationRefusal:
    """Parse a refusal and its quota from an event.

    `prefixes` are texts of the controller that can precede the text of the refusal.
    """
    note = event.note
    for prefix in prefixes:
        note = note.removeprefix(prefix)
    text = _FORBIDDEN.sub("", note, count=1)
    quota = _QUOTA.search(event.note)
    if quota is None:
        return CreationRefusal(event, text)
    requested, used, limited = (
        dict(_amounts(quota[key])) for key in ("requested", "used", "limited")
    )
    limits = tuple(
        Limit(resource, requested.get(resource, ""), used.get(resource, ""), amount)
        for resource, amount in limited.items()
    )
    return CreationRefusal(event, text, quota["name"], limits)


def remedy(unit: Unit, refusal: CreationRefusal) -> tuple[str, ...]:
    """Return advice that removes the refusal, if its text is clear. Controllers retry the creation."""
    if refusal.limits:
        objects, is_minimum = _pods_refused(unit, refusal)
        return raise_quota(refusal, objects, at_least=is_minimum)
    text = refusal.event.note
    no_request = _NO_REQUEST.search(text)
    if no_request is not None:
        return (f"Give the pod template {shorten(no_request['what'])} ({ChangeMethod.RECREATE}).",)
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
    """Return advice to raise the quota for a number of objects with the requests of the refused one.

    It has no amounts if `objects` is None, because the number of objects or their requests are unknown. The result is
    empty if the quota is sufficient by its own numbers.
    """
    limits, minimum = refusal.limits, "at least " if at_least else ""
    short = [_shortage(limit, objects) for limit in limits] if objects is not None else []
    if not short or None in short:
        raised = names(limit.resource for limit in limits)
        return (f"Raise {raised} in ResourceQuota “{refusal.quota}”, or free some.",)
    if any(amount is not None and amount <= 0 for amount in short):
        return ()
    raised = names(
        f"{limit.resource} by {minimum}{amount}"
        for limit, amount in zip(limits, short, strict=True)
    )
    return (f"Raise {raised} in ResourceQuota “{refusal.quota}”, or free as much.",)


def _pods_refused(unit: Unit, refusal: CreationRefusal) -> tuple[int | None, bool]:
    """Return the number of missing pods, and whether other units may lack pods as well.

    The number is None if the pods can have different requests. The resource `pods` counts every pod as one. For other
    resources all pods must be of one Job.
    """
    alike = len(unit.jobs) == 1 or all(limit.resource == "pods" for limit in refusal.limits)
    number = unit.missing if alike and not refusal.of_jobs else None
    return number, unit.desired < unit.owner.desired


def _shortage(limit: Limit, objects: int) -> int | None:
    """Return the amount that the quota lacks for these objects, or None if its numbers are no plain integers."""
    amounts = (limit.requested, limit.used, limit.limited)
    if not all(amount.isdecimal() and len(amount) <= _DIGITS for amount in amounts):
        return None
    requested, used, limited = (int(amount) for amount in amounts)
    return objects * requested - (limited - used)


def waits_for_leader(unit: Unit) -> bool:
    """Return whether pods are not created because the first pod of their Job has no node yet."""
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
    subjects = {owner.meta.ref.uid for owner in (*unit.jobs, *unit.gang.makers)}
    subjects |= {pod.meta.controller.uid for pod in unit.pods if pod.meta.controller is not None}
    known = set()
    for event in (*unit.events, *unit.gang.events):
        uid = event.meta.ref.uid
        if uid in known or event.regarding.uid not in subjects or _is_about_followers(unit, event):
            continue
        known.add(uid)
        refuses_pods = event.reason in _PODS_REFUSED or bool(_note_prefixes(unit, event))
        if refuses_pods or (_refuses_jobs(unit, event) and unit.missing_jobs):
            yield event


def _note_prefixes(unit: Unit, event: Event) -> tuple[str, ...]:
    """Return the prefixes of the note if the event reports a refused pod in the way of its kind."""
    prefixes = unit.gang.traits_of(event.regarding).pods_refused.get(event.reason, ())
    return tuple(prefix for prefix in prefixes if event.note.startswith(prefix))


def _amounts(text: str) -> Iterator[tuple[str, str]]:
    for item in text.strip(", ").split(","):
        resource, _, amount = item.partition("=")
        yield resource, amount


def _used(limit: Limit) -> str:
    text = f"{limit.resource} {limit.used} of {limit.limited} used"
    return text if limit.used == limit.limited else f"{text}, {limit.requested} more requested"
