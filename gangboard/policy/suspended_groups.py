"""What a suspend does to the groups of a gang, and which device claims stay taken.

The controller that owns a group decides. The kind of the owner says what it does, by version
(`OwnerKind.group_fate`). A grouping API whose own controller creates the groups says it for all owners
(`GroupingAPI.fate`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gangboard.domain.group import Group, GroupFate
from gangboard.domain.owner import Owner
from gangboard.domain.text import count, listed, names, plural
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.policy.registry_lookups import kind_of

_STAYS = GroupFate(is_kept=True)


@dataclass(frozen=True, slots=True)
class GroupConsequences:
    """Sentences about the groups of a suspended object."""

    reactions: tuple[str, ...] = ()
    """What happens to the groups."""
    warnings: tuple[str, ...] = ()
    """What stays taken, and what can go wrong on resume."""


def consequences_for_owner(gang: Gang, *, job_by_job: bool) -> GroupConsequences:
    """Return the consequences of a suspend of the whole owner.

    `job_by_job`: only its Jobs are suspended, so groups that the owner itself created stay.
    """
    owners = _owners(gang)
    stopped = gang.child_jobs.keys() if job_by_job else owners.keys()
    return _consequences(gang, gang.group_objects, owners, stopped)


def consequences_for_job(gang: Gang, job: Owner) -> GroupConsequences:
    """Return the consequences of a suspend of one Job for the groups that it owns itself."""
    uid = job.meta.ref.uid
    return _consequences(gang, gang.group_objects_by_owner.get(uid, ()), {uid: job}, {uid})


def _owners(gang: Gang) -> dict[str, Owner]:
    return {owner.meta.ref.uid: owner for owner in (*gang.makers, *gang.jobs)}


def _consequences(
    gang: Gang, groups: Iterable[Group], owners: Mapping[str, Owner], stopped: Collection[str]
) -> GroupConsequences:
    by_fate: defaultdict[GroupFate | None, list[Group]] = defaultdict(list)
    for group in groups:
        by_fate[_fate(gang, group, owners, stopped)].append(group)
    parts = [_sentences(fate, of_fate) for fate, of_fate in by_fate.items()]
    return GroupConsequences(
        tuple(text for reactions, _ in parts for text in reactions),
        tuple(text for _, warnings in parts for text in warnings),
    )


def _fate(
    gang: Gang, group: Group, owners: Mapping[str, Owner], stopped: Collection[str]
) -> GroupFate | None:
    meta = group.meta
    if not meta.owner_uids:
        return _STAYS
    uids = (meta.controller.uid,) if meta.controller is not None else meta.owner_uids
    owner = next((owners[uid] for uid in uids if uid in owners), None)
    if owner is None:
        return None
    if owner.meta.ref.uid not in stopped:
        return _STAYS
    api = next((api for api in registry.grouping_apis() if api.group == meta.ref.group), None)
    if api is not None and api.fate is not None:
        return api.fate
    kind = kind_of(owner)
    return kind.group_fate(owner, group, gang.cluster.kubernetes) if kind is not None else None


def _sentences(
    fate: GroupFate | None, groups: Sequence[Group]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the reactions and the warnings about groups with the same fate."""
    what, claims = _names_of_kinds(groups), tuple(_claims(groups))
    number = len(groups)
    if fate is None:
        reactions = (f"It is not known whether its {what} {plural(number, 'stay')}.",)
        unknown = f"It is not known whether device claims stay taken: {names(claims)}."
        return reactions, (unknown,) if claims else ()
    source = f" ({fate.design}, not observed)" if fate.design else ""
    if fate.is_kept:
        taken = f"Device claims stay taken while it is suspended: {names(claims)}{source}."
        reactions = (f"Its {what} {plural(number, 'stay')}{source}.",)
        return reactions, (taken,) if claims else ()
    created = "a new one" if number == 1 else "new ones"
    name = (
        (" with the same name" if number == 1 else " with the same names") if fate.same_name else ""
    )
    reactions = (
        f"Its {what} {'is' if number == 1 else 'are'} deleted{source}.",
        f"A resume creates {created}{name}.",
    )
    if claims:
        reactions += (f"Device claims are released: {names(claims)}.",)
    return reactions, (_NAME_RACE,) if fate.same_name else ()


_NAME_RACE = (
    "The scheduler can judge new pods by the deleted group of the same name (kubernetes#139914)."
)


def _names_of_kinds(groups: Iterable[Group]) -> str:
    """Return `Workload and 2 PodGroups`."""
    numbers = Counter(group.meta.ref.kind for group in groups)
    return listed(
        [kind if number == 1 else count(number, kind) for kind, number in numbers.items()]
    )


def _claims(groups: Iterable[Group]) -> Iterator[str]:
    """Yield the names of the device claims that the groups share."""
    for group in groups:
        for claim in group.claims:
            yield claim.claim or claim.template or claim.name
