"""The node requirement with which a relocation keeps a Job off a place, and the patch of the template.

The scheduler accepts a node if any required node affinity term matches, so the requirement goes into each
term. An annotation on the Job stores the added requirement for its removal. Both go with the Job: a
Job that its owner creates again has neither.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gangboard.domain.action import Step, StepKind
from gangboard.domain.hold import ACTION_ANNOTATION, EXCLUSION
from gangboard.domain.owner import Owner
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins.lever import AdmissionRule, Bounds
from gangboard.policy.requests import json_text, path_of, pointer

Json = dict[str, Any]

AFFINITY = ("spec", "template", "spec", "affinity")
REQUIRED = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
"""Path of the required node affinity in an affinity."""
REQUIRED_FIELD = (*AFFINITY, *REQUIRED)
_EXCLUDES = "NotIn"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A requirement that no node with one of these label values meets."""

    key: str
    values: tuple[str, ...]

    @property
    def requirement(self) -> Json:
        """The entry of `matchExpressions`."""
        return {"key": self.key, "operator": _EXCLUDES, "values": list(self.values)}

    @property
    def text(self) -> str:
        """The excluded place for sentences: `node n1`, `nodes n1, n2`, `rack r1`."""
        if self.key != HOSTNAME:
            return f"{self.key} {', '.join(self.values)}"
        return f"node{'' if len(self.values) == 1 else 's'} {', '.join(self.values)}"


def read_exclusion(text: str) -> Exclusion | None:
    """Return the exclusion in an annotation. None without an annotation, or if it is unreadable."""
    try:
        value = json.loads(text) if text else None
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    key, values = value.get("key"), value.get("values")
    if not isinstance(key, str) or not isinstance(values, list) or not values:
        return None
    return Exclusion(key, tuple(map(str, values)))


def write_exclusion(exclusion: Exclusion) -> str:
    """Return the text of the annotation."""
    return json_text({"key": exclusion.key, "values": list(exclusion.values)})


def describe_exclusions(job: Owner, new: Exclusion | None) -> tuple[str, str]:
    """Return the excluded place before and after a relocation, for people."""
    old = read_exclusion(job.exclusion)
    return old.text if old else "none", new.text if new else "none"


def exclusion_sentences(exclusion: Exclusion | None) -> tuple[str, ...]:
    """Say that the resume removes the exclusion of an earlier relocation."""
    if exclusion is None:
        return ()
    return (
        f"Its pods may run on {exclusion.text} again: the exclusion of its relocation is removed.",
    )


def read_affinity(owner: Owner) -> Json | None:
    """Return the affinity in the template of a Job as served, or None."""
    affinity: Json | None = json.loads(owner.template_affinity or "null")
    return affinity


def change_affinity(
    affinity: Json | None, old: Exclusion | None, new: Exclusion | None
) -> Json | None:
    """Return an affinity without the old exclusion and with the new one. None: nothing remains of it."""
    terms = [_without(term, old) for term in required_terms(affinity)] if old else None
    if terms is None:
        terms = required_terms(affinity)
    elif not any(terms):
        terms = []  # The exclusion was the only requirement.
    if new is not None:
        terms = [
            {**term, "matchExpressions": [*(term.get("matchExpressions") or ()), new.requirement]}
            for term in terms or [{}]
        ]
    return _with_terms(affinity or {}, terms)


def excludes(affinity: Json | None, exclusion: Exclusion) -> bool:
    """Return whether each required term has the exclusion."""
    terms = required_terms(affinity)
    return bool(terms) and all(
        exclusion.requirement in (term.get("matchExpressions") or ()) for term in terms
    )


def required_terms(affinity: Json | None) -> list[Json]:
    """Return the required node affinity terms."""
    node = (affinity or {}).get(REQUIRED[0]) or {}
    return list((node.get(REQUIRED[1]) or {}).get("nodeSelectorTerms") or ())


def _without(term: Json, old: Exclusion) -> Json:
    """Return a term without the exclusion."""
    expressions = [
        expression
        for expression in term.get("matchExpressions") or ()
        if expression != old.requirement
    ]
    others = {key: value for key, value in term.items() if key != "matchExpressions"}
    return {**others, "matchExpressions": expressions} if expressions else others


