"""`pod-setup-failing`: the kubelet cannot set up the pod, so its containers cannot exist yet.

Volumes are not attached or mounted, devices are not prepared, or the sandbox or network cannot be created. The
pod's status does not show this: its containers stay `ContainerCreating`. The rule reads events
(pkg/kubelet/events, pkg/volume/util/operationexecutor). The condition `PodReadyToStartContainers` ends this
state. Since 1.36 the kubelet sets it before it pulls images (kubernetes #134660).
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
_BEFORE_CREATION = frozenset({"", "ContainerCreating", "PodInitializing"})
_GRACE = timedelta(seconds=60)
"""Attaching a disk takes time, and the first attempts of a mount often fail."""
_EVENT_LIFETIME = timedelta(minutes=6)
"""The kubelet retries every two minutes and writes an event at least every five (the refill of its event limit)."""
_PREFIXES = re.compile(
    r"""^(?: \w{1,30}\.\w{1,30}[ ]failed[ ]for[ ]volume[ ]"[^"]{1,253}"[ ]:[ ]
    | Failed[ ]to[ ]prepare[ ]dynamic[ ]resources:[ ](?:prepare[ ]dynamic[ ]resources:[ ])?
    | Failed[ ]to[ ]create[ ]pod[ ]sandbox:[ ]
      (?: rpc[ ]error:[ ]code[ ]=[ ]\w{1,30}[ ]desc[ ]=[ ] )?
      (?: failed[ ]to[ ]setup[ ]network[ ]for[ ]sandbox[ ]"[^"]{1,253}":[ ] )? )""",
    re.VERBOSE,
)
"""Prefixes before the cause. The reason already says volume or sandbox; the last part is containerd's."""
_MAX_SHOWN = 3
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def find(unit: Unit) -> Finding | None:
    """Return a finding while pods on a node wait for their setup and events report failures."""
    waiting = {
        pod.meta.ref.uid: pod
        for pod in unit.placed
        if pod.phase == "Pending" and _is_before_setup(pod)
    }
    newest_events = _newest_failures(unit, waiting) if waiting else {}
    if not newest_events:
        return None
    counts = Counter(event.reason for event in newest_events.values())
    reason = min(counts, key=lambda reason: (-counts[reason], reason))
    same_reason = {uid: event for uid, event in newest_events.items() if event.reason == reason}
    newest = max(same_reason.values(), key=_time)
    number = len(same_reason)
    verb, pronoun = ("waits", "its") if number == 1 else ("wait", "their")
    message = sentence(
        f"{count(number, 'pod')} {verb} for {pronoun} containers ({reason}): "
        f"{quote(_PREFIXES.sub('', newest.note))}"
    )
    evidence = tuple(
        Evidence(reason, event.note, waiting[uid].meta.ref)
        for uid, event in islice(same_reason.items(), _MAX_SHOWN)
    )
    due = min(_placed_at(waiting[uid]) for uid in same_reason) + _GRACE
    if due > unit.now:
        return starting_finding(RULE, unit, message, evidence=evidence, recheck_at=due)
    return unit_finding(
        RULE,
        unit,
        message,
        health=container_health(unit),
        advice=_advice(unit, newest),
        evidence=evidence,
        recheck_at=_time(newest) + _EVENT_LIFETIME,
    )


def _advice(unit: Unit, newest: Event) -> tuple[str, ...]:
    step = missing_object_advice(newest.note, unit.owner.meta.ref.namespace)
    return (step,) if step else ()


def _is_before_setup(pod: Pod) -> bool:
    """Return whether no container of a pending pod exists on its node yet."""
    if pod.set_up is not None and pod.set_up.is_true:
        return False
    return all(
        container.state in ("", "waiting") and container.reason in _BEFORE_CREATION
        for container in pod.containers
    )


def _newest_failures(unit: Unit, waiting: Mapping[str, Pod]) -> dict[str, Event]:
    """Return the newest recent failure of each of these pods, by the pod's uid."""
    failures: dict[str, Event] = {}
    for event in unit.events:
        uid = event.regarding.uid
        if (
            event.reason not in _REASONS
            or uid not in waiting
            or _time(event) + _EVENT_LIFETIME < unit.now
        ):
            continue
        if uid not in failures or _time(event) > _time(failures[uid]):
            failures[uid] = event
    return dict(sorted(failures.items(), key=lambda item: waiting[item[0]].meta.ref.name))


def _time(event: Event) -> datetime:
    return event.last_seen or event.first_seen or _EARLIEST


def _placed_at(pod: Pod) -> datetime:
    times = (pod.scheduled.since if pod.scheduled is not None else None, pod.start_time)
    return next((time for time in (*times, pod.meta.created_at) if time is not None), _EARLIEST)


RULE = UnitRule(
    "pod-setup-failing", Stage.START, "Pod not set up", 45, find, health=Health.DEGRADED
)
