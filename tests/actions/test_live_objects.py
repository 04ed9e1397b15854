"""Live reads of an action are bounded, also if a list of the cluster never ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from gangboard.actions import live_objects
from gangboard.actions.actor_client import ActorClient
from gangboard.actions.live_objects import LiveReader
from gangboard.kube import list_pager
from gangboard.kube.errors import KubeError
from tests.actions.site import Site, untouched

PATH = "/apis/gangboard.dev/v1alpha1/namespaces/team/holds"


class Endless:
    """A cluster with an endless list of Holds."""

    host = "east.example"

    def __init__(self, page: Callable[[int], dict[str, Any]], *, new_tokens: bool = True) -> None:
        self.page = page
        self.new_tokens = new_tokens
        self.asked: list[dict[str, str]] = []

    def get(self, path: str, query: Any = None) -> bytes:
        assert path == PATH
        self.asked.append(dict(query))
        number = len(self.asked)
        assert number < 100, "nobody ends it"
        meta = {"resourceVersion": "7", "continue": str(number) if self.new_tokens else "1"}
        return json.dumps({"kind": "HoldList", "metadata": meta, **self.page(number)}).encode()


def fault_of(cluster: Endless) -> KubeError:
    with pytest.raises(KubeError) as caught:
        LiveReader(cast("ActorClient", cluster), {}).holds("team")
    return caught.value


def test_endless_pages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_pager, "MAX_PAGES", 5)
    cluster = Endless(lambda _number: {"items": []})
    fault = fault_of(cluster)
    assert fault.code == "too-large"
    assert fault.sentence == f"east.example does not end the list: 5 pages while listing {PATH}."
    assert cluster.asked == [
        {"limit": "500"},
        *({"limit": "500", "continue": str(number)} for number in range(1, 5)),
    ]


def test_a_list_with_repeating_tokens_is_refused() -> None:
    cluster = Endless(lambda _number: {"items": []}, new_tokens=False)
    fault = fault_of(cluster)
    assert (fault.code, len(cluster.asked)) == ("server-error", 2)
    assert "gave the same continue token twice" in fault.sentence


def test_an_endless_body_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_objects, "MAX_LIST_BYTES", 64 * 1024)
    cluster = Endless(lambda _number: {"items": [], "padding": "x" * 20_000})
    fault = fault_of(cluster)
    assert fault.code == "too-large"
    assert "does not end the list" in fault.sentence
    assert len(cluster.asked) == 4  # 80,000 bytes are the first over 65,536


def test_slow_pages_meet_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes in time for itself, and the thread would be theirs for hours."""
    now = 0.0

    def nine_seconds(_number: int) -> dict[str, Any]:
        nonlocal now
        now += 9
        return {"items": []}

    monkeypatch.setattr("gangboard.kube.list_pager.time.monotonic", lambda: now)
    cluster = Endless(nine_seconds)
    fault = fault_of(cluster)
    assert (fault.code, len(cluster.asked)) == ("timeout", 7)  # 63 s are the first over 60
    assert fault.sentence == f"east.example does not end the list: 60 s while listing {PATH}."


@pytest.mark.parametrize(
    "items", [[{}] * 1001, [{"metadata": {"name": "a", "labels": [0] * 2_000_000}}]]
)
def test_an_oversized_page_is_refused(items: list[Any]) -> None:
    fault = fault_of(Endless(lambda _number: {"items": items}))
    assert fault.code == "too-large"
    assert fault.sentence.startswith("east.example: A page of the list of holds.gangboard.dev has")


def test_an_action_refuses_an_oversized_answer(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_objects, "MAX_LIST_BYTES", 100)
    action = site.act()
    untouched(site, action, "failed", "does not end the list")
    assert action.message.endswith("Nothing was changed.")
