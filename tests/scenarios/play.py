"""All scenarios of all clusters at the same time, under one gangboard that is polled all the time."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import urllib3

from gangboard.domain.advice import Harm
from tests.controlplane.client import wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.installation import REQUEST_SECONDS, Installation
from tests.scenarios.clusters import CLUSTERS, FIRST, SEEN_AGAIN
from tests.scenarios.leaving import leave
from tests.scenarios.scenario import PATIENCE, POOL, Scenario, Stage, Step

Json = dict[str, Any]
Key = tuple[str, str]
"""(cluster, scenario)."""
LOOK_SECONDS = 0.8
SETTLED_SECONDS = 1.5
"""A right answer must still be there after this time: no flash counts as an answer."""
LATE_SECONDS = 2 * REQUEST_SECONDS
"""In which a busy machine looks twice more."""
ACT_SECONDS = 1000.0
FIRST_SECONDS = 60.0
"""How long nodes are kept back for the scenarios of a cluster that has none."""
SAID_LATE = frozenset(
    (
        "being-deleted",
        "node-lost",
        "not-attempted",
        "pod-setup-failing",
        "pods-not-created",
        "termination-stuck",
    )
)
"""Codes that appear after a minute or two without the expected event."""
RESTLESS = "k136"
"""1.36.3 spends a core as long as any gang waits there: they do so all at once."""
HANDS = 12
"""How many scenarios are set up at once; then each plays in a thread of its own."""


class UntoldError(AssertionError):
    """The expected verdict did not appear in time. The text has the verdicts that did."""


@dataclass
class Story:
    """One scenario: the expected verdict and the last one."""

    cluster: str
    scenario: Scenario
    steps: tuple[Step, ...] = field(init=False)
    at: int = 0
    """Which of its steps is expected now."""
    told: threading.Event = field(default_factory=threading.Event)
    """The answer that is expected now has stood for a while."""
    last: Json | None = None
    right_since: float | None = None
    history: list[str] = field(default_factory=list)
    """Verdicts of the present step, each with its second and its difference from the expected one."""
    began: float | None = None
    """Time of the first poll in the present step."""
    given_up: bool = False
    over: threading.Event = field(default_factory=threading.Event)
    """It has been told to its end, or it never will be."""

    def __post_init__(self) -> None:
        self.steps = self.scenario.expected

    @property
    def key(self) -> Key:
        """Name of the scenario."""
        return self.cluster, self.scenario.name

    @property
    def expected(self) -> Step:
        """Expected verdict of the present step."""
        return self.steps[self.at]

    def go_on(self) -> Step:
        """From now on the next answer is the right one; return its step."""
        self.at += 1
        self.right_since = self.began = None
        self.history.clear()
        self.told.clear()
        return self.expected

    def look(self, gang: Json | None, now: float) -> None:
        """Compare the verdict of the API with the expected one."""
        self.last = gang
        wrong = faults(gang, self.expected)
        self._note(gang, wrong, now)
        if wrong:
            self.right_since = None
        elif self.right_since is None:
            self.right_since = now
        elif now - self.right_since >= SETTLED_SECONDS:
            self.told.set()

    def _note(self, gang: Json | None, wrong: list[str], now: float) -> None:
        """Record a verdict that differs from the previous one."""
        self.began = now if self.began is None else self.began
        message = f"{gang and gang['code']} ({', '.join(wrong) or 'right'})"
        if not self.history or not self.history[-1].endswith(f": {message}"):
            self.history.append(f"{now - self.began:.0f} s: {message}")

    def wait_told(self) -> None:
        """Return when it has been told; raise UntoldError when it takes longer than it may."""
        is_told = self.told.wait(self.scenario.within) or self._settles()
        if self.given_up:
            raise UntoldError("given up")
        if not is_told:
            gang = self.last
            said = gang and {
                name: gang[name] for name in ("code", "health", "message", "members", "advice")
            }
            wrong = faults(gang, self.expected) or "right, but not for long enough"
            before = "; ".join(self.history)
            raise UntoldError(f"step {self.at}: {wrong}; the API says {said}; before: {before}")

    def _settles(self) -> bool:
        """Whether an answer that is right at the last moment stands as long as any other has to."""
        give_up_at = time.monotonic() + LATE_SECONDS
        while self.right_since is not None and time.monotonic() < give_up_at:
            if self.told.wait(LOOK_SECONDS):
                return True
        return self.told.is_set()


def faults(gang: Json | None, expected: Step) -> list[str]:
    """Return what differs from the expectation."""
    if gang is None:
        return ["the gang is not there"]
    found = [
        f"{key}: {gang[key]!r} instead of {desired!r}"
        for key, desired in (("code", expected.code), ("health", expected.health))
        if gang[key] != desired
    ]
    found += [
        f"members.{key}: {gang['members'][key]!r} instead of {desired!r}"
        for key, desired in expected.members.items()
        if gang["members"][key] != desired
    ]
    found += [
        f"{words!r} not in the message" for words in expected.says if words not in gang["message"]
    ]
    advice = gang["advice"]
    if not any(all(words in item for words in expected.advises) for item in advice or [""]):
        found.append(f"no advice of {expected.advises!r} in {advice!r}")
    steps = gang.get("next_steps")
    if steps and steps[0]["harm"] == Harm.WHOLE_GANGS:
        found.append(f"the first advice stops a gang that runs whole: {advice[0]!r}")
    return found


def _turn(story: Story) -> tuple[bool, bool, float]:
    """Return when a story begins: early where time must pass, then on 1.36, then of all others in turn."""
    late_words = {step.code for step in story.steps} & SAID_LATE
    played = CLUSTERS[story.cluster]
    return not late_words, story.cluster != RESTLESS, played.index(story.scenario) / len(played)


class Play:
    """Every story with the thread that plays it."""

    def __init__(
        self,
        installation: Installation,
        planes: Mapping[str, ControlPlane],
        wanted: Collection[Key],
        *,
        looked_at_later: Collection[Key] = (),
        staying: Collection[Key] = (),
    ) -> None:
        """`planes` are the planes of the scenarios, by the names of CLUSTERS.

        Each scenario leaves at its end. For those `looked_at_later` the final API answer is
        kept. Those `staying` do not leave.

        """
        self._looked_at_later = looked_at_later
        self._staying = staying
        self.wholes: dict[Key, Json] = {}
        """All verdicts of those at their end."""
        self.installation = installation
        self._planes = planes
        self.stories = {
            (cluster, scenario.name): Story(cluster, scenario)
            for cluster, scenarios in CLUSTERS.items()
            for scenario in scenarios
            if (cluster, scenario.name) in wanted
        }
        self._over = threading.Event()
        self._failures: list[str] = []
        """Looks that got no answer. Stories go on meanwhile, and the play has failed at its end."""
        self._hands = threading.Semaphore(HANDS)
        self._pool = ThreadPoolExecutor(len(self.stories) + 1)
        self._looking = self._pool.submit(self._look)
        self._played: dict[Key, Future[None]] = {}

    def begin(self) -> None:
        """Play what needs a cluster without nodes, then make all nodes and play the rest."""
        keys = [
            key
            for cluster, scenario in FIRST.items()
            if (key := (cluster, scenario.name)) in self.stories
        ]
        for key in keys:
            self._start(key)
        give_up_at = time.monotonic() + FIRST_SECONDS
        while time.monotonic() < give_up_at and not all(self.stories[key].at for key in keys):
            time.sleep(LOOK_SECONDS)
        with ThreadPoolExecutor() as hands:
            list(hands.map(self._make_nodes, self._planes))
        for story in sorted(self.stories.values(), key=_turn):
            if story.key not in keys:
                self._start(story.key)

    def _make_nodes(self, cluster: str) -> None:
        nodes = [
            node
            for scenario in CLUSTERS[cluster]
            if (cluster, scenario.name) in self.stories
            for node in scenario.own_nodes()
        ]
        make_nodes(self._planes[cluster].client, nodes)

    def _start(self, key: Key) -> None:
        self._played[key] = self._pool.submit(self._perform, self.stories[key])

    def _perform(self, story: Story) -> None:
        try:
            self._tell(story)
            if story.key in self._looked_at_later:
                assert story.last is not None
                self.wholes[story.key] = self.installation.get(f"gangs/{story.last['id']}/")
        finally:
            story.over.set()
        self._take_away(story)

    def _tell(self, story: Story) -> None:
        scenario = story.scenario
        if story.cluster not in SEEN_AGAIN:
            client = self._planes[story.cluster].client
            stage = Stage(
                client, scenario.name, scenario.name, lambda: story.last, self._over.is_set
            )
            with self._hands:
                stage.client.create(namespace_object(scenario.name))
                stage.make(scenario.objects(scenario.name, {POOL: scenario.name}))
            if scenario.act is not None:
                scenario.act(stage)
        story.wait_told()
        for _ in scenario.steps:
            story.go_on().act(stage)
            story.wait_told()

    def _take_away(self, story: Story) -> None:
        """Yield the machine to the other tests: schedulers and gangboard retry waiting gangs forever."""
        cluster, name = story.key
        if cluster in SEEN_AGAIN:
            if all(
                story.over.is_set() for story in self.stories.values() if story.cluster == cluster
            ):
                self.installation.manage("remove_cluster", cluster)
        elif story.key not in self._staying:
            for again in SEEN_AGAIN:
                if (again, name) in self.stories and SEEN_AGAIN[again] == cluster:
                    self.stories[again, name].over.wait(PATIENCE)
            leave(self._planes[cluster], name)

    def _look(self) -> None:
        """Ask for all gangs all the time: some states pass by."""
        while not self._over.wait(LOOK_SECONDS):
            try:
                result = self.installation.gangs()
            except (AssertionError, urllib3.exceptions.HTTPError) as error:
                self._failures.append(f"{type(error).__name__}: {error}"[:300])
                continue
            gangs = {
                (gang["cluster"], gang["namespace"], gang["kind"], gang["name"]): gang
                for gang in result
            }
            now = time.monotonic()
            for (cluster, name), story in self.stories.items():
                scenario = story.scenario
                story.look(gangs.get((cluster, name, scenario.kind, scenario.gang)), now)

    def result(self, key: Key) -> None:
        """Wait until a story is over; raise what went wrong in it."""
        story = self.stories[key]
        steps = len(story.steps)
        played = wait(lambda: self._played.get(key), what=f"{key} to begin", timeout=ACT_SECONDS)
        played.result(timeout=ACT_SECONDS + steps * story.scenario.within)

    def end(self) -> None:
        """Stop polling. Stories without a waiting test are given up."""
        self._over.set()
        for story in self.stories.values():
            story.given_up = True
            story.told.set()
        self._looking.result(timeout=REQUEST_SECONDS)
        self._pool.shutdown(cancel_futures=True)
        assert not self._failures, self._failures
