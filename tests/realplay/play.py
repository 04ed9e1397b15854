"""One case from its objects to its record: set-up, request, disturbances, the calm, and a second action."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import urllib3

from tests.acting.scene import AWAY, Scene, wait
from tests.controlplane.client import WaitError
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JobOptions, jobset, podgroup
from tests.realplay.cases import RACKS, Case, FollowUp
from tests.realplay.deeds import Done, Meddler
from tests.realplay.history import History, Json, Moment, with_requirement

T = TypeVar("T")

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
JOB = "run-w-0"
"""The Job that moves."""
END_SECONDS = 240.0
"""Within which each action ends. The lease of a killed worker alone takes 30 s."""
REST_SECONDS = 90.0
"""Within which the JobSet runs again once people and kills have ended."""
_CPU = 8
_TRIES = 4
_OWN_TERM: Json = {
    "matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]
}


@dataclass(frozen=True)
class Played:
    """An action of a case, as the API shows it after its end."""

    verb: str
    row: Json
    requested_at: float
    left: frozenset[str] = frozenset()
    """Nodes that it leaves."""
    requirement: Json | None = None
    """Node requirement that it adds."""
    fits: bool = True
    """Whether the Job fits elsewhere, counted by hand."""
    in_calm: bool = False
    """Requested when people and kills had ended."""

    @property
    def state(self) -> str:
        """Its final state, or `open` if it has none."""
        return str(self.row["state"]) if self.row["finished_at"] else "open"

    @property
    def message(self) -> str:
        """Its sentence."""
        return str(self.row["message"])


@dataclass
class Record:
    """All facts about one case that the judge needs."""

    case: Case
    namespace: str
    history: History
    began_at: float = 0.0
    """When its relocation was requested, in seconds since the epoch."""
    actions: list[Played] = field(default_factory=list)
    deeds: list[Done] = field(default_factory=list)
    rested_at: list[float] = field(default_factory=list)
    """When the JobSet was at rest after each action."""
    problems: list[str] = field(default_factory=list)
    """Waits that were not over in time."""

    @property
    def own_terms(self) -> tuple[str, ...]:
        """Required node affinity terms of the user."""
        return (with_requirement("{}", _OWN_TERM["matchExpressions"][0]),) * bool(
            self.case.own_affinity
        )


def patiently(read: Callable[[], T], seconds: float = 60.0) -> T:
    """Repeat a read or an idempotent write while gangboard or the API server restarts."""
    ends_at = time.monotonic() + seconds
    while True:
        try:
            return read()
        except (*AWAY, urllib3.exceptions.HTTPError, AssertionError) as error:
            if time.monotonic() > ends_at or isinstance(error, WaitError):
                raise
        time.sleep(0.5)


class Play:
    """Plays one case in a scene."""

    def __init__(self, scene: Scene, case: Case, history: History) -> None:
        self.record = Record(case, scene.namespace, history)
        self._scene, self._case, self._history = scene, case, history
        self._meddler = Meddler(scene, JOB, history)
        self._avoid: Json = {}
        self._planned: Played | None = None

    # Before

    def set_up(self) -> None:
        """Make the nodes and the JobSet, and wait until gangboard has stored the pods on their nodes."""
        case, scene = self._case, self._scene
        scene.set_up(nodes=0)
        nodes = [
            node(
                f"{scene.namespace}-{index}",
                cpu=str(_CPU),
                labels={**scene.where, **({ZONE: f"z{index % RACKS}"} if case.racks else {})},
            )
            for index in range(case.nodes)
        ]
        make_nodes(scene.client, nodes)
        scene.client.create_all(self._objects())
        scene.wait_running(case.jobs * case.pods)
        wait(self._is_whole, what="the witness to see all pods")
        self._planned = self._plan_leaving()

    def _objects(self) -> list[Json]:
        case, scene = self._case, self._scene
        options: JobOptions = {
            "replicas": case.jobs,
            "pods": case.pods,
            "cpu": str(_CPU // case.pods_per_node - 1),
            "grace": case.grace,
            "node_selector": scene.where,
        }
        if case.grace:
            options["linger"] = f"{case.grace}s"
        has_group = case.group and scene.plane.minor >= 37
        if has_group:
            options["pod_group"] = "all"
        if case.own_affinity:
            required = {"requiredDuringSchedulingIgnoredDuringExecution": _terms([_OWN_TERM])}
            options["affinity"] = {"nodeAffinity": required}
        restarts = case.max_restarts
        manifest = jobset("run", scene.namespace, jobs={"w": options}, max_restarts=restarts)
        total = case.jobs * case.pods
        return [*([podgroup("all", scene.namespace, gang=total)] if has_group else []), manifest]

    def _is_whole(self) -> bool:
        moment = self._history.now()
        whole = [job for job in moment.jobs if moment.is_whole(job)]
        return len(whole) == self._case.jobs

    def _plan_leaving(self) -> Played:
        """Choose the place to leave, and wait until the dry run says whether the Job fits elsewhere."""
        planned = self._leaving(self._history.now(), rack=self._case.leaves_rack)
        answer: Json = {}

        def is_expected() -> bool:
            answer.update(patiently(lambda: self._dry_run(planned)))
            no_room = "Nothing else fits" in (answer["why_not"] or "")
            return bool(answer["allowed"]) if planned.fits else no_room

        self._wait_seen()
        expected = "allowed" if planned.fits else "refused"
        wait(
            is_expected,
            timeout=60,
            what=f"the relocation to be {expected}",
            seen=lambda: (answer, self._scene.gang("run")),
        )
        return planned

    def _leaving(self, moment: Moment, *, rack: bool) -> Played:
        """Return the relocation from the first node of the Job, or from that node's rack."""
        job = moment.job(JOB)
        assert job is not None
        first = min(pod.node for pod in moment.pods_of(job))
        racks = {
            f"{self._scene.namespace}-{index}": f"z{index % RACKS}"
            for index in range(self._case.nodes)
        }
        if rack:
            self._avoid = {"topology": {ZONE: racks[first]}}
            left = {name for name, zone in racks.items() if zone == racks[first]}
            key, value = ZONE, racks[first]
        else:
            self._avoid = {"nodes": [first]}
            left, key, value = {first}, HOST, first
        siblings = [pod.node for pod in moment.pods if pod.is_live and pod.job_uid != job.uid]
        room = self._case.pods_per_node * len(racks.keys() - left)
        room -= sum(name not in left for name in siblings)
        return Played(
            verb="relocate",
            row={},
            requested_at=0.0,
            left=frozenset(left),
            requirement={"key": key, "operator": "NotIn", "values": [value]},
            fits=room >= self._case.pods,
        )

    # The action

    def act(self) -> None:
        """Request the relocation while people meddle, and follow it to its end."""
        assert self._planned is not None
        time.sleep(self._case.request_after)
        self.record.began_at = time.time()
        self._meddler.left = sorted(self._planned.left)
        thread = self._meddler.start(self._case.deeds)
        try:
            self._request("relocate", self._planned)
        finally:
            thread.join()
            self.record.deeds = list(self._meddler.done)

    def _request(
        self, verb: str, planned: Played | None = None, *, in_calm: bool = False
    ) -> Played:
        """Request an action until the API takes it, follow it, and record it."""
        planned = planned or Played(verb, {}, 0.0)
        key, requested_at = uuid.uuid4().hex, time.time()
        status, answer = 0, dict[str, Any]()
        for attempt in range(_TRIES):
            body = {
                "verb": verb,
                "target": self._target(),
                "reason": "a random play",
                **({"avoid": self._avoid} if verb == "relocate" else {}),
            }
            status, answer = patiently(
                lambda body=body, attempt=attempt: self._scene.installation.post(  # type: ignore[misc]
                    "actions/", body, key=f"{key}-{attempt}"
                )
            )
            if status == 202:
                break
            time.sleep(1.0)  # another generation, or an API server that restarts
        assert status == 202, (status, answer)
        row = self._follow(answer["id"])
        played = replace(planned, verb=verb, row=row, requested_at=requested_at, in_calm=in_calm)
        self.record.actions.append(played)
        return played

    def _follow(self, action: str) -> Json:
        """Return the action once it has ended, or as it is after END_SECONDS."""
        ends_at = time.monotonic() + END_SECONDS
        while True:
            row = patiently(lambda: self._scene.installation.get(f"actions/{action}/"))
            if row["finished_at"] or time.monotonic() > ends_at:
                return row
            time.sleep(0.4)

    def _target(self) -> Json:
        raw = patiently(lambda: self._scene.job(JOB))
        target: Json = self._scene.target({"apiVersion": "batch/v1", "kind": "Job", **raw})
        return target

    def _dry_run(self, planned: Played) -> Json:
        raw = {"apiVersion": "batch/v1", "kind": "Job", **self._scene.job(JOB)}
        return self._scene.dry_run(planned.verb, raw, avoid=self._avoid)

    def _wait_seen(self) -> None:
        """Wait until gangboard shows the current Job."""
        patiently(lambda: self._scene.wait_seen("run", JOB))

    # After

    def rest(self) -> bool:
        """Undo what people left behind, and wait until the JobSet runs. Return whether it has not ended."""
        self._meddler.undo()
        last = self.record.actions[-1]
        try:
            wait(
                lambda: self._is_at_rest(last),
                timeout=REST_SECONDS,
                what="the JobSet to run",
            )
        except WaitError as error:
            self.record.problems.append(str(error))
        now = time.time()
        self.record.rested_at.append(now)
        jobset = self._history.now().jobset
        is_running = jobset is not None and not jobset.is_finished and not is_left_suspended(last)
        return is_running and not self.record.problems

    def _is_at_rest(self, last: Played) -> bool:
        moment = self._history.now()
        if moment.jobset is not None and moment.jobset.is_finished:
            return not moment.holds
        if last.verb == "suspend" or is_left_suspended(last):
            others = [job for job in moment.jobs if job.name != JOB]
            return all(map(moment.is_whole, others))
        return self._is_whole() and not moment.holds

    def calm(self) -> None:
        """Wait until the JobSet runs again, and request the second action, which no one disturbs."""
        if self.record.actions and self.rest():
            self._follow_up()

    def _follow_up(self) -> None:
        job = self._history.now().job(JOB)
        kind = self._case.follow_up
        if job is None or kind is FollowUp.NONE:
            return
        if kind is FollowUp.RESUME:
            self._request_in_calm("suspend")
            self.rest()
            self._request_in_calm("resume")
        elif kind is FollowUp.ALLOW and job.exclusion:
            self._avoid = {}
            self._request_in_calm("relocate")
        elif kind is FollowUp.AGAIN:
            self._case = replace(self._case, leaves_rack=False)
            self._request_in_calm("relocate", self._plan_leaving())
        else:
            return
        self.rest()

    def _request_in_calm(self, verb: str, planned: Played | None = None) -> None:
        """Request an action once gangboard shows the Job, again if a controller wrote to it meanwhile."""
        for _ in range(_TRIES):
            self._wait_seen()
            played = self._request(verb, planned, in_calm=True)
            if not is_outdated(played):
                return


def is_left_suspended(action: Played) -> bool:
    """Return whether an action says that it leaves its Job suspended."""
    return "stays suspended" in action.message


def is_outdated(action: Played) -> bool:
    """Return whether an action ended because its target had changed since it was read."""
    return action.state == "conflict" and "has changed since you looked" in action.message


def _terms(terms: list[Json]) -> Json:
    return {"nodeSelectorTerms": terms}
