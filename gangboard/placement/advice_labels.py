"""Advice about a node selector that no node answers to: which values of the label there are, or which label to drop."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.capacity import HOSTNAME, PlacementRequest, PodSet
from gangboard.domain.placing import FitAnswer, PlacementCause, When
from gangboard.domain.text import label, listed
from gangboard.facts.node_label_sources import added_labels
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
    if wish is None or wish.key in added_labels(what_if.unit):
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
    method = change_method(AdviceKind.SELECT, changed_object, what_if.unit.gang.cluster.kubernetes)
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


def mend_sources(what_if: WhatIf, changed_object: ChangedObject) -> Iterator[Advice]:
    """Say what to do about labels that an admission system has added to those that the owner selects.

    Nobody can select another value of such a label. What adds it can be wrong, or the owner's own labels are, or its
    queue.
    """
    if what_if.assessment.cause is not PlacementCause.NO_ELIGIBLE_NODE:
        return
    selected = {
        (key, value)
        for pod_set in what_if.pod_sets
        for key, value in pod_set.shape.node_selector.items()
    }
    added = added_labels(what_if.unit)
    for key, value in sorted(selected):
        one = added.get(key)
        if one is None or one.flavor is None:
            continue
        if value not in what_if.snapshot.labels(key).places:
            where = label(one.flavor)
            text = f"Correct {one.text} in {where}, or label its nodes: no node has it."
            yield Advice(AdviceKind.OTHER, text)
    theirs = {key for key, _ in selected if key in added}
    own = {key for key, _ in selected} - theirs
    if not theirs or not own:
        return
    kept = listed([added[key].text for key in sorted(theirs)])
    dropped = listed([f"{key}={value}" for key, value in sorted(selected) if key in own])
    it = "it" if len(own) == 1 else "them"
    if then := _then_without(what_if, own):
        method = change_method(
            AdviceKind.SELECT, changed_object, what_if.unit.gang.cluster.kubernetes
        )
        text = (
            f"Remove {dropped} from the node selector of {label(what_if.unit.owner.meta.ref)}, as no node "
            f"with {kept} has {it}: {then}"
        )
        yield Advice(AdviceKind.SELECT, marked(text, method), method=method)
    if then := _then_without(what_if, theirs):
        text = f"Use a queue that does not add {kept}: {then}"
        yield Advice(
            AdviceKind.OTHER, marked(text, ChangeMethod.RECREATE), method=ChangeMethod.RECREATE
        )


def _then_without(what_if: WhatIf, keys: Collection[str]) -> str:
    """Return the end of the sentence about members that do not select these labels; empty if they do not fit then."""

    def changed(pod_set: PodSet) -> PodSet:
        selector = pod_set.shape.node_selector
        left = {key: value for key, value in selector.items() if key not in keys}
        return PodSet(replace(pod_set.shape, node_selector=left), pod_set.count)

    request = replace(what_if.request, pod_sets=tuple(map(changed, what_if.request.pod_sets)))
    if what_if.frees(request=request):
        return then_fits(what_if)
    return then_fit_when_empty(what_if) if _fits_when_empty(what_if, request) else ""


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
