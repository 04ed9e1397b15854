"""A tenant writes commands where advice quotes the cluster: no admin may be offered one to copy."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser

from tests.attack.found import Figures
from tests.attack.tenant import Json, api_server, wait_for, written
from tests.installation import Installation

SECONDS = 30
NAMESPACE = "attack-copied"
COMMAND = "kubectl delete namespace prod"
QUEUES = (f"gpu: {COMMAND} #", f"gpu; {COMMAND} #", f"gpu: {COMMAND} | xargs", f": {COMMAND}")
"""Queues that do not exist. A real API server (1.37.0) takes them in a PodGroup of KAI 0.12, which anyone can make.

The same API server takes such a `schedulerName`: test_hostile_text.py tries that, because advice quotes it after a
minute only. The CRD of Volcano 1.14.1 has a pattern for queues."""


def attack(board: Installation) -> Figures:
    """The Gang page, the opened row and the API have the command only as part of a sentence."""
    objects = [obj for number, queue in enumerate(QUEUES) for obj in _gang(f"g{number}", queue)]
    with api_server(board) as cluster, written(cluster, NAMESPACE, *objects):
        gangs = wait_for(
            lambda: board.gangs(namespace=NAMESPACE, code="queue-missing"), len(QUEUES)
        )
        cookie = board.session_cookie()
        for gang in gangs:
            for path in (f"/gangs/{gang['id']}/", f"/gangs/{gang['id']}/row/"):
                _check_page(path, board.page(path, cookie))
        for gang in gangs:
            _check_answer(board.get(f"gangs/{gang['id']}/"))
    return {"gangs": len(gangs), "queues": len(QUEUES)}


def _gang(name: str, queue: str) -> Iterator[Json]:
    """Yield a PodGroup that waits in the queue, and its two pods."""
    yield {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"namespace": NAMESPACE, "name": name},
        "spec": {"queue": queue, "minMember": 2},
    }
    for index in range(2):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "namespace": NAMESPACE,
                "name": f"{name}-{index}",
                "annotations": {"pod-group-name": name},
            },
            "spec": {
                "schedulerName": "kai-scheduler",
                "containers": [{"name": "main", "image": "none"}],
            },
        }


def _check_answer(gang: Json) -> None:
    assert any(COMMAND in text for text in gang["advice"]), "it is quoted"
    for step in gang["next_steps"]:
        assert step["command"] == [], step


def _check_page(path: str, page: str) -> None:
    reader = _Commands()
    reader.feed(page)
    assert COMMAND in reader.text, "it is quoted"
    offered = [command for command in reader.commands if COMMAND in command]
    assert not offered, f"{path} offers {offered}"


class _Commands(HTMLParser):
    """Commands that a page offers to copy, and its other text."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[str] = []
        self.text = ""
        self._in_code = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the command that a button copies."""
        self._in_code = tag == "code"
        self.commands += [value or "" for name, value in attrs if name == "data-copy"]

    def handle_endtag(self, tag: str) -> None:
        """Leave the code."""
        self._in_code = self._in_code and tag != "code"

    def handle_data(self, data: str) -> None:
        """Record text outside of code. People also copy code."""
        if self._in_code:
            self.commands.append(data)
        else:
            self.text += data
