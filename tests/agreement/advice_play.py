"""Advice taken on a real cluster: half of it first, which must not be enough, then all of it.

The real scheduler tries the result of the arithmetic, on the very nodes on which it refused the gang. Half
is tried with the gang made anew, so that the refusal is a fresh one; for all of it the gang that waits
stays where it is, unless the advice says that it has to be made anew.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice

from gangboard.domain.advice import Advice, ChangeMethod
from gangboard.domain.placement_result import FitAnswer
from gangboard.placement.advice.ranking import advise
from gangboard.placement.advice.size import ONLY_IN_SOME_ORDERS
from tests.agreement import objects
from tests.agreement.advice_cases import Misfits, first_change, is_running_pod, taken
from tests.agreement.advice_figures import End, Tried, faults, lines, misses, too_rare
from tests.agreement.arena import BATCH, GANGS, Arena, Judgement, Look
from tests.agreement.cases import Case, NodeSpec
from tests.agreement.figures import Figures, Result, compare
from tests.agreement.ours import Reading, ours
from tests.controlplane.client import Json, wait

PLACED_WITHIN_SECONDS = 30.0
"""The scheduler waits up to 10 s before it retries a gang it has refused often."""


@dataclass(frozen=True)
class _Try:
    result: Result
    advice: Advice

    @property
    def case(self) -> Case:
        return self.result.played.case

    @property
    def then(self) -> Case:
        result = taken(self.case, self.advice)
        assert result is not None
        return result

    @property
    def half(self) -> Case | None:
        """Half of it, unless the advice itself says that less can do."""
        if ONLY_IN_SOME_ORDERS in self.advice.text:
            return None
        return taken(self.case, self.advice, half=True)

    def tried(self, end: End, words: str) -> Tried:
        return Tried(self.case, self.advice, end, self.half is not None, words)


def play(arena: Arena, cases: Sequence[Case]) -> Iterator[tuple[list[Result], list[Tried]]]:
    """Play the cases a batch at a time; yield each batch's results, and its misfits as tried."""
    for start in range(0, len(cases), BATCH):
        batch = cases[start : start + BATCH]
        # Objects of a batch stay until the next batch.
        results = list(islice(compare(arena, batch), len(batch)))
        yield results, _taken_up(arena, results)
        arena.clear()


def _taken_up(arena: Arena, results: Iterable[Result]) -> list[Tried]:
    misfits = [
        misfit
        for misfit in results
        if misfit.played.judgement is Judgement.REFUSED and misfit.ours.answer is FitAnswer.NO
    ]
    result: list[Tried] = []
    tries: list[_Try] = []
    # All looks of a batch share their nodes and pods.
    reading = Misfits(misfits[0].played.after) if misfits else None
    for misfit in misfits:
        advice = advise(reading.unit(misfit.played.after.group)) if reading is not None else ()
        if advice:
            tries.append(_Try(misfit, first_change(advice)))
        else:
            result.append(Tried(misfit.played.case, None, End.NONE, words=misfit.ours.why))
    return [*result, *_played(Stage(arena), tries)]


def _played(stage: Stage, tries: Sequence[_Try]) -> Iterator[Tried]:
    enough = _halves(stage, [item for item in tries if item.half is not None])
    stage.each(
        lambda item: stage.take(item.half or item.case, item.then, item.advice.method), tries
    )
    placed = stage.placed({item.case.name: item.then.quorum for item in tries})
    for item in tries:
        if item.case.name in enough:
            yield item.tried(End.HALF, enough[item.case.name])
        elif item.case.name in placed:
            yield item.tried(End.FREED, placed[item.case.name])
    yield from _pinned(stage, [item for item in tries if item.case.name not in {*enough, *placed}])


def _halves(stage: Stage, tries: Sequence[_Try]) -> dict[str, str]:
    """Take half of each; return the gangs that the scheduler places already."""

    def take(item: _Try) -> None:
        assert item.half is not None
        stage.arena.remove_gang(item.case)
        stage.take(item.case, item.half, None, gang=False)
        stage.make_gang(item.half)

    stage.each(take, tries)
    quorums = {item.case.name: item.half.quorum for item in tries if item.half is not None}
    message = stage.arena.judge_all(quorums) if tries else {}
    return {
        name: f"{judgement}: {words}"
        for name, (judgement, words) in message.items()
        if judgement is not Judgement.REFUSED
    }


def _pinned(stage: Stage, tries: Iterable[_Try]) -> Iterator[Tried]:
    """Let the scheduler try our placement of a gang it still refuses."""
    message, placements = {}, []
    waiting = []
    for item in tries:
        read, message[item.case.name] = stage.look(item.case.name)
        mine = ours(Reading(read), read.group)
        if mine.answer is FitAnswer.YES:
            waiting.append(item)
            placements.append((item.then, mine.placement))
        else:
            yield item.tried(End.MISSED, f"ours then: {mine.why}; {message[item.case.name]}")
    judged = stage.arena.try_pinned(placements)
    for item in waiting:
        judgement, words = judged[item.case.name]
        end = End.ORDER if judgement is Judgement.FITS else End.MISSED
        yield item.tried(end, f"{message[item.case.name]}; pinned: {judgement}: {words}")


