"""Sentences about claims that members name and cannot use. The scheduler does not always name them.

On 1.37 it reports `error in "DynamicResources" PodGroupPostFilter plugins: not found` for a Job with any
PersistentVolumeClaim problem. If the ResourceClaim of a pod does not exist, it holds the pod back without a
message (PreEnqueue of DynamicResources). Both were observed, the latter on 1.35 to 1.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import OF_VOLUMES, ClaimName, ClaimProblem, UnusableClaim
from gangboard.domain.text import count, names, plural
from gangboard.domain.verdict import Evidence
from gangboard.facts.scheduler_text import group_refusal, has_rejected_pods
from gangboard.facts.unit import Unit
from gangboard.placement.sentences.scheduler_message import CLAIM, VOLUME, waiting_together_text
from gangboard.placement.sentences.wording import PlacementReason

_SHOWN = 3
_PASSING = frozenset({ClaimProblem.UNMADE, ClaimProblem.UNBOUND})
"""Problems that a controller is about to solve. The others stay until a person acts."""
# Texts for one claim and for several.
_MESSAGES = {
    ClaimProblem.MISSING: (
        "{kind} {names}, which does not exist",
        "{kind}s {names}, which do not exist",
    ),
    ClaimProblem.DELETED: (
        "{kind} {names}, which is being deleted",
        "{kind}s {names}, which are being deleted",
    ),
    ClaimProblem.LOST: (
        "{kind} {names}, whose PersistentVolume {volume} does not exist",
        "{kind}s {names}, whose PersistentVolumes do not exist",
    ),
    ClaimProblem.UNMATCHED: (
        "{kind} {names}, which names PersistentVolume {volume} and is not bound to it",
        "{kind}s {names}, which name PersistentVolumes and are not bound to them",
    ),
    ClaimProblem.UNBOUND: (
        "for {kind} {names}, which is not bound to a volume yet",
        "for {kind}s {names}, which are not bound to volumes yet",
    ),
}
_UNMADE_MESSAGES = {
    VOLUME: (
        "for {kind} {names} of an ephemeral volume to be created",
        "for {kind}s {names} of ephemeral volumes to be created",
    ),
    CLAIM: (
        "for a {kind} that has not been created yet",
        "for {kind}s that have not been created yet",
    ),
}
_PodsByClaim = Mapping[ClaimName, Sequence[Pod]]


def unusable_claims_reason(unit: Unit) -> PlacementReason | None:
    """Return the reason about claims that keep members from being placed. Lasting problems come first."""
    if not unit.gang.claims:
        return None
    unusable = _unusable_claims_by_problem(unit)
    if not unusable:
        return None
    code, problem = max(
        unusable,
        key=lambda pair: (
            pair[1] not in _PASSING,
            len(_pod_uids(unusable[pair])),
            pair[0],
            pair[1],
        ),
    )
    named = unusable[code, problem]
    kind = next(iter(named))[0]
    pods = len(_pod_uids(named))
    verb = plural(pods, "wait" if problem in _PASSING else "need")
    text = f"{count(pods, 'pod')} {verb} {_message(unit, code, problem, kind, named)}"
    return PlacementReason(
        code,
        f"{waiting_together_text(unit, pods)}{text}",
        problem not in _PASSING,
        tuple(_evidence(unit, named)),
    )


def _unusable_claims_by_problem(
    unit: Unit,
) -> dict[tuple[str, ClaimProblem], dict[ClaimName, list[Pod]]]:
    """Return the unusable claims by problem, with the waiting pods that name them.

    The scheduler never holds a pod back for a volume before it tries it. So volumes only count after a scheduling
    attempt.
    """
    unusable = unit.gang.claims
    is_tried = has_rejected_pods(unit) or group_refusal(unit) is not None
    named: dict[tuple[str, ClaimProblem], dict[ClaimName, list[Pod]]] = defaultdict(dict)
    for pod in unit.unplaced:
        for claim in () if pod.gates else pod.claims:
            name = (claim.kind, pod.meta.ref.namespace, claim.name)
            if name not in unusable or (claim.kind == OF_VOLUMES and not is_tried):
                continue
            key = (VOLUME if claim.kind == OF_VOLUMES else CLAIM, unusable[name].problem)
            named[key].setdefault(name, []).append(pod)
    return named


def _pod_uids(named: _PodsByClaim) -> set[str]:
    return {pod.meta.ref.uid for pods in named.values() for pod in pods}


def _message(unit: Unit, code: str, problem: ClaimProblem, kind: str, named: _PodsByClaim) -> str:
    single_text, several = (
        _UNMADE_MESSAGES[code] if problem is ClaimProblem.UNMADE else _MESSAGES[problem]
    )
    # Claims of a template have the same name in all pods until they exist.
    single = len(named) == 1 and (problem is not ClaimProblem.UNMADE or len(_pod_uids(named)) == 1)
    return (single_text if single else several).format(
        kind=kind,
        names=names(sorted(name for _, _, name in named)),
        volume=unit.gang.claims[next(iter(named))].volume,
    )


def _evidence(unit: Unit, named: _PodsByClaim) -> Iterator[Evidence]:
    """Yield the problem of each claim. The source is the claim, or a pod that names a missing claim."""
    for name in sorted(named)[:_SHOWN]:
        claim: UnusableClaim = unit.gang.claims[name]
        source = claim.meta.ref if claim.meta is not None else named[name][0].meta.ref
        yield Evidence(f"{name[0]} {name[2]}", claim.problem.value, source)
