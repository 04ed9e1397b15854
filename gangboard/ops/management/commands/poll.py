"""`manage.py poll --once [--cluster N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.domain.api_resource import WatchState
from gangboard.domain.text import count
from gangboard.logs import one_line
from gangboard.ops.database_command import DatabaseCommand
from gangboard.polling.cluster_cache import resources
from gangboard.polling.poll import PollReport, poll_once

_READ = (WatchState.OK, WatchState.NOT_SERVED, WatchState.NOT_NEEDED)
"""States of a resource that is completely known."""


class Command(DatabaseCommand):
    help = "Read every cluster once, or one of them, and assess its gangs. Prints one line per cluster. Exits with 1 if a cluster, or a resource that every verdict needs, could not be read."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            required=True,
            help="read once and end (the poll worker reads continuously)",
        )
        parser.add_argument("--cluster", help="only this cluster (default: all)")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            reports = poll_once(options["cluster"])
        except LookupError as error:
            raise CommandError(str(error)) from error
        if not reports:
            self.stdout.write("There is no cluster to poll; add one with manage.py add_cluster.")
        for report in reports:
            self.stdout.write(one_line(_report_line(report)))
        failed = [report.cluster for report in reports if not report.ok]
        partly = [report.cluster for report in reports if report.ok and not _is_complete(report)]
        faults = [f"could not read {', '.join(failed)}"] if failed else []
        faults += (
            [f"could not read everything that verdicts need of {', '.join(partly)}"]
            if partly
            else []
        )
        if faults:
            raise CommandError("; ".join(faults))


def _is_complete(report: PollReport) -> bool:
    """Return whether all resources were read that verdicts need and the cluster serves."""
    needed = [resource.key for resource in resources() if resource.needed]
    return all(report.resources.get(key, WatchState.NOT_SERVED) in _READ for key in needed)


def _report_line(report: PollReport) -> str:
    """Return `east: ok, 7 resources read, 120 objects, 4 gangs, 0 problems, in 0.8 s`."""
    if not report.ok:
        return f"{report.cluster}: not read: {report.sentence}"
    read = sum(state == WatchState.OK for state in report.resources.values())
    unread = [
        f"{key} {state}" for key, state in sorted(report.resources.items()) if state not in _READ
    ]
    outcome = "ok" if _is_complete(report) else "read in part"
    return (
        f"{report.cluster}: {outcome}, {count(read, 'resource')} read, {count(report.objects, 'object')}, "
        f"{count(report.gangs, 'gang')}, {count(report.problems, 'problem')}, "
        f"in {report.seconds:.1f} s" + (f"; {', '.join(unread)}" if unread else "")
    )
