"""`python -m tests.agreement --cases 300 [--seed N] [--advice | --jobs | --plans | --racks | --spreads]`: plays new random cases.

Prints figures; with `--advice` those of the first advice for each misfit, taken on the cluster; with
`--jobs` those of advice for gangs of Jobs and JobSets, `--only N` just one of them; with `--plans` those of
plans of whole clusters, carried out. With `--racks` the
members and others share no rack, with `--spreads` they have two topology spread constraints: there we may
not be able to tell more often. Ends with 1 when we are wrong of a case or cannot tell of more than one in
twenty, and when advice is wrong or too rare.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import Counter


def main() -> int:
    """Play the cases that the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m tests.agreement")
    options.add_argument("--cases", type=int, default=300)
    options.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    options.add_argument("--advice", action="store_true")
    options.add_argument("--jobs", action="store_true")
    options.add_argument("--plans", action="store_true")
    options.add_argument("--racks", action="store_true")
    options.add_argument("--spreads", action="store_true")
    options.add_argument(
        "--only", type=int, help="with --jobs and --plans: the number of the one case to play"
    )
    arguments = options.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    from tests.agreement import advice_play, jobs_play, plans_play
    from tests.agreement.arena import Arena
    from tests.agreement.drawing import make_cases, make_rack_case, make_spreads_case
    from tests.agreement.figures import Figures, Outcome, compare
    from tests.agreement.jobs import make_job_case
    from tests.agreement.plans import make_plan_case
    from tests.controlplane.cluster import ControlPlane

    print(f"seed {arguments.seed}", flush=True)
    figures = Figures()
    with ControlPlane.start("1.37") as plane, Arena(plane.client) as arena:
        if arguments.jobs:
            numbers = range(arguments.cases) if arguments.only is None else [arguments.only]
            return jobs_play.report(
                arena, [make_job_case(arguments.seed, number) for number in numbers]
            )
        if arguments.plans:
            numbers = range(arguments.cases) if arguments.only is None else [arguments.only]
            plan_cases = [make_plan_case(arguments.seed, number) for number in numbers]
            return plans_play.report(arena, plan_cases)
        if arguments.racks or arguments.spreads:
            make = make_rack_case if arguments.racks else make_spreads_case
            outcomes = list(
                compare(arena, [make(arguments.seed, index) for index in range(arguments.cases)])
            )
            wrong = [outcome for outcome in outcomes if outcome.outcome is Outcome.WRONG]
            pairs = Counter(
                f"{outcome.played.judgement}: {outcome.outcome}" for outcome in outcomes
            )
            print(*pairs.items(), *wrong, sep="\n")
            return 1 if wrong else 0
        cases = make_cases(arguments.seed, arguments.cases)
        if arguments.advice:
            return advice_play.report(arena, list(cases))
        for result in compare(arena, cases):
            figures.results.append(result)
            if result in figures.disagreements:
                print(result, flush=True)
    print(*figures.lines(), sep="\n")
    print(*figures.faults, sep="\n")
    return 1 if figures.faults else 0


if __name__ == "__main__":
    sys.exit(main())
