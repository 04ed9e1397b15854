"""Matches between pods and the terms of anti-affinity, pod affinity and topology spread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodTerm
from gangboard.placement.matching import matches_pod
from gangboard.placement.node_snapshot import snapshot_of

NO_TERMS: frozenset[PodTerm] = frozenset()
_KEY = "terms of anti-affinity"
TermMatcher = Callable[[Pod], frozenset[PodTerm]]
"""Pod → the terms that it matches."""
_IndexKey = tuple[str | None, str, str | None]
"""Namespace (None: all), label (empty: any), and value of the label."""


class TermIndex:
    """Index of terms by label, to find the terms of a pod without trying each."""

    def __init__(self, terms: Iterable[PodTerm] = ()) -> None:
        self._spots: dict[str | None, dict[str, dict[str | None, set[PodTerm]]]] = {}
        for term in terms:
            self.add(term)

    def __bool__(self) -> bool:
        """Return whether the index has any term."""
        return bool(self._spots)

    def add(self, term: PodTerm) -> None:
        """Add a term."""
        for namespace, key, value in _index_keys(term):
            keys = self._spots.setdefault(namespace, {})
            keys.setdefault(key, {}).setdefault(value, set()).add(term)

    def discard(self, term: PodTerm) -> None:
        """Remove a term."""
        for namespace, key, value in _index_keys(term):
            keys = self._spots[namespace]
            keys[key][value].discard(term)
            if not keys[key][value]:
                del keys[key][value]
            if not keys[key]:
                del keys[key]
            if not keys:
                del self._spots[namespace]

    def matching(self, namespace: str, labels: Mapping[str, str]) -> frozenset[PodTerm]:
        """Return the terms that a pod matches."""
        if not self._spots:
            return NO_TERMS
        return frozenset(
            term
            for scope in (namespace, None)
            for key, values in self._spots.get(scope, {}).items()
            for term in values.get(labels.get(key), ())
            if matches_pod(term, namespace, labels)
        )


def _index_keys(term: PodTerm) -> Iterator[_IndexKey]:
    """Yield the index keys of a term: one of its labels with each of its values."""
    named = [entry for entry in term.selector if entry.operator == "In"]
    best = min(named, key=lambda entry: len(entry.values), default=None)
    for namespace in (None,) if term.namespaces is None else term.namespaces:
        if best is None:
            yield namespace, "", None
            continue
        for value in best.values:
            yield namespace, best.key, value


class _PodLabels(NamedTuple):
    """Namespace and labels of a pod. Pods share the tuple of label names."""

    namespace: str
    keys: tuple[str, ...]
    values: tuple[str, ...]

    def labels(self) -> dict[str, str]:
        return dict(zip(self.keys, self.values, strict=True))


class TermMatches:
    """The terms of all pods, and the pods on nodes that match each term."""

    def __init__(self) -> None:
        self._tags: dict[str, _PodLabels] = {}
        self._keys: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._index = TermIndex()
        self._carriers: dict[PodTerm, int] = {}
        self._of_pod: dict[str, frozenset[PodTerm]] = {}
        """uid → matching terms, without pods that match no term."""
        self._of_term: dict[PodTerm, set[str]] = {}
        self._by_label: dict[str, dict[str, set[str]]] = {}
        """Label → value → uids, only for labels in index keys."""

    def matched(self, uid: str) -> frozenset[PodTerm]:
        """Return the exact terms that a pod on a node matches."""
        return self._of_pod.get(uid, NO_TERMS)

    def knows(self, pod: Pod) -> bool:
        """Return whether a pod on a node is known with its current labels."""
        tag = self._tags.get(pod.meta.ref.uid)
        return tag is not None and tag.labels() == pod.labels

    def put(self, pod: Pod) -> frozenset[PodTerm]:
        """Add a pod that has a node, and return the terms that it matches."""
        uid, labels = pod.meta.ref.uid, pod.labels
        keys = tuple(map(sys.intern, labels))
        keys = self._keys.setdefault(keys, keys)
        namespace = sys.intern(pod.meta.ref.namespace)
        self._tags[uid] = _PodLabels(namespace, keys, tuple(map(sys.intern, labels.values())))
        for key, values in self._by_label.items():
            if key in labels:
                values.setdefault(labels[key], set()).add(uid)
        terms = self._index.matching(namespace, labels)
        if terms:
            self._of_pod[uid] = terms
            for term in terms:
                self._of_term[term].add(uid)
        return terms

    def remove(self, uid: str) -> frozenset[PodTerm]:
        """Remove a pod, and return the terms that it matched."""
        tag = self._tags.pop(uid)
        for key, value in zip(tag.keys, tag.values, strict=True):
            pods = self._by_label.get(key, {}).get(value)
            if pods is not None:
                pods.discard(uid)
                if not pods:
                    del self._by_label[key][value]
        terms = self._of_pod.pop(uid, NO_TERMS)
        for term in terms:
            self._of_term[term].discard(uid)
        return terms

    def learn(self, term: PodTerm) -> Iterable[str]:
        """Count a pod that has a term. Return the pods that match it, if the term is new."""
        self._carriers[term] = self._carriers.get(term, 0) + 1
        if self._carriers[term] > 1 or not term.is_exact:
            return ()
        self._index.add(term)
        uids = self._of_term[term] = {uid for uid in self._likely(term) if self._fits(term, uid)}
        for uid in uids:
            self._of_pod[uid] = self.matched(uid) | {term}
        return uids

    def unlearn(self, term: PodTerm) -> Iterable[str]:
        """Remove a pod that has a term. Return the pods that matched it, if it was the last."""
        self._carriers[term] -= 1
        if self._carriers[term]:
            return ()
        del self._carriers[term]
        if not term.is_exact:
            return ()
        self._index.discard(term)
        uids = self._of_term.pop(term)
        for uid in uids:
            remaining = self._of_pod.pop(uid) - {term}
            if remaining:
                self._of_pod[uid] = remaining
        return uids

    def _likely(self, term: PodTerm) -> Iterable[str]:
        """Return the pods with the label of a term's index keys. Without a label it is all pods."""
        spots = {(key, value) for _, key, value in _index_keys(term)}
        if any(value is None for _, value in spots):
            return list(self._tags)
        return [uid for key, value in spots for uid in self._having(key).get(value or "", ())]

    def _having(self, key: str) -> Mapping[str, set[str]]:
        if key not in self._by_label:
            values = self._by_label[key] = {}
            for uid, tag in self._tags.items():
                if key in tag.keys:
                    values.setdefault(tag.values[tag.keys.index(key)], set()).add(uid)
        return self._by_label[key]

    def _fits(self, term: PodTerm, uid: str) -> bool:
        tag = self._tags[uid]
        return matches_pod(term, tag.namespace, tag.labels())


def term_matcher(capacity: ClusterCapacity, pods: Iterable[Pod]) -> TermMatcher:
    """Return a function that returns the terms that match a pod.

    The terms are those of pods on nodes, and those of `pods`.
    """
    if _KEY not in capacity.cache:
        loads = snapshot_of(capacity).sparse().terms_now.values()
        capacity.cache[_KEY] = TermIndex({term for load in loads for term in load.anti_affinity})
    known_terms = capacity.cache[_KEY]
    assert isinstance(known_terms, TermIndex)  # noqa: S101 - the key is ours
    own_terms = TermIndex({term for pod in pods for term in pod.needs.anti_affinity})
    if not (known_terms or own_terms):
        return lambda _: NO_TERMS

    def matched(pod: Pod) -> frozenset[PodTerm]:
        namespace, labels = pod.meta.ref.namespace, pod.labels
        return known_terms.matching(namespace, labels) | own_terms.matching(namespace, labels)

    return matched
