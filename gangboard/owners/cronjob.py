"""CronJobs (batch/v1), which create Jobs. Each Job is a gang of its own.

`spec.suspend` stops a CronJob from starting further runs and leaves existing runs alone. A run is suspended by its own
field, like any Job, and the CronJob does not undo that (both observed on 1.37.0). A suspended run counts as active, so
the concurrency policy decides about the next run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gangboard.decode.owner_meta import WireOwnerMeta
from gangboard.decode.wire import Int32, Wire, read_text
from gangboard.domain.action import Verb
from gangboard.domain.forecast import CreationContext, Manifest, ManifestFault
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.plugins.child_manifests import (
    child,
    is_true,
    name_of,
    section,
    string_map,
    text,
)
from gangboard.plugins.manifest_faults import pod_template_faults, subdomain_fault
from gangboard.plugins.owner_kind import KindNotes, OwnerKind

_SCHEDULE, _ZONE, _CONCURRENCY, _DEADLINE = "schedule", "timeZone", "concurrencyPolicy", "deadline"

_LONGEST_NAME = 52
"""Limit of the API server. The names of Jobs have 63 characters, of which a dash and ten digits are added."""
_NEXT_RUN = "next"


class _WireCronJobSpec(Wire):
    schedule: str | None = None
    time_zone: str | None = None
    suspend: bool | None = None
    concurrency_policy: str | None = None
    starting_deadline_seconds: Int32 | None = None


class WireCronJob(Wire):
    """The fields of a CronJob that gangboard reads."""

    metadata: WireOwnerMeta
    spec: _WireCronJobSpec | None = None


class CronJob(OwnerKind):
    """A CronJob. Its queue label is for its runs, and it has no queue itself."""

    group = "batch"
    kind = "CronJob"
    versions = ("v1",)
    wire = WireCronJob
    needed = False
    notes = KindNotes(
        gang="each run, which is a Job; the CronJob itself is no gang",
        units="those of the Job",
        queues="Kueue, for each run",
        limits=(
            "Its controller does not change a run. A suspended CronJob starts no further "
            "run. With `concurrencyPolicy: Replace` it deletes a suspended run when the "
            "next one is due"
        ),
        tested="the CronJob controller of 1.37",
    )
    levers = ("suspend",)
    makes_gangs = True

    def build(self, wire: WireCronJob, version: str) -> Owner:
        """Return the CronJob with its schedule and its concurrency policy."""
        spec = wire.spec or _WireCronJobSpec()
        deadline = spec.starting_deadline_seconds
        detail = {
            _SCHEDULE: read_text(spec.schedule),
            _ZONE: read_text(spec.time_zone),
            _CONCURRENCY: read_text(spec.concurrency_policy),
            _DEADLINE: "" if deadline is None else str(deadline),
        }
        return Owner(
            meta=self.read_meta(wire, version),
            **self.read_control(wire),
            suspended=bool(spec.suspend),
            grace_seconds=0,
            detail={name: text for name, text in detail.items() if text},
        )

    def creates(self, manifest: Manifest, context: CreationContext) -> Iterator[dict[str, Any]]:
        """Yield the Job of its next run, unless it is suspended (getJobFromTemplate2 in pkg/controller/cronjob/utils.go).

        The real name ends with the minutes since 1970.
        """
        if is_true(manifest, "spec", "suspend"):
            return
        template = section(manifest, "spec", "jobTemplate")
        yield child(
            "batch/v1",
            "Job",
            f"{name_of(manifest)}-{_NEXT_RUN}",
            section(template, "spec"),
            labels=string_map(template, "metadata", "labels"),
            annotations=string_map(template, "metadata", "annotations"),
        )

    def faults(self, manifest: Manifest, context: CreationContext) -> Iterator[ManifestFault]:
        """Yield what the API server refuses (validateCronJobSpec and ValidateCronJobCreate)."""
        spec, name = section(manifest, "spec"), name_of(manifest)
        yield from subdomain_fault("metadata.name", name, "Its name")
        if len(name) > _LONGEST_NAME:
            yield ManifestFault(
                "metadata.name",
                f"Its name has {len(name)} characters, and {_LONGEST_NAME} are allowed. Its Jobs add 11.",
            )
        if not text(spec, "schedule"):
            yield ManifestFault("spec.schedule", "It has no schedule.")
        yield from pod_template_faults(
            section(spec, "jobTemplate", "spec", "template"),
            "spec.jobTemplate.spec.template",
            restart_policies=("Never", "OnFailure"),
        )

    def read_queue(self, metadata: WireOwnerMeta) -> str:
        """Return no queue, because the label is for the runs."""
        return ""

    def sentence(self, owner: Owner) -> str:
        """Return the sentence about its schedule, or about its suspension."""
        name = label(owner.meta.ref)
        schedule = owner.detail.get(_SCHEDULE, "")
        zone = owner.detail.get(_ZONE, "")
        when = f"{schedule}, {zone}" if zone else schedule
        if owner.suspended:
            return f"{name} ({when}) is suspended: it starts no further run."
        return f"{name} starts a run by its schedule, {when}."

    def reactions(self, owner: Owner, target: Owner, verb: Verb) -> tuple[str, ...]:
        """Return the consequences for runs if the CronJob, or one of its runs, is suspended or resumed."""
        if target.meta.ref.uid == owner.meta.ref.uid:
            return _own_reactions(owner, verb)
        return _run_reactions(owner) if verb is Verb.SUSPEND else ()


def _own_reactions(cronjob: Owner, verb: Verb) -> tuple[str, ...]:
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


def _run_reactions(cronjob: Owner) -> tuple[str, ...]:
    """Return the consequences for the next run while this one is suspended and counts as active."""
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
