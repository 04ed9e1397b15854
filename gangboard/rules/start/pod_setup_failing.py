"""`pod-setup-failing`: the kubelet cannot make what a pod needs before any container can exist.

Its volumes are not attached or mounted, its devices are not prepared, its sandbox or network cannot be made. The pod's status has
no word of it: its containers stay `ContainerCreating`, and only events tell (pkg/kubelet/events,
pkg/volume/util/operationexecutor). The condition `PodReadyToStartContainers` ends it: since 1.36 the
kubelet sets it before images are pulled (kubernetes #134660).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.text import count, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.containers import container_health, missing_object_advice
from gangboard.facts.findings import starting_finding, unit_finding
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule

_REASONS = frozenset(
    {
        "FailedAttachVolume",
        "FailedCreatePodSandBox",
        "FailedMapVolume",
        "FailedMount",
        "FailedPrepareDynamicResources",
    }
)
_NOT_MADE = frozenset({"", "ContainerCreating", "PodInitializing"})
_GRACE = timedelta(seconds=60)
"""Disks take their time to be attached, and the first tries of a mount often fail."""
_FRESH = timedelta(minutes=6)
"""It tries every two minutes, and says so every five at least (the refill of its event limit)."""
_WRAPPING = re.compile(
    r"""^(?: \w{1,30}\.\w{1,30}[ ]failed[ ]for[ ]volume[ ]"[^"]{1,253}"[ ]:[ ]
    | Failed[ ]to[ ]prepare[ ]dynamic[ ]resources:[ ](?:prepare[ ]dynamic[ ]resources:[ ])?
    | Failed[ ]to[ ]create[ ]pod[ ]sandbox:[ ]
      (?: rpc[ ]error:[ ]code[ ]=[ ]\w{1,30}[ ]desc[ ]=[ ] )?
      (?: failed[ ]to[ ]setup[ ]network[ ]for[ ]sandbox[ ]"[^"]{1,253}":[ ] )? )""",
    re.VERBOSE,
)
"""What stands before the cause: that it is a volume or a sandbox is in the reason (the last part is containerd's)."""
_SHOWN = 3
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods that have a node are refused what comes before containers."""
    waiting = {
        pod.meta.ref.uid: pod for pod in unit.placed if pod.phase == "Pending" and _waits(pod)
    }
    said = _newest(unit, waiting) if waiting else {}
    if not said:
        return None
    often = Counter(event.reason for event in said.values())
    reason = min(often, key=lambda reason: (-often[reason], reason))
    about = {uid: event for uid, event in said.items() if event.reason == reason}
    newest = max(about.values(), key=_time)
    number = len(about)
    verb, their = ("waits", "its") if number == 1 else ("wait", "their")
    message = sentence(
        f"{count(number, 'pod')} {verb} for {their} containers ({reason}): "
        f"{quote(_WRAPPING.sub('', newest.note))}"
    )
    evidence = tuple(
        Evidence(reason, event.note, waiting[uid].meta.ref)
        for uid, event in islice(about.items(), _SHOWN)
    )
    due = min(_placed_at(waiting[uid]) for uid in about) + _GRACE
    if due > unit.now:
        return starting_finding(RULE, unit, message, evidence=evidence, recheck_at=due)
    return unit_finding(
        RULE,
        unit,
        message,
        health=container_health(unit),
        advice=_advice(unit, newest),
        evidence=evidence,
        recheck_at=_time(newest) + _FRESH,
    )


def _advice(unit: Unit, newest: Event) -> tuple[str, ...]:
    step = missing_object_advice(newest.note, unit.owner.meta.ref.namespace)
    return (step,) if step else ()


def _waits(pod: Pod) -> bool:
    """Whether nothing of a pending pod exists yet on its node."""
    if pod.set_up is not None and pod.set_up.is_true:
        return False
    return all(
        container.state in ("", "waiting") and container.reason in _NOT_MADE
        for container in pod.containers
    )


def _newest(unit: Unit, waiting: Mapping[str, Pod]) -> dict[str, Event]:
    """Return the newest fresh refusal of each of these pods, by the pod's uid."""
    found: dict[str, Event] = {}
    for event in unit.events:
        uid = event.regarding.uid
        if event.reason not in _REASONS or uid not in waiting or _time(event) + _FRESH < unit.now:
            continue
        if uid not in found or _time(event) > _time(found[uid]):
            found[uid] = event
    return dict(sorted(found.items(), key=lambda item: waiting[item[0]].meta.ref.name))


def _time(event: Event) -> datetime:
    return event.last_seen or event.first_seen or _LONG_AGO


def _placed_at(pod: Pod) -> datetime:
    times = (pod.scheduled.since if pod.scheduled is not None else None, pod.start_time)
    return next((at for at in (*times, pod.meta.created_at) if at is not None), _LONG_AGO)


RULE = UnitRule(
    "pod-setup-failing", Stage.START, "Pod not set up", 45, find, health=Health.DEGRADED
)
