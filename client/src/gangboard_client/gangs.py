"""Gangs by their address CLUSTER/NAMESPACE/KIND[.GROUP]/NAME, and lists of any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from gangboard_client.errors import NotFoundError, UsageError
from gangboard_client.schema import Gang, GangDetail, Job, UnseenCluster
from gangboard_client.transport import Server

FORMAT = "CLUSTER/NAMESPACE/KIND[.GROUP]/NAME"
LONGEST_SEARCH = 200
PAGE = "500"


@dataclass(frozen=True)
class Listing:
    """All pages of a list as one."""

    rows: list[Any]
    unseen: list[Any]
    """Clusters from which rows may be missing."""
    first: Mapping[str, Any]
    """The first page, for what else it has."""
    now: datetime

    def as_json(self) -> dict[str, object]:
        """Return what `-o json` shows."""
        rest = {name: value for name, value in self.first.items() if name != "next"}
        return {**rest, "results": self.rows, "unseen": self.unseen}


def read_list(server: Server, operation: str, query: Mapping[str, str]) -> Listing:
    """Return all pages of a list. Raises ClientError."""
    answer = server.ask(operation, query=query)
    first, rows, following = answer.data, list(answer.data["results"]), answer.data.get("next")
    while following:
        # The cursor alone: the address may be one that only a proxy knows.
        cursor = parse_qs(urlsplit(following).query)["cursor"][0]
        page = server.ask(operation, query={**query, "cursor": cursor}).data
        rows += page["results"]
        following = page["next"]
    return Listing(rows, list(first.get("unseen", [])), first, answer.now)


@dataclass(frozen=True)
class GangAddress:
    """The names of a gang."""

    cluster: str
    namespace: str
    kind: str
    api_group: str | None
    """None if it is not given, empty for the core group, which is written as `Pod.`."""
    name: str

    def is_of(self, gang: Gang) -> bool:
        """Return whether a gang has these names. Upper and lower case of a kind are the same."""
        return (
            gang["name"] == self.name
            and gang["kind"].lower() == self.kind.lower()
            and self.api_group in (None, gang["api_group"])
        )


def read_address(text: str) -> GangAddress:
    """Return the names in CLUSTER/NAMESPACE/KIND[.GROUP]/NAME. Raises UsageError."""
    pieces = text.split("/")
    if len(pieces) != 4 or not all(pieces):
        raise UsageError(f"{text!r} is not {FORMAT}, such as east/research/JobSet/llama-ft.")
    cluster, namespace, kind, name = pieces
    kind, dot, group = kind.partition(".")
    return GangAddress(cluster, namespace, kind, group if dot else None, name)


@dataclass(frozen=True)
class Found:
    """A gang in a list, and the time of the answer."""

    gang: Gang
    now: datetime


def find_gang(server: Server, address: GangAddress, *, gone: bool = False) -> Found:
    """Return the gang with this address; with `gone` the one that was deleted last.

    Raises NotFoundError, also if two API groups have such a kind.
    """
    query = {
        "cluster": address.cluster,
        "namespace": address.namespace,
        "q": address.name[:LONGEST_SEARCH],
        "limit": PAGE,
        **({"gone": "true"} if gone else {}),
    }
    listing = read_list(server, "list_gangs", query)
    found: list[Gang] = [gang for gang in listing.rows if address.is_of(gang)]
    groups = sorted({gang["api_group"] for gang in found})
    if len(groups) > 1:
        raise UsageError(_ambiguous(address, found[0]["kind"], groups))
    if not found:
        raise NotFoundError(_missing(address, listing.unseen))
    return Found(found[0], listing.now)


def _ambiguous(address: GangAddress, kind: str, groups: list[str]) -> str:
    ways = " or ".join(
        f"{address.cluster}/{address.namespace}/{kind}.{group}/{address.name}" for group in groups
    )
    return f"There is more than one {kind} of that name: write {ways}."


def _missing(address: GangAddress, unseen: list[UnseenCluster]) -> str:
    sentence = (
        f"There is no {address.kind} {address.name} in namespace {address.namespace} of cluster "
        f"{address.cluster}, or you may not see it."
    )
    return " ".join([sentence, *(one["message"] for one in unseen)])


def read_gang(server: Server, gang_id: str) -> GangDetail:
    """Return everything about a gang. Raises ClientError."""
    return cast("GangDetail", server.ask("get_gang", gang_id).data)


def find_job(gang: GangDetail, name: str) -> Job:
    """Return a Job of a gang. Raises NotFoundError with the names that there are."""
    jobs = gang["jobs"] or []
    for job in jobs:
        if job["name"] == name:
            return job
    names = ", ".join(job["name"] for job in jobs) or "none"
    raise NotFoundError(f"{gang['kind']} {gang['name']} has no Job {name}; its Jobs are: {names}.")
