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
from gangboard.domain.text import count, is_or_are, listed, names, plural
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
    number, what = len(groups), _names_of_kinds(groups)
    claims = names(_claims(groups))
    if fate is None:
        warning = f"It is not known whether device claims stay taken: {claims}."
        reactions = [f"It is not known whether its {what} {plural(number, 'stay')}."]
        return tuple(reactions), (warning,) if claims else ()
    source = f" ({fate.design}, not observed)" if fate.design else ""
    if fate.is_kept:
        warning = f"Device claims stay taken while it is suspended: {claims}{source}."
        reactions = [f"Its {what} {plural(number, 'stay')}{source}."]
        return tuple(reactions), (warning,) if claims else ()
    reactions = [f"Its {what} {is_or_are(number)} deleted{source}.", _resume_sentence(fate, number)]
    if claims:
        reactions.append(f"Device claims are released: {claims}.")
    return tuple(reactions), (_NAME_RACE,) if fate.same_name else ()


def _resume_sentence(fate: GroupFate, number: int) -> str:
    created, name = ("a new one", "name") if number == 1 else ("new ones", "names")
    return f"A resume creates {created}{f' with the same {name}' if fate.same_name else ''}."


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
