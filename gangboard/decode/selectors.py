"""Label selectors, and the terms of anti-affinity between pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gangboard.decode.wire import Wire
from gangboard.domain.pod_constraints import HOSTNAME, PodTerm, Requirement

_NOTHING = Requirement("", "In")
"""Matches no pod, as a selector that is null does (LabelSelectorAsSelector)."""

_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


class WireRequirement(Wire):
    """One entry of `matchExpressions` or `matchFields`."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class WireLabelSelector(Wire):
    """A label selector; an empty one matches everything, but for `read_counted_pods`."""

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


def read_term(term: WirePodTerm, selector: WireLabelSelector, namespace: str) -> PodTerm:
    """Return a term of a pod of that namespace; `selector` is its own.

    Namespaces that are told by their labels are not known: all of them then, and it is not exact.
    Nor is it with an operator that is not known, of which the entry is left out. Source:
    getNamespacesFromPodAffinityTerm and AffinityTerm.Matches in kube-scheduler's framework.
    """
    entries = _requirements(selector)
    known = tuple(entry for entry in entries if entry.operator in _OPERATORS)
    by_labels = term.namespace_selector
    where = _requirements(by_labels) if by_labels is not None else ()
    namespaces = frozenset(term.namespaces or ((namespace,) if by_labels is None else ()))
    name = f"{','.join(sorted(namespaces))}/{_texts(entries)}"
    if by_labels is not None:
        name = f"{name} and namespaces with {_texts(where) or 'any labels'}"
    if term.topology_key != HOSTNAME:
        name = f"{name} by {term.topology_key}"
    return PodTerm(
        name,
        namespaces if by_labels is None else None,
        known,
        bool(term.topology_key) and not where and len(known) == len(entries),
        term.topology_key,
    )


def read_pod_affinity(terms: Sequence[WirePodTerm], namespace: str) -> PodTerm | None:
    """Return the pods near which a pod must be, those that match all of its terms of affinity.

    None where the terms go by several labels of nodes, or are about more than can be known. Source:
    podMatchesAllAffinityTerms and satisfyPodAffinity in plugins/interpodaffinity, 1.35 to 1.37.
    """
    found = [read_term(one, one.label_selector or WireLabelSelector(), namespace) for one in terms]
    if not all(one.is_exact for one in found) or len({one.topology_key for one in found}) != 1:
        return None
    if any(one.label_selector is None for one in terms):
        return None  # matches no pod: so rare that the scheduler may tell it
    entries = {entry for one in found for entry in one.selector}
    namespaces = [one.namespaces for one in found if one.namespaces is not None]
    common = frozenset.intersection(*namespaces) if namespaces else None
    name = f"near {' and '.join(sorted(one.name for one in found))}"
    made = PodTerm(name, common, tuple(sorted(entries, key=_text)), True, found[0].topology_key)
    return None if made.is_open else made


def read_counted_pods(selector: WireLabelSelector | None, namespace: str) -> PodTerm:
    """Return the pods of a namespace that a spread constraint counts.

    None without a selector, and none with an empty one, though it matches everything elsewhere
    (countPodsMatchSelector in plugins/podtopologyspread/common.go, 1.35 to 1.37): no domain then
    comes to more than the pod itself, and only nodes without the label are out.
    It is not exact with an operator that is not known.
    """
    entries = _requirements(selector) if selector is not None else ()
    entries = entries or (_NOTHING,)
    name = f"spread {namespace}/{_texts(entries)}"
    is_exact = all(entry.operator in _OPERATORS for entry in entries)
    return PodTerm(name, frozenset({namespace}), entries, is_exact, is_count=True)


def _requirements(selector: WireLabelSelector) -> tuple[Requirement, ...]:
    """Return the entries of a selector in one order, however they are written."""
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
    """Return it as kubectl writes selectors."""
    values = ",".join(entry.values)
    match entry.operator:
        case "Exists":
            return entry.key
        case "DoesNotExist":
            return f"!{entry.key}"
        case "In" if len(entry.values) == 1:
            return f"{entry.key}={values}"
    return f"{entry.key} {entry.operator.lower()} ({values})"
