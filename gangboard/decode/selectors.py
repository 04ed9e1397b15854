"""Decoder of label selectors, and of affinity and anti-affinity terms between pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gangboard.decode.wire import Wire
from gangboard.domain.pod_constraints import HOSTNAME, PodTerm, Requirement

_MATCHES_NO_POD = Requirement("", "In")
"""Requirement that matches no pod, as a null selector does (LabelSelectorAsSelector)."""

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


class WireRequirement(Wire):
    """One entry of `matchExpressions` or `matchFields`."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class WireLabelSelector(Wire):
    """A label selector. An empty selector matches all pods, except in `read_counted_pods`."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[WireRequirement] | None = None


class WirePodTerm(Wire):
    """Required term of affinity or anti-affinity between pods.

    `matchLabelKeys` and `mismatchLabelKeys` are not read, because the API server adds them to the selector
    (mutatePodAffinity in pkg/registry/core/pod/strategy.go).
    """

    topology_key: str = ""
    label_selector: WireLabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: WireLabelSelector | None = None


def read_requirements(entries: Iterable[WireRequirement] | None) -> tuple[Requirement, ...]:
    """Return the requirements in their order."""
    return tuple(
        Requirement(entry.key, entry.operator, tuple(entry.values or ())) for entry in entries or ()
    )


def read_term(term: WirePodTerm, selector: WireLabelSelector, namespace: str) -> PodTerm:
    """Return the term of a pod in this namespace. `selector` is the selector of the term.

    A term that selects namespaces by labels applies to all namespaces and is inexact. A requirement with an unknown
    operator is omitted and makes the term inexact as well. Source: getNamespacesFromPodAffinityTerm and
    AffinityTerm.Matches in kube-scheduler's framework.
    """
    entries = read_selector(selector)
    known = tuple(entry for entry in entries if entry.operator in _OPERATORS)
    by_labels = term.namespace_selector
    namespace_labels = read_selector(by_labels) if by_labels is not None else ()
    namespaces = frozenset(term.namespaces or ((namespace,) if by_labels is None else ()))
    name = f"{','.join(sorted(namespaces))}/{_texts(entries)}"
    if by_labels is not None:
        name = f"{name} and namespaces with {_texts(namespace_labels) or 'any labels'}"
    if term.topology_key != HOSTNAME:
        name = f"{name} by {term.topology_key}"
    return PodTerm(
        name,
        namespaces if by_labels is None else None,
        known,
        bool(term.topology_key) and not namespace_labels and len(known) == len(entries),
        term.topology_key,
    )


def read_pod_affinity(terms: Sequence[WirePodTerm], namespace: str) -> PodTerm | None:
    """Return the term for pods that match all affinity terms of a pod.

    None if the terms use several node labels, or if a term is inexact. Source: podMatchesAllAffinityTerms and
    satisfyPodAffinity in plugins/interpodaffinity, 1.35 to 1.37.
    """
    decoded = [
        read_term(term, term.label_selector or WireLabelSelector(), namespace) for term in terms
    ]
    keys = {term.topology_key for term in decoded}
    if not all(term.is_exact for term in decoded) or len(keys) != 1:
        return None
    if any(term.label_selector is None for term in terms):
        return None  # it matches no pod, which is rare, and the scheduler's message says so
    entries = {entry for term in decoded for entry in term.selector}
    namespaces = [term.namespaces for term in decoded if term.namespaces is not None]
    common = frozenset.intersection(*namespaces) if namespaces else None
    name = f"near {' and '.join(sorted(term.name for term in decoded))}"
    merged = PodTerm(name, common, tuple(sorted(entries, key=_text)), True, keys.pop())
    return None if merged.is_open else merged


def read_counted_pods(selector: WireLabelSelector | None, namespace: str) -> PodTerm:
    """Return the term for the pods of a namespace that a spread constraint counts.

    A missing or an empty selector counts no pods, although an empty selector matches all pods elsewhere
    (countPodsMatchSelector in plugins/podtopologyspread/common.go, 1.35 to 1.37). The constraint then excludes only
    nodes without the label. An unknown operator makes the term inexact.
    """
    entries = read_selector(selector) if selector is not None else ()
    entries = entries or (_MATCHES_NO_POD,)
    name = f"spread {namespace}/{_texts(entries)}"
    is_exact = all(entry.operator in _OPERATORS for entry in entries)
    return PodTerm(name, frozenset({namespace}), entries, is_exact, is_count=True)


def read_selector(selector: WireLabelSelector) -> tuple[Requirement, ...]:
    """Return the requirements of a selector in canonical order."""
    labels = (selector.match_labels or {}).items()
    entries = (
        *(Requirement(key, "In", (value,)) for key, value in labels),
        *read_requirements(selector.match_expressions),
    )
    each = {
        Requirement(entry.key, entry.operator, tuple(sorted(set(entry.values))))
        for entry in entries
    }
    return tuple(sorted(each, key=_text))


def _texts(entries: Iterable[Requirement]) -> str:
    return ",".join(map(_text, entries))


def _text(entry: Requirement) -> str:
    """Return a requirement in the selector syntax of kubectl."""
    values = ",".join(entry.values)
    match entry.operator:
        case "Exists":
            return entry.key
        case "DoesNotExist":
            return f"!{entry.key}"
        case "In" if len(entry.values) == 1:
            return f"{entry.key}={values}"
    return f"{entry.key} {entry.operator.lower()} ({values})"
