"""How advice counts and names: amounts, nodes, and what fits then."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from gangboard.domain.capacity import PODS
from gangboard.placement.amounts import base_units
from gangboard.placement.trial import Trial

_SHOWN = 3
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")


def amount_of(resource: str, amount: int) -> str:
    """Return `4 nvidia.com/gpu`, `500m CPU`, `1.5 CPUs`, `32Gi of memory`, `2 pods`."""
    if resource == PODS:
        return "1 pod" if amount == 1 else f"{amount} pods"
    if resource == "cpu":
        if amount < 1000:
            return f"{amount}m CPU"
        cores = _plain(base_units(resource, amount))
        return f"{cores} CPU" if cores == "1" else f"{cores} CPUs"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return f"{_bytes(amount)} of {resource}"
    return f"{amount} {resource}"


def _bytes(amount: int) -> str:
    """Write bytes in the largest binary unit that leaves nothing over, or as they are."""
    text = str(amount)
    for unit in _BINARY:
        if amount % 1024 or not amount:
            break
        amount //= 1024
        text = f"{amount}{unit}"
    return text


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def node_names(names: Sequence[str]) -> str:
    """Return `node a`, `nodes a and b`, `5 nodes (a, b, …)`."""
    if len(names) == 1:
        return f"node {names[0]}"
    if len(names) <= _SHOWN:
        return f"nodes {', '.join(names[:-1])} and {names[-1]}"
    return f"{len(names)} nodes ({', '.join(names[:2])}, …)"


def each_node(names: Sequence[str]) -> str:
    """Return `on node a`, `on each of the nodes a and b`."""
    if len(names) == 1:
        return f"on node {names[0]}"
    if len(names) <= _SHOWN:
        return f"on each of the nodes {', '.join(names[:-1])} and {names[-1]}"
    return f"on each of {len(names)} nodes ({', '.join(names[:2])}, …)"


def then_fits(trial: Trial) -> str:
    """Return `then all 8 pods fit`, `then the 6 pods fit that its quorum still needs`."""
    needed, size = trial.request.needed, trial.request.size
    if needed >= size:
        return "then the pod fits" if size == 1 else f"then all {size} pods fit"
    return f"then the {needed} of {size} pods fit that its quorum needs"
