"""`manage.py poll --once [--cluster N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand
from gangboard.polling.poll import PollReport, poll_once


class Command(DatabaseCommand):
    help = (
        "Look at every cluster once, or at one of them, and judge its gangs; return when that is "
        "done. Prints one line per cluster; exits with 1 when one could not be looked at."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--once",
            action="store_true",
            required=True,
            help="poll to completion and end (polling all the time is the poll worker's work)",
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
            self.stdout.write(_line(report))
        failed = [report.cluster for report in reports if not report.ok]
        if failed:
            raise CommandError(f"could not look at {', '.join(failed)}")


def _line(report: PollReport) -> str:
    """Return `east: ok, 7 resources read, 120 objects, 4 gangs, 0 problems, in 0.8 s`."""
    if not report.ok:
        return f"{report.cluster}: not looked at: {report.sentence}"
    read = sum(state == "ok" for state in report.resources.values())
    others = [
        f"{key} {state}"
        for key, state in sorted(report.resources.items())
        if state not in ("ok", "not-served")
    ]
    return (
        f"{report.cluster}: ok, {_count(read, 'resource')} read, {_count(report.objects, 'object')}, "
        f"{_count(report.gangs, 'gang')}, {_count(report.problems, 'problem')}, "
        f"in {report.seconds:.1f} s" + (f"; {', '.join(others)}" if others else "")
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