def _with_terms(affinity: Json, terms: list[Json]) -> Json | None:
    node_key, required_key = REQUIRED
    node = {key: value for key, value in affinity.get(node_key, {}).items() if key != required_key}
    if terms:
        node[required_key] = {"nodeSelectorTerms": terms}
    changed = {key: value for key, value in affinity.items() if key != node_key}
    if node:
        changed[node_key] = node
    return changed or None


# Requests


def exclude_step(
    gang: Gang,
    job: Owner,
    action: str,
    new: Exclusion | None,
    *,
    resume: bool = False,
    is_marked: bool = True,
) -> Step:
    """Return the patch of a suspended Job's template. `resume` also ends the suspension in the same patch.

    It tests the uid, that the Job is suspended, and the affinity as it was read. It does not test the
    generation, because its controller may write to a held Job at any time. `is_marked` is False if no earlier
    step of the action has set an annotation on the Job.
    """
    name = f"{f'Exclude {new.text}' if new else 'Remove the exclusion'} in the template"
    has_annotations = is_marked or job.meta.annotated
    body = exclusion_patch(job, action, new, resume=resume, has_annotations=has_annotations)
    title = f"{name} of {label(job.meta.ref)}{', and resume it' if resume else ''}"
    return Step(StepKind.EXCLUDE, title, job.meta.ref, "PATCH", path_of(gang, job), body)


def exclusion_patch(
    job: Owner, action: str, new: Exclusion | None, *, resume: bool, has_annotations: bool
) -> str:
    """Return the JSON patch that replaces the exclusion of a Job."""
    affinity, old = read_affinity(job), read_exclusion(job.exclusion)
    changed = change_affinity(affinity, old, new)
    place, notes = pointer(AFFINITY), pointer(("metadata", "annotations"))
    operations: list[Mapping[str, Any]] = [
        {"op": "test", "path": "/metadata/uid", "value": job.meta.ref.uid},
        {"op": "test", "path": "/spec/suspend", "value": True},
        {"op": "test", "path": place, "value": affinity},
    ]
    if changed is not None:
        operations.append({"op": "add", "path": place, "value": changed})
    elif affinity is not None:
        operations.append({"op": "remove", "path": place})
    added = {ACTION_ANNOTATION: action}
    if new is not None:
        added[EXCLUSION] = write_exclusion(new)
    if has_annotations:
        operations += [
            {"op": "add", "path": f"{notes}{pointer((key,))}", "value": value}
            for key, value in added.items()
        ]
    else:
        # Without the test, the patch would overwrite annotations that another client adds meanwhile.
        operations.append({"op": "test", "path": notes, "value": None})
        operations.append({"op": "add", "path": notes, "value": added})
    if new is None and job.exclusion:
        operations.append({"op": "remove", "path": f"{notes}{pointer((EXCLUSION,))}"})
    if resume:
        operations.append({"op": "add", "path": "/spec/suspend", "value": False})
    return json_text(operations)


# Permissions of the actor


def exclusion_bounds(topology_keys: Sequence[str]) -> Bounds:
    """Allow the actor to add and remove exclusions by these labels and by host name, and nothing else.

    The rule compares the terms without such requirements. It cannot tell ours from the user's own on the
    same label.
    """
    keys = ", ".join(f"'{key}'" for key in (HOSTNAME, *topology_keys))
    level = "".join(part[:1].upper() + part[1:] for part in (*AFFINITY, REQUIRED[0]))
    variables = {
        f"{age}Terms": (
            f"dyn(variables.{age}{level}.?{REQUIRED[1]}.?nodeSelectorTerms.orValue([]))"
            ".map(t, [dyn(t.?matchFields.orValue([])), dyn(dyn(t.?matchExpressions.orValue([]))"
            f".filter(e, !(e.operator == '{_EXCLUDES}' && e.key in [{keys}])))])"
        )
        for age in ("new", "old")
    }

    def made(before: str, after: str) -> str:
        return (
            f"variables.{before}Terms.size() == 0 && variables.{after}Terms.size() == 1 && "
            f"variables.{after}Terms.all(t, t.all(part, part.size() == 0))"
        )

    rule = AdmissionRule(
        f"variables.newTerms == variables.oldTerms || ({made('old', 'new')}) || ({made('new', 'old')})",
        f"gangboard may exclude nodes by {', '.join((HOSTNAME, *topology_keys))} in each required node "
        "affinity term, or remove that, and nothing else",
    )
    return Bounds(variables, rule)
