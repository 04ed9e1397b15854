"""Advice about a node selector that no node answers to: which values of the label there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import HOSTNAME, PlacementRequest, PodSet
from gangboard.domain.placing import FitAnswer, PlacementCause, When
from gangboard.domain.reading.wording import listed
from gangboard.placement.advice_words import marked, then_fit_when_empty, then_fits
from gangboard.placement.change_methods import ChangedObject, change_method
from gangboard.placement.fits import fits
from gangboard.placement.what_if import STEPS, WhatIf

MOST_VALUES = 8
"""Values of a label that are tried, those first that most nodes have."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Wish:
    """A label that members select, with a value that no node has."""

    key: str
    value: str


def select_another(what_if: WhatIf, changed_object: ChangedObject) -> Iterator[Advice]:
    """Name the values of the selected label with which the members fit: now, else on empty nodes."""
    if what_if.assessment.cause is not PlacementCause.NO_ELIGIBLE_NODE:
        return
    wish = _only_wish(what_if)
    if wish is None:
        return
    tried = {
        value: _selecting(what_if.request, wish, value) for value in _values(what_if, wish.key)
    }
    found = [value for value, request in tried.items() if what_if.frees(request=request)]
    now = bool(found)
    if not now:
        found = [value for value, request in tried.items() if _fits_when_empty(what_if, request)]
    if not found:
        return
    method = change_method(AdviceKind.SELECT, changed_object, what_if.unit.facts.kubernetes)
    others = listed([f"{wish.key}={value}" for value in found[:_SHOWN]]).replace(" and ", " or ")
    then = then_fits(what_if) if now else then_fit_when_empty(what_if)
    text = f"Select {others} instead of {wish.key}={wish.value}, which no node has: {then}"
    yield Advice(
        AdviceKind.SELECT,
        marked(text, method),
        method=method,
        label=wish.key,
        values=tuple(found[:_SHOWN]),
        when_empty=not now,
    )


def _only_wish(what_if: WhatIf) -> _Wish | None:
    """Return the one label that is selected with a value that no node has; None for several."""
    found = {
        _Wish(key, value)
        for pod_set in what_if.pod_sets
        for key, value in pod_set.shape.node_selector.items()
        if value not in what_if.snapshot.labels(key).places
    }
    return found.pop() if len(found) == 1 else None


def _values(what_if: WhatIf, key: str) -> list[str]:
    """Return the values of a label that nodes have, those of most nodes first; no names of nodes."""
    if key == HOSTNAME:
        return []
    texts = what_if.snapshot.labels(key)
    counts = np.bincount(texts.codes, minlength=len(texts.places)).tolist()
    found = [(-counts[at], value) for value, at in texts.places.items() if value is not None]
    return [value for _, value in sorted(found)[:MOST_VALUES]]


def _selecting(request: PlacementRequest, wish: _Wish, value: str) -> PlacementRequest:
    def changed(pod_set: PodSet) -> PodSet:
        selector = pod_set.shape.node_selector
        if selector.get(wish.key) != wish.value:
            return pod_set
        return PodSet(
            replace(pod_set.shape, node_selector={**selector, wish.key: value}), pod_set.count
        )

    return replace(request, pod_sets=tuple(map(changed, request.pod_sets)))


def _fits_when_empty(what_if: WhatIf, request: PlacementRequest) -> bool:
    found = fits(request, what_if.snapshot, When.EMPTY, request.needed, steps=STEPS)
    return found.answer is FitAnswer.YES
