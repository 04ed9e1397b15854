"""`spec` of a batch/v1 Job, and pod templates of owners that make Jobs or pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from gangboard.decode.podspec import WirePodSpec
from gangboard.decode.scheduling_policy import WireUnion, read_scheduling_policy
from gangboard.decode.wire import Int32, Int64, Wire, WirePresence, or_one
from gangboard.domain.owner import GangRequest, PodRequests, Role

# What `backoffLimit` is set to when the limit is per index: no limit at all.
_NO_LIMIT = 2**31 - 1
# What the API server sets `terminationGracePeriodSeconds` to where a pod template says nothing.
DEFAULT_GRACE = 30
# Of the indexes that failed so much of the text is kept: there can be 100,000 of them.
_INDEXES_KEPT = 100


class WireTemplateSpec(WirePodSpec):
    """`spec` of a pod template, with what only templates are asked for."""

    termination_grace_period_seconds: Int64 | None = None

    @property
    def grace_seconds(self) -> int:
        """Seconds that its pods have to end once they are deleted; zero is a choice."""
        grace = self.termination_grace_period_seconds
        return DEFAULT_GRACE if grace is None else grace


class WirePodTemplate(Wire):
    """A pod template: of it only the spec is read."""

    spec: WireTemplateSpec | None = None


def template_spec(template: WirePodTemplate | None) -> WireTemplateSpec:
    """Return the spec of a pod template; an empty one if it has none."""
    return (template and template.spec) or WireTemplateSpec()


class WireScheduling(Wire):
    """`spec.scheduling` of a Job (1.37)."""

    scheduling_policy: WireUnion | None = None


class WireJobSpec(Wire):
    """`spec` of a Job."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    success_policy: WirePresence | None = None
    backoff_limit: Int32 | None = None
    active_deadline_seconds: Int64 | None = None
    suspend: bool | None = None
    managed_by: str | None = None
    scheduling: WireScheduling | None = None
    template: WirePodTemplate | None = None

    @property
    def pod(self) -> WireTemplateSpec:
        """The spec of its pods; an empty one when the template has none."""
        return template_spec(self.template)

    @property
    def grace_seconds(self) -> int:
        """Seconds that its pods have to end once they are deleted; zero is a choice."""
        return self.pod.grace_seconds

    @property
    def width(self) -> int:
        """Pods that it runs at a time when none is done: `parallelism`, at most `completions`.

        JobSet counts a child Job as ready by the same number (jobset_controller.go).
        """
        parallelism = or_one(self.parallelism)
        return parallelism if self.completions is None else min(parallelism, self.completions)

    @property
    def retry_limit(self) -> int | None:
        """`backoffLimit`, or None when there is no limit for the Job as a whole."""
        return None if self.backoff_limit == _NO_LIMIT else self.backoff_limit


def read_managed_by(named: str | None, own: Collection[str]) -> str:
    """Return who else than the kind's own controller is to reconcile an object, by `spec.managedBy`."""
    return "" if named is None or named in own else named


def size_of(roles: Iterable[Role]) -> int:
    """Return the pods of all replicas of these roles."""
    return sum(role.replicas * role.pods for role in roles)


def requests_of(roles: Sequence[Role]) -> tuple[PodRequests, ...]:
    """Return the requests of the pods of these roles, without roles of no pods."""
    return tuple(
        PodRequests(role.replicas * role.pods, role.requests)
        for role in roles
        if role.replicas * role.pods
    )


def shared_text(texts: Iterable[str]) -> str:
    """Return the text if all are the same, else an empty one."""
    found = set(texts)
    return found.pop() if len(found) == 1 else ""


def read_failed_indexes(text: str | None) -> tuple[str, int]:
    """Return the text of `status.failedIndexes`, cut where it is long, and how many they are.

    Like `1,3-5,7` (batch/v1 types.go); what is no index or interval counts for nothing, as for the
    Job controller (parseIndexesFromString).
    """
    number = 0
    for interval in (text or "").split(","):
        first, dash, last = interval.partition("-")
        ends = (first, last if dash else first)
        if all(end.isdecimal() and len(end) < 10 for end in ends):
            number += max(0, int(ends[1]) - int(ends[0]) + 1)
    kept = text or ""
    return kept if len(kept) <= _INDEXES_KEPT else f"{kept[:_INDEXES_KEPT]}…", number


def read_gang_request(
    scheduling: WireScheduling | None, quorum: int | None, default: str
) -> GangRequest | None:
    """Return what `spec.scheduling` asks for, None without it.

    `quorum` is that of a gang without `minCount`, `default` the policy when none is named.
    """
    if scheduling is None:
        return None
    policy = read_scheduling_policy(scheduling.scheduling_policy)
    if (policy.member or default) != "gang":
        return GangRequest(policy.member or default)
    if policy.min_count is None:
        return GangRequest("gang", quorum, derived=quorum is not None)
    return GangRequest("gang", policy.min_count)
