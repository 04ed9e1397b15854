"""`manage.py benchmark_placement`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.printing import PrintingCommand
from tools.placement_benchmark import (
    ALL_SECONDS,
    GROWTH,
    ONE_SECONDS,
    Bench,
    Run,
    waiting_gangs,
)
from tools.placement_fleet import make_fleet

FULL = {"nodes": 5000, "pods": 50_000, "gangs": 1000, "shapes": 220}
"""The fleet size for which the time limits hold."""


class Command(PrintingCommand):
    help = (
        "Make a large cluster in memory, judge its waiting gangs as a poll does, and print the CPU "
        "that it took. Exits with 1 when it takes too long."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        for name, number in FULL.items():
            parser.add_argument(f"--{name}", type=int, default=number)
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--untimed", action="store_true", help="print times without holding them to limits"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        size = {name: options[name] for name in FULL}
        if min(size.values()) < 1:
            raise CommandError("every size must be at least 1")
        fleet = make_fleet(**size, seed=options["seed"])
        bench = Bench(fleet)
        tenth = bench.judge(fleet.pending[: max(1, len(fleet.pending) // 10)])
        run = bench.judge(fleet.pending)
        self._print(size, options["seed"], bench, tenth, run)
        misses = [] if options["untimed"] else _misses(bench, tenth, run)
        if misses:
            raise CommandError("; ".join(misses))

    def _print(self, size: dict[str, int], seed: int, bench: Bench, tenth: Run, run: Run) -> None:
        size_text = ", ".join(f"{number:,} {name}" for name, number in size.items())
        codes = sorted({verdict.finding.code for verdict in run.verdicts})
        self.stdout.write(f"made with seed {seed}: {size_text}")
        self.stdout.write(
            f"taken in: {bench.taking_in:.2f} s of CPU; room made: {bench.making_room:.2f} s"
        )
        self.stdout.write(
            f"all {len(run.each):,} gangs judged, cold: {run.seconds:.2f} s of CPU "
            f"({run.seconds + bench.making_room:.2f} s with the room), {run.seconds / len(run.each) * 1000:.2f} ms each, "
            f"slowest {run.slowest * 1000:.1f} ms"
        )
        self.stdout.write(
            f"growth: {run.seconds:.2f} s for {len(run.each):,} / {tenth.seconds:.2f} s for "
            f"{len(tenth.each):,} = {run.seconds / tenth.seconds:.1f}"
        )
        self.stdout.write(f"verdicts: {', '.join(codes)}")
        plan, seconds = bench.plan(waiting_gangs(bench.fleet.pending, run))
        tried = "all combinations" if plan.is_complete else "not all combinations"
        self.stdout.write(
            f"plan: {len(plan.steps)} steps for {sum(step.accelerators for step in plan.steps):,} of "
            f"{plan.waiting_accelerators:,} accelerators, {tried} tried: {seconds:.2f} s of CPU"
        )


def _misses(bench: Bench, tenth: Run, run: Run) -> list[str]:
    """Return the limits that were exceeded."""
    misses = []
    everything = bench.making_room + run.seconds
    if everything > ALL_SECONDS:
        misses.append(
            f"the room and all gangs took {everything:.2f} s, more than {ALL_SECONDS:g} s"
        )
    if run.slowest > ONE_SECONDS:
        misses.append(f"one gang took {run.slowest:.3f} s, more than {ONE_SECONDS:g} s")
    if run.seconds > GROWTH * tenth.seconds:
        misses.append(f"ten times the gangs took {run.seconds / tenth.seconds:.1f} times as long")
    return misses
