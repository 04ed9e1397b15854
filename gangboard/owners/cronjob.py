"""CronJobs (batch/v1): they make Jobs, each of which is a gang of its own.

`spec.suspend` of a CronJob keeps it from starting the next run and touches no run that is there. Nor
does it undo what is done to one of them: a run is suspended by its own field, as any Job (both seen
on 1.37.0). A suspended run counts as one that is still active, so the concurrency policy decides
what becomes of the next.
"""

from __future__ import annotations

from gangboard.decode.annotations import WireActed
from gangboard.decode.managers import last_writer
from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, read_meta, read_text, read_time
from gangboard.domain.action import Verb
from gangboard.domain.api_resource import Resource
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_SCHEDULE, _ZONE, _CONCURRENCY, _DEADLINE = "schedule", "timeZone", "concurrencyPolicy", "deadline"


class _WireCronJobMeta(WireOwnerMeta):
    annotations: WireActed | None = None


class _WireCronJobSpec(Wire):
    schedule: str | None = None
    time_zone: str | None = None
    suspend: bool | None = None
    concurrency_policy: str | None = None
    starting_deadline_seconds: Int32 | None = None


class WireCronJob(Wire):
    """A CronJob as narrow as it is kept."""

    metadata: _WireCronJobMeta
    spec: _WireCronJobSpec | None = None


def _build(wire: WireCronJob, version: str) -> Owner:
    spec = wire.spec or _WireCronJobSpec()
    annotations = wire.metadata.annotations or WireActed()
    suspend_set_by, set_at = last_writer(wire.metadata.managed_fields, "/spec/suspend")
    deadline = spec.starting_deadline_seconds
    given = {
        _SCHEDULE: read_text(spec.schedule),
        _ZONE: read_text(spec.time_zone),
        _CONCURRENCY: read_text(spec.concurrency_policy),
        _DEADLINE: "" if deadline is None else str(deadline),
    }
    return Owner(
        meta=read_meta(wire.metadata, "batch", "CronJob", version),
        suspended=bool(spec.suspend),
        suspend_set_by=suspend_set_by,
        suspend_set_at=read_time(set_at),
        last_action=annotations.last_action,
        grace_seconds=0,
        detail={name: text for name, text in given.items() if text},
    )


def _sentence(cronjob: Owner) -> str:
    """Return when it starts runs, or that it starts none."""
    name = label(cronjob.meta.ref)
    schedule = cronjob.detail.get(_SCHEDULE, "")
    zone = cronjob.detail.get(_ZONE, "")
    when = f"{schedule}, {zone}" if zone else schedule
    if cronjob.suspended:
        return f"{name} ({when}) is suspended: it starts no further run."
    return f"{name} starts a run by its schedule, {when}."


def _reactions(cronjob: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
    if target.meta.ref.uid == cronjob.meta.ref.uid:
        return _of_itself(cronjob, verb)
    return _of_a_run(cronjob) if verb is Verb.SUSPEND else ()


def _of_itself(cronjob: Owner, verb: Verb) -> tuple[str, ...]:
    if verb is Verb.SUSPEND:
        return ("It starts no further run; runs that are there go on.",)
    deadline = cronjob.detail.get(_DEADLINE)
    if deadline is not None:
        return (
            "It starts runs by its schedule again; of those that it missed, the last one at once "
            f"where that is less than {deadline} s ago.",
        )
    return (
        "It starts runs by its schedule again; if it has missed any, the last of them at once.",
    )


def _of_a_run(cronjob: Owner) -> tuple[str, ...]:
    """Say what becomes of the next run while this one is suspended and counts as active."""
    name, policy = label(cronjob.meta.ref), cronjob.detail.get(_CONCURRENCY)
    if cronjob.suspended:
        return (f"{name} is suspended, too: it starts no further run.",)
    if policy == "Forbid":
        return (f"{name} starts no other run while this one is there (concurrencyPolicy Forbid).",)
    if policy == "Replace":
        return (
            f"At its next time {name} deletes this run and starts another (concurrencyPolicy "
            "Replace); suspend that as well to keep this one.",
        )
    return (f"{name} starts its next run all the same; suspend that as well to stop it.",)


OWNER = OwnerKind(
    resource=Resource(
        group="batch",
        plural="cronjobs",
        kind="CronJob",
        versions=("v1",),
        wire=WireCronJob,
        model=Owner,
        build=_build,
        decoder_version=5,
    ),
    label="CronJob",
    notes=KindNotes(
        gang="each run, a Job, is one; the CronJob is none",
        units="as of the Job",
        queues="Kueue takes its runs",
        limits=(
            "nothing: it leaves a run alone. Suspended it starts no further run. With "
            "`concurrencyPolicy: Replace` it deletes a suspended run when the next is due"
        ),
        tested="the CronJob controller of 1.37",
    ),
    levers=("suspend",),
    makes_gangs=True,
    reactions=_reactions,
    sentence=_sentence,
)
