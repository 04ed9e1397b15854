"""The observer: every state of every action, and the state of the cluster at each read of a
worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from gangboard.domain.action import ActionState
from gangboard.store.models import Action
from tests.interleavings.site import HOLDS, JOBS, JOBSETS, Json, Site
from tests.interleavings.trace import Trace
from tests.interleavings.wire import owner_uids

MARK = "gangboard.dev/action"
_LOOKS = 6
"""Reads of one action that its last look can consist of."""


@dataclass(frozen=True)
class Moment:
    """One state of an action, and since when."""

    at: float
    state: ActionState
    is_open: bool


@dataclass(frozen=True)
class Truth:
    """The state of the cluster at one moment, as far as one action is concerned."""

    stopped: bool | None
    """By the lever of the action. None if the object, or a part of it, is missing."""
    live_pods: int
    hold: bool
    """An existing Hold holds it."""
    nodes: frozenset[str] = frozenset()
    """Nodes of its unfinished pods."""


@dataclass
class Observer:
    """Records facts that invariants need and gangboard does not store."""

    site: Site
    trace: Trace
    history: dict[str, list[Moment]] = field(default_factory=dict)
    truths: dict[str, list[Truth]] = field(default_factory=dict)
    """Action → how it was at its worker's last reads."""
    at_verified: dict[str, list[Truth]] = field(default_factory=dict)
    crowds: list[str] = field(default_factory=list)
    """Moments at which one object had two open actions."""
    has_work: bool = False
    """An action is due, now or later."""
    _changes: int = -1

    def record_changes(self) -> None:
        """Record changes in the database since the last call."""
        if not self._has_news():
            return
        open_ones: dict[str, str] = {}
        rows = Action.objects.order_by("requested_at", "id")
        self.has_work = False
        for pk, uid, state, finished_at, due_at in rows.values_list(
            "pk", "uid", "state", "finished_at", "due_at"
        ):
            self.has_work |= due_at is not None
            if finished_at is None:
                if uid in open_ones:
                    self.crowds.append(f"{open_ones[uid]} and {pk} are open on one object")
                open_ones[uid] = pk
            self._note(pk, ActionState(state), is_open=finished_at is None)

    def skip(self) -> None:
        """Ignore the latest writes: the poll writes no actions."""
        self._has_news()

    def _has_news(self) -> bool:
        before, self._changes = self._changes, connection.connection.total_changes
        return before != self._changes

    def _note(self, pk: str, state: ActionState, *, is_open: bool) -> None:
        moments = self.history.setdefault(pk, [])
        if moments and (moments[-1].state, moments[-1].is_open) == (state, is_open):
            return
        if not moments and self.trace.short(pk) == pk:
            self.trace.name(pk, f"G{pk[:3]}")  # requested by gangboard itself
        moments.append(Moment(self.site.clock.seconds, state, is_open))
        message = Action.objects.values_list("message", flat=True).get(pk=pk)
        self.trace.write("database", f"{pk} {state}{'' if is_open else ' (over)'}: {message}")
        if state is ActionState.VERIFIED:
            self.at_verified[pk] = self.truths.get(pk, [])[-_LOOKS:]

    def on_read(self, action: str) -> None:
        """Take note of how the cluster is at the moment at which a worker reads it."""
        row = Action.objects.filter(pk=action).first()
        if row is not None:
            self.truths.setdefault(action, []).append(self.truth(row))

    # The cluster itself

    def truth(self, action: Action) -> Truth:
        """Return how the cluster is now, as far as the action is concerned."""
        kind = JOBS if action.kind == "Job" else JOBSETS
        obj = self.site.find(kind, action.name)
        if obj is None:
            return Truth(None, 0, hold=False)
        jobs = [obj]
        if action.kind == "JobSet":
            jobs = [
                job for job in self.site.objects(JOBS) if obj["metadata"]["uid"] in owner_uids(job)
            ]
        holds = [hold for hold in self.site.objects(HOLDS) if _holds(hold, obj)]
        changed = [obj]
        if action.kind == "JobSet" and action.lever == "native":
            # Those that were suspended before by an action of their own are not this one's.
            paths = {subject["path"] for subject in action.context.get("subjects", ())}
            names = {path.rpartition("/")[2] for path in paths}
            changed = jobs = [job for job in jobs if job["metadata"]["name"] in names]
        pods = [pod for job in jobs for pod in self.site.pods_of(job["metadata"]["uid"])]
        stopped = {_is_stopped(changed_job, action.lever) for changed_job in changed}
        return Truth(
            stopped.pop() if len(stopped) == 1 else None,
            sum(map(_is_live, pods)),
            hold=bool(holds),
            nodes=frozenset(
                pod["spec"]["nodeName"]
                for pod in pods
                if _is_live(pod) and "nodeName" in pod["spec"]
            ),
        )

    def is_gone(self, action: Action) -> bool:
        """Return whether the object of an action no longer exists by name."""
        return self.site.find(JOBS if action.kind == "Job" else JOBSETS, action.name) is None

    def agrees(self, action: Action, truths: list[Truth]) -> str:
        """Return the facts that contradict a verified action in all of some moments, or an empty
        list."""
        if action.verb == "relocate":
            return _relocation_error(action, truths)
        suspends = action.verb == "suspend"
        changed = bool(action.context.get("subjects"))
        if changed and not any(truth.stopped is suspends for truth in truths):
            return f"at no moment {action.name} was {'' if suspends else 'not '}stopped"
        if suspends and not any(truth.live_pods == 0 for truth in truths):
            return "its pods were never gone"
        if suspends and action.lever == "hold" and not any(truth.hold for truth in truths):
            return "its Hold was never there"
        return ""


def _relocation_error(action: Action, truths: list[Truth]) -> str:
    left = set(action.context["left"])
    if any(truth.stopped is False and truth.nodes and not truth.nodes & left for truth in truths):
        return ""
    return f"at no moment {action.name} ran outside {sorted(left)}"


def last_action_id(obj: Json) -> str:
    """Return the id of the action that an object bears."""
    annotations: dict[str, Any] = obj["metadata"].get("annotations") or {}
    return str(annotations.get(MARK, ""))


def _is_stopped(obj: Json, lever: str) -> bool:
    if lever == "parallelism":
        return bool(obj["spec"].get("parallelism") == 0)
    return bool(obj["spec"].get("suspend"))


def _is_live(pod: Json) -> bool:
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def _holds(hold: Json, job: Json) -> bool:
    spec = hold["spec"]
    return spec["jobName"] == job["metadata"]["name"] and spec["ownerUID"] in owner_uids(job)
