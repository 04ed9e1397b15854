"""The tables. Models have trivial properties only, without network access, rules or signals."""

from gangboard.store.models.actions import (
    Action,
    ActionStep,
    AuditEntry,
    AuditHead,
    Chore,
    HoldCheck,
    LeverRecord,
    Switch,
)
from gangboard.store.models.checks import CheckRun
from gangboard.store.models.cluster_trials import ClusterTrial
from gangboard.store.models.clusters import Cluster, Heartbeat, Lease, Outage, ResourceState
from gangboard.store.models.gangs import Gang, GangSearch
from gangboard.store.models.history import FeedEvent, FeedHead, TrendPoint, VerdictSpan
from gangboard.store.models.notify import Channel, Delivery, NotifyCursor, Rule, RuleMark
from gangboard.store.models.observed import (
    ClusterCapacity,
    ClusterPlan,
    NodeCapacity,
    WatchedObject,
)
from gangboard.store.models.people import (
    AccessToken,
    Attempts,
    BoardColumns,
    Grant,
    GroupRole,
    Identity,
    SavedView,
    SessionRecord,
    SignInLink,
    SubmitterNames,
)
from gangboard.store.models.usage import Eviction, UsageDay, UsageMeter
from gangboard.store.models.use import GangUse, UseSource

__all__ = [
    "AccessToken",
    "Action",
    "ActionStep",
    "Attempts",
    "AuditEntry",
    "AuditHead",
    "BoardColumns",
    "Channel",
    "CheckRun",
    "Chore",
    "Cluster",
    "ClusterCapacity",
    "ClusterPlan",
    "ClusterTrial",
    "Delivery",
    "Eviction",
    "FeedEvent",
    "FeedHead",
    "Gang",
    "GangSearch",
    "GangUse",
    "Grant",
    "GroupRole",
    "Heartbeat",
    "HoldCheck",
    "Identity",
    "Lease",
    "LeverRecord",
    "NodeCapacity",
    "NotifyCursor",
    "Outage",
    "ResourceState",
    "Rule",
    "RuleMark",
    "SavedView",
    "SessionRecord",
    "SignInLink",
    "SubmitterNames",
    "Switch",
    "TrendPoint",
    "UsageDay",
    "UsageMeter",
    "UseSource",
    "VerdictSpan",
    "WatchedObject",
]
