"""`manage.py benchmark_reading`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.reading_benchmark import Cost, bench


class Command(PrintingCommand):
    help = (
        "Start a large simulated cluster, list its pods and take in changes of them over and over, and "
        "print the CPU that this process took: for the bytes, and with decoding them as a poll does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--pods", type=int, default=50_000)
        parser.add_argument("--changes", type=int, default=10_000)
        parser.add_argument("--runs", type=int, default=3)

    def handle(self, *_: Any, **options: Any) -> None:
        pods, changes, runs = options["pods"], options["changes"], options["runs"]
        if min(pods, changes, runs) < 1:
            raise CommandError("every number must be at least 1")
        with bench(pods, changes) as cluster:
            for _run in range(runs):
                self._print("relist", "pods", cluster.relist())
                self._print("watch", "changes", cluster.watch(changes))

    def _print(self, what: str, objects: str, cost: Cost) -> None:
        self.stdout.write(
            f"{what} of {cost.objects:,} {objects}: {cost.wire:.3f} s of CPU for the bytes, "
            f"{cost.decoded:.3f} s with decoding"
        )
