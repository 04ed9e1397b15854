"""A trial of an actor before it is saved: which levers it may use. It writes nothing to the cluster."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings

from gangboard.cluster_networks import cluster_destinations
from gangboard.domain.text import names
from gangboard.kube.access_reviews import is_allowed, namespace_rules
from gangboard.kube.connection import Connection
from gangboard.kube.credentials import Credentials
from gangboard.kube.discovery import Discovery, discover
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.policy.lever_permissions import LeverRights, PermissionOptions, Right, lever_rights
from gangboard.polling.cluster_trial import ANSWER_DEADLINE, CONNECT_DEADLINE, TRIAL_SECONDS, Access
from gangboard.store.clusters import gang_namespaces
from gangboard.store.models import Cluster

MAX_NAMESPACES = 20
"""Maximum number of namespaces with gangs to check for a right that is missing in the whole cluster."""
_REVIEW_REFUSALS = frozenset({KubeErrorCode.FORBIDDEN, KubeErrorCode.NOT_FOUND})
"""Errors by which a server refuses to answer access reviews."""


@dataclass(frozen=True, slots=True)
class TriedLever:
    """One enabled lever, and the rights that the actor lacks for it."""

    lever: str
    title: str
    missing: tuple[Right, ...] = ()
    """Rights that it does not have in every namespace."""
    namespaces: tuple[str, ...] = ()
    """Checked namespaces in which it has them."""

    @property
    def is_usable(self) -> bool:
        """True if the actor may use it everywhere."""
        return not self.missing


@dataclass(frozen=True, slots=True)
class ActorTrial:
    """The result of a trial of an actor."""

    server_version: str
    """Empty if the account may not read it."""
    uid: str
    """uid of the namespace `kube-system`. Mostly empty, because an actor may not read it."""
    levers: tuple[TriedLever, ...] = field(default=())
    can_review_access: bool = True
    """The server answers the account's access reviews, as nearly all servers do."""

    @property
    def sentence(self) -> str:
        """`answers the actor, v1.37.2: it may use 3 of 4 levers; may not patch jobs.batch`."""
        version = f", {self.server_version}" if self.server_version else ""
        head = f"answers the actor{version}"
        if not self.can_review_access:
            return f"{head}, and does not report what the account may do"
        if not self.levers:
            return f"{head}: it serves no kind with a lever"
        usable = sum(lever.is_usable for lever in self.levers)
        text = f"{head}: it may use {usable} of {len(self.levers)} levers"
        in_namespaces = self._in_namespaces()
        if in_namespaces:
            return f"{text} in every namespace; {in_namespaces}"
        missing = _list_of(right for lever in self.levers for right in lever.missing)
        return f"{text}; may not {missing}" if missing else text

    @property
    def needs_rights(self) -> bool:
        """True if a lever cannot be used in any checked namespace."""
        return any(not lever.is_usable and not lever.namespaces for lever in self.levers)

    def _in_namespaces(self) -> str:
        """Return the namespaces in which most levers can be used. Empty if no namespace adds a lever."""
        counts: dict[str, int] = defaultdict(int)
        for lever in self.levers:
            for namespace in lever.namespaces:
                counts[namespace] += 1
        if not counts:
            return ""
        usable = sum(lever.is_usable for lever in self.levers)
        highest = max(counts.values())
        best = [namespace for namespace, count in sorted(counts.items()) if count == highest]
        return f"{usable + highest} of {len(self.levers)} in {names(best)}"


def try_actor_of(cluster: Cluster, access: Access) -> ActorTrial:
    """Return which levers of a watched cluster an account may use. Raises KubeError if the cluster does not answer."""
    namespaces = gang_namespaces(cluster, most=MAX_NAMESPACES)
    # The reader's last discovery may be outdated, so the actor's own one counts.
    wanted = PermissionOptions(parallelism=cluster.parallelism_lever, cordon=settings.CORDON)
    return try_actor(access, wanted, namespaces)


