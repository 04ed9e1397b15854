"""A story of messages: what changes on the cluster reaches a program, signed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

from standardwebhooks import Webhook

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.objects import JobOptions, jobset
from tests.live.figures import Figures
from tests.notify.receivers import Receiver, http_receiver


def arrives(scene: Scene) -> None:
    """A JobSet becomes blocked, a Hold comes into force, and its action ends: each is a message."""
    workers: JobOptions = {"replicas": 2, "grace": 1, "node_selector": scene.where}
    scene.set_up(jobset("run", scene.namespace, jobs={"w": workers}))
    with http_receiver() as receiver:
        secret, rules = _listen(scene, receiver)
        scene.wait_running(2)
        _message(receiver, secret, name="run", code="running")

        nowhere: JobOptions = {"node_selector": {"no-node-has": "this"}}
        changed_at = time.monotonic()
        scene.client.create(jobset("stuck", scene.namespace, jobs={"w": nowhere}))
        blocked = _message(receiver, secret, name="stuck", code="no-matching-node")
        seconds = [blocked["arrived"] - changed_at]
        assert blocked["health"] == "blocked"

        scene.wait_seen("run", "run-w-1")
        action = scene.request(
            "suspend", {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-w-1")}
        )
        changed_at = _suspended_at(scene, "run-w-1")
        held = _message(receiver, secret, name="run", code="job-suspended")
        seconds.append(held["arrived"] - changed_at)

        ended = scene.follow(action)
        assert ended["state"] == "verified", ended
        message = _message(receiver, secret, type="action", code="verified")
        assert message["url"].endswith(f"/actions/{action}/")
        since_end = time.time() - datetime.fromisoformat(ended["finished_at"]).timestamp()
        seconds.append(since_end - (time.monotonic() - message["arrived"]))
        for rule in rules:
            scene.installation.post(f"notifications/rules/{rule}/mute/", {"hours": 1})
    # At most five seconds on an idle machine. A busy one has no such limit.
    Figures.of("from a change on the API server to its message", seconds)


def _listen(scene: Scene, receiver: Receiver) -> tuple[str, list[str]]:
    """Make a channel to the receiver and two rules about the namespace; return the secret and their ids."""
    name = f"receiver of {scene.namespace}"
    address = f"http://{receiver.address}/hook"
    body: Json = {"name": name, "kind": "webhook", "address": address}
    status, channel = scene.installation.post("notifications/channels/", body)
    assert status == 201, channel
    rules = []
    for trigger in ("verdict", "action"):
        body = {"name": trigger, "trigger": trigger, "channels": [name]}
        body |= {"cluster": scene.cluster, "namespace": scene.namespace}
        status, rule = scene.installation.post("notifications/rules/", body)
        assert status == 201, rule
        rules.append(str(rule["id"]))
    return str(channel["secret"]), rules


def _events(receiver: Receiver, secret: str) -> Iterator[Json]:
    """Yield the events that arrived, each with the time. Raises for a signature that is wrong."""
    for arrived, (headers, body) in zip(receiver.times, receiver.requests, strict=False):
        for event in Webhook(secret).verify(body, headers)["data"]["events"]:
            yield {**event, "arrived": arrived}


def _message(receiver: Receiver, secret: str, **fields: str) -> Json:
    """Return the first event with these values as soon as it has arrived."""

    def matching() -> Json | None:
        events = _events(receiver, secret)
        return next((event for event in events if fields.items() <= event.items()), None)

    def received() -> object:
        events = _events(receiver, secret)
        return [(event["name"], event["type"], event["code"]) for event in events]

    return wait(matching, what=f"a message about {fields}", seen=received)


def _suspended_at(scene: Scene, job: str) -> float:
    """Return when the API server has a Job suspended."""
    give_up_at = time.monotonic() + 120
    while not scene.job(job)["spec"].get("suspend"):
        assert time.monotonic() < give_up_at, f"{job} was not suspended"
        time.sleep(0.05)
    return time.monotonic()
