"""A group: one all-or-nothing unit as a grouping API stores it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gangboard.domain.objects import Condition, Meta


class Policy(StrEnum):
    """How the members of a group are placed."""

    GANG = "gang"
    BASIC = "basic"
    UNKNOWN = "unknown"
    """A union member that this release does not know: said, not guessed."""


@dataclass(frozen=True, slots=True)
class GroupTemplate:
    """One template of a Workload."""

    name: str
    policy: Policy
    quorum: int | None = None
    topology_keys: tuple[str, ...] = ()
    composite: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A Workload, PodGroup or CompositePodGroup (or what another grouping API has for them)."""

    meta: Meta
    policy: Policy = Policy.UNKNOWN
    quorum: int | None = None
    """`gang.minCount`; for a CompositePodGroup `minGroupCount`. The group's own, not the template's."""
    workload_name: str = ""
    template_name: str = ""
    parent_name: str = ""
    """`spec.parentCompositePodGroupName`."""
    topology_keys: tuple[str, ...] = ()
    priority: int | None = None
    disruption_mode: str = ""
    conditions: tuple[Condition, ...] = ()
    placed: Condition | None = None
    """The condition that tells whether the scheduler placed it, whatever its name in this version."""
    templates: tuple[GroupTemplate, ...] = ()
    """Of a Workload."""
    controller_ref: tuple[str, str, str] | None = None
    """Of a Workload: (API group, kind, name) of `spec.controllerRef`."""
    policy_text: str = ""
    """The union members as served when the policy is unknown."""