def try_actor(
    access: Access, wanted: PermissionOptions, namespaces: Sequence[str] = ()
) -> ActorTrial:
    """Return which levers the account may use. Raises KubeError if the cluster does not answer.

    `wanted`: the enabled levers. `namespaces`: those with gangs, which are checked for rights that are missing in the
    whole cluster.
    """
    give_up_at = time.monotonic() + TRIAL_SECONDS
    credentials = Credentials.from_document(access.document)
    with Connection(
        credentials,
        connect_deadline=CONNECT_DEADLINE,
        total_deadline=ANSWER_DEADLINE,
        destinations=cluster_destinations(),
    ) as connection:
        all_rights = {right for lever in lever_rights(wanted) for right in lever.rights}
        discovery = discover(connection, groups={right.group for right in all_rights})
        unserved = wanted.not_served | {
            lever.resource for lever in all_rights if _is_unserved(discovery, lever)
        }
        levers = lever_rights(replace(wanted, not_served=unserved))
        rights = {right for lever in levers for right in lever.rights}
        denied = _denied(connection, rights, give_up_at)
        if denied is None:
            return ActorTrial(
                discovery.server_version, discovery.cluster_uid, can_review_access=False
            )
        allowed = _allowed_inside(connection, denied, namespaces, give_up_at)
    return ActorTrial(
        discovery.server_version,
        discovery.cluster_uid,
        tuple(_tried(lever, denied, allowed) for lever in levers),
    )


def _denied(
    connection: Connection, rights: Iterable[Right], give_up_at: float
) -> set[Right] | None:
    """Return the rights that the account does not have in every namespace. None if the server does not say."""
    denied: set[Right] = set()
    for right in sorted(rights):
        _check_time(connection, give_up_at)
        try:
            if not is_allowed(connection, right.group, right.plural, right.verb):
                denied.add(right)
        except KubeError as error:
            if error.code not in _REVIEW_REFUSALS:
                raise
            return None
    return denied


def _tried(lever: LeverRights, denied: set[Right], allowed: dict[str, set[Right]]) -> TriedLever:
    missing = lever.rights & denied
    namespaces = [name for name, rights in allowed.items() if missing and missing <= rights]
    return TriedLever(lever.lever, lever.title, tuple(sorted(missing)), tuple(sorted(namespaces)))


def _is_unserved(discovery: Discovery, right: Right) -> bool:
    """Return whether the server has no such resource. False if its discovery failed."""
    versions = discovery.resources.get((right.group, right.plural))
    return not versions and discovery.failure_of(right.group) is None


def _allowed_inside(
    connection: Connection, denied: set[Right], namespaces: Sequence[str], give_up_at: float
) -> dict[str, set[Right]]:
    """Return namespace → rights of `denied` that the account has there, for the namespaces that could be checked."""
    allowed: dict[str, set[Right]] = {}
    for namespace in namespaces[:MAX_NAMESPACES] if denied else ():
        _check_time(connection, give_up_at)
        try:
            rules = namespace_rules(connection, namespace)
        except KubeError as error:
            if error.code not in _REVIEW_REFUSALS:
                raise
            return {}  # the server does not say, so the answers for the whole cluster stand
        allowed[namespace] = {
            right for right in denied if rules.allows(right.group, right.plural, right.verb)
        }
    return allowed


def _check_time(connection: Connection, give_up_at: float) -> None:
    if time.monotonic() > give_up_at:
        raise KubeError(
            KubeErrorCode.TIMEOUT,
            f"{connection.host} did not answer for all levers within {TRIAL_SECONDS:g} s.",
        )


def _list_of(rights: Iterable[Right]) -> str:
    """Return `patch jobs.batch or jobsets.jobset.x-k8s.io, list pods`: resources by their verbs."""
    verbs: dict[str, list[str]] = defaultdict(list)
    for right in sorted(set(rights)):
        verbs[right.resource].append(right.verb)
    by_verbs: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for resource, missing in verbs.items():
        by_verbs[tuple(missing)].append(resource)
    return ", ".join(
        f"{_either(missing)} {_either(resources)}" for missing, resources in by_verbs.items()
    )


def _either(words: Sequence[str]) -> str:
    *first_words, last_word = words
    return f"{', '.join(first_words)} or {last_word}" if first_words else last_word
