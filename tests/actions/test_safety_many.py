"""Action safety, S15 and S16: batches, stopped by a person or by the read-only switch.

The cap is gangboard's own: 50 objects of one confirmation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from gangboard.actions import service
from gangboard.actions.requests import MOST_AT_ONCE, RequestError, RequestErrorCode
from gangboard.domain.action import ActionRequest
from gangboard.store import clusters
from gangboard.store.models import Action
from simulator.fleet_spec import Fleet, Gang, NodePool, Role
from tests.actions.conftest import CPU
from tests.actions.site import JOBSET, NAMESPACE, PATCH, QuickClock, Site
from tests.live.figures import tell

CHILDREN = 500
THREADS = 8
"""Workers that are in the middle of an action at the same moment."""
FIRST = 20
"""Number of the fifty that are carried out before the user presses stop."""
CREATE = "create-hold:about-to-send"


def children(number: int) -> list[str]:
    return [f"{JOBSET}-workers-{index}" for index in range(number)]


def fleet_of(jobs: int) -> Fleet:
    """Return a fleet with a JobSet of so many Jobs, without pods: they would only be waited for."""
    role = Role("workers", CPU, jobs=jobs, states=("absent",))
    gang = Gang(NAMESPACE, "JobSet", JOBSET, "running", roles=(role,))
    return Fleet("many", (NodePool("cpu", 1),), (gang,))


def quick(site: Site) -> Site:
    """Let its clock run ahead."""
    site.clock = QuickClock(shortest=0.005)
    return site


@pytest.fixture
def many(start: Callable[..., Site]) -> Site:
    """A JobSet of 500 Jobs."""
    return quick(start(fleet=fleet_of(CHILDREN), speed=100.0))


@pytest.fixture
def small_site(start: Callable[..., Site]) -> Site:
    """Start a site with as many Jobs as these tests act on."""
    return quick(start(fleet=fleet_of(2 * THREADS), speed=100.0))


def ask_for(site: Site, names: list[str]) -> tuple[str, list[str]]:
    batch, results = service.request_many(
        site.viewer, action_requests(site, names), now=site.clock.now(), clock=site.clock
    )
    assert [result.refused for result in results] == [""] * len(names)
    return batch, [result.action_id for result in results]


def action_requests(site: Site, names: list[str]) -> list[ActionRequest]:
    return [site.action_request(name=name) for name in names]


def stand_in_a_row(
    site: Site, waiting: list[str], places: list[str], callback: Callable[[], Any]
) -> None:
    """Let workers begin one action each, stop each at its place, do something, and let all go on.

    A worker stands where it is while the next one, inside of its checkpoint, begins: so all of them
    are in the middle of an action at the same moment, and it is the same moment in every run.
    """
    if not places:
        callback()
        return
    place, *remaining = places
    arrived: list[str] = []

    def stop(reached: str) -> None:
        if reached == place and not arrived:
            arrived.append(reached)
            stand_in_a_row(site, waiting, remaining, callback)

    site.engine(checkpoint=stop).finish(waiting.pop(0))


def sent_after(site: Site, moment: float) -> list[str]:
    """Return the actions that sent something after it which is no removal of their own Hold."""
    return [
        request.headers["User-Agent"]
        for request in site.wire.changes
        if request.verb != "delete" and site.wire.at(request) > moment
    ]


def test_s15_a_batch_above_the_cap_is_refused_and_names_the_cap(small_site: Site) -> None:
    for number in (CHILDREN, MOST_AT_ONCE + 1):
        with pytest.raises(RequestError) as caught:
            service.request_many(
                small_site.viewer,
                [small_site.action_request(name=name) for name in children(1)] * number,
                now=small_site.clock.now(),
                clock=small_site.clock,
            )
        assert caught.value.code is RequestErrorCode.INVALID
        assert str(caught.value) == f"From 1 to 50 objects can be chosen, not {number}."
    assert Action.objects.count() == 0


def test_s15_a_batch_with_failures_can_be_stopped(many: Site) -> None:
    names = children(MOST_AT_ONCE)
    bad = names[10::8]  # each of these names is the beginning of no other one of the fifty
    for name in bad:
        path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{name}"
        denial = f"no suspend of {name}"
        many.simulator.faults.status(403, message=denial, path=path, resource="jobs", verb="patch")
    batch, ids = ask_for(many, names)
    waiting = list(ids)
    for action_id in waiting[:FIRST]:
        many.engine().finish(action_id)
    del waiting[:FIRST]
    stopped_at = 0.0

    def stop() -> None:
        nonlocal stopped_at
        service.stop_batch(many.viewer, batch, now=many.clock.now(), clock=many.clock)
        stopped_at = time.monotonic()

    # Those that fail do so before they send: they are no place to stand at.
    running = [pk for pk in waiting if Action.objects.get(pk=pk).name not in bad]
    waiting = [*running, *(pk for pk in waiting if pk not in running)]
    stand_in_a_row(many, waiting, [CREATE, PATCH] * (THREADS // 2), stop)
    for action_id in waiting:
        many.engine().finish(action_id)
    by_name = {action.name: action for action in Action.objects.filter(batch=batch)}
    assert len(by_name) == MOST_AT_ONCE
    assert all(action.finished_at is not None and action.message for action in by_name.values())
    held = {name for name, action in by_name.items() if action.state == "verified"}
    failed = {name for name, action in by_name.items() if action.state == "failed"}
    stopped = {name for name, action in by_name.items() if action.state == "refused"}
    # The server refused two requests before the stop, and four patches were already sent.
    assert failed == set(names[:FIRST]) & set(bad)
    assert (len(failed), len(held)) == (2, FIRST - 2 + THREADS // 2)
    assert len(stopped) == MOST_AT_ONCE - FIRST - THREADS // 2
    assert all(f"no suspend of {name}" in by_name[name].message for name in failed)
    assert all("olga stopped it" in by_name[name].message for name in stopped)
    assert stopped_at
    late = sent_after(many, stopped_at)
    assert len(late) == len(set(late)) == THREADS  # one each, which was on its way
    assert {hold["spec"]["jobName"] for hold in many.holds()} == held
    tell(
        f"S15: {CHILDREN} children, cap {MOST_AT_ONCE}: results {len(by_name)} ({len(held)} held, "
        f"{len(failed)} failed, {len(stopped)} stopped); sent after stop {len(late)} by {THREADS} workers"
    )


@pytest.mark.parametrize("switch", ["everything", "the cluster"])
def test_s16_read_only_stops_a_running_batch(small_site: Site, switch: str) -> None:
    _, ids = ask_for(small_site, children(2 * THREADS))
    waiting = list(ids)
    flipped_at = 0.0

    def flip() -> None:
        nonlocal flipped_at
        name = None if switch == "everything" else small_site.cluster.name
        clusters.set_read_only(name=name, on=True, by="olga")
        flipped_at = time.monotonic()

    places = ["create-hold:before-writing", "prove-hold:recorded", CREATE, PATCH] * (THREADS // 4)
    stand_in_a_row(small_site, waiting, places, flip)
    for action_id in waiting:
        small_site.engine().finish(action_id)
    finished = [Action.objects.get(pk=pk) for pk in ids]
    assert all("read-only" in pk.message for pk in finished if pk.state == "refused")
    late = sent_after(small_site, flipped_at)
    # Requests already under way at the switch arrive: their worker has passed the last check.
    assert len(late) == len(set(late)) == THREADS // 2 + THREADS // 4
    assert [pk.state for pk in finished].count("verified") == THREADS // 4
    assert [pk.state for pk in finished].count("refused") == 2 * THREADS - THREADS // 4
    assert len(small_site.holds()) == THREADS // 4
    tell(
        f"S16 {switch}: {len(late)} sent after the switch, by {THREADS} workers in the middle of it"
    )


def test_s16_read_only_takes_effect_in_time(small_site: Site) -> None:
    """A worker about to check at the moment of the switch sends no request any more."""
    _, ids = ask_for(small_site, children(3))
    flipped_at = 0.0

    def flip() -> None:
        nonlocal flipped_at
        clusters.set_read_only(name=None, on=True, by="olga")
        flipped_at = time.monotonic()

    waiting = list(ids)
    stand_in_a_row(small_site, waiting, ["rehearsal:answered"], flip)
    ended = Action.objects.get(pk=ids[0])
    assert ended.state == "refused"
    seconds = time.monotonic() - flipped_at
    for action_id in waiting:
        assert small_site.engine().finish(action_id).state == "refused"
    assert seconds <= 1
    assert small_site.wire.changes == []
    tell(f"S16: refused {seconds:.2f} s after the switch, nothing sent")
