"""Label selectors of affinity between pods, and the sets of pods that must be apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gangboard.decode.wire import Wire
from gangboard.domain.capacity import HOSTNAME, Requirement

LONGEST_NAME = 1000


class WireRequirement(Wire):
    """One entry of `matchExpressions` or `matchFields`."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class WireLabelSelector(Wire):
    """A label selector; an empty one matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[WireRequirement] | None = None


class WirePodTerm(Wire):
    """One required term of affinity or anti-affinity between pods.

    `matchLabelKeys` and `mismatchLabelKeys` are not read, as no scheduler reads them: the API
    server has put them into the selector (mutatePodAffinity in pkg/registry/core/pod/strategy.go).
    """

    topology_key: str = ""
    label_selector: WireLabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: WireLabelSelector | None = None


def read_requirements(entries: Iterable[WireRequirement] | None) -> tuple[Requirement, ...]:
    """Return requirements as they are, in their order."""
    return tuple(
        Requirement(entry.key, entry.operator, tuple(entry.values or ())) for entry in entries or ()
    )


def apart_name(term: WirePodTerm, namespace: str, labels: Mapping[str, str]) -> str:
    """Return the name of the set of pods of which a node takes one only; empty when it is no such.

    It is one when the term is by host, in the pod's own namespace, and matches the pod itself.
    Equal selectors of one namespace have equal names, however they are written.
    """
    selector = term.label_selector
    if (
        selector is None
        or term.topology_key != HOSTNAME
        or term.namespace_selector is not None
        or set(term.namespaces or (namespace,)) != {namespace}
    ):
        return ""
    entries = _requirements(selector)
    if not all(_matches(entry, labels) for entry in entries):
        return ""
    name = f"{namespace}/{','.join(sorted(set(map(_text, entries))))}"
    return name if len(name) <= LONGEST_NAME else ""


def _requirements(selector: WireLabelSelector) -> list[Requirement]:
    labels = (selector.match_labels or {}).items()
    return [
        *(Requirement(key, "In", (value,)) for key, value in labels),
        *read_requirements(selector.match_expressions),
    ]


def _matches(entry: Requirement, labels: Mapping[str, str]) -> bool:
    """Match as labels.Requirement does; what it does not know matches nothing."""
    value = labels.get(entry.key)
    match entry.operator:
        case "In":
            return value in entry.values
        case "NotIn":
            return value not in entry.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def _text(entry: Requirement) -> str:
    """Return it as kubectl writes selectors, values in order."""
    values = ",".join(sorted(set(entry.values)))
    match entry.operator:
        case "Exists":
            return entry.key
        case "DoesNotExist":
            return f"!{entry.key}"
        case "In" if len(set(entry.values)) == 1:
            return f"{entry.key}={values}"
    return f"{entry.key} {entry.operator.lower()} ({values})"
