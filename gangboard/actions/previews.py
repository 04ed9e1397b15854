"""Plans for requests, made from the stored objects. Each gang is read once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType

from gangboard.actions import requests
from gangboard.actions.requests import RequestError, Subject
from gangboard.domain.action import ActionRequest, Avoid, ClusterLevers, Plan, Verb
from gangboard.domain.cluster_reach import silence_sentence
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings
from gangboard.policy.exclusions import read_exclusion
from gangboard.policy.plan import plan
from gangboard.store import gang_objects
from gangboard.store.access import Viewer
from gangboard.store.levers import read_levers
from gangboard.store.models import Cluster
from gangboard.store.observations import SILENT_AFTER
from gangboard.store.surroundings import read_surroundings

NO_SELECTION: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(slots=True)
class _GangCache:
    """Gangs and levers of one preview, each read once."""

    gangs: dict[str, Gang | None] = field(default_factory=dict)
    """By gang id."""
    levers: dict[tuple[int, bool], ClusterLevers] = field(default_factory=dict)
    """By cluster id, and whether unproved levers may be tried."""

    def gang_of(self, subject: Subject) -> Gang | None:
        """Return the gang of an object. An object that creates gangs is a gang of its own here."""
        cluster, gang = subject.cluster, subject.gang
        if gang is None:
            return gang_objects.read_target_gang(cluster.pk, subject.owner, None)
        if gang.pk not in self.gangs:
            self.gangs[gang.pk] = gang_objects.read_target_gang(cluster.pk, subject.owner, gang)
        return self.gangs[gang.pk]

    def levers_of(self, cluster: Cluster, *, forced: bool) -> ClusterLevers:
        """Return the levers of a cluster."""
        key = cluster.pk, forced
        if key not in self.levers:
            self.levers[key] = read_levers(cluster, forced=forced)
        return self.levers[key]


def preview_many(
    viewer: Viewer,
    action_requests: Iterable[ActionRequest],
    *,
    now: datetime,
    selections: Mapping[str, frozenset[str]] = NO_SELECTION,
) -> tuple[Plan | RequestError, ...]:
    """Return a plan for each request, or its error, in order. See `service.preview`.

    `selections` maps a uid to the uids of its selection, which other code evaluates as a whole.
    """
    checked = requests.check_each(action_requests, now=now, reason_needed=False)
    subjects = requests.find_subjects(
        viewer, [item for item in checked if isinstance(item, ActionRequest)]
    )
    cache = _GangCache()
    return tuple(
        item
        if isinstance(item, RequestError)
        else _plan(viewer, item, subjects[item], cache, selections, now)
        for item in checked
    )


def button_labels(
    viewer: Viewer,
    subjects: Mapping[ActionRequest, Subject | RequestError],
    *,
    now: datetime,
) -> dict[ActionRequest, str]:
    """Return the button labels that differ from the verb, such as `Hold`.

    Only Jobs have such labels. Without a Job there is no query, else about 8 per gang.
    """
    cache = _GangCache()
    labels: dict[ActionRequest, str] = {}
    for action_request, subject in subjects.items():
        if not isinstance(subject, Subject) or not _is_child(subject):
            continue
        planned = _plan(viewer, action_request, subject, cache, NO_SELECTION, now)
        if isinstance(planned, Plan) and planned.label:
            labels[action_request] = planned.label
    return labels


def _is_child(subject: Subject) -> bool:
    return subject.gang is not None and subject.gang.uid != subject.owner.meta.ref.uid


def _plan(
    viewer: Viewer,
    action_request: ActionRequest,
    subject: Subject | RequestError,
    cache: _GangCache,
    selections: Mapping[str, frozenset[str]],
    now: datetime,
) -> Plan | RequestError:
    if isinstance(subject, RequestError):
        return subject
    cluster, chosen = subject.cluster, selections.get(action_request.target.uid, frozenset())
    gang = cache.gang_of(subject)
    if gang is None:
        return requests.not_found(action_request.target)
    levers = cache.levers_of(cluster, forced=action_request.forced)
    planned = plan(
        gang,
        levers,
        action_request,
        by=viewer.name,
        action="",
        now=now,
        chosen=chosen,
        surroundings=surroundings_of(viewer, cluster.pk, gang, action_request, is_stored=False),
    )
    if cluster.contact_at is not None and now - cluster.contact_at <= SILENT_AFTER:
        return planned
    why_not = silence_sentence(cluster.name, cluster.contact_at, cluster.problem)
    return Plan(planned.verb, planned.subject, planned.generation, why_not=why_not)


def surroundings_of(
    viewer: Viewer, cluster_id: int, gang: Gang, action_request: ActionRequest, *, is_stored: bool
) -> Surroundings | None:
    """Return the stored nodes and pods around a gang for a relocation. None, without a query, for other verbs.

    `is_stored`: the resulting texts are stored for other readers.
    """
    if action_request.verb is not Verb.RELOCATE:
        return None
    surroundings = read_surroundings(cluster_id, gang)
    names_nodes = viewer.names_nodes(cluster_id)
    return replace(surroundings, names_nodes=names_nodes, is_stored=is_stored)


@dataclass(frozen=True, slots=True)
class OccupiedPlace:
    """A place with pods of a Job, which it can leave."""

    avoid: Avoid
    pods: int
    """Pods of the Job there."""


@dataclass(frozen=True, slots=True)
class RelocationChoices:
    """The places that a Job can leave, and the exclusion of an earlier relocation."""

    places: tuple[OccupiedPlace, ...] = ()
    excluded: str = ""
    """The place that an earlier relocation excludes, or empty."""


def relocation_choices(viewer: Viewer, action_request: ActionRequest) -> RelocationChoices:
    """Return the nodes and topology domains with pods of the target. None for an object that the viewer may not see.

    The domains are those of the labels that an admin allows.
    """
    subject = requests.find_subjects(viewer, [action_request])[action_request]
    if isinstance(subject, RequestError) or subject.gang is None:
        return RelocationChoices()
    gang = gang_objects.read_target_gang(subject.cluster.pk, subject.owner, subject.gang)
    if gang is None:
        return RelocationChoices()
    surroundings = read_surroundings(subject.cluster.pk, gang)
    labels = {node.name: node.labels for node in surroundings.nodes}
    pods = surroundings.pods_of(subject.owner.meta.ref.uid)
    by_node = Counter(pod.node for pod in pods)
    places = [OccupiedPlace(Avoid((name,)), number) for name, number in sorted(by_node.items())]
    for key in read_levers(subject.cluster).topology_keys:
        domains = Counter(labels[pod.node][key] for pod in pods if key in labels.get(pod.node, {}))
        places += [
            OccupiedPlace(Avoid(topology=(key, value)), number)
            for value, number in sorted(domains.items())
        ]
    exclusion = read_exclusion(subject.owner.exclusion)
    return RelocationChoices(tuple(places), exclusion.text if exclusion else "")
