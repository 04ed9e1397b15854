"""Whether pods name a group that does not exist: told only where it would be known if it did."""

from __future__ import annotations

from gangboard.domain.pod import Pod
from gangboard.facts.unit import Unit


def waiting_for_missing_group(unit: Unit) -> tuple[Pod, ...]:
    """Return the pods that wait and name a group of the unit that is not there; none where that cannot be seen."""
    if not unit.group_name or unit.group is not None:
        return ()
    waiting = tuple(pod for pod in unit.unplaced if pod.group_name == unit.group_name)
    return waiting if waiting and _would_be_known(unit, waiting[0].group_kind) else ()


def _would_be_known(unit: Unit, kind: str) -> bool:
    """Whether groups of that kind (`Pod.group_kind`) are served, and all of them can be read."""
    gang = unit.gang
    if kind:
        return kind in gang.cluster.known_kinds
    return bool(gang.cluster.gang_api_version) and not gang.cluster.groups_unobserved
