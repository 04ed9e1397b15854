"""Messages of a real Kueue, decoded and judged by our rules: the expected verdict of each situation."""

from __future__ import annotations

import pytest

from tests.queues.blocked_situations import NEVER
from tests.queues.places import Place
from tests.queues.waiting_situations import WAITING
from tests.situations import check


@pytest.mark.parametrize("name", WAITING)
def test_gangs_that_may_be_admitted_later(places: dict[str, Place], name: str) -> None:
    check(WAITING[name], places[name])


@pytest.mark.parametrize("name", NEVER)
def test_gangs_that_cannot_be_admitted_now(places: dict[str, Place], name: str) -> None:
    check(NEVER[name], places[name])
