"""Documents of a text by their use: objects that can be gangs, objects that gangs use, and others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from gangboard.decode.manifests import Document
from gangboard.domain.autoscaling import ProvisioningRequest
from gangboard.domain.group import Group
from gangboard.domain.owner import Blueprint, Owner
from gangboard.domain.pod import Pod
from gangboard.domain.pod_claims import ResourceClaim, VolumeClaim
from gangboard.domain.quota import Queue, QueueLevel
from gangboard.domain.text import names
from gangboard.polling.checks.expansion import Expander, NewObject


@dataclass(slots=True)
class SortedDocuments:
    """The documents of a text."""

    gangs: list[Document] = field(default_factory=list)
    """Owners, groups and pods."""
    shared: list[Document] = field(default_factory=list)
    """Objects that gangs use: queues, blueprints, claims."""
    notes: list[str] = field(default_factory=list)
    """Sentences about all other documents, which the check ignores."""


def sort_documents(documents: Iterable[Document], expander: Expander) -> SortedDocuments:
    """Return the documents by their use."""
    result = SortedDocuments()
    ignored: list[str] = []
    for document in documents:
        resource = expander.resource_of(document.group, document.kind)
        if resource is None:
            ignored.append(document.title)
        elif _has_controller(document):
            result.notes.append(
                f"{document.title} names a controller, which creates it, so it is not checked by"
                " itself."
            )
        elif resource.model in (Owner, Pod, Group):
            result.gangs.append(document)
        else:
            result.shared.append(document)
    if ignored:
        verb, pronoun = ("is", "it") if len(ignored) == 1 else ("are", "them")
        result.notes.append(
            f"{names(ignored)} {verb} of no kind that makes gangs, so the check ignores {pronoun}."
        )
    return result


def in_its_scope(made: NewObject, document: Document) -> Any:
    """Return an object that gangs use, without a namespace if its kind is cluster-scoped."""
    model = made.model
    is_namespaced = isinstance(model, (VolumeClaim, ResourceClaim, ProvisioningRequest)) or (
        isinstance(model, Queue) and model.level is QueueLevel.ALIAS
    )
    if is_namespaced or document.metadata.get("namespace"):
        return model
    if isinstance(model, Blueprint) and not made.resource.kind.startswith("Cluster"):
        return model
    return replace(model, meta=replace(model.meta, ref=replace(model.meta.ref, namespace="")))


def _has_controller(document: Document) -> bool:
    references = document.metadata.get("ownerReferences")
    return isinstance(references, list) and any(
        isinstance(reference, dict) and reference.get("controller") is True
        for reference in references
    )
