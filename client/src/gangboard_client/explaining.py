"""`explain`: the state of a gang and its next steps."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime

from gangboard_client.clock import age
from gangboard_client.context import Context
from gangboard_client.errors import NotFoundError
from gangboard_client.gangs import find_gang, read_address, read_gang
from gangboard_client.output import Output
from gangboard_client.schema import GangDetail, Job

WHOLE = ("running", "succeeded")
UNKNOWN = "unknown"


def explain(context: Context, args: Namespace) -> int:
    """Show a gang; return 0 if it is whole, 1 if it waits, is blocked or has failed, 2 if nobody knows."""
    address = read_address(args.gang)
    try:
        found = find_gang(context.server, address)
    except NotFoundError:
        found = find_gang(context.server, address, gone=True)
    gang = read_gang(context.server, found.gang["id"])
    if context.output.as_json:
        context.output.json(gang)
    else:
        _write(context.output, gang, found.now)
    return exit_code(gang)


def exit_code(gang: GangDetail) -> int:
    """Return 0 for a whole gang, 2 if its state is not known now, 1 for every other."""
    if gang["gone_at"] or gang["stale"] or gang["health"] == UNKNOWN:
        return 2
    return 0 if gang["health"] in WHOLE else 1


def _write(output: Output, gang: GangDetail, now: datetime) -> None:
    output.line(
        f"{gang['kind']} {gang['name']} in namespace {gang['namespace']} of cluster {gang['cluster']}"
    )
    if gang["gone_at"]:
        output.line(f"It was deleted {age(gang['gone_at'], now)} ago. This is how it was last:")
    output.line(f"{gang['health']} for {age(gang['since'], now)}: {gang['title']} ({gang['code']})")
    output.line(gang["message"])
    for number, step in enumerate(gang["advice"]):
        output.line(f"  {'Next:' if not number else '     '} {step}")
    for finding in gang["findings"][1:]:
        where = f"{finding['unit']}: " if finding["unit"] else ""
        output.line(f"Also {finding['health']} ({finding['code']}): {where}{finding['message']}")
    members = gang["members"]
    if members is not None and gang["health"] != UNKNOWN:
        output.line(
            f"Pods: {members['ready']} of {members['desired']} ready, {members['created']} created, "
            f"{members['scheduled']} on nodes, {members['held']} held"
        )
    if gang["jobs"]:
        output.table(("JOB", "STATE", "READY"), [_job(job) for job in gang["jobs"]])
    silent = "; the cluster does not answer now" if gang["stale"] else ""
    output.line(f"As of {age(gang['observed_at'], now)} ago{silent}.")


def _job(job: Job) -> tuple[str, str, str]:
    held = "held" if job["held"] else "suspended" if job["suspended"] else "-"
    return job["name"], job["finished"] or held, f"{job['ready']}/{job['desired']}"
