"""`manage.py print_measures`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gangboard.ops.printing import PrintingCommand
from tools import confirmation_queries, package_size
from tools.verdict_walk import verdict_calls, verdict_files
from tools.watch_event_walk import watch_event_files


class Measure(NamedTuple):
    """A number of this code base that tends to grow."""

    name: str
    read: Callable[[], int]
    most: int
    """Desired maximum. To exceed it is no failure, but the next change should reduce it."""


MEASURES = (
    Measure("files in gangboard/", package_size.files, 450),
    Measure("files in gangboard/ with fewer than 50 lines", package_size.short_files, 60),
    Measure("lines in gangboard/", package_size.lines, 72_000),
    Measure("Python calls of the verdict on a healthy JobSet of 50 Jobs", verdict_calls, 15_000),
    Measure("files that the verdict on this JobSet passes", verdict_files, 15),
    Measure("files that a watch event passes", watch_event_files, 30),
    Measure(
        "queries of the confirmation of 50 Jobs of a JobSet",
        confirmation_queries.page_queries,
        60,
    ),
    Measure("queries of its button", confirmation_queries.submit_queries, 520),
)
"""To add a measure, write a function that returns a number, and add a line here."""


class Command(PrintingCommand):
    help = "Print the measures of this code base, each with what it should be at most."

    def handle(self, *_: Any, **__: Any) -> None:
        for measure in MEASURES:
            value = measure.read()
            self.stdout.write(
                f"{measure.name}: {value:,} (at most {measure.most:,})"
                + (", too many" if value > measure.most else "")
            )
