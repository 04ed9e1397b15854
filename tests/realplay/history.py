"""The states of the objects of one namespace over time, as a witness of the API server saw them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

ACTION, EXCLUSION = "gangboard.dev/action", "gangboard.dev/exclusion"
_JOB_NAME, _INDEX = "batch.kubernetes.io/job-name", "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True)
class Pod:
    """A pod as the witness needs it."""

    uid: str
    job: str
    job_uid: str
    index: str
    node: str
    is_ready: bool
    is_ending: bool
    is_finished: bool

    @property
    def is_live(self) -> bool:
        """Return whether its processes may run."""
        return not self.is_finished


@dataclass(frozen=True)
class Job:
    """A Job as the witness needs it."""

    uid: str
    name: str
    is_suspended: bool
    is_finished: bool
    pods: int
    terms: tuple[str, ...]
    """Required node affinity terms of its template, as JSON."""
    exclusion: str
    """The annotation of a relocation, or empty."""
    action: str
    """Id of the last action that changed it."""


@dataclass(frozen=True)
class Hold:
    """A Hold."""

    uid: str
    name: str
    job: str
    action: str


@dataclass(frozen=True)
class JobSet:
    """A JobSet."""

    uid: str
    name: str
    is_suspended: bool
    is_finished: bool
    restarts: int


Seen = Pod | Job | Hold | JobSet


@dataclass(frozen=True)
class Change:
    """An object that was written or deleted, and when the witness heard of it (seconds since the epoch)."""

    at: float
    uid: str
    state: Seen | None
    """None: deleted."""


@dataclass
class History:
    """All changes of one namespace in the order in which they were seen."""

    changes: list[Change] = field(default_factory=list)

    def moments(self, since: float, until: float) -> Iterator[Moment]:
        """Yield the state at `since`, and after each change up to `until`."""
        states: dict[str, Seen] = {}
        is_begun = False
        for change in list(self.changes):
            if change.at > until:
                break
            if change.at > since and not is_begun:
                is_begun = True
                yield Moment(since, dict(states))
            if change.state is None:
                states.pop(change.uid, None)
            else:
                states[change.uid] = change.state
            if is_begun:
                yield Moment(change.at, dict(states))
        if not is_begun:
            yield Moment(since, dict(states))

    def at(self, moment: float) -> Moment:
        """Return the state at one time."""
        return next(self.moments(moment, moment))

    def now(self) -> Moment:
        """Return the latest state."""
        return self.at(float("inf"))


@dataclass(frozen=True)
class Moment:
    """The objects at one time, by uid."""

    at: float
    states: dict[str, Seen]

    @property
    def pods(self) -> list[Pod]:
        """All pods."""
        return [state for state in self.states.values() if isinstance(state, Pod)]

    @property
    def holds(self) -> list[Hold]:
        """All Holds."""
        return [state for state in self.states.values() if isinstance(state, Hold)]

    @property
    def jobset(self) -> JobSet | None:
        """The JobSet. A namespace has one."""
        return next((item for item in self.states.values() if isinstance(item, JobSet)), None)

    @property
    def jobs(self) -> list[Job]:
        """All Jobs."""
        return [state for state in self.states.values() if isinstance(state, Job)]

    def job(self, name: str) -> Job | None:
        """Return the Job of a name. While it is created again, the newer one comes last."""
        return next((job for job in reversed(self.jobs) if job.name == name), None)

    def pods_of(self, job: Job) -> list[Pod]:
        """Return the pods of a Job that may run."""
        return [pod for pod in self.pods if pod.job_uid == job.uid and pod.is_live]

    def is_whole(self, job: Job) -> bool:
        """Return whether all pods of a Job are ready, on nodes, and the only ones."""
        pods = self.pods_of(job)
        ready = [pod for pod in pods if pod.is_ready and pod.node and not pod.is_ending]
        return not job.is_suspended and len(pods) == len(ready) == job.pods


def read(kind: str, raw: Json) -> Seen:
    """Return the state of an object as the API server sent it."""
    return _READERS[kind](raw)


def _read_pod(raw: Json) -> Pod:
    meta, status = raw["metadata"], raw.get("status", {})
    owners = [entry["uid"] for entry in meta.get("ownerReferences", ()) if entry.get("controller")]
    labels = meta.get("labels", {})
    return Pod(
        uid=meta["uid"],
        job=labels.get(_JOB_NAME, ""),
        job_uid=owners[0] if owners else "",
        index=labels.get(_INDEX, ""),
        node=raw["spec"].get("nodeName", ""),
        is_ready=_has(status, "Ready"),
        is_ending="deletionTimestamp" in meta,
        is_finished=status.get("phase") in ("Succeeded", "Failed"),
    )


def _read_job(raw: Json) -> Job:
    meta, spec, status = raw["metadata"], raw["spec"], raw.get("status", {})
    notes = meta.get("annotations", {})
    affinity = spec["template"]["spec"].get("affinity") or {}
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return Job(
        uid=meta["uid"],
        name=meta["name"],
        is_suspended=bool(spec.get("suspend")),
        is_finished=_has(status, "Complete") or _has(status, "Failed"),
        pods=spec["parallelism"],
        terms=tuple(map(_text, (required or {}).get("nodeSelectorTerms", ()))),
        exclusion=notes.get(EXCLUSION, ""),
        action=notes.get(ACTION, ""),
    )


def _read_hold(raw: Json) -> Hold:
    meta = raw["metadata"]
    action = meta.get("annotations", {}).get(ACTION, "")
    return Hold(meta["uid"], meta["name"], raw["spec"]["jobName"], action)


def _read_jobset(raw: Json) -> JobSet:
    meta, status = raw["metadata"], raw.get("status", {})
    return JobSet(
        uid=meta["uid"],
        name=meta["name"],
        is_suspended=bool(raw["spec"].get("suspend")),
        is_finished=_has(status, "Completed") or _has(status, "Failed"),
        restarts=status.get("restarts", 0),
    )


_READERS: dict[str, Callable[[Json], Seen]] = {
    "Pod": _read_pod,
    "Job": _read_job,
    "Hold": _read_hold,
    "JobSet": _read_jobset,
}


def _has(status: Json, kind: str) -> bool:
    conditions: Iterable[Json] = status.get("conditions") or ()
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)


def _text(term: Json) -> str:
    return json.dumps(term, sort_keys=True)


def with_requirement(term: str, requirement: Json) -> str:
    """Return a term, as JSON, with one more requirement."""
    decoded: Json = json.loads(term)
    expressions = [*decoded.get("matchExpressions", ()), requirement]
    return _text({**decoded, "matchExpressions": expressions})
