"""Random cases made from a seed.

A case is drawn again until it has the kind of its number (fits or not, near the boundary or not, mixed or
not), so the shares are constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tests.agreement.cases import DISKS, RACKS, Ask, Case, NodeSpec, PodSetSpec, SpreadSpec
from tests.agreement.reckoning import is_boundary, most

FITTING, BOUNDARY, MIXED = 0.5, 0.6, 0.5
"""Shares that are drawn. Asked for are 30 to 70 % fitting, half at the boundary, 40 % mixed."""
SPREAD = 0.5
"""Share of the cases of one shape without a topology domain whose members must be spread."""


def make_case(seed: int, number: int) -> Case:
    """Return the case of that number: always the same for the same seed."""
    dice = Random(f"{seed}/{number}")
    expected = tuple(dice.random() < share for share in (FITTING, BOUNDARY, MIXED))
    # A separate random source: pods without spread are drawn as in cases without spread.
    rest = Random(f"{seed}/{number}/spread")
    is_spread = rest.random() < SPREAD
    while True:
        case = _draw(dice, seed, number, mixed=expected[2])
        if is_spread and len(case.pod_sets) == 1 and not case.topology:
            case = _spread(rest, case)
        kind = (most(case) >= case.quorum, is_boundary(case), case.is_mixed)
        if kind == expected:
            return case


def make_cases(seed: int, count: int) -> Iterator[Case]:
    """Yield the first `count` cases of a seed."""
    for number in range(count):
        yield make_case(seed, number)


def make_rack_case(seed: int, number: int) -> Case:
    """Return a case with anti-affinity between sets by rack. Its fit is not computed."""
    dice = Random(f"{seed}/{number}/rack")
    while True:
        case = _draw(dice, seed, number, mixed=dice.random() < 0.3)
        asks = [run for node in case.nodes for run in node.runs]
        asks += [pod_set.ask for pod_set in case.pod_sets]
        if any(request.avoided for request in asks) and not case.topology:
            return replace(case, by_rack=True)


def make_spreads_case(seed: int, number: int) -> Case:
    """Return a case with two topology spread constraints. Its fit is not computed.

    In most cases the first constraint alone admits all pods.

    """
    dice = Random(f"{seed}/{number}/spreads")
    is_open = dice.random() < 0.6
    while True:
        case = _draw(dice, seed, number, mixed=False)
        if case.topology:
            continue
        # With all labels and few unusable nodes. Otherwise hardly any case fits.
        nodes = tuple(
            replace(
                node,
                rack=node.rack or dice.choice(RACKS),
                tainted=node.tainted and dice.random() < 0.4,
                cordoned=node.cordoned and dice.random() < 0.4,
            )
            for node in case.nodes
        )
        case = _spread(dice, replace(case, nodes=nodes))
        (pod_set,) = case.pod_sets
        assert pod_set.spread is not None
        if (most(case) >= case.quorum) != is_open:
            continue
        keys = [key for key in ("rack", "disk", "host", "host") if key != pod_set.spread.key]
        skew, least = dice.choice((1, 1, 2)), dice.choice((1, 1, 1, 2))
        also = SpreadSpec(
            dice.choice(keys), skew, least, honours_taints=pod_set.spread.honours_taints
        )
        return replace(case, pod_sets=(replace(pod_set, also=also),))


def _draw(dice: Random, seed: int, number: int, *, mixed: bool) -> Case:
    apart, port = dice.random() < 0.2, dice.random() < 0.2
    nodes = tuple(
        _node(dice, f"s{seed}-c{number}-n{index}", apart=apart, port=port)
        for index in range(dice.randint(2, 6))
    )
    pod_sets = tuple(
        _pod_set(dice, name, mixed=mixed, apart=apart, port=port)
        for name in ("w", "p", "d")[: dice.randint(2, 3) if mixed else 1]
    )
    size = sum(pod_set.count for pod_set in pod_sets)
    order = [pod_set.name for pod_set in pod_sets for _ in range(pod_set.count)]
    if dice.random() < 0.7:
        dice.shuffle(order)
    quorum = size if dice.random() < 0.5 else dice.randint(2, size)
    return Case(seed, number, nodes, pod_sets, quorum, dice.random() < 0.25, tuple(order))


def _spread(dice: Random, case: Case) -> Case:
    """Return the same case with members that must be spread, and pods that count."""
    (pod_set,) = case.pod_sets
    spread = SpreadSpec(
        dice.choice(("rack", "rack", "disk", "host")),
        dice.choice((1, 1, 1, 2, 3)),
        dice.choice((1, 1, 1, 2, 3)),
        honours_taints=dice.random() < 0.3,
    )
    request = replace(pod_set.ask, counted=dice.random() < 0.85)
    nodes = tuple(
        replace(node, runs=tuple(replace(run, counted=dice.random() < 0.6) for run in node.runs))
        for node in case.nodes
    )
    return replace(case, nodes=nodes, pod_sets=(replace(pod_set, ask=request, spread=spread),))


def _node(dice: Random, name: str, *, apart: bool, port: bool) -> NodeSpec:
    cpu = dice.choice((4000, 8000, 8000, 16000, 3920))
    memory = dice.choice((8192, 16384, 32768, 15872))
    gpus = dice.choice((0, 4, 4, 8))
    runs = []
    free = [cpu, memory, gpus]
    for _ in range(dice.choice((0, 0, 1, 1, 2, 3))):
        request = _ask(dice, largest=free)
        free = [have - taken for have, taken in zip(free, request.amounts, strict=True)]
        runs.append(request)
    # At most one pod of a node may hold the port, as the scheduler would have it.
    if runs and port and dice.random() < 0.3:
        runs[0] = Ask(*runs[0].amounts, port=True, udp=dice.random() < 0.2)
    if runs and apart and dice.random() < 0.3:
        runs[-1] = _in_sets(dice, runs[-1], "w")
    if len(runs) > 1 and apart and dice.random() < 0.3:
        # If both exist, a pod was bound by hand. Members must respect both.
        runs[0] = _in_sets(dice, runs[0], dice.choice("wp"))
    pods = len(runs) + dice.randint(0, 3) if dice.random() < 0.1 else 110
    return NodeSpec(
        name,
        cpu,
        memory,
        gpus,
        max(1, pods),
        dice.choice(DISKS),
        rack=dice.choice((*RACKS, *RACKS, *RACKS, "")),
        tainted=dice.random() < 0.15,
        cordoned=dice.random() < 0.1,
        runs=tuple(runs),
    )


def _pod_set(dice: Random, name: str, *, mixed: bool, apart: bool, port: bool) -> PodSetSpec:
    request = _ask(dice, largest=(8000, 16384, dice.choice((0, 4, 4))))
    request = Ask(
        *request.amounts,
        port=port and dice.random() < 0.6,
        udp=dice.random() < 0.2,
        init=dice.choice((0, 0, 0, 0, 2000, 5000)),
    )
    if apart and dice.random() < 0.8:
        request = _in_sets(dice, request, dice.choice((name, name, "w")))
    return PodSetSpec(
        name,
        dice.randint(1, 5) if mixed else dice.randint(2, 7),
        request,
        disk=dice.choice(("", "", "", *DISKS)),
        tolerates=dice.random() < 0.3,
        affinity=dice.choice(("", "", "", "", "no hdd", "some rack")),
    )


def _in_sets(dice: Random, pod_request: Ask, name: str) -> Ask:
    """Return the same pod in that set, with its rule or without, or with a rule about another set."""
    bystander, shuns = dice.random() < 0.4, dice.choice(("", "", "", "w", "p"))
    return replace(
        pod_request, apart=name if dice.random() < 0.85 else "", bystander=bystander, shuns=shuns
    )


def _ask(dice: Random, *, largest: tuple[int, int, int] | list[int]) -> Ask:
    """Return the request of a pod, at most the free amount, in steps that sizes share."""
    cpu, memory, gpus = largest
    return Ask(
        cpu=min(dice.choice((0, 100, 500, 1000, 1500, 2000, 3000, 4000, 7000)), cpu),
        memory=min(dice.choice((0, 0, 512, 1000, 2048, 4096, 8192)), memory),
        gpus=min(dice.choice((0, 0, 1, 1, 2, 4)), gpus),
    )