class Stage:
    """Changes the nodes, the running pods and the gang of a case in an arena."""

    def __init__(self, arena: Arena) -> None:
        """Work in this arena."""
        self.arena = arena
        self._client = arena.client

    def each(self, do: Callable[[_Try], None], tries: Iterable[_Try]) -> None:
        """Do it for all of them, some at a time."""
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(do, tries))

    def take(self, now: Case, then: Case, way: ChangeMethod | None, *, gang: bool = True) -> None:
        """Make the cluster of one case that of another: nodes, what runs there, and the gang."""
        self._run(now, then)
        for before, after in zip(now.nodes, then.nodes, strict=True):
            if before.cordoned != after.cordoned:
                body = {"spec": {"unschedulable": after.cordoned or None}}
                self._client.patch("v1", "Node", after.name, body)
        changed = (now.quorum, now.topology, now.pod_sets) != (
            then.quorum,
            then.topology,
            then.pod_sets,
        )
        if gang and changed and way is ChangeMethod.IN_PLACE:
            self._mend_gang(now, then)
        elif gang and changed:
            self.arena.remove_gang(now)
            self.make_gang(then)

    def make_gang(self, case: Case) -> None:
        """Make the members and then the group, once those of that name are gone."""
        ns, run = self.arena.namespace, self.arena.run
        labels = f"{objects.POOL}={case.name},{objects.POD_SET}"
        wait(
            lambda: (
                not self._client.list("v1", "Pod", ns, labels=labels)
                and self._client.find(GANGS, "PodGroup", case.name, ns) is None
            ),
            what=f"the gang {case.name} to be gone",
        )
        self._client.create_all([*objects.members(case, ns, run), objects.group(case, ns, run)])

    def _run(self, now: Case, later: Case) -> None:
        """Put the smaller pods beside the larger ones before these go: never is more room free."""
        ns, run = self.arena.namespace, self.arena.run
        differ = [
            (before, after)
            for before, after in zip(now.nodes, later.nodes, strict=True)
            if before.runs != after.runs
        ]
        created = objects.running_pods(
            replace(later, nodes=tuple(after for _, after in differ)), ns, run
        )
        tag = secrets.token_hex(2)
        for pod in created:
            pod["metadata"]["name"] += f"-{tag}"
        gone = [name for before, _ in differ for name in self._runs_of(before)]
        self._client.create_all(created)
        for name in gone:
            self._client.delete("v1", "Pod", name, ns, grace=0)

    def _runs_of(self, node: NodeSpec) -> list[str]:
        pods = self._client.list(
            "v1", "Pod", self.arena.namespace, fields=f"spec.nodeName={node.name}"
        )
        return [pod["metadata"]["name"] for pod in pods if is_running_pod(pod)]

    def _mend_gang(self, now: Case, later: Case) -> None:
        ns = self.arena.namespace
        if now.quorum != later.quorum:
            body: Json = {"spec": {"schedulingPolicy": {"gang": {"minCount": later.quorum}}}}
            self._client.patch(GANGS, "PodGroup", now.name, body, ns)
        if now.pod_sets == later.pod_sets:
            return
        for member in objects.members(later, ns, self.arena.run):
            name = member["metadata"]["name"]
            pod = self._client.get("v1", "Pod", name, ns)
            extra = [*pod["spec"].get("tolerations", ()), *member["spec"]["tolerations"]]
            self._client.patch("v1", "Pod", name, {"spec": {"tolerations": extra}}, ns)

    def placed(self, quorums: dict[str, int]) -> dict[str, str]:
        """Wait until the quorum of each is bound. Return the messages about those that are."""
        give_up_at = time.monotonic() + PLACED_WITHIN_SECONDS
        while quorums:
            message = self.arena.spoken(quorums)
            result = {
                name: item[1]
                for name, item in message.items()
                if item is not None and item[0] is Judgement.FITS
            }
            if len(result) == len(quorums) or time.monotonic() > give_up_at:
                return result
            time.sleep(0.5)
        return {}

    def look(self, group: str) -> tuple[Look, str]:
        """Return the current cluster and the scheduler's message about a group."""
        client, ns = self._client, self.arena.namespace
        result = client.get(GANGS, "PodGroup", group, ns)
        said = self.arena.spoken({group: 10**6})[group]
        words = said[1] if said is not None else "the scheduler has not spoken"
        return Look(client.list("v1", "Node"), client.list("v1", "Pod", ns), result), words


def report(arena: Arena, cases: Sequence[Case]) -> int:
    """Play the cases; print disagreements, misses and figures; return 1 for a fault, else 0."""
    results: list[Result] = []
    tried: list[Tried] = []
    for played, extra in play(arena, cases):
        results += played
        tried += extra
        for verdicts in (*Figures(played).disagreements, *misses(extra)):
            print(verdicts, flush=True)
    result = [*faults(tried, results), *too_rare(tried)]
    print(*Figures(results).lines(), *lines(tried), *result, sep="\n")
    return 1 if result else 0
