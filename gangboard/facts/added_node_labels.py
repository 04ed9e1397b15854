"""Node labels that an admission system added to the node selectors of pods."""

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
    """Node label with the object that added it."""

    key: str
    value: str
    source: str
    """Text for sentences, such as `ResourceFlavor owned2`."""
    flavor: ObjectRef | None = None
    """Reference to the flavor, unless an admission check added the label."""

    @property
    def text(self) -> str:
        """The label as `key=value`."""
        return f"{self.key}={self.value}"


def added_labels(unit: Unit) -> Mapping[str, AddedLabel]:
    """Return the labels in the node selectors of waiting members that their own template does not select, by key."""
    labels: dict[str, AddedLabel] = {}
    candidates = [
        (entry, sources)
        for entry in unit.gang.entries
        if entry.has_quota and entry.is_in_use
        for sources in entry.label_sources
    ]
    for pod in unit.unplaced if candidates else ():
        for entry, sources in candidates:
            if pod.labels.get(sources.label) != sources.value:
                continue
            for key, value in pod.needs.node_selector:
                if key not in labels and key not in sources.own:
                    added = _added(unit.gang, entry, sources, key, value)
                    if added is not None:
                        labels[key] = added
    return labels


def _added(
    gang: Gang, entry: QueueEntry, sources: LabelSources, key: str, value: str
) -> AddedLabel | None:
    """Return the label with its source, or None if neither a check nor a known flavor adds it."""
    if key in sources.checks:
        return AddedLabel(key, value, f"admission check {sources.checks[key]}")
    for name in sources.flavors:
        flavor = gang.queues.flavors.get((entry.meta.ref.group, name))
        if flavor is not None and flavor.node_labels.get(key) == value:
            return AddedLabel(key, value, label(flavor.meta.ref), flavor.meta.ref)
    return None


def sources_text(added: Mapping[str, AddedLabel]) -> str:
    """Return `; ResourceFlavor owned2 adds reserve2=yes` for each source with its labels. Empty for none."""
    by_source: dict[str, list[str]] = {}
    for item in sorted(added.values(), key=lambda item: item.key):
        by_source.setdefault(item.source, []).append(item.text)
    return "".join(
        f"; {source} adds {' and '.join(labels)}" for source, labels in by_source.items()
    )


def sources_evidence(added: Mapping[str, AddedLabel]) -> tuple[Evidence, ...]:
    """Return the source of each label as evidence."""
    return tuple(
        Evidence(f"adds {item.text}", item.source, item.flavor)
        for item in sorted(added.values(), key=lambda item: item.key)
    )
