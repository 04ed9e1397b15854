"""The part of the OpenAPI document of the server that this client uses.

`make clientschema` of the server's repository writes this file: edit `tools/client_schema.py` instead.
"""

from __future__ import annotations

from typing import NamedTuple, TypedDict


class Operation(NamedTuple):
    """How an operation is called."""

    method: str
    path: str
    parameters: tuple[str, ...]


OPERATIONS = {
    "list_gangs": Operation(
        "GET",
        "gangs/",
        (
            "cluster",
            "namespace",
            "api_group",
            "kind",
            "health",
            "code",
            "queue",
            "stage",
            "q",
            "gone",
            "ordering",
            "limit",
            "cursor",
            "label",
            "submitter",
            "mine",
        ),
    ),
    "get_gang": Operation(
        "GET",
        "gangs/{gang_id}/",
        (),
    ),
    "list_holds": Operation(
        "GET",
        "holds/",
        (
            "cluster",
            "namespace",
            "q",
            "limit",
            "cursor",
        ),
    ),
    "list_reasons": Operation(
        "GET",
        "reasons/",
        (
            "cluster",
            "namespace",
        ),
    ),
    "list_queues": Operation(
        "GET",
        "queues/",
        (
            "cluster",
            "state",
            "q",
            "limit",
            "cursor",
        ),
    ),
    "list_capacity": Operation(
        "GET",
        "capacity/",
        ("cluster",),
    ),
    "list_events": Operation(
        "GET",
        "events/",
        (
            "cursor",
            "wait",
            "limit",
            "cluster",
            "namespace",
            "type",
            "health",
            "code",
            "gang",
        ),
    ),
    "get_me": Operation(
        "GET",
        "me/",
        (),
    ),
    "request_action": Operation(
        "POST",
        "actions/",
        (
            "dry_run",
            "Idempotency-Key",
        ),
    ),
    "get_action": Operation(
        "GET",
        "actions/{action_id}/",
        (),
    ),
    "check_manifests": Operation(
        "POST",
        "checks/",
        (),
    ),
}


class Members(TypedDict):
    """Pods of the current attempt."""

    desired: int
    created: int
    scheduled: int
    ready: int
    held: int


class Gang(TypedDict):
    """A gang with its verdict."""

    id: str
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    health: str
    stage: str
    code: str
    title: str
    message: str
    advice: list[str]
    members: Members
    requests: dict[str, str]
    queue: str | None
    priority: str | None
    since: str
    observed_at: str
    stale: bool


class UnseenCluster(TypedDict):
    """A cluster that could not be looked at, or not fully."""

    cluster: str
    message: str


class GangList(TypedDict):
    """One page of gangs."""

    next: str | None
    results: list[Gang]
    unseen: list[UnseenCluster]


class Finding(TypedDict):
    """One of the findings about a gang."""

    code: str
    health: str
    message: str
    unit: str | None
    advice: list[str]


class Job(TypedDict):
    """A child Job."""

    name: str
    uid: str
    generation: int
    suspended: bool
    held: bool
    finished: str | None
    desired: int
    ready: int


class GangDetail(TypedDict):
    """A gang with everything that explains its verdict."""

    id: str
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None
    health: str
    stage: str
    code: str
    title: str
    message: str
    advice: list[str]
    since: str
    observed_at: str
    stale: bool
    members: Members | None
    findings: list[Finding]
    jobs: list[Job] | None
    gone_at: str | None


class HoldOwner(TypedDict):
    """The object whose Job is held."""

    kind: str | None
    name: str | None


class Hold(TypedDict):
    """A Hold that is in a cluster."""

    cluster: str
    namespace: str
    name: str
    job: str
    owner: HoldOwner
    by: str | None
    reason: str | None
    since: str | None
    until: str | None
    in_force: bool | None
    lost: bool
    message: str | None


class UnseenHolds(TypedDict):
    """A cluster whose Holds cannot be listed: that is not the same as none."""

    cluster: str
    state: str
    message: str


