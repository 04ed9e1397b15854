"""Cases that every run plays: some that were drawn once, those that were disagreements, and made ones."""

from __future__ import annotations

from dataclasses import replace

from tests.agreement.cases import Ask, Case, NodeSpec, PodSetSpec
from tests.agreement.drawing import make_case, make_cases, make_rack_case, make_spreads_case
from tests.random_sets import sized

SEEDS = (7, 2026)
_CASES_OF_EACH = 20
_RACK_SEED = 40326
_SPREADS_SEED = 51127

FORTY = tuple(case for seed in SEEDS for case in make_cases(seed, _CASES_OF_EACH))
TELLING = tuple(
    make_case(seed, number)
    for seed, number in (
        *((7, number) for number in (1, 3, 39, 79, 227, 248, 257, 288)),
        *((2026, number) for number in (61, 132, 196)),
    )
)
"""The cases out of six hundred that find each bug of `planted.BUGS`, nearly all of them twice."""
_FITTING = tuple(make_case(7, number) for number in (4, 7, 8, 9, 11, 12, 13, 14, 15))
DRAWN = sized((*TELLING, *_FITTING), tuple(dict.fromkeys((*FORTY, *TELLING))))
"""Half of them fit. The forty, which were drawn without looking, found seven of the eleven bugs."""
RACKS = tuple(make_rack_case(_RACK_SEED, number) for number in range(sized(8, 16)))
"""Pods of a set share no rack."""
SPREADS = tuple(make_spreads_case(_SPREADS_SEED, number) for number in range(sized(12, 24)))
"""With two spread constraints."""

ORDER_MISSED = tuple(
    make_case(seed, number)
    for seed, number in (
        *((709755, number) for number in (29, 72, 210, 236, 295)),
        *((514373, number) for number in (131, 133, 208, 238, 292)),
        *((568696, number) for number in (101, 120, 145, 285, 297)),
        *((320102, number) for number in (77, 92, 134, 216, 242, 269, 274, 292)),
        *((524054, number) for number in (20, 22, 45, 61, 104, 119, 133, 168, 187, 249, 297)),
    )
)
"""The scheduler refused each of these, and bound the same pods when each was pinned to the node that
we name: its order missed the placement."""
SETTLED = tuple(make_case(514373, number) for number in (20, 167, 207, 281, 291))
"""No node that the pods select has a GPU: whether a DeviceClass serves some there only the scheduler's
`Insufficient nvidia.com/gpu` tells (placement/devices.py)."""
ADVICE_MISSED = (make_case(661730, 109),)
"""Their first advice did not free once."""


def small_node(
    name: str, *, cpu: int = 8000, gpus: int = 0, runs: tuple[Ask, ...] = ()
) -> NodeSpec:
    """Return a node without labels that matter."""
    return NodeSpec(name, cpu, 32768, gpus, 110, "ssd", runs=runs)


def pod_set(name: str, count: int, *, cpu: int = 0, gpus: int = 0) -> PodSetSpec:
    """Return so many members that ask for no more than this."""
    return PodSetSpec(name, count, Ask(cpu=cpu, gpus=gpus))


def made_case(
    nodes: tuple[NodeSpec, ...], *pod_sets: PodSetSpec, quorum: int, number: int = 0
) -> Case:
    """Return a handmade case. Cases that play at once have their own numbers."""
    order = tuple(pod_set.name for pod_set in pod_sets for _ in range(pod_set.count))
    own = tuple(replace(node, name=f"kept-{number}-{node.name}") for node in nodes)
    return Case(0, number, own, pod_sets, quorum, order=order)


_SMALL, _LARGE = pod_set("small", 2, cpu=1000), pod_set("large", 1, cpu=4000)
_TWO = (small_node("n0", cpu=4000), small_node("n1", cpu=4000))
SMALL_FIRST = made_case(_TWO, _SMALL, _LARGE, quorum=3, number=1)
LARGE_FIRST = made_case(_TWO, _LARGE, _SMALL, quorum=3, number=2)

_LABELLED = Ask(cpu=100, apart="w", bystander=True)
_RULED = Ask(cpu=100, apart="w")
ONLY_THE_LABEL = made_case(
    (small_node("n0", runs=(_LABELLED,)), small_node("n1")),
    PodSetSpec("w", 2, _RULED),
    quorum=2,
    number=3,
)
RULE_OF_A_RUNNING_POD = made_case(
    (small_node("n0", runs=(_RULED,)),), PodSetSpec("w", 2, _LABELLED), quorum=2, number=4
)
NO_RULE = made_case(
    (small_node("n0", runs=(_LABELLED,)),), PodSetSpec("w", 2, _LABELLED), quorum=2, number=5
)

_SHUNNING = PodSetSpec("w", 2, Ask(cpu=100, shuns="p"))
_SHUNNED = PodSetSpec("p", 2, Ask(cpu=100, apart="p", bystander=True))
SHUNNED_ON_ONE_NODE = made_case((small_node("n0"),), _SHUNNING, _SHUNNED, quorum=4, number=6)
SHUNNED_ON_TWO_NODES = made_case(
    (small_node("n0"), small_node("n1")), _SHUNNING, _SHUNNED, quorum=4, number=7
)
MADE = (
    SMALL_FIRST,
    LARGE_FIRST,
    ONLY_THE_LABEL,
    RULE_OF_A_RUNNING_POD,
    NO_RULE,
    SHUNNED_ON_ONE_NODE,
    SHUNNED_ON_TWO_NODES,
)
