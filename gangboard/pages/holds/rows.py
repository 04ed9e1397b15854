"""Holds, and the clusters whose Holds cannot be listed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.tables import labels_of
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.state_labels import Face


@dataclass(frozen=True, slots=True)
class HoldOwnerRow:
    """The object whose Job is held."""

    kind: str = shown("Kind", empty_is_null=True)
    name: str = shown("Name", empty_is_null=True)
    """Empty if the owner is gone and no stored gang names it."""
    uid: str = shown("uid")


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRow:
    """A Hold that is in a cluster."""

    cluster: str = shown("Cluster")
    namespace: str = shown("Namespace")
    name: str = shown("Hold")
    uid: str = shown("uid")
    job: str = shown("Job")
    owner: HoldOwnerRow = shown("Owner")
    gang_id: str = shown("Gang", "Null if its owner no longer exists.", empty_is_null=True)
    action_id: str = shown(
        "Action", "The action that created it. Null if it was created by hand.", empty_is_null=True
    )
    by: str = shown("By and reason", empty_is_null=True)
    reason: str = shown("Reason", empty_is_null=True)
    since: datetime | None = shown("Since")
    until: datetime | None = shown("Until")
    in_force: bool | None = shown(
        "In force", "Whether the Hold would undo a resume. Null if unknown."
    )
    checked_at: datetime | None = shown("Last checked", "When that was last tested.")
    lost: bool = shown("Lost", "True if the held Job no longer exists.")
    message: str = shown("Message", "The problem with it, in a sentence.", empty_is_null=True)
    face: Face = shown("State", in_api=False)
    job_uid: str = ""
    """The uid of the Job that has the name now, or empty."""
    job_generation: int | None = None


COLUMNS = labels_of(HoldRow, ("face", "job", "by", "since", "until", "checked_at"))


@dataclass(frozen=True, slots=True)
class UnseenHoldsRow:
    """A cluster whose Holds cannot be listed: that is not the same as none."""

    cluster: str = shown("Cluster")
    state: str = shown("State", "silent, not-served, forbidden, failing …")
    sentence: str = shown("Message", api_name="message")


@dataclass(frozen=True, slots=True)
class HoldPage:
    """Some Holds by cluster, namespace and name, and the clusters whose Holds cannot be listed."""

    rows: tuple[HoldRow, ...]
    unseen: tuple[UnseenHoldsRow, ...]
    next_cursor: str | None
