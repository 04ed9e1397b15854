"""Node labels that an admission system has added to those that an owner selects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangboard.domain.objects import ObjectRef
from gangboard.domain.queue import LabelSources, QueueEntry
from gangboard.domain.text import label
from gangboard.domain.verdict import Evidence
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit


@dataclass(frozen=True, slots=True)
class AddedLabel:
    """One node label, and what added it."""

    key: str
    value: str
    source: str
    """Such as `ResourceFlavor owned2`."""
    flavor: ObjectRef | None = None
    """None if an admission check added it."""

    @property
    def text(self) -> str:
        """The label as people write it."""
        return f"{self.key}={self.value}"


def added_labels(unit: Unit) -> Mapping[str, AddedLabel]:
    """Return the labels in the node selectors of waiting members that their own template does not select, by key."""
    found: dict[str, AddedLabel] = {}
    sources = [
        (entry, part)
        for entry in unit.gang.entries
        if entry.has_quota and entry.is_in_use
        for part in entry.label_sources
    ]
    for pod in unit.unplaced if sources else ():
        for entry, part in sources:
            if pod.labels.get(part.label) != part.value:
                continue
            for key, value in pod.needs.node_selector:
                if key not in found and key not in part.own:
                    added = _added(unit.gang, entry, part, key, value)
                    if added is not None:
                        found[key] = added
    return found


def _added(
    gang: Gang, entry: QueueEntry, part: LabelSources, key: str, value: str
) -> AddedLabel | None:
    """Return the label with its source. None if neither a check nor a known flavor adds it."""
    if key in part.checks:
        return AddedLabel(key, value, f"admission check {part.checks[key]}")
    for name in part.flavors:
        flavor = gang.queues.flavors.get((entry.meta.ref.group, name))
        if flavor is not None and flavor.node_labels.get(key) == value:
            return AddedLabel(key, value, label(flavor.meta.ref), flavor.meta.ref)
    return None


def sources_text(added: Mapping[str, AddedLabel]) -> str:
    """Return `; ResourceFlavor owned2 adds reserve2=yes`, each source with its labels; empty for none."""
    by_source: dict[str, list[str]] = {}
    for one in sorted(added.values(), key=lambda one: one.key):
        by_source.setdefault(one.source, []).append(one.text)
    return "".join(f"; {source} adds {' and '.join(some)}" for source, some in by_source.items())


def sources_evidence(added: Mapping[str, AddedLabel]) -> tuple[Evidence, ...]:
    """Return what added each label."""
    return tuple(
        Evidence(f"adds {one.text}", one.source, one.flavor)
        for one in sorted(added.values(), key=lambda one: one.key)
    )
