"""`list`, `holds`, `reasons`, `queues`, `whoami`: what the lists of the server say."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from gangboard_client.clock import age, read_span, read_time
from gangboard_client.context import Context
from gangboard_client.errors import UsageError
from gangboard_client.gangs import PAGE, Listing, read_list
from gangboard_client.schema import Account, Gang, Hold, Queue, Quota, Reason

BLOCKED = "blocked"
FOUND = 1
"""Exit code of --exit-code if there is a result."""
INCOMPLETE = 2
"""Exit code if some cluster could not be read: no result does not mean that there is none."""
NOT_SERVED = "not-served"
"""State of a cluster without such an API: it has no such objects for sure."""


def list_gangs(context: Context, args: Namespace) -> int:
    """Show gangs, the worst first."""
    query = _query(args, *GANG_FILTERS)
    if args.gone:
        query["gone"] = "true"
    if args.mine:
        query["mine"] = "true"
    span = None
    if args.blocked_for:
        if args.health or args.gone:
            raise UsageError("--blocked-for cannot be combined with --health or --gone.")
        span, query["health"] = read_span(args.blocked_for), BLOCKED
    listing = read_list(context.server, "list_gangs", {**query, "limit": PAGE})
    if span is not None:
        listing = _lasting(listing, span)
    now = listing.now
    head = ("CLUSTER", "NAMESPACE", "KIND", "NAME", "HEALTH", "CODE", "FOR", "READY", "MESSAGE")
    return show(context, args, listing, head, (_gang(gang, now) for gang in listing.rows))


GANG_FILTERS = (
    *("cluster", "namespace", "kind", "api_group", "health", "stage", "code", "queue", "label"),
    *("submitter", "q", "ordering"),
)


def _lasting(listing: Listing, span: timedelta) -> Listing:
    """Return the gangs whose verdict is at least this old by the server's clock."""
    latest = listing.now - span
    rows = [gang for gang in listing.rows if read_time(gang["since"]) <= latest]
    return Listing(rows, listing.unseen, listing.first, listing.now)


def _gang(gang: Gang, now: datetime) -> tuple[str, ...]:
    members = gang["members"]
    return (
        *(gang["cluster"], gang["namespace"], gang["kind"], gang["name"]),
        f"{gang['health']}{' (stale)' if gang['stale'] else ''}",
        *(gang["code"], age(gang["since"], now), f"{members['ready']}/{members['desired']}"),
        gang["message"],
    )


def list_holds(context: Context, args: Namespace) -> int:
    """Show who holds which Job, since when and until when."""
    span = read_span(args.ending_within) if args.ending_within else None
    query = {**_query(args, "cluster", "namespace", "q"), "limit": PAGE}
    listing = read_list(context.server, "list_holds", query)
    if span is not None:
        listing = _ending(listing, span)
    now = listing.now
    head = ("CLUSTER", "NAMESPACE", "JOB", "OF", "BY", "FOR", "UNTIL", "IN FORCE", "REASON")
    return show(context, args, listing, head, (_hold(hold, now) for hold in listing.rows))


def _ending(listing: Listing, span: timedelta) -> Listing:
    """Return the Holds that end within a span of now by the server's clock, the first to end first."""
    latest = listing.now + span
    ends = [(read_time(hold["until"]), hold) for hold in listing.rows if hold["until"]]
    rows = [hold for end, hold in sorted(ends, key=lambda pair: pair[0]) if end <= latest]
    return Listing(rows, listing.unseen, listing.first, listing.now)


def _hold(hold: Hold, now: datetime) -> tuple[str, ...]:
    owner = hold["owner"]
    of = f"{owner['kind']}/{owner['name']}" if owner["name"] else "-"
    force = {True: "yes", False: "NO", None: "not known"}[hold["in_force"]]
    reason = " ".join(text for text in (hold["reason"], hold["message"]) if text)
    return (
        *(hold["cluster"], hold["namespace"], hold["job"], of, hold["by"] or "-"),
        *(age(hold["since"], now), hold["until"] or "-", "lost" if hold["lost"] else force),
        reason or "-",
    )


