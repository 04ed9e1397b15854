"""Writes of gangboard's actor, as the audit log of an API server records them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.processes import AUDIT_LOG
from tests.realplay.play import JOB, Record

_AGENT = " action/"
_FORBIDDEN = 403
"""An API server that has just started refuses writes for some seconds. They are sent again."""


@dataclass(frozen=True)
class Sent:
    """A write that is no dry run, and that no policy has refused."""

    action: str
    method: str
    path: str
    body: str


def requests(plane: ControlPlane) -> list[Sent] | None:
    """Return all writes of actions so far. None if this control plane keeps no audit log.

    A server that is killed within a request may not have recorded it.
    """
    if not plane.profile.audited:
        return None
    result = []
    for line in (plane.folder / AUDIT_LOG).read_text().splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the server was killed while it wrote
        _, is_action, action = event.get("userAgent", "").partition(_AGENT)
        is_refused = event.get("responseStatus", {}).get("code") == _FORBIDDEN
        if is_action and "dryRun=" not in event["requestURI"] and not is_refused:
            body = json.dumps(event.get("requestObject"), sort_keys=True)
            path = event["requestURI"].partition("?")[0]
            result.append(Sent(action, event["verb"], path, body))
    return result


def broken(record: Record, sent: Sequence[Sent] | None) -> dict[str, list[str]]:
    """Return name → violations of the invariants about requests. None are known without an audit log."""
    own = {action.row["id"] for action in record.actions}
    writes = [item for item in sent or () if item.action in own]
    counted = Counter(item for item in writes if item.method != "delete")
    twice = [
        f"{item.method} {item.path} {times} times" for item, times in counted.items() if times > 1
    ]
    base = f"/namespaces/{record.namespace}/"
    allowed = (f"{base}jobs/{JOB}", f"{base}holds")
    strange = [item.path for item in writes if not any(path in item.path for path in allowed)]
    silent = [
        f"{action.verb} was {action.state}, and the server knows none of its writes"
        for action in record.actions
        if sent is not None and action.state == "verified"
        if not any(item.action == action.row["id"] for item in writes)
    ]
    found = {
        "no_write_is_sent_twice": twice,
        "only_the_job_and_its_hold_are_written": strange,
        "every_write_is_recorded": silent,
    }
    return {name: wrong for name, wrong in found.items() if wrong}
