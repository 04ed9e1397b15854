"""Advice about a node selector that no node matches: other values of the label, or a label to drop."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.capacity import PlacementRequest, PodSet
from gangboard.domain.placement_result import FitAnswer, PlacementCause, When
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.text import label, listed
from gangboard.facts.added_node_labels import added_labels
from gangboard.placement.advice.change_methods import ChangedObject, change_method
from gangboard.placement.advice.what_if import STEPS, WhatIf
from gangboard.placement.advice.wording import then_fit_when_empty, then_fits, with_method
from gangboard.placement.gang_fit import check_fit

MAX_VALUES = 8
"""Most values of a label to try. Values of most nodes come first."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _SelectedLabel:
    """A label that members select, with a value that no node has."""

    key: str
    value: str


def advise_label_values(what_if: WhatIf, changed_object: ChangedObject) -> Iterator[Advice]:
    """Advise to select values of the label with which the members fit now, or else on drained nodes."""
    if what_if.assessment.cause is not PlacementCause.NO_ELIGIBLE_NODE:
        return
    label_value = _find_only_unmatched(what_if)
    if label_value is None or label_value.key in added_labels(what_if.unit):
        return
    tried = {
        value: _select_value(what_if.request, label_value, value)
        for value in _values_of(what_if, label_value.key)
    }
    values = [value for value, request in tried.items() if what_if.frees(request=request)]
    now = bool(values)
    if not now:
        values = [value for value, request in tried.items() if _fits_when_empty(what_if, request)]
    if not values:
        return
    method = change_method(AdviceKind.SELECT, changed_object, what_if.unit.gang.cluster.kubernetes)
    choices = listed([f"{label_value.key}={value}" for value in values[:_SHOWN]]).replace(
        " and ", " or "
    )
    outcome = then_fits(what_if) if now else then_fit_when_empty(what_if)
    text = f"Select {choices} instead of {label_value.key}={label_value.value}, which no node has: {outcome}"
    yield Advice(
        AdviceKind.SELECT,
        with_method(text, method),
        method=method,
        label=label_value.key,
        values=tuple(values[:_SHOWN]),
    )


def advise_label_sources(what_if: WhatIf, changed_object: ChangedObject) -> Iterator[Advice]:
    """Advise on labels that an admission system added to the node selector of the owner.

    The owner cannot select another value of such a label. So its source is wrong, or the owner's own labels are, or its
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
        source = added.get(key)
        if source is None or source.flavor is None:
            continue
        if value not in what_if.snapshot.labels(key).codes_by_value:
            flavor = label(source.flavor)
            text = f"Correct {source.text} in {flavor}, or label its nodes: no node has it."
            yield Advice(AdviceKind.OTHER, text)
    added_keys = {key for key, _ in selected if key in added}
    own_keys = {key for key, _ in selected} - added_keys
    if not added_keys or not own_keys:
        return
    added_text = listed([added[key].text for key in sorted(added_keys)])
    dropped = listed([f"{key}={value}" for key, value in sorted(selected) if key in own_keys])
    pronoun = "it" if len(own_keys) == 1 else "them"
    if outcome := _outcome_without(what_if, own_keys):
        method = change_method(
            AdviceKind.SELECT, changed_object, what_if.unit.gang.cluster.kubernetes
        )
        text = (
            f"Remove {dropped} from the node selector of {label(what_if.unit.owner.meta.ref)}, as no node "
            f"with {added_text} has {pronoun}: {outcome}"
        )
        yield Advice(AdviceKind.SELECT, with_method(text, method), method=method)
    if outcome := _outcome_without(what_if, added_keys):
        text = f"Use a queue that does not add {added_text}: {outcome}"
        yield Advice(
            AdviceKind.OTHER, with_method(text, ChangeMethod.RECREATE), method=ChangeMethod.RECREATE
        )


def _outcome_without(what_if: WhatIf, keys: Collection[str]) -> str:
    """Return the outcome if the members do not select these labels. Empty: they still do not fit."""

    def changed(pod_set: PodSet) -> PodSet:
        selector = pod_set.shape.node_selector
        remaining = {key: value for key, value in selector.items() if key not in keys}
        return PodSet(replace(pod_set.shape, node_selector=remaining), pod_set.count)

    request = replace(what_if.request, pod_sets=tuple(map(changed, what_if.request.pod_sets)))
    if what_if.frees(request=request):
        return then_fits(what_if)
    return then_fit_when_empty(what_if) if _fits_when_empty(what_if, request) else ""


def _find_only_unmatched(what_if: WhatIf) -> _SelectedLabel | None:
    """Return the only selected label whose value no node has. None: there is none, or several."""
    unmatched = {
        _SelectedLabel(key, value)
        for pod_set in what_if.pod_sets
        for key, value in pod_set.shape.node_selector.items()
        if value not in what_if.snapshot.labels(key).codes_by_value
    }
    return unmatched.pop() if len(unmatched) == 1 else None


def _values_of(what_if: WhatIf, key: str) -> list[str]:
    """Return the values of a label, those of most nodes first. The hostname label has none."""
    if key == HOSTNAME:
        return []
    texts = what_if.snapshot.labels(key)
    counts = np.bincount(texts.codes, minlength=len(texts.codes_by_value)).tolist()
    counted = [
        (-counts[index], value)
        for value, index in texts.codes_by_value.items()
        if value is not None
    ]
    return [value for _, value in sorted(counted)[:MAX_VALUES]]


def _select_value(
    request: PlacementRequest, label_value: _SelectedLabel, value: str
) -> PlacementRequest:
    def changed(pod_set: PodSet) -> PodSet:
        selector = pod_set.shape.node_selector
        if selector.get(label_value.key) != label_value.value:
            return pod_set
        return PodSet(
            replace(pod_set.shape, node_selector={**selector, label_value.key: value}),
            pod_set.count,
        )

    return replace(request, pod_sets=tuple(map(changed, request.pod_sets)))


def _fits_when_empty(what_if: WhatIf, request: PlacementRequest) -> bool:
    fit = check_fit(request, what_if.snapshot, When.DRAINED, request.needed, steps=STEPS)
    return fit.answer is FitAnswer.YES
