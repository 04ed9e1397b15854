"""Everything that is installed in a cluster, in the order in which it must be applied."""

from __future__ import annotations

from gangboard.actions.permissions.admission_policy import admission_policies
from gangboard.actions.permissions.names import Manifest, Wanted
from gangboard.actions.permissions.roles import accounts, actor_roles, reader_roles
from gangboard.domain.hold_manifest import RESOURCE, policy_manifests


def manifests(wanted: Wanted) -> list[Manifest]:
    """Return the objects. The limits stand before the roles: the actor is never without them."""
    hold: tuple[Manifest, ...] = ()
    if wanted.policy_version:
        hold = policy_manifests(wanted.policy_version)
    if not wanted.binds_hold:
        hold = hold[:1]
    return [
        RESOURCE,
        *hold,
        *accounts(),
        *admission_policies(wanted),
        *reader_roles(),
        *actor_roles(wanted),
    ]
