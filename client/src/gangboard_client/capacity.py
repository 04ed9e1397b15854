"""`capacity`: how many accelerators are free."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from gangboard_client.context import Context
from gangboard_client.gangs import Listing, read_list
from gangboard_client.reading import show
from gangboard_client.schema import Amount, ClusterCapacity

HEAD = ("CLUSTER", "RESOURCE", "FREE", "ALLOCATABLE", "USED", "OF IT HELD", "ON NODES AWAY")


def list_capacity(context: Context, args: Namespace) -> int:
    """Show the accelerators of each cluster. A cluster without numbers makes the exit code 2."""
    query = {"cluster": args.cluster} if args.cluster else {}
    listing = read_list(context.server, "list_capacity", query)
    clusters: list[ClusterCapacity] = listing.rows
    unseen = [{"cluster": one["cluster"], "message": one["why"]} for one in clusters if one["why"]]
    listing = Listing(clusters, [*listing.unseen, *unseen], listing.first, listing.now)
    return show(context, args, listing, HEAD, _rows(clusters))


def _rows(clusters: list[ClusterCapacity]) -> Iterator[tuple[object, ...]]:
    for one in clusters:
        name = f"{one['cluster']}{' (stale)' if one['stale'] else ''}"
        amounts = _accelerators(one)
        for amount in amounts:
            yield (
                *(name, amount["resource"], amount["free"], amount["allocatable"]),
                *(amount["used"], amount["held"], amount["away"]),
            )
        if one["all_nodes"] and not amounts:
            yield name, "no accelerators", *["-"] * 5


def _accelerators(cluster: ClusterCapacity) -> list[Amount]:
    pool = cluster["all_nodes"]
    return [amount for amount in pool["amounts"] if amount["accelerator"]] if pool else []
