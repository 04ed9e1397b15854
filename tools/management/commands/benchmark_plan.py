"""`manage.py benchmark_plan`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.printing import PrintingCommand
from gangboard.placement.cluster_plan import SECONDS
from tools.plan_benchmark import PlanCase, PlanCost, measure, plan_cases, profile

PROFILED_FUNCTIONS = 45


class Command(PrintingCommand):
    help = (
        "Make large clusters in memory and print what their plans find in the time that a poll gives them, with few "
        "and with many different requests. Exits with 1 if a plan finds no step."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--nodes", type=int, nargs="+", default=[500, 2000, 5000])
        parser.add_argument("--gangs", type=int, default=1000)
        parser.add_argument("--shapes", type=int, default=220)
        parser.add_argument("--seconds", type=float, default=SECONDS, help="time for each plan")
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument(
            "--profile", action="store_true", help="print where the time goes instead"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        gangs, shapes, seconds = options["gangs"], options["shapes"], options["seconds"]
        if min(*options["nodes"], gangs, shapes, seconds) <= 0:
            raise CommandError("every number must be above zero")
        without_steps = []
        for nodes in options["nodes"]:
            for case in plan_cases(nodes, gangs, shapes, options["seed"]):
                if options["profile"]:
                    self.stdout.write(
                        f"{_title(case)}\n{profile(case, seconds, PROFILED_FUNCTIONS)}"
                    )
                    continue
                cost = measure(case, seconds)
                self._print(case, cost)
                if not cost.plan.steps:
                    without_steps.append(_title(case))
        if without_steps:
            raise CommandError(f"no step for {'; '.join(without_steps)}")

    def _print(self, case: PlanCase, cost: PlanCost) -> None:
        plan = cost.plan
        untried = max((entry.gangs for entry in plan.untried), default=0)
        self.stdout.write(
            f"{_title(case)}: {len(plan.steps)} steps for "
            f"{sum(step.accelerators for step in plan.steps):,} of {plan.waiting_accelerators:,} "
            f"accelerators, {sum(gain.count for gain in plan.without_steps):,} gangs fit without steps, "
            f"at most {untried:,} gangs untried for a kind of step. {cost.placements:,} placements, "
            f"{cost.seconds:.2f} s of CPU, peak {cost.peak / 2**20:.0f} MiB"
        )


def _title(case: PlanCase) -> str:
    nodes = len(case.capacity.nodes)
    return f"{nodes:,} nodes, {len(case.waiting):,} gangs with {case.classes:,} different requests"
