"""`manage.py benchmark_reading`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.pages_benchmark import throwaway_database
from tools.reading_benchmark import Cost, PollCost, bench


class Command(PrintingCommand):
    help = (
        "Start a large simulated cluster and print the CPU that this process takes: to list its pods and "
        "to take in changes of them, for the bytes and with decoding; and for two complete polls of it into "
        "a database of their own, the second without any change in the cluster."
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
        # A separate cluster, whose pods are unchanged since their creation.
        with bench(pods, 0) as cluster, throwaway_database():
            self._print_polls(pods, *cluster.poll_twice())

    def _print_polls(self, pods: int, first: PollCost, unchanged: PollCost) -> None:
        for name, poll in (("first", first), ("unchanged", unchanged)):
            self.stdout.write(
                f"{name} poll of {pods:,} pods and {poll.gangs:,} gangs: {poll.total:.2f} s of CPU, "
                f"{poll.judging:.2f} s of it for verdicts"
            )
        self.stdout.write(
            f"unchanged / first: {unchanged.total / first.total:.2f}, "
            f"verdicts {unchanged.judging / first.judging:.2f}"
        )

    def _print(self, what: str, objects: str, cost: Cost) -> None:
        self.stdout.write(
            f"{what} of {cost.objects:,} {objects}: {cost.wire:.3f} s of CPU for the bytes, "
            f"{cost.decoded:.3f} s with decoding"
        )
