"""One shape over all nodes at once: the same answers as `eligibility`, column by column.

What filters say of a node is worked out for each value of a label, each set of taints and each
resource, not for each node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import compress

import numpy as np

from gangboard.domain.capacity import HostPort, Requirement, Shape, Taint
from gangboard.domain.placing import Constraint, Eligibility, Excluded, Filter, When
from gangboard.placement.amounts import wanted
from gangboard.placement.eligibility import EXAMPLES, UNLIMITED, ranked
from gangboard.placement.ground import NAME, SAFE, Ground, Mask, Whole, total
from gangboard.placement.matching import (
    CORDON,
    NAME_FIELD,
    NOT_READY,
    matches,
    ports_clash,
    untolerated,
)

MOST_KEPT = 256
"""Shapes whose hosts are kept: with 5,000 nodes each takes a quarter of a megabyte."""
Saturated = tuple[tuple[str, int, tuple[str, ...]], ...]
Summary = tuple[int, int, int, Saturated]


class Hosts:
    """Which nodes can host a pod of one shape, and how many pods of it fit on each."""

    def __init__(self, ground: Ground, shape: Shape) -> None:
        self._ground = ground
        self._shape = shape
        self._asked = wanted(shape)
        self._kept: dict[str, Mask] = {}
        self._caps: dict[When, Whole] = {}
        self._orders: dict[When, tuple[Whole, Whole, Whole]] = {}
        self._summaries: dict[tuple[str, ...], Summary] = {}
        self._found: dict[tuple[str, ...], Eligibility] = {}

    # Which nodes

    def eligible(self, keys: Sequence[str] = ()) -> Mask:
        """Return the nodes that no filter excludes."""
        if "eligible" not in self._kept:
            self._kept["eligible"] = self._readable() & ~self._unreadable()
        found = self._kept["eligible"]
        for key in keys:
            found = found & has_label(self._ground, key)
        return found

    def only_unreadable(self, keys: Sequence[str]) -> Mask:
        """Return the nodes that might be eligible if their amounts could be read."""
        found = self._readable() & self._unreadable()
        for key in keys:
            found = found & has_label(self._ground, key)
        return found

    def first_unreadable(self, at: int) -> str:
        """Return the first requested resource of a node that could not be read."""
        return min(self._ground[at].unreadable & self._asked.keys())

    def _readable(self) -> Mask:
        """Return the nodes that no filter but the one about unreadable amounts excludes."""
        if "readable" not in self._kept:
            found = (
                self._selected() & self._tolerated() & ~self._ports_stay() & ~self._apart_stays()
            )
            for resource, amount in self._asked.items():
                found &= (self._enough(resource, amount)) | self._unread(resource)
            self._kept["readable"] = found
        return self._kept["readable"]

    def _all(self) -> Mask:
        return np.ones(len(self._ground), dtype=np.bool_)

    def _none(self) -> Mask:
        return np.zeros(len(self._ground), dtype=np.bool_)

    def _selected(self) -> Mask:
        """Match node selector and affinity as `matching.is_selected`."""
        if "selected" in self._kept:
            return self._kept["selected"]
        found = self._all()
        for key, value in self._shape.node_selector.items():
            found &= self._matching(Requirement(key, "In", (value,)))
        if self._shape.affinity is not None:
            some = self._none()
            for term in self._shape.affinity:
                if not term.expressions and not term.fields:
                    continue
                each = self._all()
                for entry in term.expressions:
                    each &= self._matching(entry)
                for entry in term.fields:
                    each &= self._matching(entry, field=True)
                some |= each
            found &= some
        self._kept["selected"] = found
        return found

    def _matching(self, entry: Requirement, *, field: bool = False) -> Mask:
        if field and entry.key != NAME_FIELD:
            return self._all() if matches(entry, None) else self._none()
        place = ("matching", entry, field)
        cache = self._ground.cache
        if place not in cache:
            texts = self._ground.labels(NAME if field else entry.key)
            if entry.operator == "In":  # told apart since names of nodes are many
                cache[place] = texts.among(entry.values)
            elif entry.operator == "NotIn":
                cache[place] = ~texts.among(entry.values)
            else:
                cache[place] = texts.among(one for one in texts.places if matches(entry, one))
        mask: Mask = cache[place]
        return mask

    def _taints(self) -> tuple[Whole, list[list[Taint]]]:
        """Return the kind of each node, and for each kind the taints that keep the pod away."""
        place = ("taints", self._shape.tolerations)
        cache = self._ground.cache
        if place not in cache:
            kinds = self._ground.kinds()
            cache[place] = kinds.codes, [untolerated(node, self._shape) for node in kinds.nodes]
        found: tuple[Whole, list[list[Taint]]] = cache[place]
        return found

    def _tolerated(self) -> Mask:
        codes, taints = self._taints()
        if not taints:
            return self._all()
        found: Mask = np.array([not one for one in taints], dtype=np.bool_)[codes]
        return found

    def _enough(self, resource: str, amount: int) -> Mask:
        stock = self._ground.stock(resource)
        found: Mask = (stock.empty >= amount) & (stock.allocatable != 0)
        return found

    def _unread(self, resource: str) -> Mask:
        return self._at(
            at for at, names in self._ground.odd().unreadable.items() if resource in names
        )

    def _unreadable(self) -> Mask:
        asked = self._asked.keys()
        return self._at(at for at, names in self._ground.odd().unreadable.items() if names & asked)

    def _at(self, places: Iterable[int]) -> Mask:
        found = self._none()
        found[list(places)] = True
        return found

    def _ports_stay(self) -> Mask:
        return self._port_clashes(self._ground.odd().ports_staying)

    def _port_clashes(self, taken: Mapping[int, frozenset[HostPort]]) -> Mask:
        ports = self._shape.host_ports
        if not ports:
            return self._none()
        return self._at(at for at, others in taken.items() if ports_clash(ports, others))

    def _apart_stays(self) -> Mask:
        return self._apart_clashes(self._ground.odd().apart_staying)

    def _apart_clashes(self, taken: Mapping[int, frozenset[str]]) -> Mask:
        apart = self._shape.apart
        if not apart:
            return self._none()
        return self._at(at for at, others in taken.items() if apart & others)

    # Why the others not

    def eligibility(self, keys: tuple[str, ...] = ()) -> Eligibility:
        """Return the same as `eligibility.eligibility`, in the order of the owner."""
        if keys not in self._found:
            left = self._all()
            excluded: dict[Filter, Excluded] = {}
            details: dict[Filter, Counter[str]] = {}
            hit: dict[Filter, Mask] = {}
            for why, detail, mask in self._filters(keys):
                here = left & mask
                if not here.any():
                    continue
                left = left & ~here
                hit[why] = hit[why] | here if why in hit else here
                if detail:
                    details.setdefault(why, Counter())[detail] += int(np.count_nonzero(here))
            for why in Filter:
                if why in hit:
                    excluded[why] = self._excluded(hit[why], details.get(why))
            self._found[keys] = Eligibility(self._names(left), excluded)
        return self._found[keys]

    def _names(self, mask: Mask) -> tuple[str, ...]:
        """Return the names of nodes; shapes with the same nodes share them."""
        place = ("names", mask.tobytes())
        cache = self._ground.cache
        if place not in cache:
            cache[place] = tuple(compress(self._ground.names, mask.tolist()))
        found: tuple[str, ...] = cache[place]
        return found

    def _excluded(self, mask: Mask, details: Counter[str] | None) -> Excluded:
        places = np.flatnonzero(mask)
        examples = tuple(self._ground.names[at] for at in places[:EXAMPLES].tolist())
        return Excluded(len(places), examples, ranked(details))

    def _filters(self, keys: Sequence[str]) -> Iterator[tuple[Filter, str, Mask]]:
        """Yield which nodes each filter excludes, in the order of `eligibility.filters`."""
        yield Filter.SELECTOR, "", ~self._selected()
        for key in keys:
            yield Filter.TOPOLOGY_LABEL, key, ~has_label(self._ground, key)
        for resource in self._asked:
            there = self._ground.stock(resource).allocatable != 0
            yield Filter.MISSING_RESOURCE, resource, ~(there | self._unread(resource))
        for resource, amount in self._asked.items():
            enough = self._enough(resource, amount)
            yield Filter.TOO_SMALL, resource, ~(enough | self._unread(resource))
        codes, taints = self._taints()
        for why in (Filter.CORDON, Filter.NOT_READY, Filter.TAINT):
            yield from self._tainted(why, codes, taints)
        yield Filter.HOST_PORT, "", self._ports_stay()
        yield Filter.APART, "", self._apart_stays()
        for resource in sorted(self._asked):
            yield Filter.UNREADABLE, resource, self._unread(resource)

    def _tainted(
        self, why: Filter, codes: Whole, taints: Sequence[Sequence[Taint]]
    ) -> Iterator[tuple[Filter, str, Mask]]:
        """Yield the nodes by the first taint of a sort that they have."""
        firsts = [
            next((_detail(why, taint) for taint in one if _filter_of(taint) is why), None)
            for one in taints
        ]
        for detail in sorted({one for one in firsts if one is not None}):
            yield why, detail, np.array([one == detail for one in firsts], dtype=np.bool_)[codes]

    # How many

    def caps(self, when: When) -> Whole:
        """Return how many pods fit on each node, 0 on those that are not eligible."""
        if when not in self._caps:
            caps = np.where(self.eligible(), self._by_amounts(when), 0)
            caps[self._ports_taken(when) | self._apart_taken(when)] = 0
            if self._shape.host_ports or self._shape.apart:
                caps = np.minimum(caps, 1)
            self._caps[when] = caps
        return self._caps[when]

    def _by_amounts(self, when: When) -> Whole:
        found: Whole | None = None
        for resource, amount in self._asked.items():
            free = self._ground.stock(resource).free(when)
            if amount > SAFE:
                free = free.astype(object)
            count = np.maximum(free, 0)
            if amount > 1:
                count = count // amount
            found = count if found is None else np.minimum(found, count)
        return np.full(len(self._ground), UNLIMITED, dtype=np.int64) if found is None else found

    def _ports_taken(self, when: When) -> Mask:
        odd = self._ground.odd()
        return self._port_clashes(odd.ports_now if when is When.NOW else odd.ports_staying)

    def _apart_taken(self, when: When) -> Mask:
        odd = self._ground.odd()
        return self._apart_clashes(odd.apart_now if when is When.NOW else odd.apart_staying)

    def in_order(self, when: When) -> tuple[Whole, Whole, Whole]:
        """Return the nodes that take a pod, fewest first and then by name, with how many, and sums.

        The sums say how many pods go on the nodes up to there; no node counts for more than
        UNLIMITED.
        """
        if when not in self._orders:
            caps = np.minimum(self.caps(when), UNLIMITED).astype(np.int64)
            places = np.flatnonzero(caps)
            order = places[np.argsort(caps[places], kind="stable")]
            self._orders[when] = order, caps[order], np.cumsum(caps[order])
        return self._orders[when]

    def summary(self, keys: tuple[str, ...] = ()) -> Summary:
        """Return how many pods fit now and when empty, on how many nodes one does, what stops it."""
        if keys not in self._summaries:
            mask = self.eligible(keys)
            now = self.caps(When.NOW)[mask]
            self._summaries[keys] = (
                total(now),
                total(self.caps(When.EMPTY)[mask]),
                int(np.count_nonzero(now)),
                self.saturated(keys),
            )
        return self._summaries[keys]

    def saturated(self, keys: Sequence[str] = ()) -> Saturated:
        """Return what stops the first pod now on eligible nodes, with counts and up to three names."""
        left = self.eligible(keys) & (self.caps(When.NOW) == 0)
        found: list[tuple[str, int, tuple[str, ...]]] = []
        limits: list[tuple[str, Mask]] = [
            (Constraint.HOST_PORTS, self._ports_taken(When.NOW)),
            (Constraint.APART, self._apart_taken(When.NOW)),
        ]
        for resource in sorted(self._asked):
            short = self._ground.stock(resource).now < self._asked[resource]
            limits.append((resource, short))
        for limit, mask in limits:
            here = np.flatnonzero(left & mask)
            if len(here):
                names = tuple(self._ground.names[at] for at in here[:EXAMPLES].tolist())
                found.append((str(limit), len(here), names))
                left = left & ~mask
        return tuple(sorted(found, key=lambda one: (-one[1], one[0])))


def hosts_of(ground: Ground, shape: Shape) -> Hosts:
    """Return the hosts of a shape, worked out once for all shapes that ask the same."""
    asked = (
        tuple(wanted(shape).items()),
        tuple(sorted(shape.node_selector.items())),
        shape.affinity,
        shape.tolerations,
        shape.host_ports,
        shape.apart,
    )
    kept: dict[Hashable, Hosts] = ground.cache.setdefault("hosts", {})
    found = kept.get(asked)
    if found is None:
        while len(kept) >= MOST_KEPT:
            kept.pop(next(iter(kept)))
        found = kept[asked] = Hosts(ground, shape)
    return found


def has_label(ground: Ground, key: str) -> Mask:
    """Return the nodes that have a label."""
    place = ("label", key)
    if place not in ground.cache:
        texts = ground.labels(key)
        ground.cache[place] = ~texts.among((None,))
    found: Mask = ground.cache[place]
    return found


def _filter_of(taint: Taint) -> Filter:
    if taint.key == CORDON:
        return Filter.CORDON
    return Filter.NOT_READY if taint.key in NOT_READY else Filter.TAINT


def _detail(why: Filter, taint: Taint) -> str:
    return "" if why is Filter.CORDON else str(taint)
