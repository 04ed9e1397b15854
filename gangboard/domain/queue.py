"""What an admission system keeps for an owner: a Workload of Kueue."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.domain.objects import Condition, Meta, find_condition


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """The entry of one owner in a queue. Its controller reference names the owner."""

    meta: Meta
    queue: str = ""
    active: bool = True
    """Kueue's `spec.active`: false means deactivated, by hand or by Kueue itself."""
    admitted: bool = False
    conditions: tuple[Condition, ...] = ()
    owner_uid: str = ""
    """uid of the owner: by controller reference, else by the label `kueue.x-k8s.io/job-uid`."""

    @property
    def is_in_use(self) -> bool:
        """Not over: old entries end before they are deleted."""
        finished = find_condition(self.conditions, "Finished")
        is_finished = finished is not None and finished.is_true
        return self.meta.deleting_since is None and not is_finished