class HoldList(TypedDict):
    """One page of Holds."""

    next: str | None
    results: list[Hold]
    unseen: list[UnseenHolds]


class Reason(TypedDict):
    """One reason code in one stage."""

    stage: str
    code: str
    title: str
    gangs: int
    pods_not_ready: int
    accelerators: str
    since: str
    next_step: str | None


class Reasons(TypedDict):
    """One page of reasons, and what is said of all."""

    results: list[Reason]
    unknown: int | None
    clusters: int
    clusters_looked_at: int
    unseen: list[UnseenCluster]


class Quota(TypedDict):
    """One resource in one flavor of a queue."""

    flavor: str
    resource: str
    accelerator: bool
    nominal_word: str
    used: str


class Queue(TypedDict):
    """One queue that admits, such as a ClusterQueue."""

    cluster: str
    kind: str
    name: str
    state: str
    cause: str | None
    quotas: list[Quota]
    waiting: int | None
    admitted: int | None
    stale: bool


class UnseenQueues(TypedDict):
    """Kinds of an admission system that cannot be seen in a cluster: that is not the same as none."""

    cluster: str
    state: str
    message: str


class QueueList(TypedDict):
    """One page of queues."""

    next: str | None
    results: list[Queue]
    unseen: list[UnseenQueues]


class Amount(TypedDict):
    """One resource over some nodes."""

    resource: str
    accelerator: bool
    allocatable: str
    used: str
    held: str
    free: str
    away: str


class Pool(TypedDict):
    """Some nodes together."""

    nodes: int
    ready: int
    amounts: list[Amount]


class ClusterCapacity(TypedDict):
    """One cluster."""

    cluster: str
    stale: bool
    why: str | None
    observed_at: str | None
    nodes: int | None
    all_nodes: Pool | None


class CapacityList(TypedDict):
    """All clusters of which the caller may see something."""

    next: str | None
    results: list[ClusterCapacity]


class ChangeGang(TypedDict):
    """The gang of an event."""

    id: str
    kind: str
    name: str


class ChangeAction(TypedDict):
    """The action of an event."""

    id: str
    verb: str
    state: str


class Change(TypedDict):
    """A gang got another verdict or was deleted, or an action ended."""

    cursor: str
    at: str
    type: str
    cluster: str
    namespace: str
    gang: ChangeGang | None
    health: str | None
    code: str | None
    title: str
    message: str
    action: ChangeAction | None


class ChangeList(TypedDict):
    """Some events in their order."""

    next: str
    cursor: str
    results: list[Change]


class Account(TypedDict):
    """Who sends this request, and what they may do."""

    name: str
    rights: list[str]
    token: str | None
    may_act: bool


class TargetRequest(TypedDict, total=False):
    """The object, as the caller saw it."""

    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None


class Target(TypedDict):
    """The object of an action, as the caller saw it."""

    cluster: str
    kind: str
    namespace: str
    name: str


class Avoid(TypedDict, total=False):
    """The place that a relocated Job leaves: nodes, or one topology domain."""

    nodes: list[str]
    topology: dict[str, str]


class ActionRequest(TypedDict, total=False):
    """A request to suspend, resume or relocate one object."""

    verb: str
    target: TargetRequest
    reason: str
    until: str | None
    avoid: Avoid | None


class PlannedStep(TypedDict):
    """One request that would be sent."""

    name: str
    method: str
    path: str
    patch: str


class Plan(TypedDict):
    """What would be done; nothing was sent and nothing was written down."""

    allowed: bool
    why_not: str | None
    needs: str | None
    lever: str | None
    steps: list[PlannedStep]
    reactions: list[str]
    warnings: list[str]


class Action(TypedDict):
    """An action: what was asked, what was sent, and how it ended."""

    id: str
    verb: str
    target: Target
    state: str
    final: bool
    label: str
    lever: str | None
    message: str
    warnings: list[str]


class Problem(TypedDict, total=False):
    """An error, as RFC 9457 says."""

    detail: str
    errors: dict[str, list[str]]
    action_id: str
