"""Scripted faults: what a real API server does only when it is least wanted.

A fault applies to requests that match all of its `path` (prefix), `resource` (plural, with or
without its group) and `verb` (list, get, watch, create, update, patch, delete, discovery), `count`
times or, without a count, until it is removed. Add them while the simulator runs:

    fault = simulator.faults.throttled(7, resource="pods", verb="list", count=2)
    ...
    simulator.faults.remove(fault)

The verb `write` stands for all four that write. What spoils an answer (reset, hang, html, not_json,
truncated, drip) lets the request be carried out first and `applied=False` keeps it from that; what
answers something else (status, webhook_down) keeps it from that and with `applied=True` comes after:

    simulator.faults.reset(resource="jobs", verb="patch", count=1)  # applied, and nobody hears of it
    simulator.faults.reset(resource="jobs", verb="patch", count=1, applied=False)
    simulator.faults.status(504, verb="write", count=1, applied=True)
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

from simulator.requests import Request

OBJECT_FAULTS = ("huge_annotation", "pod_without_status", "unknown_enum")
"""Faults inside one pod: in lists, in watches and when it is read alone."""

WRITES = ("create", "update", "patch", "delete")
_ANSWERS = ("status", "webhook_down")
"""Faults that answer instead of the API."""

_HUGE = 5 * 1024 * 1024


@dataclass(eq=False)
class Fault:
    """One fault that is in force; `hits` counts the requests it has met."""

    kind: str
    path: str = ""
    resource: str = ""
    verb: str = ""
    count: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    hits: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    """Set when the fault is removed: ends what hangs because of it."""

    @property
    def applied(self) -> bool:
        """Whether the request is carried out all the same."""
        return bool(self.options.get("applied", self.kind not in _ANSWERS))

    def concerns(self, verb: str) -> bool:
        """Whether it is meant for a verb."""
        return self.verb in ("", verb) or (self.verb == "write" and verb in WRITES)

    def matches(self, request: Request) -> bool:
        """Whether the request is one of those it is meant for."""
        names = ("", request.resource.plural, request.resource.full) if request.resource else ("",)
        return (
            request.path.startswith(self.path)
            and self.resource in names
            and self.concerns(request.verb)
            and (self.kind != "gone_mid_list" or "continue" in request.query)
        )

    def alter(self, body: bytes) -> bytes:
        """Return the bytes of a pod with this fault inside; other pods stay as they are."""
        pod = json.loads(body)
        wanted = self.options.get("name")
        if wanted is None:
            # The first pod that passes by is the bad one from now on.
            wanted = self.options["name"] = pod["metadata"]["name"]
        if pod["metadata"]["name"] != wanted:
            return body
        if self.kind == "huge_annotation":
            pod["metadata"].setdefault("annotations", {})["example.com/huge"] = "x" * _HUGE
        elif self.kind == "pod_without_status":
            del pod["status"]
        else:
            pod["status"]["phase"] = "Hibernating"
            for condition in pod["status"].get("conditions", []):
                condition["status"] = "Perhaps"
        return json.dumps(pod, separators=(",", ":")).encode()


class Faults:
    """All faults of one simulator. Each method adds one and returns it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[Fault] = []

    def add(
        self,
        kind: str,
        *,
        path: str = "",
        resource: str = "",
        verb: str = "",
        count: int | None = None,
        **options: Any,
    ) -> Fault:
        """Put a fault of any kind in force; those added first are met first."""
        fault = Fault(kind, path, resource, verb, count, options)
        with self._lock:
            self._active.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Take a fault away; one that is gone already is fine."""
        with self._lock:
            if fault in self._active:
                self._active.remove(fault)
        fault.released.set()

    def clear(self) -> None:
        """Take all faults away."""
        with self._lock:
            gone, self._active = self._active, []
        for fault in gone:
            fault.released.set()

    def meet(self, request: Request) -> list[Fault]:
        """Return the faults that this request meets, and count it for each."""
        with self._lock:
            met = [fault for fault in self._active if fault.matches(request)]
            for fault in met:
                fault.hits += 1
                if fault.count is not None and fault.hits >= fault.count:
                    self._active.remove(fault)
        return met

    def forbids(self, verb: str, resource: str) -> bool:
        """Whether a fault forbids this, for access reviews; counts nothing."""
        with self._lock:
            return any(
                fault.kind == "forbidden"
                and fault.resource in ("", resource, resource.partition(".")[0])
                and fault.concerns(verb)
                and not fault.path
                for fault in self._active
            )

    def forbidden(self, **where: Any) -> Fault:
        """403, as RBAC says it."""
        return self.add("forbidden", **where)

    def unauthorized(self, **where: Any) -> Fault:
        """401, as for a token that has ended."""
        return self.add("unauthorized", **where)

    def status(self, code: int, reason: str = "", message: str = "", **where: Any) -> Fault:
        """Any other code with a Status body, in the server's usual words where none are given."""
        return self.add("status", code=code, reason=reason, message=message, **where)

    def webhook_down(self, webhook: str = "policy.example.com", **where: Any) -> Fault:
        """500 for writes: an admission webhook that must agree cannot be called."""
        return self.add("webhook_down", webhook=webhook, **{"verb": "write", **where})

    def throttled(self, retry_after: int = 1, **where: Any) -> Fault:
        """429 with Retry-After."""
        return self.add("throttled", retry_after=retry_after, **where)

    def hang(self, **where: Any) -> Fault:
        """Accept the request and never answer."""
        return self.add("hang", **where)

    def drip(self, every: float = 1.0, **where: Any) -> Fault:
        """Answer one byte at a time, one a second."""
        return self.add("drip", every=every, **where)

    def html(self, **where: Any) -> Fault:
        """200 with the sign-in page of some proxy."""
        return self.add("html", **where)

    def not_json(self, **where: Any) -> Fault:
        """200 that says it is JSON and is not."""
        return self.add("not_json", **where)

    def truncated(self, **where: Any) -> Fault:
        """End the connection after half of the body."""
        return self.add("truncated", **where)

    def reset(self, **where: Any) -> Fault:
        """Reset the connection instead of answering."""
        return self.add("reset", **where)

    def half_line(self, **where: Any) -> Fault:
        """Cut a watch in the middle of its next line, then close."""
        return self.add("half_line", **{"verb": "watch", **where})

    def dead_watch(self, **where: Any) -> Fault:
        """Begin a watch and then send nothing, not even bookmarks, without closing."""
        return self.add("dead_watch", **{"verb": "watch", **where})

    def gone_mid_list(self, **where: Any) -> Fault:
        """410 for the second page of a list."""
        return self.add("gone_mid_list", **{"verb": "list", **where})

    def lying_continue(self, **where: Any) -> Fault:
        """Give the first page with the same continue token for ever."""
        return self.add("lying_continue", **{"verb": "list", **where})

    def huge_annotation(self, **where: Any) -> Fault:
        """Give one pod (`name=`, else the first one met) an annotation of 5 MB."""
        return self.add("huge_annotation", **{"resource": "pods", **where})

    def pod_without_status(self, **where: Any) -> Fault:
        """Leave the status out of one pod (`name=`, else the first one met)."""
        return self.add("pod_without_status", **{"resource": "pods", **where})

    def unknown_enum(self, **where: Any) -> Fault:
        """Give one pod the phase Hibernating and conditions with the status Perhaps."""
        return self.add("unknown_enum", **{"resource": "pods", **where})
