"""Why a gang has no nodes: one cause, proven, with the resource or the constraint that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gangboard.domain.capacity import PODS, GangRequest, NodeRoom, Party, Shape
from gangboard.domain.placing import Answer, Assessment, Cause, Constraint, Fit, When
from gangboard.placement.amounts import wanted
from gangboard.placement.eligibility import is_eligible, pods_that_fit
from gangboard.placement.fits import fits
from gangboard.placement.packing import BUDGET
from gangboard.placement.totals import shortest_of_any, totals


def assess(request: GangRequest, nodes: Sequence[NodeRoom], *, steps: int = BUDGET) -> Assessment:
    """Return whether the members fit now and without the pods that can leave, and if not, why.

    The cause is about what must be placed at once: the quorum, or all members without one.
    `steps` is the budget of each single question.
    """
    question = _Question(request, nodes, steps)
    now = question.ask(When.NOW, request.needed)
    full = now if request.needed == request.size else question.ask(When.NOW, request.size)
    # What fits now fits without the pods that can leave, too.
    empty = now if now.answer is Answer.YES else question.ask(When.EMPTY, request.needed)
    if full.answer is Answer.YES:
        empty_full = full
    elif request.needed == request.size:
        empty_full = empty
    else:
        empty_full = question.ask(When.EMPTY, request.size)
    found = question.cause(now, empty)
    return Assessment(
        request,
        found.cause,
        now,
        full,
        empty,
        empty_full,
        totals(request.parties, request.needed, nodes, request.topology_keys),
        found.deciding,
        found.constraints,
        found.why,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    cause: Cause
    deciding: str = ""
    constraints: tuple[Constraint, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Question:
    request: GangRequest
    nodes: Sequence[NodeRoom]
    steps: int

    def ask(self, when: When, target: int) -> Fit:
        return fits(self.request, self.nodes, when, target, steps=self.steps)

    def cause(self, now: Fit, empty: Fit) -> _Found:
        if self.request.needed > self.request.size:
            return _Found(Cause.TOO_FEW_PODS)
        if now.answer is Answer.YES:
            return _Found(Cause.FITS)
        if now.answer is Answer.CANNOT_TELL:
            return _Found(Cause.CANNOT_TELL, why=now.why)
        if empty.answer is Answer.CANNOT_TELL:
            return _Found(Cause.CANNOT_TELL, self._lacking(When.NOW), why=empty.why)
        when = When.NOW if empty.answer is Answer.YES else When.EMPTY
        if self._hosted() < self.request.needed:
            # Without the topology, nodes that lack its label may do.
            return self._constrained(when) or _Found(Cause.NO_ELIGIBLE_NODE)
        constrained = self._constrained(when)
        return constrained if constrained is not None else self._by_room(when)

    def _hosted(self) -> int:
        """Return how many members have an eligible node at all."""
        keys = self.request.topology_keys
        return sum(
            party.count
            for party in self.request.parties
            if any(is_eligible(node, party.shape, keys) for node in self.nodes)
        )

    def _constrained(self, when: When) -> _Found | None:
        """Leave out each constraint, then all of them: does it fit at the same moment then?"""
        present = _present(self.request)
        if not present:
            return None
        trials: list[tuple[Constraint, ...]] = [(one,) for one in present]
        if len(present) > 1:
            trials.append(present)
        unknown = ""
        alone: list[Constraint] = []
        for trial in trials:
            if len(trial) > 1 and alone:
                break
            fit = self._without(when, trial)
            if fit.answer is Answer.YES:
                alone += trial
            elif fit.answer is Answer.CANNOT_TELL:
                unknown = unknown or fit.why
        if alone:
            return _Found(Cause.CONSTRAINED, constraints=tuple(alone))
        return _Found(Cause.CANNOT_TELL, why=unknown) if unknown else None

    def _without(self, when: When, constraints: Sequence[Constraint], resource: str = "") -> Fit:
        request = relaxed(self.request, constraints, resource)
        return fits(request, self.nodes, when, request.needed, steps=self.steps)

    def _by_room(self, when: When) -> _Found:
        lacking = self._lacking(when)
        deciding = lacking or self._single(when)
        if when is When.EMPTY:
            return _Found(Cause.TOO_LARGE, deciding)
        if not lacking:
            return _Found(Cause.FRAGMENTED, deciding)
        return _Found(Cause.SHORT if self._any_room() else Cause.OCCUPIED, deciding)

    def _lacking(self, when: When) -> str:
        request = self.request
        return shortest_of_any(
            request.parties, request.needed, self.nodes, when, request.topology_keys
        )

    def _any_room(self) -> bool:
        keys = self.request.topology_keys
        return any(
            pods_that_fit(node, party.shape, When.NOW)[0]
            for party in self.request.parties
            if party.count
            for node in self.nodes
            if is_eligible(node, party.shape, keys)
        )

    def _single(self, when: When) -> str:
        """Return the one resource without which it would fit; nothing when there are several."""
        asked = {name for party in self.request.parties for name in wanted(party.shape)}
        found = [
            name
            for name in sorted(asked - {PODS})
            if self._without(when, (), name).answer is Answer.YES
        ]
        return found[0] if len(found) == 1 else ""


def _present(request: GangRequest) -> tuple[Constraint, ...]:
    shapes = [party.shape for party in request.parties if party.count]
    there = {
        Constraint.TOPOLOGY: bool(request.topology_keys),
        Constraint.HOST_PORTS: any(shape.host_ports for shape in shapes),
        Constraint.APART: any(shape.apart for shape in shapes),
    }
    return tuple(one for one in Constraint if there[one])


def relaxed(
    request: GangRequest, constraints: Sequence[Constraint], resource: str = ""
) -> GangRequest:
    """Return the same request without some constraints and a resource, as far as it is worked out.

    What is not worked out (`Shape.unsupported`) is left out too: the trial is about the rest.
    """

    def shape(one: Shape) -> Shape:
        return replace(
            one,
            requests={name: amount for name, amount in one.requests.items() if name != resource},
            host_ports=frozenset() if Constraint.HOST_PORTS in constraints else one.host_ports,
            apart=frozenset() if Constraint.APART in constraints else one.apart,
            unsupported=(),
        )

    parties = tuple(Party(shape(party.shape), party.count) for party in request.parties)
    if Constraint.TOPOLOGY in constraints:
        return replace(request, parties=parties, topology_keys=(), domain=None)
    return replace(request, parties=parties)
