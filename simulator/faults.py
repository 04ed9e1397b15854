"""Scripted faults of a real API server.

A fault applies to requests that match all of its `path` (prefix), `resource` (plural, with or without its
group) and `verb` (list, get, watch, create, update, patch, delete, discovery). It applies `count` times or,
without a count, until it is removed. Faults can be added while the simulator runs:

    fault = simulator.faults.throttled(7, resource="pods", verb="list", count=2)
    ...
    simulator.faults.remove(fault)

The verb `write` stands for create, update, patch and delete. Faults that damage the response (reset, hang,
html, not_json, truncated, drip) let the request be carried out first, unless `applied=False`. Faults that
replace the response (status, webhook_down) prevent it, unless `applied=True`:

    simulator.faults.reset(resource="jobs", verb="patch", count=1)  # applied, but the response is lost
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
"""Faults inside one pod: in lists, in watches, and in reads of the pod."""

WRITES = ("create", "update", "patch", "delete")
_ANSWERS = ("status", "webhook_down")
"""Faults that replace the response of the API."""

_HUGE = 5 * 1024 * 1024


@dataclass(eq=False)
class Fault:
    """One active fault. `hits` counts the requests that it has affected."""

    kind: str
    path: str = ""
    resource: str = ""
    verb: str = ""
    count: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    hits: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    """Set when the fault is removed, which ends the connections that it delays."""

    @property
    def applied(self) -> bool:
        """Return whether the request is carried out in spite of the fault."""
        return bool(self.options.get("applied", self.kind not in _ANSWERS))

    def concerns(self, verb: str) -> bool:
        """Return whether the fault covers a verb."""
        return self.verb in ("", verb) or (self.verb == "write" and verb in WRITES)

    def matches(self, request: Request) -> bool:
        """Return whether the fault covers the request."""
        names = ("", request.resource.plural, request.resource.full) if request.resource else ("",)
        return (
            request.path.startswith(self.path)
            and self.resource in names
            and self.concerns(request.verb)
            and (self.kind != "gone_mid_list" or "continue" in request.query)
        )

    def alter(self, body: bytes) -> bytes:
        """Return the bytes of a pod with this fault inside. Other pods stay unchanged."""
        pod = json.loads(body)
        pod_name = self.options.get("name")
        if pod_name is None:
            # The first pod that is served becomes the faulty one.
            pod_name = self.options["name"] = pod["metadata"]["name"]
        if pod["metadata"]["name"] != pod_name:
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
        """Activate a fault of any kind. Faults apply in the order of activation."""
        fault = Fault(kind, path, resource, verb, count, options)
        with self._lock:
            self._active.append(fault)
        return fault

    def remove(self, fault: Fault) -> None:
        """Remove a fault, if it is still active."""
        with self._lock:
            if fault in self._active:
                self._active.remove(fault)
        fault.released.set()

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            removed, self._active = self._active, []
        for fault in removed:
            fault.released.set()

    def meet(self, request: Request) -> list[Fault]:
        """Return the faults that cover this request, and count a hit for each."""
        with self._lock:
            met = [fault for fault in self._active if fault.matches(request)]
            for fault in met:
                fault.hits += 1
                if fault.count is not None and fault.hits >= fault.count:
                    self._active.remove(fault)
        return met

    def forbids(self, verb: str, resource: str) -> bool:
        """Return whether a fault forbids this, for access reviews. It counts no hit."""
        with self._lock:
            return any(
                fault.kind == "forbidden"
                and fault.resource in ("", resource, resource.partition(".")[0])
                and fault.concerns(verb)
                and not fault.path
                for fault in self._active
            )

    def forbidden(self, **filters: Any) -> Fault:
        """403, in the form of RBAC."""
        return self.add("forbidden", **filters)

    def unauthorized(self, **filters: Any) -> Fault:
        """401, as for an expired token."""
        return self.add("unauthorized", **filters)

    def status(self, code: int, reason: str = "", message: str = "", **filters: Any) -> Fault:
        """Any other code with a Status body, by default with the server's usual text."""
        return self.add("status", code=code, reason=reason, message=message, **filters)

    def webhook_down(self, webhook: str = "policy.example.com", **filters: Any) -> Fault:
        """500 for writes: a required admission webhook cannot be called."""
        return self.add("webhook_down", webhook=webhook, **{"verb": "write", **filters})

    def throttled(self, retry_after: int = 1, **filters: Any) -> Fault:
        """429 with Retry-After."""
        return self.add("throttled", retry_after=retry_after, **filters)

    def hang(self, **filters: Any) -> Fault:
        """Accept the request and never respond."""
        return self.add("hang", **filters)

    def drip(self, every: float = 1.0, **filters: Any) -> Fault:
        """Send the response one byte at a time, one per second by default."""
        return self.add("drip", every=every, **filters)

    def html(self, **filters: Any) -> Fault:
        """200 with the sign-in page of a proxy."""
        return self.add("html", **filters)

    def not_json(self, **filters: Any) -> Fault:
        """200 with content type JSON and an invalid body."""
        return self.add("not_json", **filters)

    def truncated(self, **filters: Any) -> Fault:
        """Close the connection after half of the body."""
        return self.add("truncated", **filters)

    def reset(self, **filters: Any) -> Fault:
        """Reset the connection instead of responding."""
        return self.add("reset", **filters)

    def half_line(self, **filters: Any) -> Fault:
        """Cut a watch in the middle of its next line, then close it."""
        return self.add("half_line", **{"verb": "watch", **filters})

    def dead_watch(self, **filters: Any) -> Fault:
        """Start a watch and then send no data, not even bookmarks, without closing it."""
        return self.add("dead_watch", **{"verb": "watch", **filters})

    def gone_mid_list(self, **filters: Any) -> Fault:
        """410 for the second page of a list."""
        return self.add("gone_mid_list", **{"verb": "list", **filters})

    def lying_continue(self, **filters: Any) -> Fault:
        """Return the first page with the same continue token forever."""
        return self.add("lying_continue", **{"verb": "list", **filters})

    def huge_annotation(self, **filters: Any) -> Fault:
        """Give one pod (`name=`, else the first served one) an annotation of 5 MB."""
        return self.add("huge_annotation", **{"resource": "pods", **filters})

    def pod_without_status(self, **filters: Any) -> Fault:
        """Remove the status of one pod (`name=`, else the first served one)."""
        return self.add("pod_without_status", **{"resource": "pods", **filters})

    def unknown_enum(self, **filters: Any) -> Fault:
        """Give one pod the phase Hibernating and conditions with the status Perhaps."""
        return self.add("unknown_enum", **{"resource": "pods", **filters})