def list_reasons(context: Context, args: Namespace) -> int:
    """Show the reasons why gangs wait, in each stage those with the most accelerators first."""
    listing = read_list(context.server, "list_reasons", _query(args, "cluster", "namespace"))
    rows: list[Reason] = listing.rows
    if args.most:
        rows = sorted(rows, key=lambda row: float(row["accelerators"]), reverse=True)[: args.most]
    listing = Listing(rows, listing.unseen, listing.first, listing.now)
    now = listing.now
    head = ("STAGE", "CODE", "GANGS", "PODS", "ACCELERATORS", "FOR", "NEXT STEP")
    unknown = listing.first["unknown"]
    if unknown:
        context.output.note(f"Nothing is known now of {unknown} more gangs.")
    return show(context, args, listing, head, (_reason(row, now) for row in rows))


def _reason(row: Reason, now: datetime) -> tuple[object, ...]:
    return (
        *(row["stage"], row["code"], row["gangs"], row["pods_not_ready"], row["accelerators"]),
        *(age(row["since"], now), row["next_step"] or row["title"]),
    )


def list_queues(context: Context, args: Namespace) -> int:
    """Show queues with what waits in them and their quota of accelerators."""
    query = {**_query(args, "cluster", "state", "q"), "limit": PAGE}
    listing = read_list(context.server, "list_queues", query)
    head = ("CLUSTER", "KIND", "QUEUE", "STATE", "WAITING", "ADMITTED", "USED OF QUOTA", "CAUSE")
    return show(context, args, listing, head, (_queue(queue) for queue in listing.rows))


def _queue(queue: Queue) -> tuple[object, ...]:
    quotas = [quota for quota in queue["quotas"] if quota["accelerator"]] or queue["quotas"]
    return (
        *(queue["cluster"], queue["kind"], queue["name"]),
        f"{queue['state']}{' (stale)' if queue['stale'] else ''}",
        *(_number(queue["waiting"]), _number(queue["admitted"])),
        ", ".join(_quota(quota) for quota in quotas) or "-",
        queue["cause"] or "-",
    )


def _quota(quota: Quota) -> str:
    return f"{quota['used']} of {quota['nominal_word']} {quota['resource']} ({quota['flavor']})"


def _number(value: int | None) -> str:
    return "not known" if value is None else str(value)


def whoami(context: Context, args: Namespace) -> int:  # noqa: ARG001  # as every command
    """Show whose token it is and what it may do."""
    account: Account = context.server.ask("get_me").data
    if context.output.as_json:
        context.output.json(account)
        return 0
    context.output.line(f"{account['name']} at {context.server.address}")
    for right in account["rights"]:
        context.output.line(f"  {right}")
    context.output.line(f"This token {'may' if account['may_act'] else 'may not'} act.")
    return 0


def _query(args: Namespace, *names: str) -> dict[str, str]:
    """Return the filters that are given, as the server calls them."""
    given = {name: getattr(args, name) for name in names}
    return {name: str(value) for name, value in given.items() if value is not None}


def show(
    context: Context,
    args: Namespace,
    listing: Listing,
    head: tuple[str, ...],
    rows: Iterable[tuple[object, ...]],
) -> int:
    """Write a list, and what may be missing from it; return the exit code."""
    output = context.output
    if output.as_json:
        output.json(listing.as_json())
    elif listing.rows:
        output.table(head, list(rows))
    else:
        output.note("Nothing was found.")
    for one in listing.unseen:
        output.note(_unseen_text(one))
    if any(one.get("state") != NOT_SERVED for one in listing.unseen):
        return INCOMPLETE
    return FOUND if listing.rows and args.exit_code else 0


def _unseen_text(one: Mapping[str, Any]) -> str:
    text = str(one["message"])
    return text if one["cluster"] in text else f"{one['cluster']}: {text}"
