"""Disturbing actors: an admin who forbids, a kubectl user, and faults."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from gangboard.kube.connection import JSON
from gangboard.store import actions
from gangboard.store.models import Cluster, Grant, Switch
from tests.interleavings.cast import Cast
from tests.interleavings.site import HOLDS, JOBS, JOBSET, JOBSETS, NAMESPACE, Json

BY_HAND = "by-hand-"
"""Name prefix of Holds created with kubectl."""
_MERGE = "application/merge-patch+json"
_BATCH = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/"
_JOBSET = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets/{JOBSET}"
_HOLD = f"/apis/gangboard.dev/v1alpha1/namespaces/{NAMESPACE}/holds/"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"


@dataclass
class Switches:
    """When something that forbids to send was on: from second to second of the clock."""

    read_only: list[list[float]] = field(default_factory=list)
    withdrawn: dict[str, list[list[float]]] = field(default_factory=dict)
    """By the name of the person whose role was taken."""


class Disturbance:
    """Everybody who gets into the way of one run."""

    def __init__(self, cast: Cast) -> None:
        self.switches = Switches()
        self._cast = cast
        self._site = cast.site
        self._random = cast.random
        self._made = 0

    def admin(self) -> None:
        """Switch to read-only and back, take a role and give it back."""
        for _ in range(self._random.choice((0, 0, 0, 1, 2))):
            self._cast.hub.sleep(self._random.uniform(0.0, 60.0), "thinks")
            if self._cast.is_calm:
                return
            self._random.choice((self._read_only, self._cluster_read_only, self._withdraw))()

    def _read_only(self) -> None:
        now = self._site.clock.now()
        Switch.objects.update_or_create(
            name=actions.READ_ONLY, defaults={"is_on": True, "changed_at": now}
        )
        self._forbid(self.switches.read_only, "switches gangboard to read-only")
        Switch.objects.filter(name=actions.READ_ONLY).update(is_on=False)
        self._allow(self.switches.read_only, "ends read-only")

    def _cluster_read_only(self) -> None:
        Cluster.objects.filter(pk=self._site.cluster.pk).update(read_only=True)
        self._forbid(self.switches.read_only, "switches the cluster to read-only")
        Cluster.objects.filter(pk=self._site.cluster.pk).update(read_only=False)
        self._allow(self.switches.read_only, "ends read-only of the cluster")

    def _withdraw(self) -> None:
        user = self._random.choice(self._site.people)
        spans = self.switches.withdrawn.setdefault(str(user), [])
        Grant.objects.filter(user=user).update(role="viewer")
        self._forbid(spans, f"withdraws the role of {user}")
        Grant.objects.filter(user=user).update(role="operator")
        self._allow(spans, f"gives the role of {user} back")

    def _forbid(self, spans: list[list[float]], switch: str) -> None:
        self._cast.trace.write("admin", switch)
        spans.append([self._site.clock.seconds, float("inf")])
        self._cast.hub.sleep(self._random.uniform(1.0, 20.0), "waits")

    def _allow(self, spans: list[list[float]], switch: str) -> None:
        self._cast.trace.write("admin", switch)
        spans[-1][1] = self._site.clock.seconds

    def meddler(self) -> None:
        """Do with kubectl what people do."""
        deeds = (
            self._delete_hold,
            self._delete_hold,
            self._edit_hold,
            self._make_hold,
            self._move_end,
            self._patch_job,
            self._patch_job,
            self._touch_job,
            self._patch_jobset,
            self._remove_policy,
            self._delete_jobset,
        )
        weights = (2, 2, 1, 2, 1, 2, 2, 2, 1, 1, 0.4)
        for _ in range(self._random.choice((0, 1, 2, 3))):
            self._cast.hub.sleep(self._random.uniform(0.0, 50.0), "thinks")
            if self._cast.is_calm:
                return
            self._random.choices(deeds, weights)[0]()

    def _any(self, objects: Iterable[Json]) -> str:
        names = sorted(obj["metadata"]["name"] for obj in objects)
        return self._random.choice(names) if names else ""

    def _kubectl(self, method: str, path: str, body: Json | None = None) -> None:
        text = json.dumps(body) if body is not None else ""
        kind = JSON if method == "POST" else _MERGE
        code = self._site.request(method, path, text.encode(), kind)
        self._cast.trace.write("kubectl", f"{method} {path} {text}: {code}")

    def _delete_hold(self) -> None:
        name = self._any(self._site.objects(HOLDS))
        if name:
            self._kubectl("DELETE", _HOLD + name)

    def _edit_hold(self) -> None:
        name = self._any(self._site.objects(HOLDS))
        if name:
            self._kubectl("PATCH", _HOLD + name, {"spec": {"jobName": "another"}})

    def _make_hold(self) -> None:
        """Make one more Hold on a Job, as a user without other rights."""
        name = self._any(self._site.objects(JOBS))
        owner = self._site.find(JOBSETS, JOBSET)
        if not name or owner is None:
            return
        self._made += 1
        spec = {"jobName": name, "ownerUID": owner["metadata"]["uid"], "by": "mallory"}
        body = {
            "apiVersion": "gangboard.dev/v1alpha1",
            "kind": "Hold",
            "metadata": {"name": f"{BY_HAND}{self._made}"},
            "spec": {**spec, "reason": "none", **self._end()},
        }
        self._kubectl("POST", _HOLD.rstrip("/"), body)

    def _move_end(self) -> None:
        name = self._any(self._site.objects(HOLDS))
        if name:
            self._kubectl("PATCH", _HOLD + name, {"spec": self._end() or {"until": None}})

    def _end(self) -> Json:
        """Return an end that is past, one that comes, or none."""
        seconds = self._random.choice((-60, 15, None))
        if seconds is None:
            return {}
        until = self._site.clock.now() + timedelta(seconds=seconds)
        return {"until": until.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def _patch_job(self) -> None:
        name = self._any(self._site.objects(JOBS))
        if name:
            suspend = self._random.choice((True, False))
            self._kubectl("PATCH", _BATCH + name, {"spec": {"suspend": suspend}})

    def _touch_job(self) -> None:
        name = self._any(self._site.objects(JOBS))
        if name:
            self._kubectl("PATCH", _BATCH + name, {"metadata": {"labels": {"touched": "yes"}}})

    def _patch_jobset(self) -> None:
        suspend = self._random.choice((True, False))
        self._kubectl("PATCH", _JOBSET, {"spec": {"suspend": suspend}})

    def _delete_jobset(self) -> None:
        self._kubectl("DELETE", _JOBSET)

    def _remove_policy(self) -> None:
        bindings = self._site.plane.objects.list(
            "admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"
        )
        self._kubectl("DELETE", f"{_POLICIES}/gangboard-hold")
        if self._random.random() < 0.6 and bindings:
            self._cast.hub.sleep(self._random.uniform(0.1, 15.0), "notices it")
            for obj in bindings:
                self._cast.trace.write("kubectl", "applies the policy again")
                self._site.plane.objects.put(obj, scripted=False)

    def fate(self) -> None:
        """Fail a Job, so that the JobSet restarts."""
        for _ in range(self._random.choice((0, 1, 1, 2))):
            self._cast.hub.sleep(self._random.uniform(2.0, 60.0), "spins")
            if self._cast.is_calm:
                return
            pods = [
                pod
                for job in self._site.objects(JOBS)
                for pod in self._site.pods_of(job["metadata"]["uid"])
                if pod["status"].get("phase") == "Running"
            ]
            if pods:
                pod = self._random.choice(pods)
                self._cast.trace.write("fate", f"pod {pod['metadata']['name']} fails")
                self._site.plane.kubelet.finish(pod, "failed")
