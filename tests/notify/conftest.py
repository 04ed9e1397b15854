"""A cluster with gangs whose verdicts change, and channels whose messages are kept instead of sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from gangboard.notify.delivery import due_channels, serve
from gangboard.notify.matching import match_feed
from gangboard.notify.posting import WEBHOOK, Receipt
from gangboard.notify.waiting import match_waiting
from gangboard.store.models import Channel, Cluster, NotifyCursor, Rule
from gangboard.store.secrets import seal
from tests.factories import make_cluster
from tests.store.test_verdict_spans import NOON

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
FAILED = Receipt(False, "The receiver answered with 500.")


@dataclass
class Post:
    """Replaces the sending process. It records the orders and returns `outcome`."""

    now: datetime = NOON
    outcome: Receipt = field(default_factory=lambda: Receipt(True))
    orders: list[Mapping[str, Any]] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    """Addresses that answer 500."""

    def __call__(self, order: Mapping[str, Any]) -> Receipt:
        self.orders.append(order)
        return FAILED if order["address"] in self.failing else self.outcome

    def look(self, seconds: float = 0.0) -> list[Mapping[str, Any]]:
        """Let time pass, match, send all that is due; return the orders of that."""
        self.now += timedelta(seconds=seconds)
        before = len(self.orders)
        match_feed(now=self.now)
        match_waiting(now=self.now)
        for channel_id, _ in due_channels(now=self.now):
            serve(channel_id, post=self, clock=lambda: self.now)
        return self.orders[before:]

    def bodies(self, address: str = "") -> list[str]:
        """The texts of all orders, of one address."""
        return [str(order["body"]) for order in self.orders if address in ("", order["address"])]


@pytest.fixture
def post(db: None) -> Post:
    NotifyCursor.objects.create(pk=1, number=0)
    return Post()


@pytest.fixture
def east(db: None) -> Cluster:
    return make_cluster("east", now=NOON, contact_at=NOON + timedelta(days=9))


def make_channel(name: str = "ops", kind: str = "apprise", **columns: Any) -> Channel:
    secret = SECRET if kind == WEBHOOK else ""
    address = seal({"address": f"{kind}://{name}", "secret": secret})
    return Channel.objects.create(
        name=name, kind=kind, service=kind, address=address, created_at=NOON, **columns
    )


def make_rule(*channels: Channel, **columns: Any) -> Rule:
    rule = Rule.objects.create(
        **{"name": "blocked", "trigger": "verdict", "created_at": NOON, **columns}
    )
    rule.channels.set(channels)
    return rule
