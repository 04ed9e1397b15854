"""Concurrent clicks and workers. Run by test_safety_at_once.py; prints figures.

A process of its own, because each thread needs a real connection to a real database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection  # noqa: E402

from gangboard.actions import service  # noqa: E402
from gangboard.actions.requests import RequestError  # noqa: E402
from gangboard.domain.action import ActionRequest  # noqa: E402
from gangboard.store.access import viewer_of  # noqa: E402
from gangboard.store.models import Action, AuditEntry, Grant  # noqa: E402
from simulator import Simulator  # noqa: E402
from tests.actions.conftest import FLEET  # noqa: E402
from tests.actions.site import Site, make_site  # noqa: E402

CLICKS = 20
ROUNDS = 6


def main() -> None:
    nobody_is_woken = mock.patch("gangboard.actions.service.wake")
    with (
        nobody_is_woken,
        Simulator(fleet=FLEET, minor="1.37", story=False, speed=10.0) as simulator,
    ):
        site = make_site(simulator)
        print(json.dumps({**one_key(site), **opposite(site)}))


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make all calls at the same moment."""

    def closing(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(closing, calls))


def click(site: Site, user: User, action_request: ActionRequest) -> tuple[str, str]:
    """Return the id of the action that was made or that is in the way, and `made` or the code of the error."""
    try:
        accepted = service.request(
            viewer_of(user), action_request, now=site.clock.now(), clock=site.clock
        )
    except RequestError as error:
        return error.action_id, error.code.value
    return accepted.action_id, "made" if accepted.created else "same"


def one_key(site: Site) -> dict[str, object]:
    """Twenty clicks with one key, twenty with others, and twenty workers on the resulting
    actions."""
    action_request = site.action_request(idempotency_key="k")
    same = at_once([lambda: click(site, site.user, action_request)] * CLICKS)
    keys = [replace(action_request, idempotency_key=f"k{number}") for number in range(CLICKS)]
    different = at_once([partial(click, site, site.user, key) for key in keys])
    ids = {action_id for action_id, _ in same + different}
    at_once([lambda: site.engine().finish(same[0][0])] * CLICKS)
    action = Action.objects.get()
    return {
        "ids": len(ids),
        "made": [how for _, how in same].count("made"),
        "busy": [how for _, how in different].count("busy"),
        "actions": Action.objects.count(),
        "requested": AuditEntry.objects.filter(event="requested").count(),
        "state": action.state,
        "creates": len(site.wire.writes("create", "holds")),
        "patches": len(site.wire.writes("patch", "jobs")),
    }


def opposite(site: Site) -> dict[str, object]:
    """Two operators ask for the opposite at the same moment, again and again."""
    other_user = User.objects.create_user("otto", password=None)
    Grant.objects.create(user=other_user, role="operator", cluster=site.cluster, namespace="")
    before = len(site.wire.writes("patch", "jobs"))
    lost, named, ended, sent = 0, 0, 0, 0
    for _ in range(ROUNDS):
        suspend = partial(click, site, site.user, site.action_request("suspend"))
        resume = partial(click, site, other_user, site.action_request("resume"))
        results = at_once([suspend, resume])
        accepted = [action for action, how in results if how == "made"]
        named += sum(how == "busy" and action in accepted for action, how in results)
        at_once([partial(site.engine().finish, accepted[0])] * 2)
        action = Action.objects.get(pk=accepted[0])
        ended += action.finished_at is not None
        sent += action.sent_at is not None
        suspends = action.verb == "suspend"
        lost += len(accepted) != 1 or site.suspended() != suspends or bool(site.holds()) != suspends
    patches = len(site.wire.writes("patch", "jobs")) - before
    return {"rounds": ROUNDS, "named": named, "ended": ended, "lost": lost, "extra": patches - sent}


if __name__ == "__main__":
    main()
