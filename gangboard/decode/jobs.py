"""Wire structs of Job specs and pod templates, and functions to read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from gangboard.decode.podspec import NULL, WirePodSpec
from gangboard.decode.scheduling_policy import WireUnion, read_scheduling_policy
from gangboard.decode.wire import Int32, Int64, Wire, WirePresence, or_one
from gangboard.domain.owner import GangRequest, PodRequests, Role

# The API server sets `backoffLimit` to this value if the limit is per index. It means no limit.
_NO_LIMIT = 2**31 - 1
# Default of the API server for `terminationGracePeriodSeconds`.
DEFAULT_GRACE = 30
# Length of the stored text of failed indexes, because a Job can have 100,000 of them.
_MAX_INDEXES_TEXT = 100


class WireTemplateSpec(WirePodSpec):
    """`spec` of a pod template, with fields that gangboard reads from templates only."""

    termination_grace_period_seconds: Int64 | None = None
    affinity: msgspec.Raw = NULL

    @property
    def affinity_text(self) -> str:
        """JSON of `affinity` as served, or empty."""
        raw = bytes(self.affinity)
        return "" if raw == bytes(NULL) else raw.decode()

    @property
    def grace_seconds(self) -> int:
        """Termination grace period of its pods in seconds. Zero is a valid value."""
        grace = self.termination_grace_period_seconds
        return DEFAULT_GRACE if grace is None else grace


class WirePodTemplate(Wire):
    """A pod template. Its metadata is not read."""

    spec: WireTemplateSpec | None = None


def template_spec(template: WirePodTemplate | None) -> WireTemplateSpec:
    """Return the spec of a pod template, or an empty spec."""
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
    pod_replacement_policy: str | None = None
    scheduling: WireScheduling | None = None
    template: WirePodTemplate | None = None

    @property
    def pod(self) -> WireTemplateSpec:
        """Spec of its pods. Empty if the template has none."""
        return template_spec(self.template)

    @property
    def grace_seconds(self) -> int:
        """Termination grace period of its pods in seconds. Zero is a valid value."""
        return self.pod.grace_seconds

    @property
    def width(self) -> int:
        """Number of pods that it runs in parallel at its start, which is `parallelism` limited by `completions`.

        JobSet counts a child Job as ready by the same number (jobset_controller.go).
        """
        parallelism = or_one(self.parallelism)
        return parallelism if self.completions is None else min(parallelism, self.completions)

    @property
    def retry_limit(self) -> int | None:
        """`backoffLimit`, or None if the Job has no limit as a whole."""
        return None if self.backoff_limit == _NO_LIMIT else self.backoff_limit


def read_managed_by(named: str | None, own: Collection[str]) -> str:
    """Return `spec.managedBy`, or an empty text if it names the kind's own controller."""
    return "" if named is None or named in own else named


def size_of(roles: Iterable[Role]) -> int:
    """Return the number of pods of all replicas of these roles."""
    return sum(role.replicas * role.pods for role in roles)


def requests_of(roles: Sequence[Role]) -> tuple[PodRequests, ...]:
    """Return the pod requests of these roles, without roles that have no pods."""
    return tuple(
        PodRequests(role.replicas * role.pods, role.requests)
        for role in roles
        if role.replicas * role.pods
    )


def shared_text(texts: Iterable[str]) -> str:
    """Return the text that all have in common, or an empty text."""
    distinct = set(texts)
    return distinct.pop() if len(distinct) == 1 else ""


def read_failed_indexes(text: str | None) -> tuple[str, int]:
    """Return the text of `status.failedIndexes`, cut if it is long, and the number of indexes.

    The format is `1,3-5,7` (batch/v1 types.go). Malformed intervals are ignored, as in the Job controller
    (parseIndexesFromString).
    """
    number = 0
    for interval in (text or "").split(","):
        first, dash, last = interval.partition("-")
        bounds = (first, last if dash else first)
        if all(bound.isdecimal() and len(bound) < 10 for bound in bounds):
            number += max(0, int(bounds[1]) - int(bounds[0]) + 1)
    indexes = text or ""
    is_short = len(indexes) <= _MAX_INDEXES_TEXT
    return indexes if is_short else f"{indexes[:_MAX_INDEXES_TEXT]}…", number


def read_gang_request(
    scheduling: WireScheduling | None, quorum: int | None, default: str
) -> GangRequest | None:
    """Return the gang request in `spec.scheduling`, or None.

    `quorum` is used for a gang without `minCount`, and `default` is the policy if the spec names none.
    """
    if scheduling is None:
        return None
    policy = read_scheduling_policy(scheduling.scheduling_policy)
    if (policy.member or default) != "gang":
        return GangRequest(policy.member or default)
    if policy.min_count is None:
        return GangRequest("gang", quorum, derived=quorum is not None)
    return GangRequest("gang", policy.min_count)
