"""Gangs for tests: `assemble` puts objects together as the poll does, `a_gang` as database and live cluster do."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from gangboard.domain.owner import Owner
from gangboard.facts.build_gang import GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang, Root
from gangboard.plugins import registry
from tests.domain_objects import CLUSTER_WORDS, NOW


def assemble(root: Root, objects: Iterable[Any], *, now: datetime, **options: Any) -> Gang:
    """The gang of `root` and its other members. `words` are fields of GangObjects and of ClusterView."""
    cluster, rest = split_words(options)
    return build_gang(root, GangObjects(members=objects, **rest), cluster, now)


def split_words(words: dict[str, Any]) -> tuple[ClusterView, dict[str, Any]]:
    """The cluster that these words describe, and the words that are not about it."""
    of_cluster = {text: value for text, value in words.items() if text in CLUSTER_WORDS}
    rest = {text: value for text, value in words.items() if text not in CLUSTER_WORDS}
    return ClusterView(**of_cluster), rest


def a_gang(owner: Owner, jobs: Iterable[Owner] = (), **options: Any) -> Gang:
    """The gang of an owner as the policy reads it. `words` are fields of Gang and of ClusterView."""
    systems = tuple(system.label for system in registry.admission_systems())
    cluster, rest = split_words({"queue_systems": systems, **options})
    return Gang(
        owner=owner,
        now=NOW,
        cluster=cluster,
        jobs=tuple(jobs),
        **{"kinds": registry.kind_traits(), "admission": registry.queue_traits(), **rest},
    )
