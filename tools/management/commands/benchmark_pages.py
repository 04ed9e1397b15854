"""`manage.py benchmark_pages`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.pages_benchmark import GROWTH, Bench, PageCost, throwaway_database

SIZES = (1000, 5000, 20_000)
"""Fleet sizes for which the limit holds."""


class Command(PrintingCommand):
    help = (
        "Make a fleet that grows in a database of its own, ask for Board and Reasons, and print what they "
        "take. Exits with 1 when a page grows with the number of gangs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--gangs", type=int, nargs="+", default=list(SIZES))
        parser.add_argument("--times", type=int, default=9, help="requests of each page")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--untimed", action="store_true", help="print times without holding them to the limit"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        sizes = sorted(options["gangs"])
        if sizes[0] < 1 or options["times"] < 1:
            raise CommandError("every number must be at least 1")
        with throwaway_database():
            costs = run(sizes, options["times"], options["seed"])
        misses = []
        for page in dict.fromkeys(cost.page for cost in costs):
            mine = [cost for cost in costs if cost.page == page]
            growth = mine[-1].seconds / mine[0].seconds
            for cost in mine:
                self.stdout.write(
                    f"{page} at {cost.gangs:,} gangs: {cost.seconds * 1000:.0f} ms, {cost.kilobytes:.0f} kB"
                )
            line = f"{page} at {mine[-1].gangs:,} / {mine[0].gangs:,} gangs: {growth:.2f}"
            self.stdout.write(f"{line} (at most {GROWTH:g})")
            misses += [line] if growth > GROWTH else []
        if misses and not options["untimed"]:
            raise CommandError(f"more than {GROWTH:g} times as long: {'; '.join(misses)}")


def run(sizes: list[int], times: int, seed: int) -> list[PageCost]:
    """Return what each page takes at each size, in the database that is connected now."""
    bench = Bench(seed)
    costs = []
    for size in sizes:
        bench.grow(size)
        costs += bench.measure(times)
    return costs
