"""Gangs of controllers on a real cluster: refused, advised, and helped as the advice says.

The Job and JobSet controllers make pods and groups. Where advice is about the gang itself one such
piece is carried out, else the first; none where a piece is wrong as it stands. A size or quorum is tried with one more before, which must
not be placed whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.advice.size import ONLY_IN_SOME_ORDERS
from tests.agreement import objects
from tests.agreement.advice_cases import emptied, first_change, is_for_empty_nodes, taken
from tests.agreement.advice_figures import End, Tried
from tests.agreement.advice_play import PLACED_WITHIN_SECONDS, Stage
from tests.agreement.arena import GANGS, SETTLE_SECONDS, SPEAK_SECONDS, Arena
from tests.agreement.jobs import (
    BATCH,
    JobCase,
    Kind,
    asked_for,
    changed,
    gang_objects,
    node_objects,
)
from tests.agreement.jobs_figures import Outcome, faults, lines, outcome_text, wrong_on_paper
from tests.agreement.jobs_reading import Gangs
from tests.agreement.reckoning import most
from tests.controlplane.client import ApiError, Json, WaitError, wait
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import JOBSET

AT_ONCE = 30
"""Cases that play together."""
STANDS_SECONDS = 4.0
"""How long one more than is advised must not be whole."""
_OF_THE_GANG = frozenset(
    {
        AdviceKind.SIZE,
        AdviceKind.QUORUM,
        AdviceKind.TOLERATE,
        AdviceKind.SELECT,
        AdviceKind.DROP_TOPOLOGY,
    }
)
_JOB_NAME = "batch.kubernetes.io/job-name"


@dataclass(frozen=True)
class _Try:
    one: JobCase
    unit: Unit
    advice: Advice

    @property
    def role(self) -> str:
        """The replicated Job of a JobSet that the advice is about."""
        return self.unit.jobs[0].role_name if self.unit.jobs else ""

    def tried(self, end: End, halved: bool, words: str) -> Tried:
        return Tried(self.one.case, self.advice, end, halved, f"{self.one.kind}: {words}")


def play(arena: Arena, cases: Sequence[JobCase]) -> Iterator[Outcome]:
    """Play the cases, thirty at a time."""
    for start in range(0, len(cases), AT_ONCE):
        stage = GangStage(arena)
        try:
            yield from stage.play(cases[start : start + AT_ONCE])
        finally:
            stage.clear()


class GangStage:
    """Makes gangs with their nodes in an arena, waits for the scheduler, and changes them."""

    def __init__(self, arena: Arena) -> None:
        """Work in this arena."""
        self._arena, self._client = arena, arena.client
        self._nodes = Stage(arena)

    def play(self, cases: Sequence[JobCase]) -> list[Outcome]:
        """Let them be refused, all at once, and carry out advice for those that were."""
        self._make(cases)
        silent = self._wait_spoken(cases)
        gangs = Gangs(self._client, self._arena.namespace)
        outcomes, tries = [], []
        for one in cases:
            bound = self._bound(one)
            if one.name in silent:
                words = f"{one.kind}: no word of the scheduler: {self._words(one)}"
                outcomes.append(Outcome(one, None, f"{one.case.number}: {words}"))
            elif (bound >= one.case.quorum) != (most(one.case) >= one.case.quorum):
                words = f"{bound} bound, {most(one.case)} reckoned: {self._words(one)}\n  {one}"
                outcomes.append(Outcome(one, None, f"{one.case.number}: {one.kind}: {words}"))
            elif bound < one.case.quorum:
                result = _chosen(one, gangs.units(one.name))
                if isinstance(result, str):
                    none = Tried(one.case, None, End.NONE, words=f"{one.kind}: {result}")
                    outcomes.append(Outcome(one, none))
                else:
                    tries.append(result)
            else:
                outcomes.append(Outcome(one, None))
        with ThreadPoolExecutor(8) as pool:
            tried = list(pool.map(self._carried_out, tries))
        outcomes += [Outcome(by.one, end) for by, end in zip(tries, tried, strict=True)]
        return outcomes

    def _make(self, cases: Sequence[JobCase]) -> None:
        ns, run = self._arena.namespace, self._arena.run
        make_nodes(self._client, [node for case in cases for node in node_objects(case, run)])
        for case in cases:
            self._client.create_all(objects.running_pods(case.case, ns, run))
        for case in cases:
            self._client.create_all(gang_objects(case, ns, run))

    # Messages of the scheduler

    def _wait_spoken(self, cases: Iterable[JobCase]) -> set[str]:
        """Return the gangs without a message in time."""
        left = {case.name: asked_for(self._owner(case)) for case in cases}
        give_up_at = time.monotonic() + SPEAK_SECONDS
        while left and time.monotonic() < give_up_at:
            pods = self._members()
            left = {name: n for name, n in left.items() if not self._spoken(pods, name, n)}
            time.sleep(0.5)
        time.sleep(SETTLE_SECONDS)
        return set(left)

    def _spoken(self, members: Iterable[Json], name: str, asked: int) -> bool:
        mine = [pod for pod in members if pod["metadata"]["labels"][objects.POOL] == name]
        return len(mine) >= asked and all(
            pod["spec"].get("nodeName") or _refusal(pod) is not None for pod in mine
        )

    def _members(self, name: str = "") -> list[Json]:
        """Return the live pods of the gang, or of all."""
        labels = f"{objects.POOL}={name},{objects.POD_SET}" if name else objects.POD_SET
        result = self._client.list("v1", "Pod", self._arena.namespace, labels=labels)
        return [pod for pod in result if "deletionTimestamp" not in pod["metadata"]]

    def _bound(self, one: JobCase, job: str = "") -> int:
        """Return how many pods of the gang, or of one of its Jobs, have a node."""
        return sum(
            bool(pod["spec"].get("nodeName"))
            for pod in self._members(one.name)
            if job in ("", pod["metadata"]["labels"][_JOB_NAME])
        )

    def _words(self, one: JobCase) -> str:
        pods = self._members(one.name)
        message = sorted({_refusal(pod) or "" for pod in pods} - {""})
        return f"{self._bound(one)} of {len(pods)} bound: {' | '.join(message)}"

    # Carrying out

    def _carried_out(self, by: _Try) -> Tried:
        try:
            return self._try(by)
        except ApiError as error:
            return by.tried(End.MISSED, False, f"the API server refuses: {error}")

    def _try(self, by: _Try) -> Tried:
        item, advice = by.one, by.advice
        if wrong := wrong_on_paper(item, advice):
            return by.tried(End.MISSED, False, wrong)
        if advice.change not in _OF_THE_GANG:
            then = taken(item.case, advice)
            assert then is not None
            self._nodes.take(item.case, then, None, gang=False)
            return self._ended(by, False, item.case.quorum)
        if is_for_empty_nodes(advice):
            self._nodes.take(item.case, emptied(item.case), None, gang=False)
        created = gang_objects(item, self._arena.namespace, self._arena.run)
        halved = self._has_one_more_to_try(by)
        if halved:
            extra = changed(created, advice, by.role, 1)
            self._put(by, created, extra)
            expected = self._wanted(by, extra[0], 1)
            if self._is_whole(item, expected):
                return by.tried(End.HALF, True, f"{expected} are placed: {self._words(item)}")
            created = extra
        then_made = changed(
            gang_objects(item, self._arena.namespace, self._arena.run), advice, by.role
        )
        self._put(by, created, then_made)
        return self._ended(by, halved, self._wanted(by, then_made[0], 0))

    def _has_one_more_to_try(self, by: _Try) -> bool:
        """Whether one more than advised is still less than there was."""
        if by.advice.change not in (AdviceKind.SIZE, AdviceKind.QUORUM):
            return False
        if ONLY_IN_SOME_ORDERS in by.advice.text:
            return False
        count = by.advice.count
        assert count is not None
        if by.advice.change is AdviceKind.QUORUM:
            return count + 1 < by.one.case.quorum
        before = by.unit.jobs[0].parallelism or 0
        if "replicas" in by.advice.text:
            before = by.one.replicas
        return count + 1 < before

    def _wanted(self, by: _Try, owner: Json, more: int) -> int:
        """Return how many must have a node when the advice has done its work."""
        if by.advice.change is AdviceKind.QUORUM:
            return (by.advice.count or 0) + more
        if by.advice.change is AdviceKind.SIZE:
            return asked_for(owner)
        return by.one.case.quorum

    def _put(self, by: _Try, now: Sequence[Json], desired: Sequence[Json]) -> None:
        """Change the objects to the desired state, with the method of the advice."""
        if by.advice.method is ChangeMethod.IN_PLACE:
            for before, after in zip(now, desired, strict=True):
                body = {
                    key: value
                    for key, value in after["spec"].items()
                    if before["spec"].get(key) != value
                }
                if body:
                    nodes = after["metadata"]
                    self._client.patch(
                        after["apiVersion"],
                        after["kind"],
                        nodes["name"],
                        {"spec": body},
                        nodes["namespace"],
                    )
            return
        for gone in now:
            self._remove(gone)
        wait(lambda: not self._members(by.one.name), what=f"{by.one.name} to be gone")
        self._client.create_all(desired)

    def _remove(self, obj: Json) -> None:
        address = (obj["apiVersion"], obj["kind"], obj["metadata"]["name"], self._arena.namespace)
        self._client.delete(*address, propagation="Foreground")
        self._client.wait_gone(*address)

    def _is_whole(self, one: JobCase, wanted: int) -> bool:
        """Whether that many get nodes although one fewer was advised."""
        give_up_at = time.monotonic() + STANDS_SECONDS
        while time.monotonic() < give_up_at:
            if self._bound(one) >= wanted:
                return True
            time.sleep(0.5)
        return False

    def _ended(self, by: _Try, halved: bool, wanted: int) -> Tried:
        one, job = by.one, ""
        if one.kind is Kind.JOBSET and by.advice.change is not AdviceKind.SIZE:
            # It is about one Job; the others may wait for more than that.
            job, wanted = by.unit.jobs[0].meta.ref.name, by.unit.jobs[0].parallelism or 0
        try:
            wait(
                lambda: self._bound(one, job) >= wanted,
                timeout=PLACED_WITHIN_SECONDS,
                every=0.5,
                what=f"{wanted} of {one.name} {job} to have a node",
            )
        except WaitError as error:
            result = Gangs(self._client, self._arena.namespace).units(one.name)
            mine = "; ".join(f"{unit.name}: {_why(unit)}" for unit in result)
            words = f"{error}; {self._words(one)}; ours then: {mine}"
            return by.tried(End.MISSED, halved, words)
        return by.tried(End.FREED, halved, self._words(one))

    def _owner(self, one: JobCase) -> Json:
        return gang_objects(one, self._arena.namespace, self._arena.run)[0]

    def clear(self) -> None:
        """Take everything away but the namespace; controllers must not make pods anew."""
        for version, kind in ((JOBSET, "JobSet"), (BATCH, "Job"), (GANGS, "PodGroup")):
            path = self._client.path(version, kind, self._arena.namespace)
            self._client.request("DELETE", path, {"propagationPolicy": "Background"})
        self._arena.clear()


def _refusal(pod: Json) -> str | None:
    """Return the scheduler's message about a pod it has refused."""
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return str(condition.get("message", ""))
    return None


def _chosen(case: JobCase, units: Sequence[Unit]) -> _Try | str:
    """Return a piece of advice about the gang itself, else the first; or why there is none."""
    dice = Random(f"{case.case.seed}/{case.case.number}/piece")
    for unit in units:
        result = advise(unit)
        if result:
            wrong = [piece for piece in result if wrong_on_paper(case, piece)]
            own = [piece for piece in result if piece.change in _OF_THE_GANG]
            return _Try(case, unit, dice.choice(wrong or own or [first_change(result)]))
    return "; ".join(f"{unit.name}: {_why(unit)}" for unit in units)


def _why(unit: Unit) -> str:
    result = unit.placing
    if result is None:
        return "nobody waits"
    if result.assessment is None:
        return result.why
    message = result.assessment
    return " ".join(
        filter(None, (message.cause, message.deciding, *message.constraints, message.why))
    )


def report(arena: Arena, cases: Sequence[JobCase]) -> int:
    """Play the cases; print misses and figures; return 1 for a fault, else 0."""
    outcomes = []
    for item in play(arena, cases):
        outcomes.append(item)
        if words := outcome_text(item):
            print(words, flush=True)
    result = faults(outcomes)
    print(*lines(outcomes), *result, sep="\n")
    return 1 if result else 0
